r"""Times whose hazard is constant between breaks, and proportional to e^(−η):

    h(t) = e^(−η) λ_k  for t in piece k,    Λ(t) = Σ_k λ_k |piece k before t|,    S(t) = exp(−e^(−η) Λ(t)).

With one piece of λ = 1 times are exponential.  The likelihood is that of Poisson counts of events, of which
piece k has the time that is spent there as its exposure (Friedman 1982).

Symbols: ``rates`` = λ_k, (M, 1) each; ``u`` = log cumulative hazard log Λ − η.

References
----------
M. Friedman (1982), Piecewise exponential models for survival data with covariates, Annals of Statistics 10,
101.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np

from ._survival_families import Times, log_of_less_than_one

#: Pieces at most: each has a parameter of its own.
MAX_PIECES = 30


@dataclass(frozen=True)
class PiecewiseExponential(Times):
    """Times with a hazard that is constant between breaks.

    Parameters
    ----------
    breaks : tuple of float
        Positive times in their order, in the unit of y; the last piece has no end.
    scale : float, default=1.0
        Prior standard deviation of log λ_k, independent in each piece.
    """

    breaks: tuple[float, ...] = ()
    scale: float = 1.0

    is_log_concave = False

    def __post_init__(self) -> None:
        breaks = np.asarray(self.breaks, dtype=float)
        if breaks.ndim != 1 or not np.all(np.isfinite(breaks) & (breaks > 0)) or np.any(np.diff(breaks) <= 0):
            raise ValueError(f"breaks must be positive times that rise, got {self.breaks!r}")
        if len(breaks) >= MAX_PIECES:
            raise ValueError(f"a hazard has {MAX_PIECES} pieces at most, got {len(breaks)} breaks")
        if not self.scale > 0:
            raise ValueError(f"scale must be positive, got {self.scale!r}")

    @property
    def n_own(self) -> int:
        return len(self.breaks) + 1

    def prior_names(self) -> list[str]:
        return [f"log rates N(0, {self.scale:g}²)"]

    def own_of(self, z: Any) -> list[Any]:
        return [anp.exp(self.scale * z[:, k : k + 1]) for k in range(self.n_own)]

    def named(self, own: list[np.ndarray]) -> dict[str, np.ndarray]:
        return {"rates": np.hstack(own)}

    def _pieces(self) -> Iterator[tuple[float, float]]:
        """Beginning and end of each."""
        yield from zip((0.0, *self.breaks), (*self.breaks, np.inf))

    def cumulative(self, y: Any, rates: Any) -> Any:
        """Λ(y)."""
        return sum(
            rate * np.clip(y - start, 0.0, end - start) for rate, (start, end) in zip(rates, self._pieces())
        )

    def _rate(self, y: Any, rates: Any) -> Any:
        """λ of the piece of y."""
        piece = np.searchsorted(self.breaks, y, side="left")
        return sum(rate * (piece == k) for k, rate in enumerate(rates))

    def inverse(self, hazard: Any, rates: Any) -> Any:
        """t of a cumulative hazard Λ(t)."""
        t: Any = 0.0
        for rate, (start, end) in zip(rates, self._pieces()):
            length = end - start
            t = t + np.minimum(hazard / rate, length)
            hazard = np.maximum(hazard - rate * length, 0.0) if length < np.inf else 0.0 * hazard
        return t

    def log_density(self, eta, y, *rates):
        return anp.log(self._rate(y, rates)) - eta - anp.exp(-eta) * self.cumulative(y, rates)

    def log_cdf(self, eta, y, *rates):
        return log_of_less_than_one(np.log(self.cumulative(y, rates)) - eta)

    def log_sf(self, eta, y, *rates):
        return -np.exp(-eta) * self.cumulative(y, rates)

    def log_flux(self, eta, y, *rates):
        u = np.log(self.cumulative(y, rates)) - eta
        return u - np.exp(u)

    def score(self, eta, y, *rates):
        return np.expm1(np.log(self.cumulative(y, rates)) - eta)

    def curvature(self, eta, y, *rates):
        return np.exp(-eta) * self.cumulative(y, rates)

    def _sum_of_pieces(self, eta: Any, rates: Any, of_piece: Any) -> Any:
        """Σ_k of a function of e^(−η) λ_k, S at the beginning, beginning, length, and S at the end."""
        total, survives = 0.0, np.ones(np.broadcast(eta, *rates).shape)
        for rate, (start, end) in zip(rates, self._pieces()):
            h = rate * np.exp(-eta)
            after = survives * (np.exp(-h * (end - start)) if end < np.inf else 0.0)
            total = total + of_piece(h, survives, start, end if end < np.inf else 0.0, after)
            survives = after
        return total

    def mean(self, eta, *rates):
        return self._sum_of_pieces(eta, rates, lambda h, before, start, end, after: (before - after) / h)

    def variance(self, eta, *rates):
        def second(h: Any, before: Any, start: Any, end: Any, after: Any) -> Any:
            return 2 * (before * (start / h + 1 / h**2) - after * (end / h + 1 / h**2))

        return self._sum_of_pieces(eta, rates, second) - self.mean(eta, *rates) ** 2

    def entropy(self, eta, *rates):
        """1 − E[log h]."""
        return 1 - self._sum_of_pieces(
            eta, rates, lambda h, before, start, end, after: (before - after) * np.log(h)
        )

    def median(self, eta, *rates):
        return self.inverse(np.log(2) * np.exp(eta), rates)

    def simulate(self, eta, rng, *rates):
        return self.inverse(rng.exponential(size=np.shape(eta)) * np.exp(eta), rates)
