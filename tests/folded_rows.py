"""Rows in parts, each of which is at hand, with a sample of all."""

from itertools import pairwise

import numpy as np

from sgevidence.history import FoldedRows, add_in_order


class Cut:
    """Parts of rows that are at hand."""

    def __init__(self, rows, n_parts):
        cuts = np.linspace(0, len(rows), n_parts + 1).astype(int)
        self.parts, self.n_folds = [rows[a:b] for a, b in pairwise(cuts)], 0

    def each(self, function):
        self.n_folds += 1
        return [function(part) for part in self.parts]

    def fold(self, function):
        return add_in_order(self.each(function))


def folded(rows, seed, size=1500, n_parts=5):
    rng = np.random.default_rng(seed)
    places, parts = rng.choice(len(rows), size, replace=False), Cut(rows, n_parts)
    lengths, equal = np.array([len(part) for part in parts.parts]), np.ptp(rows.weight) == 0
    return FoldedRows(parts, lengths, rows.total_weight, equal, rows.take(places), places)
