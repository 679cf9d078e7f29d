"""What is loaded is what was saved, to the last bit, whatever the pool."""

import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every_pool import POOLS_TO_TEST, classifier, some_digits
from hypothesis import given, settings
from model_files import (
    assert_same_answers,
    assert_same_attributes,
    assert_same_path,
    document_of,
    file_of,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from shareboost import ModelFormatError, ShareBoostClassifier, ShareBoostCV, load_model
from shareboost.export.plan import plan_of
from shareboost.io import save_model
from shareboost.io.model_file import content_of, model_of
from shareboost.pools import Columns, Groups, Products, Stumps, Templates, Union

X, Y, _, _ = some_digits()
NESTED = Union(
    [
        ("inner", Union([Columns(), Union([Stumps(), Groups(np.arange(64) % 9)])])),
        Templates(5, patch_size=3, masks=2, sigma=2.0),
    ]
)


def saved(clf, tmp_path, **options):
    clf.save(tmp_path / "model.json", overwrite=True, **options)
    return load_model(tmp_path / "model.json")


@pytest.mark.parametrize("name", [*POOLS_TO_TEST, "nested unions"])
def test_a_loaded_model_is_the_saved_one(name, fitted_model, tmp_path):
    if name == "nested unions":
        clf = ShareBoostClassifier(6, pool=NESTED, alpha=1e-3).fit(X, Y)
    else:
        clf = fitted_model(name)
    for model, whole_path in ((clf.at(0), True), (clf.at(1), False), (clf, False), (clf, True)):
        loaded = saved(model, tmp_path, whole_path=whole_path)
        assert type(loaded) is ShareBoostClassifier
        assert_same_attributes(model, loaded)
        assert_same_answers(model, loaded, X)
        if whole_path:
            assert_same_path(model, loaded, X[:40])
        loaded.save(tmp_path / "again.json", whole_path=whole_path, overwrite=True)
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    for rows in (X.astype(np.float32), X.astype(np.uint8), sp.csr_array(X)):
        assert_same_answers(clf, loaded, rows)
    plans = plan_of(clf), plan_of(loaded)
    assert list(plans[0].input_names) == list(plans[1].input_names)
    for field in ("weights", "offsets", "intercept"):
        np.testing.assert_array_equal(*(getattr(plan, field) for plan in plans))
    assert [type(part) for part in plans[0].parts] == [type(part) for part in plans[1].parts]


@pytest.mark.parametrize(
    "parameters",
    [
        {"swap": True},
        {"fit_intercept": False},
        {"include": [3, 20], "costs": np.arange(1.0, 65.0), "budget": 200.0},
        {"groups": [f"row {j // 8}" for j in range(64)]},
        {"groups": np.arange(64) // 8, "group_choice": "each"},
        {"n_iter_no_change": 2, "random_state": 0},
        {"pool": Products(squares=True), "validation_fraction": 0.2, "random_state": 0},
        {"penalty": "l1", "rule": "newton", "class_weight": {0: 2.0, 1: 1.0}},
    ],
    ids=["swap", "no intercept", "costs", "groups", "each", "stopping", "validation", "newton"],
)
def test_every_way_to_fit_is_kept(parameters, tmp_path):
    clf = ShareBoostClassifier(7, alpha=1e-3, **parameters).fit(X, Y)
    loaded = saved(clf, tmp_path, whole_path=True)
    assert_same_attributes(clf, loaded)
    assert_same_path(clf, loaded, X)
    assert repr(loaded.path_) == repr(clf.path_)
    alone = saved(clf, tmp_path)
    assert_same_attributes(clf, alone)
    assert_same_answers(clf, alone, X)


@pytest.mark.parametrize("n_features", [1, 2])
def test_the_shortest_paths_are_kept_whole(n_features, tmp_path):
    clf = ShareBoostClassifier(n_features, alpha=1e-3).fit(X, Y)
    assert clf.path_.finish is not None
    loaded = saved(clf, tmp_path, whole_path=True)
    assert_same_attributes(clf, loaded)
    assert_same_path(clf, loaded, X[:40])
    none = document_of(clf.at(0))
    none["path"]["finished"] = True
    with pytest.raises(ModelFormatError, match="path is finished, and has no round"):
        model_of(file_of(none))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_keep_the_type_that_they_were_computed_in(dtype, tmp_path):
    clf = ShareBoostClassifier(3, pool="products").fit(X.astype(dtype), Y)
    loaded = saved(clf, tmp_path)
    assert loaded.path_.features.dtype == clf.path_.features.dtype == dtype
    assert loaded.transform(X.astype(np.float32)).dtype == dtype


def test_stumps_take_nan_after_loading(tmp_path):
    gaps = np.where(X > 12, np.nan, X)
    clf = ShareBoostClassifier(5, pool="stumps").fit(gaps, Y)
    assert_same_answers(clf, saved(clf, tmp_path), gaps)


@pytest.mark.parametrize("whole_path", [False, True])
def test_names_of_columns_are_kept_and_checked(whole_path, tmp_path):
    frame = pd.DataFrame(X, columns=[f"größe {j} \U0001f600" for j in range(64)])
    clf = ShareBoostClassifier(4, pool="stumps").fit(frame, Y)
    loaded = saved(clf, tmp_path, whole_path=whole_path)
    assert_same_attributes(clf, loaded)
    assert_same_answers(clf, loaded, frame)
    assert loaded.path_.to_frame().name.tolist()[-1] == clf.path_.to_frame().name.tolist()[-1]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns=str.upper))


