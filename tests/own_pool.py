"""A pool of a user's own, whole: sines of random projections of a row."""

from dataclasses import dataclass

import numpy as np
from sklearn.externals.array_api_compat import array_namespace

from shareboost.pools import Features, Pool


@dataclass(frozen=True)
class SineFeatures(Features):
    ids: np.ndarray
    directions: np.ndarray  # (columns of X, atoms)

    def columns(self, X):
        xp = array_namespace(X)
        return xp.sin(X @ xp.asarray(self.directions, dtype=X.dtype, device=X.device))

    def names(self, input_names):
        return [f"sine {number}" for number in self.ids]

    def take(self, places):
        return SineFeatures(self.ids[places], self.directions[:, places])


class Sines(Pool):
    def __init__(self, n_sines=300, seed=0):
        self.n_sines, self.seed = n_sines, seed

    def learn(self, table, centred):
        rng = np.random.default_rng(self.seed)
        self.directions_ = rng.normal(size=(table.n_columns, self.n_sines))
        self.n_atoms_ = self.n_sines

    def features(self, atoms):
        ids = np.asarray(atoms, dtype=np.intp)
        return SineFeatures(ids, self.directions_[:, ids])
