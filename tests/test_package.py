"""What a stranger meets first: the import, the README, the version."""

import multiprocessing
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import shareboost

ROOT = Path(__file__).resolve().parents[1]
END = "-- end of a block --"
NUMBER = r"\d+(\.\d+)?"


def python(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def run_script():
    """Run code as a program of its own, forked from a process that has imported the libraries."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(
        ["matplotlib.pyplot", "numba", "sklearn.datasets", "sklearn.model_selection", "shareboost"]
    )

    def run(code, folder):
        printed, errors = folder / "printed.txt", folder / "errors.txt"
        start = (
            "import os, sys\n"
            f"os.chdir({str(folder)!r})\n"
            f"sys.stdout, sys.stderr = open({str(printed)!r}, 'w'), open({str(errors)!r}, 'w')\n"
        )
        process = context.Process(target=exec, args=(start + code, {"__name__": "__main__"}))
        process.start()
        process.join()
        assert process.exitcode == 0, errors.read_text()
        return printed.read_text()

    return run


def test_import_brings_in_nothing_heavy():
    code = """
import sys, sklearn.callback
before = set(sys.modules)
from shareboost import *
print(*{name.split(".")[0] for name in set(sys.modules) - before})
"""
    assert set(python(code).split()) <= {"shareboost", "sklearn"}


def test_import_leaves_clustering_and_compiling_for_when_they_are_needed():
    code = (
        "import sys, shareboost.pools, shareboost.datasets, shareboost.rivals; print(*sys.modules)"
    )
    assert not {"numba", "sklearn.cluster"} & set(python(code).split())


def test_the_version_is_the_installed_one_and_in_the_change_log():
    assert shareboost.__version__ == version("shareboost")
    assert f"## {shareboost.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/choosing.md",
        "docs/how-to/images.md",
        "docs/how-to/number-of-features.md",
        "docs/how-to/read-the-report.md",
        "docs/how-to/scikit-learn.md",
        "docs/how-to/sensors.md",
        "docs/how-to/ship-to-c.md",
        "docs/index.md",
        "docs/model-file.md",
        "docs/plots.md",
        "docs/pools.md",
        "docs/report.md",
        "docs/rivals.md",
        "docs/tutorial.md",
    ],
)
def test_the_python_of_the_pages_runs_and_prints_what_they_show(page, run_script, tmp_path):
    """A block of text right after one of Python is what that prints."""
    text = (ROOT / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, flags=re.S)
    assert blocks
    code = [f"{block}\nprint({END!r})" for block, _ in blocks]
    printed = run_script("\n".join(code), tmp_path).split(END)
    for (block, shown), found in zip(blocks, printed[:-1], strict=True):
        assert not shown or words(found) == [nearly(word) for word in words(shown)], block


def words(text):
    """Return the words of a text, numbers as such."""
    return [float(word) if re.fullmatch(NUMBER, word) else word for word in text.split()]


def nearly(word):
    """Return what equals the word, of a number also those that rounding might make of it."""
    return word if isinstance(word, str) else pytest.approx(word, rel=0.03, abs=0.02)


def test_all_public_names_are_there():
    for name in shareboost.__all__:
        assert getattr(shareboost, name)


def test_names_are_imported_when_they_are_asked_for():
    code = "import sys, shareboost; print(*sys.modules)"
    assert not {"numpy", "sklearn"} & set(python(code).split())
    assert set(shareboost.__all__) <= set(dir(shareboost))
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        _ = shareboost.Forest


def test_the_oldest_versions_tested_are_the_oldest_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["command"]
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name, oldest in (entry.split(">=") for entry in needed):
        assert re.fullmatch(rf"{re.escape(oldest)}(\.0)*", tested[name]), name
