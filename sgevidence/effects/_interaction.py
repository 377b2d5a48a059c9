"""Products of columns, of factors, and of both."""

from functools import reduce
from typing import Any

import numpy as np


class Interaction(tuple):
    """The effect of one column depends on others: products of columns in their units, centred.

    Parameters
    ----------
    *parts : str, int or Factor
        Two or more columns, or factors, whose contrasts are multiplied.  Columns keep their linear effects;
        the main effects of a factor, and products of fewer parts, are terms of their own.

    Notes
    -----
    Prior standard deviations are products: that of coefficients for each column, the scale of each factor.

    Examples
    --------
    >>> from sgevidence.effects import Factor, Interaction
    >>> Interaction("dose", Factor("supplement")).name
    'dose:supplement'
    >>> Interaction("dose", Factor("supplement"), Factor("sex")).name
    'dose:supplement:sex'
    """

    def __new__(cls, *parts: Any) -> "Interaction":
        return super().__new__(cls, parts)

    def __getnewargs__(self) -> tuple:
        return tuple(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self))})"

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return ":".join(str(getattr(part, "column", part)) for part in self)


def products(columns: list[np.ndarray]) -> np.ndarray:
    """All products of one column of each array, (n, p q …), the last one's running first."""
    n = len(columns[0])
    return reduce(lambda A, B: (A[:, :, None] * B[:, None, :]).reshape(n, -1), columns)
