"""Ctrl-C in tests, wherever they run."""

import signal
from contextlib import contextmanager


@contextmanager
def heeding_ctrl_c():
    """Have SIGINT raise KeyboardInterrupt in this process, and in programs started meanwhile.

    Shells make background processes ignore SIGINT, and programs inherit that from the
    process that starts them, while a handler is reset to the system's default.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
