"""``shareboost predict``: the classes that Python predicts, columns matched by name."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from shareboost import ShareBoostClassifier, load_model


@pytest.fixture(scope="module")
def rows(iris_frame):
    return iris_frame.drop(columns=["species", "colour"])


def predicted(found):
    assert found.exit_code == 0, found.stderr
    return pd.read_csv(io.StringIO(found.stdout))


def test_it_predicts_what_python_predicts(run, model, folder, rows, tmp_path):
    found = run("predict", model, folder / "iris.csv", "--proba", "--out", tmp_path / "p.csv")
    assert found.exit_code == 0
    assert found.output == ""
    table = pd.read_csv(tmp_path / "p.csv", dtype=str)  # old versions round numbers
    clf = load_model(model)
    assert table["prediction"].tolist() == clf.predict(rows).tolist()
    assert list(table.columns[1:]) == [f"probability_{label}" for label in clf.classes_]
    assert np.array_equal(table.iloc[:, 1:].astype(float), clf.predict_proba(rows))


def test_columns_in_another_order_and_others_change_nothing(run, model, folder, rows, tmp_path):
    other = rows.iloc[:, ::-1].assign(note="words", unnamed=1.5)
    other.to_csv(tmp_path / "other.csv", index=False)
    own = run("predict", model, folder / "iris.csv").stdout
    assert run("predict", model, tmp_path / "other.csv").stdout == own


def test_missing_columns_are_listed_where_the_model_reads_them(run, model, rows, tmp_path, refused):
    clf = load_model(model)
    read = clf.feature_names_in_[clf.columns_].tolist()
    rows[read].to_csv(tmp_path / "enough.csv", index=False)
    assert run("predict", model, tmp_path / "enough.csv").exit_code == 0
    rows.drop(columns=read[:2]).to_csv(tmp_path / "few.csv", index=False)
    refused(run("predict", model, tmp_path / "few.csv"), *map(repr, read[:2]), "lacks columns")


def test_texts_are_encoded_as_in_training(run, text_model, iris_frame, tmp_path):
    iris_frame.drop(columns="species").to_csv(tmp_path / "new.csv", index=False)
    found = run("predict", text_model, tmp_path / "new.csv")
    clf = load_model(text_model)
    X = pd.DataFrame(
        {
            name: iris_frame[name]
            if name in iris_frame
            else (iris_frame["colour"] == name.partition("=")[2]).astype(float)
            for name in clf.feature_names_in_
        }
    )
    assert predicted(found)["prediction"].tolist() == clf.predict(X).tolist()
    assert found.stderr == ""


def test_unknown_texts_are_told_and_count_as_none(run, text_model, iris_frame, tmp_path):
    table = iris_frame.drop(columns="species")
    table.loc[:4, "colour"] = "mauve"
    table.loc[5:6, "colour"] = ""
    table.to_csv(tmp_path / "new.csv", index=False)
    found = run("predict", text_model, tmp_path / "new.csv")
    assert found.exit_code == 0
    assert "'colour'" in found.stderr
    assert found.stderr.count("\n") == 1
    assert "'mauve'" in found.stderr


def test_text_among_numbers_names_the_column(run, model, rows, tmp_path, refused):
    table = rows.astype(object)
    table.loc[4, "petal_length"] = "long"
    table.to_csv(tmp_path / "new.csv", index=False)
    refused(run("predict", model, tmp_path / "new.csv"), "'petal_length'", "'long'")


def test_labels_that_a_spreadsheet_takes_for_formulas_get_a_quote_if_asked(run, tmp_path):
    labels = ["=1+1", "+1a", "-a", "@a", "\ta", "\ra", "a=", "'a"]
    y = np.repeat(labels, 4)
    X = pd.DataFrame((y[:, None] == labels).astype(float), columns=[*"abcdefgh"])
    ShareBoostClassifier(8).fit(X, y).save(tmp_path / "m.json")
    X.to_csv(tmp_path / "x.csv", index=False)
    words = ("predict", tmp_path / "m.json", tmp_path / "x.csv", "--proba")

    def rows(*more):
        return list(csv.reader(io.StringIO(run(*words, *more).stdout, newline="")))

    plain, safe = rows(), rows("--safe-csv")
    assert [row[0] for row in plain[1:]] == y.tolist()
    assert [row[0] for row in safe[1:]] == [f"'{t}" if t[0] in "=+-@\t\r" else t for t in y]
    assert [row[1:] for row in safe] == [row[1:] for row in plain]


def test_numbers_stay_numbers_in_a_safe_csv(run, tmp_path):
    X = pd.DataFrame({"a": [0.0, 1.0] * 5})
    ShareBoostClassifier(1).fit(X, [-1, 1] * 5).save(tmp_path / "m.json")
    X.to_csv(tmp_path / "x.csv", index=False)
    found = run("predict", tmp_path / "m.json", tmp_path / "x.csv", "--safe-csv")
    assert found.stdout.split()[1:] == ["-1", "1"] * 5


def test_missing_values_name_the_column(run, model, rows, tmp_path, refused):
    table = rows.copy()
    table.loc[4, "petal_length"] = np.nan
    table.to_csv(tmp_path / "new.csv", index=False)
    refused(run("predict", model, tmp_path / "new.csv"), "'petal_length'", "missing values")


def test_what_fails_leaves_no_file(run, model, rows, tmp_path):
    rows.assign(petal_length="long").to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", model, tmp_path / "new.csv", "--out", tmp_path / "p.csv").exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_a_file_that_is_there_stays_without_force(run, model, folder, tmp_path, refused):
    (tmp_path / "p.csv").write_text("mine")
    words = ("predict", model, folder / "iris.csv", "--out", tmp_path / "p.csv")
    refused(run(*words), "--force")
    assert (tmp_path / "p.csv").read_text() == "mine"
    assert run(*words, "--force").exit_code == 0


def test_a_file_that_is_no_model_is_one_line(run, folder, refused):
    refused(run("predict", folder / "iris.csv", folder / "iris.csv"), "is no model")
    refused(run("predict", "nowhere.json", folder / "iris.csv"), "nowhere.json: No such file")


def test_a_model_of_no_feature_predicts_every_row(run, model, folder, tmp_path):
    load_model(model).at(0).save(tmp_path / "none.json")
    assert len(predicted(run("predict", tmp_path / "none.json", folder / "iris.csv"))) == 150


def test_an_interrupt_leaves_no_file(run, model, folder, tmp_path, monkeypatch):
    from shareboost.cli.tables import rows

    blocks_for = rows.blocks_for

    def interrupted(*arguments):
        yield next(blocks_for(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(rows, "blocks_for", interrupted)
    found = run("predict", model, folder / "iris.csv")
    assert found.exit_code == 130
    assert found.stdout.count("\n") == 151
    assert found.stderr == "Interrupted.\n"
    found = run("predict", model, folder / "iris.csv", "--out", tmp_path / "p.csv")
    assert found.exit_code == 130
    assert not list(tmp_path.iterdir())
