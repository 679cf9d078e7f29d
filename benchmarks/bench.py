"""How fast shareboost is: beside its peers, beside the machine's limits, and as work grows.

    make bench         # the full form, without limit of time; writes docs/benchmarks.md
    make bench-quick   # under 5 minutes: shorter paths, one run each

    python benchmarks/bench.py [--quick] [--older PYTHON] [--only NAME ...] [--json FILE] [--docs]

Prints Markdown tables and keeps all numbers in a JSON file: a run of some NAMEs replaces these
alone. `--older` is a Python with abess and adelie, which need an older NumPy; without it they are
left out. `--docs` writes the tables into
docs/benchmarks.md, and the plot beside it. Runs on Linux. Needs Isolet, Pendigits and MNIST (see
shareboost.datasets.load_dataset) and the extra "bench".
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from speed.measure import first_uses, run_alone, run_limit, run_match
from speed.plan import LIMITS, OLDER, matches
from speed.report import growth_plot, machine, written

from paper.provenance import revision

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"


def main(options: argparse.Namespace) -> None:
    tasks = tasks_of(options)
    if unknown := set(options.only or ()) - set(tasks):
        sys.exit(f"--only takes some of {', '.join(tasks)}; it got {', '.join(unknown)}.")
    found = json.loads(options.json.read_text()) if options.json.exists() else {}
    found["machine"], now = machine(), revision() or "unknown"  # before anything changes
    found.setdefault("revisions", {})
    found.setdefault("dates", {})
    options.json.parent.mkdir(exist_ok=True)
    for name in options.only or tasks:
        began = perf_counter()
        found[name] = tasks[name]()
        found["revisions"][name] = now
        found["dates"][name] = f"{datetime.now(UTC):%Y-%m-%d}"
        print(f"{name}: {perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    tables = written(found)
    print(tables)
    if options.docs:
        growth_plot(found["growth"], DOCS / "growth.svg")
        page = DOCS / "benchmarks.md"
        before, rest = page.read_text().split(BEGIN)
        _, after = rest.split(END)
        page.write_text(before + BEGIN + "\n" + tables + "\n" + END + after)


def tasks_of(options: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    """Return all that can be measured, by name."""
    tasks: dict[str, Callable[[], Any]] = {}
    for match in matches(options.quick):
        if options.older is None:
            runners = tuple(each for each in match.runners if each.environment != OLDER)
            match = replace(match, runners=runners)
        tasks[match.name] = partial(run_match, match, options.older)
    for limit in LIMITS:
        tasks[limit.name] = partial(run_limit, limit, options.quick)
    tasks["growth"] = partial(run_alone, "growth.py", "1" if options.quick else "5")
    tasks["memory"] = partial(run_alone, "limits.py", "memory", "1")
    tasks["first_use"] = first_uses
    if not options.quick:
        tasks["sparse_fit"] = partial(run_alone, "limits.py", "sparse_fit", "1")
    return tasks


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--older", metavar="PYTHON")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--json", type=Path, default=DOCS / "benchmarks.json")
    parser.add_argument("--docs", action="store_true")
    main(parser.parse_args())
