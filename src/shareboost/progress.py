"""Progress bars: of the rounds, with loss and held-out error, of preparations, and of files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress
    from sklearn.callback import CallbackSupportMixin

    from .path import Round

Item = TypeVar("Item")

# The bars of the fit that this thread is in, if it shows any.
_shown: ContextVar[Progress | None] = ContextVar("shown", default=None)


@contextmanager
def progress_bars(show: bool) -> Iterator[None]:
    """Show the bars of everything that ``track`` and ``RoundsBar`` are called for inside.

    Without ``show`` there are none inside, not even where a fit around it shows its own.
    """
    with _new_bars() if show else nullcontext() as progress:
        token = _shown.set(progress)
        try:
            yield
        finally:
            _shown.reset(token)


def _new_bars() -> Progress:
    """Return bars on the standard error stream."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    console = Console(stderr=True)

    def whole(width: int) -> Column:
        return Column(no_wrap=True, min_width=width)

    # Where lines are short the bar is, then words go on below: numbers and times stay whole.
    columns = (
        TextColumn("{task.description}", table_column=Column()),
        BarColumn(min(40, max(4, (console.width - 68) // 2)), table_column=Column()),
        MofNCompleteColumn(table_column=whole(3)),
        TextColumn("{task.fields[note]}", table_column=Column()),
        TimeElapsedColumn(table_column=whole(7)),
        TextColumn("left", table_column=whole(4)),
        TimeRemainingColumn(table_column=whole(7)),
    )
    return Progress(*columns, console=console)


def track(items: Iterable[Item], what: str, total: int) -> Iterator[Item]:
    """Yield the items; a bar, where bars are shown, counts them up to ``total``."""
    bar = _Bar(what, total)
    for item in items:
        yield item
        bar.update(advance=1)


class _Bar:
    """A bar where bars are shown, and nothing elsewhere."""

    def __init__(self, what: str, total: int | None, done: int = 0, note: str = ""):
        self._progress = _shown.get()
        if self._progress is not None:
            self._task = self._progress.add_task(what, total=total, completed=done, note=note)

    def update(self, **changes: Any) -> None:
        if self._progress is not None:
            self._progress.update(self._task, **changes)


class BytesBar:
    """The bar of a file that is read; ``size`` None where unknown."""

    def __init__(self, what: str, size: int | None):
        self._megabytes = None if size is None else _megabytes(size)
        self._bar = _Bar(what, self._megabytes, note="MB")

    def at(self, n_bytes: int) -> None:
        """Show that so many bytes have been read."""
        self._bar.update(completed=_megabytes(n_bytes))

    def end(self, n_bytes: int) -> None:
        """Fill the bar."""
        total = self._megabytes or _megabytes(n_bytes)
        self._bar.update(completed=total, total=total)


def _megabytes(n_bytes: int) -> int:
    return -(-n_bytes // 1_000_000)


class RoundsBar:
    """The bar of a run's rounds; ``refit`` tells where, if not here."""

    def __init__(self, n_rounds: int | None, done: int, refit: str = ""):
        self._n_rounds = n_rounds
        self._bar = _Bar(f"rounds, refit {refit}" if refit else "rounds", n_rounds, done)

    def advance(self, step: Round) -> None:
        """Count a round, and show its loss and, where rows were held out, their error."""
        validation = getattr(step, "validation", math.nan)
        held_out = "" if math.isnan(validation) else f", held-out error {1 - validation:.2%}"
        self._bar.update(advance=1, note=f"loss {step.loss:.4f}{held_out}")

    def end(self, n_rounds: int, loss: float, why: str | None) -> None:
        """Fill the bar and say why, where the rounds did not end when they were to."""
        if n_rounds != self._n_rounds:
            self._bar.update(total=n_rounds, note=f"loss {loss:.4f}, {why}")


class FitCallbacks:
    """Tells the callbacks set on an estimator what its fit is doing."""

    def __init__(
        self, estimator: CallbackSupportMixin, n_rounds: int, X: Any, y: Any, sample_weight: Any
    ):
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._fit = estimator._init_callback_context(max_subtasks=n_rounds)
        self._fit.call_on_fit_task_begin(**self._arguments)

    def round_ended(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        """Report a round; return whether a callback asks to stop.

        ``fitted`` makes the attributes of an estimator that ends here; it is called
        only for callbacks that want one.
        """
        task = self._fit.subcontext(task_name="round")
        task.call_on_fit_task_begin(**self._arguments)
        return task.call_on_fit_task_end(reconstruction_attributes=fitted, **self._arguments)

    def fit_ended(self, fitted: Callable[[], dict[str, Any]]) -> None:
        """Report the end of the fit."""
        self._fit.call_on_fit_task_end(reconstruction_attributes=fitted, **self._arguments)
