"""Trained predictors for other places than Python, and what they cost to run."""

from ..io import load_model, save_model
from .c import QuantizationLoss, quantization_loss, to_c
from .cost import CostReport, cost_report
from .javascript import to_js
from .onnx_model import to_onnx
from .skl2onnx_converter import register_skl2onnx

__all__ = [
    "CostReport",
    "QuantizationLoss",
    "cost_report",
    "load_model",
    "quantization_loss",
    "register_skl2onnx",
    "save_model",
    "to_c",
    "to_js",
    "to_onnx",
]
