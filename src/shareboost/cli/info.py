"""``shareboost info``: versions, threads and devices."""

from __future__ import annotations

import os
import platform
from importlib import metadata, util

from .app import app

LIBRARIES = (
    *("numpy", "scipy", "scikit-learn", "numba", "rich", "typer"),
    *("pandas", "polars", "pyarrow", "torch", "dask", "onnx", "matplotlib"),  # of extras
)


@app.command()
def info() -> None:
    """Show versions, threads and devices: what to send along with a question."""
    from .. import __version__
    from ..threads import blas

    with blas.single_threaded() as n_threads:
        threads = f"{n_threads} of {os.cpu_count()} processors"
    lines = [
        ("shareboost", __version__),
        ("Python", f"{platform.python_version()} on {platform.platform()}"),
        *((name, _version(name)) for name in LIBRARIES),
        ("threads", threads),
        ("devices", ", ".join(_devices())),
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
