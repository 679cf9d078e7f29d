"""A JavaScript module answers as its model does, and nothing in it can be taken for code."""

import json

import numpy as np
import pytest
from every_pool import some_digits
from exported_pools import all_pools, assert_near, far_iris
from node_module import answers, needs_node, run
from sklearn.datasets import load_digits, load_iris

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.export import to_js
from shareboost.pools import Columns, Pieces, Stumps, Templates, Union
from shareboost.rivals import (
    JointBoostClassifier,
    MixedNormClassifier,
    OneVsRestGreedyClassifier,
)

SPITEFUL = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    'it\'s "quoted" `${1 + 1}`',
    "back\\slash\\u0041",
    "line\nfeed\r\ttab\0",
    "\u2028\u2029 é ☃ 𝄞",
]


def assert_alike(clf, X, folder):
    """Check scores to 1e-5 of a row's largest one, and the class of every row."""
    X = np.asarray(X, dtype=np.float32)
    scores, labels, best = answers(to_js(clf), X, folder, "scores", "predict", "predictIndex")
    truth = clf._scores(X)
    assert_near(np.array(scores), truth)
    np.testing.assert_array_equal(labels, clf.predict(X))
    np.testing.assert_array_equal(best, truth.argmax(axis=1))


@needs_node
@all_pools
@pytest.mark.parametrize("t", [0, 1, 7])
def test_a_module_answers_as_its_model(name, t, fit, tmp_path):
    X, _ = load_digits(return_X_y=True)
    assert_alike(fit(name).at(t), X, tmp_path)


@needs_node
@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("pendigits", "columns"),
        ("pendigits", "stumps"),
        ("pendigits", "products"),
        ("pendigits", Pieces(20)),
        ("pendigits", Pieces(20, form="paper")),
        ("isolet", "columns"),
        ("isolet", "stumps"),
    ],
)
def test_a_module_answers_as_its_model_on_data_sets(name, pool, data_set, tmp_path):
    data = data_set(name)
    clf = ShareBoostClassifier(10, pool=pool, alpha=1e-3)
    clf.fit(data.X_train[:1000].astype(np.float64), data.y_train[:1000])
    assert_alike(clf, data.X_test, tmp_path)


@needs_node
def test_a_module_of_templates_answers_as_its_model_on_mnist(data_set, tmp_path):
    data = data_set("mnist")
    clf = ShareBoostClassifier(20, pool=Templates(20), alpha=1e-4)
    clf.fit(data.X_train[:300], data.y_train[:300])
    assert_alike(clf, data.X_test[:3000], tmp_path)


@needs_node
def test_unions_of_templates_and_images_far_from_one(tmp_path):
    X, y, _, _ = some_digits()
    pool = Union([Templates(5, patch_size=3, masks=2, sigma=2.0), Columns(), Stumps()])
    for scale in (1.0, 2.0**30):
        clf = ShareBoostClassifier(12, pool=pool, alpha=1e-3).fit(X * scale, y)
        assert_alike(clf, X * scale, tmp_path)


@needs_node
@pytest.mark.parametrize(
    "rival",
    [
        OneVsRestGreedyClassifier(8),
        MixedNormClassifier(),
        JointBoostClassifier(8),
        ShareBoostCV(n_features=5, cv=2),
    ],
)
@pytest.mark.parametrize("k", [2, 3])
def test_other_classifiers_and_their_probabilities(rival, k, tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < k].astype(np.float32), y[y < k]
    clf = rival.fit(X, y)
    assert_alike(clf, X, tmp_path)
    (found,) = answers(to_js(clf), X, tmp_path, "probabilities")
    np.testing.assert_allclose(found, clf.predict_proba(X), rtol=1e-6, atol=1e-12)


@needs_node
@all_pools
def test_features_and_their_names_are_those_of_transform(name, fit, tmp_path):
    X, _, _, _ = some_digits()
    clf = fit(name)
    values, names, inputs = answers(
        to_js(clf), X[:20], tmp_path, "features", "featureNames", "inputNames"
    )
    truth = clf.transform(X[:20].astype(np.float32))
    np.testing.assert_allclose(values, truth, rtol=1e-5, atol=1e-5)
    assert names == list(clf.get_feature_names_out())
    assert inputs == [f"x{j}" for j in range(64)]


@needs_node
def test_contributions_make_up_the_scores(fit, tmp_path):
    X, _, _, _ = some_digits()
    clf = fit("union")
    (tmp_path / "model.mjs").write_text(to_js(clf))
    row = json.dumps(X[0].tolist())
    found = run(
        "import { contributions, scores } from './model.mjs';"
        f"const row = {row}, out = [];"
        "const filled = scores(row, out);"
        "const sums = out.map((_, q) => contributions(row, q).reduce((a, b) => a + b, 0));"
        "console.log(JSON.stringify([filled === out, out, sums]));",
        tmp_path,
    )
    same, scores, sums = json.loads(found)
    assert same
    np.testing.assert_allclose(scores, np.array(sums) + clf.intercept_, rtol=1e-9)


