"""Runs matches, limits, growth and first uses, each in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .plan import DATA, OLDER, Limit, Match, Runner

HERE = Path(__file__).parent
Found = dict[str, Any]


def answer(command: list[str], threads: int = 2) -> Any:
    """Return the JSON that a program prints last; it may use so many threads."""
    limits = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
        str(threads),
    )
    run = subprocess.run(command, env=os.environ | limits, stdout=-1, check=True, text=True)
    return json.loads(run.stdout.strip().splitlines()[-1])


def run_match(match: Match, older: str) -> Found:
    """Return the runs of ours and of every peer, in turns; with what the table says of them."""
    lines = [{"title": runner.title, "asked": runner.asked, "runs": []} for runner in match.runners]
    with tempfile.TemporaryDirectory() as folder:
        source = str(Path(folder) / "data.npz")
        np.savez(source, **DATA[match.data]()._asdict())

        def once(runner: Runner, options: Found) -> Found:
            python = older if runner.environment == OLDER else sys.executable
            program = str(HERE / "contestants.py")
            found: Found = answer([python, program, runner.name, source, json.dumps(options)])
            print(f"  {runner.title}: {found['seconds']:.2f} s", file=sys.stderr, flush=True)
            return found

        for repeat in range(match.repeats):
            for runner, line in zip(match.runners, lines, strict=True):
                if repeat < runner.most:
                    last = line["runs"][-1] if line["runs"] else {}
                    tuned = {"rate": last["rate"]} if "rate" in last else {}
                    line["runs"].append(once(runner, runner.options | tuned))
    return {"work": match.work, "lines": lines}


def run_limit(limit: Limit, quick: bool) -> Found:
    """Return the seconds of ours and of the peer's."""
    repeats = 5 if quick else limit.repeats
    found: Found = answer([sys.executable, str(HERE / "limits.py"), limit.name, str(repeats)])
    return found


def run_alone(program: str, *arguments: str) -> Found:
    """Return what one of the other programs prints."""
    found: Found = answer([sys.executable, str(HERE / program), *arguments])
    return found


def first_uses() -> Found:
    """Return the seconds to compile and to load the kernels of every pool."""
    from .first_use import POOLS

    found: Found = {}
    for pool in POOLS:
        with tempfile.TemporaryDirectory() as folder:
            first, later = (
                run_alone("first_use.py", pool, folder)["seconds"] for _ in ("compiles", "loads")
            )
        found[pool] = {"first": first, "later": later}
    return found
