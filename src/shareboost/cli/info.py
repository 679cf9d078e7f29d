"""``shareboost info``: versions, threads, devices, and which extras are installed."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata, util

from .app import app
from .options import Debug

NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "rich", "typer")
TOLD = ("pandas", "polars", "pyarrow", "torch", "onnx", "matplotlib")


@app.command()
def info(debug: Debug = False) -> None:
    """Show versions, threads, devices and extras: what to send along with a question."""
    from .. import __version__

    lines = [
        ("shareboost", __version__),
        ("Python", f"{platform.python_version()} on {platform.platform()}"),
        *((name, _version(name)) for name in NEEDED),
        *((name, _version(name)) for name in TOLD),
        ("threads", _threads()),
        ("devices", ", ".join(_devices())),
        *((f"extra {name}", state) for name, state in _extras().items()),
    ]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name.ljust(width)}  {value}")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _threads() -> str:
    from ..threads import single_threaded_blas

    with single_threaded_blas as n_threads:
        return f"{n_threads} of {os.cpu_count()} processors"


def _devices() -> list[str]:
    """Return the places where a fit can compute."""
    found = ["NumPy"]
    if util.find_spec("torch") is None:
        return found
    import torch

    found.append("cpu")
    for i in range(torch.cuda.device_count()):
        found.append(f"cuda:{i} ({torch.cuda.get_device_name(i)})")
    return found


def _extras() -> dict[str, str]:
    """Return which extras of the installed package are there, and what others lack."""
    try:
        requirements = metadata.requires("shareboost") or []
    except metadata.PackageNotFoundError:
        return {}
    wanted: dict[str, list[str]] = {}
    for requirement in requirements:
        if found := re.match(r"([\w.-]+).*;\s*extra\s*==\s*['\"]([\w-]+)['\"]", requirement):
            wanted.setdefault(found[2], []).append(found[1])
    missing = {
        extra: [name for name in names if _version(name) == "not installed"]
        for extra, names in wanted.items()
    }
    return {
        extra: f"lacks {', '.join(names)}" if names else "installed"
        for extra, names in sorted(missing.items())
    }
