"""Image templates under masks on a torch device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from ...arrays import ranges
from ...kernels import MIDDLE
from ...pools.patches import as_images
from ...pools.templates import Templates
from .forms import SumsOnDevice
from .kernels import fused, masked_maxima, responses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class DeviceImages(NamedTuple):
    """Rows, as codes of all atoms where these fit the device."""

    codes: Tensor | None  # (atoms, n), signed bytes: codes less MIDDLE
    source: Tensor  # rows of X


class DeviceTemplates(SumsOnDevice, Templates):
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
            codes[:, some] = self._coded(X[some], slice(0, self.n_atoms_))

        self._over_images(len(X), write)
        return DeviceImages(codes, X)

    def sums(self, data: Any, rows: Any, part: slice, squares: bool) -> Tensor:
        if data.codes is not None:
            sums = self._of_codes(data.codes[part], rows, squares)
        else:
            parts: list[Tensor] = []

            def add(some: slice) -> None:
                codes = self._coded(data.source[some], part)
                parts.append(self._of_codes(codes, rows[:, some], squares))

            self._over_images(len(data.source), add)
            sums = torch.stack(parts).sum(dim=0)
        total = rows.sum(dim=1, dtype=torch.float64)
        if not squares:
            sums += MIDDLE * total[:, None]
        sums = torch.nn.functional.pad(sums, (0, 1))
        sums[0, :, -1] = total
        return sums

    def _of_codes(self, codes: Tensor, rows: Tensor, squares: bool) -> Tensor:
        """Return the sums of rows times codes about the middle, (1, k, atoms).

        For squares (2, k, atoms): also times the squares of the codes. Of as many atoms at a time
        as fit.
        """
        kernels = None if squares else fused(codes)
        if kernels is not None:
            return kernels.code_sums(codes, rows)[None]
        shape = 1 + squares, len(rows), len(codes)
        sums = torch.empty(shape, dtype=torch.float64, device=rows.device)

        def write(some: slice) -> None:
            columns = codes[some].to(rows.dtype)
            for out in sums:
                out[:, some] = self.backend.correlated(rows, columns)
                columns = columns.square()

        self.backend.memory.chunks(len(codes), 13 * codes.shape[1], write, "the codes of an atom")
        return sums

    def _over_images(self, n: int, task: Any) -> None:
        """Call the task on ranges of images for whose responses there is room."""
        largest = max(
            size.down.shape[1] * size.across.shape[1]
            * (len(size.templates) + size.templates[0].size)
            for size in self.sizes_
        )  # fmt: skip
        self.backend.memory.chunks(n, 9 * largest + 10 * self.n_atoms_, task, "the responses")

    def _coded(self, X: Tensor, part: slice) -> Tensor:
        """Return the codes of some images for a part, (atoms of the part, n)."""
        values = self._part_values(as_images(X, slice(None), self.image_shape_, self.unit_), part)
        low, step = self._learned("low_")[part], self._learned("step_")[part]
        codes = (values - low).div_(step).add_(0.5).clamp_(0.0, 255.0)
        return codes.floor_().sub_(MIDDLE).to(torch.int8).T

    def _calibrate(self, X: Tensor, sample: NDArray[np.intp], centred: bool) -> None:
        images = as_images(
            X[self.backend.asarray(sample)], slice(None), self.image_shape_, self.unit_
        )
        parts: list[tuple[Tensor, ...]] = []

        def add(some: slice) -> None:
            values = self._part_values(images[some], slice(0, self.n_atoms_))
            wide = values.double()
            sums = wide.sum(dim=0), wide.square_().sum(dim=0)
            parts.append((values.amin(dim=0), values.amax(dim=0), *sums))

        self._over_images(len(images), add)
        low, high, first, second = (torch.stack(own) for own in zip(*parts, strict=True))
        wanted = low.amin(dim=0), high.amax(dim=0), first.sum(dim=0), second.sum(dim=0)
        least, greatest, first_, second_ = map(self.backend.numpy, wanted)
        n = len(images)
        self._set_codes(least, greatest, first_ / n, second_ / n, centred)

    def _part_values(self, images: Any, part: slice) -> Tensor:
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
