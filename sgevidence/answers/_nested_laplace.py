r"""Evidence of a hierarchy from a density: Gaussian given the parameters that change other widths.

    q(ψ, x) = q(ψ) t(x; x̂(ψ), P(ψ)⁻¹),    ω = p(D, ψ, x) / q(ψ, x)

with x̂ the mode of x given ψ, and P its curvature there.  ψ is found by third derivatives
(:mod:`._hierarchy`), and q(ψ) is fitted to draws of ψ weighted by their mean ω, some rounds of them.
INLA integrates over ψ by Laplace's method; here the weights of the last draws are the answer and its error.
Where the prior itself says which parameters are normal given others, the others are ψ.
A cloud that has lost the neck of a funnel will do: the neck is where the density is told to be by the scale
of the mouth, and third derivatives and modes are taken again from the draws where the first were poor.

Weights alone do not know of a mode that q has nothing of.  The cloud may: where more of its draws than chance
has them lie at weights that draws of q hardly reach, there is no answer.

Symbols: ψ, x ``psi, x`` = hyperparameters (k) and the rest, columns of θ; ω ``log_w`` = (n, N): n draws of x
at each of N values of ψ.

References
----------
H. Rue, S. Martino, N. Chopin (2009), Approximate Bayesian inference for latent Gaussian models by using
integrated nested Laplace approximations; O. Cappé and others (2004), Population Monte Carlo.
"""

from typing import NamedTuple

import numpy as np

from ..particles import Weights, log_sum_exp, next_step, systematic
from ..targets import Target
from ._answer import Answer
from ._hierarchy import ConditionalModes, KernelMixture, by_influence, conditional_modes, third_derivatives

#: Draws at which third derivatives are taken, and the t that may be left: the first that will do.
N_THIRD, LEFT_SHARES = 24, (0.75, 0.4, 0.2)
#: Largest t from which there are hyperparameters; share of draws that may be impossible: a posterior with
#: walls is none of these densities.
MIN_THIRD, MAX_IMPOSSIBLE = 0.05, 0.1
#: Hyperparameters at most: importance sampling in more dimensions keeps few draws.
MAX_HYPERPARAMETERS = 9
#: Values of ψ in a round, rounds, and share of effective draws from which there need be no more.
N_PSI_OF_ROUND, MAX_PSI_ROUNDS, EFFECTIVE_SHARE_OF_PSI = 400, 4, 0.5
#: Values of ψ in the answer, and draws of x at each.
N_PSI, N_X = 1000, 4
#: Share of effective draws of an answer, and of a round that is worth an answer.
MIN_SHARE, MIN_ROUND_SHARE = 0.1, 0.02


class NestedAnswer(NamedTuple):
    """The answer of a density, and its cost."""

    answer: Answer | None  #: None where few of its draws count, or the cloud knows of something else
    third: float  #: largest third derivative, in local widths: 0 of a Gaussian, 1 of a funnel
    n_gradients: float  #: in particles
    n_likelihoods: float


