"""Where an experiment runs: its data, its device, and the parts that were measured already."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from shareboost import __version__
from shareboost.datasets import Dataset, load_dataset
from shareboost.inputs import on_host

from .provenance import CHANGED, changed_since, machine, revision

Record = dict[str, Any]


@dataclass
class Lab:
    """The settings of an experiment and a file of what it has measured so far.

    An experiment measures in parts, each of minutes and independent of the others. A part
    that is in the file is not measured again: an interrupted experiment goes on where it
    ended, and parts may be measured on different machines.

    Attributes
    ----------
    name : str
        Of the experiment.
    folder : Path
        Where everything is written.
    quick : bool
        Whether samples suffice.
    device : str or None
        For ShareBoost and networks, as in ``ShareBoostClassifier``.
    data : Path or None
        Folder of the data sets; None leaves it to ``load_dataset``.
    say : callable
        Shows a line of progress.
    """

    name: str
    folder: Path
    quick: bool = False
    device: str | None = None
    data: Path | None = None
    say: Callable[[str], None] = lambda line: None
    records: dict[str, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.records.update(self._kept())
        self._revision = revision()  # of the code that was imported, whatever happens later
        self._asked: set[str] = set()

    @property
    def file(self) -> Path:
        """The parts measured so far."""
        return self.folder / f"{self.name}.json"

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of whatever is drawn at random, for a mean and a spread."""
        return (0,) if self.quick else (0, 1, 2)

    def load(self, name: str) -> Dataset:
        """Return a data set, from ``data`` where that is given."""
        try:
            return load_dataset(name, self.data)
        except URLError as error:
            raise OSError(
                f"{name}.npz is in no folder that was named (--data, $SHAREBOOST_DATA), and "
                f"OpenML cannot be reached: {error.reason}."
            ) from None

    def place(self, X: Any) -> Any:
        """Return rows on the device, so that models predict there."""
        if self.device is None:
            return X
        import torch

        return torch.as_tensor(X, device=self.device)

    def fetch(self, found: Any) -> NDArray[Any]:
        """Return predictions on the host."""
        return np.asarray(on_host(found))

    def part(self, key: str, measure: Callable[[], Any], settings: Any = None) -> Any:
        """Return what ``measure`` returns, or has returned: numbers and texts, fit for JSON.

        What was measured with other settings, whatever tells them apart when printed, is
        measured again.
        """
        self._asked.add(key)
        record = self.records.get(key)
        asked = None if settings is None else repr(settings)
        if record is None or record["settings"] != asked:
            self.say(key if record is None else f"{key} (again: its settings have changed)")
            started = time.perf_counter()
            with _kept_warnings() as told:
                value = measure()
            self.records[key] = {
                "value": json.loads(json.dumps(value)),  # what the next run will read
                "settings": asked,
                "warnings": told,
                "seconds": round(time.perf_counter() - started, 1),
                "machine": machine(self.device),
                "device": self.device,
                "version": __version__,
                "revision": self._revision,
                "date": f"{datetime.now(UTC):%Y-%m-%d}",
            }
            self._save(key)
        return self.records[key]["value"]

    def machines(self, start: str) -> set[str]:
        """Return the machines that measured the parts whose keys start so."""
        return {record["machine"] for key, record in self.records.items() if key.startswith(start)}

    def measures_slow(self, key: str) -> bool:
        """Return whether a part that takes hours without a GPU is measured now, or was before."""
        on_gpu = self.device is not None and self.device.startswith("cuda")
        return self.quick or on_gpu or key in self.records

    def device_of(self, key: str) -> str | None:
        """Return where a part is measured, or was measured if this machine has no device."""
        return self.device or self.records.get(key, {}).get("device")

    def stale(self) -> list[str]:
        """Return what was measured with other code than this, a line for each revision."""
        lines = []
        counts = Counter(revision_of(record) for record in self.records.values())
        for measured, n in counts.items():
            which = f"{n} of {len(self.records)} parts were measured at "
            if measured is None:
                lines.append(f"{which}a revision that is not known")
                continue
            if measured.endswith(CHANGED):
                lines.append(f"{which}{measured}, with changes that were not committed")
                continue
            try:
                files = changed_since(measured)
            except ValueError as error:
                lines.append(f"{which}{measured}: {error}")
                continue
            if files:
                lines.append(f"{which}{measured}; {len(files)} files of the library differ since")
        return lines

    def forget_others(self) -> None:
        """Drop the parts that nobody has asked for: those of methods that are gone."""
        self.records = {key: self.records[key] for key in self.records if key in self._asked}
        self._write(self.records)

    def _kept(self) -> dict[str, Record]:
        """Return the parts in the file."""
        if not self.file.exists():
            return {}
        try:
            kept = json.loads(self.file.read_text())
            parts, quick = kept["parts"], kept["quick"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{self.file} cannot be read as the parts of an experiment ({error}): --fresh "
                "measures all again."
            ) from None
        if quick != self.quick:
            is_, asked = ("a quick run", "a full one")[:: 1 if quick else -1]
            raise FileExistsError(
                f"{self.file} is of {is_} and {asked} was asked for: take another --out, or "
                "--fresh to measure all again."
            )
        return dict(parts)

    def _save(self, key: str) -> None:
        """Add a part to the file, which another process may have written to meanwhile."""
        self._write({**self._kept(), key: self.records[key]})

    def _write(self, parts: dict[str, Record]) -> None:
        """Write the file of parts."""
        lines = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in parts.items()]
        text = ",\n".join(lines)  # a line a part
        new = self.file.with_suffix(f".{os.getpid()}.new")
        new.write_text(f'{{"quick": {json.dumps(self.quick)}, "parts": {{\n{text}\n}}}}\n')
        new.replace(self.file)


def revision_of(record: Record) -> str | None:
    """Return the revision that a part was measured at, or else the one it was committed with."""
    found: str | None = record.get("revision") or record.get("committed_with")
    return found


@contextmanager
def _kept_warnings() -> Iterator[list[str]]:
    """Keep what solvers say of searches that ended early, for the text; show other warnings."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        try:
            yield told
        finally:
            told += [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    for w in caught:
        if not issubclass(w.category, ConvergenceWarning):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
