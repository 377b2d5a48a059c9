"""Nested sampling, thesis §3.2 and Alg. 5 / journal paper App. A.1 (Skilling 2004, 2006).

Points of a cloud leave in the order of their likelihood, and what they leave is the prior mass between its
contours: ``_shells.py`` has the sum, :class:`~sgevidence.transitions.ConstrainedMoves` the draws that come
in their place.
"""

from numbers import Integral, Real

import numpy as np
from scipy.stats import kstest

from .._compat import Interval, StrOptions
from ..history import Rows
from ..models import Model, value_and_grad
from ..particles import Weights
from ..transitions import ConstrainedMoves
from ._base import EvidenceResult, Progress, Sampler
from ._direct import answer, thinned_draws
from ._other_modes import doubts_of_missed_modes
from ._shells import bottleneck, descend, doubts, evidence, founders


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
