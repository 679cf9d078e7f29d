"""``shareboost export``: a model for other places than Python."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import app
from .errors import CommandError
from .options import Debug, Force, ModelFile

TO = ("c", "js", "onnx")


@app.command()
def export(
    model: ModelFile,
    to: Annotated[str, typer.Option("--to", metavar="|".join(TO), help="The language or format.")],
    out: Annotated[str, typer.Option(help="The file to write; `-` is stdout.")],
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Write a model as C99, as a JavaScript module or as ONNX.

    It computes the chosen features alone, from a row with the columns that the model was
    trained on, in their order. Texts are columns of 0 and 1, as `shareboost path` names them.

    - `shareboost export model.json --to c --out model.h`
    - `shareboost export model.json --to js --out model.mjs`
    - `shareboost export model.json --to onnx --out model.onnx`
    - `shareboost export model.json --to js --out - | gzip > model.mjs.gz`
    """
    from .models import loaded
    from .outputs import STDOUT, check_output, tell, written

    if to not in TO:
        raise CommandError(f"--to {to} is not known: it takes {', '.join(TO)}.")
    check_output(out, force)
    clf = loaded(model)
    with written(out) as path:
        if to == "c":
            from ..export import to_c

            to_c(clf, path, overwrite=force)
        elif to == "js":
            from ..export import to_js

            to_js(clf, path, overwrite=force)
        else:
            from ..export import to_onnx

            to_onnx(clf, path, overwrite=force)
    if out != STDOUT:
        tell(f"The model is in {out}.")
