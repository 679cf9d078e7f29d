"""Every format, compressed or not, gives the same rows; svmlight stays sparse."""

import bz2
import gzip
import lzma
import subprocess

import numpy as np
import pyarrow
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from shareboost import ShareBoostClassifier, load_model
from shareboost.cli.tables.rows import Asked, read_training
from shareboost.cli.tables.sources import source_of


def zstandard(content):
    return pyarrow.compress(content, codec="zstd", asbytes=True)


COMPRESSED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard}
ASKED = Asked("species")


@pytest.fixture(scope="module")
def frame(iris_frame):
    return iris_frame.drop(columns="colour")


def read(path, asked=ASKED, format_=None):
    return read_training(source_of(str(path), format_), asked)


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


@pytest.mark.parametrize("format_", ["csv", "tsv", "parquet"])
def test_named_tables_give_their_numbers(frame, format_, tmp_path):
    path = tmp_path / f"iris.{format_}"
    write(frame, path)
    found = read(path)
    assert np.array_equal(found.X, frame.iloc[:, :-1])
    assert list(found.inputs.names) == list(frame.columns[:-1])
    assert found.y.tolist() == frame["species"].tolist()


@pytest.mark.parametrize("compression", COMPRESSED)
@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_compressed_files_give_the_same(frame, format_, compression, tmp_path):
    plain = tmp_path / f"iris.{format_}"
    write(frame, plain)
    path = tmp_path / f"iris.{format_}.{compression}"
    path.write_bytes(COMPRESSED[compression](plain.read_bytes()))
    assert np.array_equal(read(path).X, read(plain).X)


@pytest.mark.parametrize(
    ("n_columns", "name"),
    [(3_050, "c{}"), (300, "a name " * 10 + "{}"), (100_000, "a name that takes its bytes {}")],
    ids=["many", "long", "longer than a block"],
)
@pytest.mark.parametrize("compression", ["", "gz"])
def test_headers_may_be_long(n_columns, name, compression, tmp_path):
    names = [name.format(j) for j in range(n_columns)]
    X = np.arange(2 * n_columns).reshape(2, n_columns) / 8
    rows = [",".join(map(str, [*row, label])) for row, label in zip(X, "ab", strict=True)]
    text = "\n".join([",".join([*names, "species"]), *rows, ""])
    path = tmp_path / ("wide.csv" + f".{compression}" * bool(compression))
    path.write_bytes(gzip.compress(text.encode(), 1) if compression else text.encode())
    found = read(path)
    assert np.array_equal(found.X, X)
    assert list(found.inputs.names) == names


@pytest.mark.parametrize("compression", COMPRESSED)
def test_a_torn_compressed_file_is_one_line(run, frame, compression, tmp_path, refused):
    plain = tmp_path / "iris.csv"
    write(frame, plain)
    path = tmp_path / f"torn.csv.{compression}"
    path.write_bytes(COMPRESSED[compression](plain.read_bytes())[:-20])
    refused(run("fit", path, "--target", "species", "--out", tmp_path / "m.json"), "torn.csv")


@pytest.mark.quiet
@pytest.mark.parametrize("compression", ["gz", "bz2", "zst"])
def test_a_bad_row_at_the_start_of_a_large_compressed_file_ends_the_program(
    command, tmp_path, compression
):
    # The rest is larger than what is read ahead, so reading is under way when the program ends.
    content = b"a,y\n1,2\n1,2,3\n" + b"0.12345,1\n" * 2_000_000
    path = tmp_path / f"bad.csv.{compression}"
    path.write_bytes(COMPRESSED[compression](content))
    words, environment = command
    found = subprocess.run(
        [*words, "fit", str(path), "--target", "y", "--out", str(tmp_path / "m.json")],
        capture_output=True,
        env=environment,
        timeout=60,
    )
    assert found.returncode == 2, found.stderr
    assert found.stderr.count(b"\n") == 1, found.stderr
    assert b"bad.csv" in found.stderr


def test_a_damaged_parquet_file_is_named(run, frame, tmp_path, refused):
    path = tmp_path / "bad.parquet"
    frame.to_parquet(path)
    content = bytearray(path.read_bytes())
    content[-100:-8] = bytes(92)  # of the footer
    path.write_bytes(content)
    found = run("fit", path, "--target", "species", "--out", tmp_path / "m.json")
    refused(found, "bad.parquet cannot be read")


def test_npz_takes_matrices_for_models_without_names(run, frame, tmp_path, model, refused):
    X, y = frame.iloc[:, :-1].to_numpy(), frame["species"].to_numpy(str)
    path = tmp_path / "plain.npz"
    np.savez(path, X=X, y=y)
    found = read(path, Asked(None))
    assert np.array_equal(found.X, X)
    assert not found.inputs.is_named
    refused(run("predict", model, path), "no names of columns")
    refused(run("fit", path, "--target", "y"), "--target takes a column of CSV")
    np.savez(path, X=X)
    refused(run("fit", path, "--out", tmp_path / "m.json"), "no array y")


