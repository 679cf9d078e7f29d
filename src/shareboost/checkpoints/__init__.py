"""Runs that lose nothing: every finished round in a file."""
