"""``shareboost demo``: what it does, on scikit-learn's digits."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..io.files import check_target
from .app import Force, app
from .files import table


@app.command()
def demo(
    out: Annotated[str, typer.Option(help="The page to write.")] = "report.html",
    features: Annotated[int, typer.Option(min=1, help="How many features at most.")] = 20,
    force: Force = False,
) -> None:
    """Train on scikit-learn's digits, round by round, and write a page to look at.

    - `shareboost demo`
    - `shareboost demo --features 10 --out digits.html`
    """
    from ..inspection.report import write_report

    check_target(out, force)
    clf, X_train, X_test, y_train, y_test = train_on_digits(features)
    training = {"X_train": X_train, "y_train": y_train}
    write_report(clf, X_test, y_test, out, **training, title="Digits", overwrite=force)
    print(f"The report is in {out}: open it in a browser.")


def train_on_digits(n_features: int) -> tuple[Any, ...]:
    """Print one line per round, then a summary; return the classifier and its rows."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from ..classifier import ShareBoostClassifier

    digits = load_digits()
    X_train, X_test, y_train, y_test = train_test_split(
        digits.data, digits.target, test_size=0.3, stratify=digits.target, random_state=0
    )
    clf = ShareBoostClassifier(n_features=n_features).fit(X_train, y_train)
    path = clf.path_
    rows = zip(
        map(str, range(1, len(path) + 1)),
        path.features.names(digits.feature_names),
        (f"{loss:.3f}" for loss in path.losses),
        (f"{(labels != y_train).mean():.1%}" for labels in clf.staged_predict(X_train)),
        (f"{(labels != y_test).mean():.1%}" for labels in clf.staged_predict(X_test)),
        strict=True,
    )
    heads = ["round", "feature", "loss", "training error", "test error"]
    print(table(heads, [list(row) for row in rows]))
    print(
        f"\n{clf.selected_.size} features out of {X_train.shape[1]}, the same for all "
        f"{clf.classes_.size} digits: {1 - clf.score(X_test, y_test):.1%} of "
        f"{len(y_test)} test images are classified wrongly."
    )
    print(f"The rounds ended: {path.stop_reason}. Training took {path.seconds[-1]:.2f} s.")
    return clf, X_train, X_test, y_train, y_test
