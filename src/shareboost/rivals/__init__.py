"""The paper's rivals, sections 6 and 7, as estimators of their own."""

from .base import RivalPath
from .jointboost import JointBoostClassifier
from .mixed_norm import MixedNormClassifier
from .one_vs_rest import OneVsRestGreedyClassifier

__all__ = [
    "JointBoostClassifier",
    "MixedNormClassifier",
    "OneVsRestGreedyClassifier",
    "RivalPath",
]
