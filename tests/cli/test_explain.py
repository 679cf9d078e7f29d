"""``shareboost explain --data``: what Python's ``explain`` tells of rows of a table."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from shareboost import ShareBoostClassifier, load_model
from shareboost.rivals import OneVsRestGreedyClassifier

ROWS = [word for row in (3, 148, 149, 150, 1) for word in ("--row", row)]
HEAD = re.compile(r"Row (\d+): (.*), score (.*)")


@pytest.fixture(scope="module")
def rows(iris_frame):
    return iris_frame.drop(columns=["species", "colour"])


def told(found):
    """The rows that were told of: number, label, score and the contributions by name."""
    assert found.exit_code == 0, found.output
    for block in found.stdout.strip().split("\n\n"):
        head, titles, *lines = block.splitlines()
        number, label, score = HEAD.fullmatch(head).groups()
        assert titles.split() == ["feature", "value", "contribution"]
        own = {re.split(r"\s\s+", line)[0]: line.split() for line in lines}
        yield int(number), label, float(score), own


def test_it_tells_what_python_tells(run, model, folder, rows):
    clf = load_model(model)
    E, scores, labels = clf.explain(rows), clf.decision_function(rows), clf.predict(rows)
    intercepts = clf._model().intercept
    found = list(told(run("explain", model, "--data", folder / "iris.csv", *ROWS)))
    assert [number for number, *_ in found] == [1, 3, 148, 149, 150]
    for number, label, score, lines in found:
        row = number - 1
        q = clf.classes_.tolist().index(label)
        assert label == labels[row]
        assert score == pytest.approx(scores[row, q], rel=1e-3)
        own = E[label].iloc[row]
        order = own.abs().sort_values(ascending=False).index.tolist()
        assert list(lines) == [*order, "intercept"]
        for name in order:
            value, size = map(float, lines[name][1:])
            assert value == rows.loc[row, name]
            assert size == pytest.approx(own[name], rel=1e-3)
        assert float(lines["intercept"][1]) == pytest.approx(intercepts[q], rel=1e-3)


@pytest.mark.parametrize("kind", ["rival", "reduced"])
def test_rivals_and_reduced_classifiers_are_explained_too(kind, run, iris_frame, rows, tmp_path):
    clf = OneVsRestGreedyClassifier(2) if kind == "rival" else ShareBoostClassifier(2)
    clf.fit(rows, iris_frame["species"])
    clf = clf if kind == "rival" else clf.reduced()
    clf.save(tmp_path / "model.json")
    iris_frame.to_csv(tmp_path / "rows.csv", index=False)
    found = list(told(run("explain", tmp_path / "model.json", "--data", tmp_path / "rows.csv")))
    scores = clf.decision_function(rows)[:5].max(axis=1)
    assert [score for *_, score, _ in found] == pytest.approx(scores.tolist(), rel=1e-3)


def test_the_first_five_rows_are_told_of_unless_others_are_asked_for(run, model, rows, tmp_path):
    for n in (3, 8):
        rows[:n].to_csv(tmp_path / "new.csv", index=False)
        found = told(run("explain", model, "--data", tmp_path / "new.csv"))
        assert [number for number, *_ in found] == list(range(1, min(n, 5) + 1))


def test_features_beyond_the_top_are_added_up(run, model, folder):
    data = folder / "iris.csv"
    [(*_, whole)] = told(run("explain", model, "--data", data, "--row", 1))
    [(*_, some)] = told(run("explain", model, "--data", data, "--row", 1, "--top", 1))
    sizes = [float(line[-1]) for line in whole.values()]
    assert list(some) == [next(iter(whole)), "2 more", "intercept"]
    assert float(some["2 more"][-1]) == pytest.approx(sizes[1] + sizes[2], abs=0.01)


def test_columns_are_matched_by_name_and_texts_encoded(run, text_model, iris_frame, tmp_path):
    table = iris_frame.iloc[:, ::-1].drop(columns="species").assign(note="words")
    table.to_csv(tmp_path / "new.csv", index=False)
    rows_20 = [word for row in range(1, 21) for word in ("--row", row)]
    found = list(told(run("explain", text_model, "--data", tmp_path / "new.csv", *rows_20)))
    predicted = run("predict", text_model, tmp_path / "new.csv").stdout.splitlines()[1:21]
    assert [label for _, label, *_ in found] == predicted
    for number, *_, lines in found:
        for name, line in lines.items():
            column, _, text = name.partition("=")
            if text:
                assert float(line[-2]) == (iris_frame.loc[number - 1, column] == text)


def test_rows_beyond_the_first_block_are_found(run, model, rows, tmp_path):
    many = rows.loc[np.arange(9000) % 150]
    many.to_parquet(tmp_path / "many.parquet")
    words = ("explain", model, "--data", tmp_path / "many.parquet")
    first, late = told(run(*words, "--row", 7, "--row", 8857))  # 59 times 150 rows later
    assert late[0] == 8857
    assert late[1:] == first[1:]


def test_sparse_rows_of_a_model_without_names(run, tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((80, 30), density=0.3, random_state=rng, format="csr")
    y = np.asarray(X.sum(axis=1) > 4).astype(int)
    clf = ShareBoostClassifier(3).fit(X, y)
    clf.save(tmp_path / "m.json")
    dump_svmlight_file(X, y, str(tmp_path / "new.svmlight"))
    found = told(run("explain", tmp_path / "m.json", "--data", tmp_path / "new.svmlight"))
    scores = clf.decision_function(X)
    for number, label, score, lines in found:
        assert int(label) == clf.predict(X)[number - 1]
        assert score == pytest.approx(abs(scores[number - 1]), rel=1e-3)
        assert sum(float(line[-1]) for line in lines.values()) == pytest.approx(score, abs=0.02)


def test_what_does_not_go_together_is_refused(run, model, folder, rows, tmp_path, refused):
    refused(run("explain", model, "--data", folder / "iris.csv", "--row", 151), "150 rows", "151")
    rows[:0].to_csv(tmp_path / "none.csv", index=False)
    refused(run("explain", model, "--data", tmp_path / "none.csv"), "has 0 rows")
    refused(run("explain", model, "--row", 1), "--data")
    refused(run("explain", model, "--row", 0), "--row")
    refused(run("explain", "-", "--data", "-"), "MODEL and --data are both -")
    rows.iloc[:, :1].to_csv(tmp_path / "few.csv", index=False)
    refused(run("explain", model, "--data", tmp_path / "few.csv"), "lacks columns")
