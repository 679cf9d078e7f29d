from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_jointboost import SEARCHES, best_round, fit

from shareboost.rivals import class_sets
from shareboost.rivals.class_sets import Part, Sums, best_shared, exhaustive, forward


def some_problem(seed, n=40, k=4, n_atoms=30, noise=1.0):
    """Stumps by row, (atoms, n), labels and weights, (k, n): some stumps tell some classes."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, size=n - k)])
    signal = rng.normal(size=(n_atoms, k))[:, y] + noise * rng.normal(size=(n_atoms, n))
    columns = signal <= rng.normal(size=(n_atoms, 1))
    columns[:, 0], columns[:, 1] = True, False  # none is constant
    return columns, y, rng.uniform(0.1, 1, size=(k, n))


def signs(y, k):
    return np.where(y == np.arange(k)[:, None], 1.0, -1.0)


def sums_of(columns, y, w, n_parts=3, mapped=map):
    z = signs(y, len(w))
    below = [numbers @ columns.T.astype(float) for numbers in (w, w * z)]
    edges = np.linspace(0, len(columns), n_parts + 1).astype(int)
    parts = [
        Part(int(start), *(np.ascontiguousarray(numbers[:, start:stop]) for numbers in below))
        for start, stop in pairwise(edges)
    ]
    return Sums(w.sum(axis=1), (w * z).sum(axis=1), parts, mapped)


def explained(columns, y, w, classes):
    """Z^2 / W of both sides of every stump for a set of classes that share it."""
    z = signs(y, len(w))
    some = list(classes)
    total = np.zeros(len(columns))
    for side in (columns, ~columns):
        weight = (w[some] @ side.T).sum(axis=0)
        signed = ((w * z)[some] @ side.T).sum(axis=0)
        total += signed**2 / weight
    return total


def gains(columns, y, w, classes):
    """What J falls by with every stump, where those classes share it."""
    z = signs(y, len(w))
    constants = (w * z).sum(axis=1) ** 2 / np.maximum(w.sum(axis=1), 1e-300)
    return explained(columns, y, w, classes) - constants[list(classes)].sum()


def naive_arguments(columns, y, w):
    return columns.tolist(), y.tolist(), w.tolist()


def test_gains_are_what_the_error_falls_by():
    columns, y, w = some_problem(0, n=12, n_atoms=4)
    z = signs(y, 4)
    alone = sum(
        w[c] @ (z[c] - w[c] @ z[c] / w[c].sum()) ** 2 for c in range(4)
    )  # J of constants alone
    for classes in ([1], [0, 2], [0, 1, 2, 3]):
        found = gains(columns, y, w, classes)
        for atom in range(4):
            a, b, constants, error = fit(columns[atom], classes, y, w)
            assert np.isclose(found[atom], alone - error)
            assert max(map(abs, (a, b, *constants))) <= 1.0


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_exhaustive_search_meets_every_set_with_its_gain(k):
    columns, y, w = some_problem(1, k=k)
    met = exhaustive(sums_of(columns, y, w))
    sets = [some for size in range(1, k + 1) for some in combinations(range(k), size)]
    assert [tuple(sorted(found.classes)) for found in met] == sets
    assert np.allclose([found.gain for found in met], [gains(columns, y, w, s).max() for s in sets])


def greedy_sets(columns, y, w):
    chosen, met = (), []
    while len(chosen) < len(w):
        others = [c for c in range(len(w)) if c not in chosen]
        tried = {c: gains(columns, y, w, (*chosen, c)).max() for c in others}
        chosen = (*chosen, max(tried, key=tried.get))
        met.append((chosen, tried[chosen[-1]]))
    return met


@pytest.mark.parametrize(("k", "noise"), [(2, 5.0), (3, 0.5), (7, 0.5), (7, 5.0)])
def test_the_forward_search_adds_the_best_class_each_time(k, noise):
    columns, y, w = some_problem(2, n=200, k=k, n_atoms=2000, noise=noise)
    met = forward(sums_of(columns, y, w))
    twin = greedy_sets(columns, y, w)
    assert [found.classes for found in met] == [classes for classes, _ in twin]
    assert np.allclose([found.gain for found in met], [gain for _, gain in twin])


@pytest.mark.parametrize("seed", range(2))
def test_what_the_forward_search_skips_changes_nothing(seed, monkeypatch):
    columns, y, w = some_problem(seed, n=300, k=6, n_atoms=3000, noise=0.3)
    columns[500:, 2:] = np.random.default_rng(seed).random((2500, 298)) < 0.5  # tell nothing
    sums = sums_of(columns, y, w)
    looked = []
    best_gains = class_sets._best_gains

    def counted(parts, others, totals, wanted):
        looked.append(wanted.mean())
        return best_gains(parts, others, totals, wanted)

    monkeypatch.setattr(class_sets, "_best_gains", counted)
    pruned = forward(sums)
    assert np.mean(looked[1::2]) < 0.5
    monkeypatch.setattr(class_sets, "BOUND_SLACK", np.inf)
    assert forward(sums) == pruned


@given(st.integers(0, 10**6), st.integers(2, 5))
@settings(max_examples=50)
def test_a_set_gains_at_most_what_its_parts_gain(seed, k):
    """The law behind the bounds of the forward search."""
    columns, y, w = some_problem(seed, k=k)
    w **= 8.0  # of very unlike sizes
    larger = gains(columns, y, w, range(k))
    smaller = gains(columns, y, w, range(k - 1)) + gains(columns, y, w, [k - 1])
    assert (larger <= smaller + 1e-9 * w.sum()).all()


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from(sorted(SEARCHES)))
@settings(max_examples=40)
def test_stump_and_set_are_those_of_the_naive_search(seed, k, search):
    columns, y, w = some_problem(seed, n=12, k=k, n_atoms=6)
    found = best_shared(sums_of(columns, y, w), search)
    naive = best_round(*naive_arguments(columns, y, w), search)
    assert (found.atom, found.classes) == (naive.atom, naive.classes)


def best_gain(columns, y, w, search):
    found = best_shared(sums_of(columns, y, w), search)
    return gains(columns, y, w, found.classes)[found.atom]


@given(st.integers(0, 10**6), st.integers(2, 6))
@settings(max_examples=60)
def test_no_search_gains_more_than_the_exhaustive_one_nor_less_than_the_best_class_alone(seed, k):
    columns, y, w = some_problem(seed, k=k)
    forward_gain = best_gain(columns, y, w, "forward")
    best = best_gain(columns, y, w, "exhaustive")
    alone = max(gains(columns, y, w, [c]).max() for c in range(k))
    slack = 1e-9 * w.sum()
    assert alone - slack <= forward_gain <= best + slack
    if k == 2:
        assert forward_gain >= best - slack


def test_the_forward_search_mostly_finds_the_best_set():
    shares = []
    for seed in range(50):
        columns, y, w = some_problem(seed, k=6)
        pair = (best_gain(columns, y, w, search) for search in ("forward", "exhaustive"))
        shares.append(next(pair) / next(pair))
    # Measured: 0.92 of 200 such problems, with at least 0.67 of the best gain.
    assert np.mean(np.array(shares) > 1 - 1e-9) >= 0.8
    assert min(shares) > 0.6


@pytest.mark.parametrize("search", ["forward", "exhaustive"])
def test_classes_that_one_stump_tells_from_all_others_share_it(search):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 20)
    columns = rng.random((40, 100)) < 0.5
    columns[17] = np.isin(y, [1, 3])
    found = best_shared(sums_of(columns, y, np.ones((5, 100))), search)
    assert found == (17, (1, 3))


@pytest.mark.parametrize("search", ["forward", "exhaustive"])
def test_ties_go_to_the_lowest_atom_and_then_to_the_set_met_first(search):
    y = np.array([0, 0, 1, 1, 2, 2])
    tells = [np.isin(y, some) for some in ([2], [1], [0])]
    columns = np.array([y < 0, *tells, *tells])
    columns[0, 0] = True
    # The forward search starts from the lowest class.
    first = {"exhaustive": (1, (2,)), "forward": (3, (0,))}[search]
    assert best_shared(sums_of(columns, y, np.ones((3, 6))), search) == first
    # What tells two classes apart tells either from the other: the lower one has it.
    two = np.array([0, 0, 1, 1])
    assert best_shared(sums_of(columns[1:3, 2:], two, np.ones((2, 4)), 1), search) == (0, (0,))


@pytest.mark.parametrize("search", ["forward", "exhaustive"])
def test_differences_below_rounding_are_ties(search):
    columns, y, w = some_problem(3)
    columns = np.concatenate([columns, columns, ~columns])
    sums = sums_of(columns, y, w, n_parts=5)
    found = best_shared(sums, search)
    assert found.atom < 30
    rng = np.random.default_rng(0)
    for part in sums.parts:
        part.signed[:] *= 1.0 + 1e-13 * rng.normal(size=part.signed.shape)
    assert best_shared(sums, search) == found


@pytest.mark.parametrize("search", ["forward", "exhaustive"])
def test_neither_parts_nor_threads_matter(search):
    columns, y, w = some_problem(4, n=100, n_atoms=1500)
    one = best_shared(sums_of(columns, y, w, 1), search)
    with ThreadPoolExecutor(2) as executor:
        assert best_shared(sums_of(columns, y, w, 7, executor.map), search) == one


@pytest.mark.parametrize("search", ["forward", "exhaustive"])
def test_classes_without_weight_or_rows_are_no_obstacle(search):
    columns, y, w = some_problem(5)
    y[y == 2] = 1  # no example is of class 2
    w[3] = 0.0  # nothing that is said of class 3 counts
    found = best_shared(sums_of(columns, y, w), search)
    sets = [some for size in (1, 2, 3) for some in combinations(range(3), size)]
    if search == "forward":
        sets = [some for some, _ in greedy_sets(columns, y, w[:3])]
    best = max(gains(columns, y, w, some).max() for some in sets)
    assert np.isclose(gains(columns, y, w, found.classes)[found.atom], best)
