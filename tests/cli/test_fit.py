"""``shareboost fit``: what it writes, what it tells, what it refuses."""

import numpy as np
import pandas as pd
import pytest

from shareboost import ShareBoostClassifier, ShareBoostCV, load_model
from shareboost.cli.tables.encoding import Inputs
from shareboost.cli.tables.rows import named


@pytest.fixture(scope="module")
def iris(iris_frame):
    return iris_frame.drop(columns=["species", "colour"]), iris_frame["species"].to_numpy(object)


def test_the_model_is_the_one_that_python_fits(run, folder, iris, tmp_path):
    found = run(
        *("fit", folder / "iris.csv", "--target", "species", "--features", 3),
        *("--out", tmp_path / "m.json"),
    )
    assert found.exit_code == 0
    own = ShareBoostClassifier(3).fit(*iris)
    loaded = load_model(tmp_path / "m.json")
    assert np.array_equal(loaded.weights_, own.weights_)
    assert list(loaded.feature_names_in_) == list(own.feature_names_in_)
    assert len(loaded.path_) == 3
    assert loaded.classes_.tolist() == own.classes_.tolist()


def test_it_ends_with_features_errors_and_the_place_of_the_model(run, folder, iris, tmp_path):
    path = tmp_path / "m.json"
    found = run("fit", folder / "iris.csv", "--target", "species", "--features", 2, "--out", path)
    clf = load_model(path)
    assert ", ".join(clf.path_.names(clf.selected_)) in found.stdout
    assert f"{1 - clf.score(*iris):.2%} of 150 training rows" in found.stdout
    assert f"The model is in {path}." in found.stdout
    assert found.stderr == ""  # bars are for terminals


def test_held_out_rows_are_not_trained_on_and_measured_every_round(model, iris, run, folder):
    clf = load_model(model)
    assert clf.path_.n_rows == 120
    errors = 1 - clf.path_.validation_scores
    assert not np.isnan(errors).any()
    shown = run("path", model).stdout
    assert all(f"{error:.2%}" in shown for error in errors)


def test_a_test_file_is_measured_as_python_does(run, folder, iris_frame, iris, tmp_path):
    table = iris_frame.drop(columns="colour")
    table[:100].to_csv(tmp_path / "train.csv", index=False)
    table[100:].iloc[:, ::-1].to_csv(tmp_path / "test.csv", index=False)
    found = run(
        *("fit", tmp_path / "train.csv", "--target", "species", "--features", 2),
        *("--test", tmp_path / "test.csv", "--out", tmp_path / "m.json"),
    )
    X, y = iris
    own = ShareBoostClassifier(2).fit(X[:100], y[:100], eval_set=(X[100:], y[100:]))
    assert f"{1 - own.score(X[100:], y[100:]):.2%} of 50 held-out rows" in found.stdout
    path = load_model(tmp_path / "m.json").path_
    assert np.array_equal(path.validation_scores, own.path_.validation_scores)


def test_the_format_is_that_of_the_test_file_too(run, folder, tmp_path):
    (tmp_path / "w.dat").write_bytes((folder / "iris.csv").read_bytes())
    found = run(
        *("fit", tmp_path / "w.dat", "--format", "csv", "--test", tmp_path / "w.dat"),
        *("--target", "species", "--features", 1, "--out", tmp_path / "m.json"),
    )
    assert found.exit_code == 0, found.stderr
    assert "of 150 held-out rows" in found.stdout


def test_cross_validation_chooses_as_python_does(run, folder, iris, tmp_path):
    found = run(
        *("fit", folder / "iris.csv", "--target", "species", "--features", 4, "--cv"),
        *("--out", tmp_path / "m.json"),
    )
    own = ShareBoostCV(n_features=4).fit(*iris)
    assert f"chose {own.best_n_features_} features" in found.stdout
    assert np.array_equal(load_model(tmp_path / "m.json").weights_, own.weights_)


def test_rows_held_out_of_cross_validation_measure_its_choice(run, iris_frame, iris, tmp_path):
    table = iris_frame.drop(columns="colour")
    table[:100].to_csv(tmp_path / "train.csv", index=False)
    table[100:].to_csv(tmp_path / "test.csv", index=False)
    found = run(
        *("fit", tmp_path / "train.csv", "--target", "species", "--features", 3, "--cv"),
        *("--test", tmp_path / "test.csv", "--out", tmp_path / "m.json"),
    )
    assert found.exit_code == 0, found.stderr
    clf = load_model(tmp_path / "m.json")
    X, y = iris
    assert f"{1 - clf.score(X[100:], y[100:]):.2%} of 50 held-out rows" in found.stdout


