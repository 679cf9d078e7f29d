"""On which machine and with which code something was measured."""

from __future__ import annotations

import ast
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import shareboost

# The package, and what measures it.
_FOLDERS = Path(shareboost.__file__).resolve().parent, Path(__file__).resolve().parent
CHANGED = "+"  # behind a revision whose files had been changed


def processor() -> str:
    """Return the name of the processor."""
    known = Path("/proc/cpuinfo")
    if known.exists():
        for line in known.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine(device: str | None) -> str:
    """Return this machine in words."""
    words = f"{os.cpu_count()} cores {processor()}"
    if device is not None and device.startswith("cuda"):
        import torch

        words += f", {torch.cuda.get_device_name(device)}"
    return words


def revision() -> str | None:
    """Return the commit of this checkout, with a plus where the package differs from it.

    None where the package was not installed from a checkout.
    """
    commit = _git("rev-parse", "--short", "HEAD")
    if commit is None or _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    return commit + CHANGED * bool(_git("status", "--porcelain", "--", *map(str, _FOLDERS)))


def stamp(device: str | None = None) -> str:
    """Return where, with which code and when something is measured, for the text beside it."""
    return f"{machine(device)}, revision {revision()}, {datetime.now(UTC):%Y-%m-%d}"


def changed_since(measured: str) -> list[str]:
    """Return the files of the package that compute otherwise than those of a revision.

    Neither a new name, nor what is imported, nor comments and docstrings make a file another.

    Raises
    ------
    ValueError
        If this is no checkout, or one without that revision.
    """
    revision = measured.removesuffix(CHANGED)
    root = _git("rev-parse", "--show-toplevel")
    told = _git("diff", "-M", "--name-status", revision, "--", *map(str, _FOLDERS))
    if root is None or told is None:
        raise ValueError(f"There is no revision {measured} here to compare with.")
    files = []
    for line in told.splitlines():
        status, *names = line.split("\t")  # of a renamed file the former name first
        if status[0] in "MR" and names[-1].endswith(".py"):
            before = _git("show", f"{revision}:{names[0]}")
            if before is not None and _computed(before) == _computed(
                Path(root, names[-1]).read_text()
            ):
                continue
        files.append(names[-1])
    return files


def _computed(source: str) -> str:
    """Return a module without imports, docstrings and comments."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [part for part in body if not _says_nothing(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _says_nothing(node: ast.AST) -> bool:
    """Return whether a statement is an import or a docstring."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.Import | ast.ImportFrom)


def _git(*command: str) -> str | None:
    """Return what git says of the package's folder, None where it fails."""
    try:
        run = subprocess.run(
            ["git", "-C", str(_FOLDERS[0]), *command], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:  # no git
        return None
    return run.stdout.strip() if run.returncode == 0 else None
