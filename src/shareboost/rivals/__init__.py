"""The paper's rivals, sections 6 and 7, as estimators of their own."""

from .path import RivalPath

__all__ = ["RivalPath"]
