"""Options of ``--pool templates``: the shape of the images, and templates and masks."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import Any

from .errors import CommandError


@dataclass(frozen=True)
class TemplateOptions:
    """What is asked of templates; None takes the pool's own choice."""

    image_shape: tuple[int, ...] | None = None
    patch_size: int | None = None
    sigma: float | None = None
    n_templates: int | None = None

    @classmethod
    def of(
        cls,
        pool: str,
        image_shape: str | None,
        patch_size: int | None,
        sigma: float | None,
        templates: int | None,
    ) -> TemplateOptions:
        """Return the options as they were given; an error where the pool takes none of them."""
        given = {
            "--image-shape": image_shape,
            "--patch-size": patch_size,
            "--sigma": sigma,
            "--templates": templates,
        }
        named = [option for option, value in given.items() if value is not None]
        if named and pool != "templates":
            raise CommandError(f"{named[0]} is for --pool templates, and the pool is {pool}.")
        if sigma is not None and not 0 < sigma < math.inf:
            raise CommandError(f"--sigma {sigma:g} is not valid: it takes a number above 0.")
        return cls(
            None if image_shape is None else _shape(image_shape), patch_size, sigma, templates
        )

    def pool(self, n_columns: int) -> Any:
        """Return the pool for images of so many columns."""
        from ..pools import Templates

        given: dict[str, Any] = asdict(self)
        pool = Templates(**{name: value for name, value in given.items() if value is not None})
        height, width, channels = self._sides(n_columns)
        side: Any = pool.patch_size
        if side > min(height, width) or side * channels == 1:
            raise CommandError(
                f"--patch-size {side} does not fit images of {height}x{width}: it takes the side "
                "of a square of at least 2 numbers inside them."
            )
        return pool

    def _sides(self, n_columns: int) -> tuple[int, int, int]:
        """Return height, width and channels of the images."""
        if self.image_shape is None:
            side = math.isqrt(n_columns)
            if side * side != n_columns:
                raise CommandError(
                    f"--pool templates takes rows for square images, and there are {n_columns} "
                    "columns, not a square number: --image-shape HxW or HxWxC tells their shape."
                )
            return side, side, 1
        if math.prod(self.image_shape) != n_columns:
            shown = "x".join(map(str, self.image_shape))
            raise CommandError(
                f"--image-shape {shown} has {math.prod(self.image_shape)} numbers, and there are "
                f"{n_columns} columns: it takes HxW or HxWxC with that product."
            )
        height, width, *channels = self.image_shape
        return height, width, channels[0] if channels else 1


def _shape(text: str) -> tuple[int, ...]:
    """Return the numbers of HxW or HxWxC."""
    if not re.fullmatch(r"[1-9]\d{0,8}(x[1-9]\d{0,8}){1,2}", text, flags=re.ASCII):
        raise CommandError(
            f"--image-shape {text} is not valid: it takes HxW or HxWxC, for instance 28x28."
        )
    return tuple(map(int, text.split("x")))
