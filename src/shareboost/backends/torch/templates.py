"""Image templates under masks on a torch device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...arrays import ranges
from ...kernels import MIDDLE
from ...pools.templates import Templates
from .fused import fused
from .images import as_images, masked_maxima, responses
from .on_device import OnDevice


class DeviceImages(NamedTuple):
    """Rows, as codes of all atoms where these fit the device."""

    codes: Tensor | None  # (atoms, n), signed bytes: codes less MIDDLE
    source: Tensor  # rows of X


class DeviceTemplates(OnDevice, Templates):
    """As ``Templates``: convolutions, masks and maxima on the device.

    Selection works on the same codes of one byte. Where those of all images do not fit the
    free memory, they are computed anew in every round, some images at a time.
    """

    def parts(self, n_classes: int) -> list[slice]:
        return ranges(self.n_atoms_, self.n_atoms_)

    def encode(self, X: Tensor, rows: slice) -> DeviceImages:
        X = X[rows].contiguous()
        if not self.backend.memory.fits(self.n_atoms_ * len(X)):
            return DeviceImages(None, X)
        codes = torch.empty((self.n_atoms_, len(X)), dtype=torch.int8, device=X.device)

        def write(some: slice) -> None:
            codes[:, some] = self._coded(X[some], self._all)

        self._over_images(len(X), write)
        return DeviceImages(codes, X)

    def prepare(self, rows: Tensor) -> Tensor:
        return rows.to(torch.float32)

    def stats(
        self, data: Any, rows: Any, part: slice, out: Any = None, squares: bool = False
    ) -> Tensor:
        if data.codes is not None:
            sums = self._sums(data.codes[part], rows, squares)
        else:
            parts: list[Tensor] = []

            def add(some: slice) -> None:
                codes = self._coded(data.source[some], part)
                parts.append(self._sums(codes, rows[:, some], squares))

            self._over_images(len(data.source), add)
            sums = torch.stack(parts).sum(dim=0)
        total = rows.sum(dim=1, dtype=torch.float64)
        if not squares:
            sums += MIDDLE * total[:, None]
        found = torch.nn.functional.pad(sums, (0, 1))
        found[0, :, -1] = total
        return found if out is None else out.add_(found)

    def correlations(self, stats: Tensor, part: slice) -> Tensor:
        ratio = self.unit_ / self.here("scale_")[part]
        sums = stats[0, :, :-1] * (self.here("step_")[part] * ratio)
        sums += stats[0, :, -1:] * (self.here("low_")[part] * ratio)
        return sums

    def moments(self, stats: Tensor, part: slice) -> tuple[Tensor, Tensor]:
        ratio = self.unit_ / self.here("scale_")[part]
        step = self.here("step_")[part] * ratio
        first, second = stats[0, :, :-1] * step, stats[1, :, :-1] * step**2
        if self.centred_:
            return first, second
        middle = (self.here("low_")[part] + float(MIDDLE) * self.here("step_")[part]) * ratio
        total = stats[0, :, -1:]
        return first + middle * total, second + middle * (2.0 * first + middle * total)

    def columns(self, data: DeviceImages, atom: int) -> Tensor:
        return self.backend.columns(self.features([atom]), data.source).T

    def _sums(self, codes: Tensor, rows: Tensor, squares: bool) -> Tensor:
        """Return the sums of rows times codes about the middle, (1, k, atoms).

        For squares (2, k, atoms): also times the squares of the codes.
        """
        kernels = None if squares else fused(codes)
        if kernels is not None:
            return kernels.code_sums(codes, rows)[None]
        first = self._of_atoms(codes, rows, lambda some: some.to(rows.dtype))
        if not squares:
            return first[None]
        second = self._of_atoms(codes, rows, lambda some: some.to(rows.dtype).square_())
        return torch.stack([first, second])

    def _of_atoms(self, codes: Tensor, rows: Tensor, read: Any) -> Tensor:
        """Return ``rows @ read(codes).T``, (k, atoms), of as many atoms at a time as fit."""
        found = torch.empty((len(rows), len(codes)), dtype=torch.float64, device=rows.device)

        def write(some: slice) -> None:
            found[:, some] = self.backend.correlated(rows, read(codes[some]))

        self.backend.memory.chunks(len(codes), 9 * codes.shape[1], write, "the codes of an atom")
        return found

    def _over_images(self, n: int, task: Any) -> None:
        """Call the task on ranges of images for whose responses there is room."""
        largest = max(
            size.down.shape[1] * size.across.shape[1]
            * (len(size.templates) + size.templates[0].size)
            for size in self.sizes_
        )  # fmt: skip
        self.backend.memory.chunks(n, 9 * largest + 10 * self.n_atoms_, task, "the responses")

    @property
    def _all(self) -> slice:
        return slice(0, self.n_atoms_)

    def _coded(self, X: Tensor, part: slice) -> Tensor:
        """Return the codes of some images for a part, (atoms of the part, n)."""
        values = self._part_values(as_images(X, self.image_shape_, self.unit_), part)
        codes = (values - self.here("low_")[part]).div_(self.here("step_")[part]).add_(0.5)
        return codes.clamp_(0.0, 255.0).floor_().sub_(MIDDLE).to(torch.int8).T

    def _calibrate(self, X: Tensor, sample: NDArray[np.intp], centred: bool) -> None:
        images = as_images(X[self.backend.asarray(sample)], self.image_shape_, self.unit_)
        found: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []

        def add(some: slice) -> None:
            values = self._part_values(images[some], self._all)
            wide = values.double()
            found.append(
                (values.amin(dim=0), values.amax(dim=0), wide.sum(dim=0), (wide**2).sum(dim=0))
            )

        self._over_images(len(images), add)
        low, high, first, second = (torch.stack(own) for own in zip(*found, strict=True))
        n = len(images)
        numpy = self.backend.numpy
        ends = numpy(low.amin(dim=0)), numpy(high.amax(dim=0))
        self._set_codes(*ends, numpy(first.sum(dim=0) / n), numpy(second.sum(dim=0) / n), centred)

    def _part_values(self, images: Tensor, part: slice) -> Tensor:
        """Return the values of a part's atoms, (images, atoms of the part)."""
        values = []
        for size, first in zip(self.sizes_, self.starts_.tolist(), strict=False):
            start, stop = max(part.start - first, 0), min(part.stop - first, size.n_atoms)
            if start >= stop:
                continue
            # The templates that the part has atoms of, of the outer ones perhaps not all.
            outer = slice(start // size.n_masks, -(-stop // size.n_masks))
            templates = size.templates[outer]
            flat = self.backend.asarray(templates.reshape(len(templates), -1))
            down, across = self.backend.asarray(size.down), self.backend.asarray(size.across)
            found = responses(images, flat, templates.shape[1:3])
            best = masked_maxima(found, down, across).flatten(1, 2)  # (n, masks, f)
            before = outer.start * size.n_masks
            values.append(best.transpose(1, 2).flatten(1)[:, start - before : stop - before])
        return torch.cat(values, dim=1)
