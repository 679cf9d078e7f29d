"""The file that keeps the finished rounds of a run, so that a later one can go on from them.

It has the format of a model file. Instead of what a model needs beside its path it holds ``run``, a
digest of each thing that the run depends on, and ``atoms``, the ids of the features, which the pool
makes again.
"""

from __future__ import annotations

import math
import os
import zlib
from contextlib import suppress

import numpy as np

from ..path import Path, PathOfOne
from ..pools.base import Pool
from .fields import Fields
from .files import check_target, whole_file
from .paths import digests_from_plain, path_from_plain, path_to_plain
from .text import (
    FLOATS,
    INTEGERS,
    ModelFormatError,
    array_to_plain,
    first_line,
    from_bytes,
    to_bytes,
)

FORMAT = "shareboost checkpoint"
KEYS = ("written_by", "run", "atoms", "centers", "scales", "path")
START = first_line(FORMAT, 0).partition(b",")[0]  # of every checkpoint, whatever its version


class Checkpoint:
    """The finished rounds of a run, in one file that is replaced atomically after every round.

    Whenever the process or the machine stops, the file is the one of some finished round,
    whole. A file of a run with other data or parameters is refused, also one that came up
    meanwhile. Two runs of the same data and parameters that both went on from one file never tear
    it: the last to save wins. ``identity`` has the digest of each thing that the run depends on.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, str]):
        self.name = f"checkpoint={os.fspath(path)!r}"
        # Whatever folder is the current one later; a link is followed.
        self._file = os.path.realpath(check_target(path, overwrite=True))
        self._run = identity
        self._accepted: tuple[int, ...] | None = None  # of the file that may be replaced
        self._saved = self._read()
        with suppress(InterruptedError), whole_file(self._file, overwrite=True):
            raise InterruptedError  # only to see, before any round, that a file can be written

    def path(self, pool: Pool, n_classes: int, resolved: dict[str, str]) -> Path | None:
        """Return the path saved last, among the atoms of the pool; None where there is none.

        ``resolved`` are digests of what only a fitted pool can tell, by argument.
        """
        self._run = self._run | resolved
        saved, self._saved = self._saved, None
        if saved is None:
            return None
        self._check_run(saved["run"])
        try:
            return _path_of(saved, pool, n_classes)
        except ModelFormatError as error:
            raise self._unreadable(error) from None

    def save(self, path: Path) -> None:
        """Put the path on disk, all of it or nothing; once it returns it is there.

        Raises ValueError for a file that this run has neither read nor written, and OSError where
        none can be written. What is there stays.
        """
        from .. import __version__

        document = {
            "written_by": f"shareboost {__version__}",
            "run": self._run,
            "atoms": array_to_plain(path.features.ids, INTEGERS),
            "centers": array_to_plain(path.centers, FLOATS),
            "scales": array_to_plain(path.scales, FLOATS),
            "path": path_to_plain(path),
        }
        content = to_bytes(document, FORMAT)
        there = os.path.exists(self._file)
        if there and self._accepted is None:
            raise ValueError(
                f"{self.name} came up while this run was under way, and is not overwritten: give "
                "every run a path of its own."
            )
        if there and _stamp(os.stat(self._file)) != self._accepted:
            # Perhaps only a file system whose stamps do not last: what it holds decides.
            self._read()
        with whole_file(self._file, overwrite=True) as file:
            file.write(content)
            file.flush()
            # Before it has its name, so that an interrupt finds no file unknown to us.
            self._accepted = _stamp(os.fstat(file.fileno()))

    def _read(self) -> Fields | None:
        """Return what is in the file if it is this run's, None where there is no file."""
        try:
            file = open(self._file, "rb")  # noqa: SIM115 - only a missing file means None
        except FileNotFoundError:
            return None
        with file:
            # Not the whole of a file that is something else, however large.
            if (start := file.read(len(START))) != START:
                told = f"{self.name} is not a checkpoint of shareboost"
                raise ValueError(f"{told}: give another path, or delete the file.")
            content = start + file.read()
            stamp = _stamp(os.fstat(file.fileno()))
        try:
            fields = Fields(from_bytes(content, FORMAT), "", KEYS)
            first, _, rest = content.partition(b"\n")
            if first + b"\n" != first_line(FORMAT, zlib.crc32(rest)):
                raise ModelFormatError("its first line was changed")
            run = digests_from_plain(fields["run"], "run")
        except ModelFormatError as error:
            raise self._unreadable(error) from None
        # The others are known once the pool is fitted.
        self._check_run({name: run[name] for name in run if name in self._run})
        self._accepted = stamp
        return fields

    def _unreadable(self, error: ModelFormatError) -> ValueError:
        told = f"{self.name} cannot be read: {error}. Give another path, or delete the file."
        return ValueError(told)

    def _check_run(self, run: dict[str, str]) -> None:
        """Raise where a file's run is another, and name what differs."""
        names = dict.fromkeys([*self._run, *run])
        if other := [name for name in names if self._run.get(name) != run.get(name)]:
            raise ValueError(
                f"{self.name} is not this run's: it was written by a run with other "
                f"{', '.join(other)}. Give the same data and parameters, another path, or "
                "delete the file."
            )


def _path_of(fields: Fields, pool: Pool, n_classes: int) -> Path:
    """Return the path in a file, among the atoms of a pool fitted as then."""
    ids = fields.integers("atoms", None, 0, pool.n_atoms_ - 1, math.inf, distinct=True)
    features = pool.features(ids)
    path = path_from_plain(
        fields["path"],
        features,
        n_classes,
        limited=False,
        centers=fields.floats("centers", (features.n_columns,)),
        scales=fields.floats("scales", (features.n_columns,), positive=True),
    )
    if isinstance(path, PathOfOne) or path.n_atoms != pool.n_atoms_ or path.finish is not None:
        raise ModelFormatError("path is not that of a run of this pool that is under way")
    for plain in [round_.plain for round_ in [path.start, *path.rounds]]:
        if plain is None:
            continue
        atoms = pool.features(np.array(plain.atoms, dtype=np.intp))
        if plain.W.shape[1] != path.intercept + atoms.n_columns:
            raise ModelFormatError("path.weights has not the weights of a round without swaps")
    return path


def _stamp(stat: os.stat_result) -> tuple[int, ...]:
    """Return what is the same for as long as nobody replaces or writes to a file."""
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
