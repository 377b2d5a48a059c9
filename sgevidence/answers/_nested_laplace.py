r"""Evidence of a hierarchy from a density: Gaussian given the parameters that change other widths.

    q(ψ, x) = q(ψ) t(x; x̂(ψ), P(ψ)⁻¹),    ω = p(D, ψ, x) / q(ψ, x)

with x̂ the mode of x given ψ, and P its curvature there.  ψ is found by third derivatives, and q(ψ)
is fitted to draws of ψ weighted by their mean ω, some rounds of them.  INLA integrates over ψ by Laplace's
method; here the weights of the last draws are the answer and its error.
Where the prior itself says which parameters are normal given others, the others are ψ.
A cloud that has lost the neck of a funnel will do: the neck is where the density is told to be by the scale
of the mouth, and third derivatives and modes are taken again from the draws where the first were poor.

Weights alone do not know of a mode that q has nothing of.  The cloud may: where more of its draws than chance
has them lie at weights that draws of q hardly reach, there is no answer.

Symbols: ψ, x ``psi, x`` = hyperparameters (k) and the rest, columns of θ; ω ``log_w`` = (n, N): n draws of x
at each of N values of ψ.

**Hyperparameters.**  A posterior is Gaussian in x given ψ where no third derivative of log p has all of its
three parameters in x.  So ψ is a set of parameters that meets every third derivative that is not small: a
scale τ of groups, the coordinate v of a funnel.  Parameters are taken one after the other, each the one that
leaves least,

    t_abc = ∂³ log p / ∂θ_a ∂θ_b ∂θ_c · s_a s_b s_c,

in units of local widths s, root mean square over draws.  Derivatives are differences of gradients.

**Modes** of x are by Newton's method for all ψ together, from the nearest draw of a cloud: so the mode is a
function of ψ and of the cloud alone, as the mean of a density must be.

**The density** of ψ is a mixture of kernels, drawn towards the mean so that it has the covariance of the
draws (West 1993), of the width of Silverman's rule for as many draws as are effective.  A fifth of the mass
is a single wide Student t: what the draws have not met is met by it.

Symbols: ``grad, P`` = ∇ log p (M, d) and −∇∇ log p (M, k, k), with x alone V diag(w) Vᵀ; ``third`` = t
(d, d, d); ``psi`` (M, k); ``scale`` = widths of the cloud, (d,); ``h2`` = squared width of a kernel over that
of all.

References
----------
H. Rue, S. Martino, N. Chopin (2009), Approximate Bayesian inference for latent Gaussian models by using
integrated nested Laplace approximations; O. Cappé and others (2004), Population Monte Carlo;
M. West (1993), Approximating posterior distributions by mixture; T. Hesterberg (1995), Weighted average
importance sampling and defensive mixture distributions.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from ..kernels import Coordinates, LogDensity, ValueAndGradient
from ..particles import Weights, log_sum_exp, next_step, systematic
from ..targets import Target
from ._answer import Answer
from ._importance import TDensity, log_t, t_draws

#: Newton steps, and halvings (to a third) of each.
MAX_LOCAL_STEPS, MAX_LOCAL_SHORTENINGS = 8, 8
#: Degrees of freedom of x given ψ: tails that are a little heavier than Gaussian.
CONDITIONAL_DEGREES = 10.0
#: Steps of differences, local widths: of a gradient, and of a curvature.
GRADIENT_STEP_WIDTHS, CURVATURE_STEP_WIDTHS = 1e-4, 0.05
#: A third derivative beyond which more says nothing: draws in a neck would rule alone.
MAX_THIRD = 3.0


def curvature(
    log_p: ValueAndGradient, theta: np.ndarray, columns: np.ndarray, widths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (M, k) and P (M, k, k) in k columns at draws (M, d), by steps in units of widths (M, k)."""
    grad = log_p(theta)[1][:, columns]
    P, steps = np.empty((len(theta), len(columns), len(columns))), GRADIENT_STEP_WIDTHS * widths
    for a, column in enumerate(columns):
        beside = theta.copy()
        beside[:, column] += steps[:, a]
        P[:, :, a] = (grad - log_p(beside)[1][:, columns]) / steps[:, [a]]
    return grad, np.nan_to_num(0.5 * (P + np.swapaxes(P, 1, 2)))


