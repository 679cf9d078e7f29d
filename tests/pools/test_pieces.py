import tracemalloc

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import all_curvatures, all_moments
from naive_pools import explicit

from shareboost import ShareBoostClassifier
from shareboost.pools import Pieces
from shareboost.pools.base import PART_BYTES


def rings(n=600, seed=0):
    """Three classes by distance from one of two places: no line tells them apart."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    d = np.minimum(np.hypot(X[:, 0] - 1.5, X[:, 1]), np.hypot(X[:, 0] + 1.5, X[:, 1]))
    return X, np.digitize(d, [0.7, 1.4])


def group_run(pool, X, y, n_rounds, alpha):
    """Algorithm 1 with groups: choose the atom whose columns' norms have the largest sum."""
    pool.fit(X)
    scaled = [
        (columns / pool.scales(atom)[:, None]).T
        for atom, columns in enumerate(explicit(pool, X, X))
    ]
    k, weight = y.max() + 1, np.ones(len(y))
    chosen, losses = [], []
    A = np.empty((len(y), 0))
    W = naive.refit(A, y, weight, k, 1.0, alpha, True)
    for _ in range(n_rounds):
        R = naive.residual(np.hstack([np.ones((len(y), 1)), A]) @ W.T, y, 1.0)
        sums = [naive.column_norms(columns, R, weight).sum() for columns in scaled]
        for atom in chosen:
            sums[atom] = -1
        chosen.append(int(np.argmax(sums)))
        A = np.hstack([scaled[atom] - scaled[atom].mean(axis=0) for atom in chosen])
        W = naive.refit(A, y, weight, k, 1.0, alpha, True)
        S = np.hstack([np.ones((len(y), 1)), A]) @ W.T
        losses.append(naive.average_loss(S, y, weight, 1.0))
    return chosen, np.array(losses)


@pytest.mark.parametrize("form", ["smooth", "paper"])
def test_a_run_equals_the_naive_reference_on_explicit_pieces(form):
    X, y = rings(200)
    pool = Pieces(8, 5, form=form)
    chosen, losses = group_run(pool, X, y, 4, 1e-3)
    clf = ShareBoostClassifier(
        4, pool=pool, rule="gradient", alpha=1e-3, margin=1.0, refit_tol=1e-4, tol=1e-6
    ).fit(X, y)
    assert clf.selected_.tolist() == chosen
    assert np.allclose(clf.path_.losses, losses, rtol=1e-4)


@pytest.mark.parametrize("form", ["smooth", "paper"])
def test_few_pieces_learn_what_no_line_can(form):
    X, y = rings(2000)
    X_new, y_new = rings(1000, seed=1)
    clf = ShareBoostClassifier(12, pool=Pieces(60, form=form)).fit(X, y)
    assert clf.score(X_new, y_new) > 0.93
    assert ShareBoostClassifier(2).fit(X, y).score(X_new, y_new) < 0.7


@pytest.mark.parametrize(("unit", "shift"), [(50.0, 1e5), (1e-200, 0.0), (1e160, 0.0)])
def test_shifts_and_units_of_x_do_not_matter(unit, shift):
    X, y = rings(300)
    clf = ShareBoostClassifier(4, pool=Pieces(20, 6), alpha=1e-3)
    near = clf.fit(X, y).predict(X), clf.selected_
    moved = clf.fit(unit * X + shift, y).predict(unit * X + shift), clf.selected_
    assert np.array_equal(moved[1], near[1])
    assert (moved[0] == near[0]).mean() > 0.99


def test_an_outlier_leaves_the_other_centres_apart():
    X = np.random.default_rng(0).normal(size=(1000, 3))
    X[0] = 1e6
    assert len(Pieces(50).fit(X).centres_) > 40


def test_weights_move_the_centres():
    X, _ = rings(400)
    weight = np.where(X[:, 0] > 0, 100.0, 1.0)
    mean, unit = (pool := Pieces(10).fit(X, weight)).coordinates_
    right = (mean + unit * pool.centres_)[:, 0] > 0
    assert mean[0] > 0.5
    assert right.sum() != ((Pieces(10).fit(X).centres_)[:, 0] > 0).sum() or mean[0] > 1.0


