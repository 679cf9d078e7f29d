"""A C header computes what its model does, whatever the pool, with no warning."""

import subprocess

import numpy as np
import pytest
from compiled_c import WARNINGS, Compiled, needs_gcc, needs_gxx
from exported_pools import all_pools, assert_near, every_form, far_iris
from sklearn.datasets import load_iris

from shareboost import ShareBoostClassifier
from shareboost.export import to_c
from shareboost.export.c.layout import layout_of
from shareboost.export.c.simulation import scores as simulated
from shareboost.export.c.step import Form
from shareboost.export.plan import plan_of
from shareboost.pools import Products, Stumps, Templates


@needs_gcc
@all_pools
def test_scores_and_classes_are_those_of_python(name, fit, digits, tmp_path):
    X = digits[0].astype(np.float32)
    for t in (0, 1, len(fit(name).path_)):
        clf = fit(name).at(t)
        compiled = Compiled(to_c(clf), tmp_path / str(t))
        expected = clf.decision_function(X)
        assert_near(compiled.scores(X), expected)
        np.testing.assert_array_equal(clf.classes_[compiled.predict(X)], clf.predict(X))


@needs_gcc
@every_form
@pytest.mark.parametrize("weights", ["int16", "int8"])
def test_quantised_headers_compute_what_is_simulated(name, weights, fit, digits, tmp_path):
    X = digits[0].astype(np.float32)
    compiled = Compiled(to_c(fit(name), weights=weights), tmp_path)
    layout = layout_of(plan_of(fit(name)), Form("shareboost", weights, "float32"))
    assert_near(compiled.scores(X), simulated(layout, X), rtol=2e-5)


@needs_gcc
@pytest.mark.parametrize("name", ["columns", "stumps", "products", "pieces", "templates"])
def test_images_may_come_as_bytes(name, fit, digits, tmp_path):
    X = digits[0].astype(np.uint8)
    compiled = Compiled(to_c(fit(name), input_type="uint8"), tmp_path, "uint8")
    assert_near(compiled.scores(X), fit(name).decision_function(X.astype(np.float32)))


@needs_gcc
@every_form
def test_headers_run_clean_under_sanitizers(name, fit, digits, tmp_path):
    header = to_c(fit(name), early_exit=True, input_range=(0, 16), lanes=3)
    (tmp_path / "model.h").write_text(header)
    rows = digits[0][:3].ravel()
    (tmp_path / "main.c").write_text(
        '#include "model.h"\n#include <stdlib.h>\n'
        f"static const float rows[] = {{{','.join(map(str, rows))}}};\n"
        "int main(void)\n{\n    float *x = malloc(64 * sizeof *x), scores[10];\n"
        "    int i, j, sum = 0;\n    if (!x)\n        return 1;\n"
        "    for (i = 0; i < 3; ++i) {\n"
        "        for (j = 0; j < 64; ++j)\n            x[j] = rows[i * 64 + j];\n"
        "        sum += shareboost_predict(x);\n        shareboost_scores(x, scores);\n    }\n"
        "    free(x);\n    return sum < 0;\n}\n"
    )
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", "-std=c99", *WARNINGS, "-g", *sanitize, "main.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)


