"""The figures of docs/gpu.md: whole fits on one CUDA device, and the same on this processor.

    python benchmarks/gpu.py --device cuda --json gpu.json [NAME ...]
    python benchmarks/gpu.py --device numpy --json cpu.json [NAME ...]
    python benchmarks/gpu.py --table gpu.json cpu.json

The first two measure, one fit after the other, and add what they found to the file; the last
prints it as Markdown. Needs MNIST and Isolet (see shareboost.datasets.load_dataset).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from paper.provenance import stamp
from shareboost import ShareBoostClassifier
from shareboost.datasets import deform, load_dataset
from shareboost.pools import Pieces, Templates
from shareboost.selection.rules import Selector
from shareboost.solvers import Refit

Figures = dict[str, Any]
# The defaults when docs/gpu.json was measured, so that a rerun is of the same work.
FORMER: dict[str, Any] = {"rule": "gradient", "alpha": 3e-5, "margin": 1.0}
# How strongly images are deformed: the defaults of ``deform``.
DEFORMATION: dict[str, float] = {
    "elastic_sigma": 4.0,
    "elastic_alpha": 24.0,
    "rotation": 7.5,
    "scale": 0.08,
    "shear": 0.08,
}


def mnist_in_50_columns() -> Any:
    from sklearn.decomposition import PCA

    data = load_dataset("mnist")
    pca = PCA(50, random_state=0).fit(data.X_train / np.float32(255))
    return data._replace(
        X_train=pca.transform(data.X_train / np.float32(255)).astype(np.float32),
        X_test=pca.transform(data.X_test / np.float32(255)).astype(np.float32),
    )


class Work(NamedTuple):
    """A fit to measure."""

    title: str
    data: Callable[[], Any]
    classifier: Callable[[], ShareBoostClassifier]


def mnist_expanded() -> Any:
    """MNIST with five deformed copies of every training image."""
    data = load_dataset("mnist")
    more = deform(data.X_train, n_copies=5, random_state=0, **DEFORMATION)
    return data._replace(X_train=np.vstack([data.X_train, more]), y_train=np.tile(data.y_train, 6))


WORK = {
    "templates": Work(
        "MNIST, 60,000 images, 1000 x 16 templates, 266 rounds",
        lambda: load_dataset("mnist"),
        lambda: ShareBoostClassifier(266, pool=Templates(), **FORMER | {"alpha": 1e-4}),
    ),
    "expanded": Work(
        "the same with five deformed copies, 360,000 images, 305 rounds",
        mnist_expanded,
        lambda: ShareBoostClassifier(305, pool=Templates(), **FORMER | {"alpha": 1e-4}),
    ),
    "pieces": Work(
        "MNIST by PCA to 50, 52,500 pieces, 230 rounds",
        mnist_in_50_columns,
        lambda: ShareBoostClassifier(
            230,
            pool=Pieces(1500, 35),
            **FORMER | {"alpha": 2e-4, "refit_tol": 0.5, "tol": 1e-3},
        ),
    ),
    "products": Work(
        "Isolet, 190,036 products, 100 rounds",
        lambda: load_dataset("isolet"),
        lambda: ShareBoostClassifier(100, pool="products", **FORMER),
    ),
}


class Stopwatch:
    """Adds up the seconds of every call of a method; both ends wait for the device."""

    def __init__(self, owner: type, method: str):
        self.seconds = 0.0
        self.calls = 0
        original = getattr(owner, method)

        def timed(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return original(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - started
                self.calls += 1

        setattr(owner, method, timed)


SELECTION, REFIT = Stopwatch(Selector, "best"), Stopwatch(Refit, "__call__")


def measured(work: Work, device: str) -> Figures:
    """Return the figures of a fit; ``first`` has the seconds of another just before it.

    That one, of few rows and rounds, finds the kernels not yet compiled or loaded: with the
    device's own start, what a process pays once.
    """
    data, clf = work.data(), work.classifier()
    if device != "numpy":
        import torch

        clf.set_params(device=device)
    small = slice(None, None, 20)
    started = time.perf_counter()
    clone(clf).set_params(n_features=2).fit(data.X_train[small], data.y_train[small])
    first = time.perf_counter() - started
    for watch in (SELECTION, REFIT):
        watch.seconds = 0.0
    started = time.perf_counter()
    clf.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - started
    found = {
        "first": first,
        "seconds": seconds,
        "selection": SELECTION.seconds,
        "refit": REFIT.seconds,
        "loss": float(clf.path_.losses[-1]),
        "iterations": int(clf.n_iter_),
        "error": float(100 * np.mean(clf.predict(data.X_test) != data.y_test)),
    }
    if device.startswith("cuda"):
        found["memory"] = torch.cuda.max_memory_allocated() / 2**30
        torch.cuda.reset_peak_memory_stats()
    return found


def bandwidth(device: str) -> Figures:
    """Return the speed of a selection among 360,000 x 16,000 codes beside that of a copy."""
    import torch

    from shareboost.backends.torch import TorchBackend
    from shareboost.backends.torch.templates import DeviceImages, DeviceTemplates

    backend = TorchBackend(torch.device(device))
    form = DeviceTemplates.of(Templates(), backend)
    form.n_atoms_ = 16_000
    generator = torch.Generator(device).manual_seed(0)
    codes = torch.empty((16_000, 360_000), dtype=torch.int8, device=device)
    codes.random_(-128, 128, generator=generator)
    rows = torch.randn((10, 360_000), device=device, generator=generator)
    block = DeviceImages(codes, codes[:0])

    def seconds(task: Callable[[], Any], repeats: int = 20) -> float:
        for _ in range(3):
            task()
        times = []
        for _ in range(repeats):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            task()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / 1000)
        return float(np.median(times))

    of_selection = seconds(lambda: form.stats(block, rows, slice(0, 16_000)))
    of_copy = seconds(lambda: torch.empty_like(codes).copy_(codes))
    some = slice(0, 64)
    truth = rows.double().cpu() @ (codes[some].cpu().double() + 128.0).T
    wrong = (form.stats(block, rows, slice(0, 16_000))[0, :, some].cpu() - truth).abs().max()
    return {
        "seconds": of_selection,
        "read": codes.numel() / of_selection / 1e12,
        "copy": 2 * codes.numel() / of_copy / 1e12,  # read and written
        "wrong": float(wrong / truth.abs().max()),
    }


def machine(device: str) -> str:
    if device == "numpy":
        return f"{stamp()}, NumPy {np.__version__}"
    import torch

    return f"{stamp(device)}, torch {torch.__version__}"


def row(name: str, gpu: Figures, cpu: Figures) -> str:
    def shares(found: Figures) -> str:
        if not found:
            return ""
        rest = found["seconds"] - found["selection"] - found["refit"]
        parts = (rest, found["selection"], found["refit"])
        return " / ".join(f"{100 * part / found['seconds']:.0f}%" for part in parts)

    cells = [
        WORK[name].title,
        f"{gpu['seconds']:.1f}",
        shares(gpu),
        f"{gpu['first']:.1f}",
        f"{gpu['memory']:.1f} GiB" if "memory" in gpu else "",
        f"{cpu['seconds']:.0f}" if cpu else "",
        shares(cpu),
    ]
    return f"| {' | '.join(cells)} |"


def print_table(gpu: Figures, cpu: Figures) -> None:
    print(f"{gpu['machine']}; beside it {cpu['machine']}.\n")
    print(
        "| fit | seconds | features / selection / refit | once a process | memory "
        "| seconds on 2 cores | features / selection / refit |"
        "\n|---|---|---|---|---|---|---|"
    )
    for name in WORK:
        if name in gpu:
            print(row(name, gpu[name], cpu.get(name, {})))
    if "bandwidth" in gpu:
        own = gpu["bandwidth"]
        print(
            f"\nA selection among 360,000 x 16,000 codes takes {1000 * own['seconds']:.2f} ms: "
            f"{own['read']:.2f} TB/s are read, {100 * own['read'] / own['copy']:.0f}% of the "
            f"{own['copy']:.2f} TB/s that a copy reads and writes."
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(WORK)}, bandwidth")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=1, help="fits of each, the last is kept")
    parser.add_argument("--table", nargs=2, type=Path)
    options = parser.parse_args()
    if options.table:
        print_table(*(json.loads(file.read_text()) for file in options.table))
        sys.exit()
    every = [*WORK, *(["bandwidth"] if options.device.startswith("cuda") else [])]
    for name in options.names or every:
        for _ in range(options.repeats):
            if name == "bandwidth":
                found = bandwidth(options.device)
            else:
                found = measured(WORK[name], options.device)
            print(name, json.dumps(found), flush=True)
        if options.json:
            known = json.loads(options.json.read_text()) if options.json.exists() else {}
            known |= {"machine": machine(options.device), name: found}
            options.json.write_text(json.dumps(known, indent=1) + "\n")
