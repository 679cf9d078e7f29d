"""Templates: the largest over all places of an image of response times mask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .base import Form, Primitive, Step, Tables, Values, weighted
from .lanes import step_of

if TYPE_CHECKING:
    from ..onnx_model import Nodes
    from ..plan import Plan


@dataclass(frozen=True)
class Matches(Primitive):
    """Templates: the largest over all places of response times mask.

    The input is an image, (height, width, channels), divided by ``unit``; the value is
    multiplied by it. Value i is that of template ``template[i]`` under the mask
    ``outer(masks_down[down[i]], masks_across[across[i]])``: templates and masks are listed once,
    however many values share them.
    """

    image_shape: tuple[int, int, int]
    unit: float
    templates: list[NDArray[np.float32]]  # (rows, columns, channels) each, all different
    masks_down: list[NDArray[np.float32]]  # (places down,) each, all different
    masks_across: list[NDArray[np.float32]]
    template: NDArray[np.intp]
    down: NDArray[np.intp]
    across: NDArray[np.intp]

    searched = True

    @classmethod
    def of(cls, templates: Any = (), down: Any = (), across: Any = (), **fields: Any) -> Matches:
        """Return the matches of a template and the two sides of a mask for each value."""
        fields["templates"], fields["template"] = _different(templates)
        fields["masks_down"], fields["down"] = _different(down)
        fields["masks_across"], fields["across"] = _different(across)
        return cls(**fields)

    def steps(self, plan: Plan, prefix: str, form: Form) -> Iterator[Step]:
        """Yield a step for each size of templates."""
        for place, same in enumerate(by_size(self)):
            yield step_of(same, plan, f"{prefix}_{place}", form)

    def values(self, step: Step, X: NDArray[Any]) -> Values:
        """Return the largest responses, in units of the codes."""
        from ...kernels.templates import template_column

        images = np.ascontiguousarray(X.reshape(-1, *self.image_shape) / self.unit, np.float32)
        values = np.empty((self.template.size, len(X)), dtype=np.float32)
        numbers = zip(self.template, self.down, self.across, strict=True)
        for i, (template, down, across) in enumerate(numbers):
            codes = np.ascontiguousarray(self.templates[template], np.float32)
            masks = self.masks_down[down], self.masks_across[across]
            template_column(images, codes, *masks, values[i])
        return values.T.astype(np.float64)

    def search_tables(self, step: Step, rounding: float) -> Tables:
        """Return how much rounding may do, in units of the highest response under each mask."""
        norms = 1.0 / step.tables["inverse"].astype(np.float64)
        sizes = np.zeros((len(self.masks_down), len(self.masks_across)))
        np.add.at(sizes, (self.down, self.across), norms * np.abs(step.decoded).max(axis=1))
        return {"sizes": (sizes.ravel() * rounding).astype(np.float32)}

    def calls(self) -> list[dict[str, Any]]:
        return [same._arguments() for same in by_size(self)]

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments for templates of one size."""
        rows, columns, channels = self.templates[0].shape
        return {
            "places": self.places,
            "unit": self.unit,
            "width": self.image_shape[1],
            "channels": channels,
            "rows": rows,
            "columns": columns,
            "nDown": self.masks_down[0].size,
            "nAcross": self.masks_across[0].size,
            "templates": np.stack(self.templates),
            "template": self.template,
            "masksDown": np.stack(self.masks_down),
            "down": self.down,
            "masksAcross": np.stack(self.masks_across),
            "across": self.across,
        }

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        images = self._add_images(nodes, x)
        for same in by_size(self):
            n_places = same.masks_down[0].size * same.masks_across[0].size
            batches = nodes.batches(same.places.size, n_places)
            matches = [same._add_matches(nodes, images, some) for some in batches]
            values = nodes.add("Concat", *matches, axis=1) if len(matches) > 1 else matches[0]
            values = nodes.cast(values, np.float64)
            if same.unit != 1.0:
                values = nodes.add("Mul", values, nodes.constant(same.unit, np.float64))
            yield weighted(nodes, plan, values, same.places)

    def _add_images(self, nodes: Nodes, x: str) -> str:
        """Add the rows as images in float32, channels first, over their unit."""
        height, width, channels = self.image_shape
        if self.unit != 1.0:
            x = nodes.cast(x, np.float64)
            x = nodes.add("Mul", x, nodes.constant(1.0 / self.unit, np.float64))
        x = nodes.cast(x, np.float32)
        if channels == 1:
            return nodes.reshape(x, 0, 1, height, width)
        shaped = nodes.reshape(x, 0, height, width, channels)
        return nodes.add("Transpose", shaped, perm=[0, 3, 1, 2])

    def _add_matches(self, nodes: Nodes, images: str, some: slice) -> str:
        """Add some values, (rows, n), of templates of one size; each is convolved once."""
        used, template = np.unique(self.template[some], return_inverse=True)
        filters = np.stack([self.templates[number] for number in used]).transpose(0, 3, 1, 2)
        responses = nodes.add("Conv", images, nodes.constant(filters, np.float32))
        if used.size < template.size:
            responses = nodes.take(responses, template)
        across = nodes.constant(np.stack(self.masks_across), np.float32)
        across = nodes.take(across, self.across[some], axis=0)
        down = nodes.take(nodes.constant(np.stack(self.masks_down), np.float32), self.down[some], 0)
        down = nodes.reshape(down, template.size, self.masks_down[0].size, 1)
        across = nodes.reshape(across, template.size, 1, self.masks_across[0].size)
        masks = nodes.add("Mul", down, across)
        return nodes.reduce("ReduceMax", nodes.add("Mul", responses, masks), 2, 3)


def by_size(part: Matches) -> list[Matches]:
    """Return the matches of every size of template, each in the order of the templates."""
    shapes = [part.templates[template].shape for template in part.template]
    sizes = []
    for shape in dict.fromkeys(shapes):
        some = np.flatnonzero([other == shape for other in shapes])
        some = some[np.argsort(part.template[some], kind="stable")]
        fields: dict[str, Any] = {"places": part.places[some]}
        indices = {"templates": "template", "masks_down": "down", "masks_across": "across"}
        for names, name in indices.items():
            used, fields[name] = np.unique(getattr(part, name)[some], return_inverse=True)
            fields[names] = [getattr(part, names)[number] for number in used]
        sizes.append(replace(part, **fields))
    return sizes


def _different(arrays: list[NDArray[np.float32]]) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the different ones among some arrays, and which of them each is."""
    known: dict[tuple[Any, ...], int] = {}
    which = [known.setdefault((a.shape, a.tobytes()), len(known)) for a in arrays]
    firsts = np.unique(which, return_index=True)[1]
    return [arrays[first] for first in firsts], np.array(which, dtype=np.intp)
