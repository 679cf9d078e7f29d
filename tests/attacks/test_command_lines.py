"""Whatever words the command is given, it does its work or ends with one line and exit code 2."""

import gzip

import numpy as np
import pandas as pd
import pytest
from attacks.cases import check_cases, pick
from attacks.promises import answer
from mutated_files import changed_bytes, mutated
from sklearn.datasets import dump_svmlight_file

from shareboost import ShareBoostClassifier

ODD_TEXTS = [
    *("", " ", "-", "--", "---", ".", "..", "/", "~", "x/y", "a b", "a,b", "%s", "{}", "[red]x[/]"),
    *("-1", "0", "nan", "inf", "1e309", "0x10", "1_000", "9" * 30, "é", "\udcff", "\n", "\x1b[2J"),
    *("--out", "--help", "-h", "n" * 300, "w" * 5000, "None", "True", "@words", "$HOME", "*", "'"),
]
CHANGED = ["changed.npz", "changed.parquet", "changed.svm", "changed.tsv"]
MODELS = ["m.json", "m.json", "m.json", "alone.json", "nameless.json", "changed.json", "t.csv"]
TABLES = [
    *("t.csv", "t.csv", "t.csv", "t.tsv", "t.parquet", "t.npz", "t.svm", "t.csv.gz", "t.data"),
    *("m.json", "missing.csv", "folder", "empty.csv", "-"),
    *CHANGED,
]
OUTPUTS = ["new", "new", "new", "-", "folder", "folder/new", "missing/new", "t.csv"]
COUNTS = ["1", "2", "3", "0", "-1", "2.5"]
SHARES = ["0.3", "0.5", "0", "1", "-1", "2", "1e-9"]
FORMATS = ["csv", "tsv", "parquet", "npz", "svmlight", "xml"]
# The arguments of each command, and its options with values that make sense or nearly so.
COMMANDS = {
    "fit": (
        [TABLES],
        {
            "--target": ["y", "y", "y", "a", "missing"],
            "--features": COUNTS,
            "--out": OUTPUTS,
            "--pool": ["columns", "stumps", "products", "pieces", "templates", "trees"],
            "--image-shape": ["2x2", "1x4", "2x2x1", "2x", "2x2x2x2", "0x4"],
            "--test": TABLES,
            "--holdout": SHARES,
            "--costs": ["costs.csv", "t.csv", "m.json", "missing.csv", "folder"],
            "--budget": ["1", "3", "0", "-1", "nan", "inf"],
            "--include": ["a", "b", "y", "x1", "missing"],
            "--exclude": ["a", "b", "y", "x1", "missing"],
            "--drop": ["a", "text", "y", "missing"],
            "--one-hot": ["1", "50", "0"],
            "--seed": ["0", "7", "-1", "4294967296"],
            "--format": FORMATS,
            **dict.fromkeys(["--swap", "--model-only", "--force"]),
        },
    ),
    "predict": (
        [MODELS, TABLES],
        {
            "--out": OUTPUTS,
            "--format": FORMATS,
            **dict.fromkeys(["--proba", "--safe-csv", "--force"]),
        },
    ),
    "path": ([MODELS], {"--csv": None, "--safe-csv": None}),
    "explain": ([MODELS], {"--top": COUNTS}),
    "export": (
        [MODELS],
        {"--to": ["c", "js", "onnx", "java"], "--out": OUTPUTS, "--force": None},
    ),
    "report": (
        [MODELS],
        {
            "--data": TABLES,
            "--target": ["y", "y", "y", "a", "missing"],
            "--out": OUTPUTS,
            "--json": OUTPUTS,
            "--title": ["A title", "<script>"],
            "--format": FORMATS,
            "--force": None,
        },
    ),
    "demo": ([], {"--features": ["0", "-1", "x"], "--out": ["missing/new", "folder"]}),
    "nothing": ([], {"--out": OUTPUTS}),
}
NEEDED = {"fit": ["--target", "--out"], "export": ["--to", "--out"], "report": ["--data", "--out"]}


def command_line(rng):
    """Words for one of the commands: mostly those that it takes, some missing, odd or moved."""
    name = pick(rng, ["fit", "fit", "fit", "predict", "predict", *COMMANDS])
    arguments, options = COMMANDS[name]
    chosen = list(NEEDED.get(name, [])) if rng.random() < 0.9 else []
    chosen += [pick(rng, list(options)) for _ in range(pick(rng, [0, 1, 2, 4]))]
    words = [pick(rng, values) for values in arguments]
    for option in chosen:
        words += [option] if options[option] is None else [option, pick(rng, options[option])]
    for _ in range(pick(rng, [0, 0, 0, 1, 2])):
        place = rng.integers(len(words) + 1)
        match rng.integers(5):
            case 0:
                words.insert(place, pick(rng, ODD_TEXTS))
            case 1 if words:
                words[place % len(words)] = pick(rng, ODD_TEXTS)
            case 2:
                del words[place : place + 1]
            case 3:
                words[place:place] = words[place : place + 2]
            case 4:
                words = [str(word) for word in rng.permutation(words)]
    # What takes long is not tried.
    if name == "demo" and not set(words) & {"missing", "missing/new", "folder"}:
        words += ["--nothing"]
    return [name, *words]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The content of each file that words may name."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(24, 4)), 2)
    y = np.where(X[:, 0] > 0, "yes", np.where(X[:, 1] > 0, "no", "perhaps"))
    frame = pd.DataFrame(X, columns=[*"abcd"]).assign(y=y)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.data", index=False)
    frame.assign(text=pick(rng, ["u", "v"])).to_csv(folder / "t.tsv", sep="\t", index=False)
    frame.to_parquet(folder / "t.parquet")
    np.savez(folder / "t.npz", X=X, y=y)
    dump_svmlight_file(X, (X[:, 0] > 0) + 1, str(folder / "t.svm"))
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    (folder / "costs.csv").write_text("a,1\nb,2\nc,1.5\nd,1\n")
    (folder / "empty.csv").write_text("")
    clf = ShareBoostClassifier(2).fit(frame[[*"abcd"]], y)
    clf.save(folder / "m.json", whole_path=True)
    clf.save(folder / "alone.json")
    ShareBoostClassifier(2).fit(X, y).save(folder / "nameless.json", whole_path=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.fuzz
def test_a_command_line_does_its_work_or_is_refused_in_one_line(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)

    def check(rng):
        (tmp_path / "changed.json").write_bytes(mutated(rng))
        for name in CHANGED:
            content = bytearray(files[f"t.{name.partition('.')[2]}"])
            (tmp_path / name).write_bytes(changed_bytes(content, rng))
        words = command_line(rng)
        stdin = pick(rng, [files["t.csv"], files["m.json"], b"", b"\xff\0"])
        found = answer(words, stdin=stdin)
        # A refused command writes nothing; what it wrote is removed, and what it replaced restored.
        for path in (tmp_path / "folder", tmp_path):
            for child in path.iterdir():
                if child.is_file() and child.name not in (*files, "changed.json", *CHANGED):
                    assert found.exit_code == 0, f"{words} wrote {child.name}: {found.stderr}"
                    child.unlink()
        for name, content in files.items():
            if "--force" not in words:
                assert (tmp_path / name).read_bytes() == content, f"{words} changed {name}"
            (tmp_path / name).write_bytes(content)
        return words[0], found.exit_code

    outcomes = set(check_cases("command lines", 100, check))
    # Every command that is tried in full both works and is refused, else the cases test nothing.
    assert outcomes >= {(name, code) for name in ("fit", "predict", "export") for code in (0, 2)}
