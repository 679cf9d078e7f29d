"""What is chosen next: rules, prices, wishes and swaps, section 3 of the paper and beyond."""
