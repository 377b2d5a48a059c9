r"""A generalised linear model with effects: θ = (b, v, z), all standard normal before the rows are seen.

Rows are encoded: columns of the layout (:mod:`._layout`), then the offset and the trials, if there are.  A
level below zero is one that no row had: its effects are draws from the prior, the same for all of its rows.

Symbols: ``theta`` = (b, v, z) (M, d), ``eta`` = linear predictors (M, n).
"""

from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np

from ..models import Gaussian, GLMModel, Model
from ._closed_form import GaussianPosterior
from ._gaussian import LevelSums
from ._layout import Layout
from ._rows import OrderedRows

#: Seed of the effects of levels that no row had.
SEED = 77


@dataclass(frozen=True)
class EffectsModel(GLMModel):
    """A GLM whose linear predictor has the terms of a layout.

    ``n_features`` are the fixed columns without the constant one, which is the last of them.
    """

    layout: Layout = Layout(np.ones(1), ())

    has_one_mode = True
    is_log_concave = False

    @property
    def n_coefficients(self) -> int:
        """All of θ but the family's own."""
        return self.layout.n_fixed + self.layout.n_effects + self.layout.n_hyperparameters

    @property
    def scales(self) -> np.ndarray:
        return np.ones(self.n_params)

    @property
    def has_exact_posterior(self) -> bool:  # type: ignore[override]
        return isinstance(self.family, Gaussian)

    def own_of(self, z: np.ndarray) -> list[np.ndarray]:
        """The family's own parameters, (M, 1) each, of all hyperparameters (M, k)."""
        return self.own_parameters(np.pad(z, ((0, 0), (self.n_params - z.shape[1], 0))))

    def linear_predictor(self, theta: Any, X: np.ndarray) -> Any:
        b, effects, z = self.layout.split(theta)
        eta = anp.dot(b * self.layout.scales, X[:, : self.layout.n_fixed].T) + self._known(X)[0]
        for (W, code), v, factor in zip(self.layout.inputs(X), effects, self.layout.factors(z)):
            if np.any(code < 0):
                shape = len(theta), -int(code.min()), v.shape[2]
                v = anp.concatenate([v, np.random.default_rng(SEED).standard_normal(shape)], axis=1)
            u = anp.matmul(v, anp.swapaxes(factor, 1, 2))[:, code]  # (M, n, q); −1 is the last
            eta = eta + anp.sum(u * W, axis=2)
        return eta

    def _known(self, X: np.ndarray) -> tuple[Any, tuple[np.ndarray, ...]]:
        """Offset and trials of encoded rows."""
        n_known = X.shape[1] - self.layout.n_columns
        offset = X[:, self.layout.n_columns] if self.has_offset and n_known > self.family.has_trials else 0.0
        return offset, (X[:, -1],) if self.family.has_trials else ()

    def _distribution(self, theta: Any, X: np.ndarray) -> tuple[Any, ...]:
        return self.linear_predictor(theta, X), *self._known(X)[1], *self.own_parameters(theta)

    _block_log_likelihood = Model._block_log_likelihood
    derivatives = Model.derivatives

    def sample_rows(self, theta: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
        theta = np.atleast_2d(theta)
        if len(theta) == 1:
            more = self._distribution(theta, X)
            return self.family.simulate(more[0][0], rng, *self._known(X)[1], *(own[0] for own in self.own_parameters(theta)))
        eta = np.array([self.linear_predictor(t[None], x[None])[0, 0] for t, x in zip(theta, X)])
        return self.family.simulate(eta, rng, *self._known(X)[1], *(own[:, 0] for own in self.own_parameters(theta)))

    def sums(self, rows: Any) -> LevelSums:
        """All that Gaussian y ask of the rows."""
        if not self.has_exact_posterior:
            return super().sums(rows)
        return LevelSums.of_rows(self.layout, rows)

    def posterior(self, sums: LevelSums) -> GaussianPosterior:
        n_own = len(self.family.own)
        return GaussianPosterior(self.layout, sums, n_own, lambda z: self.own_of(z)[0][:, 0])

    def ordered(self, rows: Any) -> OrderedRows:
        """Rows by the levels of the largest term."""
        offset, trials = self._known(rows.X)
        return OrderedRows.of(self.layout, rows, offset, trials, self.family)
