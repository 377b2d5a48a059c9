r"""The evidence of rows that nobody holds, by importance sampling around the modes of their posterior.

1. Modes of a sample of the rows, and of all rows that are unlike the sample, are known.  One
   sum over all rows has value, gradient and Hessian at each mode.
2. Those that may count are carried to the modes of all rows by Newton steps, two or three sums each.
3. Draws around them (:class:`AroundModes`) are weighed by all rows, one sum.

With f = Σ_j α_j N_j, where N_j is the density of draws around mode j, nearly a Gaussian, and θ_j the
labelling of θ that is next to mode j,

    Z = K! E[p(x | θ) p(θ) / f(θ)],    f(θ) = Σ_j α_j N_j(θ_j),

of draws of N_j that are in the labelling of mode j themselves: any other has no weight.  However near modes
and labellings are to each other, no point counts twice.

Symbols: ``a, P`` = mode and its precision, (d,) and (d, d); α ``share`` = of the draws, (J,).

**Draws around a mode** are Gaussian, in coordinates in which the posterior is nearly so.  Rows see the
differences of log-gammas of which probabilities π are made (:attr:`Model.log_gammas`), and not their
total.  The posterior of the total is its prior, a log-gamma density, and it is drawn from that.

Differences of log-gammas, and variances, are far from Gaussian where few rows tell them.  They have normal
scores (``_normal_scores.py``) of the Dirichlet and inverse gamma densities with the mode and the curvature of
the posterior.  All coordinates have a joint Gaussian: its covariance is by the curvature of the posterior, in
which scores and other parameters may be correlated.

Symbols: ``a, P`` = mode and its precision, (d,) and (d, d); ``x`` = coordinates of θ that rows see, (M, d −
number of totals); t ``totals`` = log Σ e^z of the log-gammas z of a group; ``y`` = coordinates that are
Gaussian, (M, d − number of totals); R ``slope`` = dy/dx at the mode: RᵀR is the curvature where rows tell
groups apart; α ``share`` = of the draws, (J,).
"""

from collections.abc import Sequence
from functools import partial
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..history import Anchor, FoldedRows, Memory, Rows
from ..models import Model, log_gamma_draws
from ..particles import Weights, log_sum_exp
from ..targets import Differentiable, folded_mode, gaussian
from ._answer import Answer
from ._folded import N_WEIGHED, FoldedTarget, FoldsDoNotSuffice, remembered
from ._importance import MAX_PARETO_K, pareto_k
from ._log_concave import Gaussian
from ._normal_scores import Sticks, Variance

#: Nats of Laplace's evidence below the best mode at which a mode does not count: 6·10⁻⁶ nats of log Z.
NEGLIGIBLE_MODE_NATS = 12.0
#: Share of the draws that must be effective.
MIN_EFFECTIVE_SHARE = 0.25


class FoldedMode(NamedTuple):
    """A mode of the posterior of all rows."""

    anchor: Anchor  #: sums over all rows next to the mode
    q: Gaussian  #: at the mode
    log_evidence: float  #: by Laplace, of one labelling, nats


