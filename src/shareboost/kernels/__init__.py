"""Compiled inner loops of the pools: plain functions on arrays.

Each is sequential and lets go of Python's lock: the rows' threads run many at once, so
a result does not depend on their number. They are compiled on first use and cached;
nothing imports them before.

Those that add rows of numbers, one a class, take such rows padded with zeros to a multiple of
``WIDTH``, whole vectors of a processor, and a *tag*: a tuple as long as there are classes. Its
length is known when a kernel is compiled, so that loops over classes are unrolled: half the
time of a loop of unknown length, for 10 classes. They are compiled for each number of classes
apart.
"""

WIDTH = 8
