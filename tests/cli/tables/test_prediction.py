"""Rows with labels for a model: the types of their numbers, and what they take in memory."""

import tracemalloc

import numpy as np
import pytest

from shareboost.cli.errors import CommandError
from shareboost.cli.tables import columnar
from shareboost.cli.tables.encoding import Inputs
from shareboost.cli.tables.rows import read_labelled
from shareboost.cli.tables.sources import source_of

CLASSES = np.array([0, 1])


def labelled(path, names):
    return read_labelled(source_of(str(path), None), "y", Inputs(names), CLASSES)


@pytest.mark.parametrize(("values", "dtype"), [(["7", "9"], "int8"), (["1000.25", "1"], "float64")])
def test_labelled_rows_are_as_narrow_as_those_to_train_on(tmp_path, values, dtype):
    path = tmp_path / "test.csv"
    path.write_text("y,b,a\n" + "".join(f"{k % 2},3,{v}\n" for k, v in enumerate(values * 20)))
    X, y = labelled(path, ["a", "b"])
    assert X.dtype == dtype
    assert X[:, 0].tolist() == [float(value) for value in values * 20]
    assert (X[:, 1] == 3).all()
    assert y.tolist() == [0, 1] * 20


@pytest.mark.quiet
def test_labelled_rows_are_not_held_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(columnar, "BLOCK_BYTES", 1 << 16)
    path = tmp_path / "test.csv"
    row = ",".join(["1234.5678"] * 20)
    path.write_text(
        ",".join([f"x{j}" for j in range(20)] + ["y"])
        + "\n"
        + "".join(f"{row},{k % 2}\n" for k in range(60_000))
    )
    labelled(path, ["x0"])  # imports what reading takes
    tracemalloc.start()
    X, _ = labelled(path, [f"x{j}" for j in range(20)])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert X.dtype == np.float64
    assert most < 1.5 * X.nbytes


def test_text_among_the_numbers_of_a_test_file_is_named(tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("a,y\n1,0\nred,1\n")
    with pytest.raises(CommandError, match="'a'.*'red'.*numbers alone"):
        labelled(path, ["a"])
