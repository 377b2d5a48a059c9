"""A user's own model: three functions in ``autograd.numpy``."""

from collections.abc import Callable
from dataclasses import dataclass

from ._base import Model


@dataclass(frozen=True)
class CustomModel(Model):
    """Prior and likelihood from functions.

    Parameters
    ----------
    prior_sampler : callable (rng, size) -> (size, d)
    prior_log_density : callable (theta (M, d)) -> (M,)
    row_log_likelihood : callable (theta (M, d), X, y) -> (M, n)
    dimension : int
        Length d of θ.
    row_sampler : callable (theta (n, d), X, rng) -> rows, optional
    """

    prior_sampler: Callable
    prior_log_density: Callable
    row_log_likelihood: Callable
    dimension: int
    row_sampler: Callable | None = None

    @property
    def n_params(self) -> int:
        return self.dimension

    def sample_prior(self, rng, size):
        return self.prior_sampler(rng, size)

    def log_prior(self, theta):
        return self.prior_log_density(theta)

    def log_likelihood(self, theta, rows):
        return self.row_log_likelihood(theta, rows.X, rows.y)

    def sample_rows(self, theta, X, rng):
        if self.row_sampler is None:
            raise ValueError("this model cannot simulate: it was made without a row_sampler")
        return self.row_sampler(theta, X, rng)
