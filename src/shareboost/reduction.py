"""A classifier for rows that have the columns it reads alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from sklearn.base import clone

from .input_columns import columns_kept, places_among
from .model_path import fitted_attributes
from .numbered_names import NumberedNames
from .path_of_one import alone
from .pools.groups import GroupFeatures

if TYPE_CHECKING:
    from .predictor import Predictor

# Parameters that name columns of X, or have an item for each.
OF_COLUMNS = ("groups", "costs", "include", "exclude")

Classifier = TypeVar("Classifier", bound="Predictor")


def reduced(clf: Classifier) -> Classifier:
    """Return the same classifier for rows that have the columns it reads alone, in their order."""
    path = alone(clf)
    columns = columns_kept(path.features, clf.n_features_in_)
    features = path.features.renumbered(places_among(columns, clf.n_features_in_))
    new_ids = dict(zip(path.features.ids.tolist(), features.ids.tolist(), strict=True))
    atoms = tuple(features.ids.tolist())
    only = replace(path.only, atom=new_ids.get(path.only.atom, -1), atoms=atoms, swaps=())
    smaller = clf._of_columns(columns)
    known = smaller.get_params(deep=False)
    changes = {name: None for name in OF_COLUMNS if name in known}
    if known.get("estimator") is not None:
        changes["estimator"] = clone(known["estimator"]).set_params(**dict.fromkeys(OF_COLUMNS))
    smaller.set_params(**changes)
    if isinstance(features, GroupFeatures):
        smaller.groups_ = clf.groups_[np.sort(clf.selected_)]
    names = getattr(smaller, "feature_names_in_", None)
    path = replace(
        path,
        features=features,
        start=only,
        rounds=[only],
        input_names=NumberedNames(columns.size) if names is None else tuple(names),
    )
    smaller.__dict__.update(fitted_attributes(smaller, clf.classes_, path, only))
    return smaller
