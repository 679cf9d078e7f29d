"""Rows cut into blocks, as on a cluster, on this machine alone."""

import pickle

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
        sent = pickle.dumps(question)
        self.most_sent = max(self.most_sent, len(sent))
        answers = []
        for a, b in zip(self.edges[:-1], self.edges[1:], strict=True):
            rows = slice(int(a), int(b))
            answers.append(self._sent(pickle.loads(sent)(self.X[rows], self.weight[rows])))
        merge = pickle.loads(pickle.dumps(merge))
        while len(answers) > 1:
            pairs = [answers[i : i + 2] for i in range(0, len(answers), 2)]
            answers = [self._sent(merge(*pair)) if len(pair) > 1 else pair[0] for pair in pairs]
        return answers[0]

    def _sent(self, answer):
        sent = pickle.dumps(answer)
        self.most_answered = max(self.most_answered, len(sent))
        return pickle.loads(sent)

    def take(self, rows):
        return self.X[rows], self.weight[rows]
