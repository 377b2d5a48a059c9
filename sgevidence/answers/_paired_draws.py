r"""Evidence from antithetic pairs of draws of a mixture of t densities, with control variates of known means.

Draws of part k of q come in pairs m ± L φ, so that what is odd about m cancels in the mean weight of a pair.
What is even is told mostly by functions of which q has known means: with N(φ) the standard normal density,

    g_k = N(φ_k) / (|L_k| q),    E_q[g_k] = 1,    E_q[g_k φ_k] = 0,    E_q[g_k (φ_k φ_kᵀ − I)] = 0,

since g_k q is a Gaussian density.  Of a posterior that is nearly Gaussian they explain nearly all of ω, and
512 draws say as much as 10⁵ without them.  Their coefficients are fitted to the other parts of the pairs, so
that the standard error of what is left is an error bar.

Symbols: θ ``theta`` = draws, (M, d), the two of a pair n rows apart; ω ``weight``; ``n`` = pairs, M = 2 n;
``K`` = parts of q.

References
----------
A. B. Owen (2013), Monte Carlo theory, methods and examples, chapters 8 and 9;
O. Cappé and others (2008), Adaptive importance sampling in general mixture classes, Statistics and Computing
18, 447.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..kernels import Coordinates
from ..particles import Weights, log_sum_exp, systematic
from ._answer import Answer
from ._importance import TDensity, log_t, pareto_k, t_draws
from ._ladder import next_gap

#: log p(rows, θ) of a cloud (M, d), (M,).
LogJoint = Callable[[np.ndarray], np.ndarray]
#: Each round of draws: pairs, pairs per parameter, parts that are added to q before it, standard error (nats)
#: and Pareto k up to which it ends the search, and the least error that it states, nats.  A t at the mode has
#: no skewness: a tail of its weights says that q is thin on a side of the posterior; mixtures cover both
#: sides, but know only where draws have been (errors of Student t noise were 1.5 to 2 bars without a floor).
ROUNDS = (
    (256, 20, 0, 0.01, 0.1, 0.0),
    (1024, 40, 0, 0.015, 0.1, 0.0),
    (2048, 80, 2, 0.02, 0.3, 0.008),
    (2048, 80, 0, 0.02, 0.5, 0.008),
    (2048, 80, 0, 0.03, np.inf, 0.008),
)
#: Standard error, nats, that is asked of an answer: ROUNDS are for it, another is a factor to theirs.
TOLERANCE_NATS = 0.03
#: Rounds where modes are several: few draws would not tell what lies between them.
ROUNDS_OF_SEVERAL = ((2048, 80, 0, 0.01, 0.1, 0.0), *ROUNDS[2:])
#: Pareto k beyond which that of few weights says no more: weights of t draws are bounded.
MAX_TAIL = 0.9
#: Parts of the pairs, of which the coefficients of the control variates of one are fitted to the others.
N_FITTED_PARTS = 4
#: Pairs per control variate, at least: more of them than the pairs carry add more noise than they take.
MIN_PAIRS_PER_CONTROL = 4
#: Parts of q from which the plain mean is taken where control variates add to its error.
MANY_PARTS = 5
#: Root mean square of a control variate at least, of which the natural size is one.  Of a smaller one, which
#: cancels in the pairs of one part, the mean is zero by draws of other parts that come once in 10⁵: blown up
#: to explain ω it took 0.03 nats off at ± 0.004.
MIN_CONTROL_SIZE = 0.003
#: Part of all weight that a point held against q may have.
MAX_POINT_SHARE = 0.1
#: Steps of EM that fit a mixture to draws, and its degrees of freedom; share of the t that has the moments of
#: all draws, and the least of any other.
N_EM_STEPS, FITTED_DEGREES, SHARE_OF_WHOLE, MIN_PART_SHARE = 12, 5.0, 0.2, 0.05
#: Effective draws per parameter from which a part is fitted; of fewer it stays as it was.
MIN_DRAWS_PER_PARAMETER = 5.0


class TMixture(NamedTuple):
    """q, a mixture of Student t densities."""

    parts: Sequence[TDensity]
    shares: np.ndarray  #: (K,)

    def each(self, theta: np.ndarray) -> np.ndarray:
        """Log share and density of each part at θ (M, d), (K, M)."""
        return np.array([part.log_density(theta) for part in self.parts]) + np.log(self.shares)[:, None]

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """(M,)."""
        return log_sum_exp(self.each(theta), axis=0)

    def plus(self, more: Sequence[TDensity]) -> "TMixture":
        """With more parts, which share a tenth of the draws."""
        if not more:
            return self
        return TMixture([*self.parts, *more], np.r_[0.9 * self.shares, np.full(len(more), 0.1 / len(more))])


class PairedDraws(NamedTuple):
    """Weighted draws, and the evidence by them."""

    theta: np.ndarray  #: (M, d)
    log_w: np.ndarray  #: (M,)
    each: np.ndarray  #: log share and density of each part of q at each draw, (K, M)
    log_Z: float  #: nats
    std: float  #: nats
    tail: float  #: Pareto k of the weights

    @property
    def weights(self) -> Weights:
        return Weights(self.log_w)

    def are_outweighed_by(self, log_w: float) -> bool:
        """Whether a known point of this weight, beside them, shows that q is too thin there."""
        return bool(log_w > max(self.log_w.max(), log_sum_exp(self.log_w) + np.log(MAX_POINT_SHARE)))


class Adapted(NamedTuple):
    """Draws of the last round."""

    draws: PairedDraws
    q: TMixture  #: of which they are
    suffices: bool  #: whether their evidence has an error bar, and a short one
    n_draws: int  #: of all rounds

    def answer(self, std: float, n_rows: int, size: int, rng: np.random.Generator) -> Answer:
        """Their evidence with this standard error, and ``size`` of the draws, by weight."""
        theta = self.draws.theta[systematic(self.draws.weights.W, rng, size)]
        return Answer(theta, np.zeros(size), self.draws.log_Z, std, float(self.n_draws * n_rows))


def laplace(log_joint: LogJoint, modes: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Log evidence of each (mode, precision) by Laplace's method, (K,), nats."""
    half_log_dets = np.array([0.5 * np.linalg.slogdet(P)[1] for _, P in modes])
    a = np.array([a for a, _ in modes])
    return log_joint(a) + 0.5 * a.shape[1] * np.log(2 * np.pi) - half_log_dets


