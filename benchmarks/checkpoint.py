"""What a checkpoint costs: the share of a round's time that putting it on disk takes.

MNIST with 1000 templates, as in the paper's section 7.4. The file grows with the rounds, so the
last ones are the dearest.

    python benchmarks/checkpoint.py [--rounds 266] [--folder DIR]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from paper.provenance import stamp
from shareboost import ShareBoostClassifier
from shareboost.datasets import load_dataset
from shareboost.io.checkpoint import Checkpoint
from shareboost.pools import Templates


def timed_saves():
    """Let every save of this process note its seconds; return where."""
    seconds, save = [], Checkpoint.save

    def timed(self, path):
        started = perf_counter()
        save(self, path)
        seconds.append(perf_counter() - started)

    Checkpoint.save = timed
    return seconds


def main(rounds, folder):
    mnist = load_dataset("mnist")
    saves = timed_saves()
    with tempfile.TemporaryDirectory(dir=folder) as own:
        file = Path(own) / "mnist.checkpoint"
        clf = ShareBoostClassifier(rounds, pool=Templates(1000), alpha=1e-4, checkpoint=file)
        clf.fit(mnist.X_train, mnist.y_train)
        size = file.stat().st_size
    # A round's clock runs on while the one before is put on disk.
    own = np.diff([0.0, *(round_.seconds for round_ in clf.path_.rounds)]) - [0.0, *saves[:-1]]
    print(f"{stamp()}.\n")
    print("| rounds | a round, s | its checkpoint, s | share |")
    print("|---|---|---|---|")
    for part in np.array_split(np.arange(rounds), 4):
        a, b = np.median(own[part]), np.median(np.array(saves)[part])
        print(f"| {part[0] + 1} to {part[-1] + 1} | {a:.3f} | {b:.4f} | {b / (a + b):.1%} |")
    print(
        f"\nAll {rounds} rounds: {sum(saves) / (own.sum() + sum(saves)):.1%}; "
        f"the file has {size / 1e6:.1f} MB at the end."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=266)
    parser.add_argument("--folder", default=None, help="where the file goes; a temporary folder")
    main(**vars(parser.parse_args()))
