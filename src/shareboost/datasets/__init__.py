"""The data of the paper's experiments, its two examples, and images deformed, upright, as edges."""

from .deformation import deform
from .examples import NAMES, Dataset, load_dataset, make_redundant_blocks, make_shared_bits
from .images import deskew, edges

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
