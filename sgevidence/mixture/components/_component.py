r"""A family of mixture components: an exponential family with its conjugate prior.

The rows of one component enter by sums of features alone, T = Σ_r F(x_r), whose last one counts rows.  With c
the natural coefficients of the parameters φ of a component,

    log p(x | φ) = c(φ)·F(x),    log p(x_1 … x_N) = log ∫ exp(c(φ)·T) p(φ) dφ    in closed form,
    p(φ | x_1 … x_N) = p(φ) exp(c(φ)·T) / p(x_1 … x_N).

A mixture of any family needs no more than that: Gibbs sweeps, the evidence of an allocation of rows to
components, and densities of parameters given an allocation are all made of T, c and the closed form.

Symbols: ``F`` = features (n, q), ``T`` = statistics (..., q), ``c`` = coefficients (..., q), for any
leading shape.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np


class ComponentFamily(ABC):
    """Interface of the components of a mixture.

    *To define another family*: a frozen dataclass with ``n_features``, and the abstract methods.  The last
    feature is one, and features need not be bounded or continuous.
    """

    n_features: int  #: columns of a row

    @abstractmethod
    def features(self, X: np.ndarray) -> np.ndarray:
        """F of rows (n, p), (n, q); the last is one."""

    @abstractmethod
    def log_evidence(self, T: np.ndarray) -> np.ndarray:
        """Log evidence of the rows of one component by their statistics (..., q), nats, (...)."""

    @abstractmethod
    def sample(self, T: np.ndarray, rng: np.random.Generator) -> Any:
        """One draw of the parameters given rows with statistics (..., q): arrays that begin with (...)."""

    @abstractmethod
    def coefficients(self, parameters: Any) -> np.ndarray:
        """c of parameters, (..., q)."""

    @abstractmethod
    def parameters(self, c: np.ndarray) -> Any:
        """Parameters with coefficients c (..., q), whose last one may have any number added."""

    @abstractmethod
    def log_prior(self, parameters: Any) -> np.ndarray:
        """Log density of the parameters in their own units before any row, nats, (...)."""

    @abstractmethod
    def sample_rows(self, parameters: Any, rng: np.random.Generator) -> np.ndarray:
        """One row for each of n parameters, (n, p)."""

    def at(self, X: np.ndarray) -> Self:
        """This family with features that lose no digits on rows like these; the model is unchanged."""
        return self

    def rounding(self, X: np.ndarray) -> float:
        """Nats that rounding may cost on these rows; 0 where features are counts."""
        return 0.0

    @property
    def least_rows(self) -> float:
        """Rows of a component below which Gibbs sweeps and searches may miss it."""
        return 0.5 * self.n_features

    def points(self, X: np.ndarray) -> np.ndarray:
        """Rows (n, ·) whose distances say how alike they are: a search splits components by them."""
        return without_gaps(X)


def without_gaps(X: np.ndarray) -> np.ndarray:
    """X with the mean of its column in the place of a missing cell."""
    there = ~np.isnan(X)
    if there.all():
        return X
    mean = np.sum(np.where(there, X, 0.0), axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there, X, mean)