def folded_modes_answer(
    model: Model,
    rows: FoldedRows,
    starts: Sequence[np.ndarray],
    memory: Memory,
    rng: np.random.Generator,
    size: int,
) -> tuple[Answer, Memory]:
    """Evidence and posterior of rows in parts, and what the next rows need.

    ``starts`` are all modes that may count, of a sample of the rows and of those that are unlike the sample.
    The memory comes empty: it says how many rows are kept; it returns with a sample of the rows, and the
    quadratic of all of them about the best mode.

    :class:`FoldsDoNotSuffice` if Newton steps do not lead to a mode that may count, or the posterior is too
    far from Gaussians.
    """
    target = FoldedTarget(model, rows)
    modes = folded_modes(target, starts)
    if model.slots is None and len(modes) > 1:
        raise FoldsDoNotSuffice("the posterior has several modes, and there may be others")
    # how many times as many draws are weighed where fewer are effective, as around a component of eight rows,
    # or the tail of the first is in doubt
    for times in (1, 4):  # of few draws the shape of the tail is noise
        theta, log_w = weighed(target, modes, times * N_WEIGHED * len(modes), rng)
        weights, best = Weights(log_w), modes[0]
        share, k = weights.ess / weights.M, pareto_k(log_w)
        if share < MIN_EFFECTIVE_SHARE or (share > 0.5 and k < MAX_PARETO_K):
            break
    if share < MIN_EFFECTIVE_SHARE or k > MAX_PARETO_K:
        overlap = "" if model.slots is None else ": components overlap, or are too many"
        raise FoldsDoNotSuffice(
            "the posterior of all rows is too far from Gaussians at its modes, "
            f"{weights.ess:.0f} of {weights.M} draws are effective{overlap}"
        )
    theta = model.canonicalize(theta, labelling(model, best.anchor.a))
    chosen = rng.permutation(np.flatnonzero(np.isfinite(log_w)))[:size]
    log_Z, std = float(weights.log_mean), float(weights.relative_variance**0.5)
    memory = remembered(model, rows, best.anchor, best.q, memory, rng)[0]
    memory = memory._replace(labels=model.slot_reference(theta[chosen]))
    return Answer(theta[chosen], log_w[chosen], log_Z, std, float(len(theta) * len(rows))), memory


def folded_modes(target: FoldedTarget, starts: Sequence[np.ndarray]) -> list[FoldedMode]:
    """Modes of all rows that count, the best first.

    :class:`FoldsDoNotSuffice` if there is none, or Newton steps do not lead from a point that may count to a
    mode.
    """
    model = target.model
    found = target.rows.fold(partial(_derivatives_at, model, list(starts)))
    ahead = [_foreseen(model, a, *parts) for a, parts in zip(starts, found)]
    best = max((value for value, _ in ahead), default=-np.inf)
    modes: list[FoldedMode] = []
    for i in np.argsort([-value for value, _ in ahead]):
        value, doubt = ahead[i]
        if not value > best - NEGLIGIBLE_MODE_NATS - doubt:
            continue
        mode = _mode_from(target, starts[i])
        if mode is None:
            raise FoldsDoNotSuffice("Newton steps find no mode of the posterior of all rows")
        if not any(_is_same(model, other, mode.q.m) for other in modes):
            modes.append(mode)
    modes.sort(key=lambda mode: -mode.log_evidence)
    kept = [mode for mode in modes if mode.log_evidence > modes[0].log_evidence - NEGLIGIBLE_MODE_NATS]
    if not kept:
        raise FoldsDoNotSuffice("the posterior of a sample of the rows has no mode")
    return kept


def _derivatives_at(model: Model, points: list[np.ndarray], part: Rows) -> tuple:
    return tuple(model.derivatives(a, part) for a in points)


def _foreseen(
    model: Model, a: np.ndarray, value: float, grad: np.ndarray, hessian: np.ndarray
) -> tuple[float, float]:
    """Laplace's evidence at the end of one Newton step, and nats by which it may be more."""
    prior_value, prior_grad, prior_hessian = model.prior_derivatives(a)
    g, P = grad + prior_grad, -hessian - prior_hessian
    if not (np.isfinite(value + prior_value) and np.isfinite(P).all()):
        return -np.inf, 0.0
    width, V = np.linalg.eigh(P)
    width = np.maximum(np.abs(width), 1e-9 * np.abs(width).max())  # where it bends up: as far as if down
    gain = 0.5 * float(np.sum((V.T @ g) ** 2 / width))
    return value + prior_value + gain - 0.5 * float(np.sum(np.log(width))), 0.5 * gain


