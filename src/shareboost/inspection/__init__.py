"""Fitted classifiers to look at: comparisons, stability, explanations, plots, the report."""
