"""A short text that tells whether two values hold the same, in any process and any run."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

# Bytes copied at a time of an array that does not lie in order; they fit a core's cache.
CHUNK_BYTES = 1 << 18

_RANDOM = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)


def digest(value: Any, name: str = "value") -> str:
    """Return 32 hexadecimal digits that depend on the content of the value alone.

    Values of the same content have the same digest: a NumPy scalar and the number it
    holds, a dict in any order of its keys, an array in any memory layout and byte order, a
    sparse matrix in any format. True and 1, 1 and 1.0, a list and a tuple, and arrays of
    unlike dtype or shape differ. Estimators and dataclasses count by class and parameters,
    not by what ``fit`` learned. NaN in arrays are compared by their bits.

    Parameters
    ----------
    value : object
        None, a bool, int, float, str or bytes; a NumPy array or scalar, a SciPy sparse
        matrix; a list, tuple, dict, scikit-learn estimator or dataclass of any of these.
    name : str
        What errors call the value.

    Raises
    ------
    TypeError
        For any other value: what it holds cannot be told.
    """
    hasher = hashlib.blake2b(digest_size=16)
    _feed(hasher, value, name)
    return hasher.hexdigest()


def _feed(hasher: hashlib.blake2b, value: Any, name: str) -> None:
    """Write the value so that no value's bytes are the beginning of another's."""
    if (scalar := _scalar(value)) is not None:
        _write(hasher, *scalar)
    elif sp.issparse(value):  # before dicts: a sparse matrix by keys is one
        _feed_sparse(hasher, value, name)
    elif isinstance(value, (list, tuple)):
        _write(hasher, "list" if isinstance(value, list) else "tuple", str(len(value)))
        for i, item in enumerate(value):
            _feed(hasher, item, f"{name}[{i}]")
    elif isinstance(value, dict):
        # Sorted by digest: keys of unlike types have no order of their own.
        items = sorted(
            digest(key, f"a key of {name}") + digest(item, f"{name}[{key!r}]")
            for key, item in value.items()
        )
        _write(hasher, "dict", "".join(items))
    elif isinstance(value, (np.ndarray, np.generic)) and not np.ma.isMaskedArray(value):
        _feed_array(hasher, np.asarray(value), name)
    else:
        parameters = _parameters(value, name)
        _write(hasher, "object", f"{type(value).__module__}.{type(value).__qualname__}")
        _write(hasher, "parameters", str(len(parameters)))
        for parameter in sorted(parameters):
            _write(hasher, "parameter", parameter)
            _feed(hasher, parameters[parameter], f"{name}.{parameter}")


def _write(hasher: hashlib.blake2b, kind: str, content: str | bytes) -> None:
    """Write a piece behind its kind and length, so that pieces cannot run together."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    hasher.update(f"{kind}:{len(content)}:".encode() + content)


def _scalar(value: Any) -> tuple[str, str | bytes] | None:
    """Return the kind and the content of a scalar, None for anything else."""
    if value is None:
        return "none", ""
    if isinstance(value, (bool, np.bool_)):
        return "bool", str(bool(value))
    if isinstance(value, str):
        return "str", str(value)
    if isinstance(value, bytes):
        return "bytes", value
    if isinstance(value, np.timedelta64):
        return None  # NumPy counts it among the integers, but it has a unit
    if isinstance(value, (int, np.integer)):
        return "int", f"{int(value):x}"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        exact = number == value or number != number
        return ("float", number.hex()) if exact else ("longdouble", repr(value))
    return None


def _feed_array(hasher: hashlib.blake2b, array: NDArray[Any], name: str) -> None:
    """Write type, shape and elements, row by row."""
    # Text of variable width has no byte order, and NumPy refuses to change it.
    dtype = array.dtype if array.dtype.char == "T" else array.dtype.newbyteorder("<")
    _write(hasher, "array", f"{dtype.str} {array.shape}")
    if dtype.names is not None:  # by field, as there may be bytes between that mean nothing
        _write(hasher, "fields", str(len(dtype.names)))
        for field in dtype.names:
            _write(hasher, "field", field)
            _feed_array(hasher, array[field], f"{name}[{field!r}]")
    elif dtype.char == "G":
        _feed_array(hasher, array.real, name)
        _feed_array(hasher, array.imag, name)
    elif dtype.char in "OTg":  # pointers, and long doubles with bytes that mean nothing
        for element in array.flat:
            _feed(hasher, element, f"an element of {name}")
    elif array.nbytes:
        _feed_bytes(hasher, array, dtype)


def _feed_bytes(hasher: hashlib.blake2b, array: NDArray[Any], dtype: np.dtype[Any]) -> None:
    """Write the elements as the given type, without a copy of more than a chunk."""
    # Any: NumPy's types know neither "contig" nor that one array is given as itself.
    in_order: Any = ["readonly", "contig"]
    chunks: Any = np.nditer(
        [array],
        flags=["external_loop", "buffered"],
        op_flags=[in_order],
        op_dtypes=[dtype],
        order="C",
        buffersize=max(1, CHUNK_BYTES // dtype.itemsize),
    )
    for chunk in chunks:
        hasher.update(chunk.view(np.uint8))


def _feed_sparse(hasher: hashlib.blake2b, matrix: Any, name: str) -> None:
    """Write a sparse matrix as compressed rows, the same for all that are equal to it."""
    rows = matrix.tocsr()
    # A second view of the same arrays: asking a matrix for its order sets flags on it.
    rows = type(rows)((rows.data, rows.indices, rows.indptr), shape=rows.shape)
    if not rows.has_canonical_format or np.count_nonzero(rows.data) < rows.data.size:
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    n_entries = int(rows.indptr[-1])  # the arrays may be longer
    _write(hasher, "sparse", str(rows.shape))
    _feed_array(hasher, rows.data[:n_entries], name)
    for index in (rows.indices[:n_entries], rows.indptr):
        if index.size:
            _feed_bytes(hasher, index, np.dtype("<i8"))


def _parameters(value: Any, name: str) -> dict[str, Any]:
    """Return what an estimator or a dataclass was made of."""
    if isinstance(value, BaseEstimator):
        return dict(value.get_params(deep=False))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, _RANDOM):
        raise TypeError(
            f"{name} is a {type(value).__name__}, which draws other numbers every time, so that "
            "no later run can be known to be the same: an integer random_state is needed."
        )
    raise TypeError(
        f"{name} is a {type(value).__module__}.{type(value).__qualname__}, and what it holds "
        "cannot be told: a digest takes None, booleans, numbers, text, NumPy arrays, SciPy sparse "
        "matrices, and lists, tuples, dicts, scikit-learn estimators and dataclasses of them."
    )