def _mode_from(target: Differentiable, start: np.ndarray) -> FoldedMode | None:
    """The mode that Newton steps lead to; None if there is none."""
    anchor = folded_mode(target, start)
    try:
        if anchor is None:
            return None
        q = Gaussian.of_precision(*gaussian(target.model, anchor))
    except np.linalg.LinAlgError:
        return None
    value = float(anchor(q.m[None])[0] + target.model.log_prior(q.m[None])[0])
    log_peak = float(q.log_density(np.zeros((1, len(q.m))))[0])
    return FoldedMode(anchor, q, value - log_peak)


def _is_same(model: Model, mode: FoldedMode, a: np.ndarray) -> bool:
    u = (model.canonicalize(a[None], labelling(model, mode.q.m)) - mode.q.m)[0]
    # squared distance in posterior widths for each parameter, within which two ends of Newton steps are one
    return bool(u @ mode.q.P @ u < 0.1 * len(u))


def weighed(
    target: Any, modes: Sequence[FoldedMode], size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of f, (M, d), and their log-weights, (M,), whose mean is the evidence of all labellings."""
    model, log_Z = target.model, np.array([mode.log_evidence for mode in modes])
    # least share of the draws around a mode, of that of one among equals
    share = np.maximum(np.exp(log_Z - log_sum_exp(log_Z, axis=0)), 0.2 / len(modes))
    f = AroundModes(model, [(mode.q.m, mode.q.P) for mode in modes], share / share.sum())
    theta, is_own = f.draws(size, rng)
    log_copies = 0.0 if model.slots is None else lgamma(len(model.slots) + 1)
    log_w = target.value(theta) + log_copies - f.log_density(theta)
    return theta, np.where(is_own, log_w, -np.inf)


class SeenByRows(NamedTuple):
    """Coordinates x of θ in which rows see each direction: log-gammas less the last of their group."""

    groups: Sequence[tuple[np.ndarray, float]]  #: indices of log-gammas, and their concentration
    n_params: int

    @property
    def _last(self) -> np.ndarray:
        return np.array([indices[-1] for indices, _ in self.groups], dtype=int)

    def of(self, theta: np.ndarray) -> np.ndarray:
        """A linear map, (M, d) to (M, d − number of groups)."""
        x = theta.copy()
        for indices, _ in self.groups:
            x[:, indices] -= theta[:, indices[-1:]]
        return np.delete(x, self._last, axis=1)

    def positions(self, indices: np.ndarray) -> np.ndarray:
        """Indices in x of parameters by their indices in θ, none of them the last of a group."""
        return np.searchsorted(np.delete(np.arange(self.n_params), self._last), indices)

    def theta(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Points at x, with totals from their prior, (M, d)."""
        theta = np.insert(x, self._last - np.arange(len(self.groups)), 0.0, axis=1) if self.groups else x
        for indices, concentration in self.groups:
            total = concentration * len(indices)
            t = log_gamma_draws(total, rng, (len(x), 1))
            theta[:, indices] += t - log_sum_exp(theta[:, indices].T, axis=0)[:, None]
        return theta

    def log_density_of_totals(self, theta: np.ndarray) -> np.ndarray:
        """(M,)."""
        log_p = np.zeros(len(theta))
        for indices, concentration in self.groups:
            t, total = log_sum_exp(theta[:, indices].T, axis=0), concentration * len(indices)
            log_p += total * t - np.exp(t) - lgamma(total)
        return log_p


class AroundMode:
    """Draws around one mode, in the coordinates that rows see, and their density.

    LinAlgError if the precision P is not positive definite.
    """

    def __init__(self, model: Model, seen: SeenByRows, a: np.ndarray, P: np.ndarray) -> None:
        S = seen.of(np.eye(seen.n_params))
        self.center, covariance = seen.of(a[None])[0], S.T @ np.linalg.solve(P, S)
        P_x, slope = np.linalg.inv(covariance), np.eye(len(covariance))
        self.sticks: list[tuple[np.ndarray, Sticks]] = []
        self.variances: list[tuple[int, np.ndarray, Variance]] = []
        for indices, _ in seen.groups:
            if len(indices) > 1:
                positions = seen.positions(indices[:-1])
                block = np.ix_(positions, positions)
                log_p = a[indices] - log_sum_exp(a[indices], axis=0)
                self.sticks.append((positions, Sticks.of_curvature(log_p, P_x[block])))
                slope[block] = self.sticks[-1][1].slope
        for index, means in model.log_variances:
            position, positions = int(seen.positions(np.array([index]))[0]), seen.positions(means)
            variance = Variance.of_curvature(a[index], P_x[position, position], len(means))
            if variance is not None:
                self.variances.append((position, positions, variance))
                slope[position, position] = variance.curvature**0.5
        self.factor = np.linalg.cholesky(slope @ covariance @ slope.T)

    def draws(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """x, (M, d − number of groups)."""
        y = rng.standard_normal((size, len(self.center))) @ self.factor.T
        x = self.center + y
        for positions, sticks in self.sticks:
            x[:, positions] = sticks.x(y[:, positions])
        for position, means, variance in self.variances:
            x[:, position] = variance.log_scale(y[:, position])
            x[:, means] = self.center[means] + y[:, means] * _width(variance, x[:, position])
        return x

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """(M,)."""
        with np.errstate(all="ignore"):
            log_f = self._log_density(x)
        return np.where(np.isnan(log_f), -np.inf, log_f)  # so far out that a score is infinite

    def _log_density(self, x: np.ndarray) -> np.ndarray:
        y, log_slope = x - self.center, np.zeros(len(x))
        for positions, sticks in self.sticks:
            y[:, positions] = sticks.y(x[:, positions])
            log_slope += sticks.log_slope(x[:, positions], y[:, positions])
        for position, means, variance in self.variances:
            width = _width(variance, x[:, position])
            y[:, position] = variance.y(x[:, position])
            y[:, means] /= width
            log_slope += variance.log_slope(x[:, position], y[:, position]) - len(means) * np.log(width[:, 0])
        phi = solve_triangular(self.factor, y.T, lower=True, check_finite=False)
        log_volume = np.sum(np.log(np.diag(self.factor))) + 0.5 * len(phi) * np.log(2 * np.pi)
        return log_slope - 0.5 * np.sum(phi**2, axis=0) - log_volume


def _width(variance: Variance, log_scale: np.ndarray) -> np.ndarray:
    """σ in units of that at the mode, (M, 1)."""
    return np.exp(0.5 * (log_scale - variance.mode))[:, None]


class AroundModes:
    """f: draws around modes (a, P), each in its own labelling, and their density; ``share`` of each mode."""

    def __init__(self, model: Model, modes: Sequence[tuple[np.ndarray, np.ndarray]], share: np.ndarray):
        self.model, self.share = model, share
        self.seen = SeenByRows(model.log_gammas, model.n_params)
        self.points = [a for a, _ in modes]
        self.around = [AroundMode(model, self.seen, a, P) for a, P in modes]

    def reference(self, j: int) -> Any:
        """Slots of the labelling of mode j."""
        return labelling(self.model, self.points[j])

    def draws(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Points (M, d), and which are in the labelling of their own mode, (M,)."""
        counts = np.maximum(np.round(size * self.share).astype(int), 1)
        theta, own = [], []
        for j, count in enumerate(counts):
            theta.append(self.seen.theta(self.around[j].draws(count, rng), rng))
            own.append(self.model.is_canonical(theta[-1], self.reference(j)))
        self.share = counts / counts.sum()  # as they were drawn
        return np.concatenate(theta), np.concatenate(own)

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """log f, (M,)."""
        each = []
        for j, mode in enumerate(self.around):
            x = self.seen.of(self.model.canonicalize(theta, self.reference(j)))
            each.append(np.log(self.share[j]) + mode.log_density(x))
        return log_sum_exp(np.array(each), axis=0) + self.seen.log_density_of_totals(theta)


def labelling(model: Model, a: np.ndarray) -> Any:
    """Slots of exchangeable components in which a point is; None without such."""
    return None if model.slots is None else (a[model.slots], np.ones(model.slots.shape))
