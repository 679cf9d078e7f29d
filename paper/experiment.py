"""What an experiment is: measure, then draw and judge what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from .lab import Lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]  # of the CSV file: texts and numbers


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    INDISTINGUISHABLE = "indistinguishable"  # from what the paper claims: the rows are too few


class Claim(NamedTuple):
    """A claim of the paper beside what was measured."""

    claim: str
    paper: str  # its number, or "a curve, no number"
    measured: str
    verdict: Verdict


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes
    ----------
    title : str
    shows : str
        What the paper shows there, in a sentence or two.
    measure : callable
        Returns the rows of the CSV file. Slow work goes through ``lab.part``.
    draw : callable
        Returns figures by the names of their files, without a suffix.
    judge : callable
        Returns the claims.
    captions : mapping of str to str
        What each figure shows, by the names of the files: its caption and alternative text.
    chosen : str
        Which choices were made and on which data, in Markdown.
    details : callable, optional
        Returns Markdown to stand below the claims: a table.
    needs : tuple of str
        Packages beside those that the library depends on.
    programs : tuple of str
        Programs that are called.
    """

    title: str
    shows: str
    measure: Callable[[Lab], list[Row]]
    draw: Callable[[Lab, list[Row]], Mapping[str, Figure]]
    judge: Callable[[list[Row]], list[Claim]]
    captions: Mapping[str, str]
    chosen: str
    details: Callable[[list[Row]], str] = lambda rows: ""
    needs: tuple[str, ...] = ("matplotlib",)
    programs: tuple[str, ...] = ()


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on several claims at once: in part where some hold, wholly or in part."""
    found = set(verdicts)
    if len(found) == 1:
        return found.pop()
    return Verdict.IN_PART if found & {Verdict.HOLDS, Verdict.IN_PART} else Verdict.FAILS


def verdict(whole: bool, part: bool = False) -> Verdict:
    """Return "holds" where all of a claim is true, else whether a part of it is."""
    return Verdict.HOLDS if whole else Verdict.IN_PART if part else Verdict.FAILS