@needs_node
@pytest.mark.parametrize(
    ("labels", "written"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([-1.0, 0.0, 3.0], [-1, 0, 3]),
        ([False, True], [False, True]),
        (["a", "b", "c"], ["a", "b", "c"]),
    ],
)
def test_labels_are_values_of_javascript(labels, written, tmp_path):
    X, y = load_iris(return_X_y=True)
    own = y < len(labels)
    clf = ShareBoostClassifier(2).fit(X[own], np.array(labels)[y[own]])
    classes, predicted = answers(to_js(clf), X[own], tmp_path, "classes", "predict")
    assert classes == written
    np.testing.assert_array_equal(predicted, clf.predict(X[own].astype(np.float32)))


@needs_node
def test_large_integer_labels_are_bigints(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = ShareBoostClassifier(2).fit(X, y + 2**53)
    (tmp_path / "model.mjs").write_text(to_js(clf))
    found = run("import { classes } from './model.mjs'; console.log(classes.join())", tmp_path)
    assert found.strip() == ",".join(str(label + 2**53) for label in range(3))


@needs_node
def test_strings_cannot_leave_their_quotes(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, len(SPITEFUL))), columns=SPITEFUL)
    y = np.array(SPITEFUL, dtype=object)[X.to_numpy().argmax(axis=1)]
    clf = ShareBoostClassifier(len(SPITEFUL), pool=Union([Columns(), Pieces(3, 2)])).fit(X, y)
    module = to_js(clf)
    lowered = module.lower()
    assert module.isascii()
    assert "</" not in lowered
    assert "<!--" not in lowered
    assert "<script" not in lowered
    classes, inputs, names, predicted = answers(
        module, X, tmp_path, "classes", "inputNames", "featureNames", "predict"
    )
    assert classes == list(clf.classes_)
    assert inputs == SPITEFUL
    assert names == list(clf.get_feature_names_out())
    assert predicted == list(clf.predict(X.astype(np.float32)))


@needs_node
def test_rows_that_are_none_are_refused(fit, tmp_path):
    (tmp_path / "model.mjs").write_text(to_js(fit("columns")))
    script = """
        import { predict } from "./model.mjs";
        const row = new Array(64).fill(0);
        const bad = [null, undefined, 3, "x".repeat(64), { length: 64 }, [], row.slice(1),
                     new Float32Array(65), new DataView(new ArrayBuffer(64)), new Array(64),
                     row.with(3, "3"), row.with(3, NaN), row.with(3, Infinity),
                     new BigInt64Array(64)];
        console.log(JSON.stringify(bad.map((row) => {
          try { return ["no error", predict(row)]; } catch (e) { return [e.name, e.message]; }
        })));
        for (const row of [new Array(64).fill(1), new Uint8ClampedArray(64)]) predict(row);
    """
    found = json.loads(run(script, tmp_path))
    assert [name for name, _ in found] == ["TypeError"] * len(found)
    assert "object of length 63: it takes an array or a typed array of 64" in found[6][1]
    assert "row[3] is NaN: it takes a finite number." in found[11][1]


@needs_node
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_columns_far_from_zero_are_rounded_as_in_python(dtype, tmp_path):
    X, y = far_iris(1e5, dtype)
    assert_alike(ShareBoostClassifier(4, pool="products").fit(X, y), X, tmp_path)


@needs_node
def test_stumps_take_nan(tmp_path):
    X, y, _, _ = some_digits()
    X = X.copy()
    X[::3, ::2] = np.nan
    clf = ShareBoostClassifier(10, pool="stumps").fit(X, y)
    assert_alike(clf, X, tmp_path)
    with_infinity = "import * as m from './model.mjs'; m.predict(new Array(64).fill(Infinity));"
    with pytest.raises(AssertionError, match="a finite number or NaN"):
        run(with_infinity, tmp_path)


def test_only_functions_of_the_kinds_in_use_are_written(fit):
    module = to_js(fit("columns"))
    assert "function reads(" in module
    for other in ("tests", "products", "balls", "matches", "ofPiece", "float32"):
        assert f"function {other}(" not in module


def test_templates_are_written_once_whatever_their_masks():
    X, y, _, _ = some_digits()
    one = np.eye(3)[None]
    clf = ShareBoostClassifier(4, pool=Templates(templates=one, masks=2), alpha=1e-3).fit(X, y)
    assert len(clf.selected_) == 4
    module = to_js(clf)
    assert "template: [0, 0, 0, 0]" in module
    assert "templates: new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 1])" in module


def test_labels_that_are_no_values_of_javascript_are_refused(tmp_path):
    path = tmp_path / "model.mjs"
    path.write_text("mine")
    X, y = load_iris(return_X_y=True)
    clf = ShareBoostClassifier(2).fit(X, y)
    clf.classes_ = np.array([b"a", b"b", b"c"])
    with pytest.raises(TypeError, match="class label b'a' is a bytes"):
        to_js(clf, path, overwrite=True)
    assert path.read_text() == "mine"
