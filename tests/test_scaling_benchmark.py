"""The cost model, the simulation and the counts of docs/scaling.md, on cases worked out by hand."""

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
NAMES = ("cost_model", "cluster_simulation", "scaling_parts", "scaling_fits", "scaling")


@pytest.fixture
def scaling(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.syspath_prepend(str(FOLDER))
    import scaling

    yield scaling
    for name in NAMES:
        del sys.modules[name]


@pytest.fixture
def model(scaling):
    return sys.modules["cost_model"]


@pytest.fixture
def simulation(scaling):
    return sys.modules["cluster_simulation"]


def one_pass(model, **more):
    """Four blocks of 10 s on two workers; answers of 100 bytes: 10 s to move, 1 s to add."""
    costs = model.Costs(scheduled=1.0, merged=0.01, moved=0.1, round_trip=5.0)
    work = model.Work(4, 1, 1, 1, blocks=4, workers=2, scattered=False)
    return costs, work, model.Pass("statistics", 10.0, 100.0, 0.0, **more)


def test_a_pass_is_played_as_by_hand(model, simulation):
    # Tasks are handed out at 1, 2, 3 and 4 s. The second worker ends its two blocks at 23 s; the
    # sum is handed out at 24 s to the first, gets two answers until 44 s and adds until 47 s.
    assert simulation.simulated_pass(*one_pass(model)) == pytest.approx(47.0 + 5.0)


def test_a_worker_of_two_threads_computes_two_blocks_at_once(model, simulation):
    costs, work, one = one_pass(model)
    work = model.replace(work, threads=2)
    # The last block is handed out at 4 s and ends at 14 s.
    assert simulation.simulated_pass(costs, work, one) == pytest.approx(14 + 1 + 20 + 3 + 5.0)


def test_the_closed_form_is_the_longer_of_scheduler_and_workers_and_the_tree(model):
    assert model.seconds_of_pass(*one_pass(model)) == pytest.approx(5 + 2 * 10 + 2 * 10 + 3)
    costs, work, one = one_pass(model)
    slow = model.replace(costs, scheduled=100.0)
    assert model.seconds_of_pass(slow, work, one) == pytest.approx(5 + 5 * 100 + 2 * 10 + 3)


def test_a_network_slower_than_the_loopback_counts(model, simulation):
    costs, work, one = one_pass(model)
    slow = model.replace(work, bandwidth=1.0)  # 100 s an answer
    assert simulation.simulated_pass(costs, slow, one) == pytest.approx(24 + 200 + 3 + 5.0)


@pytest.mark.parametrize(("blocks", "tasks"), [(1, 2), (8, 9), (9, 12), (64, 73), (65, 77)])
def test_tasks_are_those_of_a_tree_of_eight_branches(model, blocks, tasks):
    assert model.n_tasks(blocks, one_pass(model)[2]) == tasks


def test_only_answers_of_other_workers_move(model):
    work = one_pass(model)[1]
    assert model.away(work) == 2
    assert model.away(model.replace(work, workers=1)) == 0
    assert model.away(model.replace(work, blocks=16)) == 1
    # Of 64 blocks a worker each, every sum has one of its inputs.
    assert model.away(model.replace(work, blocks=64, workers=64, scattered=True)) == 9 * 7


def test_rounds_in_closed_form_and_simulated_differ_by_little(model, simulation):
    costs = model.Costs(
        dense=1e-10, product=1e-10, softmax=2e-9, scheduled=5e-4, started=1e-3, merged=1e-10
    )
    for summed in (False, True):
        work = model.Work(10**7, 500, 20, 30, 800, 100, summed=summed, bandwidth=1e9)
        closed = model.seconds_of_round(costs, work, 16)
        assert simulation.simulated_round(costs, work, 16) == pytest.approx(closed, rel=0.3)


@pytest.mark.parametrize("summed", [False, True])
def test_counts_of_a_fit_are_those_of_the_model(scaling, model, summed):
    from distributed import Client, LocalCluster

    fits = sys.modules["scaling_fits"]
    work = model.Work(600, 8, 3, 3, blocks=10, workers=1, summed=summed)
    one = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with LocalCluster(**one, dashboard_address=":0") as cluster, Client(cluster) as client:
        fit = fits.measured_fit(client, work, 1)
    assert fit.scored == work.features
    n_leaves = fit.passes * work.blocks
    tree = sum(model.levels(work.blocks))
    if summed:
        others = 3 * work.features  # sums and products of a column, and its values of a sample
        assert fit.passes == pytest.approx(fit.scored + others + fit.evaluations, abs=2)
        merged = fit.passes - work.features
        assert fit.tasks == n_leaves + merged * tree + fit.scored
    else:
        assert fit.passes == 2 * work.features
        assert fit.tasks == n_leaves + work.features * (tree + 1)
    assert np.all(fits.coefficients(fit) >= 0)


def test_least_squares_find_the_costs_that_made_the_seconds(scaling, model):
    fits = sys.modules["scaling_fits"]
    rng = np.random.default_rng(0)
    costs = np.array([1e-9, 4e-9, 2e-9, 1e-3, 1e-2, 1e-8, 1e-9])
    found = []
    for work in fits.GRID:
        counts = rng.integers(5, 50, size=6).tolist()
        fit = fits.Fit(work, 1.0, 1.0, 0.0, *counts)
        fit.seconds = float(fits.terms(fit) @ costs)
        found.append(fit)
    np.testing.assert_allclose(scaling.fitted(found), costs, rtol=1e-6)


def test_tables_have_a_line_for_every_number_of_workers(model, simulation, monkeypatch):
    monkeypatch.setattr(simulation, "SIZES", (2, 9))
    costs = model.Costs(stored=1e-10, sparse_sum=1e-9, product=1e-10, scheduled=1e-3)
    (two, nine) = simulation.billion(costs, 1, 1)
    assert two.startswith("| 2 x 1 | 2 | ")
    assert nine.endswith("| the workers' sums |")
    assert len(simulation.compared(costs, simulation.DENSE, 1, 5)) == 4
