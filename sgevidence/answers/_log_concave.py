r"""The evidence of a log-concave posterior by a bridge, where t densities at its mode do not suffice.

Draws of the Gaussian q at the mode, or of that nearest to the posterior, are resampled by their weights ω =
p(x | θ) p(θ) / q(θ) and move along the posterior until they have forgotten where they started, and a bridge
(``_ladder.py``) tells the evidence from both kinds of draws.  There is one mode, so nothing can be missed.

Rows that are many are seen once more: their sums at the mode hold all of log L but the remainder of the third
order, which is estimated from as many rows as its noise asks for.

Symbols: q ``gaussian`` = N(m, P⁻¹), at the mode of the posterior; φ ``phi`` = θ = m + L φ with L Lᵀ = P⁻¹,
(M, d); ``u`` = log ω = log p(x | θ) p(θ) − log q(θ), (M,).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..history import N_INFLUENCE_DRAWS, Anchor, Influence, Memory, Rows
from ..kernels import Coordinates
from ..models import Model
from ..particles import Weights
from ..targets import Target, estimate
from ._answer import Answer
from ._bridge import importance
from ._importance import MAX_PARETO_K, pareto_k
from ._ladder import Rung, climb

#: Share of the draws of a Gaussian that are effective from which they need no bridge.
UNBRIDGED_SHARE = 0.75
#: Draws of a Gaussian that a bridge starts from, and chains that it leads to; more or fewer of these in
#: inverse proportion to rows times parameters, within these factors.
N_PROPOSED, N_BRIDGE_CHAINS, CHEAP_NUMBERS, MIN_TIMES, MAX_TIMES = 1000, 400, 50_000, 0.5, 2.5
#: Rows up to which all of them are used; nats that a sample of more may add to log Z.
WHOLE_ROWS, MAX_SAMPLE_NOISE = 2500, 0.005
#: Steps towards the nearest Gaussian, the part of each that is taken, and pairs of points it is made of.
N_REFINEMENTS, REFINED_SHARE, N_PAIRS = 4, 0.5, 4
#: Standard error in nats of an answer, for one parameter: annealing's is no more for d, by a factor √d.
MAX_STD_NATS = 0.018


class Gaussian(NamedTuple):
    """N(m, P⁻¹), and the coordinates in which it is standard normal: θ = m + L φ."""

    m: np.ndarray
    P: np.ndarray
    coordinates: Coordinates

    @classmethod
    def of_precision(cls, m: np.ndarray, P: np.ndarray) -> "Gaussian":
        """LinAlgError if P is not positive definite."""
        return cls(m, P, Coordinates.from_precision(P))

    def theta(self, phi: np.ndarray) -> np.ndarray:
        """(M, d)."""
        return self.m + self.coordinates.unwhiten(phi)

    def log_density(self, phi: np.ndarray) -> np.ndarray:
        """log q at θ(φ), (M,)."""
        d, log_volume = len(self.m), np.sum(np.log(np.diag(self.coordinates.L)))
        return -0.5 * np.sum(phi**2, axis=1) - 0.5 * d * np.log(2 * np.pi) - log_volume


def in_suited_coordinates(
    answer: Callable[[Model, Rows, np.random.Generator, int], Any],
    model: Model,
    rows: Rows,
    rng: np.random.Generator,
    size: int,
) -> Any:
    """The answer for columns measured from a centre if they are far from zero, its draws in plain θ.

    None where the curvature is too ill-conditioned for the arithmetic.
    """
    suited = model.suited(rows.X)
    if not suited.resolves(rows):
        return None
    found = answer(suited, rows, rng, size)
    if not isinstance(found, Answer) or suited is model:
        return found
    return found._replace(theta=suited.in_plain(found.theta)[1])


def bridge_from_mode(
    target: Target, mode: tuple[np.ndarray, np.ndarray], size: int, rng: np.random.Generator
) -> Answer | None:
    """Evidence and posterior, ``size`` draws, from the Gaussian of (mode, precision) or the nearest one.

    None where chains remember their start, or few draws carry a bridge.  LinAlgError where no Gaussian has
    the moments of the posterior.
    """
    q = Gaussian.of_precision(*mode)
    nearest, n_numbers = refined(target, q, rng), len(target.likelihood.rows) * len(q.m)
    draws, more = (Draws.of(target, one, rng.standard_normal((N_PROPOSED, len(q.m)))) for one in (q, nearest))
    # how many times as many draws must be effective for it: at the mode q has the better tails
    if more.weights.ess > 2.0 * draws.weights.ess:
        q, draws = nearest, more
    times = float(np.clip(CHEAP_NUMBERS / max(n_numbers, 1), MIN_TIMES, MAX_TIMES))
    return bridged(target, q, draws, int(times * N_BRIDGE_CHAINS), size, rng)


class Draws(NamedTuple):
    """Draws of q and their weights."""

    phi: np.ndarray  #: (M, d)
    log_w: np.ndarray  #: (M,)
    noise_var: float  #: variance of what all of them are off by, where rows are sampled

    @classmethod
    def of(cls, target: Any, q: Gaussian, phi: np.ndarray) -> "Draws":
        """Weighed by all rows of the target."""
        return cls(phi, target.value(q.theta(phi)) - q.log_density(phi), 0.0)

    @property
    def weights(self) -> Weights:
        return Weights(self.log_w)

    @property
    def suffice(self) -> bool:
        """Whether q is the posterior but for little."""
        few = self.weights.ess < UNBRIDGED_SHARE * len(self.phi)
        return not few and pareto_k(self.log_w) < MAX_PARETO_K

    def answer(self, q: Gaussian, n_rows: int, size: int) -> Answer:
        """Their mean weight, and some of them."""
        found = importance(self.log_w)
        std = float(np.sqrt(found.var_q + self.noise_var))
        cost = float(len(self.phi) * n_rows)
        return Answer(q.theta(self.phi[:size]), self.log_w[:size], found.log_Z, std, cost)


def refined(target: Target, q: Gaussian, rng: np.random.Generator) -> Gaussian:
    """The Gaussian nearest to the posterior by Kullback and Leibler, all but the noise of few draws.

    There the gradient of the log posterior vanishes and its curvature is that of q, both in the mean over q
    (Opper and Archambeau 2009); at the mode of a skew posterior they are far from that.  The points are pairs
    on either side of the centre, so that a quadratic has no noise.
    """
    P = q.P
    for _ in range(N_REFINEMENTS):
        z = rng.standard_normal((N_PAIRS, len(q.m)))
        theta = q.theta(np.concatenate([z, -z]))
        P = (1 - REFINED_SHARE) * P + REFINED_SHARE * target.mean_curvature(theta)
        step = cho_solve(cho_factor(P, lower=True), target.value_and_grad(theta)[1].mean(axis=0))
        q = Gaussian.of_precision(q.m + REFINED_SHARE * step, P)
    return q


def log_joint_of_many(
    model: Model, rows: Rows, anchor: Anchor, theta: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """log p(x | θ) p(θ), (M,), and the variance of what they are all off by, where rows are sampled.

    The anchor has the sums over all rows; what they leave is estimated from as many rows as it takes.
    """
    if len(rows) <= WHOLE_ROWS:
        return model.log_joint(theta, rows), 0.0
    influence = Influence(model, anchor.a, theta[:N_INFLUENCE_DRAWS])
    # part of the rows that samples must have, where they stand out
    high_leverage = influence.outstanding(rows, int(0.05 * len(rows)))
    memory = Memory.of(rows, high_leverage)._replace(anchor=anchor)
    return log_joint_by_sample(model, memory, theta, rng, WHOLE_ROWS)


def log_joint_by_sample(
    model: Model, memory: Memory, theta: np.ndarray, rng: np.random.Generator, whole_rows: int
) -> tuple[np.ndarray, float]:
    """:func:`log_joint_of_many` of a memory, whose rows are all used up to ``whole_rows``."""
    found = estimate(model, theta, memory, rng, whole_rows=whole_rows, noise=MAX_SAMPLE_NOISE)
    return found.value + model.log_prior(theta), found.variance


def bridged(
    target: Target, q: Gaussian, draws: Draws, n_chains: int, size: int, rng: np.random.Generator
) -> Answer | None:
    """By a bridge, or several, from draws of q to draws of the posterior."""
    L, d, rows = q.coordinates.L, len(q.m), target.likelihood.rows
    log_constant = float(q.log_density(np.zeros((1, d)))[0])

    def log_p(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, grad = target.value_and_grad(q.theta(phi))
        return value - log_constant, grad @ L

    climbed = climb(log_p, Rung(draws.phi[None], draws.log_w[None]), n_chains, rng)
    if climbed is None or climbed.std > MAX_STD_NATS * max(d, 30) ** 0.5:
        return None
    phi = climbed.top.phi[::-1].reshape(-1, d)[:size]  # the last of each chain first
    theta = q.theta(phi)
    n_likelihoods, n_gradients = len(draws.phi) * len(rows), climbed.n_evaluations * len(rows)
    return Answer(
        theta, np.zeros(len(theta)), climbed.log_ratio, climbed.std, float(n_likelihoods), n_gradients
    )
