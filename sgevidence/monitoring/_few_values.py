"""Do the rows look like classes or counts?  A density is the wrong model of them and does not notice.

A density has no upper bound: where values repeat, a segment that is a little narrower gains with every
row, and changes are declared without end.  Measured numbers are told from classes by how many different
values there are, whether they come again, and whether new ones keep coming.
"""

from collections.abc import Sequence

import numpy as np

#: Rows before anything is said.
FEWEST_ROWS = 30

#: Most different values that are called few.  Streams without a change (8000 rows, 1.2 alarms said): 18
#: alarms from three equally probable values, 4 to 7 from four to six, 2 from eight; 4000 rows before a
#: series could have any shape: 22 alarms from six, 12 from eight, 5 from ten, 1 from fifteen.
MAX_FEW_VALUES = 8


class FewValues:
    """Looks at rows one by one until a column has shown few values; it does not matter how they are cut.

    A column has few values if, from ``FEWEST_ROWS`` rows on, there have been 2 to ``MAX_FEW_VALUES``
    different ones, none of them new in the second half of the rows (no slow rounded series), and those
    that are not the commonest came twice each on average (nor a sensor that begins to move after a rest).

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.monitoring._few_values import FewValues
    >>> labels = np.random.default_rng(0).integers(0, 2, (100, 1))
    >>> FewValues().look(labels)
    {0: 2}
    """

    def __init__(self) -> None:
        self.n_seen = 0
        #: How often each value came, for the columns that may still have few.
        self.counts: dict[int, dict[float, int]] | None = None
        self.last_new: dict[int, int] = {}  # rows seen when the column's last new value came

    def look(self, X: np.ndarray) -> dict[int, int]:
        """Take in rows, and say once which columns have few values, and how many; empty before and after."""
        if self.counts is None:
            self.counts = {j: {} for j in range(X.shape[1])}
        for x in X:
            if not self.counts:
                break
            self.n_seen += 1
            for j in list(self.counts):
                count, value = self.counts[j], float(x[j])
                if value not in count:
                    self.last_new[j] = self.n_seen
                count[value] = count.get(value, 0) + 1
                if len(count) > MAX_FEW_VALUES:
                    del self.counts[j]  # numbers
            if self.n_seen >= FEWEST_ROWS:
                found = {j: len(count) for j, count in self.counts.items() if self._is_settled(j, count)}
                if found:
                    self.counts = {}
                    return found
        return {}

    def _is_settled(self, j: int, count: dict[float, int]) -> bool:
        others = len(count) - 1
        come_again = others > 0 and self.n_seen - max(count.values()) >= 2 * others
        return come_again and self.n_seen >= 2 * self.last_new[j]


def complaint(
    found: dict[int, int], n_seen: int, names: Sequence[str] | np.ndarray | None, model: object
) -> str:
    """Warning about the columns found in ``n_seen`` rows; ``names`` of all columns, if they have any."""
    columns = " and ".join(
        f"column {j if names is None else repr(str(names[j]))} has only {n} different values"
        for j, n in found.items()
    )
    return (
        f"{columns} in the first {n_seen} rows, like classes or counts. {type(model).__name__} is a "
        "density, which gains without end where values repeat: changes will be declared that are none. "
        "Give EvidenceMonitor a model of classes or counts: CategorySegment(n_categories=...), "
        "CountSegment(), or, where they depend on others, BayesianSoftmaxRegression() or "
        "BayesianGLM(family='poisson')"
    )
