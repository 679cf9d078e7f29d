"""Every exported form of a model answers as the model does, also on unusual rows."""

import shutil
from importlib.util import find_spec

import numpy as np
import pytest
from compiled_c import assert_headers_answer, compiled, needs_gcc
from node_module import answers, assert_modules_answer
from onnx_session import assert_onnx_answers, session
from sklearn.base import clone
from sklearn.datasets import load_iris

from shareboost import ShareBoostClassifier, ShareBoostCV, load_model
from shareboost.export import to_js, to_onnx
from shareboost.pools import Columns, Pieces, Products, Stumps, Templates, Union
from shareboost.rivals import (
    JointBoostClassifier,
    MixedNormClassifier,
    OneVsRestGreedyClassifier,
)

SMALL = Templates(5, patch_size=3, masks=2, sigma=2.0)


def assert_exports_answer(models, X, folder, in_c=True):
    """Check the answers of every form for which there is a compiler or an interpreter here."""
    if in_c and shutil.which("gcc"):
        assert_headers_answer(models, X, folder)
    if shutil.which("node"):
        assert_modules_answer(models, X, folder)
    if find_spec("onnx") and find_spec("onnxruntime"):
        assert_onnx_answers(models, X)


def test_columns_and_pieces_far_from_zero_keep_their_digits(digits, tmp_path):
    X, y = digits
    X = X.copy()
    X[:, ::2] += 100_000.0
    models = [
        ShareBoostClassifier(6, pool=pool, alpha=1e-3).fit(X[:500], y[:500])
        for pool in (Columns(), Pieces(12, 6))
    ]
    assert_exports_answer(models, X, tmp_path)


@pytest.mark.parametrize("offset", [1e3, 1e5])
def test_products_far_from_zero_keep_their_digits(offset, tmp_path):
    X, y = load_iris(return_X_y=True)
    far = X + offset
    pool = Products(squares=True, linear=True)
    models = [
        ShareBoostClassifier(4, pool=pool).fit(rows, y) for rows in (far, far.astype(np.float32))
    ]
    assert_exports_answer(models, far, tmp_path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pieces_far_from_the_mean_keep_their_digits(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    X = np.where(y[:, None] < 2, -1.0, 1.0) * 1000.0 + rng.normal(size=(200, 3))
    X[y % 2 == 1] += 1.0
    models = [
        ShareBoostClassifier(5, pool=Pieces(8, 6, form=form), alpha=1e-3).fit(X, y)
        for form in ("smooth", "paper")
    ]
    # The float32 arithmetic of C is off by 1e-4 of the largest score there.
    assert_exports_answer(models, X, tmp_path, in_c=False)


def test_stumps_answer_where_values_are_missing(digits, tmp_path):
    X, y = digits[0].astype(np.float32), digits[1]
    X[::3, ::5] = np.nan
    clf = ShareBoostClassifier(10, pool=Stumps()).fit(X[:500], y[:500])
    assert_exports_answer([clf], X, tmp_path)


@pytest.mark.parametrize("scale", [2.0**30, 2.0**-30])
def test_images_of_any_unit_are_matched(scale, digits, tmp_path):
    X, y = digits[0] * scale, digits[1]
    models = [
        ShareBoostClassifier(8, pool=pool, alpha=1e-3).fit(X[:300], y[:300])
        for pool in (SMALL, Union([SMALL, Columns(), Stumps()]))
    ]
    assert_exports_answer(models, X, tmp_path)


def test_negative_images_reach_no_floor(digits, tmp_path):
    """Every response of a template of ones is negative there, so the largest is too."""
    X, y = digits[0].astype(np.float32) - 20.0, digits[1]
    pool = Templates(templates=np.ones((1, 3, 3)), masks=2, sigma=2.0)
    clf = ShareBoostClassifier(4, pool=pool, alpha=1e-3).fit(X[:500], y[:500])
    assert (clf.transform(X) < 0).any()
    assert_exports_answer([clf], X, tmp_path)


@needs_gcc
@pytest.mark.parametrize(("scale", "shift"), [(1e9, 0.0), (1e-9, 0.0), (1.0, -20.0)])
def test_early_exit_takes_images_of_any_unit_and_sign(scale, shift, digits, tmp_path):
    X, y = (digits[0] * scale + shift).astype(np.float32), digits[1]
    given = Templates(templates=np.ones((1, 3, 3)), masks=2, sigma=2.0)
    models = [
        ShareBoostClassifier(4, pool=pool, alpha=1e-3).fit(X[:300], y[:300])
        for pool in (SMALL, given)
    ]
    assert_headers_answer(models, X, tmp_path, early_exit=True)


@pytest.mark.parametrize(
    "clf",
    [
        OneVsRestGreedyClassifier(8),
        MixedNormClassifier(),
        JointBoostClassifier(8),
        ShareBoostCV(n_features=5, cv=2),
    ],
    ids=lambda clf: type(clf).__name__,
)
def test_other_classifiers_and_their_probabilities(clf, tmp_path):
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    models = [clone(clf).fit(X[y < k], y[y < k]) for k in (2, 3)]
    assert_exports_answer(models, X, tmp_path)


@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("pendigits", "products"),
        ("isolet", "stumps"),
        pytest.param("pendigits", Pieces(20), marks=pytest.mark.slow, id="pendigits-pieces"),
        pytest.param("isolet", "columns", marks=pytest.mark.slow),
        pytest.param("satimage", "stumps", marks=pytest.mark.slow),
        pytest.param("mnist", Templates(20), marks=pytest.mark.slow, id="mnist-templates"),
    ],
)
def test_models_of_data_sets_answer_alike(name, pool, data_set, tmp_path):
    data = data_set(name)
    clf = ShareBoostClassifier(10, pool=pool, alpha=1e-3)
    clf.fit(data.X_train[:1000].astype(np.float64), data.y_train[:1000])
    assert_exports_answer([clf], data.X_test[:4000], tmp_path)


