"""What the parts of a round on a cluster cost here, and how well they tell whole fits.

    python benchmarks/scaling.py [--quick] [--json COSTS.json]

Prints the tables of docs/scaling.md: the cost of every part, by itself, and whole fits on a
cluster of this machine's cores, measured and as three models have it: fitted to these fits by
least squares, in closed form from the parts, and simulated from the parts. The JSON file is for
``cluster_simulation.py``. Takes about six minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import dask
import distributed
import numpy as np
from cluster_simulation import simulated_round
from cost_model import Costs, Work, as_dict, seconds_of_round
from scaling_fits import GRID, Fit, coefficients, measured_fits
from scaling_parts import TITLES, block_costs, cluster_costs
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits


@contextmanager
def local_cluster(n_workers: int):
    """A cluster of processes of one thread each on this machine."""
    options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": "4GiB"}
    with (
        distributed.LocalCluster(n_workers=n_workers, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def fitted(fits: list[Fit]) -> np.ndarray:
    """Return non-negative coefficients that leave the least squares of relative errors."""
    A, seconds = np.array([coefficients(fit) for fit in fits]), np.array([f.seconds for f in fits])
    found, _ = nnls(A / seconds[:, None], np.ones(len(fits)))
    return found


def left_out(fits: list[Fit]) -> np.ndarray:
    """Return the seconds of every fit by the coefficients of all others."""
    return np.array(
        [coefficients(own) @ fitted([fit for fit in fits if fit is not own]) for own in fits]
    )


def told(seconds: float, measured: float) -> str:
    return f"{seconds:.2f} ({100 * (seconds / measured - 1):+.0f}%)"


def summed_rounds(model, costs: Costs, fit: Fit) -> float:
    """Return the seconds of a fit's rounds by a model of one, with its own evaluations."""
    costs = replace(costs, evaluations=fit.evaluations / fit.work.features)
    return sum(model(costs, fit.work, m + 1) for m in range(fit.work.features))


def fits_table(costs: Costs, fits: list[Fit]) -> None:
    own = fitted(fits)
    by_squares, by_others = np.array([coefficients(fit) @ own for fit in fits]), left_out(fits)
    closed = np.array([summed_rounds(seconds_of_round, costs, fit) for fit in fits])
    played = np.array([summed_rounds(simulated_round, costs, fit) for fit in fits])
    print(
        "\n| rows | columns | classes | features | blocks | workers | refit on the "
        "| evaluations a round | other work | measured, s | least squares "
        "| the same, without this fit | closed form of parts | simulation of parts |\n"
        + "|---" * 14
        + "|"
    )
    for i, fit in enumerate(fits):
        work: Work = fit.work
        cells = [
            *(f"{n:,}" for n in (work.rows, work.columns, work.classes, work.features)),
            *(f"{n:,}" for n in (work.blocks, work.workers)),
            "cluster" if work.summed else "client",
            f"{fit.evaluations / work.features:.1f}",
            f"{100 * fit.others:.0f}%",
            f"{fit.seconds:.2f}",
            *(told(s[i], fit.seconds) for s in (by_squares, by_others, closed, played)),
        ]
        print(f"| {' | '.join(cells)} |")
    seconds = np.array([fit.seconds for fit in fits])
    quiet = np.array([fit.others for fit in fits]) <= 0.25
    print("\nMedian and largest error; and median of fits beside which other work had up to 25%:")
    for name, found in (
        ("least squares", by_squares),
        ("without the fit itself", by_others),
        ("closed form of parts", closed),
        ("simulation of parts", played),
    ):
        errors = 100 * abs(found / seconds - 1)
        median = f"{np.median(errors[quiet]):.0f}%" if quiet.any() else "none"
        print(f"- {name}: {np.median(errors):.0f}%, {errors.max():.0f}%; {median}")
    print(
        "\nLeast squares beside the parts:\n\n| seconds for each | fitted | parts |\n|---|---|---|"
    )
    beside = {
        "row x column x class of statistics": costs.dense,
        "row x chosen column x class": costs.product,
        "row x class": costs.softmax,
        "task": costs.scheduled,
        "pass": costs.round_trip,
        "row of a gathered column": costs.gathered,
        "byte of the tree": costs.merged,
    }
    for (name, part), one in zip(beside.items(), own, strict=True):
        print(f"| {name} | {one:.2e} | {part:.2e} |")


def main(options: argparse.Namespace) -> None:
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, one thread a process; NumPy "
        f"{np.__version__}, Dask {dask.__version__}.\n"
    )
    with local_cluster(2) as client:
        # On a worker: Dask has its processes give memory back at once, and take it anew.
        found = client.submit(block_costs, options.quick).result()
        found |= cluster_costs(client, options.quick)
    costs = Costs(**found)
    grid = GRID[:2] if options.quick else GRID
    fits = []
    for n_workers in sorted({work.workers for work in grid}):
        with local_cluster(n_workers) as client:
            own = [work for work in grid if work.workers == n_workers]
            fits += measured_fits(client, own, 1 if options.quick else 3)
    each = float(np.median([fit.evaluations / fit.work.features for fit in fits]))
    costs = replace(costs, evaluations=each)
    print("| cost | of one |\n|---|---|")
    for name, value in as_dict(costs).items():
        print(f"| {TITLES[name]} | {value:.3g}{'' if name == 'evaluations' else ' s'} |")
    fits_table(costs, fits)
    if options.json:
        seconds = [{"work": vars(f.work), "seconds": f.seconds} for f in fits]
        options.json.write_text(json.dumps({"costs": as_dict(costs), "fits": seconds}, indent=1))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", type=Path)
    with threadpool_limits(1):  # those of the workers are set by Dask
        main(parser.parse_args())
