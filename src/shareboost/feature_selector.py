"""A fitted model as scikit-learn's tools see it: a selector of columns, with their weights."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .input_columns import (
    NumberedNames,
    columns_by_name,
    columns_kept,
    has_other_names,
    places_among,
)
from .inputs import backend_of, input_of
from .model import Model, importances
from .pools.columns import ColumnFeatures
from .pools.features import Features

if TYPE_CHECKING:
    from .path import Path


def _selects_columns(model: FeatureSelector) -> bool:
    """Return whether the features are columns of X; those of an unfitted pool may be."""
    if hasattr(model, "path_") and model.path_.features.input_columns is None:
        raise AttributeError(
            f"The features of this {type(model).__name__} are no columns of X: columns_ tells the "
            "columns that they read."
        )
    return True


class FeatureSelector(SelectorMixin, BaseEstimator):
    """What a fitted model tells of its features, and of the columns of X that they read."""

    n_features_in_: int
    classes_: NDArray[Any]
    weights_: NDArray[np.float64]
    _intercepts_: NDArray[np.float64]  # of every class, also where there are two
    selected_: NDArray[np.intp]
    columns_: NDArray[np.intp]
    path_: Path
    feature_names_in_: NDArray[Any]
    levels_in_: list[Any]

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the columns of X, ``(n_classes, n_features_in_)``, mostly zero.

        For two classes ``(1, n_features_in_)``, those of the second less those of the first. With
        them ``X @ coef_.T + intercept_`` is the decision function.

        Raises
        ------
        AttributeError
            Where the features are no columns of X or groups of them. ``weights_`` has the
            weights of any features.
        """
        columns = self._model().features.input_columns
        if columns is None:
            raise AttributeError(
                f"coef_ is only available when the features of a {type(self).__name__} are columns "
                "of X or groups of them: weights_ has the weights of any features."
            )
        coef = np.zeros((self.n_features_in_, self.classes_.size))
        np.add.at(coef, columns, self.weights_.T)  # several pools may have chosen one column
        return _as_decision(coef.T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts of the decision function: (n_classes,), or (1,) for two classes."""
        check_is_fitted(self)
        return _as_decision(self._intercepts_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column of X in the weights of the model, ``(n_features_in_,)``, sum 1.

        A feature counts by the sum over classes of the absolute weights of its columns, less
        their mean over classes and times the scale that it was trained in (a standard deviation,
        for columns of X by default). Half of a product goes to either factor, and so on: the
        columns of X that a feature reads have equal shares, but for a piece, whose weights
        belong to one column each, and a template, which shares by how much it looks at a pixel.
        All are zero where no feature has any weight.
        """
        check_is_fitted(self)
        step = self.path_.step(self.selected_.size)
        return importances(self.path_, step, self.n_features_in_)

    @available_if(_selects_columns)
    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Return which columns of X are chosen.

        Only where the features are columns of X or groups of them. ``columns_`` tells the
        columns that other features read.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return their indices and not a mask.

        Returns
        -------
        ndarray of shape ``(n_features_in_,)``, or (n_columns,) for indices
        """
        return super().get_support(indices)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.columns_] = True
        return mask

    @available_if(_selects_columns)
    def inverse_transform(self, X: Any) -> Any:
        """Return rows of ``n_features_in_`` columns, with zeros in those that are not chosen.

        Only where the features are columns of X or groups of them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_columns)
            As ``transform`` returns it.
        """
        return super().inverse_transform(X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the columns of ``transform``, in their order.

        ``path_.names(selected_)`` has the names of the features in the order chosen.
        """
        features = self._features_out()
        if input_features is None and not hasattr(self, "feature_names_in_"):
            names: Sequence[str] = NumberedNames(self.n_features_in_)
        else:
            names = _check_feature_names_in(self, input_features)
        return np.asarray(features.names(names), dtype=object)

    def _model(self) -> Model:
        check_is_fitted(self)
        places, _ = self.path_.places(self.selected_)
        return Model(self.path_.features.take(places), self.weights_, self._intercepts_)

    def _features_out(self) -> Features:
        """Return what ``transform`` computes: columns of X in the order of X."""
        features = self._model().features
        columns = features.input_columns
        return features if columns is None else ColumnFeatures(np.unique(columns))

    def _transformed(self, X: Any) -> Any:
        """Return the columns of the chosen features, without any frame around them."""
        features, rows = self._read(X, self._features_out())
        backend = backend_of(rows)
        with backend.deterministic():
            return backend.columns(features, rows)

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        finite = "allow-nan" if self.path_.features.allows_nan else True
        return input_of(X).check_rows(self, X, finite)

    def _read(self, X: Any, features: Features) -> tuple[Features, Any]:
        """Return features and the checked rows that they read.

        The columns of a frame that has others than those of the fit are found by their names; these
        rows have those columns alone that the features read.
        """
        check_is_fitted(self)
        if not has_other_names(self, X):
            return features, self._check_rows(X)
        columns = columns_kept(features, self.n_features_in_)
        rows = self._of_columns(columns)._check_rows(columns_by_name(self, X, columns))
        return features.renumbered(places_among(columns, self.n_features_in_)), rows

    def _read_model(self, X: Any) -> tuple[Model, Any]:
        """Return the model and the checked rows that it reads."""
        model = self._model()
        features, rows = self._read(X, model.features)
        return replace(model, features=features), rows

    def _of_columns(self, columns: NDArray[np.intp]) -> Self:
        """Return a copy that knows of some columns of X alone."""
        narrow = copy.copy(self)
        narrow.n_features_in_ = columns.size
        if hasattr(self, "feature_names_in_"):
            narrow.feature_names_in_ = self.feature_names_in_[columns]
        if hasattr(self, "levels_in_"):
            narrow.levels_in_ = [self.levels_in_[column] for column in columns]
        return narrow


def _as_decision(of_classes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what makes the decision function of what makes the scores, a class a row."""
    return of_classes[1:] - of_classes[:1] if len(of_classes) == 2 else of_classes