def test_the_constant_stump_goes_into_every_form(tmp_path):
    """Without an intercept; all values of a byte, so that its code is the last that fits."""
    X = np.c_[np.arange(256), np.arange(256)[::-1] // 2].astype(np.uint8)
    y = (np.arange(256) % 10 == 0).astype(int)
    models = [
        ShareBoostClassifier.as_published(2, pool="stumps").fit(rows, y) for rows in (X, X / 7.0)
    ]
    for clf in models:
        assert clf.get_feature_names_out()[0] == "x0 ≤ ∞"
        clf.save(tmp_path / "model.json", overwrite=True)
        assert np.array_equal(
            load_model(tmp_path / "model.json").predict_proba(X), clf.predict_proba(X)
        )
    assert_exports_answer(models, X, tmp_path)
    if shutil.which("gcc"):
        bytes_folder = tmp_path / "bytes"
        bytes_folder.mkdir()
        assert_headers_answer(models[:1], X, bytes_folder, input_type="uint8")


@pytest.mark.parametrize("n_classes", [2, 10])
def test_exports_of_reduced_models_answer_to_the_last_bit_alike(n_classes, digits, tmp_path):
    X, y = digits[0][:400], digits[1][:400] % n_classes
    for number, clf in enumerate(
        (
            ShareBoostClassifier(6),
            ShareBoostClassifier(6, pool="stumps"),
            ShareBoostClassifier(6, pool="products"),
            OneVsRestGreedyClassifier(3),
        )
    ):
        clf.fit(X, y)
        small, few = clf.reduced(), X[:, clf.columns_].astype(np.float32)
        folders = [tmp_path / f"{number}-{which}" for which in ("whole", "reduced")]
        pairs = list(zip((clf, small), (X.astype(np.float32), few), folders, strict=True))
        for folder in folders:
            folder.mkdir()
        if shutil.which("gcc"):
            one, two = (compiled(at, (model, {}))[0].scores(rows) for model, rows, at in pairs)
            np.testing.assert_array_equal(one, two)
        if shutil.which("node"):
            one, two = (answers([to_js(model)], rows, at, "scores") for model, rows, at in pairs)
            assert one == two
        if find_spec("onnx") and find_spec("onnxruntime"):
            one, two = (
                session(to_onnx(model)).run(None, {"X": rows})[2] for model, rows, _ in pairs
            )
            np.testing.assert_array_equal(one, two)