def nothing_missed(draws: PairedDraws, q: TMixture) -> list[TDensity]:
    """No parts: the modes of the posterior are known."""
    return []


def adapted_draws(
    log_joint: LogJoint,
    modes: Sequence[tuple[np.ndarray, np.ndarray]],
    shares: np.ndarray,
    size: int,
    rng: np.random.Generator,
    tolerance: float = TOLERANCE_NATS,
    missed: Callable[[PairedDraws, TMixture], list[TDensity]] = nothing_missed,
    rounds: Sequence[tuple] = (),
) -> Adapted | None:
    """Pairs around (mode, precision) each, and of mixtures fitted to the draws while these do not suffice.

    Rounds end early by the ``tolerance`` (nats); the last suffices at TOLERANCE_NATS, whatever was wished.
    ``log_joint`` gives log p(rows, θ) of a cloud; ``missed`` has parts that q lacks, without which no draws
    suffice.  About ``size`` draws in the first round; None if none of them is possible.  LinAlgError if a
    precision is not positive definite.
    """
    d, n_draws = len(modes[0][0]), 0
    q = TMixture([TDensity.at_mode(a, P) for a, P in modes], shares)
    found: Adapted | None = None
    rounds = rounds or (ROUNDS if len(modes) == 1 else ROUNDS_OF_SEVERAL)
    wish, lacks = tolerance / TOLERANCE_NATS, list[TDensity]()
    for n_pairs, per_parameter, n_new, max_std, max_tail, floor in rounds:
        n = max(n_pairs, per_parameter * d, 0 if found else size // 2)
        if found:
            try:
                q = fitted_mixture(found.draws, q, n_new, rng).plus(lacks)
            except np.linalg.LinAlgError:
                return found
        draws = paired_draws(log_joint, q, 2 * (n // 2), rng)
        if draws is None:
            return None
        n_draws += len(draws.theta)
        draws, lacks = draws._replace(std=max(draws.std, floor)), missed(draws, q)
        max_std *= max(wish, 1.0) if np.isinf(max_tail) else wish
        found = Adapted(draws, q, draws.std < max_std and draws.tail < max_tail and not lacks, n_draws)
        if found.suffices:
            break
    return found


def paired_draws(log_joint: LogJoint, q: TMixture, n: int, rng: np.random.Generator) -> PairedDraws | None:
    """n pairs from q and the evidence that their weights estimate; None if none of them is possible."""
    d, K = len(q.parts[0].m), len(q.parts)
    sizes = np.diff(np.round(n * np.cumsum(np.r_[0.0, q.shares / q.shares.sum()])).astype(int))
    halves = [t_draws(rng, (size, d), part.nu) for size, part in zip(sizes, q.parts)]
    theta = np.concatenate([part.theta(sign * phi) for sign in (1, -1) for phi, part in zip(halves, q.parts)])
    phi = np.array([part.phi(theta) for part in q.parts])  # (K, M, d)
    log_volumes = np.array([np.sum(np.log(np.diag(part.coordinates.L))) for part in q.parts])
    with np.errstate(divide="ignore"):
        log_shares = np.log(sizes / n)
    each = (
        np.array([log_t(x, part.nu) for x, part in zip(phi, q.parts)]) + (log_shares - log_volumes)[:, None]
    )
    log_q = log_sum_exp(each, axis=0)
    log_w = log_joint(theta) - log_q
    top = log_w.max()
    if not np.isfinite(top):
        return None
    log_g = -0.5 * np.sum(phi**2, axis=2) - 0.5 * d * np.log(2 * np.pi) - log_volumes[:, None] - log_q
    weight = np.exp(log_w - top)
    controls = [column for k in range(K) for column in _controls(np.exp(log_g[k]), phi[k], n, K)]
    pairs = 0.5 * (weight[:n] + weight[n:])
    g = np.column_stack(controls)
    if K > 1:
        g = g[:, np.sqrt(np.mean(g**2, axis=0)) > MIN_CONTROL_SIZE]
    mean, std = controlled_mean(pairs, g)
    if not mean > 0:  # few draws, and coefficients that take more than there is
        mean, std = weight.mean(), np.inf
    tail = pareto_k(log_w)
    if K > MANY_PARTS and pairs.std(ddof=1) / n**0.5 < std:  # too many control variates for the pairs
        mean, std = float(pairs.mean()), float(pairs.std(ddof=1) / n**0.5)
    # one weight beyond the largest is to be expected, by k/(1 − k) of it if the tail is a Pareto's
    k = np.clip(tail, 0.0, MAX_TAIL)
    unseen = weight.max() / weight.sum() * k / (1 - k)
    return PairedDraws(
        theta, log_w, each, float(top + np.log(mean)), float(np.hypot(std / mean, unseen)), tail
    )


def _controls(g: np.ndarray, phi: np.ndarray, n: int, K: int) -> list[np.ndarray]:
    """Control variates of one part of q, means of pairs, as many as n pairs carry."""
    d, most = phi.shape[1], n // (MIN_PAIRS_PER_CONTROL * K)
    odd = d if K > 1 else 0  # which cancel in pairs of one part alone
    g, columns = g[:, None], [g[:, None] - 1.0]
    if 1 + odd + d <= most:
        if odd:
            columns.append(g * phi)
        i, j = np.triu_indices(d) if 1 + odd + d * (d + 1) // 2 <= most else (np.arange(d),) * 2
        columns.append(g * (phi[:, i] * phi[:, j] - (i == j)))
    every = np.concatenate(columns, axis=1)
    return list((0.5 * (every[:n] + every[n:])).T)


def controlled_mean(u: np.ndarray, controls: np.ndarray) -> tuple[float, float]:
    """Mean of u (n,) and its standard error, less what control variates (n, J) of mean zero explain of it."""
    n, rest = len(u), np.empty(len(u))
    A = np.column_stack([np.ones(n), controls / np.sqrt(np.mean(controls**2, axis=0) + 1e-300)])
    products, with_u, ridge = A.T @ A, A.T @ u, 1e-9 * n * np.eye(A.shape[1])
    for k in range(N_FITTED_PARTS):
        part, of_part = A[k::N_FITTED_PARTS], u[k::N_FITTED_PARTS]
        coef = np.linalg.solve(products - part.T @ part + ridge, with_u - part.T @ of_part)
        rest[k::N_FITTED_PARTS] = of_part - part[:, 1:] @ coef[1:]
    return float(rest.mean()), float(rest.std(ddof=1) / n**0.5)


def fitted_mixture(draws: PairedDraws, q: TMixture, n_new: int, rng: np.random.Generator) -> TMixture:
    """q fitted to its weighted draws by EM, with more parts, and a t of the moments of all of them.

    LinAlgError where the draws that count lie in a plane.
    """
    # p(θ | x)^t q^(1 − t) where too few draws count for the posterior itself
    theta, W = draws.theta, Weights(next_gap(draws.log_w, 1.0) * draws.log_w).W
    whole = _moments(theta, W)
    resp = np.exp(draws.each - log_sum_exp(draws.each, axis=0)) * W  # (K, M)
    fitted = [_refitted(theta, part, old) for part, old in zip(resp, q.parts)]
    if len(fitted) + n_new == 1:
        return TMixture(fitted, np.ones(1))
    centres = theta[rng.choice(len(theta), n_new, p=W)]
    C = whole.coordinates.L @ whole.coordinates.L.T
    start = Coordinates.from_covariance(0.25 * C)
    fitted += [TDensity(centre, start, FITTED_DEGREES) for centre in centres]
    shares = np.full(len(fitted), 1 / len(fitted))
    for _ in range(N_EM_STEPS):
        each = TMixture(fitted, shares).each(theta)
        resp = np.exp(each - log_sum_exp(each, axis=0)) * W
        shares = np.maximum(resp.sum(axis=1), MIN_PART_SHARE)
        fitted = [_refitted(theta, part, old) for part, old in zip(resp, fitted)]
    shares = (1 - SHARE_OF_WHOLE) * shares / shares.sum()
    return TMixture([whole, *fitted], np.r_[SHARE_OF_WHOLE, shares])


def _refitted(theta: np.ndarray, W: np.ndarray, old: TDensity) -> TDensity:
    """The t of the moments of these draws; the old one where few of them count."""
    effective = W.sum() ** 2 / max(W @ W, 1e-300)
    if not effective > MIN_DRAWS_PER_PARAMETER * theta.shape[1]:
        return old
    return _moments(theta, W / W.sum())


def _moments(theta: np.ndarray, W: np.ndarray) -> TDensity:
    """The t with mean and covariance of weighted draws as its centre and scale."""
    m = W @ theta
    away = theta - m
    return TDensity(m, Coordinates.from_covariance((away.T * W) @ away), FITTED_DEGREES)
