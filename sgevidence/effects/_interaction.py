"""Products of two columns, of a column and a factor, or of two factors."""

from typing import Any, NamedTuple

import numpy as np


class Interaction(NamedTuple):
    """The effect of one column depends on another: products of columns in their units, centred.

    Parameters
    ----------
    a, b : str, int or Factor
        Columns, or factors, whose contrasts are multiplied.  Columns keep their linear effects; the main
        effects of a factor are a term of their own.

    Notes
    -----
    Prior standard deviations are products: that of coefficients for each column, the scale of each factor.

    Examples
    --------
    >>> from sgevidence.effects import Factor, Interaction
    >>> Interaction("dose", Factor("supplement")).name
    'dose:supplement'
    """

    a: Any
    b: Any

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return ":".join(str(getattr(part, "column", part)) for part in self)


def products(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """All products of a column of A and one of B, (n, p q)."""
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)
