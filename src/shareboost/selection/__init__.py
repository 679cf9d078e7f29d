"""What is chosen next: rules, prices, constraints and swaps, section 3 of the paper and beyond."""
