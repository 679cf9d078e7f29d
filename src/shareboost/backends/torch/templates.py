"""Image templates under masks on a torch device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from ...kernels import MIDDLE
from ...pools.patches import as_images
from ...pools.templates import Templates
from .forms import SumsOnDevice
from .kernels import fused, masked_maxima


class DeviceImages(NamedTuple):
    """Rows, as codes of all atoms where these fit the device."""

    codes: Tensor | None  # (atoms, n), signed bytes: codes less MIDDLE
    source: Tensor  # rows of X


class DeviceTemplates(SumsOnDevice, Templates):
    """As ``Templates``. Where the codes of all images do not fit the free memory, they are computed
    anew in every round, some images at a time.
    """

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
        def of_images(some: slice) -> Tensor:
            return self._of_codes(self._coded(data.source[some], part), rows[:, some], squares)

        if data.codes is not None:
            sums = self._of_codes(data.codes[part], rows, squares)
        else:
            sums = torch.stack(self._over_images(len(data.source), of_images)).sum(dim=0)
        total = rows.sum(dim=1, dtype=torch.float64)
        if not squares:
            sums += MIDDLE * total[:, None]
        sums = pad(sums, (0, 1))
        sums[0, :, -1] = total
        return sums

    def _of_codes(self, codes: Tensor, rows: Tensor, squares: bool) -> Tensor:
        """Return the sums of rows times codes about the middle, and for squares times the squares
        of these, (1 or 2, k, atoms), of as many atoms at a time as fit.
        """
        if not squares and (kernels := fused(codes.device)) is not None:
            return kernels.code_sums(codes, rows)[None]

        def of_atoms(some: slice) -> Tensor:
            columns = codes[some].to(rows.dtype)
            powers = [columns, columns.square()] if squares else [columns]
            return torch.stack([self.backend.correlated(rows, values) for values in powers])

        parts = self.backend.memory.chunks(len(codes), 13 * codes.shape[1], of_atoms)
        return torch.cat(parts, dim=2)

    def _over_images(self, n: int, task: Callable[[slice], Any]) -> list[Any]:
        """Return the results of the task on ranges of images for whose responses there is room."""
        largest = 0
        for size in self.sizes_:
            n_places = size.down.shape[1] * size.across.shape[1]
            largest = max(largest, n_places * (len(size.templates) + size.templates[0].size))
        each = 9 * largest + 10 * self.n_atoms_
        return self.backend.memory.chunks(n, each, task)

    def _coded(self, X: Tensor, part: slice) -> Tensor:
        """Return the codes of some images for a part, (atoms of the part, n)."""
        values = self._part_values(as_images(X, slice(None), self.image_shape_, self.unit_), part)
        low, step = self.held("low_")[part], self.held("step_")[part]
        codes = (values - low).div_(step).add_(0.5).clamp_(0.0, 255.0)
        return codes.floor_().sub_(MIDDLE).to(torch.int8).T

    def _calibrate(self, X: Tensor, sample: NDArray[np.intp], centred: bool) -> None:
        X, n = X[self.backend.asarray(sample)], len(sample)
        images = as_images(X, slice(None), self.image_shape_, self.unit_)

        def of_images(some: slice) -> tuple[Tensor, ...]:
            values = self._part_values(images[some], slice(0, self.n_atoms_))
            wide = values.double()
            sums = wide.sum(dim=0), wide.square_().sum(dim=0)
            return values.amin(dim=0), values.amax(dim=0), *sums

        low, high, first, second = map(
            torch.stack, zip(*self._over_images(n, of_images), strict=True)
        )
        known = low.amin(dim=0), high.amax(dim=0), first.sum(dim=0) / n, second.sum(dim=0) / n
        least, greatest, mean, square = map(self.backend.numpy, known)
        self._set_codes(least, greatest, mean, square, centred)

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
            windows = images.unfold(1, templates.shape[1], 1).unfold(2, templates.shape[2], 1)
            shape = windows.shape[:3]  # (n, places down, places across)
            patches = windows.permute(0, 1, 2, 4, 5, 3).reshape(shape.numel(), -1)
            responses = (patches @ flat.T).reshape(*shape, -1)
            best = masked_maxima(responses, down, across).flatten(1, 2)  # (n, masks, f)
            before = outer.start * size.n_masks
            values.append(best.transpose(1, 2).flatten(1)[:, start - before : stop - before])
        return torch.cat(values, dim=1)
