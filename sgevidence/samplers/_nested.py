r"""Nested sampling, thesis §3.2 and Alg. 5 / journal paper App. A.1 (Skilling 2004, 2006).

Points of a cloud leave in the order of their likelihood, and what they leave is the prior mass between its
contours.  :class:`~sgevidence.transitions.ConstrainedMoves` has the draws that come in their place; the sum
is over shells of the prior,

    Ẑ = Σ_k λ_k w_k,   X_k = e^{−1/M} X_{k−1},   X_0 = 1

    w_k = E[X_{k−1} − X_k]          upper       Alg. 5, lines 2, 7 and 9
          ½ E[X_{k−1} − X_{k+1}]    trapezoid   Skilling (2006)
          E[X_k − X_{k+1}]          lower       (3.26) as printed

Live points are draws from the prior.  The worst of them leaves, and with it the share 1/M of the prior
mass X that the live points stand for; a new one is drawn from the prior above its likelihood.  Between
X_{k−1} and X_k likelihoods lie between λ_{k−1} and λ_k: hence the names.  Here the worst k leave together,
so that new ones move as a cloud: the i-th of them leaves M − i + 1 behind and takes X by e^{−1/(M − i + 1)},
as if they had gone one by one without being replaced.

New points must rank among the live ones as draws from the same distribution do (Fowlie, Handley and Su 2020),
and must not be copies that hardly moved, which rank like their parents.

Symbols: ``theta`` = live or dead points, (M, d); ``ell`` = λ_k, log p(D | θ), (M,); ``log_X`` = X_k, log of
the prior mass above the contour; ``log_w`` = w_k, log of that between one contour and the next; ``n_live`` =
M, live points when a point left, ∞ for those live at the end; ``information`` = Σ p_k log(λ_k/Ẑ) with
p_k = λ_k w_k/Ẑ, nats; ``ranks`` = insertion ranks in (0, 1).
"""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import kstest

from .._compat import Interval, StrOptions
from ..exceptions import DivergenceError
from ..history import Rows
from ..models import Model, value_and_grad
from ..particles import Weights, log_sum_exp
from ..transitions import ConstrainedMoves
from ._base import SILENT, EvidenceResult, Progress, Sampler
from ._direct import answer, doubts_of_lineages, thinned_draws
from ._laplace import doubts_of_missed_modes


