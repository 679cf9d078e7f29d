"""scikit-learn's callbacks: one task a fit, one subtask a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.callback import CallbackSupportMixin


class FitCallbacks:
    """Tells the callbacks set on an estimator what its fit is doing."""

    def __init__(
        self,
        estimator: CallbackSupportMixin,
        n_rounds: int,
        X: Any,
        y: Any,
        sample_weight: Any,
    ):
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._fit = estimator._init_callback_context(max_subtasks=n_rounds)
        self._fit.call_on_fit_task_begin(**self._arguments)

    def round_ended(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        """Report a round; return whether a callback asks to stop.

        ``fitted`` makes the attributes of an estimator that ends here; it is called
        only for callbacks that want one.
        """
        task = self._fit.subcontext(task_name="round")
        task.call_on_fit_task_begin(**self._arguments)
        return task.call_on_fit_task_end(reconstruction_attributes=fitted, **self._arguments)

    def fit_ended(self, fitted: Callable[[], dict[str, Any]]) -> None:
        """Report the end of the fit."""
        self._fit.call_on_fit_task_end(reconstruction_attributes=fitted, **self._arguments)
