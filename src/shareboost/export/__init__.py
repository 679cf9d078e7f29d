"""Trained predictors for other places than Python."""

from .javascript import to_js
from .onnx_model import to_onnx
from .skl2onnx_converter import register_skl2onnx

__all__ = ["register_skl2onnx", "to_js", "to_onnx"]
