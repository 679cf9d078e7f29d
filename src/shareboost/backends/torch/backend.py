"""A torch device as the backend of a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...arrays import Map, Scalar, Starts
from ...gram import Gram
from ...penalties import PENALTIES
from ..base import Backend
from .inverse import InverseFactor
from .memory import ADVICE, DeviceMemoryError, Memory
from .precision import full_precision
from .tensors import as_tensor, compressed, is_sparse, readable
from .types import tensor_type

if TYPE_CHECKING:
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

    def __repr__(self) -> str:
        return f"TorchBackend({str(self.device)!r})"

    @property
    def name(self) -> str:
        if self.device.type != "cuda":
            return f"torch {torch.__version__}, {self.device.type}"
        return f"torch {torch.__version__}, {torch.cuda.get_device_name(self.device)}"

    def check_beside(self, X: Any, what: str) -> None:
        own = as_tensor(X).device
        if (own.type, own.index or 0) != (self.device.type, self.device.index or 0):
            raise ValueError(
                f"{what} is on {own}, and the fit on {self.device}: rows are not moved from "
                "one device to another. Move them, or give them in NumPy's arrays."
            )

    @contextmanager
    def settled(self) -> Iterator[Map]:
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
                f"Sparse X cannot be computed on {self.device} with {name}: there it is taken "
                "by Columns and groups of them alone. Give X dense, or leave device=None."
            )
        if not isinstance(penalty, str) and type(penalty) not in PENALTIES.values():
            raise ValueError(
                f"The penalty {type(penalty).__name__} cannot be computed on {self.device}: "
                "those of shareboost.penalties can. Leave device=None and give X in NumPy's "
                "arrays."
            )

    def columns(self, features: Features, X: Any) -> Tensor:
        from .features import columns_of

        return columns_of(features, X, self)

    def transformed(self, features: Features, rows: Any) -> Tensor:
        with self.settled():
            return self.columns(features, rows)

    def scores(self, model: Model, rows: Tensor) -> Tensor:
        """Return the scores of rows, (rows, k), of as many at a time as there is room for."""
        with self.settled():
            weights, intercept = self.asarray(model.weights.T), self.asarray(model.intercept)
            if is_sparse(rows):  # which are not cut
                return self.wide(self.columns(model.features, rows)) @ weights + intercept
            scores = self.zeros((rows.shape[0], len(intercept)))

            def write(some: slice) -> None:
                columns = self.wide(self.columns(model.features, rows[some]))
                scores[some] = columns @ weights + intercept

            self.memory.chunks(len(rows), 24 * max(1, len(weights)), write, "the chosen columns")
        return scores

    def best(self, model: Model, rows: Tensor) -> Tensor:
        return self.scores(model, rows).argmax(dim=1)

    def gram(self, rounding: float) -> Gram:
        return Gram(rounding, InverseFactor.empty(self.device))

    def asarray(self, values: Any, dtype: Any = None) -> Tensor:
        """Return NumPy's values in memory of torch's own.

        How that begins in memory changes the last bits of products on a processor.
        """
        if isinstance(values, Tensor):
            return values
        shared = self._shared(np.asarray(values, dtype=dtype))
        return shared.clone(memory_format=torch.contiguous_format) if self._is_host else shared

    @property
    def _is_host(self) -> bool:
        return self.device.type == "cpu"

    def _shared(self, array: NDArray[Any]) -> Tensor:
        """Return a tensor of an array, of the same memory where the device has it."""
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if not array.flags.writeable or any(stride < 0 for stride in array.strides):
            array = array.copy()  # torch has no read-only tensors, nor any that run backwards
        return torch.as_tensor(array, device=self.device)

    def numpy(self, array: Tensor) -> NDArray[Any]:
        return array.cpu().numpy()

    def numbers(self, scalars: Sequence[Scalar]) -> list[float]:
        found = [s if isinstance(s, Tensor) else self.asarray(np.array(s)) for s in scalars]
        return torch.cat([s.reshape(-1) for s in found]).tolist()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        return torch.empty(shape, dtype=tensor_type(dtype), device=self.device)

    def cast(self, array: Tensor, dtype: np.dtype[Any]) -> Tensor:
        return array.to(tensor_type(dtype))

    def copy(self, array: Tensor) -> Tensor:
        return array.clone()

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

    def sums(self, rows: Tensor, data: Tensor, read: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``rows @ read(data)`` in float64, (k, d): rows (k, n), data (n, ...).

        ``read`` turns some of the data's rows into the type of ``rows``; they are read as many
        at a time as there is room for.
        """
        k, n = rows.shape
        parts: list[Tensor] = []

        def add(some: slice) -> None:
            chunk = slice(some.start * CHUNK_EXAMPLES, min(some.stop * CHUNK_EXAMPLES, n))
            parts.append(self.correlated(rows[:, chunk], read(data[chunk]).T))

        width = data[:1].numel()
        each = rows.element_size() * width * (3 * CHUNK_EXAMPLES + k)
        self.memory.chunks(-(-n // CHUNK_EXAMPLES), each, add, "the sums over rows of X")
        return torch.stack(parts).sum(dim=0)

    def extremes(self, X: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and the highest value of every column."""
        low, high = torch.aminmax(X, dim=0)
        return self.numpy(low.double()), self.numpy(high.double())

    def powers(
        self, X: Tensor, weight: Tensor, pivot: Tensor, unit: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the weighted sums of ``(X - pivot) / unit`` and of its squares, (d,) each."""
        sums: list[Tensor] = []

        def add(some: slice) -> None:
            chunk = (X[some].double() - pivot).div_(unit)
            first = weight[some] @ chunk
            sums.append(torch.stack([first, weight[some] @ chunk.square_()]))

        self.memory.chunks(len(X), 3 * 8 * X[:1].numel(), add, "the moments of X")
        first, second = torch.stack(sums).sum(dim=0)
        return first, second

    def segments(self, starts: Starts, n: int) -> Tensor | None:
        return self.asarray(np.diff([*starts, n])) if len(starts) < n else None

    def sums_over(self, segments: Any, values: Tensor) -> Tensor:
        if segments is None:
            return values
        return torch.segment_reduce(values, "sum", lengths=segments, unsafe=True)


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
