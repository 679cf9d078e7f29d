"""A C header computes what its model does, whatever the pool, with no warning."""

import re
import subprocess

import numpy as np
import pytest
from compiled_c import WARNINGS, compiled, needs_gcc, needs_gxx
from exported_pools import assert_near, every_form
from naive_plan import origins
from sklearn.datasets import load_iris

from shareboost import ShareBoostClassifier
from shareboost.export import to_c
from shareboost.export.layout import layout_of
from shareboost.export.plan import plan_of
from shareboost.export.primitives.base import Form
from shareboost.pools import Columns, Products, Stumps, Union


@needs_gcc
@every_form
def test_a_header_computes_what_its_model_does(name, fitted_model, digits, tmp_path):
    """With few features or many, any weights, early exit or none, and rows of bytes."""
    clf, (X, _) = fitted_model(name), digits
    rng = np.random.default_rng(0)
    noise = rng.uniform(0, 16, size=(500, 64))
    rows = np.vstack([X, noise, noise > 8, np.zeros((1, 64))]).astype(np.float32)
    early = {
        "early_exit": True,
        "input_range": (0.0, 16.0),
        "lanes": 3 if "templates" in name else 112,
    }
    none, one, full, bytes_, int16, int8, early_full, early_int8 = compiled(
        tmp_path,
        (clf.at(0), {}),
        (clf.at(1), {}),
        (clf, {}),
        (clf, {"input_type": "uint8"}),
        (clf, {"weights": "int16"}),
        (clf, {"weights": "int8"}),
        (clf, early),
        (clf, {"weights": "int8", **early}),
    )
    X = X.astype(np.float32)
    for model, header in ((clf.at(0), none), (clf.at(1), one), (clf, full), (clf, bytes_)):
        assert_near(header.scores(X), model.decision_function(X))
        np.testing.assert_array_equal(model.classes_[header.predict(X)], model.predict(X))
    for weights, header in (("int16", int16), ("int8", int8)):
        layout = layout_of(plan_of(clf), Form("shareboost", weights, "float32"))
        assert_near(header.scores(X), layout.scores(X), rtol=2e-5)
    for header, other in ((full, early_full), (int8, early_int8)):
        np.testing.assert_array_equal(other.predict(rows), header.predict(rows))
        assert_near(other.scores(rows), header.scores(rows), rtol=1e-6)


@needs_gcc
def test_rows_a_millionth_from_the_edge_of_a_ball_are_in_it_or_out_of_it(fitted_model, tmp_path):
    """Nearer than a tenth of that Python, too, rounds a distance to either side."""
    clf, rng = fitted_model("pieces, paper"), np.random.default_rng(0)
    (part,) = plan_of(clf).parts
    ways = rng.normal(size=(100, 64))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    ways[::2] *= 1.0 + 1e-6
    ways[1::2] *= 1.0 - 1e-6
    (header,) = compiled(tmp_path, (clf, {}))
    for origin, radius in zip(origins(part), np.sqrt(part.squared_radii), strict=True):
        X = (origin + part.unit * float(radius) * ways).astype(np.float32)
        assert_near(header.scores(X), clf.decision_function(X))


