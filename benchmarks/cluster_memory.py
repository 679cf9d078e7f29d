"""A fit on more rows than the workers can hold: 4 workers of 1 GiB, 6 GiB of rows made on the fly.

    python benchmarks/cluster_memory.py [--gibibytes 6] [--features 5]

Prints the seconds, how the fit used the cluster, and the most memory that the client and the
workers took.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from cluster import rows_of
from distributed import Client, LocalCluster

from shareboost import ShareBoostClassifier

COLUMNS, CLASSES, BLOCK_BYTES = 1000, 10, 1 << 26


def peak(dask_worker=None) -> int:
    """Return the most bytes that this process has held."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def spilled(dask_worker) -> int:
    """Return the bytes that a worker has on disk."""
    return int(dask_worker.data.spilled_total.disk)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gibibytes", type=float, default=6.0)
    parser.add_argument("--features", type=int, default=5)
    own = parser.parse_args()
    n = BLOCK_BYTES // (4 * COLUMNS)
    blocks = round(own.gibibytes * 2**30 / (4 * n * COLUMNS))
    with (
        LocalCluster(
            n_workers=4, threads_per_worker=1, memory_limit="1GiB", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        X, y = rows_of(list(range(blocks)), n, COLUMNS, CLASSES)
        pids = set(client.run(lambda: __import__("os").getpid()).values())
        before = peak()
        clf = ShareBoostClassifier(own.features)
        started = time.perf_counter()
        clf.fit(X, y)
        print(
            f"{X.nbytes / 2**30:.1f} GiB in {blocks} blocks: {time.perf_counter() - started:.0f} s"
        )
        print(clf.cluster_)
        print("features", clf.selected_, "losses", np.round(clf.path_.losses, 4))
        print(f"client: {before / 2**20:.0f} MiB before, at most {peak() / 2**20:.0f} MiB")
        for worker, most in client.run(peak).items():
            print(f"{worker}: at most {most / 2**20:.0f} MiB")
        print("on disk", sum(client.run(spilled).values()), "bytes")
        now = set(client.run(lambda: __import__("os").getpid()).values())
        print("no worker was restarted" if now == pids else f"restarted: {len(pids - now)}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
