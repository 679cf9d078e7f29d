"""A fitted model as one C99 header."""

from __future__ import annotations

import os
from typing import Any

from ...arguments import one_of
from ...files import write_whole
from ..plan import plan_of
from .header import header_of, layout_of
from .quantisation import LARGEST_CODE
from .step import Form
from .text import identifier


def to_c(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "shareboost",
    weights: str = "float32",
    early_exit: bool = False,
    input_type: str = "float32",
    overwrite: bool = False,
) -> str:
    """Return a fitted classifier as one C99 header."""
    plan = plan_of(model)
    form = Form(
        identifier(name),
        one_of("weights", weights, LARGEST_CODE, "to_c"),
        one_of("input_type", input_type, ("float32", "uint8"), "to_c"),
        early_exit,
    )
    text = header_of(layout_of(plan, form), [])
    if path is not None:
        write_whole(path, text.encode("ascii"), overwrite)
    return text
