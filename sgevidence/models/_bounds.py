r"""Families of which some y are known by bounds alone, or are seen only beyond an entry: one likelihood.

    exact          log f(y)
    within bounds  log [F(u) − F(l)] = log S(l) + log(1 − e^(−gap)),  gap = log S(l) − log S(u),  or by F
    late entry     − log S(e) more

for l < y ≤ u.  The smaller of S and F at the bounds is taken, so that nothing rounded is subtracted in a
tail; where (l, u] is so narrow that the difference has no digits, the mass is density times width.  With the
flux g(y) = −∂F(y)/∂η, of which s = ∂ log g/∂η is known in closed form, r = g / mass at each bound gives

    ∂ log mass/∂η = r_l − r_u,        ∂² log mass/∂η² = r_l s_l − r_u s_u − (r_l − r_u)².

A family with a link of times is a scale family, so that g(y) = y f(y), that of numbers has g = f; and s is
the score.  Rows have three columns after their offset: lower and upper bound (equal: y is exact) and entry,
−∞ and ∞ where there is none.  Those of numbers are measured from y, so that units need not know of origins.

Symbols: ``eta`` = η (M, n), ``own`` = own parameters, (M, 1) each, ``l, u, e`` = bounds and entry, (n,).

References
----------
J. P. Klein, M. L. Moeschberger (2003), Survival Analysis, 2nd ed., chapter 3;
J. Tobin (1958), Estimation of relationships for limited dependent variables, Econometrica 26, 24.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from autograd.extend import defvjp, primitive
from autograd.numpy.numpy_vjps import unbroadcast_f

from ._families import Family
from ._piecewise_family import MAX_PIECES

#: Part of a tail that is so small that a difference of tails has lost half of its digits.
MIN_RESOLVED_GAP = 1e-7
#: Logarithm, nats, of the largest ratio of a flux to a mass that takes part in derivatives, and the largest
#: derivative: where these are beyond, the likelihood is zero.
MAX_LOG_FLUX, MAX_DERIVATIVE = 300.0, 1e150
#: Relative step of central differences by own parameters.
RELATIVE_STEP_OF_OWN = float(np.finfo(float).eps ** (1 / 3))


class Kinds(NamedTuple):
    """Rows that are treated alike."""

    exact: np.ndarray  #: indices of rows
    bounded: np.ndarray
    lower: np.ndarray  #: bounds of the latter, −∞ and ∞ where there are none
    upper: np.ndarray
    width: np.ndarray  #: their distance
    late: np.ndarray  #: indices of rows with an entry
    entry: np.ndarray  #: entries of these
    not_exact: np.ndarray  #: indices of rows with bounds, and of those without any

    @classmethod
    def of(cls, y: np.ndarray, lower: Any, upper: Any, entry: Any, is_from_y: bool) -> "Kinds":
        """Rows by their columns, which are measured from y or not."""
        lower, upper, entry = (np.broadcast_to(one, y.shape) for one in (lower, upper, entry))
        is_exact, late = lower == upper, np.flatnonzero(entry > -np.inf)
        bounded = np.flatnonzero(~is_exact & ((lower > -np.inf) | (upper < np.inf)))
        origin, width = y if is_from_y else np.zeros(len(y)), upper[bounded] - lower[bounded]
        bounds = lower[bounded] + origin[bounded], upper[bounded] + origin[bounded], width
        return cls(
            np.flatnonzero(is_exact),
            bounded,
            *bounds,
            late,
            entry[late] + origin[late],
            np.flatnonzero(~is_exact),
        )


@dataclass(frozen=True)
class Bounded(Family):
    """A family with bounds and entries beside y.

    Parameters
    ----------
    law : Family
        That of y without bounds.
    log_unit : float
        Logarithm of the unit in which y are measured: a density has it, and a probability has not.
    """

    law: Family
    log_unit: float = 0.0

    known = "bounds"
    n_known = 3  # type: ignore[assignment]
    own = property(lambda self: self.plain.own)  # type: ignore[assignment]
    has_intercept = property(lambda self: self.plain.has_intercept)  # type: ignore[assignment]
    n_mode_checks = property(lambda self: self.plain.n_mode_checks)  # type: ignore[assignment]
    is_positive = property(lambda self: self.plain.is_positive)  # type: ignore[assignment]
    grain = property(lambda self: self.plain.grain)  # type: ignore[assignment]
    link = property(lambda self: self.plain.link)  # type: ignore[assignment]
    half_a_count = property(lambda self: self.plain.half_a_count)  # type: ignore[assignment]

    @property
    def plain(self) -> Family:
        return self.law

    def __post_init__(self) -> None:
        if not self.plain.has_tails:
            raise ValueError(f"{type(self.plain).__name__} has no bounds")

    @property
    def is_log_concave(self) -> bool:  # type: ignore[override]
        """For exponential times: an entry of other laws adds a convex term."""
        return self.plain.is_log_concave and self.plain.is_memoryless

    @property
    def n_own(self) -> int:
        return self.plain.n_own

    def own_of(self, z: Any) -> list[Any]:
        return self.plain.own_of(z)

    def named(self, own: list[np.ndarray]) -> dict[str, np.ndarray]:
        return self.plain.named(own)

    def _kinds(self, y: Any, lower: Any, upper: Any, entry: Any) -> Kinds:
        return Kinds.of(np.atleast_1d(y), lower, upper, entry, self.link == "identity")

    # -- value ----------------------------------------------------------------------------------

    def log_density(self, eta, y, lower, upper, entry, *own):
        y = np.atleast_1d(y)
        return _log_likelihood(eta, self, y, self._kinds(y, lower, upper, entry), *own)

    def summed(self, y, weight, lower, upper, entry):
        k = self._kinds(y, lower, upper, entry)
        of_exact = self.plain.summed(y[k.exact], weight[k.exact])
        constant = self.log_unit * weight[k.not_exact].sum()

        @np.errstate(all="ignore")
        def total(eta: Any, *own: Any) -> Any:
            found = of_exact(eta[:, k.exact] if len(k.not_exact) else eta, *own) + constant
            if len(k.bounded):
                found = found + self._log_mass(eta[:, k.bounded], k, own) @ weight[k.bounded]
            if len(k.late):
                found = found - self.plain.log_sf(eta[:, k.late], k.entry, *own) @ weight[k.late]
            return possible(found)

        return total

    def _log_mass(self, eta: Any, k: Kinds, own: Any) -> Any:
        """log P(l < y ≤ u), (M, n)."""
        right, left, both = _sides(k)
        found = np.empty(np.broadcast(eta, k.lower, *own).shape)
        found[..., right] = self.plain.log_sf(eta[..., right], k.lower[right], *own)
        found[..., left] = self.plain.log_cdf(eta[..., left], k.upper[left], *own)
        if len(both):
            mass, is_narrow = self._difference(eta[..., both], k.lower[both], k.upper[both], own)
            if is_narrow.any():
                middle, log_width = self._middle(k, both)
                density = self.plain.log_density(eta[..., both], middle, *own) + log_width
                mass = np.where(is_narrow, density, mass)
            found[..., both] = mass
        return found

    def _difference(self, eta: Any, lower: Any, upper: Any, own: Any) -> tuple[Any, Any]:
        """log [F(u) − F(l)] by the smaller tail, and where it has lost its digits."""
        plain = self.plain
        at_lower, at_upper = plain.log_sf(eta, lower, *own), plain.log_cdf(eta, upper, *own)
        above = at_lower < at_upper
        with np.errstate(all="ignore"):
            far = np.where(above, plain.log_sf(eta, upper, *own), plain.log_cdf(eta, lower, *own))
            near = np.where(above, at_lower, at_upper)
            gap = near - far  # whose rounding is that of logarithms of small numbers
            is_narrow = ~(gap > MIN_RESOLVED_GAP * np.maximum(1.0, -near)) & (near > -np.inf)
            return near + np.log(-np.expm1(-gap)), is_narrow

    def _middle(self, k: Kinds, both: np.ndarray) -> tuple[Any, Any]:
        """A point within bounds, and the log of density times width there less that of the density."""
        lower, width = k.lower[both], k.width[both]
        if self.link == "log" and not self.grain:  # log y is what moves with η
            middle = np.sqrt(lower) * np.sqrt(k.upper[both])
            return middle, np.log(np.log1p(width / lower)) + np.log(middle)
        return lower + 0.5 * (width + self.grain), np.log(width)

    # -- derivatives ----------------------------------------------------------------------------

    def score(self, eta, y, lower, upper, entry, *own):
        return self.derivatives(eta, y, self._kinds(y, lower, upper, entry), own)[0]

    def curvature(self, eta, y, lower, upper, entry, *own):
        return self.derivatives(eta, y, self._kinds(y, lower, upper, entry), own)[1]

    @np.errstate(all="ignore")
    def derivatives(self, eta: Any, y: Any, k: Kinds, own: Any) -> tuple[Any, Any]:
        """Score and curvature, (M, n) each."""
        y, plain = np.atleast_1d(y), self.plain
        eta = np.broadcast_to(eta, np.broadcast(eta, y, *own).shape)
        score, curvature = np.zeros(eta.shape), np.zeros(eta.shape)
        score[..., k.exact] = plain.score(eta[..., k.exact], y[k.exact], *own)
        curvature[..., k.exact] = plain.curvature(eta[..., k.exact], y[k.exact], *own)
        if len(k.bounded):
            score[..., k.bounded], curvature[..., k.bounded] = self._of_mass(eta[..., k.bounded], k, own)
        if len(k.late):
            of_entry = self._of_entry(eta[..., k.late], k.entry, own)
            score[..., k.late] += of_entry[0]
            curvature[..., k.late] += of_entry[1]
        curvature = np.maximum(curvature, 0.0) if self.is_log_concave else curvature
        finite = [np.clip(np.nan_to_num(one), -MAX_DERIVATIVE, MAX_DERIVATIVE) for one in (score, curvature)]
        return finite[0], finite[1]

    def _flux(self, eta: Any, y: Any, log_mass: Any, own: Any) -> tuple[Any, Any]:
        """r and s at a bound."""
        with np.errstate(all="ignore"):
            log_r = self.plain.log_flux(eta, y, *own) - log_mass
            r = np.exp(np.minimum(np.nan_to_num(log_r, nan=-np.inf), MAX_LOG_FLUX))
        return r, self.plain.flux_slope(eta, y, *own)

    def _of_entry(self, eta: Any, entry: Any, own: Any) -> tuple[Any, Any]:
        """Score and curvature of −log S(e)."""
        r, slope = self._flux(eta, entry, self.plain.log_sf(eta, entry, *own), own)
        return -r, r * (slope - r)

    def _of_mass(self, eta: Any, k: Kinds, own: Any) -> tuple[Any, Any]:
        """Score and curvature of the log mass."""
        log_mass = self._log_mass(eta, k, own)
        score, second = np.zeros(log_mass.shape), np.zeros(log_mass.shape)
        for sign, bound in ((1.0, k.lower), (-1.0, k.upper)):
            at = np.flatnonzero(np.isfinite(bound))
            r, slope = self._flux(eta[..., at], bound[at], log_mass[..., at], own)
            score[..., at] += sign * r
            second[..., at] += sign * r * slope
        curvature, both = score**2 - second, _sides(k)[2]
        if len(both):
            eta = eta[..., both]
            is_narrow = self._difference(eta, k.lower[both], k.upper[both], own)[1]
            middle, _ = self._middle(k, both)
            score[..., both] = np.where(is_narrow, self.plain.score(eta, middle, *own), score[..., both])
            of_middle = self.plain.curvature(eta, middle, *own)
            curvature[..., both] = np.where(is_narrow, of_middle, curvature[..., both])
        return score, curvature

    # -- predictions, which have no bounds --------------------------------------------------------

    def mean(self, eta, lower, upper, entry, *own):
        return self.plain.mean(eta, *own)

    def variance(self, eta, lower, upper, entry, *own):
        return self.plain.variance(eta, *own)

    def entropy(self, eta, lower, upper, entry, *own):
        return self.plain.entropy(eta, *own)

    def simulate(self, eta, rng, lower, upper, entry, *own):
        return self.plain.simulate(eta, rng, *own)

    def doubt(self, y: np.ndarray) -> str | None:
        return self.plain.doubt(y)


def _sides(k: Kinds) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices among the bounded of those with a lower bound alone, with an upper one alone, and with both."""
    has_lower, has_upper = k.lower > -np.inf, k.upper < np.inf
    kinds = has_lower & ~has_upper, ~has_lower & has_upper, has_lower & has_upper
    return tuple(np.flatnonzero(kind) for kind in kinds)  # type: ignore[return-value]


