"""Compiled inner loops of the pools: plain functions on arrays.

Each is sequential and lets go of Python's lock: the rows' threads run many at once, so
a result does not depend on their number. They are compiled on first use and cached;
nothing imports them before. Those of ``histograms`` are compiled for each number of
classes apart.
"""
