"""``shareboost info``: versions, threads, devices, and which extras are installed."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata, util

from .app import app

NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "rich", "typer")
OTHERS = ("pandas", "polars", "pyarrow", "torch", "onnx", "matplotlib")


@app.command()
def info() -> None:
    """Show versions, threads, devices and extras: what to send along with a question."""
    from .. import __version__
    from ..threads import blas

    with blas.single_threaded() as n_threads:
        threads = f"{n_threads} of {os.cpu_count()} processors"
    lines = [
        ("shareboost", __version__),
        ("Python", f"{platform.python_version()} on {platform.platform()}"),
        *((name, _version(name)) for name in (*NEEDED, *OTHERS)),
        ("threads", threads),
        ("devices", ", ".join(_devices())),
        *_extras(),
    ]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name.ljust(width)}  {value}")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _devices() -> list[str]:
    """Return where a fit can compute."""
    if util.find_spec("torch") is None:
        return ["NumPy"]
    from torch import cuda

    gpus = [f"cuda:{i} ({cuda.get_device_name(i)})" for i in range(cuda.device_count())]
    return ["NumPy", "cpu", *gpus]


def _extras() -> list[tuple[str, str]]:
    """Return which extras of the installed package are there, and what others lack."""
    try:
        requirements = metadata.requires("shareboost") or []
    except metadata.PackageNotFoundError:
        return []
    missing: dict[str, list[str]] = {}
    for requirement in requirements:
        if match := re.match(r"([\w.-]+).*;\s*extra\s*==\s*['\"]([\w-]+)['\"]", requirement):
            lacks = missing.setdefault(match[2], [])
            lacks += [match[1]] if _version(match[1]) == "not installed" else []
    return [
        (f"extra {extra}", f"lacks {', '.join(names)}" if names else "installed")
        for extra, names in sorted(missing.items())
    ]