def local_widths(P: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Widths by the diagonal of P (M, k, k), at most those of all draws (k,)."""
    return np.minimum(np.abs(np.einsum("mkk->mk", P) + 1e-300) ** -0.5, scale)


def third_derivatives(log_p: ValueAndGradient, theta: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """t over draws (M, d) of a posterior with widths ``scale`` (d,)."""
    M, d = theta.shape
    columns = np.arange(d)
    s = local_widths(curvature(log_p, theta, columns, np.tile(scale, (M, 1)))[1], scale)
    beside = theta + CURVATURE_STEP_WIDTHS * np.concatenate([np.zeros((1, M, d)), np.eye(d)[:, None] * s])
    P = curvature(log_p, beside.reshape(-1, d), columns, np.tile(s, (d + 1, 1)))[1].reshape(d + 1, M, d, d)
    t = (P[1:] - P[0]) / CURVATURE_STEP_WIDTHS * s[:, :, None] * s[:, None, :]
    t = np.sqrt(np.mean(np.clip(t, -MAX_THIRD, MAX_THIRD) ** 2, axis=1))
    return (t + t.transpose(1, 2, 0) + t.transpose(2, 0, 1)) / 3  # t is symmetric but for its first axis


def by_influence(third: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters in the order in which they are taken, and the largest t before each, (d,) both."""
    order: list[int] = []
    left = np.empty(len(third))
    for k in range(len(third)):
        rest = np.setdiff1d(np.arange(len(third)), order)
        t = third[np.ix_(rest, rest, rest)] ** 2
        left[k] = np.sqrt(t.max())
        # what goes with a parameter: entries with it once, twice, and three times
        once, twice = t.sum(axis=(1, 2)), np.einsum("aac->a", t)
        order.append(int(rest[np.argmax(3 * once - 3 * twice + np.einsum("aaa->a", t))]))
    return np.array(order), left


class ConditionalModes(NamedTuple):
    """The densities of x given ψ at M values of ψ."""

    theta: np.ndarray  #: ψ, and x at its mode, (M, d)
    w: np.ndarray  #: (M, d − k)
    V: np.ndarray  #: (M, d − k, d − k)
    rest: np.ndarray  #: columns of x

    def draws(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """θ with n draws of x, in pairs about the mode, and their log density, (n, M, d) and (n, M)."""
        M, k = self.w.shape
        t = t_draws(rng, (n // 2, M, k), CONDITIONAL_DEGREES)
        t = np.concatenate([t, -t])
        theta = np.tile(self.theta, (n, 1, 1))
        # the symmetric root: eigenvectors of equal eigenvalues are arbitrary, and the draws are not
        root = (self.V * self.w[:, None, :] ** -0.5) @ self.V.transpose(0, 2, 1)
        theta[:, :, self.rest] += np.einsum("mab,nmb->nma", root, t)
        return theta, self._log_density(t)

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """Log density of x given ψ at θ (M, d), (M,)."""
        away = theta[:, self.rest] - self.theta[:, self.rest]
        return self._log_density(np.einsum("mba,mb->ma", self.V, away) * self.w**0.5)

    def _log_density(self, t: np.ndarray) -> np.ndarray:
        return log_t(t, CONDITIONAL_DEGREES) + 0.5 * np.log(self.w).sum(axis=1)


def conditional_modes(
    log_p: ValueAndGradient, value: LogDensity, psi: np.ndarray, given: np.ndarray, cloud: np.ndarray
) -> ConditionalModes:
    """Modes of the rest at ψ (M, k), the ``given`` columns, from the nearest draws of a cloud (n, d)."""
    scale = cloud.std(axis=0)
    rest = np.setdiff1d(np.arange(cloud.shape[1]), given)
    theta = cloud[cKDTree(cloud[:, given] / scale[given]).query(psi / scale[given])[1]]
    theta[:, given] = psi
    M, k = len(theta), len(rest)
    best, w, V = value(theta), np.empty((M, k)), np.empty((M, k, k))
    widths, at = np.tile(scale[rest], (M, 1)), np.arange(M)
    for _ in range(MAX_LOCAL_STEPS):
        grad, P = curvature(log_p, theta[at], rest, widths[at])
        widths[at] = local_widths(P, scale[rest])
        w[at], V[at] = np.linalg.eigh(P)
        # least curvature of a direction, over that of the widest parameter of the cloud
        w[at] = np.maximum(np.abs(w[at]), 1e-3 / scale[rest].max() ** 2)
        step = np.einsum("mab,mb->ma", V[at], np.einsum("mba,mb->ma", V[at], np.nan_to_num(grad)) / w[at])
        # gain of a Newton step, nats, that is not worth it
        gains = np.sum(step * np.nan_to_num(grad), axis=1) > 1e-3
        at, step = at[gains], step[gains]
        _climb(theta, best, at, step, rest, value)
        if not len(at):
            break
    return ConditionalModes(theta, w, V, rest)


def _climb(
    theta: np.ndarray, best: np.ndarray, at: np.ndarray, step: np.ndarray, rest: np.ndarray, value: LogDensity
) -> None:
    """Take each step, or so much of it that log p grows; ``theta`` and ``best`` are changed."""
    for _ in range(MAX_LOCAL_SHORTENINGS):
        if not len(at):
            return
        there = theta[at]
        there[:, rest] += step
        found = value(there)
        grows = found > best[at]
        theta[at[grows]], best[at[grows]] = there[grows], found[grows]
        at, step = at[~grows], step[~grows] / 3


#: Kernels, their degrees of freedom, and the squared width of one at most.
N_KERNELS, KERNEL_DEGREES, MAX_H2 = 300, 6.0, 0.9
#: Share of the wide density, its degrees of freedom, and its squared width.
WIDE_SHARE, WIDE_NU, WIDE_WIDTH2 = 0.2, 4.0, 2.5


class KernelMixture(NamedTuple):
    """A density of k parameters."""

    centres: np.ndarray  #: (C, k)
    kernel: TDensity  #: around zero
    wide: TDensity

    @classmethod
    def of(cls, psi: np.ndarray, W: np.ndarray, rng: np.random.Generator) -> "KernelMixture":
        """From draws (n, k) with normalised weights (n,); LinAlgError if they are in a plane."""
        k, effective = psi.shape[1], max(1 / np.sum(W**2), 5.0)
        m = W @ psi
        V = (W[:, None] * (psi - m)).T @ (psi - m)
        h2 = min((4 / ((k + 2) * effective)) ** (2 / (k + 4)), MAX_H2)
        centres = psi[systematic(W, rng, int(min(N_KERNELS, effective)))]
        kernel = TDensity(np.zeros(k), Coordinates.from_covariance(h2 * V), KERNEL_DEGREES)
        wide = TDensity(m, Coordinates.from_covariance(WIDE_WIDTH2 * V), WIDE_NU)
        return cls(m + (1 - h2) ** 0.5 * (centres - m), kernel, wide)

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, k)."""
        n_wide = round(WIDE_SHARE * n)
        centres = self.centres[rng.integers(len(self.centres), size=n - n_wide)]
        return np.concatenate([centres + self.kernel.draws(n - n_wide, rng), self.wide.draws(n_wide, rng)])

    def log_density(self, psi: np.ndarray) -> np.ndarray:
        """At (n, k), (n,)."""
        away = (psi - self.centres[:, None]).reshape(-1, psi.shape[1])
        each = self.kernel.log_density(away).reshape(len(self.centres), -1)
        kernels = log_sum_exp(each, axis=0) - np.log(len(self.centres))
        wide = self.wide.log_density(psi)
        return np.logaddexp(np.log1p(-WIDE_SHARE) + kernels, np.log(WIDE_SHARE) + wide)


#: Draws at which third derivatives are taken, and values of t that may be left: each asks for a number of
#: hyperparameters.  Where 0.7 is left, x given ψ has a side that the density hardly draws, and its weights
#: are even without it.
N_THIRD, LEFT_SHARES = 24, (0.4, 0.2)
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
        sizes = {max(1, int(np.argmax(np.append(left, 0.0) < t))) for t in LEFT_SHARES}
        # where a cloud lies at walls all parameters have third derivatives of their own; the first of them
        # changes the widths of most others
        few = {size for size in sizes if size <= min(MAX_HYPERPARAMETERS, d - 1)} or {1}
        for k in sorted(few):
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
