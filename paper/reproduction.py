"""Run an experiment and write what it found."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from .experiment import Experiment, Row
from .lab import Lab
from .page import text_of, write_page

# In the order of the paper.
NAMES = ("examples", "guarantee", "sharing", "mixed-norm", "jointboost", "mnist", "pieces")


class Written(NamedTuple):
    """The files of an experiment."""

    parts: Path
    points: Path
    figures: list[Path]
    text: Path
    page: Path

    def __str__(self) -> str:
        files = (self.parts, self.points, *self.figures, self.text, self.page)
        return ", ".join(file.name for file in files)


def experiment(name: str) -> Experiment:
    """Return an experiment by its name; it is imported only now."""
    if name not in NAMES:
        raise ValueError(f"name={name!r} is not an experiment: it takes one of {NAMES}.")
    module = import_module(f".{name.replace('-', '_')}", __package__)
    found: Experiment = module.EXPERIMENT
    return found


def reproduce(
    name: str,
    folder: str | Path = "reproduced",
    *,
    quick: bool = False,
    device: str | None = None,
    data: str | Path | None = None,
    fresh: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Written:
    """Run one of the paper's experiments and write figures, points and a text.

    Parameters
    ----------
    name : str
        One of ``NAMES``.
    folder : path, default="reproduced"
        Where ``NAME*.png``, ``NAME.csv``, ``NAME.md`` and ``NAME.json`` are written, and
        ``README.md``, one page of all experiments in the folder. What was measured is in
        ``NAME.json``; its parts are not measured again.
    quick : bool, default=False
        On samples, within two minutes. The figures then tell that it works, not more.
    device : str, optional
        For ShareBoost and the networks, as in ``ShareBoostClassifier``.
    data : path, optional
        Folder of the data sets, else ``load_dataset`` looks where it always does.
    fresh : bool, default=False
        Forget what an earlier run has measured.
    say : callable, optional
        Gets a line for every part that begins.

    Returns
    -------
    Written
        The files.
    """
    found = experiment(name)
    folder, data = Path(folder), None if data is None else Path(data)
    if data is not None and not data.is_dir():
        raise FileNotFoundError(f"data={str(data)!r} is not a folder.")
    _check_tools(found.needs, found.programs, device)
    if fresh:
        (folder / f"{name}.json").unlink(missing_ok=True)
    lab = Lab(name, folder, quick, device, data, say)
    rows = found.measure(lab)
    lab.forget_others()
    for line in lab.stale():
        say(f"{line}. --fresh measures all again.")
    written = Written(
        parts=lab.file,
        points=folder / f"{name}.csv",
        figures=[],
        text=folder / f"{name}.md",
        page=folder / "README.md",
    )
    _write_points(written.points, rows)
    for part, figure in found.draw(lab, rows).items():
        written.figures.append(folder / f"{part}.png")
        figure.savefig(written.figures[-1])
    written.text.write_text(text_of(lab, found, rows, [file.name for file in written.figures]))
    write_page(written.page, NAMES)
    return written


def _check_tools(needs: Iterable[str], programs: Iterable[str], device: str | None) -> None:
    """Raise now what would end a long run at its first figure or fit."""
    for program in programs:
        if shutil.which(program) is None:
            raise OSError(f"This needs the program {program}, which is not installed.")
    for package in (*needs, *(() if device is None else ("torch",))):
        try:
            import_module(package)
        except ImportError as error:
            raise ImportError(
                f"This needs {package}: pip install 'shareboost[paper]' ({error})."
            ) from None
    if device is not None:
        import torch

        try:
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(f"device={device!r} cannot be used: {error}") from None


def _write_points(file: Path, rows: list[Row]) -> None:
    """Write rows, whose keys may differ, as CSV, without their lists."""
    fields = list(
        dict.fromkeys(key for row in rows for key, v in row.items() if not isinstance(v, list))
    )
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fields, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
