"""Trained predictors for other places than Python."""

from .c import to_c
from .cost import CostReport, cost_report
from .quantization import QuantizationLoss, quantization_loss

__all__ = ["CostReport", "QuantizationLoss", "cost_report", "quantization_loss", "to_c"]