def test_npz_with_training_and_test_rows_in_one_file(run, frame, tmp_path):
    X, y = frame.iloc[:, :-1].to_numpy(), np.unique(frame["species"], return_inverse=True)[1]
    path = tmp_path / "both.npz"
    np.savez(path, X_train=X[:100], y_train=y[:100], X_test=X[100:], y_test=y[100:])
    found = run("fit", path, "--test", path, "--features", 2, "--out", tmp_path / "m.json")
    own = ShareBoostClassifier(2).fit(X[:100], y[:100])
    assert f"{1 - own.score(X[100:], y[100:]):.2%} of 50 held-out rows" in found.stdout


def test_npz_that_would_run_code_is_refused(run, tmp_path, refused):
    np.savez(tmp_path / "bad.npz", X=np.array([[print]], dtype=object), y=[1])
    refused(run("fit", tmp_path / "bad.npz", "--out", tmp_path / "m.json"), "bad.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_npz_is_one_line(run, tmp_path, refused, save, damage):
    path = tmp_path / "bad.npz"
    save(path, X=np.random.default_rng(0).normal(size=(50, 4)), y=np.arange(50) % 2)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        del content[-100:]
    else:
        content[500] ^= 255
    path.write_bytes(content)
    found = run("fit", path, "--out", tmp_path / "m.json")
    refused(found, "bad.npz is no NPZ file that can be read")
    assert "fault" not in found.stderr


def test_an_svmlight_file_with_one_huge_index_is_refused_for_training_only(run, tmp_path, refused):
    rows = "".join(f"{i % 2} 1:{i % 2} 2:{i % 7}\n" for i in range(20))
    (tmp_path / "rows.svm").write_text(rows)
    (tmp_path / "huge.svm").write_text(f"{rows}1 1:1 100000000:1\n")
    words = ("--features", 1, "--out", tmp_path / "m.json")
    refused(run("fit", tmp_path / "huge.svm", *words), "100,000,001 columns", "16,777,216")
    assert run("fit", tmp_path / "rows.svm", *words).exit_code == 0
    found = run("predict", tmp_path / "m.json", tmp_path / "huge.svm")
    assert found.stdout.split()[1:] == [*"01" * 10, "1"]


@pytest.mark.parametrize("first", [0, 1])
def test_svmlight_stays_sparse_and_counts_as_the_file_does(run, tmp_path, first):
    rng = np.random.default_rng(0)
    X = sp.random(60, 30, density=0.2, random_state=0, format="csr")
    X.data = np.ceil(8 * X.data) / 8  # which the file holds exactly
    y = np.where(X[:, [3]].toarray().ravel() > 0, 1, rng.integers(2, 4, 60))
    path = tmp_path / "words.svmlight"
    dump_svmlight_file(X, y, str(path), zero_based=first == 0)
    found = read(path, Asked(None))
    assert sp.issparse(found.X)
    assert np.array_equal(found.X.toarray()[:, first : first + 30], X.toarray()[:, :30])
    assert run("fit", path, "--features", 3, "--out", tmp_path / "m.json").exit_code == 0
    clf = load_model(tmp_path / "m.json")
    assert clf.selected_[0] == 3 + first
    # A file whose last columns do not occur, and one with others beyond.
    for n in (20, 30):
        wide = sp.hstack([X[:, :n], sp.random(60, 7 * (n == 30), density=0.5, format="csr")])
        dump_svmlight_file(wide.tocsr(), y, str(tmp_path / "new.svm"), zero_based=first == 0)
        shown = run("predict", tmp_path / "m.json", tmp_path / "new.svm").stdout.split()
        rows = np.zeros((60, clf.n_features_in_))
        rows[:, first : first + n] = X[:, :n].toarray()
        assert shown[1:] == clf.predict(rows).astype(str).tolist()


def test_a_text_file_is_no_svmlight(run, folder, tmp_path, refused):
    words = ("--format", "svmlight", "--out", tmp_path / "m.json")
    refused(run("fit", folder / "iris.csv", *words), "no svmlight file")


def test_a_name_without_a_known_end_asks_for_the_format(run, folder, tmp_path, refused):
    path = tmp_path / "iris.data"
    path.write_bytes((folder / "iris.csv").read_bytes())
    words = ("--target", "species", "--out", tmp_path / "m.json")
    refused(run("fit", path, *words), "--format")
    assert run("fit", path, *words, "--format", "csv").exit_code == 0
