"""Rows cut into blocks, as on a cluster, on this machine alone."""

import pickle
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from shareboost.pools.table import Table


class Cut(Table):
    """Rows of an array in blocks of any sizes; all that is sent is pickled."""

    def __init__(self, X, weight=None, n_blocks=5, seed=0):
        self.n_rows, self.n_columns = X.shape
        self.dtype, self.sparse = X.dtype, sp.issparse(X)
        self.X = X.tocsr() if self.sparse else X
        self.weight = np.ones(self.n_rows) if weight is None else weight
        rng = np.random.default_rng(seed)
        inner = np.sort(rng.integers(0, self.n_rows + 1, size=n_blocks - 1))
        # One of a single row, and one of none.
        first = min(1, self.n_rows)
        self.edges = np.sort(np.concatenate([[0, first, first], inner, [self.n_rows]]))
        self.asked, self.most_sent, self.most_answered = [], 0, 0

    def ask(self, question, merge, what):
        self.asked.append(what)
        self.most_sent = max(self.most_sent, len(pickle.dumps(question)))
        answers = []
        for a, b in pairwise(self.edges.tolist()):
            rows = sent(self.X[a:b]), sent(self.weight[a:b])
            answers.append(self._answer(sent(question)(*rows)))
        while len(answers) > 1:
            pairs = [answers[i : i + 2] for i in range(0, len(answers), 2)]
            answers = [pair[0] if len(pair) == 1 else self._merged(merge, pair) for pair in pairs]
        return answers[0]

    def _merged(self, merge, pair):
        return self._answer(sent(merge)(*pair))

    def _answer(self, answer):
        self.most_answered = max(self.most_answered, len(pickle.dumps(answer)))
        return sent(answer)

    def take(self, rows):
        assert (np.diff(rows) > 0).all()
        return sent(self.X[rows]), sent(self.weight[rows])


def sent(something):
    """Return it as it arrives on another machine: its arrays can only be read."""
    buffers = []
    packed = pickle.dumps(something, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(packed, buffers=[buffer.raw().tobytes() for buffer in buffers])