class NestedSampling(Sampler):
    """Nested sampling (thesis Alg. 5) with exact constrained moves.

    Parameters
    ----------
    n_live : int, default=500
        Live points M.  The standard error is about √(H/M), with H the information in nats: 0.2 nats for
        the six coefficients of a regression on a thousand rows, 0.4 for a mixture of three.
    kernel : {"reflection", "random_walk", "rejection"}, default="reflection"
        How new points are drawn: Langevin dynamics reflected at the contour, with a Metropolis test;
        random-walk Metropolis, without gradients; or draws from the prior until enough are inside,
        which is exact, and costs e^H.
    n_steps : int, default=20
        Steps of the kernel before its cloud is asked whether it has forgotten its start; at most five
        times as many are made, and twice that for mixtures, whose points are moved in two ways.
    remaining_mass : float, default=0.01
        Stop when what may remain, X times the largest live likelihood, is below this part of Ẑ.
    n_replaced : int or None, default=None
        Points replaced at a time; None is half of the live points, which widens the standard error by a
        fifth and halves the cost of an e-fold.  1 is the textbook's algorithm.
    learning_rate : float or None, default=None
        None: steps in widths of the live points, adapted.  A number is η of SGHMC in the model's own
        coordinates without Metropolis test, as published; for ``kernel="reflection"``.
    momentum_decay : float, default=0.1
        α of the reflected dynamics, the published value: a direction is kept for ten steps.
    quadrature : {"upper", "trapezoid", "lower"}, default="upper"
        The sum that stands for ∫ λ dX.  With M live points log Ẑ is lower by 1/(2M) nats with the
        trapezoid and by 1/M with the lower sum: far below the standard error unless M is a handful.
    stopping : {"remainder", "term"}, default="remainder"
        "term" is the published rule: stop when a term λ_k w_k is below ``remaining_mass`` times Ẑ, and add no
        remainder.  With many live points each term is small and it stops far too early.

    Notes
    -----
    *Diagnostics* of the result: ``information`` H, ``n_iterations`` (replacements), ``insertion_p``, the
    p-value of the insertion ranks, ``stuck``, the share of moves that ended where they began,
    ``memory``, the correlation of a draw's log likelihood with that of its start, and ``n_founders``, the
    effective number of independent draws that the points of the posterior descend from.  Where its reciprocal
    is larger than in one population it is added to the variance.  An ``EvidenceWarning`` is given if one of
    the last four says that the draws are wrong, or if walkers came by a mode that no live point was left in.

    *Draws* of the result are the dead and the live points, a systematic sample of 5000 if there are more.

    *Several modes*: before each block of steps, walkers try to change modes by proposals from a density of
    the other live points; one step in five is shortened for narrow modes.

    *Cost*: about (H + 5)/0.7 replacements of n_live/2 points with 20 to 100 steps each, every step a
    likelihood of all rows, and a gradient where a step left the contour.  H grows as d/2 log n.

    *When not to use it*: for rows by the million, each of which every step visits, and above some tens
    of parameters; ``SGAIS`` does with less.  Modes that fewer than a few live points fall into while
    they are being separated are lost.

    References
    ----------
    J. Skilling (2006), Nested sampling for general Bayesian computation, Bayesian Analysis 1, 833.
    S. A. Cameron (2020), thesis, §3.2, Eqs. 3.22–3.26.
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), Entropy 21, 1109, App. A.1.
    H. P. Chan, T. L. Lai (2013), A general theory of particle filters in hidden Markov models and some
    applications, Annals of Statistics 41.
    A. Fowlie, W. Handley, L. Su (2020), Nested sampling cross-checks using order statistics, MNRAS 497.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.samplers import NestedSampling
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of(X, 2 * X[:, 0])
    >>> result = NestedSampling(n_live=100).run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {
        "n_live": [Interval(Integral, 2, None, closed="left")],
        "kernel": [StrOptions({"reflection", "random_walk", "rejection"})],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "remaining_mass": [Interval(Real, 0, 1, closed="neither")],
        "n_replaced": [Interval(Integral, 1, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "momentum_decay": [Interval(Real, 0, 1, closed="right")],
        "quadrature": [StrOptions({"upper", "trapezoid", "lower"})],
        "stopping": [StrOptions({"remainder", "term"})],
    }

    def __init__(
        self,
        n_live: int = 500,
        kernel: str = "reflection",
        n_steps: int = 20,
        *,
        remaining_mass: float = 0.01,
        n_replaced: int | None = None,
        learning_rate: float | None = None,
        momentum_decay: float = 0.1,
        quadrature: str = "upper",
        stopping: str = "remainder",
    ) -> None:
        self.n_live = n_live
        self.kernel = kernel
        self.n_steps = n_steps
        self.remaining_mass = remaining_mass
        self.n_replaced = n_replaced
        self.learning_rate = learning_rate
        self.momentum_decay = momentum_decay
        self.quadrature = quadrature
        self.stopping = stopping

    @classmethod
    def paper(cls) -> "NestedSampling":
        """The published settings (thesis §5.1.2), nothing added.

        Returns
        -------
        NestedSampling
            Two live points, 20 steps of SGHMC with η = 10⁻³ and α = 0.1 and no Metropolis test, one
            point replaced at a time, the upper sum of Alg. 5, stop when a term is below 1 % of Ẑ.  With
            √η = 0.03 the contours of a large data set are narrower than a step, and the points stop short of
            the mode.
        """
        return cls(n_live=2, n_replaced=1, learning_rate=1e-3, stopping="term")

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        M, k = self.n_live, self.n_replaced or self.n_live // 2
        if k >= M:
            raise ValueError(
                f"n_replaced={k} must be below n_live={M}: new points start from those that stay"
            )
        moves = ConstrainedMoves(
            model,
            rows,
            lambda theta: value_and_grad(model.log_prior, theta),
            rng,
            kernel=self.kernel,
            n_steps=self.n_steps,
            alpha=self.momentum_decay,
            eta=self.learning_rate,
            sample_prior=model.sample_prior,
        )
        theta = model.sample_prior(rng, M)  # line 3
        published = self.stopping == "term"
        ell = moves.log_likelihood(theta)
        shells = list(
            descend(theta, ell, moves, k, self.remaining_mass, rng, progress, published, self.quadrature)
        )
        theta, ell, log_w, n_live, founder, ranks = (np.concatenate(part) for part in zip(*shells))
        log_Z, var, H = evidence(ell, log_w, n_live)
        n_founders = founders(ell + log_w, founder)
        lost = bottleneck(n_founders, M, len(shells) - 1)
        var += lost
        theta, weights = thinned_draws(theta, Weights(ell + log_w), rng)
        counts = dict(
            n_likelihoods=moves.n_likelihoods,
            n_gradients=moves.n_gradients,
            n_moves=moves.n_moves,
            acceptance=moves.acceptance,
        )
        result = answer(log_Z, np.sqrt(var), theta, weights, rows, start, **counts)
        more = dict(
            information=H,
            n_founders=n_founders,
            n_iterations=len(shells) - (not published),
            insertion_p=float(kstest(ranks, "uniform").pvalue) if len(ranks) else 1.0,
            stuck=moves.n_stuck / max(moves.n_moved, 1),
            memory=float(np.mean(moves.memory)),
        )
        why = doubts(ranks, moves, 1 / max(lost, 1e-300), moves.highest - ell.max())
        why += doubts_of_missed_modes(model, rows, theta, weights.W, log_Z, var**0.5, rng)
        return result._replace(diagnostics=result.diagnostics | more).doubted(why, model)


#: Nats of compression of the prior at which a run ends: twice what a posterior of 200 parameters and 10⁵ rows
#: asks for.  A target of a thousand prior widths asks for a million.
MAX_NATS = 2000.0


def insertion_ranks(ell: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Where each new log L falls among those above the contour, those that came before it included.

    If all are independent draws from one distribution, so are the ranks, uniform on (0, 1) (Fowlie,
    Handley and Su 2020).  A point among its equals gets a random place.
    """
    i = np.arange(len(new))
    earlier = i < i[:, None]
    less = np.sum(ell < new[:, None], axis=1) + np.sum((new < new[:, None]) & earlier, axis=1)
    equal = np.sum(ell == new[:, None], axis=1) + np.sum((new == new[:, None]) & earlier, axis=1)
    return (less + rng.random(len(new)) * (1 + equal)) / (len(ell) + i + 1)


