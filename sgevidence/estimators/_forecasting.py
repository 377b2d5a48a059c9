r"""Forecasts of a fitted autoregression: a mixture of Gaussians, one for each draw of its posterior.

Given the parameters the h-th value ahead is Gaussian with

    m_h = d_h + Σ_j φ_j m_{h−j},        v_h = σ² Σ_{i<h} ψ_i²,        ψ_0 = 1, ψ_h = Σ_j φ_j ψ_{h−j},

where m_h for h ≤ 0 are the last values and d_h is what intercept, trend and exogenous columns add.  So only
the parameters are sampled, and moments and quantiles of the mixture are computed.

Symbols: ``phi`` = φ (M, p), ``drift`` = d (M, steps), ``mean``, ``std`` = m, √v (M, steps), ``W`` = weights
(M,).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from ..particles import mixture_moments
from ..rows import check_count, generator, last_time, refuse_unreadable, validated
from ._linear_predictor import KnownOrUnknownNoise, LinearCoefficients


class ForecastMixture(NamedTuple):
    """Gaussians, one for each draw and step, and the weights of the draws."""

    mean: np.ndarray  #: (M, steps)
    std: np.ndarray  #: (M, steps)
    W: np.ndarray  #: (M,)

    @classmethod
    def of(
        cls, phi: np.ndarray, drift: np.ndarray, noise_std: np.ndarray, last: np.ndarray, W: np.ndarray
    ) -> "ForecastMixture":
        """From the parameters and the last values, the latest first, (p,).

        ValueError if a draw explodes beyond the floating-point numbers.
        """
        p, steps = phi.shape[1], drift.shape[1]
        with np.errstate(all="ignore"):
            mean = simulated(phi, drift, last)
            psi = simulated(phi, np.eye(1, steps), np.zeros(p))
            std = noise_std[:, None] * np.sqrt(np.cumsum(psi**2, axis=1))
        if not (np.isfinite(mean).all() and np.isfinite(std).all()):
            share = 1 - np.mean(np.isfinite(mean[:, -1] + std[:, -1]))
            raise ValueError(
                f"{share:.1%} of the posterior's draws leave the floating-point numbers within {steps} "
                "steps: forecast fewer"
            )
        return cls(mean, std, W)

    def quantile(self, level: float) -> np.ndarray:
        """Where the mixture's distribution function has this value, (steps,)."""
        with np.errstate(over="ignore"):
            each = self.mean + ndtri(level) * self.std
        low, high = each.min(axis=0), each.max(axis=0)
        for _ in range(50):  # halvings of the bracket of a quantile, which leave 10⁻¹⁵ of its length
            middle = low + (high - low) / 2
            below = self.W @ ndtr((middle - self.mean) / self.std) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return low + (high - low) / 2


class Forecasts(KnownOrUnknownNoise, LinearCoefficients):
    """Methods that look further ahead than the next row."""

    def forecast(
        self, steps: int, X_future: Any = None, *, return_std: bool = False, interval: float | None = None
    ) -> Any:
        """Posterior predictive mean of the next values, with intervals.

        Parameters
        ----------
        steps : int
            How many values ahead.
        X_future : array-like of shape (steps, n_features), optional
            Exogenous columns of these rows, if the model has some.
        return_std : bool, default=False
            Also return standard deviations.
        interval : float or None, default=None
            Probability of a central interval for each value, such as 0.9.

        Returns
        -------
        mean : ndarray of shape (steps,)
        std : ndarray of shape (steps,)
            Only if ``return_std``.
        bounds : ndarray of shape (steps, 2)
            Only with an ``interval``.

        Raises
        ------
        ValueError
            If fewer values have been seen than the order, X_future does not fit, or draws that explode leave
            the floating-point numbers.

        Notes
        -----
        Given the parameters a forecast is Gaussian; moments and bounds are those of the mixture of these
        Gaussians over the draws of the posterior, without simulated paths.
        """
        if interval is not None and not 0 < interval < 1:
            raise ValueError(f"interval must be a probability between 0 and 1, got {interval!r}")
        self._must_be_fitted()
        steps = check_count(steps, "steps")
        phi, drift, noise_std, last = self._dynamics(self.particles_, steps, X_future)
        found = ForecastMixture.of(phi, drift, noise_std, last, self.particle_weights_)
        mean, std = mixture_moments(found.W, found.mean, found.std)
        answer = [mean, *([std] if return_std else [])]
        if interval is not None:
            tails = (0.5 - interval / 2, 0.5 + interval / 2)
            answer.append(np.column_stack([found.quantile(level) for level in tails]))
        return answer[0] if len(answer) == 1 else tuple(answer)

    def sample_forecast(
        self, steps: int, n_samples: int = 1, X_future: Any = None, random_state: Any = None
    ) -> np.ndarray:
        """Paths of the next values, drawn from the posterior predictive distribution.

        Parameters
        ----------
        steps : int
        n_samples : int, default=1
        X_future : array-like of shape (steps, n_features), optional
        random_state : int, RandomState instance or None, default=None
            By default the estimator's own.

        Returns
        -------
        ndarray of shape (steps, n_samples)
            Each path with parameters and noise of its own.
        """
        self._must_be_fitted()
        steps, n_samples = check_count(steps, "steps"), check_count(n_samples, "n_samples")
        rng = generator(self.random_state if random_state is None else random_state)
        theta = self.particles_[rng.choice(len(self.particles_), size=n_samples, p=self.particle_weights_)]
        phi, drift, noise_std, last = self._dynamics(theta, steps, X_future)
        noise = noise_std[:, None] * rng.standard_normal((n_samples, steps))
        return simulated(phi, drift + noise, last).T

    def _dynamics(
        self, theta: np.ndarray, steps: int, X_future: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """φ (M, p), d (M, steps), σ (M,) in the units of the series, and its last values (p,)."""
        past, X = self._past.complete(self.order), self._future_columns(X_future, steps)
        named, M = self._parameters(theta), len(theta)
        coef = named["coef"]
        columns = [past.times(steps)[:, None], X] if self.trend == "ct" else [X]
        drift = coef[:, self.order :] @ np.concatenate(columns, axis=1).T
        if "intercept" in named:
            drift = drift + named["intercept"][:, None]
        noise_std = named["noise_std"] if self.noise_std is None else np.full(M, float(self.noise_std))
        return coef[:, : self.order], drift, noise_std, past.lags(self.order)

    def _future_columns(self, X: Any, steps: int) -> np.ndarray:
        """Exogenous columns of the next rows, (steps, n_features)."""
        if X is None:
            if self.n_features_in_:
                raise ValueError(
                    f"the series was learnt with {self.n_features_in_} exogenous columns: give their "
                    f"values in the next {steps} rows, X_future"
                )
            return np.empty((steps, 0))
        if not self.n_features_in_:
            raise ValueError("the series was learnt without exogenous columns: X_future has no use")
        refuse_unreadable(X_future=X)
        last_time(self._last_time, X_future=X)
        X = validated(self, X, reset=False)
        if len(X) != steps:
            raise ValueError(f"X_future has {len(X)} rows for {steps} steps")
        return X


def simulated(phi: np.ndarray, added: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Future values for each row of φ, with ``added``, (M, steps) or (1, steps), at each step; (M, steps)."""
    (M, p), steps = phi.shape, added.shape[1]
    values = np.empty((p + steps, M))  # of the past, the oldest first, and of the future
    values[:p] = last[::-1, None]
    backwards = phi[:, ::-1].T.copy()
    for h in range(steps):
        values[p + h] = added[:, h] + np.sum(backwards * values[h : h + p], axis=0)
    return values[p:].T
