"""Where the arrays of a fit live: in NumPy, on a torch device, or on the workers of a cluster.

The core imports none of these: ``shareboost.inputs`` finds them by the type of X.
"""

from .base import Backend
from .numpy import NUMPY

__all__ = ["NUMPY", "Backend"]