@pytest.mark.parametrize("whole_path", [False, True])
def test_the_texts_that_columns_stand_for_are_kept(whole_path, tmp_path):
    frame = pd.DataFrame(X[:, 20:23], columns=["a", "b=\u00fc", "b=="])
    clf = ShareBoostClassifier(2).fit(frame, Y)
    clf.levels_in_ = [None, ("b", "\u00fc"), ("b", "=")]
    loaded = saved(clf, tmp_path, whole_path=whole_path)
    assert loaded.levels_in_ == clf.levels_in_
    assert not hasattr(loaded.fit(X, Y), "levels_in_")  # of other columns now


def test_a_search_comes_back_as_the_classifier_that_it_chose(tmp_path):
    search = ShareBoostCV(ShareBoostClassifier(pool="stumps"), n_features=6, cv=3, alpha=1e-3)
    search.fit(X, Y)
    loaded = saved(search, tmp_path, whole_path=True)
    assert type(loaded) is ShareBoostClassifier
    assert loaded.n_features == search.best_n_features_
    assert loaded.pool == "stumps"
    assert loaded.alpha == 1e-3
    assert_same_attributes(search, loaded)
    assert_same_answers(search, loaded, X)
    assert_same_path(search, loaded, X)
    assert saved(search.at(2), tmp_path).n_features == 2


def test_the_parameters_that_a_search_chose_are_kept(tmp_path):
    alphas = [1e-3, 1e-2]
    for most in ({"n_features": 3}, {"n_features": None, "budget": 3.0}):
        search = ShareBoostCV(ShareBoostClassifier(**most), cv=2, alpha=alphas).fit(X, Y)
        loaded = saved(search, tmp_path)
        assert loaded.n_features == search.best_n_features_
        assert loaded.budget == most.get("budget")
        assert loaded.alpha == search.best_alpha_
        np.testing.assert_array_equal(clone(loaded).fit(X, Y).weights_, search.weights_)


def test_a_loaded_classifier_goes_on_from_its_path(tmp_path):
    short = ShareBoostClassifier(3, warm_start=True, swap=True).fit(X, Y)
    loaded = saved(short, tmp_path, whole_path=True)
    long = ShareBoostClassifier(6, swap=True).fit(X, Y)
    further = loaded.set_params(n_features=6).fit(X, Y)
    np.testing.assert_array_equal(further.selected_, long.selected_)
    np.testing.assert_array_equal(further.weights_, long.weights_)


def test_a_clone_of_a_loaded_classifier_fits_as_the_saved_one_did(tmp_path):
    clf = classifier(4, "templates, sizes").fit(X, Y)
    again = clone(saved(clf, tmp_path)).fit(X, Y)
    assert_same_attributes(clf, again)


def test_a_model_trained_on_a_tensor_is_saved_like_any_other(tmp_path):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(X)
    clf = ShareBoostClassifier(4, pool="stumps").fit(tensor, Y)
    loaded = saved(clf, tmp_path, whole_path=True)
    assert_same_attributes(clf, loaded)
    assert_same_answers(clf, loaded, X)
    assert torch.equal(loaded.decision_function(tensor), clf.decision_function(tensor))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    pool=st.sampled_from(["columns", "stumps", "products", "pieces"]),
    n_classes=st.integers(2, 4),
    dtype=st.sampled_from([np.float32, np.float64, np.int16]),
    settings=st.fixed_dictionaries(
        {"fit_intercept": st.booleans(), "swap": st.booleans(), "margin": st.floats(0, 2)}
    ),
)
def test_any_small_model_comes_back(seed, pool, n_classes, dtype, settings):
    rng = np.random.default_rng(seed)
    rows = (10 * rng.normal(size=(30, 5))).astype(dtype)
    y = np.arange(30) % n_classes
    clf = ShareBoostClassifier(3, pool=pool, alpha=1e-2, max_iter=20, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(rows, y)
    for whole_path in (False, True):
        loaded = model_of(content_of(clf, whole_path))
        assert_same_attributes(clf, loaded)
        assert_same_answers(clf, loaded, rows)
    assert_same_path(clf, loaded, rows)


def test_the_function_saves_as_the_method_does(fitted_model, tmp_path):
    clf = fitted_model("columns")
    save_model(clf, tmp_path / "one.json", whole_path=True)
    clf.save(str(tmp_path / "two.json"), whole_path=True)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
