r"""Components of independent categorical columns: latent classes.

    p_j ~ Dirichlet(α, …, α) over the L_j levels of column j,    F(x) = [x_j = l for all j and l, 1].

A value that is not known (−1) is no level: it says nothing of the class (missing at random).

Symbols: ``alpha`` = α, ``starts`` = where the levels of each column begin, ``counts`` = rows of each level,
(..., Σ L_j).

References
----------
L. A. Goodman (1974), Exploratory latent structure analysis using both identifiable and unidentifiable models.
"""

from dataclasses import dataclass
from math import lgamma
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ...models import log_gamma_draws
from ._component import ComponentFamily


class CategoricalParameters(NamedTuple):
    """Log probabilities of the levels, columns one after the other, (..., Σ L_j)."""

    log_probabilities: np.ndarray


@dataclass(frozen=True)
class Categorical(ComponentFamily):
    """Columns that are independent and categorical, given the component.

    Parameters
    ----------
    n_levels : tuple of ints
        Levels L_j of each column.  Rows are codes 0 … L_j − 1, and −1 for a value that is not known.
    concentration : float, default=1.0
        α of the symmetric Dirichlet prior of each column's probabilities; 1 is uniform.

    Examples
    --------
    >>> import numpy as np
    >>> family, X = Categorical((2,)), np.array([[0], [1]])
    >>> float(np.exp(family.log_evidence(family.features(X).sum(axis=0))).round(4))  # ∫ p (1 − p) dp
    0.1667
    """

    n_levels: tuple[int, ...]
    concentration: float = 1.0

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of a row."""
        return len(self.n_levels)

    def features(self, X):
        codes = np.asarray(X)
        levels = [codes[:, [j]] == np.arange(L) for j, L in enumerate(self.n_levels)]
        return np.column_stack([*levels, np.ones(len(codes))]).astype(float)

    def log_evidence(self, T):
        counts, alpha, L = T[..., :-1], self.concentration, np.array(self.n_levels)
        N = np.add.reduceat(counts, self._starts, axis=-1)
        prior = np.sum(gammaln(L * alpha)) - L.sum() * lgamma(alpha)
        return prior + gammaln(alpha + counts).sum(axis=-1) - gammaln(L * alpha + N).sum(axis=-1)

    def sample(self, T, rng):
        shape = self.concentration + T[..., :-1]
        g = log_gamma_draws(shape, rng)
        return CategoricalParameters(g - np.repeat(self._log_sums(g), self.n_levels, axis=-1))

    def coefficients(self, parameters):
        log_p = parameters.log_probabilities
        return np.concatenate([log_p, np.zeros((*log_p.shape[:-1], 1))], axis=-1)

    def parameters(self, c):
        return CategoricalParameters(c[..., :-1])

    def sample_rows(self, parameters, rng):
        noisy = parameters.log_probabilities + rng.gumbel(size=parameters.log_probabilities.shape)
        parts = np.split(noisy, self._starts[1:], axis=-1)
        return np.column_stack([np.argmax(part, axis=-1) for part in parts]).astype(float)

    def log_prior(self, parameters):
        alpha, L = self.concentration, np.array(self.n_levels)
        constant = np.sum(gammaln(L * alpha)) - L.sum() * lgamma(alpha)
        return constant + (alpha - 1) * np.sum(parameters.log_probabilities, axis=-1)

    def points(self, X):
        """Levels as indicators: rows are as far apart as they have columns that differ."""
        return self.features(X)[:, :-1]

    def blocks_at(self, T):
        """Logits near those of the rows with statistics (..., q) alone, to begin a search from."""
        mean = np.add.reduceat(T[..., :-1], self._starts, axis=-1) / np.array(self.n_levels)
        return [np.log((T[..., :-1] + 0.5) / (np.repeat(mean, self.n_levels, axis=-1) + 0.5))]

    @property
    def _starts(self) -> np.ndarray:
        return np.cumsum([0, *self.n_levels[:-1]])

    def _log_sums(self, g: np.ndarray) -> np.ndarray:
        """log Σ exp over the levels of each column, (..., p)."""
        top = np.maximum.reduceat(g, self._starts, axis=-1)
        shares = np.exp(g - np.repeat(top, self.n_levels, axis=-1))
        return top + np.log(np.add.reduceat(shares, self._starts, axis=-1))
