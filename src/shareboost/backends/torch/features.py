"""The columns of chosen atoms on a torch device, from the plain arrays that define them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ...pools import (
    ColumnFeatures,
    Features,
    GroupFeatures,
    PieceFeatures,
    ProductFeatures,
    StumpFeatures,
    TemplateFeatures,
    UnionFeatures,
)
from ...pools.numbers import float_type
from .images import template_column
from .tensors import is_sparse
from .types import numpy_type, tensor_type

if TYPE_CHECKING:
    from .backend import TorchBackend


def columns_of(features: Features, X: Tensor, backend: TorchBackend) -> Tensor:
    """Return the columns of chosen atoms, (rows, n_columns), as ``features.columns`` does."""
    if is_sparse(X) and not isinstance(features, (ColumnFeatures, GroupFeatures)):
        raise ValueError(
            f"Sparse X cannot be computed on {backend.device} by a model of {_pool_of(features)}: "
            "there it is taken by models of columns. Give X dense, or as a SciPy matrix."
        )
    for kind, columns in _COLUMNS.items():
        if isinstance(features, kind):
            return columns(features, X, backend)
    return features.columns(X)


def _pool_of(features: Features) -> str:
    """Return the name of the pool that features were chosen from."""
    name = type(features).__name__.removesuffix("Features").lower()
    return "a union" if name == "union" else f"{name}s"


def _floats(X: Tensor) -> torch.dtype:
    """Return the floating type in which columns of X are given."""
    return tensor_type(float_type(numpy_type(X.dtype)))


def _plain(features: ColumnFeatures, X: Tensor, backend: TorchBackend) -> Tensor:
    ids = backend.asarray(features.ids)
    if not is_sparse(X):
        return X[:, ids]
    # The product with a matrix of ones where the chosen columns are.
    chosen = torch.zeros((X.shape[1], len(ids)), dtype=_floats(X), device=X.device)
    chosen[ids, torch.arange(len(ids), device=X.device)] = 1.0
    return X.to(chosen.dtype) @ chosen


def _groups(features: GroupFeatures, X: Tensor, backend: TorchBackend) -> Tensor:
    return _plain(features.flat, X, backend)


def _stumps(features: StumpFeatures, X: Tensor, backend: TorchBackend) -> Tensor:
    values = X[:, backend.asarray(features.column)].double()
    return (values <= backend.asarray(features.threshold)).to(_floats(X))


def _products(features: ProductFeatures, X: Tensor, backend: TorchBackend) -> Tensor:
    dtype = np.result_type(float_type(numpy_type(X.dtype)), features.dtype)
    left = X[:, backend.asarray(np.maximum(features.left, 0))].to(tensor_type(dtype))
    left[:, backend.asarray(features.left < 0)] = 1.0
    left *= X[:, backend.asarray(features.right)]
    return left


def _pieces(features: PieceFeatures, X: Tensor, backend: TorchBackend) -> Tensor:
    n, p = X.shape
    dtype = _floats(X)
    out = torch.empty((len(features.ids) * (p + 1), n), dtype=dtype, device=X.device)
    mean, unit = backend.asarray(features.coordinates.mean), features.coordinates.unit
    centres = backend.asarray(features.centres)

    def write(some: slice) -> None:
        values = X[some].double()
        points = ((values - mean) / unit).float()
        for number, radius in enumerate(features.squared_radii.tolist()):
            own = out[number * (p + 1) : (number + 1) * (p + 1), some]
            distances = (points - centres[number]).square_().sum(dim=1)
            if features.form == "paper":
                inside = (distances < radius).to(dtype)
                own[:-1] = (values * inside[:, None]).T
            else:
                inside = (1.0 - distances / radius).clamp_(min=0.0).to(dtype)
                about = values - (mean + unit * centres[number].double())
                own[:-1] = (about * inside[:, None]).T
            own[-1] = inside

    backend.memory.chunks(n, 40 * (p + 1), write, "the columns of pieces")
    return out.T


def _templates(features: TemplateFeatures, X: Tensor, backend: TorchBackend) -> Tensor:
    out = torch.empty((len(X), len(features.ids)), dtype=_floats(X), device=X.device)
    for number, template in enumerate(features.templates):
        mask = backend.asarray(features.down[number]), backend.asarray(features.across[number])
        column = template_column(
            X, features.image_shape, features.unit, backend.asarray(template), mask, backend.memory
        )
        out[:, number] = column * features.unit
    return out


def _union(features: UnionFeatures, X: Tensor, backend: TorchBackend) -> Tensor:
    found = [columns_of(member, X, backend) for member in features.members]
    wide = max((part.dtype for part in found), key=lambda dtype: torch.finfo(dtype).bits)
    joined = torch.cat([part.to(wide) for part in found], dim=1)
    return joined[:, backend.asarray(features.order)]


_COLUMNS: dict[type[Any], Any] = {
    ColumnFeatures: _plain,
    GroupFeatures: _groups,
    StumpFeatures: _stumps,
    ProductFeatures: _products,
    PieceFeatures: _pieces,
    TemplateFeatures: _templates,
    UnionFeatures: _union,
}
