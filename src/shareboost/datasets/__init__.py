"""The data of the paper's experiments, its two examples, and deformed images."""

from .deformation import deform
from .examples import NAMES, Dataset, load_dataset, make_redundant_blocks, make_shared_bits

__all__ = [
    "NAMES",
    "Dataset",
    "deform",
    "load_dataset",
    "make_redundant_blocks",
    "make_shared_bits",
]