def doubts(
    ranks: np.ndarray, moves: ConstrainedMoves, n_founders: float = np.inf, above: float = 0.0
) -> list[str]:
    """Why the draws inside the contours may not be what they should.

    ``above`` is by how much the highest log L that was met exceeds that of the last live points.
    """
    out = []
    # nats by which a place that a walker came by may be above all live points at the end: more is another
    # mode. Live points of one mode that is sharp in fifty dimensions are 1.3 below.
    if above > 3.0:
        out.append(
            f"a log likelihood {above:.1f} nats above that of all points of the posterior was met on the way "
            "and lost, so a narrow mode is missing and the log evidence is probably too low: raise n_live"
        )
    out += doubts_of_lineages(n_founders, "n_live")
    # p-value of the insertion ranks below which the draws are called wrong.  Draws that are right but
    # remember their parents a little give 10⁻³ about once in a hundred runs.
    if len(ranks) and (p := kstest(ranks, "uniform").pvalue) < 1e-5:
        out.append(
            f"the constrained draws are not draws from the prior (insertion ranks, p = {p:.0e}): "
            "raise n_steps or n_live"
        )
    # mean correlation of a draw's log L with that of the point it started from.  Copies that hardly move pass
    # the test of ranks, since they rank like their parents.
    if (memory := float(np.mean(moves.memory))) > 0.5:
        out.append(
            f"the constrained draws remember the likelihood they started from (correlation {memory:.2f}), "
            "and the log evidence is more uncertain than it says: raise n_steps"
        )
    # width of the live points along their thinnest direction, in coordinates in which it is to be one.  Steps
    # as short as that do not come along the others.
    if moves.thinnest < 1e-5:
        out.append(
            "the parameters are so correlated that the constrained moves hardly come along their ridge "
            f"(widths of 1 and {moves.thinnest:.0e}), and the log evidence is probably too low: centre and "
            "scale the columns, or leave out those that are constant"
        )
    if moves.n_stuck > 0.1 * moves.n_moved:  # share of the moves that may end where they began
        out.append(
            f"{moves.n_stuck} of {moves.n_moved} moves ended where they began, and the log evidence is "
            "probably too low: lower learning_rate, or leave it at None"
        )
    return out


class Shell(NamedTuple):
    """Points that leave together, the lowest likelihood first; the last ones are the live points."""

    theta: np.ndarray
    ell: np.ndarray
    log_w: np.ndarray
    n_live: np.ndarray
    founder: np.ndarray  #: number of the independent draw that each descends from
    ranks: np.ndarray  #: of the points that come in their place, see :func:`insertion_ranks`

    @property
    def log_p(self) -> np.ndarray:
        """log λ_k w_k."""
        return self.ell + self.log_w


