"""A fit on a cluster of this machine's cores beside the local fit on the same rows.

    python benchmarks/cluster.py [--rows 1000000] [--columns 500] [--classes 20] [--features 30]
    python benchmarks/cluster.py --bytes

Prints the seconds of both and their ratio; or the bytes that the scheduler saw move in a
round beside the limit of 3 times (statistics + W) for every edge of the tree of blocks.
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from shareboost import ShareBoostClassifier
from shareboost.backends.dask.executor import BRANCHES


def block(seed: int, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of k classes that differ in some columns each."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(12345).normal(size=(k, d)).astype(np.float32)
    centres *= np.random.default_rng(54321).random(d, dtype=np.float32) < 0.2
    y = rng.integers(k, size=n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += 0.5 * centres[y]
    return X, y


def rows_of(seeds: list[int], n: int, d: int, k: int) -> tuple[da.Array, da.Array]:
    """Return the rows of some seeds, a block each, made on the workers."""
    from dask import delayed

    pairs = [delayed(block, nout=2)(seed, n, d, k) for seed in seeds]
    X = da.concatenate([da.from_delayed(p[0], (n, d), np.float32) for p in pairs])
    y = da.concatenate([da.from_delayed(p[1], (n,), np.int64) for p in pairs])
    return X, y


def seconds(clf: ShareBoostClassifier, X, y) -> float:
    started = time.perf_counter()
    clf.fit(X, y)
    return time.perf_counter() - started


def sent(dask_scheduler) -> float:
    """Return the bytes that workers have sent so far, to each other and to the client."""
    seen = dask_scheduler.cumulative_worker_metrics
    return float(seen[("get-data", "memory-read", "bytes")])


def print_bytes(client: Client, own: argparse.Namespace, X, y) -> None:
    """Print what moves in a round, and what may: by two fits, one of twice the features."""
    ShareBoostClassifier(1).fit(X, y)  # compiles
    found = []
    for n_features in (own.features // 2, own.features):
        time.sleep(3)  # workers tell the scheduler of what they sent twice a second
        before = client.run_on_scheduler(sent)
        clf = ShareBoostClassifier(n_features).fit(X, y)
        time.sleep(3)
        found.append((n_features, client.run_on_scheduler(sent) - before))
    (few, less), (many, more) = found
    moved = (more - less) / (many - few)
    k, d, m = own.classes, own.columns, own.features
    W = 8 * k * (m + 1)
    tasks = own.blocks * (len(pickle.dumps(np.zeros((k, m + 1)))) + 150 * m)
    column = 4 * own.rows if "gathered" in clf.cluster_.refit else 0
    edges = own.blocks + -(-own.blocks // BRANCHES) + 1
    most = 3 * (8 * k * d + W) * edges
    print(f"{clf.cluster_.refit}: {edges} edges, at most {most / 1e6:.2f} MB a round")
    print(
        f"  workers sent {moved / 1e6:.2f} MB a round, of which the gathered column is "
        f"{column / 1e6:.2f}; W and atoms with the tasks of a pass about {tasks / 1e6:.2f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=500)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--bytes", action="store_true", help="measure bytes, no seconds")
    own = parser.parse_args()
    n = own.rows // own.blocks
    clf = ShareBoostClassifier(own.features)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        X, y = client.persist(rows_of(list(range(own.blocks)), n, own.columns, own.classes))
        if own.bytes:
            for memory in (None, "0"):
                with dask.config.set({"shareboost.client-memory": memory}):
                    print_bytes(client, own, X, y)
            return
        local = [block(seed, n, own.columns, own.classes) for seed in range(own.blocks)]
        A, b = (np.concatenate(parts) for parts in zip(*local, strict=True))
        del local
        ShareBoostClassifier(2).fit(A[:5000], b[:5000])  # compiles
        ShareBoostClassifier(2).fit(X[:n], y[:n])
        here, there = [], []
        for _ in range(own.repeats):
            here.append(seconds(clf, A, b))
            chosen, losses = clf.selected_, clf.path_.losses
            there.append(seconds(clf, X, y))
            assert np.array_equal(chosen, clf.selected_), (chosen, clf.selected_)
            print(f"local {here[-1]:.1f} s, cluster {there[-1]:.1f} s", flush=True)
        a, b = np.median(here), np.median(there)
        print(f"median: local {a:.1f} s, cluster {b:.1f} s, x {b / a:.2f}")
        print(f"losses differ by {abs(losses - clf.path_.losses).max():.1e}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
