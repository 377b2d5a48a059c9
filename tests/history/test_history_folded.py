"""Sums over parts: their order is that of the parts, and of nothing else."""

import numpy as np

from sgevidence.history import FoldedRows, Rows, add_all, add_in_order


def test_sums_as_they_come_are_those_of_groups_of_sixteen():
    rng = np.random.default_rng(0)
    for n in (0, 1, 15, 16, 17, 256, 257, 4097):
        values = list(rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n))
        values[3:5] = [None] * len(values[3:5])
        groups = list(values)
        while len(groups) > 1:
            groups = [add_all(groups[k : k + 16]) for k in range(0, len(groups), 16)]
        assert add_in_order(iter(values)) == (groups[0] if groups else None)


def test_tuples_are_added_by_element_and_nothing_is_zero():
    total = add_all([None, (1.0, np.ones(2)), (2.0, np.ones(2)), None])
    assert total[0] == 3.0 and total[1].tolist() == [2.0, 2.0]
    assert add_all([]) is None


class Halves:
    def __init__(self, rows):
        self.rows = [rows[:3], None, rows[3:]]

    def each(self, function):
        return [None if part is None else function(part) for part in self.rows]


def test_rows_of_parts_are_numbered_among_all():
    rows = Rows.of(np.arange(7.0)[:, None])
    folded = FoldedRows(Halves(rows), np.array([3, 0, 4]), 7.0, True, rows[:0], np.zeros(0, dtype=int))
    assert len(folded) == 7
    places, some = folded.selected(lambda part: (np.array([1]), part.take(np.array([1]))))
    assert places.tolist() == [1, 4] and some.X.ravel().tolist() == [1.0, 4.0]
    places, some = folded.selected(lambda part: (np.zeros(0, dtype=int), part[:0]))
    assert not len(places) and not len(some)
