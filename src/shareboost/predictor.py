"""A fitted classifier: all that reads the path, and nothing of how it was made."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from .arrays import dense, labelled, to_float64
from .feature_selector import FeatureSelector
from .input_columns import NumberedNames, columns_kept, places_among
from .inputs import backend_of, input_of
from .model import fitted_attributes
from .outputs import StepWeights, contributions_of, decision, labels_of, log_softmax, softmax
from .path import alone
from .pools import Columns, Pool, known_pool, new_pool, takes_nan
from .pools.groups import GroupFeatures

# Parameters that name columns of X, or have an item for each.
OF_COLUMNS = ("groups", "costs", "include", "exclude")


class Predictor(ClassifierMixin, FeatureSelector, BaseEstimator):
    """What an estimator with the attributes of ``fitted_attributes`` can do."""

    n_features: int | None
    pool: str | Pool
    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return those of the pool too, such as ``pool__max_bins``, whether it is
            given by name or as an object.

        Returns
        -------
        params : dict
            Parameter names mapped to their values.
        """
        params: dict[str, Any] = super().get_params(deep)
        named = params.get("pool")
        if deep and isinstance(named, str) and (pool := known_pool(named)) is not None:
            params |= {f"pool__{name}": value for name, value in pool.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Estimator parameters. Those of the pool have names such as ``pool__max_bins``; a pool
            given by name is replaced by an object of it first.

        Returns
        -------
        self
        """
        nested = any(name.startswith("pool__") for name in params)
        if nested and "pool" in self._get_param_names():
            pool = params.get("pool", self.pool)
            validate_parameter_constraints(
                self._parameter_constraints, {"pool": pool}, caller_name=type(self).__name__
            )
            params["pool"] = new_pool(pool) if isinstance(pool, str) else pool
        super().set_params(**params)
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the scores, (n_samples, n_classes).

        For two classes, that of the second less that of the first, (n_samples,). Of a torch
        tensor or a CuPy array they are computed on its device and returned there, as all that
        is predicted. Of a Dask array or frame, all that is predicted is a lazy Dask array with
        the same chunks of rows, of NumPy's blocks.
        """
        return self._answered("decisions", X)

    def predict(self, X: Any) -> Any:
        """Return the class of the highest score for each row; ties go to the first class.

        Of a device's array, labels that are no numbers come as NumPy's.
        """
        return self._answered("predict", X)

    def predict_proba(self, X: Any) -> Any:
        """Return the softmax of the scores, (n_samples, n_classes).

        Where the classes were trained one by one, their sigmoids over the sum of them.
        With ``margin=0`` these are the probabilities of logistic regression. A margin
        trains for the decision: the order of classes is right, the values are not
        calibrated.
        """
        return self._answered("proba", X)

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of ``predict_proba``, (n_samples, n_classes)."""
        return self._answered("log-proba", X)

    def explain(self, X: Any) -> Any:
        """Return what each chosen feature adds to the scores of each row.

        A feature's contribution to the score of a class is its value times its weight; those of
        a feature of several columns, such as a group or a piece, are added up. The contributions
        of a row and the intercept add up to its score.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features_in)

        Returns
        -------
        array of shape (n_samples, n_classes, n_selected)
            In the order of ``classes_`` and ``selected_``. For two classes, contributions to the
            one score of ``decision_function``, (n_samples, n_selected). Of a pandas frame, a frame
            with the same index and a column for each class and feature: ``explain(X)[label]`` has
            a column for each feature. Of a polars frame, one with a struct column for each class:
            ``explain(X)[str(label)].struct.unnest()``. Both have plain columns for two classes.
            Of Dask's rows, a lazy Dask array.

        Notes
        -----
        In exact arithmetic the sums equal the scores. In float64 sums in another order round
        otherwise: they differ by no more than ``2 (n + 2) u (|b| + sum |w x|)``, where a class has
        the n weights w, the values x and the intercept b, and u is ``2**-53``. For two classes the
        bound is the sum of theirs.

        The result holds a number for each row, class and feature: ask for the rows to look at.

        A feature contributes nothing where its value is 0. To start from a typical row instead,
        subtract the mean contribution over a background:
        ``clf.explain(X) - clf.explain(background).mean(axis=0)``. These are the Shapley values of
        independent features, and they add up to the scores less their mean over the background.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from shareboost import ShareBoostClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = ShareBoostClassifier(n_features=2).fit(X, y)
        >>> clf.explain(X)[2].head(1).round(1)  # of class 2
        feature  petal length (cm)  petal width (cm)
        0                      5.3               1.5
        """
        contributions = self._answered("explain", X)
        names = partial(self.path_.names, self.selected_)
        return labelled(contributions, X, self.classes_, names)

    def transform(self, X: Any) -> Any:
        """Return the columns of the chosen features.

        Columns of X, alone or in groups, stay in the order of X, as selectors of scikit-learn
        keep them: ``X[:, get_support()]``. The columns of other features are in the order chosen,
        that of ``selected_`` and ``weights_``.

        Returns
        -------
        array of shape (n_samples, n_columns)
        """
        return self._answered("transform", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on X: the weighted share of labels that ``predict`` tells.

        Of Dask's rows it is computed where they are, and y and the weights may be Dask's too.
        """
        predicted = self.predict(X)
        return input_of(predicted).accuracy(predicted, y, sample_weight)

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Yield the decision function of every model of ``path_``, in its order.

        Of Dask's rows they are lazy; ``dask.compute(*...)`` of all of them reads X once.
        """
        yield from input_of(X).staged(self, "decisions", X)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Yield the predictions of every model of ``path_``, in its order."""
        yield from input_of(X).staged(self, "predict", X)

    def at(self, t: int) -> Self:
        """Return the classifier of ``t`` features, from the same run.

        It is the last model of the run that has at most so many, with the weights that it
        had then; the last model of all is the classifier itself. In ShareBoost without swaps
        these are the first t of ``selected_``. Its weights of round t are refit to
        ``refit_tol`` of the round's score; only the last round's to ``tol / 10``.
        """
        check_is_fitted(self)
        path = self.path_.first(t)
        shorter = copy.copy(self).set_params(n_features=max(1, int(t)))
        shorter.__dict__.update(fitted_attributes(self, self.classes_, path, self.path_.step(t)))
        return shorter

    def reduced(self) -> Self:
        """Return the same classifier for rows that have the columns it reads alone.

        These are ``columns_``, in the order of X: ``clf.reduced().predict(X[:, clf.columns_])`` is
        ``clf.predict(X)``, and so is all else that is predicted, to the last bit. Where X had
        names they keep theirs. A classifier that reads no column takes the first.

        It has its own model and not the rounds before it: ``clf.at(t).reduced()`` is that of
        fewer features. Its parameters are those of this classifier, but ``groups``, ``costs``,
        ``include`` and ``exclude``, which tell of other columns, are None. A ``pool`` stays as it
        is: one with labels of columns, such as ``Groups``, cannot be fitted to fewer columns.
        Pieces and templates read all columns.
        """
        check_is_fitted(self)
        path = alone(self)
        columns = columns_kept(path.features, self.n_features_in_)
        features = path.features.renumbered(places_among(columns, self.n_features_in_))
        new_ids = dict(zip(path.features.ids.tolist(), features.ids.tolist(), strict=True))
        atoms = tuple(features.ids.tolist())
        only = replace(path.last, atom=new_ids.get(path.last.atom, -1), atoms=atoms, swaps=())
        smaller = self._of_columns(columns)
        known = smaller.get_params(deep=False)
        changes: dict[str, Any] = {name: None for name in OF_COLUMNS if name in known}
        if known.get("estimator") is not None:
            changes["estimator"] = clone(known["estimator"]).set_params(**dict.fromkeys(OF_COLUMNS))
        smaller.set_params(**changes)
        if isinstance(features, GroupFeatures) and hasattr(self, "groups_"):
            smaller.groups_ = self.groups_[np.sort(self.selected_)]
        names = getattr(smaller, "feature_names_in_", None)
        path = replace(
            path,
            features=features,
            start=only,
            rounds=[only],
            input_names=NumberedNames(columns.size) if names is None else tuple(names),
        )
        smaller.__dict__.update(fitted_attributes(smaller, self.classes_, path, only))
        return smaller

    def save(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, whole_path: bool = True
    ) -> None:
        """Write the classifier to one file, from which ``load_model`` makes it again.

        The file is JSON, described in docs/model-file.md; to load it runs nothing in it, and
        gives the same predictions to the last bit. ``ShareBoostCV`` comes back as the
        ``ShareBoostClassifier`` that it chose, a rival as a rival of the same class and parameters.
        Pools of your own have no file.

        Parameters
        ----------
        path : str or path-like
            The file, written whole or not at all.
        overwrite : bool, default=False
            Whether a file that is there already may be replaced.
        whole_path : bool, default=True
            Whether to keep every round, for ``at(t)``, ``staged_predict``, ``path_`` and
            ``warm_start`` of what is loaded, or this model alone, in a smaller file. Of the path of
            a rival the models are kept, and not what else ``path_.to_frame()`` tells of them.
        """
        from .io import save_model

        save_model(self, path, overwrite=overwrite, whole_path=whole_path)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # array_api_support stays off: fitted attributes are NumPy's, whatever X's namespace is.
        on_device = getattr(self, "device", None) is not None
        tags.input_tags.sparse = not on_device or isinstance(known_pool(self.pool), Columns)
        tags.input_tags.allow_nan = takes_nan(self.pool)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _sigmoid_slope(self) -> float | None:
        """The slope of the sigmoids that over their sum are the probabilities.

        None where the probabilities are the softmax of the scores.
        """
        return None

    def _logits(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return that of which the probabilities are the softmax."""
        slope = self._sigmoid_slope
        return scores if slope is None else log_expit(slope * scores)

    def _set_fitted(self, attributes: dict[str, Any]) -> None:
        """Take over the attributes of a fit, all at once; names of an earlier X are gone.

        A model with a number that is not finite is refused: an earlier fit stays.
        """
        for name in ("weights_", "_intercepts_"):
            if not np.isfinite(attributes[name]).all():
                raise FloatingPointError(
                    f"The {name.strip('_')} of the fitted model are not finite: columns of X are "
                    "too small or too large. Divide the columns of X by their largest magnitudes "
                    "first."
                )
        for name in ("feature_names_in_", "levels_in_", "cluster_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class for every row, checked, on X's device, (rows, k)."""
        model, rows = self._read_model(X)
        return backend_of(rows).scores(model, rows)

    def _best(self, X: Any) -> Any:
        """Return the index of the highest score of every row, checked, (rows,)."""
        model, rows = self._read_model(X)
        return backend_of(rows).best(model, rows)

    def _contributions(self, X: Any) -> Any:
        """Return what each atom adds to the scores, without any frame around it."""
        model, rows = self._read_model(X)
        return decision(contributions_of(model, rows))

    def _staged_scores(self, X: Any) -> Iterator[Any]:
        columns = self._path_columns(X)
        yield from (weights.scores(columns) for weights in self._staged_weights())

    def _path_columns(self, X: Any) -> Any:
        """Return the columns of all atoms of the path in float64, checked, on X's device."""
        check_is_fitted(self)
        features, rows = self._read(X, self.path_.features)
        backend = backend_of(rows)
        with backend.deterministic():
            return to_float64(dense(backend.columns(features, rows)))

    def _staged_weights(self) -> Iterator[StepWeights]:
        """Yield the weights of every model of the path, by the columns of all atoms."""
        for step in self.path_:
            _, columns = self.path_.places(step.atoms)
            yield StepWeights(columns, *self.path_.weights(step, columns))

    def _answered(self, asked: str, X: Any) -> Any:
        """Return one of ``ANSWERS`` to rows of X, in arrays of their kind."""
        check_is_fitted(self)
        return input_of(X).answered(self, asked, X)


# What a classifier answers to rows, by the names that are asked for: where the rows are computed.
ANSWERS: dict[str, Callable[[Predictor, Any], Any]] = {
    "decisions": lambda clf, X: decision(clf._scores(X)),
    "predict": lambda clf, X: labels_of(clf.classes_, clf._best(X)),
    "proba": lambda clf, X: softmax(clf._logits(clf._scores(X))),
    "log-proba": lambda clf, X: log_softmax(clf._logits(clf._scores(X))),
    "explain": Predictor._contributions,
    "transform": Predictor._transformed,
    "staged-columns": Predictor._path_columns,
}
