"""Errors of the command: one line on stderr, an exit code, and no traceback unless asked for."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

FAILED = 2
INTERRUPTED = 130  # 128 and the number of the signal, as shells tell it
DEBUG = "--debug"

# Typer brings Click along or asks for it, by its version: the class is found either way.
UsageError: Any = typer.BadParameter.__base__

# What a user can mend: the line alone says all. Anything else is a fault of the program.
EXPECTED = (ValueError, OSError, ImportError, MemoryError, NotImplementedError)


class CommandError(ValueError):
    """Something that the user can mend, told in one line."""


class Commands(TyperGroup):
    """The commands; their errors are one line on stderr."""

    def main(self, args: Sequence[str] | None = None, *_: Any, **settings: Any) -> NoReturn:
        """Run the command and end the program with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        others = [word for word in words if word != DEBUG]
        code = FAILED
        try:
            _replace_closed_streams()
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: say(f"Warning: {message}")
                code = super().main(others, **settings | {"standalone_mode": False}) or 0
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()
            else:
                see = "" if error.ctx is None else f" See {error.ctx.command_path} --help."
                say(f"{error.format_message().rstrip('.')}.{see}")
        except Exception as error:
            if DEBUG in words:
                traceback.print_exception(error)
            else:
                say(_line(error))
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        """Run a command and write what it printed; a reader that left early is Typer's matter."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            say("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None
        return result


def say(line: str) -> None:
    """Write one line to stderr."""
    with suppress(OSError):  # a full disk perhaps: there is nowhere else to write it
        print(" ".join(line.split()), file=sys.stderr)


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names as an error lists them, no more than so many."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _line(error: Exception) -> str:
    if isinstance(error, FileExistsError):
        return f"{error.filename} is there already: --force replaces it."
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{'' if error.filename is None else f'{error.filename}: '}{error.strerror}."
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {error}"
    if isinstance(error, EXPECTED):
        return str(error)
    return f"{type(error).__name__}: {error} (a fault of shareboost: {DEBUG} shows where)"


def _replace_closed_streams() -> None:
    """Open the null device as stdin and stderr where they are closed; raise for stdout."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        raise CommandError("stdout is closed: send it to a file, or to /dev/null.")
