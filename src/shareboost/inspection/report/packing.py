"""The data of a report in the compact form that its page reads."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model import LEAST_SHARE

# Of a model's weights, coded by the square root of their magnitude: small ones stay apart.
LARGEST_CODE = 127


def packed(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a report as the page reads them, a tenth of their size as plain JSON.

    Models become columns; confusion matrices are told by what changes from model to model, and
    weights, templates and pixels by codes of one byte, in base64.
    """
    models = data["models"]
    columns: dict[str, Any] = {name: [model[name] for model in models] for name in models[0]}
    costs = columns["costs"]
    columns |= {
        "interval": rounded(np.array(columns["interval"]), 4),
        "loss": [None if loss is None else float(f"{loss:.5g}") for loss in columns["loss"]],
        "costs": costs[0] and {name: [one[name] for one in costs] for name in costs[0]},
        "confusion": _changes(columns["confusion"]),
        # Of those that are the first ones their number.
        "features": [
            len(some) if some == list(range(len(some))) else some for some in columns["features"]
        ],
        "weights": [_coded(weights) for weights in columns["weights"]],
    }
    images = data["images"] and _images(data["images"], len(data["classes"]))
    return {**data, "least_share": LEAST_SHARE, "models": columns, "images": images}


def _changes(matrices: list[Any]) -> list[list[int]]:
    """Return what every matrix changes of the one before, as place, difference, place, ..."""
    flat = np.array(matrices, dtype=np.int64).reshape(len(matrices), -1)
    differences = np.diff(flat, axis=0, prepend=0)
    places = [np.flatnonzero(row) for row in differences]
    pairs = zip(places, differences, strict=True)
    return [np.stack([some, row[some]], axis=1).ravel().tolist() for some, row in pairs]


def _coded(weights: list[list[float]]) -> dict[str, Any]:
    """Return weights as codes: a weight is ``largest * sign(code) * (code / 127)**2``."""
    W = np.array(weights, dtype=np.float64)
    largest = float(np.abs(W).max(initial=0.0))
    codes = np.sign(W) * np.round(LARGEST_CODE * np.sqrt(np.abs(W) / (largest or 1.0)))
    return {"largest": largest, "codes": base64_of(codes.astype(np.int8))}


def _images(images: dict[str, Any], n_classes: int) -> dict[str, Any]:
    """Return templates with the masks that they share, and misclassified images."""
    downs: dict[tuple[float, ...], int] = {}
    acrosses: dict[tuple[float, ...], int] = {}
    templates = []
    for one in images["templates"]:
        values = np.array(one["template"])
        codes = np.round(127 * values / (float(np.abs(values).max()) or 1.0))
        templates.append(
            {
                "feature": one["feature"],
                "size": list(values.shape),
                "codes": base64_of(codes.astype(np.int8)),
                "down": downs.setdefault(tuple(one["down"]), len(downs)),
                "across": acrosses.setdefault(tuple(one["across"]), len(acrosses)),
            }
        )
    # Pixels are codes from the lowest to the highest value of all.
    pixels = np.array([error["pixels"] for error in images["errors"]], dtype=np.float64)
    low, high = (float(pixels.min()), float(pixels.max())) if pixels.size else (0.0, 1.0)
    codes = np.round(255 * (pixels - low) / ((high - low) or 1.0)).astype(np.uint8)
    kind = "<u1" if n_classes <= 256 else "<u2"
    errors = [
        {
            "row": error["row"],
            "label": error["label"],
            "predicted": base64_of(np.array(error["predicted"], dtype=kind)),
        }
        for error in images["errors"]
    ]
    return {
        "shape": images["shape"],
        "templates": templates,
        "down": list(downs),
        "across": list(acrosses),
        "strokes": images["strokes"],
        "errors": errors,
        "pixels": {"low": low, "high": high, "codes": base64_of(codes)},
    }


def base64_of(values: NDArray[Any]) -> str:
    """Return the bytes of an array in base64."""
    return base64.b64encode(values.tobytes()).decode("ascii")


def rounded(values: NDArray[np.floating[Any]], digits: int) -> Any:
    """Return nested lists of the values, to so many significant digits."""
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"), otypes=[float])(values).tolist()
