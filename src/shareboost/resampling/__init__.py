"""Many runs on parts of the rows: how many features, and how stable a choice."""
