"""``shareboost export``: a model for other places than Python."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from .app import Force, ModelFile, app
from .errors import CommandError
from .files import STDOUT, loaded, written

TO = ("c", "js", "onnx")


@app.command()
def export(
    model: ModelFile,
    to: Annotated[str, typer.Option("--to", metavar="|".join(TO), help="The language or format.")],
    out: Annotated[str, typer.Option(help="The file to write; `-` is stdout.")],
    force: Force = False,
) -> None:
    """Write a model as C99, as a JavaScript module or as ONNX.

    It computes the chosen features alone, from a row with the columns that the model was
    trained on, in their order. Texts are columns of 0 and 1, as `shareboost path` names them.

    - `shareboost export model.json --to c --out model.h`
    - `shareboost export model.json --to js --out model.mjs`
    - `shareboost export model.json --to onnx --out model.onnx`
    - `shareboost export model.json --to js --out - | gzip > model.mjs.gz`
    """
    if to not in TO:
        raise CommandError(f"--to {to} is not known: it takes {', '.join(TO)}.")
    clf = loaded(model, outs=[out], force=force)
    exporter: Any = getattr(import_module("..export", __package__), f"to_{to}")
    with written(out) as path:
        exporter(clf, path, overwrite=force)
    if out != STDOUT:
        print(f"The model is in {out}.")
