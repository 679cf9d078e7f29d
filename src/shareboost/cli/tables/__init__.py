"""Tables from files: CSV, TSV, Parquet, NPZ and svmlight, compressed or not."""
