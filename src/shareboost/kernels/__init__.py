"""Compiled inner loops of the pools and the loss: plain functions on arrays.

Each is sequential and lets go of Python's lock: the rows' threads run many at once, so
a result does not depend on their number. They are compiled on first use and cached;
nothing imports them before.

Some add rows of numbers, one a class, padded with zeros to a multiple of ``WIDTH``, whole vectors
of a processor. They take a *tag*, a tuple as long as there are classes: its length is known when a
kernel is compiled, so that loops over classes are unrolled. So they are compiled for each number
of classes apart, up to ``MOST_TAGGED``; above, the tag is empty and one kernel serves all.
"""

# What was compiled with another width is not compiled anew by itself: clear the caches.
WIDTH = 8
MOST_TAGGED = 64
# What the codes of squares are counted from: the middle of a byte.
MIDDLE = 128
