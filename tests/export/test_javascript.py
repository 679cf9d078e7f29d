"""A JavaScript module answers as its model does, and nothing in it can be taken for code."""

import json

import numpy as np
import pytest
from exported_pools import every_form
from node_module import answers, assert_modules_answer, needs_node, run
from sklearn.datasets import load_iris

from shareboost import ShareBoostClassifier
from shareboost.export import to_js
from shareboost.pools import Columns, Pieces, Templates, Union

SPITEFUL = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    'it\'s "quoted" `${1 + 1}`',
    "back\\slash\\u0041",
    "line\nfeed\r\ttab\0",
    "\u2028\u2029 é ☃ 𝄞",
]


@needs_node
@every_form
def test_a_module_answers_as_its_model(name, fitted_model, digits, tmp_path):
    """Scores and classes of models of any size, and the features by value and name."""
    X, clf = digits[0], fitted_model(name)
    assert_modules_answer([clf.at(0), clf.at(1), clf], X[::3], tmp_path)
    rows = X[:20].astype(np.float32)
    exports = ("features", "featureNames", "inputNames")
    ((values, names, inputs),) = answers([to_js(clf)], rows, tmp_path, *exports)
    features = clf._model().features
    np.testing.assert_allclose(values, features.columns(rows), rtol=1e-5, atol=1e-5)
    assert names == features.names(clf.path_.input_names)
    assert inputs == [f"x{j}" for j in range(64)]


@needs_node
def test_contributions_make_up_the_scores(fitted_model, digits, tmp_path):
    clf = fitted_model("union, templates")
    (tmp_path / "model.mjs").write_text(to_js(clf))
    row = json.dumps(digits[0][0].tolist())
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
def test_labels_are_values_of_javascript(tmp_path):
    X, y = load_iris(return_X_y=True)
    kinds = ([0, 1, 2], [-1.0, 0.0, 3.0], ["a", "b", "c"], [False, True])
    models = [
        ShareBoostClassifier(2).fit(X[y < len(labels)], np.array(labels)[y[y < len(labels)]])
        for labels in kinds
    ]
    found = answers([to_js(clf) for clf in models], X, tmp_path, "classes", "predict")
    for clf, labels, (classes, predicted) in zip(models, kinds, found, strict=True):
        assert classes == labels
        assert [type(label) for label in classes] == [
            int if isinstance(label, float) else type(label) for label in labels
        ]
        np.testing.assert_array_equal(predicted, clf.predict(X.astype(np.float32)))


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
    exports = ("classes", "inputNames", "featureNames", "predict")
    ((classes, inputs, names, predicted),) = answers([module], X, tmp_path, *exports)
    assert classes == list(clf.classes_)
    assert inputs == SPITEFUL
    assert names == clf._model().features.names(clf.path_.input_names)
    assert predicted == list(clf.predict(X.astype(np.float32)))


@needs_node
def test_rows_that_are_none_are_refused(fitted_model, tmp_path):
    (tmp_path / "model.mjs").write_text(to_js(fitted_model("columns")))
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
def test_stumps_refuse_infinity_and_take_nan(digits, tmp_path):
    X, y = digits[0][:120].copy(), digits[1][:120]
    X[::3, ::2] = np.nan
    (tmp_path / "model.mjs").write_text(to_js(ShareBoostClassifier(5, pool="stumps").fit(X, y)))
    script = "import { predict } from './model.mjs'; predict(new Array(64).fill(VALUE));"
    run(script.replace("VALUE", "NaN"), tmp_path)
    with pytest.raises(AssertionError, match="a finite number or NaN"):
        run(script.replace("VALUE", "Infinity"), tmp_path)


def test_only_functions_of_the_kinds_in_use_are_written(fitted_model):
    module = to_js(fitted_model("columns"))
    assert "function reads(" in module
    for other in ("tests", "products", "balls", "matches", "ofPiece", "float32"):
        assert f"function {other}(" not in module


def test_templates_are_written_once_whatever_their_masks(digits):
    X, y = digits[0][:120], digits[1][:120]
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
