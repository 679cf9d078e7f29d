"""The Dask forms of rows: everything of a fit, or of predictions, on a cluster.

Nothing outside this package imports Dask, and this package is imported only where Dask's arrays
or frames are given.
"""

from __future__ import annotations

try:
    import distributed  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError("Dask's rows need a cluster: pip install 'shareboost[dask]'.") from error
