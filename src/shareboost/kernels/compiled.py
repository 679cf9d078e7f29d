"""How kernels are declared: compiled by Numba on first use, and cached on disk if possible."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar

from numba import config, njit
from numba.core.caching import FunctionCache
from numpy.typing import NDArray

from ..threads import interrupts_deferred

Array = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Return a decorator that has Numba compile a function when it is first called.

    The function runs without Python's lock, with the options of ``numba.njit``. Ctrl-C during the
    compilation takes effect at its end.
    """

    def decorate(function: Function) -> Function:
        kernel: Any = njit(nogil=True, **options)(function)
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return kernel  # the function itself
        try:
            kernel._cache = _Cache(function)  # type: ignore[no-untyped-call]
        except Exception as error:  # no directory can be written
            _warn_once(error)
        compile_for = kernel.compile

        @wraps(compile_for)
        def without_interrupts(signature: Any) -> Any:
            with interrupts_deferred():
                return compile_for(signature)

        kernel.compile = without_interrupts
        return kernel

    return decorate


class _Cache(FunctionCache):
    """Numba's cache; where it fails, functions are compiled anew."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as error:  # a damaged file raises anything
            _warn_once(error)
            with suppress(OSError):
                # Else the file would fail in every process.
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception as error:
            _warn_once(error)


_has_warned = False


def _warn_once(error: Exception) -> None:
    global _has_warned
    if not _has_warned:
        _has_warned = True
        warnings.warn(
            f"Numba's cache of compiled functions failed ({type(error).__name__}: {error}). "
            "Functions that are not cached are compiled anew in every process. To cache them, set "
            "the environment variable NUMBA_CACHE_DIR to a directory that can be written.",
            RuntimeWarning,
            stacklevel=2,
        )
