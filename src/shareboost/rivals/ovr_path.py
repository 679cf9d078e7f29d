"""One run of one-vs-rest: classes that choose in turns and share one number of features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm import Run
from ..dataset import Sample
from ..path import Round, StopReason
from ..pools import Pool
from ..rows import Chosen, Rows
from ..selection.rules import Choice, tied_with_best

# Whose turn it is: that of the class with the best feature, or of one class after the other.
SPENDS = ("largest", "in_turn")


@dataclass(frozen=True)
class ClassStep:
    """The classifier after one class has added one atom."""

    atoms: tuple[int, ...]  # of all classes, in the order of their first use
    W: NDArray[np.float64]  # (k, intercept + columns), zero where a class has no use for an atom
    loss: float  # mean over classes of their binary average losses
    seconds: float
    iterations: int
    class_: int  # index of the class; -1 where none has added any atom
    atom: int
    score: float  # of the atom, by the rule

    @property
    def cost(self) -> float:
        """Number of atoms."""
        return float(len(self.atoms))

    @property
    def details(self) -> dict[str, Any]:
        """The class that added an atom, the atom, and its score."""
        return {"class": self.class_, "atom": self.atom, "score": self.score}


class OneClass:
    """One class against the rest: its last round, and what it would choose next."""

    def __init__(self, run: Run):
        self.run = run
        self.next: Choice | StopReason = StopReason.NO_GAIN  # until it has looked
        self.iterations = 0  # of all its refits so far
        self.late: list[Round] = []  # whose refits ended above their tolerance
        self._take(run.start())

    def look(self) -> None:
        """Choose what to add next."""
        self.next, last = self.run.choose(self.last)
        if last is not self.last:
            self._take(last)

    def add(self, choice: Choice) -> Chosen:
        """Add an atom, refit the weights and look again; return the atom with its units."""
        self._take(self.run.round_after(self.last, choice))
        chosen = self.run.rows.chosen[-1]
        self.look()
        return chosen

    def finish(self) -> None:
        """Refit the weights as those of a last round."""
        if self.last.atoms:  # the start is refit so far already
            self._take(self.run.finished(self.last)[1])

    def _take(self, round_: Round) -> None:
        self.last = round_
        self.iterations += round_.status.iterations
        if not round_.status.converged:
            self.late.append(round_)

    @property
    def score(self) -> float:
        """Of what it would add; -inf where there is nothing."""
        return self.next.score if isinstance(self.next, Choice) else -np.inf


class ClassTurns:
    """A run on the binary problem of every class, one atom of one class a step.

    The rows are encoded once. Classes know nothing of each other: a step changes the weights
    and the next choice of one of them only.

    Parameters
    ----------
    sample, pool, n_classes :
        The rows, of positive weight, and the candidates, fitted to them.
    intercept : bool
        Whether every class has an intercept.
    new_run : callable
        Returns the run of one class on its rows, whose loss has one score an example.
    n_features : int
        The most atoms that all classes together may use.
    spend : str
        One of ``SPENDS``.
    """

    n_steps: int | None = None  # classes may share features

    def __init__(
        self,
        sample: Sample,
        pool: Pool,
        n_classes: int,
        intercept: bool,
        new_run: Callable[[Rows], Run],
        n_features: int,
        spend: str,
    ):
        self.sample = sample
        self.pool = pool
        self.n_classes = n_classes
        self.intercept = intercept
        self.new_run = new_run
        self.n_features = n_features
        self.spend = spend
        self.stop_reason = ""
        self.trouble: str | None = None
        self._started = 0.0
        self._classes: list[OneClass] = []
        self._used: dict[int, Chosen] = {}  # by any class, in the order of first use

    def steps(self) -> Iterator[ClassStep]:
        """Yield the intercepts alone, then the classifier after every turn."""
        X, y, weight, _, _ = self.sample
        labels = ((y == q).astype(np.intp) for q in range(self.n_classes))
        with Rows(X, next(labels), weight, self.pool, 1, self.intercept) as first:
            self._started = perf_counter()
            rows = [first, *(first.relabelled(own, 1) for own in labels)]
            self._classes = [OneClass(self.new_run(own)) for own in rows]
            step = self._start()
            yield step
            for one in self._classes:
                one.look()
            turn = self._turn(step)
            while turn is not None:
                step = self._after(step, *turn)
                turn = self._turn(step)
                if turn is None:
                    yield from self._finish(step)
                else:
                    yield step
            self.trouble = self._trouble()

    def units(self, atom: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the centres and scales of an atom's columns, the same for all classes."""
        return self._used[atom].centers, self._used[atom].scales

    def _trouble(self) -> str | None:
        """Return which refits ended above their tolerance, and what to change."""
        late = [(q, round_) for q, one in enumerate(self._classes) for round_ in one.late]
        if not late:
            return None
        q, round_ = late[-1]
        status = round_.status
        others = f" So did {len(late) - 1} others." if late[1:] else ""
        return (
            f"The refit of class {q}, by its place in classes_, with {len(round_.atoms)} features "
            f"ended with a gradient of {status.gradient:.2g} where {status.tolerance:.2g} was "
            f"asked for.{others} {status.advice}"
        )

    def _turn(self, step: ClassStep) -> tuple[int, Choice] | None:
        """Return which class adds what after the step; None, and say why, where it is the last."""
        scores = np.array([one.score for one in self._classes])
        if np.isneginf(scores).all():
            gainless = any(one.next is StopReason.NO_GAIN for one in self._classes)
            self.stop_reason = StopReason.NO_GAIN if gainless else StopReason.EXHAUSTED
            return None
        if self.spend == "largest":
            q = int(tied_with_best(scores, self.pool.rounding)[0])
        else:
            after = np.roll(np.arange(self.n_classes), -1 - step.class_)
            q = int(after[scores[after] > -np.inf][0])
        choice = self._classes[q].next
        assert isinstance(choice, Choice)
        if len(self._used) >= self.n_features and choice.atom not in self._used:
            self.stop_reason = StopReason.N_FEATURES
            return None
        return q, choice

    def _start(self) -> ClassStep:
        """Return the step without any atom."""
        W = np.concatenate([one.last.W for one in self._classes])
        return self._step(W, 0, class_=-1, atom=-1, score=np.nan)

    def _after(self, step: ClassStep, q: int, choice: Choice) -> ClassStep:
        """Return the step in which a class adds an atom."""
        before = self._iterations
        chosen = self._classes[q].add(choice)
        self._used.setdefault(choice.atom, chosen)
        W = self._updated(step.W, [q])
        return self._step(W, before, class_=q, atom=choice.atom, score=choice.score)

    def _finish(self, step: ClassStep) -> Iterator[ClassStep]:
        """Yield the last step, the weights of all classes refit tightly."""
        before = self._iterations - step.iterations
        try:
            for one in self._classes:
                one.finish()
        except KeyboardInterrupt:
            yield step
            raise
        W = self._updated(step.W, range(self.n_classes))
        yield self._step(W, before, step.class_, step.atom, step.score)

    def _step(
        self, W: NDArray[np.float64], before: int, class_: int, atom: int, score: float
    ) -> ClassStep:
        """Return the step of these weights, after so many iterations before it."""
        return ClassStep(
            tuple(self._used),
            W,
            float(np.mean([one.last.loss for one in self._classes])),
            perf_counter() - self._started,
            self._iterations - before,
            class_,
            atom,
            score,
        )

    @property
    def _iterations(self) -> int:
        """Of all refits so far."""
        return sum(one.iterations for one in self._classes)

    def _updated(self, W: NDArray[np.float64], changed: Iterable[int]) -> NDArray[np.float64]:
        """Return the weights of a step with those that some classes have now."""
        first = int(self.intercept)
        edges = np.cumsum([first, *(used.scales.size for used in self._used.values())])
        columns = {
            atom: np.arange(*edge) for atom, edge in zip(self._used, pairwise(edges), strict=True)
        }
        W = np.pad(W, ((0, 0), (0, edges[-1] - W.shape[1])))
        for q in changed:
            last = self._classes[q].last
            own = np.concatenate([np.arange(first), *(columns[atom] for atom in last.atoms)])
            W[q, own] = last.W[0]
        return W
