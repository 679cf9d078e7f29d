"""A torch device as the backend of a fit."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ...arrays import to_float64
from ...gram import Factor, Gram
from ...penalties import PENALTIES
from ...pools.array_api import columns_type
from ..base import Backend
from .memory import ADVICE, DeviceMemoryError, Memory
from .tensors import compressed, full_precision, is_sparse, readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ...arrays import Map
    from ...model import Model
    from ...pools.base import Pool
    from ...pools.features import Features

# Examples whose products are summed in the type of the rows; those sums are added in float64.
# They are computed side by side: enough of them keep the whole device busy.
CHUNK_EXAMPLES = 1024


class TorchBackend(Backend):
    """The tensors of a torch device.

    All rows are one block: a device is the faster the larger its tasks. Sums over examples
    are still taken some at a time in the type of the rows, and added in float64. No sum
    depends on the order in which threads of the device end, so a run on the same kind of
    device, with as much memory free for its chunks, ends alike, to the last bit.
    """

    xp = torch
    columns_apart = False

    def __init__(self, device: torch.device):
        self.device = device
        self.memory = Memory(device)
        kind = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        self.name = f"torch {torch.__version__}, {kind}"

    def __repr__(self) -> str:
        return f"TorchBackend({str(self.device)!r})"

    @contextmanager
    def deterministic(self) -> Iterator[Map]:
        """Products of float32 are not rounded to 10 bits meanwhile, whatever is set."""
        try:
            with ExitStack() as stack:
                if self.device.type == "cuda":  # where Triton starts its kernels
                    stack.enter_context(torch.cuda.device(self.device))
                stack.enter_context(torch.no_grad())
                stack.enter_context(torch.autocast(self.device.type, enabled=False))
                stack.enter_context(full_precision())
                yield map
        except torch.OutOfMemoryError as error:
            raise DeviceMemoryError(
                f"{self.device} ran out of memory for X or the chosen columns. {ADVICE} ({error})"
            ) from None

    def edges(self, n_rows: int, n_classes: int) -> list[int]:
        return [0, n_rows]

    def rows(self, X: Any) -> Tensor:
        """Return rows of X as a tensor of the device; SciPy's sparse ones as compressed rows."""
        if isinstance(X, Tensor):
            return X
        if X.dtype.kind == "f" and X.dtype.itemsize > 8:
            X = X.astype(np.float64)  # the widest that a device has
        if not sp.issparse(X):
            return readable(self._shared(X))
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        pointers, columns = (self.asarray(i.astype(np.int64)) for i in (X.indptr, X.indices))
        return compressed(pointers, columns, readable(self.asarray(X.data)), X.shape)

    def form(self, pool: Pool) -> Pool:
        from .forms import form_of

        return form_of(pool, self)

    def check(self, form: Pool, penalty: Any, X: Any) -> None:
        sparse = sp.issparse(X) or (isinstance(X, Tensor) and is_sparse(X))
        if sparse and not getattr(form, "takes_sparse", False):
            name = type(form).__name__.removeprefix("Device")
            raise ValueError(
                f"Sparse X cannot be computed on {self.device} with {name}: there only Columns and "
                "groups of them take it. Give X dense, or leave device=None."
            )
        if not isinstance(penalty, str) and type(penalty) not in PENALTIES.values():
            raise ValueError(
                f"The penalty {type(penalty).__name__} cannot be computed on {self.device}: those "
                "of shareboost.penalties can. Leave device=None and give X in NumPy's arrays."
            )

    def columns(self, features: Features, X: Any) -> Tensor:
        """Return the columns of chosen atoms, of as many rows at a time as there is room for."""
        if is_sparse(X):
            return self._columns_of_sparse(features, X)
        if features.input_columns is not None or not len(X):
            return features.columns(X)
        out: list[Tensor] = []  # (n_columns, rows), once the first rows tell its type

        def write(rows: slice) -> None:
            columns = features.columns(X[rows])
            if not out:
                out.append(columns.new_empty((columns.shape[1], len(X))))
            out[0][:, rows] = columns.T

        self.memory.chunks(len(X), features.scratch(X.shape[1]), write, "the columns of features")
        return out[0].T

    def _columns_of_sparse(self, features: Features, X: Tensor) -> Tensor:
        """Return columns of compressed rows: a product with ones where the chosen columns are."""
        if features.input_columns is None:
            kind = getattr(features, "kind", type(features).__name__)
            kind = "a union" if kind == "union" else kind
            raise ValueError(
                f"Sparse X cannot be computed on {self.device} by a model of {kind}: there only "
                "models of columns take it. Give X dense, or as a SciPy matrix."
            )
        ids = self.asarray(features.input_columns)
        chosen = torch.zeros((X.shape[1], len(ids)), dtype=columns_type(X), device=X.device)
        chosen[ids, torch.arange(len(ids), device=X.device)] = 1.0
        return X.to(chosen.dtype) @ chosen

    def scores(self, model: Model, rows: Tensor) -> Tensor:
        """Return the scores of rows, (rows, k), of as many at a time as there is room for."""
        with self.deterministic():
            weights, intercept = self.asarray(model.weights.T), self.asarray(model.intercept)
            if is_sparse(rows):  # which are not cut
                return to_float64(self.columns(model.features, rows)) @ weights + intercept
            scores = self.zeros((rows.shape[0], len(intercept)))

            def write(some: slice) -> None:
                columns = to_float64(self.columns(model.features, rows[some]))
                scores[some] = columns @ weights + intercept

            self.memory.chunks(len(rows), 24 * max(1, len(weights)), write, "the chosen columns")
        return scores

    def best(self, model: Model, rows: Tensor) -> Tensor:
        return self.scores(model, rows).argmax(dim=1)

    def gram(self, rounding: float) -> Gram:
        none = self.zeros((0, 0))
        return Gram(rounding, InverseFactor(none, none, []))

    def asarray(self, values: Any, dtype: Any = None) -> Tensor:
        """Return NumPy's values in memory of torch's own.

        How that begins in memory changes the last bits of products on a processor.
        """
        if isinstance(values, Tensor):
            return values
        shared = self._shared(np.asarray(values, dtype=dtype))
        if self.device.type != "cpu":
            return shared
        return shared.clone(memory_format=torch.contiguous_format)

    def _shared(self, array: NDArray[Any]) -> Tensor:
        """Return a tensor of an array, of the same memory where the device has it."""
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if not array.flags.writeable or any(stride < 0 for stride in array.strides):
            array = array.copy()  # torch has no read-only tensors, nor any that run backwards
        return torch.as_tensor(array, device=self.device)

    def numpy(self, array: Tensor) -> NDArray[Any]:
        return array.cpu().numpy()

    def zeros(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Tensor:
        return torch.zeros(shape, dtype=getattr(torch, np.dtype(dtype).name), device=self.device)

    def product(self, W: Tensor, columns: Tensor, out: Tensor) -> None:
        torch.matmul(W, columns, out=out)

    def correlated(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return ``rows @ columns.T`` in float64, from sums over some examples each."""
        n = rows.shape[1]
        n_chunks, size = _chunked(n)
        whole = n_chunks * size
        left = rows[:, :whole].unflatten(1, (n_chunks, size)).transpose(0, 1)
        right = columns[:, :whole].unflatten(1, (n_chunks, size)).permute(1, 2, 0)
        total = torch.bmm(left, right).sum(dim=0, dtype=torch.float64)
        return total if whole == n else total + rows[:, whole:] @ columns[:, whole:].T

    def inner(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self.correlated(rows, columns)


@cache
def _chunked(n: int) -> tuple[int, int]:
    """Return how many chunks of how many examples n of them make, with none left over if it can be.

    Chunks are of ``CHUNK_EXAMPLES`` at most, and of half of that at least.
    """
    if n <= CHUNK_EXAMPLES:
        return 1, n
    least, most = -(-n // CHUNK_EXAMPLES), 2 * n // CHUNK_EXAMPLES
    even = (n_chunks for n_chunks in range(least, most + 1) if n % n_chunks == 0)
    if (n_chunks := next(even, None)) is not None:
        return n_chunks, n // n_chunks
    return n // CHUNK_EXAMPLES, CHUNK_EXAMPLES


class InverseFactor(Factor):
    """C and its inverse.

    A device takes long to start a task and short to do it: one product with the inverse
    is faster than the many steps of a triangular solve. Neither changes as panels follow: both
    grow by the rows of a panel.
    """

    def __init__(self, C: Tensor, inverse: Tensor, stops: list[int]):
        self._C = C
        self._inverse = inverse
        self.stops = stops

    def times(self, W: Tensor) -> Tensor:
        return W @ self._C

    def divide(self, Z: Tensor) -> Tensor:
        return Z @ self._inverse

    def divide_transposed(self, G: Tensor) -> Tensor:
        return G @ self._inverse.T

    def first(self, n_panels: int) -> InverseFactor:
        stops = self.stops[:n_panels]
        c = stops[-1] if stops else 0
        return InverseFactor(self._C[:c, :c], self._inverse[:c, :c], stops)

    def grown(self, rows: Tensor) -> InverseFactor | None:
        old, new = self.size, rows.shape[1]
        L = self._inverse
        across = rows[:, :old] @ L.T
        C, info = torch.linalg.cholesky_ex(rows[:, old:] - across @ across.T)
        if int(info) or not bool(torch.isfinite(C).all()):
            return None
        eye = torch.eye(new - old, dtype=C.dtype, device=C.device)
        inverse = torch.linalg.solve_triangular(C, eye, upper=False)
        return InverseFactor(
            _with_rows(self._C, across, C),
            _with_rows(L, -(inverse @ (across @ L)), inverse),
            [*self.stops, new],
        )

    def asarray(self, values: NDArray[np.float64]) -> Tensor:
        return torch.as_tensor(values, device=self._C.device)


def _with_rows(triangle: Tensor, across: Tensor, corner: Tensor) -> Tensor:
    """Return a triangular matrix with some more rows, in memory of its own.

    Its size alone decides how far apart the rows lie there, as the bits of products hang on that.
    """
    old, new = across.shape[1], across.shape[1] + across.shape[0]
    room = 64
    while room < new:
        room = -(-5 * room // 4 // 32) * 32
    grown = triangle.new_zeros((room, room))
    grown[:old, :old] = triangle
    grown[old:new, :old] = across
    grown[old:new, old:new] = corner
    return grown[:new, :new]
