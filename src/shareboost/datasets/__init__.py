"""The data of the paper's experiments, its two examples, and images deformed, upright, as edges."""

from .deformation import deform
from .deskewing import deskew
from .edge_directions import edges
from .examples import make_redundant_blocks, make_shared_bits
from .loading import NAMES, Dataset, load_dataset

__all__ = [
    "NAMES",
    "Dataset",
    "deform",
    "deskew",
    "edges",
    "load_dataset",
    "make_redundant_blocks",
    "make_shared_bits",
]