class Counted:
    """A log density that counts how often it is asked, in particles."""

    def __init__(self, target: Target) -> None:
        self.target, self.n_gradients, self.n_likelihoods, self.third = target, 0, 0, 0.0

    def value_and_grad(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(M,), (M, d)."""
        self.n_gradients += len(theta)
        return self.target.value_and_grad(theta)

    def value(self, theta: np.ndarray) -> np.ndarray:
        """(M,)."""
        self.n_likelihoods += len(theta)
        return self.target.value(theta)

    def modes(self, psi: np.ndarray, given: np.ndarray, cloud: np.ndarray) -> ConditionalModes:
        """Modes of the rest, given ψ."""
        return conditional_modes(self.value_and_grad, self.value, psi, given, cloud)


class Nested(NamedTuple):
    """Weighted draws of q."""

    theta: np.ndarray  #: (n, N, d)
    log_w: np.ndarray  #: (n, N)
    given: np.ndarray  #: columns of ψ
    q: KernelMixture

    @property
    def weights(self) -> Weights:
        """Mean weight of each ψ."""
        return Weights(log_sum_exp(self.log_w, axis=0) - np.log(len(self.log_w)))

    @property
    def share(self) -> float:
        """Share of values of ψ that are effective."""
        return self.weights.ess / self.weights.M

    def resampled(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of the posterior, (size, d)."""
        W = Weights(self.log_w.ravel()).W
        return self.theta.reshape(-1, self.theta.shape[-1])[systematic(W, rng, size)]


def nested_laplace_answer(
    target: Target,
    cloud: np.ndarray,
    size: int,
    most: float,
    rng: np.random.Generator,
    stated: np.ndarray | None = None,
) -> NestedAnswer:
    """An answer from a cloud near the posterior, and what it took.

    ``size`` draws; nothing more is begun after ``most`` gradients, in particles.  ``stated`` are columns of ψ
    that the prior names.
    """
    log_p, best = Counted(target), None
    with np.errstate(all="ignore"):
        try:
            best = _best(log_p, cloud, most, rng, stated)
        except np.linalg.LinAlgError:
            pass  # no density: the answer is declined below
        is_good = best is not None and best.share > MIN_SHARE
        if best is not None and (not is_good or _is_elsewhere(log_p, best, cloud, rng)):
            best = None
    cost = float(log_p.n_gradients), float(log_p.n_likelihoods)
    if best is None:
        return NestedAnswer(None, log_p.third, *cost)
    std = float(np.hypot(best.weights.relative_variance**0.5, 1 / best.weights.M))
    answer = Answer(best.resampled(size, rng), np.zeros(size), best.weights.log_mean, std)
    return NestedAnswer(answer, log_p.third, *cost)


def _best(
    log_p: Counted,
    cloud: np.ndarray,
    most: float,
    rng: np.random.Generator,
    stated: np.ndarray | None,
) -> Nested | None:
    """The draws of the best density that was found."""
    best: Nested | None = None
    d = cloud.shape[1]
    # gradients, in particles, for each parameter, of one round and the answer where two Newton steps are
    # enough
    if stated is not None and 0 < len(stated) <= MAX_HYPERPARAMETERS and 2800 * d < most:
        best = _with_hyperparameters(log_p, stated, cloud, rng)
        if best is not None and best.share > MIN_SHARE:
            return best
    if d < 2 or N_THIRD * (d + 1) ** 2 > most:
        return None
    for _ in range(3):  # times that ψ is looked for, each from the best draws so far
        sample = cloud[rng.choice(len(cloud), min(N_THIRD, len(cloud)), replace=False)]
        order, left = by_influence(third_derivatives(log_p.value_and_grad, sample, cloud.std(axis=0)))
        log_p.third = max(log_p.third, float(left[0]))
        if not left[0] > MIN_THIRD:
            return best
        sizes = {1} | {max(1, int(np.argmax(np.append(left, 0.0) < t))) for t in LEFT_SHARES}
        for k in sorted(size for size in sizes if size <= min(MAX_HYPERPARAMETERS, d - 1)):
            found = _with_hyperparameters(log_p, order[:k], cloud, rng)
            if found is not None and (best is None or found.share > best.share):
                best = found
            if (best is not None and best.share > MIN_SHARE) or log_p.n_gradients > most:
                return best
        if best is None:
            return None
        cloud = best.resampled(len(cloud), rng)
    return best


def _with_hyperparameters(
    log_p: Counted, given: np.ndarray, cloud: np.ndarray, rng: np.random.Generator
) -> Nested | None:
    """Draws of q given these columns; None where the weights of its rounds do not become even."""
    q = KernelMixture.of(cloud[:, given], np.full(len(cloud), 1 / len(cloud)), rng)
    all_psi, all_w = [], []
    for _ in range(MAX_PSI_ROUNDS):
        drawn = _drawn(log_p, q, given, cloud, N_PSI_OF_ROUND, rng)
        all_psi.append(drawn.theta[0][:, given])
        all_w.append(drawn.weights.log_w)
        log_w = np.concatenate(all_w)
        if not np.isfinite(log_w).any():
            return None
        # where one draw in the neck outweighs all others, weights are tempered for the next round
        # effective draws, for each hyperparameter and one more, to which a density is fitted at least
        least = min(10.0 * (len(given) + 1) / len(log_w), 0.5)
        power = next_step(log_w, np.zeros(len(log_w)), 1.0, least)
        q = KernelMixture.of(np.concatenate(all_psi), Weights(power * log_w).W, rng)
        if drawn.share > EFFECTIVE_SHARE_OF_PSI:
            break
    if drawn.share < MIN_ROUND_SHARE:
        return None
    drawn = _drawn(log_p, q, given, cloud, N_PSI, rng)
    return drawn if np.mean(~np.isfinite(drawn.log_w)) <= MAX_IMPOSSIBLE else None


def _drawn(
    log_p: Counted,
    q: KernelMixture,
    given: np.ndarray,
    cloud: np.ndarray,
    n: int,
    rng: np.random.Generator,
) -> Nested:
    """Draws of x at n values of ψ, and their weights."""
    psi = q.draws(n, rng)
    theta, log_q = log_p.modes(psi, given, cloud).draws(N_X, rng)
    value = log_p.value(theta.reshape(-1, theta.shape[-1])).reshape(log_q.shape)
    log_w = value - log_q - q.log_density(psi)
    return Nested(theta, np.where(np.isfinite(log_w), log_w, -np.inf), given, q)


def _is_elsewhere(log_p: Counted, found: Nested, cloud: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether draws of the cloud are at weights that those of q hardly reach."""
    # draws of the cloud that are looked at; quantile of log ω, and nats beyond it, where hardly any should
    # be, and the share that says that there is something else
    theta = cloud[rng.choice(len(cloud), min(200, len(cloud)), replace=False)]
    modes = log_p.modes(theta[:, found.given], found.given, found.resampled(len(cloud), rng))
    log_w = log_p.value(theta) - modes.log_density(theta) - found.q.log_density(theta[:, found.given])
    each = found.log_w.ravel()
    in_order = np.argsort(each)
    edge = each[in_order][np.searchsorted(np.cumsum(Weights(each).W[in_order]), 0.99)]
    return bool(np.mean(log_w > edge + 3.0) > 0.05)