@primitive
@np.errstate(all="ignore")
def _log_likelihood(eta: Any, family: Bounded, y: np.ndarray, k: Kinds, *own: Any) -> Any:
    """log-likelihood of each row, (M, n)."""
    eta = np.broadcast_to(eta, np.broadcast(eta, y, *own).shape)
    found = np.full(eta.shape, family.log_unit)
    found[..., k.exact] = family.plain.log_density(eta[..., k.exact], y[k.exact], *own)
    found[..., k.bounded] += family._log_mass(eta[..., k.bounded], k, own)
    found[..., k.late] -= family.plain.log_sf(eta[..., k.late], k.entry, *own)
    return possible(found)


def possible(log_likelihood: Any) -> Any:
    """−∞ where so little survives an entry that neither that nor what is seen later is a number."""
    return np.where(np.isnan(log_likelihood), -np.inf, log_likelihood)


def _by_eta(ans: Any, eta: Any, family: Bounded, y: Any, k: Kinds, *own: Any) -> Callable[[Any], Any]:
    return unbroadcast_f(eta, lambda g: g * family.derivatives(eta, y, k, own)[0])


def _by_own(j: int, ans: Any, eta: Any, family: Bounded, y: Any, k: Kinds, *own: Any) -> Callable[[Any], Any]:
    """By central differences."""
    step = RELATIVE_STEP_OF_OWN * np.asarray(own[j])
    above, below = (
        _log_likelihood(eta, family, y, k, *own[:j], own[j] + sign * step, *own[j + 1 :]) for sign in (1, -1)
    )
    return unbroadcast_f(own[j], lambda g: g * (above - below) / (2 * step))


#: Own parameters are the arguments after the rows.
OWN_ARGUMENTS = tuple(range(4, 4 + MAX_PIECES))
defvjp(
    _log_likelihood, _by_eta, *(partial(_by_own, j - 4) for j in OWN_ARGUMENTS), argnums=(0, *OWN_ARGUMENTS)
)
