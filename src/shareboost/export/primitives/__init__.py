"""The few kinds of steps that every exported form is made of."""

from .balls import Balls
from .base import Primitive
from .hinges import Hinges
from .matches import Matches
from .products import Products
from .reads import Reads
from .thresholds import Thresholds

# By the names that features give them, those of cheap features first.
PRIMITIVES: dict[str, type[Primitive]] = {
    "reads": Reads,
    "thresholds": Thresholds,
    "hinges": Hinges,
    "products": Products,
    "balls": Balls,
    "matches": Matches,
}
