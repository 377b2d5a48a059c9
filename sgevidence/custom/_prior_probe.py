r"""Does a prior's density belong to its sampler?

For densities p, q and any transformation-free choice of q, both sides of

    E_p[ q / (p + q) ] = E_q[ p / (p + q) ]  ( = ∫ p q / (p + q) )                              (1)

are means of numbers between 0 and 1: Bennett's acceptance ratio (1976, J. Comput. Phys. 22, Eq. 9) at the
ratio one.  If draws of p and the density called p do not belong together, or if p is not normalised, the
two means differ.  Whatever the tails and the support, if they do belong together the difference of the two
sample means is zero on average and no heavy tail can spoil its standard error.  Two kinds of q:

* **p itself, moved**: one coordinate shifted, or stretched about its median, q(θ) = |T′| p(Tθ).  Its draws
  are T⁻¹ of p's, so that (1) becomes a mean over pairs; it overlaps with p whatever p looks like.  It sees
  the shape along the coordinate (a forgotten Jacobian, a wrong scale) but no constant.
* **a Gaussian** with the medians, quartiles and correlations of half the draws, tested on the other half.
  It sees a missing constant, and correlations, as far as it overlaps with p.

Symbols: p ``log_p`` = the density under test, log; q ``log_q`` = the density it is compared with, log; Δ
``delta`` = log q − log p, so that q/(p + q) = 1/(1 + e^−Δ); T ``move`` = θ_j ↦ m + a (θ_j − m) + s.
"""

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

#: Draws, of which the Gaussian is fitted to one half: enough for a scale that is wrong by a fifth.
N_PRIOR_DRAWS = 2000
#: Numbers in all the points of one kind of move, and draws at least: what bounds the time of a long θ.
MAX_PROBED_NUMBERS, MIN_PROBED_DRAWS = 800_000, 1000
#: Events that may be expected and yet not happen, with probability e⁻¹²: where p and q hardly overlap, one
#: mean of (1) may rest on draws so rare that none was seen.  The other must be larger by more than so many.
UNSEEN_EVENTS = 12.0