def test_an_interrupt_among_the_folds_writes_nothing(run, folder, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(ShareBoostCV, "_curves", interrupted)
    out = tmp_path / "m.json"
    found = run("fit", folder / "iris.csv", "--target", "species", "--cv", "--out", out)
    assert found.exit_code == 130
    assert found.stderr == "Interrupted.\n"
    assert not out.exists()


def test_costs_and_a_budget_steer_the_choice(run, folder, tmp_path):
    prices = {"petal_length": 100, "petal_width": 100, "sepal_length": 1, "sepal_width": 1}
    path = tmp_path / "prices.csv"
    path.write_text("column,cost\n" + "".join(f"{name},{p}\n" for name, p in prices.items()))
    run(
        *("fit", folder / "iris.csv", "--target", "species", "--costs", path, "--budget", 50),
        *("--out", tmp_path / "m.json"),
    )
    clf = load_model(tmp_path / "m.json")
    assert set(clf.get_feature_names_out()) == {"sepal_length", "sepal_width"}
    assert clf.cost_ == 2


def test_the_texts_of_a_column_are_paid_for_once(run, folder, tmp_path):
    columns = ["petal_length", "petal_width", "sepal_length", "sepal_width"]
    path = tmp_path / "prices.csv"
    path.write_text("".join(f"{name},100\n" for name in columns) + "colour,5\n")
    run(
        *("fit", folder / "text.csv", "--target", "species", "--one-hot", 50),
        *("--costs", path, "--budget", 50, "--out", tmp_path / "m.json"),
    )
    clf = load_model(tmp_path / "m.json")
    assert len(clf.selected_) > 1
    assert all(name.startswith("colour=") for name in clf.get_feature_names_out())
    assert clf.cost_ == 5


def test_included_features_come_first_and_excluded_and_dropped_ones_never(run, folder, tmp_path):
    run(
        *("fit", folder / "iris.csv", "--target", "species", "--include", "sepal_width"),
        *("--exclude", "petal_width", "--drop", "petal_length", "--out", tmp_path / "m.json"),
    )
    clf = load_model(tmp_path / "m.json")
    names = clf.path_.names(clf.selected_)
    assert names[0] == "sepal_width"
    assert "petal_width" not in names
    assert "petal_length" not in clf.feature_names_in_


def test_columns_of_text_become_columns_of_0_and_1(text_model, iris_frame):
    clf = load_model(text_model)
    assert "colour=red" in clf.get_feature_names_out()
    X = iris_frame.drop(columns=["species", "colour"])
    for level in ("blue, light", "green", "red"):
        X[f"colour={level}"] = (iris_frame["colour"] == level).astype(float)
    own = ShareBoostClassifier(4, include=[f"colour={t}" for t in ("blue, light", "green", "red")])
    assert np.array_equal(own.fit(X, iris_frame["species"]).weights_, clf.weights_)
    assert clf.levels_in_[-1] == ("colour", "red")


def test_stumps_take_missing_values_and_columns_name_them(
    run, folder, iris_frame, tmp_path, refused
):
    table = iris_frame.drop(columns="colour")
    table.loc[3, "petal_width"] = np.nan
    table.to_csv(tmp_path / "gaps.csv", index=False)
    words = ("fit", tmp_path / "gaps.csv", "--target", "species", "--out", tmp_path / "m.json")
    refused(run(*words), "'petal_width'", "missing values", "--pool stumps")
    assert run(*words, "--pool", "stumps").exit_code == 0


def test_a_model_alone_has_no_rounds(run, folder, tmp_path, refused):
    words = ("--target", "species", "--model-only", "--out", tmp_path / "m.json")
    assert run("fit", folder / "iris.csv", *words).exit_code == 0
    refused(run("path", tmp_path / "m.json"), "--model-only")
    assert run("explain", tmp_path / "m.json").exit_code == 0


def test_a_file_that_is_there_stays_without_force(run, folder, tmp_path, refused):
    path = tmp_path / "m.json"
    path.write_text("mine")
    words = ("fit", folder / "iris.csv", "--target", "species", "--out", path)
    refused(run(*words), "is there already: --force replaces it")
    assert path.read_text() == "mine"
    assert run(*words, "--force").exit_code == 0
    assert load_model(path)


CSV = {
    "twice": ("a,a,b\n1,2,x\n", "'a'"),
    "nameless": (",a,b\n0,1,x\n1,2,y\n", "Column 1 of"),
    "empty": ("", "is empty"),
    "header": ("a,b\n", "no rows"),
    "header_alone": ("a,b", "header_alone.csv cannot be read: CSV parse error: Empty CSV"),
    "open_quote": ('"a,b\n1,2\n', "open_quote.csv cannot be read: CSV parse error: Empty CSV"),
    "one_class": ("a,b\n1,x\n2,x\n", "only one class, 'x'"),
    "short_row": ("a,b\n1,x\n2\n3,y\n", "Row #3: Expected 2 columns, got 1"),
    "long_row": ("a,b\n1,x\n2,3,4\n3,y\n", "Row #3: Expected 2 columns, got 3"),
    "binary": (b"a,b\n\0\1\2,x\n", "is a binary file"),
    "other_encoding": (b"a,\xe9,b\n1,2,x\n2,1,y\n", "utf-8"),
    "no_label": ("a,b\n1,x\n2,\n3,y\n", "rows without a label"),
    "quantity": ("a,b\n1,1.5\n2,2.5\n", "not whole, for instance 1.5"),
    "infinite": ("a,b\n1,x\ninf,y\n", "infinite"),
    "text": ("a,c,b\n1,red,x\n2,blue,y\n", "'c'"),
    "semicolons": ("a;b\n1;x\n2;y\n", "It has 'a;b'"),
    "alone": ("b\nx\ny\n", "no column beside 'b'"),
}


@pytest.mark.parametrize("name", CSV)
def test_a_table_that_cannot_be_trained_on_is_one_line(run, tmp_path, name, refused):
    content, message = CSV[name]
    path = tmp_path / f"{name}.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = tmp_path / "m.json"
    refused(run("fit", path, "--target", "b", "--out", out), message)
    assert not out.exists()


def test_text_is_refused_with_the_choices_named(run, folder, tmp_path, refused):
    found = run("fit", folder / "text.csv", "--target", "species", "--out", tmp_path / "m.json")
    refused(found, "'colour'", "--one-hot N", "--drop")


def test_a_column_of_more_texts_than_allowed_is_named(run, folder, tmp_path, refused):
    words = ("--target", "species", "--one-hot", 2, "--out", tmp_path / "m.json")
    found = run("fit", folder / "text.csv", *words)
    refused(found, "'colour'", "more than 2 different texts", "--one-hot allows more")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--target", "nope"), "'nope'"),
        ((), "--target takes the column"),
        (("--target", "species", "--pool", "trees"), "--pool trees is not known"),
        (("--target", "species", "--one-hot", "0"), "--one-hot"),
        (("--target", "species", "--holdout", "1.5"), "--holdout 1.5"),
        (("--target", "species", "--holdout", "0.2", "--test", "x.csv"), "give one of them"),
        (("--target", "species", "--test", "nowhere.csv"), "nowhere.csv: No such file"),
        (("--target", "species", "--drop", "nope"), "'nope'"),
        (("--target", "species", "--include", "nope"), "'nope'"),
        (("--target", "species", "--features", "0"), "--features"),
        (("--target", "species", "--format", "xml"), "--format xml"),
        (("--target", "species", "--nope"), "--nope"),
    ],
)
def test_options_that_make_no_sense_are_one_line(run, folder, tmp_path, words, message, refused):
    found = run("fit", folder / "iris.csv", *words, "--out", tmp_path / "m.json")
    refused(found, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("petal_length,1\n", "no cost for"),
        ("petal_length,-1\n", "numbers above 0"),
        ("petal_length\n", "a column and its cost"),
    ],
)
def test_prices_that_make_no_sense_are_one_line(run, folder, tmp_path, content, message, refused):
    (tmp_path / "prices.csv").write_text(content)
    words = ("--costs", tmp_path / "prices.csv", "--out", tmp_path / "m.json")
    refused(run("fit", folder / "iris.csv", "--target", "species", *words), message)


