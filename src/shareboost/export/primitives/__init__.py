"""The few kinds of steps that every exported form is made of."""

from .balls import Balls
from .base import Primitive
from .columns import Hinges, Products, Reads, Thresholds
from .matches import Matches

# By the names that features give them, those of cheap features first.
PRIMITIVES: dict[str, type[Primitive]] = {
    "reads": Reads,
    "thresholds": Thresholds,
    "hinges": Hinges,
    "products": Products,
    "balls": Balls,
    "matches": Matches,
}
