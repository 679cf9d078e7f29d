"""Trained predictors for other places than Python."""
