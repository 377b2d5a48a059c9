r"""A family one of whose own parameters κ has a linear predictor of its own, row by row.

    g(κ_r) = g(κ) + Σ_j s_j c_j x_rj,        c ~ N(0, 1),

g is the logarithm of a κ from zero on, and the logit of a share.  The columns have the mean zero, so that κ,
with the prior that it has in the family alone, is that of a row in the middle.  The columns of a curve share
s = τ, a half-Student-t(3), which comes after all c.

The columns are known, as trials are: they follow what is known to the law, and c come after the law's own
parameters.

Symbols: ``c`` = coefficients, ``tau`` = τ, (M, 1) each; ``x`` = columns, (n,) each; ``s`` = ``scales``.
"""

from dataclasses import dataclass, replace
from typing import Any

import autograd.numpy as anp
import numpy as np

from ._families import Family
from ._own_priors import HalfStudentT, from_normal

#: Largest changes of log κ, and largest logit of a share, nats: beyond, a number is infinite or a share one.
MAX_LOG_CHANGE, MAX_LOGIT = 600.0, 36.0


@dataclass(frozen=True)
class Predicted(Family):
    """A family, and the predictor of one of its own parameters.

    Parameters
    ----------
    law : Family
        The family without it.
    parameter : str
        Name of κ among the priors of the law.
    label : str
        Name of the coefficients that are reported.
    scales : tuple of float
        Prior standard deviations of the coefficients, one for each of the first columns.
    curves : tuple of (int, float), default=()
        Columns of each curve, and the scale of its τ.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.models import Gaussian, Predicted
    >>> family = Predicted(Gaussian(), "noise_std", "noise", (1.0,))
    >>> family.variance(np.zeros(2), np.array([0.0, 1.0]), 0.5, np.log(2.0))  # σ doubles
    array([0.25, 1.  ])
    """

    law: Family
    parameter: str
    label: str
    scales: tuple[float, ...]
    curves: tuple[tuple[int, float], ...] = ()

    is_log_concave = False
    own = property(lambda self: self.law.own)  # type: ignore[assignment]
    known = property(lambda self: self.law.known)  # type: ignore[assignment]
    n_known = property(lambda self: self.law.n_known + self.n_columns)  # type: ignore[assignment]
    n_mode_checks = property(lambda self: self.law.n_mode_checks)  # type: ignore[assignment]
    is_positive = property(lambda self: self.law.is_positive)  # type: ignore[assignment]
    grain = property(lambda self: self.law.grain)  # type: ignore[assignment]
    link = property(lambda self: self.law.link)  # type: ignore[assignment]
    half_a_count = property(lambda self: self.law.half_a_count)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Priors of own parameters are the law's, which has checked them."""

    @property
    def plain(self) -> Family:
        return self.law.plain

    @property
    def n_columns(self) -> int:
        return len(self.scales) + sum(n for n, _ in self.curves)

    @property
    def n_own(self) -> int:
        return self.law.n_own + self.n_columns + len(self.curves)

    def own_of(self, z: Any) -> list[Any]:
        """Own parameters of the law, c, and every τ."""
        K, last = self.law.n_own, self.n_own - len(self.curves)
        tau = [from_normal(z[:, last + k], HalfStudentT(r))[:, None] for k, (_, r) in enumerate(self.curves)]
        return [*self.law.own_of(z[:, :K]), *(z[:, k : k + 1] for k in range(K, last)), *tau]

    def named(self, own: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Effects of curves are many: their τ speak for them."""
        K, M = self.law.n_own, len(own[0])
        c = np.hstack([np.zeros((M, 0)), *own[K : K + len(self.scales)]]) * np.array(self.scales)
        stds = {f"{self.label}_stds": np.hstack(own[K + self.n_columns :])} if self.curves else {}
        return self.law.named(own[:K]) | {self.label: c} | stds

    def given(self, tau: float) -> "Predicted":
        """The family with a known τ of its only curve: its columns are like others."""
        ((n, _),) = self.curves
        return replace(self, scales=(*self.scales, *[tau] * n), curves=())

    def law_of_rows(self, more: Any) -> tuple[Any, ...]:
        """The law's known columns and own parameters, κ of each row among them."""
        at = np.cumsum([self.law.n_known, self.n_columns, self.law.n_own, self.n_columns])
        known, x, own = more[: at[0]], more[at[0] : at[1]], list(more[at[1] : at[2]])
        c, tau = more[at[2] : at[3]], more[at[3] :]
        scales = [*self.scales, *(one for one, (n, _) in zip(tau, self.curves) for _ in range(n))]
        change = sum(s * one * column for s, one, column in zip(scales, c, x))
        place = list(self.law.own).index(self.parameter)
        if self.law.own[self.parameter] == 1.0:
            logit = anp.log(own[place]) - anp.log1p(-own[place]) + change
            own[place] = 1 / (1 + anp.exp(-anp.clip(logit, -MAX_LOGIT, MAX_LOGIT)))
        else:
            own[place] = own[place] * anp.exp(anp.clip(change, -MAX_LOG_CHANGE, MAX_LOG_CHANGE))
        return *known, *own

    def log_density(self, eta, y, *more):
        return self.law.log_density(eta, y, *self.law_of_rows(more))

    def score(self, eta, y, *more):
        return self.law.score(eta, y, *self.law_of_rows(more))

    def curvature(self, eta, y, *more):
        return self.law.curvature(eta, y, *self.law_of_rows(more))

    def mean(self, eta, *more):
        return self.law.mean(eta, *self.law_of_rows(more))

    def variance(self, eta, *more):
        return self.law.variance(eta, *self.law_of_rows(more))

    def entropy(self, eta, *more):
        return self.law.entropy(eta, *self.law_of_rows(more))

    def simulate(self, eta, rng, *more):
        return self.law.simulate(eta, rng, *self.law_of_rows(more))

    def refuse(self, y, *more):
        self.law.refuse(y, *more[: self.law.n_known])

    def doubt(self, y):
        return self.law.doubt(y)