def test_training_and_prediction_agree_on_every_row():
    X = np.random.default_rng(0).normal(size=(3000, 40)).astype(np.float32)
    pool = Pieces(15, 9, form="paper").fit(X)
    block = pool.encode(X, slice(0, 3000))
    new = pool.features(range(pool.n_atoms_)).columns(X)[:, 40::41]
    for atom in range(pool.n_atoms_):
        inside = pool.columns(block, atom)[-1]
        assert np.array_equal(inside, new[:, atom])
        c = int(np.searchsorted(pool.starts_, atom, side="right")) - 1
        stop = block.edges[c][atom - pool.starts_[c] + 1]
        scored = np.sort(block.order[block.edges[c][0] : stop])
        assert np.array_equal(np.flatnonzero(inside), scored)


def test_names_of_all_radii_differ():
    X = np.random.default_rng(0).normal(size=(400, 60))
    pool = Pieces(6, 35).fit(X)
    names = pool.features(range(pool.n_atoms_)).names([f"x{j}" for j in range(60)])
    assert len(set(names)) == len(names)


def test_curvatures_are_exact_where_all_rows_are_about_as_far_from_the_centre():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20))
    X *= rng.uniform(1, 1.01, size=(500, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
    pool = Pieces(1, 9).fit(X)
    V, weight = rng.uniform(size=(2, 500)), np.ones(500)
    found = all_curvatures(pool, X, V, weight, [0, 500])
    block = pool.encode(X, slice(0, 500))
    columns = [pool.columns(block, a) / pool.scales(a)[:, None] for a in range(pool.n_atoms_)]
    Z = np.vstack(columns)
    truth = V @ ((Z - Z.mean(axis=1, keepdims=True)) ** 2).T
    assert np.allclose(found, truth, rtol=1e-3)


@pytest.mark.parametrize("form", ["smooth", "paper"])
def test_equal_rows_of_any_size_have_a_piece(form):
    X = np.full((10, 2), 1e200)
    pool = Pieces(1, 1, form=form).fit(X)
    (part,) = pool.parts(3)
    stats = pool.stats(pool.encode(X, slice(0, 10)), pool.prepare(np.ones((3, 10))), part)
    assert np.isfinite(pool.correlations(stats, part)).all()


def test_every_piece_holds_the_rows_of_its_quantile():
    X, _ = rings(500)
    pool = Pieces(15, [0.002, 0.1, 0.5, 1.0], form="paper").fit(X)
    inside = pool.features(range(pool.n_atoms_)).columns(X)[:, 2::3].sum(axis=0)
    assert pool.n_atoms_ == 15 * 4
    assert inside.reshape(15, 4).tolist() == [[1, 50, 250, 500]] * 15


def test_equal_rows_and_radii_make_no_duplicate_atom():
    X = np.repeat(np.arange(12.0).reshape(4, 3), 25, axis=0)
    pool = Pieces(10, [0.01, 0.02, 0.2, 0.6]).fit(X)
    assert len(pool.centres_) == 4
    atoms = pool.features(range(pool.n_atoms_))
    pairs = list(zip(atoms.numbers.tolist(), atoms.squared_radii.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert np.diff(pool.starts_).max() == 2  # 25 rows inside, or 75
    assert (atoms.columns(X)[:, 3::4].sum(axis=0) > 0).all()  # none is empty


def test_one_radius_is_the_widest():
    X, _ = rings(100)
    assert Pieces(5, 1).fit(X).n_atoms_ == 5
    one = Pieces(5, 1, form="paper").fit(X).features([0]).columns(X)[:, 2]
    assert one.sum() == 50


def test_names_tell_the_centre_the_radius_and_the_column():
    X, y = rings(100)
    clf = ShareBoostClassifier(1, pool=Pieces(5, 3)).fit(X, y)
    *coordinates, constant = clf.get_feature_names_out(["east", "north"])
    assert coordinates == [f"{constant}: east", f"{constant}: north"]
    radius = float(constant.split("r = ")[1].rstrip(")"))
    atom = clf.path_.features
    assert radius == pytest.approx(atom.unit * np.sqrt(float(atom.squared_radii[0])), rel=0.01)


def test_by_default_a_tenth_of_the_rows_are_centres():
    X, y = rings(300)
    pool = Pieces().fit(X)
    assert len(pool.centres_) == 30
    assert len(Pieces().fit(X[:39]).centres_) == 3
    assert len(Pieces().fit(X[:7]).centres_) == 1
    assert ShareBoostClassifier(3, pool="pieces").fit(X, y).score(X, y) > 0.6


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (Pieces(41), "n_centres=41 is not valid for Pieces: it takes at most .* rows, 40"),
        (Pieces(0), "n_centres=0 is not valid for Pieces: it takes an integer"),
        (Pieces(2.5), "n_centres=2.5 is not valid for Pieces: it takes an integer"),
        (Pieces(5, 0), "radii=0 is not valid for Pieces"),
        (Pieces(5, []), r"radii=\[\] is not valid for Pieces"),
        (Pieces(5, [0.0, 0.5]), r"radii=.*would leave pieces empty"),
        (Pieces(5, [0.5, 1.5]), r"radii=.*at most 1"),
        (Pieces(5, "few"), "radii='few' is not valid for Pieces"),
        (Pieces(5, form="soft"), "form='soft' is not valid for Pieces: it takes one of"),
    ],
)
def test_bad_arguments_are_named(pool, message):
    with pytest.raises(ValueError, match=message):
        pool.fit(rings(40)[0])


def test_seeds_give_other_centres():
    X, _ = rings(200)
    one, two, again = (Pieces(9, random_state=seed).fit(X).centres_ for seed in (0, 1, 0))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, two)


def two_clusters():
    """Half of the rows around either of two places far apart.

    Of the columns, the second is the same number for all rows of a place, and the third hardly
    moves.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [0.2, 0.0, 1e-4]
    X[::2] += [3.0, 0.1, 0.0]
    X[1::2] += [-3.0, 0.7, 0.0]
    return X


def test_what_varies_by_rounding_alone_has_no_moments_and_what_hardly_varies_has():
    X = two_clusters()
    pool = Pieces(2, [0.2, 0.4]).fit(X)
    V = np.random.default_rng(1).uniform(size=(3, 200))
    first, second = (found.reshape(3, 4, 4) for found in all_moments(pool, X, V, [0, 90, 200]))
    assert (first[:, :, 1] == 0.0).all()
    assert (second[:, :, 1] == 0.0).all()
    Z = np.array([a / pool.scales(i)[:, None] for i, a in enumerate(explicit(pool, X, X))])
    kept = [0, 2, 3]
    truth = np.einsum("qn,acn->qac", V, Z**2)[:, :, kept]
    assert np.allclose(second[:, :, kept], truth, rtol=1e-2, atol=0.0)


@pytest.mark.parametrize("form", ["smooth", "paper"])
def test_parts_are_as_large_as_they_may_be(form):
    X = np.random.default_rng(0).normal(size=(100, 4))
    pool = Pieces(20, 3, form=form).fit(X)
    for n_classes in (1, 300, 2000, 10**6):
        sizes = [part.stop - part.start for part in pool.parts(n_classes)]
        each = 8 * n_classes * (3 if form == "smooth" else 1) * 2 * 5  # bytes an atom
        # Whole centres, of three atoms.
        most = max(3, PART_BYTES // (3 * each) * 3)
        assert sizes[:-1] == [min(most, 60)] * (len(sizes) - 1)
        assert sum(sizes) == 60


@pytest.mark.parametrize("form", ["smooth", "paper"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_float32_rows_make_float32_columns(form, make):
    X = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    pool = Pieces(4, 3, form=form).fit(make(X))
    block = pool.encode(make(X), slice(0, 60))
    columns = pool.columns(block, 2)
    assert columns.dtype == np.float32
    assert np.array_equal(columns.T, pool.features([2]).columns(make(X)))
    assert pool.widen().columns(block, 2).dtype == np.float64


@pytest.mark.quiet
def test_no_copy_of_all_rows_is_ever_in_float64():
    X = sp.random_array(
        (1500, 2000), density=0.01, format="csr", random_state=np.random.default_rng(0)
    )
    X = X.astype(np.float32)
    pool = Pieces(3, 2)
    pool.fit(X[:50, :20]).encode(X[:50, :20], slice(0, 50))  # compiles
    tracemalloc.start()
    pool.fit(X)
    block = pool.encode(X, slice(0, 1500))
    pool.columns(block, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # In float32: the rows, and k-means' copy of them or the columns of a piece.
    assert peak < 4 * 1500 * 2000 * 3.5