@needs_gcc
@pytest.mark.parametrize("weights", ["float32", "int16"])
def test_hinges_far_from_their_thresholds_are_read_less_their_centre(weights, tmp_path):
    """The first rows put thresholds below all others, which are far above them then."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(2000, 4)).astype(np.float32)
    X[:3, 0] -= 5000.0
    clf = ShareBoostClassifier(9, pool="hinges", include=range(6))
    clf.fit(X, np.where(rng.random(2000) < 0.2, 2, X[:, 0] > 1))
    assert plan_of(clf).offsets.any()
    (header,) = compiled(tmp_path, (clf, {"weights": weights}))
    layout = layout_of(plan_of(clf), Form("shareboost", weights, "float32"))
    assert_near(header.scores(X), layout.scores(X))
    if weights == "float32":
        assert_near(header.scores(X), clf.decision_function(X))


@needs_gcc
@pytest.mark.parametrize("least", [-3.5, 0.0])
def test_stumps_test_every_byte_as_python_does(least, tmp_path):
    """Between bytes, at both ends of them and beyond."""
    rows = np.arange(256.0)[:, None]
    clf = ShareBoostClassifier(8, pool=Stumps(max_bins=None), alpha=1e-3)
    clf.fit(rows, np.arange(256) // 13 % 3)
    clf.path_.features.threshold[:8] = [least, 0.5, 1.0, 127.25, 254.0, 254.5, 255.0, 300.0]
    (header,) = compiled(tmp_path, (clf, {"input_type": "uint8"}))
    assert_near(header.scores(rows), clf.decision_function(rows))


@needs_gcc
def test_headers_run_clean_under_sanitizers(fitted_model, digits, tmp_path):
    """Headers of every kind of feature, in one program because it takes long to compile."""
    names = (*("columns", "stumps", "products", "pieces", "pieces, paper"), "union, templates")
    names += ("templates, colour",)
    calls = ""
    for number, name in enumerate(names):
        header = to_c(
            fitted_model(name),
            name=f"model{number}",
            early_exit=True,
            input_range=(0, 16),
            lanes=3,
        )
        (tmp_path / f"model{number}.h").write_text(header)
        calls += f"        sum += model{number}_predict(x);\n"
        calls += f"        model{number}_scores(x, scores);\n"
    includes = "".join(f'#include "model{number}.h"\n' for number in range(len(names)))
    rows = digits[0][:3].ravel()
    (tmp_path / "main.c").write_text(
        f"{includes}#include <stdlib.h>\n"
        f"static const float rows[] = {{{','.join(map(str, rows))}}};\n"
        "int main(void)\n{\n    float *x = malloc(64 * sizeof *x), scores[10];\n"
        "    int i, j, sum = 0;\n    if (!x)\n        return 1;\n"
        "    for (i = 0; i < 3; ++i) {\n"
        "        for (j = 0; j < 64; ++j)\n            x[j] = rows[i * 64 + j];\n"
        f"{calls}    }}\n"
        "    free(x);\n    return sum < 0;\n}\n"
    )
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", "-std=c99", *WARNINGS, "-g", *sanitize, "main.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)


@needs_gcc
@needs_gxx
def test_headers_are_c_and_cpp_and_may_be_included_twice(fitted_model, tmp_path):
    (tmp_path / "model.h").write_text(
        to_c(fitted_model("union, templates"), early_exit=True, input_range=(0, 16))
    )
    (tmp_path / "other.h").write_text(
        to_c(fitted_model("pieces, paper"), name="other", weights="int8")
    )
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
    (header,) = compiled(tmp_path, (clf, {}), flags=("-O1", "-trigraphs"))
    assert [header.label(i) for i in range(3)] == clf.classes_.tolist()
    np.testing.assert_array_equal(clf.classes_[header.predict(X)], clf.predict(frame))


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


@pytest.mark.parametrize(
    "pool", [Columns(), Products(squares=True), Products(linear=True), Union([Columns(), Stumps()])]
)
def test_a_header_lists_the_columns_that_it_reads_unless_it_reads_all(pool):
    X, y = load_iris(return_X_y=True)
    clf = ShareBoostClassifier(4, pool=pool).fit(X[:, [2, 1, 3, 0]], y)
    listed = []
    for t in range(5):
        model = clf.at(t)
        found = [int(place) for place in re.findall(r"^ \*   x\[(\d)\] x\1$", to_c(model), re.M)]
        read = model.columns_.tolist()
        assert found == (read if len(read) < 4 else [])
        listed += found
    assert 0 in listed


def test_names_that_c_does_not_take_are_refused(fitted_model):
    for name in ("1st", "a b", "a-b", "é", "", "a__b", "_a", None, "a*/"):
        with pytest.raises(ValueError, match=re.escape(f"name={name!r}")):
            to_c(fitted_model("columns"), name=name)


def test_arguments_that_are_not_valid_are_named(fitted_model):
    with pytest.raises(ValueError, match="weights='int4'"):
        to_c(fitted_model("columns"), weights="int4")
    with pytest.raises(ValueError, match="input_type='float64'"):
        to_c(fitted_model("columns"), input_type="float64")
    with pytest.raises(ValueError, match="lanes=0"):
        to_c(fitted_model("columns"), lanes=0)
    with pytest.raises(ValueError, match="needs input_range"):
        to_c(fitted_model("columns"), early_exit=True)
    for wrong in ((1, 0), (0, np.nan), (0, np.inf), (-np.inf, 0), 3, (0, np.ones(63)), (0, 1, 2)):
        with pytest.raises(ValueError, match="input_range="):
            to_c(fitted_model("columns"), early_exit=True, input_range=wrong)
