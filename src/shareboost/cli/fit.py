"""``shareboost fit``: a model from a table."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import Data, Force, Format, app
from .errors import INTERRUPTED, CommandError, say
from .files import STDOUT, check_files, output

POOLS = ("columns", "stumps", "hinges", "products", "pieces", "templates")


@app.command()
def fit(
    ctx: typer.Context,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option(help="The column with the classes, of CSV, TSV and Parquet."),
    ] = None,
    features: Annotated[int, typer.Option(min=1, help="How many features at most.")] = 20,
    out: Annotated[
        str, typer.Option(help="The model file to write; `-` is stdout.")
    ] = "model.json",
    pool: Annotated[
        str,
        typer.Option(
            metavar="|".join(POOLS),
            help="What to choose among: the columns, all stumps (column <= threshold; they take "
            "missing values), hinges (max(0, column - threshold)), all products of two columns, "
            "local linear pieces, or templates of images.",
        ),
    ] = "columns",
    image_shape: Annotated[
        str | None,
        typer.Option(
            metavar="HxW[xC]",
            help="For --pool templates: height, width and channels of the images, which are the "
            "rows, channels last. Square ones of one channel unless told.",
        ),
    ] = None,
    pool_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A parameter of the pool, such as patch_size=3 of templates or max_bins=32 of "
            "stumps. May be repeated.",
        ),
    ] = None,
    cv: Annotated[
        bool,
        typer.Option("--cv", help="Choose how many features, up to --features, by 5 folds."),
    ] = False,
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Rows to measure the error of every round on."),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(help="Or the share of the rows to hold out for that, for instance 0.2."),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What each column costs: CSV lines `column,cost`. Features are then chosen by "
            "what they bring per cost.",
        ),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="The most that all features may cost together.")
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A feature to have in any case. May be repeated. A column by its name; with other "
            "pools a feature as `shareboost path` names it, such as `a ≤ 0.5` or `a · b`.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A feature never to choose, named likewise; a column stands for all features "
            "that read it. May be repeated.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column to leave out, an id perhaps. Repeatable."),
    ] = None,
    one_hot: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Make a feature of each text of columns of text, which have up to N different "
            "ones. Else columns of text are an error.",
        ),
    ] = None,
    swap: Annotated[
        bool, typer.Option("--swap", help="Exchange features that later ones made useless. Slower.")
    ] = False,
    model_only: Annotated[
        bool, typer.Option("--model-only", help="Write the last model without its rounds.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the rows held out.")] = 0,
    format_: Format = None,
    force: Force = False,
) -> None:
    """Choose a few features of a table and train a classifier on them.

    Ctrl-C ends the rounds early: the finished ones are saved. During the folds of --cv there is
    nothing yet to save.

    - `shareboost fit iris.csv --target species`
    - `shareboost fit genes.parquet --target tumour --features 10 --holdout 0.2 --out genes.json`
    - `shareboost fit people.csv --target income --one-hot 50 --pool stumps --cv`
    - `shareboost fit sensors.csv --target state --costs prices.csv --budget 100`
    - `zcat big.csv.gz | shareboost fit - --target y --out - > model.json`
    """
    from ..io.model_file import content_of
    from .fitting import fitted, summary

    if pool not in POOLS:
        raise CommandError(f"--pool {pool} is not known: it takes {', '.join(POOLS)}.")
    if test is not None and holdout is not None:
        raise CommandError("--test and --holdout are two ways to hold out rows: give one of them.")
    if holdout is not None and not 0 < holdout < 1:
        raise CommandError(f"--holdout {holdout:g} is not valid: it takes a share from 0 to 1.")
    check_files({"DATA": data, "--test": test}, [out], force)
    clf, rows = fitted(ctx.params)
    with output(out, force) as file:
        file.write(content_of(clf, whole_path=not model_only))
    if out != STDOUT:
        print(*summary(clf, rows), f"The model is in {out}.", sep="\n")
    if clf.path_.stop_reason == "interrupted":
        say(f"Interrupted: the {clf.selected_.size} finished rounds are saved.")
        raise typer.Exit(INTERRUPTED)
