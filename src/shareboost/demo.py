"""Train on scikit-learn's digits and show what each round brings: ``make demo``."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .classifier import ShareBoostClassifier


class Demonstrated(NamedTuple):
    """What the demo trained, and on what."""

    clf: ShareBoostClassifier
    X_train: NDArray[Any]
    X_test: NDArray[Any]
    y_train: NDArray[Any]
    y_test: NDArray[Any]


def main(n_features: int = 20) -> Demonstrated:
    """Print one line a round, then a summary in words."""
    digits = load_digits()
    X_train, X_test, y_train, y_test = train_test_split(
        digits.data, digits.target, test_size=0.3, stratify=digits.target, random_state=0
    )
    clf = ShareBoostClassifier(n_features=n_features).fit(X_train, y_train)

    print("round  feature      loss  training error  test error")
    names = clf.path_.features.names(digits.feature_names)
    staged = zip(clf.staged_predict(X_train), clf.staged_predict(X_test), strict=True)
    for t, (train, test) in enumerate(staged):
        print(
            f"{t + 1:>5}  {names[t]:<10} {clf.path_.losses[t]:6.3f}  "
            f"{(train != y_train).mean():>14.1%}  {(test != y_test).mean():>10.1%}"
        )
    print(
        f"\n{clf.selected_.size} features out of {X_train.shape[1]}, the same for all "
        f"{clf.classes_.size} digits: {1 - clf.score(X_test, y_test):.1%} of "
        f"{len(y_test)} test images are classified wrongly."
    )
    print(
        f"The rounds ended: {clf.path_.stop_reason}. Training took {clf.path_.seconds[-1]:.2f} s."
    )
    return Demonstrated(clf, X_train, X_test, y_train, y_test)


if __name__ == "__main__":
    main()
