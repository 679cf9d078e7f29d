"""Templates: the largest over all places of an image of response times mask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..c.step import Form, Step
from ..fragments import template
from ..literals import floats, integers, number
from ..onnx_nodes import Nodes
from .base import Call, CodeBytes, Places, Primitive, Values, weighted
from .lanes import step_of
from .pruning import sizes_table

if TYPE_CHECKING:
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
        listed = [_different(arrays) for arrays in (templates, down, across)]
        (templates, masks_down, masks_across), which = zip(*listed, strict=True)
        names = ("template", "down", "across")
        return cls(
            templates=templates,
            masks_down=masks_down,
            masks_across=masks_across,
            **dict(zip(names, which, strict=True)),
            **fields,
        )

    def steps(self, plan: Plan, prefix: str, form: Form) -> list[Step]:
        """Return a step for each size of templates."""
        return [
            step_of(same, plan, f"{prefix}_{number}", form)
            for number, same in enumerate(by_size(self))
        ]

    def values(self, step: Step, X: NDArray[Any]) -> Values:
        """Return the largest responses, in units of the codes."""
        from ...kernels.templates import template_column

        images = np.ascontiguousarray(X.reshape(-1, *self.image_shape) / self.unit, np.float32)
        found = np.empty((self.template.size, len(X)), dtype=np.float32)
        assert step.lane is not None
        lanes = step.words["lanes"]
        blocks = step.tables["taps"].reshape(-1, step.words["taps"], lanes)
        for i, lane in enumerate(step.lane):
            template = blocks[lane // lanes, :, lane % lanes].astype(np.float32)
            template_column(
                images,
                template.reshape(self.templates[0].shape),
                self.masks_down[self.down[i]],
                self.masks_across[self.across[i]],
                found[i],
            )
        return found.T.astype(np.float64)

    def search_tables(
        self, step: Step, weights: Values, rounding: float
    ) -> dict[str, NDArray[np.float32]]:
        return {"sizes": sizes_table(self, step.tables["inverse"], weights, rounding)}

    def code_bytes(self, step: Step) -> CodeBytes:
        """Return less for two features, or one template; more for several channels."""
        fewer = min(step.n - 1, step.words["lanes"]) == 1
        channels = 120 if step.words["channels"] > 1 else 0
        several = (1010 - 130, 26) if fewer else (1010, 70)
        return CodeBytes(700 + channels, several[0] + channels, 26, several[1])

    def calls(self) -> list[Call]:
        source = template("primitives/matches.js")
        return [Call("matches", source, _fields(same)) for same in stacked_by_size(self)]

    def add_scores(self, nodes: Nodes, plan: Plan, x: str) -> Iterator[str]:
        images = self._add_images(nodes, x)
        for same in stacked_by_size(self):
            n_places = same.masks_down.shape[1] * same.masks_across.shape[1]
            batches = nodes.batches(same.places.size, n_places)
            found = [_add_matches(nodes, images, same, some) for some in batches]
            values = nodes.add("Concat", *found, axis=1) if len(found) > 1 else found[0]
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


@dataclass(frozen=True)
class SameSize:
    """Matches of templates of one size; values are in the order of their templates."""

    places: Places
    image_shape: tuple[int, int, int]
    unit: float
    templates: NDArray[np.float32]  # (n, rows, columns, channels)
    masks_down: NDArray[np.float32]  # (a, places down)
    masks_across: NDArray[np.float32]  # (b, places across)
    template: NDArray[np.intp]  # (values,), rising
    down: NDArray[np.intp]
    across: NDArray[np.intp]


def by_size(part: Matches) -> list[Matches]:
    """Return the matches of every size of template, in the order of their first use."""
    shapes = [part.templates[template].shape for template in part.template]
    found = []
    for shape in dict.fromkeys(shapes):
        some = np.array([own == shape for own in shapes])
        templates, template = np.unique(part.template[some], return_inverse=True)
        masks_down, down = np.unique(part.down[some], return_inverse=True)
        masks_across, across = np.unique(part.across[some], return_inverse=True)
        found.append(
            replace(
                part,
                places=part.places[some],
                templates=[part.templates[number] for number in templates],
                masks_down=[part.masks_down[number] for number in masks_down],
                masks_across=[part.masks_across[number] for number in masks_across],
                template=template,
                down=down,
                across=across,
            )
        )
    return found


def stacked_by_size(part: Matches) -> list[SameSize]:
    """Return the matches of every size as stacked arrays, in the order of their templates."""
    found = []
    for own in by_size(part):
        order = np.argsort(own.template, kind="stable")
        found.append(
            SameSize(
                own.places[order],
                own.image_shape,
                own.unit,
                np.stack(own.templates),
                np.stack(own.masks_down),
                np.stack(own.masks_across),
                own.template[order],
                own.down[order],
                own.across[order],
            )
        )
    return found


def _different(
    arrays: list[NDArray[np.float32]],
) -> tuple[list[NDArray[np.float32]], NDArray[np.intp]]:
    """Return the different ones among some arrays, and which of them each is."""
    known: dict[tuple[Any, ...], int] = {}
    which = [known.setdefault((a.shape, a.tobytes()), len(known)) for a in arrays]
    first = np.unique(np.array(which, dtype=np.intp), return_index=True)[1]
    return [arrays[place] for place in first], np.array(which, dtype=np.intp)


def _fields(part: SameSize) -> dict[str, str]:
    """Return the fields of templates of one size."""
    _, rows, columns, channels = part.templates.shape
    sizes = {
        "width": part.image_shape[1],
        "channels": channels,
        "rows": rows,
        "columns": columns,
        "nDown": part.masks_down.shape[1],
        "nAcross": part.masks_across.shape[1],
    }
    return {
        "places": integers(part.places),
        "unit": number(part.unit),
        **{name: str(size) for name, size in sizes.items()},
        "templates": floats(part.templates),
        "template": integers(part.template),
        "masksDown": floats(part.masks_down),
        "down": integers(part.down),
        "masksAcross": floats(part.masks_across),
        "across": integers(part.across),
    }


def _add_matches(nodes: Nodes, images: str, part: SameSize, some: slice) -> str:
    """Add some values of templates, (rows, n); each template is convolved once among them."""
    used, template = np.unique(part.template[some], return_inverse=True)
    filters = nodes.constant(part.templates[used].transpose(0, 3, 1, 2), np.float32)
    responses = nodes.add("Conv", images, filters)
    if used.size < template.size:
        responses = nodes.take(responses, template)
    across = nodes.take(nodes.constant(part.masks_across, np.float32), part.across[some], axis=0)
    down = nodes.take(nodes.constant(part.masks_down, np.float32), part.down[some], axis=0)
    n, n_across, n_down = template.size, part.masks_across.shape[1], part.masks_down.shape[1]
    masks = nodes.add(
        "Mul", nodes.reshape(down, n, n_down, 1), nodes.reshape(across, n, 1, n_across)
    )
    return nodes.reduce("ReduceMax", nodes.add("Mul", responses, masks), 2, 3)
