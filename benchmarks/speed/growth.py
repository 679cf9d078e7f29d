"""How the time of a fit grows: rows, columns, classes and rounds doubled, one at a time.

    python growth.py REPEATS

Prints JSON: for each of the four its sizes and, of every repeat, the seconds of all, of the
selections and of the refits. The rows are drawn from a linear model of some columns.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter
from typing import Any

import numpy as np

from shareboost import ShareBoostClassifier
from shareboost.selection.rules import Selector
from shareboost.solvers import Refit

BASE = {"rows": 20_000, "columns": 500, "classes": 10, "rounds": 40}
DOUBLINGS = 3


def drawn(rows: int, columns: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    weights = rng.standard_normal((200, classes)) * np.geomspace(1.0, 0.1, 200)[:, None]
    scores = X[:, :200] @ weights
    return X, np.argmax(scores + 3.0 * rng.gumbel(size=scores.shape), axis=1)


def counted(owner: Any, name: str) -> list[float]:
    """Return a list to which every call of the method adds its seconds."""
    seconds, original = [], getattr(owner, name)

    def timed(*arguments: Any) -> Any:
        began = perf_counter()
        found = original(*arguments)
        seconds.append(perf_counter() - began)
        return found

    setattr(owner, name, timed)
    return seconds


def main(repeats: int) -> dict[str, Any]:
    selections, refits = counted(Selector, "best"), counted(Refit, "__call__")
    found: dict[str, Any] = {}
    for name, start in BASE.items():
        sizes = [start * 2**i // 2 for i in range(DOUBLINGS + 1)]
        runs: dict[str, list[list[float]]] = {"all": [], "selection": [], "refit": []}
        problems = []
        for size in sizes:
            wanted = BASE | {name: size}
            rounds = wanted.pop("rounds")
            problems.append((drawn(**wanted), rounds))
            (X, y), _ = problems[-1]
            ShareBoostClassifier(2).fit(X[:2000], y[:2000])  # compiles
        for _ in range(repeats):
            for kind in runs.values():
                kind.append([])
            for (X, y), rounds in problems:
                selections.clear()
                refits.clear()
                began = perf_counter()
                ShareBoostClassifier(rounds).fit(X, y)
                runs["all"][-1].append(perf_counter() - began)
                runs["selection"][-1].append(sum(selections))
                runs["refit"][-1].append(sum(refits))
        found[name] = {"sizes": sizes, **runs}
    return found


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
