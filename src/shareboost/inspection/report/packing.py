"""The data of a report in the compact form that its page reads."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...class_weights import LEAST_SHARE
from .numbers import rounded

# Of a model's weights, coded by the square root of their magnitude: small ones stay apart.
LARGEST_CODE = 127


def packed(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a report as the page reads them, a tenth of their size as plain JSON.

    Models become columns; confusion matrices are told by what changes from model to model, and
    weights, templates and pixels by codes of one byte, in base64.
    """
    models = data["models"]
    columns = {
        name: [model[name] for model in models]
        for name in ("n_features", "n_inputs_read", "wrong", "error", "train_error", "price")
    }
    return {
        **data,
        "least_share": LEAST_SHARE,
        "models": {
            **columns,
            "interval": rounded(np.array([model["interval"] for model in models]), 4),
            "loss": [None if m["loss"] is None else float(f"{m['loss']:.5g}") for m in models],
            "costs": _costs(models),
            "confusion": _changes([model["confusion"] for model in models]),
            "features": [_first_ones(model["features"]) for model in models],
            "weights": [_coded(model["weights"]) for model in models],
        },
        "images": None if data["images"] is None else _images(data["images"], len(data["classes"])),
    }


def _costs(models: list[dict[str, Any]]) -> dict[str, list[int]] | None:
    if models[0]["costs"] is None:
        return None
    return {name: [model["costs"][name] for model in models] for name in models[0]["costs"]}


def _changes(matrices: list[Any]) -> list[list[int]]:
    """Return what every matrix changes of the one before, as place, difference, place, ..."""
    flat = np.array(matrices, dtype=np.int64).reshape(len(matrices), -1)
    found = []
    for changes in np.diff(flat, axis=0, prepend=0):
        places = np.flatnonzero(changes)
        found.append(np.stack([places, changes[places]], axis=1).ravel().tolist())
    return found


def _first_ones(features: list[int]) -> int | list[int]:
    """Return how many there are, where they are the first ones, else all."""
    return len(features) if features == list(range(len(features))) else features


def _coded(weights: list[list[float]]) -> dict[str, Any]:
    """Return weights as codes, feature after feature; a weight is ``sign * (code / 127)**2``.

    That is times ``largest``.
    """
    W = np.array(weights, dtype=np.float64)
    largest = float(np.abs(W).max(initial=0.0))
    codes = np.sign(W) * np.round(LARGEST_CODE * np.sqrt(np.abs(W) / (largest or 1.0)))
    return {"largest": largest, "codes": base64_of(codes.astype(np.int8))}


def _images(images: dict[str, Any], n_classes: int) -> dict[str, Any]:
    downs: dict[tuple[float, ...], int] = {}
    acrosses: dict[tuple[float, ...], int] = {}
    templates = []
    for one in images["templates"]:
        values = np.array(one["template"])
        largest = float(np.abs(values).max()) or 1.0
        templates.append(
            {
                "feature": one["feature"],
                "size": list(values.shape),
                "codes": base64_of(np.round(127 * values / largest).astype(np.int8)),
                "down": downs.setdefault(tuple(one["down"]), len(downs)),
                "across": acrosses.setdefault(tuple(one["across"]), len(acrosses)),
            }
        )
    return {
        "shape": images["shape"],
        "templates": templates,
        "down": list(downs),
        "across": list(acrosses),
        "strokes": images["strokes"],
        **_errors(images["errors"], "<u1" if n_classes <= 256 else "<u2"),
    }


def _errors(errors: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return misclassified images, their pixels as codes from the lowest to the highest value.

    Predictions are integers of that kind.
    """
    pixels = np.array([error["pixels"] for error in errors], dtype=np.float64)
    low = float(pixels.min(initial=np.inf)) if errors else 0.0
    high = float(pixels.max(initial=-np.inf)) if errors else 1.0
    codes = np.round(255 * (pixels - low) / ((high - low) or 1.0)).astype(np.uint8)
    return {
        "errors": [
            {
                "row": error["row"],
                "label": error["label"],
                "predicted": base64_of(np.array(error["predicted"], dtype=kind)),
            }
            for error in errors
        ],
        "pixels": {"low": low, "high": high, "codes": base64_of(codes)},
    }


def base64_of(values: NDArray[Any]) -> str:
    """Return the bytes of an array in base64."""
    return base64.b64encode(values.tobytes()).decode("ascii")
