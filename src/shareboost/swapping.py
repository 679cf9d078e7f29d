"""A run of Algorithm 1 with exchanges of features, beside the run without."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from .algorithm import Run
from .path import Round, StopReason
from .selection.rules import Choice, Selector
from .selection.swaps import Fit, exchange
from .solvers.objective import noise


class SwappingRun(Run):
    """A run whose rounds end with exchanges, and never above a run without any.

    A set of atoms that is better now may lead to worse ones later. So the run without swaps
    continues in parallel from where the two part, and its round is used whenever it is better.
    """

    def round_after(self, last: Round, choice: Choice) -> Round:
        """Return the round after the last, with exchanges."""
        tolerance = self.stopping.refit_to(choice.norm)
        round_ = super().round_after(last, choice)
        plain = round_ if last.plain is None else self._plain_after(last.plain)
        round_ = self._exchanged(round_, tolerance)
        if plain is None:  # it has nothing more to gain
            return replace(round_, plain=last.plain)
        # A plain run that had ended and could go on later has fewer atoms: another matter.
        if len(plain.atoms) == len(round_.atoms) and self._better(plain, round_):
            self.rows.reset(plain.atoms)
            round_ = replace(self._exchanged(plain, tolerance), fell_back=True)
        return round_ if round_.W is plain.W else replace(round_, plain=plain)

    def finished(self, last: Round) -> tuple[Run, Round]:
        """Return the better of the last round and the one without swaps, refit; and its run."""
        _, finished = super().finished(last)
        plain = last.plain
        if plain is None or len(plain.atoms) != len(last.atoms):
            return self, finished
        self._plain.rows.reset(plain.atoms)
        _, plain = self._plain.finished(plain)
        if not self._better(plain, finished):
            return self, finished
        cost = self.selector.terms.spent(plain.atoms)
        return self._plain, replace(plain, cost=cost, seconds=finished.seconds)

    def replay(self, round_: Round) -> bool:
        """Do to the rows what a finished round did; return whether it can have been these rows."""
        rows = self.rows
        if round_.fell_back:
            rows.reset((round_.plain or round_).atoms)
        else:
            rows.append(round_.atom)
        for out, into in round_.swaps:
            if out not in rows.atoms:
                return False
            rows.append(into)
            rows.remove(rows.atoms.index(out))
        return rows.atoms == round_.atoms

    def _exchanged(self, round_: Round, tolerance: float) -> Round:
        """Return the round of the atoms in the rows after exchanges of them."""
        refit = self.refit.at(round_.status.alpha)
        fit, swaps = exchange(self.selector, refit, Fit(round_.W, round_.status), tolerance)
        return replace(round_, W=fit.W, status=fit.status, atoms=self.rows.atoms, swaps=swaps)

    @cached_property
    def _plain(self) -> Run:
        """The run without swaps, on rows of its own."""
        rows = self.rows.twin()
        selector = self.selector
        own = Selector(rows, selector.terms, selector.rule, selector.shortlist)
        return Run(rows, self.refit, self.stopping, own, self.held_out)

    def _plain_after(self, last: Round) -> Round | None:
        """Return the round without swaps after the last such; None where there is none."""
        run = self._plain
        if run.rows.atoms != last.atoms:
            run.rows.reset(last.atoms)
        choice, last = run.choose(last)
        return None if isinstance(choice, StopReason) else run.round_after(last, choice)

    def _better(self, one: Round, two: Round) -> bool:
        """Return whether the first has a lower loss or objective, beyond rounding."""
        pairs = (
            (one.status.objective, two.status.objective),
            (one.status.loss, two.status.loss),
        )
        return any(a < b - noise(self.rows, b) for a, b in pairs)
