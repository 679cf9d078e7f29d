"""How fast shareboost is: beside its peers, beside the machine's limits, and as work grows.

    make bench         # the full form, without limit of time; writes docs/benchmarks.md
    make bench-quick   # under 5 minutes: shorter paths, one run each

    python benchmarks/bench.py [--quick] [--older PYTHON] [--only NAME ...] [--json FILE] [--docs]

Prints Markdown tables and keeps all numbers in a JSON file: a run of some NAMEs replaces these
alone. `--older` is a Python with abess and adelie, which need an older NumPy; without it they are
left out, and the table says so by not having them. `--docs` writes the tables into
docs/benchmarks.md, and the plot beside it. Needs Isolet, Pendigits and MNIST (see
shareboost.datasets.load_dataset) and the extra "bench".
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from speed.measure import first_uses, run_alone, run_limit, run_match
from speed.plan import LIMITS, OLDER, matches
from speed.report import growth_plot, machine, written

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"


def main(options: argparse.Namespace) -> None:
    plan = matches(options.quick)
    if options.older is None:
        plan = tuple(
            replace(match, peers=tuple(peer for peer in match.peers if peer.environment != OLDER))
            for match in plan
        )
    tasks = {match.name: lambda match=match: run_match(match, options.older) for match in plan}
    tasks |= {limit.name: lambda limit=limit: run_limit(limit, options.quick) for limit in LIMITS}
    tasks["growth"] = lambda: run_alone("growth.py", "1" if options.quick else "5")
    tasks["first_use"] = first_uses
    tasks["memory"] = lambda: run_alone("limits.py", "memory", "1")
    if not options.quick:
        tasks["sparse_fit"] = lambda: run_alone("limits.py", "sparse_fit", "1")
    found = json.loads(options.json.read_text()) if options.json.exists() else {}
    for name in options.only or tasks:
        print(name, file=sys.stderr, flush=True)
        found[name] = tasks[name]()
        found["machine"] = machine()
        options.json.parent.mkdir(exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    tables = written(plan, found)
    print(tables)
    if options.docs:
        page = DOCS / "benchmarks.md"
        before, rest = page.read_text().split(BEGIN)
        _, after = rest.split(END)
        page.write_text(before + BEGIN + "\n" + tables + "\n" + END + after)
        growth_plot(found["growth"], DOCS / "growth.svg")


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
