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

import autograd.numpy as anp
import numpy as np
from scipy.special import gammaln

from ...models import log_gamma_draws, log_shares
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
        return self.of_blocks(log_gamma_draws(shape, rng))

    def coefficients(self, parameters):
        log_p = parameters.log_probabilities
        return np.concatenate([log_p, np.zeros((*log_p.shape[:-1], 1))], axis=-1)

    def parameters(self, c):
        return CategoricalParameters(c[..., :-1])

    def sample_rows(self, parameters, rng):
        noisy = parameters.log_probabilities + rng.gumbel(size=parameters.log_probabilities.shape)
        return np.column_stack([np.argmax(part, axis=-1) for part in self.by_column(noisy)]).astype(float)

    def log_prior(self, parameters):
        alpha, L = self.concentration, np.array(self.n_levels)
        constant = np.sum(gammaln(L * alpha)) - L.sum() * lgamma(alpha)
        return constant + (alpha - 1) * np.sum(parameters.log_probabilities, axis=-1)

    def points(self, X):
        """Levels as indicators: rows are as far apart as they have columns that differ."""
        return self.features(X)[:, :-1]

    def sample_blocks(self, rng, shape):
        """Logits of this many components before any row: log-gamma variates."""
        return [log_gamma_draws(self.concentration, rng, (*shape, sum(self.n_levels)))]

    def blocks(self, parameters, rng):
        """Logits (..., Σ L_j) of parameters; sums over a column, which no row sees, are as in the prior."""
        log_p = parameters.log_probabilities
        shape = (*log_p.shape[:-1], self.n_features)
        totals = log_gamma_draws(self.concentration * np.array(self.n_levels), rng, shape)
        return [log_p + np.repeat(totals, self.n_levels, axis=-1)]

    def of_blocks(self, u):
        """Parameters of logits."""
        return CategoricalParameters(u - np.repeat(self._log_sums(u), self.n_levels, axis=-1))

    def blocks_at(self, T):
        """Logits near those of the rows with statistics (..., q) alone, to begin a search from."""
        mean = self.totals(T[..., :-1]) / np.repeat(self.n_levels, self.n_levels)
        return [np.log((T[..., :-1] + 0.5) / (mean + 0.5))]

    def log_densities(self, blocks, X):
        """Log density of rows by logits (M, K, Σ L_j), (M, K, n)."""
        log_p = anp.concatenate([log_shares(part) for part in self.by_column(blocks[0])], axis=2)
        return anp.dot(log_p, self.features(X)[:, :-1].T)

    def draw_rows(self, blocks, rng):
        """One row of each of n components, (n, p)."""
        return self.sample_rows(CategoricalParameters(*blocks), rng).astype(int)

    def by_column(self, u):
        """The part of each column, along the last axis."""
        return [u[..., start : start + L] for start, L in zip(self._starts, self.n_levels)]

    def totals(self, by_level: np.ndarray) -> np.ndarray:
        """Sums over the levels of a column, at each of these, (..., Σ L_j)."""
        return np.repeat(np.add.reduceat(by_level, self._starts, axis=-1), self.n_levels, axis=-1)

    @property
    def _starts(self) -> np.ndarray:
        return np.cumsum([0, *self.n_levels[:-1]])

    def _log_sums(self, g: np.ndarray) -> np.ndarray:
        """log Σ exp over the levels of each column, (..., p)."""
        top = np.maximum.reduceat(g, self._starts, axis=-1)
        shares = np.exp(g - np.repeat(top, self.n_levels, axis=-1))
        return top + np.log(np.add.reduceat(shares, self._starts, axis=-1))
