"""Trained predictors for other places than Python."""

from ..model_file import load_model, save_model
from .javascript import to_js
from .onnx_model import to_onnx
from .skl2onnx_converter import register_skl2onnx

__all__ = ["load_model", "register_skl2onnx", "save_model", "to_js", "to_onnx"]
