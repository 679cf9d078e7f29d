"""What the command takes in memory for large CSV files, and how long --help takes.

    python benchmarks/table_memory.py [--gigabytes 1] [--features 20]

Writes three tables to a temporary folder: 50 columns of 7 digits, 300 columns of one digit, and
those with one column of decimals. Prints a Markdown table of the largest resident memory of
`shareboost fit --holdout 0.2`, `predict` and `report`, and of `fit --test` with the same file again
to test on, each a process of its own. Runs on Linux; needs the extra "command".
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from paper.provenance import stamp

COMMAND = [sys.executable, "-c", "from shareboost.cli import app; app()"]
COMMANDS = ("fit", "predict", "report", "fit --test")
N_CLASSES = 5
BLOCK = 10_000  # rows, written again and again with other labels


def lines_of(kind: str, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Names of columns, and rows without their label."""
    if kind == "digits":
        values = [[f"{value:.6f}" for value in row] for row in rng.standard_normal((BLOCK, 50))]
    else:
        values = [list(map(str, row)) for row in rng.integers(0, 10, (BLOCK, 300)).tolist()]
    if kind == "mixed":
        values = [[f"0.{k % 97:02d}", *row] for k, row in enumerate(values)]
    return [f"x{j}" for j in range(len(values[0]))], [",".join(row) for row in values]


def write(path: Path, kind: str, n_bytes: float) -> None:
    rng = np.random.default_rng(0)
    names, lines = lines_of(kind, rng)
    with path.open("w") as file:
        file.write(",".join([*names, "label"]) + "\n")
        while file.tell() < n_bytes:
            labels = rng.integers(N_CLASSES, size=BLOCK).tolist()
            file.writelines(f"{x},c{k}\n" for x, k in zip(lines, labels, strict=True))


def measured(*words: str) -> tuple[float, float]:
    """Largest resident memory in GB, and seconds."""
    start = perf_counter()
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"shareboost {' '.join(words)} failed.")
    return usage.ru_maxrss * 1024 / 1e9, perf_counter() - start


def main(options: argparse.Namespace) -> None:
    heads = [f"{name}, {unit}" for name in COMMANDS for unit in ("GB", "s")]
    print(f"{stamp()}.\n")
    print(f"| table | file, GB | {' | '.join(heads)} |")
    print("|---" * (2 + len(heads)) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("digits", "short", "mixed"):
            path, model = Path(folder, f"{kind}.csv"), Path(folder, f"{kind}.json")
            write(path, kind, options.gigabytes * 1e9)
            size = path.stat().st_size / 1e9
            target = ("--target", "label")
            words = ("fit", str(path), *target, "--features", str(options.features), "--out")
            page = str(Path(folder, f"{kind}.html"))
            cells = (
                size,
                *measured(*words, str(model), "--holdout", "0.2"),
                *measured("predict", str(model), str(path)),
                *measured("report", str(model), "--data", str(path), *target, "--out", page),
                *measured(*words, str(Path(folder, f"{kind}2.json")), "--test", str(path)),
            )
            print(f"| {kind} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |", flush=True)
            path.unlink()
    seconds = min(measured("--help")[1] for _ in range(5))
    print(f"\nshareboost --help: {seconds:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--features", type=int, default=20)
    main(parser.parse_args())
