"""What the parts of a round on a cluster cost here, and how well they tell whole fits.

    python benchmarks/scaling.py [--quick] [--json COSTS.json]
    python benchmarks/scaling.py --table COSTS.json

Prints the tables of docs/scaling.md: the cost of every part, by itself, and whole fits on a
cluster of this machine's cores. Of these it has the seconds of processors, which other work on
the machine hardly changes, beside a model fitted by least squares and one made of the parts; and
those of the wall clock beside the closed form and the simulation, made of the parts too. The JSON
file is for ``cluster_simulation.py``. Takes about six minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import warnings
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import dask
import distributed
import numpy as np
from cluster_simulation import simulated_round
from cost_model import Costs, Work, seconds_of_round
from scaling_fits import COSTS, GRID, TERMS, Fit, coefficients, measured_fits, terms
from scaling_parts import TITLES, block_costs, cluster_costs
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from paper.provenance import stamp


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
    A, seconds = np.array([terms(fit) for fit in fits]), np.array([f.seconds for f in fits])
    found, _ = nnls(A / seconds[:, None], np.ones(len(fits)))
    return found


def left_out(fits: list[Fit]) -> np.ndarray:
    """Return the seconds of every fit by the coefficients of all others."""
    return np.array([terms(own) @ fitted([fit for fit in fits if fit is not own]) for own in fits])


def told(seconds: float, measured: float) -> str:
    return f"{seconds:.2f} ({100 * (seconds / measured - 1):+.0f}%)"


def summed_rounds(model, costs: Costs, fit: Fit) -> float:
    """Return the seconds of a fit's rounds by a model of one, with its own evaluations."""
    costs = replace(costs, evaluations=fit.evaluations / fit.work.features)
    return sum(model(costs, fit.work, m + 1) for m in range(fit.work.features))


def fits_table(costs: Costs, fits: list[Fit]) -> None:
    own, parts = fitted(fits), np.array([getattr(costs, name) for name in COSTS])
    by_squares, by_others = np.array([terms(fit) @ own for fit in fits]), left_out(fits)
    by_parts = np.array([coefficients(fit) @ parts for fit in fits])
    closed = np.array([summed_rounds(seconds_of_round, costs, fit) for fit in fits])
    played = np.array([summed_rounds(simulated_round, costs, fit) for fit in fits])
    print(
        "\n| rows | columns | classes | features | blocks | workers | refit on the "
        "| evaluations a round | processor, s | least squares | the same without this fit "
        "| from the parts | wall clock, s | other work | closed form | simulation |\n"
        + "|---" * 16
        + "|"
    )
    for i, fit in enumerate(fits):
        work: Work = fit.work
        cells = [
            *(f"{n:,}" for n in (work.rows, work.columns, work.classes, work.features)),
            *(f"{n:,}" for n in (work.blocks, work.workers)),
            "cluster" if work.summed else "client",
            f"{fit.evaluations / work.features:.1f}",
            f"{fit.seconds:.2f}",
            *(told(s[i], fit.seconds) for s in (by_squares, by_others, by_parts)),
            f"{fit.wall:.2f}",
            f"{100 * fit.others:.0f}%",
            *(told(s[i], fit.wall) for s in (closed, played)),
        ]
        print(f"| {' | '.join(cells)} |")
    print("\nMedian and largest error:\n")
    seconds, wall = (np.array([getattr(fit, name) for fit in fits]) for name in ("seconds", "wall"))
    for name, found, truth in (
        ("processor, least squares", by_squares, seconds),
        ("processor, least squares without the fit itself", by_others, seconds),
        ("processor, from the parts", by_parts, seconds),
        ("wall clock, closed form", closed, wall),
        ("wall clock, simulation", played, wall),
    ):
        errors = 100 * abs(found / truth - 1)
        print(f"- {name}: {np.median(errors):.0f}%, {errors.max():.0f}%")
    print("\n| least squares | seconds of one |\n|---|---|")
    for name, one in zip(TERMS, own, strict=True):
        print(f"| {name} | {one:.2g} |")


def measured(quick: bool) -> dict[str, Any]:
    """Return all that is measured: costs, and whole fits."""
    with local_cluster(2) as client:
        # On a worker: Dask has its processes give memory back at once, and take it anew.
        found = client.submit(block_costs, quick).result()
        found |= cluster_costs(client, quick)
    grid = GRID[:2] if quick else GRID
    fits = []
    for n_workers in sorted({work.workers for work in grid}):
        with local_cluster(n_workers) as client:
            own = [work for work in grid if work.workers == n_workers]
            fits += measured_fits(client, own, 1 if quick else 3)
    found["evaluations"] = float(np.median([fit.evaluations / fit.work.features for fit in fits]))
    machine = f"{stamp()}, one thread a process; NumPy {np.__version__}, Dask {dask.__version__}."
    return {"machine": machine, "costs": found, "fits": [asdict(fit) for fit in fits]}


def print_tables(found: dict[str, Any]) -> None:
    costs = Costs(**found["costs"])
    print(f"{found['machine']}\n\n| cost | of one |\n|---|---|")
    for name, value in asdict(costs).items():
        print(f"| {TITLES[name]} | {value:.2g}{'' if name == 'evaluations' else ' s'} |")
    fits_table(costs, [Fit(**fit | {"work": Work(**fit["work"])}) for fit in found["fits"]])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", type=Path, help="where to keep what is measured")
    parser.add_argument("--table", type=Path, help="print what another run kept")
    options = parser.parse_args()
    if options.table:
        kept = json.loads(options.table.read_text())
    else:
        with threadpool_limits(1):  # those of the workers are set by Dask
            kept = measured(options.quick)
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1) + "\n")
    print_tables(kept)
