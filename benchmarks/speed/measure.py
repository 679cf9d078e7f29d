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

from .plan import DATA, OLDER, Limit, Match

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
    """Return the runs of ours and of every peer, in turns."""
    runs: dict[str, list[Found]] = {"shareboost": [], **{peer.name: [] for peer in match.peers}}
    with tempfile.TemporaryDirectory() as folder:
        source = str(Path(folder) / "data.npz")
        np.savez(source, **DATA[match.data]()._asdict())

        def once(python: str, name: str, options: Found) -> Found:
            program = str(HERE / "contestants.py")
            found: Found = answer([python, program, name, source, json.dumps(options)])
            print(f"  {name}: {found['seconds']:.2f} s", file=sys.stderr, flush=True)
            return found

        for _ in range(match.repeats):
            runs["shareboost"].append(once(sys.executable, "shareboost", match.ours))
            for peer in match.peers:
                python = older if peer.environment == OLDER else sys.executable
                last = runs[peer.name][-1] if runs[peer.name] else {}
                tuned = {"rate": last["rate"]} if "rate" in last else {}
                runs[peer.name].append(once(python, peer.name, peer.options | tuned))
    return {"runs": runs}


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
