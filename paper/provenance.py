"""On which machine and with which code something was measured."""

from __future__ import annotations

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
    """Return the files of the package that differ from those of a revision.

    Raises
    ------
    ValueError
        If this is no checkout, or one without that revision.
    """
    names = _git("diff", "--name-only", measured.removesuffix(CHANGED), "--", *map(str, _FOLDERS))
    if names is None:
        raise ValueError(f"There is no revision {measured} here to compare with.")
    return names.splitlines()


def _git(*command: str) -> str | None:
    """Return what git says of the package's folder, None where it fails."""
    try:
        run = subprocess.run(
            ["git", "-C", str(_FOLDERS[0]), *command], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:  # no git
        return None
    return run.stdout.strip() if run.returncode == 0 else None
