r"""A generalised linear model with effects: θ = (b, v, z), all standard normal before the rows are seen.

Rows are encoded: columns of the layout (:mod:`._layout`), then the offset and the trials, if there are.  A
level below zero is one that no row had: its effects are draws from the prior, the same for all of its rows.

Symbols: ``theta`` = (b, v, z) (M, d), ``eta`` = linear predictors (M, n).
"""

from dataclasses import dataclass, replace
from typing import Any

import autograd.numpy as anp
import numpy as np

from ..models import Gaussian, GLMModel, Model
from ._closed_form import GaussianPosterior
from ._gaussian import LevelSums
from ._layout import Layout
from ._quadrature import OrderedRows

#: A constant alone.
NO_TERMS = Layout(np.ones(1), ())


@dataclass(frozen=True)
class EffectsModel(GLMModel):
    """A GLM whose linear predictor has the terms of a layout.

    ``n_features`` are the fixed columns without the constant one, which is the last of them.
    """

    layout: Layout = NO_TERMS

    has_one_mode = True
    is_log_concave = False
    n_mode_checks = 0

    @property
    def hyperparameters(self) -> np.ndarray:  # type: ignore[override]
        """Given these, coefficients and effects are nearly normal."""
        return np.arange(self.layout.n_fixed + self.layout.n_effects, self.n_params)

    @property
    def own_answer(self) -> Any:  # type: ignore[override]
        from ._answer import effects_answer  # which knows this class

        return effects_answer

    @property
    def anchors_early(self) -> bool:  # type: ignore[override]
        """Levels that are integrated one by one need no gradients of all rows; a quadratic takes d."""
        return self.n_params <= 100

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
        return self.own_parameters(np.pad(z, ((0, 0), (self.n_params - z.shape[1], 0))))

    def linear_predictor(self, theta: Any, X: np.ndarray) -> Any:
        b, effects, z = self.layout.split(theta)
        eta = anp.dot(b * self.layout.scales, X[:, : self.layout.n_fixed].T) + self._known(X)[0]
        for (W, code), v, factor in zip(self.layout.inputs(X), effects, self.layout.factors(z)):
            u = anp.matmul(with_new_levels(v, code), anp.swapaxes(factor, 1, 2))[:, code]  # (M, n, q)
            eta = eta + anp.sum(u * W, axis=2)
        return eta

    def _known(self, X: np.ndarray) -> tuple[Any, tuple[np.ndarray, ...]]:
        """Offset, with the centre of the intercept, and trials of encoded rows."""
        n_known = X.shape[1] - self.layout.n_columns
        offset = X[:, self.layout.n_columns] if self.has_offset and n_known > self.family.n_known else 0.0
        return offset + self.intercept_center, tuple(X.T[X.shape[1] - self.family.n_known :])

    def _distribution(self, theta: Any, X: np.ndarray) -> tuple[Any, ...]:
        return self.linear_predictor(theta, X), *self._known(X)[1], *self.own_parameters(theta)

    _block_log_likelihood = Model._block_log_likelihood
    derivatives = Model.derivatives

    def sample_rows(self, theta: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
        theta = np.broadcast_to(np.atleast_2d(theta), (len(X), self.n_params))
        b, effects, z = self.layout.split(theta)
        offset, trials = self._known(X)
        eta = np.sum(b * self.layout.scales * X[:, : self.layout.n_fixed], axis=1) + offset
        for (W, code), v, factor in zip(self.layout.inputs(X), effects, self.layout.factors(z)):
            own = with_new_levels(v, code)[np.arange(len(X)), code]  # (n, q)
            eta = eta + np.sum(W * np.einsum("nij,nj->ni", factor, own), axis=1)
        return self.family.simulate(eta, rng, *trials, *(own[:, 0] for own in self.own_parameters(theta)))

    def few_parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        return self._fixed(theta) | self.family.named(self.own_parameters(theta))

    def _fixed(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Coefficients of columns, the intercept, and those of contrasts and products."""
        p, q = self.n_features, self.layout.n_fixed - self.fit_intercept
        fixed = self.layout.split(theta)[0] * self.layout.scales
        named = {"coef": fixed[:, :p]}
        if self.fit_intercept:
            named["intercept"] = fixed[:, -1] + self.intercept_center
        if q > p:
            named["fixed_effects"] = fixed[:, p:q]
        return named

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Coefficients, effects and standard deviations in the units of the layout."""
        _, effects, z = self.layout.split(theta)
        named = self._fixed(theta)
        parts = self.layout.hyperparameters(z)
        if self.layout.blocks:
            u = [
                v @ block.factor(part).swapaxes(1, 2)
                for block, v, part in zip(self.layout.blocks, effects, parts)
            ]
            named["effects"] = np.concatenate([one.reshape(len(theta), -1) for one in u], axis=1)
            stds = [block.scales(part) for block, part in zip(self.layout.blocks, parts)]
            named["effect_stds"] = np.concatenate(stds, axis=1)
        correlations = [block.correlations(part) for block, part in zip(self.layout.blocks, parts)]
        if sum(one.shape[1] for one in correlations):
            named["effect_correlations"] = np.concatenate(correlations, axis=1)
        return named | self.family.named(self.own_parameters(theta))

    def sums(self, rows: Any) -> LevelSums:
        """All that Gaussian y ask of the rows."""
        if not self.has_exact_posterior:
            return super().sums(rows)
        return LevelSums.of_rows(self.layout, replace(rows, y=rows.y - self._known(rows.X)[0]))

    def posterior(self, sums: LevelSums) -> GaussianPosterior:
        n_own = self.family.n_own
        return GaussianPosterior(self.layout, sums, n_own, lambda z: self.own_of(z)[0][:, 0])

    def ordered(self, rows: Any) -> OrderedRows:
        offset, trials = self._known(rows.X)
        return OrderedRows.of(self.layout, rows, offset, trials, self.family)


def with_new_levels(v: Any, code: np.ndarray) -> Any:
    """Effects (M, L, q), and draws from the prior for levels below zero, which are the last."""
    if not np.any(code < 0):
        return v
    shape = len(v), -int(code.min()), v.shape[2]
    # seed of the effects of levels that no row had
    return anp.concatenate([v, np.random.default_rng(77).standard_normal(shape)], axis=1)