@needs_gcc
@needs_gxx
def test_headers_are_c_and_cpp_and_may_be_included_twice(fit, tmp_path):
    (tmp_path / "model.h").write_text(
        to_c(fit("union, templates"), early_exit=True, input_range=(0, 16))
    )
    (tmp_path / "other.h").write_text(to_c(fit("pieces, paper"), name="other", weights="int8"))
    both = '#include "model.h"\n#include "other.h"\n#include "model.h"\n'
    call = "(const float *x) { return shareboost_predict(x) + other_predict(x); }\n"
    (tmp_path / "one.c").write_text(f"{both}int one(const float *x);\nint one{call}")
    (tmp_path / "two.cpp").write_text(
        f'{both}extern "C" int one(const float *x);\nstatic int two{call}'
        "int main() { static float x[64]; return one(x) != two(x); }\n"
    )
    for command in (
        ["gcc", "-std=c99", *WARNINGS, "-c", "one.c"],
        ["g++", *WARNINGS, "-c", "two.cpp"],
        ["g++", "one.o", "two.o", "-o", "main"],
        ["./main"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)


@needs_gcc
def test_labels_and_names_cannot_break_out(digits, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = digits[0][:300], digits[1][:300] % 3
    evil = ["a*/ int", '"\\', "??/\n#error é"]
    frame = pandas.DataFrame(X, columns=[f'*/ #error "\\{i}\n??/é' for i in range(64)])
    clf = ShareBoostClassifier(5).fit(frame, np.array(evil)[y])
    compiled = Compiled(to_c(clf), tmp_path, flags=("-O1", "-trigraphs"))
    assert [compiled.label(i) for i in range(3)] == clf.classes_.tolist()
    np.testing.assert_array_equal(clf.classes_[compiled.predict(X)], clf.predict(frame))


@needs_gcc
def test_columns_far_from_zero_keep_their_digits(digits, tmp_path):
    X, y = digits
    X = X.copy()
    X[:, ::2] += 100_000.0
    single = X.astype(np.float32)
    for pool in ("columns", "pieces"):
        clf = ShareBoostClassifier(6, pool=pool, alpha=1e-3).fit(X[:500], y[:500])
        compiled = Compiled(to_c(clf), tmp_path / pool)
        assert_near(compiled.scores(single), clf.decision_function(single))


@needs_gcc
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
def test_products_of_columns_far_from_zero_keep_their_digits(offset, dtype, tmp_path):
    X, y = far_iris(offset, dtype)
    clf = ShareBoostClassifier(4, pool=Products(squares=True, linear=True)).fit(X, y)
    compiled = Compiled(to_c(clf), tmp_path)
    assert_near(compiled.scores(X.astype(np.float32)), clf.decision_function(X.astype(np.float32)))


@pytest.mark.parametrize(
    ("pool", "scale", "shift"),
    [
        ("stumps", -1e200, 0.0),
        ("columns", 1e200, 0.0),
        ("columns", 1e36, 1e39),
        ("columns", 1e-40, 0.0),
        ("products", 1e20, 0.0),
        ("pieces", 1e-40, 0.0),
    ],
)
def test_numbers_that_float32_does_not_hold_are_refused(pool, scale, shift):
    X, y = load_iris(return_X_y=True)
    clf = ShareBoostClassifier(3, pool=pool, alpha=1e-3).fit(X * scale + shift, y)
    with pytest.raises(ValueError, match="beyond the range of float32"):
        to_c(clf)


@needs_gcc
def test_stumps_answer_where_values_are_missing(digits, tmp_path):
    X, y = digits[0].astype(np.float32), digits[1]
    X[::3, ::5] = np.nan
    clf = ShareBoostClassifier(10, pool=Stumps()).fit(X[:500], y[:500])
    assert_near(Compiled(to_c(clf), tmp_path).scores(X), clf.decision_function(X))


@needs_gcc
@pytest.mark.parametrize("scale", [1e9, 1e-9])
def test_images_of_any_unit_are_matched(scale, digits, tmp_path):
    X, y = (digits[0] * scale).astype(np.float32), digits[1]
    pool = Templates(5, patch_size=3, masks=2, sigma=2.0)
    clf = ShareBoostClassifier(6, pool=pool, alpha=1e-3).fit(X[:500], y[:500])
    compiled = Compiled(to_c(clf, early_exit=True), tmp_path)
    assert_near(compiled.scores(X), clf.decision_function(X))
    np.testing.assert_array_equal(compiled.predict(X), clf.predict(X))


@needs_gcc
def test_negative_images_reach_no_floor(digits, tmp_path):
    """Every response of a template of ones is negative there, so the largest is too."""
    X, y = digits[0].astype(np.float32) - 20.0, digits[1]
    pool = Templates(templates=np.ones((1, 3, 3)), masks=2, sigma=2.0)
    clf = ShareBoostClassifier(4, pool=pool, alpha=1e-3).fit(X[:500], y[:500])
    assert (clf.transform(X) < 0).any()
    compiled = Compiled(to_c(clf, early_exit=True), tmp_path)
    assert_near(compiled.scores(X), clf.decision_function(X))
    np.testing.assert_array_equal(compiled.predict(X), clf.predict(X))


@needs_gcc
@pytest.mark.parametrize("name", ["pendigits", "satimage", "isolet"])
@pytest.mark.parametrize("pool", ["columns", "stumps"])
def test_every_class_is_that_of_python_on_test_sets(name, pool, data_set, tmp_path):
    data = data_set(name)
    clf = ShareBoostClassifier(20, pool=pool).fit(data.X_train[:3000], data.y_train[:3000])
    X = np.asarray(data.X_test, dtype=np.float32)
    compiled = Compiled(to_c(clf), tmp_path)
    assert_near(compiled.scores(X), clf.decision_function(X))
    np.testing.assert_array_equal(clf.classes_[compiled.predict(X)], clf.predict(X))


@pytest.mark.parametrize("name", ["1st", "a b", "a-b", "é", "", "a__b", "_a", None, "a*/"])
def test_names_that_c_does_not_take_are_refused(name, fit):
    with pytest.raises(ValueError, match="name="):
        to_c(fit("columns"), name=name)


def test_arguments_that_are_not_valid_are_named(fit):
    with pytest.raises(ValueError, match="weights='int4'"):
        to_c(fit("columns"), weights="int4")
    with pytest.raises(ValueError, match="input_type='float64'"):
        to_c(fit("columns"), input_type="float64")
    with pytest.raises(ValueError, match="early_exit='no'"):
        to_c(fit("columns"), early_exit="no")
    with pytest.raises(ValueError, match="data is a int"):
        to_c(fit("columns"), weights="int8", data=5)
    with pytest.raises(ValueError, match="lanes=0"):
        to_c(fit("columns"), lanes=0)
    with pytest.raises(ValueError, match="needs input_range"):
        to_c(fit("columns"), early_exit=True)
    for wrong in ((1, 0), (0, np.nan), 3, (0, np.ones(63)), (0, 1, 2)):
        with pytest.raises(ValueError, match="input_range="):
            to_c(fit("columns"), early_exit=True, input_range=wrong)
