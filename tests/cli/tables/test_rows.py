"""Tables to train on: types of numbers, gaps, texts that come late, rows held out."""

import numpy as np
import pytest

from shareboost.cli.errors import CommandError
from shareboost.cli.tables import columnar
from shareboost.cli.tables.rows import Asked, read_training
from shareboost.cli.tables.sources import source_of


@pytest.fixture
def read(tmp_path):
    def read(content, **asked):
        path = tmp_path / "table.csv"
        path.write_text(content)
        return read_training(source_of(str(path), None), Asked("y", **asked))

    return read


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(columnar, "BLOCK_BYTES", 64)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["1", "-128"], "int8"),
        (["1", "255"], "uint8"),
        (["-1", "255"], "int16"),
        (["1", "70000"], "int32"),
        (["1", "5000000000"], "float64"),
        (["1000.25", "1"], "float64"),
        (["1.5", "", "", ""], "float32"),  # where doubles would take more than twice the file
    ],
)
def test_numbers_are_kept_as_narrow_as_they_may_be(read, values, dtype):
    found = read("a,y\n" + "".join(f"{value},{k % 2}\n" for k, value in enumerate(values * 51)))
    assert found.X.dtype == dtype
    numbers = [float(value or "nan") for value in values * 51]
    assert np.array_equal(found.X[:, 0], numbers, equal_nan=True)


def test_gaps_are_nan(read):
    found = read("a,b,y\n1,2,u\n,3,v\nNA,4,u\n")
    assert np.array_equal(found.X, [[1, 2], [np.nan, 3], [np.nan, 4]], equal_nan=True)


def test_text_that_comes_late_in_a_column_of_numbers_is_named(read, small_blocks):
    rows = "".join(f"{k % 3},{k},{k % 2}\n" for k in range(60)) + "x,1,0\n"
    with pytest.raises(CommandError, match="'a' of .* holds 'x', and takes numbers alone"):
        read("a,b,y\n" + rows, levels=50)


def test_an_empty_text_is_none_of_the_texts(read):
    found = read("a,y\nred,0\n,1\n", levels=50)
    assert list(found.inputs.names) == ["a=red"]
    assert found.X.ravel().tolist() == [1, 0]


def test_names_that_texts_would_make_twice_are_refused(read):
    with pytest.raises(CommandError, match="'a=red'"):
        read("a,a=red,y\nred,1,0\nblue,2,1\n", levels=50)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["1", "2"], [1, 2]),
        (["1.0", "2.0"], [1, 2]),
        (["007", "008"], ["007", "008"]),
        (["1", "x"], ["1", "x"]),
        (["True", "False"], ["True", "False"]),
        (["NA", "US"], ["NA", "US"]),
    ],
)
def test_labels_are_integers_where_all_are_whole(read, texts, labels):
    found = read(f"a,y\n1,{texts[0]}\n2,{texts[1]}\n")
    assert found.y.tolist() == labels


def test_held_out_rows_are_a_share_of_every_class_and_none_is_lost(read, small_blocks):
    rows = [(k, "u" if k % 4 else "v") for k in range(80)]
    text = "a,y\n" + "".join(f"{k},{label}\n" for k, label in rows)
    found = read(text, holdout=0.25, seed=1)
    X, y = found.held_out
    assert sorted(y.tolist()) == ["u"] * 15 + ["v"] * 5
    both = np.concatenate([found.X, X])[:, 0], np.concatenate([found.y, y])
    assert sorted(zip(*(part.tolist() for part in both), strict=True)) == rows
    assert found.X.base is X.base  # one matrix, no copy
    again = read(text, holdout=0.25, seed=1)
    assert np.array_equal(again.X, found.X)
    assert not np.array_equal(read(text, holdout=0.25, seed=2).X, found.X)


def test_quoted_values_may_hold_separators_and_line_breaks(read):
    found = read('a,"b,c",y\n1,"red\nwine",u\n2,"x,y",v\n', levels=50)
    assert list(found.inputs.names) == ["a", "b,c=red\nwine", "b,c=x,y"]
    assert found.X.tolist() == [[1, 1, 0], [2, 0, 1]]


def test_the_mark_of_utf_8_is_no_part_of_a_name(read):
    assert list(read("\ufeffa,y\n1,0\n2,1\n").inputs.names) == ["a"]


def test_a_row_that_is_too_long_is_told_as_such(read, small_blocks):
    columns = ",".join(f"a{j}" for j in range(5))
    with pytest.raises(CommandError, match="a row of more than 208 bytes"):  # 32 a column
        read(f"{columns},y\n" + (",".join(["1" * 60] * 5) + ",0\n") * 9)
