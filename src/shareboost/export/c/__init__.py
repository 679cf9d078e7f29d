"""C99 headers."""
