"""``path``, ``explain``, ``export``, ``info``, ``report`` and ``demo``."""

import csv
import io
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pytest

import shareboost
from shareboost import ShareBoostClassifier, load_model


def test_the_table_of_rounds_is_the_path(run, model):
    clf = load_model(model)
    rows = list(csv.DictReader(io.StringIO(run("path", model, "--csv").stdout)))
    assert [row["feature"] for row in rows] == clf.path_.names(clf.selected_)
    assert [float(row["loss"]) for row in rows] == clf.path_.losses.tolist()
    errors = 1 - clf.path_.validation_scores
    assert [float(row["held-out error"]) for row in rows] == errors.tolist()
    shown = run("path", model).stdout.splitlines()
    assert shown[0].split() == ["round", "feature", "loss", "held-out", "error", "cost", "seconds"]
    assert len(shown) == len(rows) + 2


def test_names_that_a_spreadsheet_takes_for_formulas_get_a_quote_if_asked(run, tmp_path):
    X = pd.DataFrame({"=1+1": [0.0, 1.0] * 5})
    ShareBoostClassifier(1).fit(X, [0, 1] * 5).save(tmp_path / "m.json", whole_path=True)
    for more, name in (((), "=1+1"), (("--safe-csv",), "'=1+1")):
        found = run("path", tmp_path / "m.json", "--csv", *more)
        [row] = csv.DictReader(io.StringIO(found.stdout))
        assert row["feature"] == name


def test_explain_names_the_classes_of_the_largest_weights(run, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["east", "north", "west"], 50)
    X = rng.normal(size=(150, 4)) * 0.3
    X[y == "east", 2] += 3  # high in the east
    X[y == "west", 2] -= 3
    ShareBoostClassifier(1).fit(X, y).save(tmp_path / "m.json", whole_path=True)
    line = run("explain", tmp_path / "m.json").stdout.splitlines()[1].split()
    assert line[:2] == ["1", "x2"]
    assert line[3:] == ["east", "west"]
    clf = load_model(tmp_path / "m.json")
    assert float(line[2]) == pytest.approx(clf.path_.start.loss - clf.path_.losses[0], abs=1e-4)


@pytest.fixture(scope="module")
def swapped(tmp_path_factory):
    """A model, one of whose features was swapped out in the round that brought it in."""
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(150, 3))
    y = (Z @ rng.normal(size=(3, 4))).argmax(axis=1)
    X = np.c_[Z[:, 0] + Z[:, 1], Z, Z[:, 1] + Z[:, 2], Z.sum(axis=1), rng.normal(size=(150, 2))]
    clf = ShareBoostClassifier(5, swap=True).fit(X, y)
    assert any(step.atom in dict(step.swaps) for step in clf.path_)
    path = tmp_path_factory.mktemp("swapped") / "m.json"
    clf.save(path, whole_path=True)
    return clf, path, X, y


def test_rounds_of_swaps_tell_what_stayed_as_the_report_does(run, swapped):
    from shareboost.inspection.report import report_data

    clf, path, X, y = swapped
    rows = list(csv.DictReader(io.StringIO(run("path", path, "--csv").stdout)))
    told = {feature["name"]: feature["round"] for feature in report_data(clf, X, y)["features"]}
    found = {name: int(row["round"]) for row in rows for name in row["feature"].split(", ") if name}
    assert found == told
    for row, step in zip(rows, clf.path_, strict=True):
        assert row["swaps"] == ", ".join(" -> ".join(clf.path_.names(swap)) for swap in step.swaps)
    assert "swaps" in run("path", path).stdout.splitlines()[0]


def test_what_a_swapped_in_feature_saved_is_that_of_the_report(run, swapped):
    from shareboost.inspection.report import report_data

    clf, path, X, y = swapped
    lines = [line.split() for line in run("explain", path).stdout.splitlines()[1:-1]]
    saved = {f["name"]: f["loss_saved"] for f in report_data(clf, X, y)["features"]}
    assert [line[1] for line in lines] == clf.path_.names(clf.selected_)
    for line in lines:
        assert float(line[2]) == pytest.approx(saved[line[1]], abs=1e-4)


