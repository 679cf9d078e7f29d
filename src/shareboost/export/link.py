"""How a model's scores become probabilities, for exported forms."""

from __future__ import annotations

from ..prediction import Predictor


def sigmoid_slope(model: Predictor) -> float | None:
    """Return the slope of the sigmoids that over their sum are the probabilities.

    None where the probabilities are the softmax of the scores.

    Raises
    ------
    TypeError
        For a classifier that makes them in another way.
    """
    from ..rivals import JointBoostClassifier, OneVsRestGreedyClassifier

    if isinstance(model, OneVsRestGreedyClassifier):
        return 1.0
    if isinstance(model, JointBoostClassifier):
        return None if model.classes_.size == 2 else 2.0
    if type(model)._logits is Predictor._logits:
        return None
    raise TypeError(
        f"The probabilities of {type(model).__name__} cannot be exported: it has a _logits of "
        "its own."
    )
