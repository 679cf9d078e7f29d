"""What a stranger meets first: the import, the README, the version."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import shareboost

ROOT = Path(__file__).resolve().parents[1]


def python(code, folder=None):
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return run.stdout


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
        "docs/pools.md",
        "docs/choosing.md",
        "docs/rivals.md",
        "docs/model-file.md",
        "docs/plots.md",
        "docs/report.md",
    ],
)
def test_the_python_of_the_pages_runs(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S)
    assert blocks
    python("\n".join(blocks), tmp_path)


def test_all_public_names_are_there():
    for name in shareboost.__all__:
        assert getattr(shareboost, name)


def test_names_are_imported_when_they_are_asked_for():
    code = "import sys, shareboost; print(*sys.modules)"
    assert not {"numpy", "sklearn"} & set(python(code).split())
    assert set(shareboost.__all__) <= set(dir(shareboost))
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        _ = shareboost.Forest