def descend(
    theta: np.ndarray,
    ell: np.ndarray,
    draw: Callable[..., Any],
    k: int,
    remaining_mass: float,
    rng: np.random.Generator,
    progress: Progress = SILENT,
    published: bool = False,
    quadrature: str = "upper",
) -> Iterator[Shell]:
    """Shells of the prior from the outermost inwards (Alg. 5).

    ``draw(theta, ell, k, floor, log_X)`` gives k points above the floor, their log L, and the index of
    the live point that each descends from, −1 for none.
    """
    if not np.any(ell > -np.inf):
        raise ValueError(
            f"the likelihood is zero or not a number for all {len(ell)} draws from the prior: no log "
            "evidence can be given"
        )
    M, log_X, log_Z = len(theta), 0.0, -np.inf
    founder, n_founders = np.arange(M), M
    while True:
        if log_X < -MAX_NATS:
            raise DivergenceError(
                f"nested sampling is {MAX_NATS:.0f} nats inside the prior and the best log likelihood, "
                f"{ell.max():.4g}, still rises: prior and data contradict each other; state another prior"
            )
        order = np.argsort(ell)
        theta, ell, founder = theta[order], ell[order], founder[order]
        if published and ell[0] + log_X + np.log(-np.expm1(-1 / M)) < np.log(remaining_mass) + log_Z:
            return
        # points on a plateau leave together: the next draws must be above all of them
        dead = k if published else int(np.sum(ell <= ell[k - 1]))
        if dead == M or (not published and ell[-1] + log_X < np.log(remaining_mass) + log_Z):
            yield Shell(theta, ell, np.full(M, log_X - np.log(M)), np.full(M, np.inf), founder, np.empty(0))
            return
        n_live = M - np.arange(dead)
        log_X_after = log_X - np.cumsum(1 / n_live)
        log_w = log_X_after + np.log(np.expm1(1 / n_live))  # X_{k−1} − X_k
        if quadrature != "upper":
            inner = log_X_after + np.log(-np.expm1(-1 / np.append(n_live[1:], M)))  # X_k − X_{k+1}
            log_w = inner if quadrature == "lower" else np.logaddexp(log_w, inner) - np.log(2)
        floor, log_X = ell[dead - 1], log_X_after[-1]
        new_theta, new_ell, parents = draw(theta[dead:], ell[dead:], dead, floor, log_X)  # line 8
        new_founder = np.where(parents < 0, n_founders + np.arange(dead), founder[dead:][parents])
        ranks = insertion_ranks(ell[dead:], new_ell, rng)
        shell = Shell(theta[:dead], ell[:dead], log_w, n_live, founder[:dead], ranks)
        log_Z = np.logaddexp(log_Z, log_sum_exp(shell.log_p))  # line 7
        yield shell
        theta, ell = np.concatenate([theta[dead:], new_theta]), np.concatenate([ell[dead:], new_ell])
        founder, n_founders = np.concatenate([founder[dead:], new_founder]), n_founders + dead
        progress(
            f"log X {log_X:.1f}, log evidence so far {log_Z:.2f} nats, best log likelihood {ell.max():.2f}"
        )


def evidence(ell: np.ndarray, log_w: np.ndarray, n_live: np.ndarray) -> tuple[float, float, float]:
    """log Ẑ, its variance and the information H.

    The i-th shrinkage has variance 1/n_i², and moves log Ẑ by the mass beyond it that exceeds its own
    likelihood.  With M live points throughout that is H/M to leading order (Skilling 2006); k at a time
    leave fewer.  The live points add the error of their mean likelihood.
    """
    log_p = ell + log_w
    log_Z = log_sum_exp(log_p)
    p = np.exp(log_p - log_Z)
    dead = np.isfinite(n_live)
    beyond = np.cumsum(p[::-1])[::-1] - p
    log_X = -np.cumsum(1 / n_live[dead])
    slope = beyond[dead] - np.exp(ell[dead] + log_X - log_Z)
    information = np.sum(p[p > 0] * (ell[p > 0] - log_Z))
    var = np.sum((slope / n_live[dead]) ** 2)
    if not dead.all():
        var += np.sum(~dead) * np.var(p[~dead], ddof=1)
    return float(log_Z), float(var), float(information)


def founders(log_p: np.ndarray, founder: np.ndarray) -> float:
    """Effective number of independent draws that the points of the posterior descend from, 1/Σ_f P_f².

    P_f is the share of the evidence of founder f.  Chains start from live points, and descent is counted
    whether or not they forget where: a mode's volume is known from the draws that founded it, however far
    their descendants move within the mode (Chan and Lai 2013, for particle filters).  A chain that jumps to
    another mode knows of it by the live point there, and descends from that one.
    """
    shares = np.bincount(np.unique(founder, return_inverse=True)[1], np.exp(log_p - log_sum_exp(log_p)))
    return float(1 / np.sum(shares**2))


def bottleneck(n_founders: float, M: int, n_replacements: float) -> float:
    """Variance of log Ẑ of modes that few draws founded: Σ_f P_f² beyond that of one population.

    A pair of live points has one parent with probability 1/(M − 1) a generation; the variance that comes of
    that is in H/M already.
    """
    return max(1 / n_founders - (1 - (1 - 1 / max(M - 1, 1)) ** n_replacements), 0.0)