@pytest.mark.parametrize("pool", ["stumps", "products", "pieces"])
def test_every_pool_is_explained(run, folder, tmp_path, pool):
    path = tmp_path / "m.json"
    words = ("--target", "species", "--pool", pool, "--features", 2, "--out", path)
    assert run("fit", folder / "iris.csv", *words).exit_code == 0
    shown = run("explain", path)
    assert shown.exit_code == 0
    assert all(
        any(name in line for name in ("setosa", "versicolor", "virginica"))
        for line in shown.stdout.splitlines()[1:3]
    )


def test_a_model_is_exported_as_python_does(run, model, tmp_path, refused):
    from shareboost.export import to_js

    words = ("export", model, "--to", "js", "--out", tmp_path / "m.mjs")
    assert run(*words).exit_code == 0
    assert (tmp_path / "m.mjs").read_text() == to_js(load_model(model))
    refused(run(*words), "--force")
    assert run("export", model, "--to", "onnx", "--out", tmp_path / "m.onnx").exit_code == 0
    assert (tmp_path / "m.onnx").stat().st_size > 100
    refused(run("export", model, "--to", "rust", "--out", tmp_path / "m.rs"), "--to rust")


def test_info_tells_versions_threads_and_devices(run):
    shown = run("info").stdout
    for part in (shareboost.__version__, np.__version__, "threads", "devices", "pyarrow"):
        assert part in shown


@pytest.fixture
def written(monkeypatch):
    """Reports that are not written, but kept."""
    kept = []

    def write_report(clf, X, y, path, **settings):
        kept.append((clf, X, y, path, settings))

    module = types.ModuleType("shareboost.inspection.report")
    module.write_report = write_report
    monkeypatch.setitem(sys.modules, "shareboost.inspection.report", module)
    return kept


def test_a_report_gets_the_model_and_its_rows_in_order(
    run, text_model, iris_frame, tmp_path, written
):
    iris_frame.iloc[:, ::-1].to_csv(tmp_path / "test.csv", index=False)
    found = run(
        *("report", text_model, "--data", tmp_path / "test.csv", "--target", "species"),
        *("--out", tmp_path / "r.html", "--title", "Irises", "--json", tmp_path / "r.json"),
    )
    assert found.exit_code == 0, found.stderr
    assert str(tmp_path / "r.html") in found.stdout
    [(clf, X, y, path, settings)] = written
    assert path == str(tmp_path / "r.html")
    assert settings == {
        "title": "Irises",
        "json_path": str(tmp_path / "r.json"),
        "overwrite": False,
        "verbose": 0,  # not on a terminal
    }
    assert y.tolist() == iris_frame["species"].tolist()
    assert list(X.columns) == clf.feature_names_in_.tolist()
    assert np.array_equal(X["colour=red"], iris_frame["colour"] == "red")


def test_the_demo_prints_its_rounds_and_says_where_the_report_is(run, tmp_path, written):
    found = run("demo", "--features", 2, "--out", tmp_path / "r.html")
    assert found.exit_code == 0
    assert "2 features out of 64" in found.stdout
    assert f"The report is in {tmp_path / 'r.html'}" in found.stdout
    [(clf, X, y, _, settings)] = written
    assert len(X) == len(y) == 540
    assert len(settings["X_train"]) == len(settings["y_train"])
    assert clf.n_features_in_ == 64


def test_a_report_that_is_there_stays_without_force(run, tmp_path, written, refused):
    (tmp_path / "r.html").write_text("mine")
    refused(run("demo", "--out", tmp_path / "r.html"), "--force")
    assert not written


def test_python_m_shareboost_is_the_command(command):
    _, environment = command
    words = [sys.executable, "-m", "shareboost", "--version"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    assert shown.stdout == f"{shareboost.__version__}\n"
    usage = subprocess.run([*words[:-1], "--help"], capture_output=True, text=True, env=environment)
    assert "Usage: shareboost [OPTIONS]" in usage.stdout


def test_help_is_quick_because_it_imports_no_science():
    code = (
        "import sys\nfrom shareboost.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "sklearn", "pyarrow", "pandas", "torch"} & set(found.stderr.split())
    for name in ("demo", "fit", "predict", "path", "explain", "report", "export", "info"):
        assert name in found.stdout