def prior_disagreement(theta: np.ndarray, log_density: Callable, rng: np.random.Generator) -> str | None:
    """Evidence against ``log_density`` being that of the independent draws (n, d); None if there is none.

    A log density of nan is taken for −∞.  ``rng`` is for the draws of the Gaussian.
    """

    def log_p(points: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            value = np.asarray(log_density(points), dtype=float)
        return np.where(np.isnan(value), -np.inf, value)

    here = log_p(theta)
    outside = ~np.isfinite(here)
    if np.any(outside):
        return f"log_prior is {here[outside][0]} at {np.sum(outside)} of {len(theta)} draws"
    median, scale, correlation = robust_gaussian(theta[::2])
    if not np.all(scale > 0):
        return f"half of the draws are equal in column {int(np.argmin(scale))}, which no density allows"
    d = theta.shape[1]
    # coordinates that are moved: of a longer θ evenly spaced ones, for the time it takes
    coordinates = np.unique(np.linspace(0, d - 1, min(d, 25)).round().astype(int))
    # probability of a warning without reason, over all comparisons with one prior
    limit = NormalDist().inv_cdf(1 - 1e-5 / (2 * (2 * len(coordinates) + 1)))
    given_others = 1 / np.sqrt(np.diag(np.linalg.inv(correlation)))  # in units of the scale
    n = int(np.clip(MAX_PROBED_NUMBERS / (d * len(coordinates)), MIN_PROBED_DRAWS, len(theta)))
    pairs = np.concatenate([theta[:n], theta[:n]])
    for j in coordinates:
        # shift and log stretch, in conditional standard deviations of the coordinate: so far that p and its
        # image differ by about what p varies by, where (1) is most sensitive
        for shift, log_stretch in ((0.7 * scale[j], 0.0), (0.0, 0.4)):
            move = median[j], shift * given_others[j], log_stretch * given_others[j]
            if abs(moved_z_score(pairs, here[:n], log_p, j, *move)) > limit:
                return (
                    f"the draws are spread differently along column {j} than log_prior says: a wrong scale "
                    "or location, or a forgotten Jacobian of a transformed parameter"
                )
    L = np.linalg.cholesky(correlation)
    z, constant = gaussian_z_score(theta[1::2], here[1::2], log_p, (median, scale, L), rng)
    if abs(z) > limit and abs(constant) > 0.1:  # A constant smaller than this is not worth a warning, nats
        high_or_low = "high" if constant > 0 else "low"
        return (
            f"log_prior is {abs(constant):.2g} nats too {high_or_low} where the draws are: a missing "
            "constant, or parameters that depend on each other in the one and not in the other"
        )
    return None


def robust_gaussian(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Medians and standard deviations from quartiles, and correlations of clipped z-scores."""
    low, median, high = np.quantile(theta, [0.25, 0.5, 0.75], axis=0)
    scale = (high - low) / 1.349
    d = theta.shape[1]
    with np.errstate(all="ignore"):  # a coordinate without spread has nan here, and is refused by its scale
        z = np.clip((theta - median) / scale, -3, 3)
        correlation = np.nan_to_num(np.corrcoef(z.T)).reshape(d, d)
    shrinkage = d / (d + len(theta))
    return median, scale, (1 - shrinkage) * correlation + shrinkage * np.eye(d)


def moved_z_score(
    pairs: np.ndarray, here: np.ndarray, log_p: Callable, j: int, m: float, shift: float, log_stretch: float
) -> float:
    """Standard errors by which (1) fails for p and p moved along one coordinate.

    ``pairs`` are the draws, twice; column j is written to and restored, which spares most of the copying.
    """
    n, a, column = len(here), np.exp(log_stretch), pairs[:, j].copy()
    pairs[:n, j] = m + a * (column[:n] - m) + shift
    pairs[n:, j] = m + (column[n:] - m - shift) / a
    there = log_p(pairs).reshape(2, n)
    pairs[:, j] = column
    with np.errstate(invalid="ignore"):
        difference = expit(log_stretch + there[0] - here) - expit(there[1] - here - log_stretch)
    return _z_score(difference.mean(), difference.std(), n)


def gaussian_z_score(
    theta: np.ndarray,
    here: np.ndarray,
    log_p: Callable,
    gaussian: tuple[np.ndarray, np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Standard errors by which (1) fails for p and a Gaussian, and log p's constant that would mend it."""
    median, scale, L = gaussian
    n, d = theta.shape

    def log_q(u: np.ndarray) -> np.ndarray:
        return -0.5 * np.sum(u**2, axis=1) - np.sum(np.log(np.diag(L) * scale)) - d / 2 * np.log(2 * np.pi)

    u = rng.standard_normal((n, d))
    delta_q = log_q(u) - log_p(median + scale * (u @ L.T))
    delta_p = log_q(np.linalg.solve(L, ((theta - median) / scale).T).T) - here
    of_p, of_q = expit(delta_p), expit(-delta_q)
    z = _z_score(of_p.mean() - of_q.mean(), np.sqrt(of_p.var() + of_q.var()), n)

    def imbalance(c: float) -> float:
        return np.mean(expit(delta_p + c)) - np.mean(expit(-delta_q - c))

    delta = np.concatenate([delta_p, delta_q])
    far = 50.0 + np.max(np.abs(delta[np.isfinite(delta)]))
    return z, brentq(imbalance, -far, far) if abs(z) > 3 else 0.0


def _z_score(mean: float, spread: float, n: int) -> float:
    """Standard errors from zero, of what unseen draws cannot explain; no spread is certainty."""
    excess = np.sign(mean) * max(abs(mean) - UNSEEN_EVENTS / n, 0.0)
    return excess * np.sqrt(n) / spread if spread > 0 else np.inf * np.sign(mean) if excess else 0.0