def test_labels_of_a_test_file_that_training_had_not_are_named(run, iris_frame, tmp_path, refused):
    table = iris_frame.drop(columns="colour")
    table[table.species != "setosa"].to_csv(tmp_path / "train.csv", index=False)
    table.to_csv(tmp_path / "test.csv", index=False)
    words = ("--target", "species", "--test", tmp_path / "test.csv", "--out", tmp_path / "m.json")
    refused(run("fit", tmp_path / "train.csv", *words), "'setosa'", "the training had not")


def test_help_has_examples_and_every_option(run):
    text = run("fit", "--help", env={"COLUMNS": "200"}).stdout
    for part in ("shareboost fit iris.csv", "--holdout", "--costs", "--one-hot", "--force"):
        assert part in text


def test_names_cannot_steer_a_terminal(run, tmp_path):
    (tmp_path / "bad.csv").write_text("\x1b[31mred,y\n1,u\n2,v\n")
    found = run("fit", tmp_path / "bad.csv", "--target", "y", "--out", tmp_path / "m.json")
    shown = found.stdout + run("path", tmp_path / "m.json").stdout
    assert shown.count("\\x1b[31mred") == 2
    assert "\x1b" not in shown


def test_frames_are_not_copied():
    X = np.zeros((5, 2))
    frame = named(X, Inputs(["a", "b"]))
    assert isinstance(frame, pd.DataFrame)
    assert np.shares_memory(np.asarray(frame), X)
