"""Whatever a table of text holds, the command reads it or ends with one line and exit code 2."""

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pyarrow
import pytest
from attacks.cases import check_cases, pick
from attacks.promises import answer

from shareboost import ShareBoostClassifier

NAMES = ["a", "b", "c", "d", "y", "y", "y"]
ODD_NAMES = ["", " ", "a", "A", "b=1", "é" * 9, 'quo"te', "x,y", "x\ny", "=1+1", "0", "n" * 5000]
NUMBERS = ["0", "1", "-1", "2.5", "1e-3", "3", "7", "12", "+4", ".5"]
ODD_CELLS = [
    *("", "NA", "nan", "NaN", "null", "inf", "-inf", "Infinity", "1e308", "1e309", "-1e309"),
    *("1e-320", "99999999999999999999", "9007199254740993", "0x1F", "1_000", "1,5", "1 ", " 1"),
    *("true", "FALSE", "2024-01-31", "2024-01-31 12:00:00", "12:30", "1.2.3", "--", "-", "+", "."),
    *("x", "é", "\N{GRINNING FACE}", "\u202e", "\x1b[31m", "\x7f", 'a"b', '"', "a\nb", "a\r\nb"),
    *("\t", ";", "=HYPERLINK(1)", "#", "[red]", "{}", "%s", "w" * 3000, "007", "1.0", "\ufeff"),
]
LABELS = ["0", "1", "2", "no", "yes", "perhaps"]
COMPRESSED = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda content: pyarrow.compress(content, codec="zstd", asbytes=True),
}
PIECES = [
    b'"',
    b'""',
    b",",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\t",
    b";",
]


def table(rng):
    """A table as text: names, mostly numbers, labels, and now and then something odd."""
    separator = pick(rng, [",", ",", ",", ",", "\t", ";"])
    odd = pick(rng, [0.0, 0.0, 0.02, 0.3])  # the share of odd cells
    names = list(dict.fromkeys([*rng.permutation(NAMES)[: rng.integers(1, 8)].tolist(), "y"]))
    for _ in range(pick(rng, [0, 0, 0, 1, 2])):
        names.insert(rng.integers(len(names) + 1), pick(rng, ODD_NAMES))
    labels = LABELS[: rng.integers(1, 4)] if rng.random() < 0.5 else LABELS[3 : rng.integers(4, 7)]
    rows = [names]
    for _ in range(pick(rng, [0, 1, 2, 12, 30])):
        row = [
            pick(rng, ODD_CELLS)
            if rng.random() < odd
            else pick(rng, labels if name == "y" else NUMBERS)
            for name in names
        ]
        if rng.random() < odd / 4:  # too short or too long
            row = row[: rng.integers(len(row) + 1)] if rng.random() < 0.5 else [*row, "1"]
        rows.append(row)
    end = pick(rng, ["\n", "\n", "\n", "\r\n", "\r"])
    return end.join(separator.join(quoted(cell, separator, rng) for cell in row) for row in rows)


def quoted(cell, separator, rng):
    needed = any(mark in cell for mark in (separator, '"', "\n", "\r"))
    if rng.random() < (0.97 if needed else 0.05):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def content(rng):
    """A table as bytes, in some encoding, and some of them changed."""
    text = table(rng) + pick(rng, ["\n", "\n", "", "\n\n", "\n,,,\n"])
    encoding = pick(rng, ["utf-8"] * 12 + ["utf-8-sig", "utf-16", "latin-1"])
    found = bytearray(text.encode(encoding, errors="replace"))
    for _ in range(pick(rng, [0, 0, 0, 0, 1, 3])):
        start, stop = np.sort(rng.integers(len(found) + 1, size=2))
        match rng.integers(4):
            case 0:
                found[start:start] = pick(rng, PIECES) * int(rng.integers(1, 4))
            case 1:
                del found[start : min(stop, start + 20)]
            case 2:
                found[start:start] = found[start : min(stop, start + 50)]
            case 3:
                del found[start:]
    if rng.random() < 0.01:  # a row that is longer than a block
        found += b"1" * (3 << 20) + b",1\n"
    return bytes(found)


def options(rng):
    """Options of a fit that takes little time."""
    words = ["--target", pick(rng, ["y"] * 9 + ODD_NAMES), "--features", rng.integers(1, 4)]
    words += ["--pool", pick(rng, ["columns", "columns", "stumps", "products", "pieces"])]
    extra = [
        *(("--one-hot", 50), ("--one-hot", 2), ("--holdout", "0.3")),
        *(("--drop", "a"), ("--include", "b"), ("--exclude", "b"), ("--swap",), ("--model-only",)),
        *(("--format", "tsv"), ("--budget", 2), ("--test", "table.csv"), ("--drop", "nothing")),
    ]
    for _ in range(pick(rng, [0, 1, 1, 2, 3])):
        words += pick(rng, extra)
    return words


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, with a model of the columns a and b, and one of a text."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, "yes", np.where(X[:, 1] > 0, "no", "perhaps"))
    ShareBoostClassifier(2).fit(pd.DataFrame(X, columns=["a", "b"]), y).save("numbers.json")
    clf = ShareBoostClassifier(2).fit(pd.DataFrame(X > 0, columns=["a=x", "a=1"]), y)
    clf.levels_in_ = [("a", "x"), ("a", "1")]
    clf.save("texts.json")
    return tmp_path


@pytest.mark.fuzz
def test_a_table_is_read_or_refused_in_one_line(here):
    def check(rng):
        rows = content(rng)
        (here / "table.csv").write_bytes(rows)
        words = ["fit", "table.csv", "--out", "m.json", "--force", *options(rng)]
        fitted = answer(words)
        assert (here / "m.json").exists() == (fitted.exit_code == 0)
        (here / "m.json").unlink(missing_ok=True)
        model = pick(rng, ["numbers.json", "numbers.json", "texts.json"])
        predicted = answer(["predict", model, "table.csv", "--proba"])
        same = answer(["predict", model, "-", "--proba"], stdin=rows)
        assert (same.exit_code, same.stdout) == (predicted.exit_code, predicted.stdout)
        return fitted.exit_code, predicted.exit_code

    outcomes = check_cases("csv", 60, check)
    # Tables are both read and refused, else the cases test nothing.
    assert {0, 2} == {code for code, _ in outcomes} == {code for _, code in outcomes}


@pytest.mark.fuzz
def test_a_compressed_table_is_read_as_the_plain_one_or_refused(here):
    def check(rng):
        rows = content(rng)
        compression = pick(rng, list(COMPRESSED))
        packed = bytearray(COMPRESSED[compression](rows))
        (here / "table.csv").write_bytes(rows)
        (here / f"table.csv.{compression}").write_bytes(packed)
        plain = answer(["predict", "numbers.json", "table.csv"])
        same = answer(["predict", "numbers.json", f"table.csv.{compression}"])
        assert (same.exit_code, same.stdout) == (plain.exit_code, plain.stdout)
        if rng.random() < 0.5:
            del packed[rng.integers(len(packed)) :]
        else:
            packed[rng.integers(len(packed))] ^= 1 << rng.integers(8)
        (here / f"table.csv.{compression}").write_bytes(packed)
        damaged = answer(["predict", "numbers.json", f"table.csv.{compression}"])
        return plain.exit_code, damaged.exit_code

    outcomes = check_cases("compressed csv", 80, check)
    assert {0, 2} == {code for code, _ in outcomes}
    assert 2 in {code for _, code in outcomes}
