r"""Annealed importance sampling, thesis Alg. 6 (Neal 2001).

All rows are let in together, by powers of their likelihood, and the particles follow

    f_t(θ) = p(D | θ)^{λ_t} p(θ),   0 = λ_0 < λ_1 < … < λ_T = 1.                  (3.36)

Symbols
-------
=======  ==================  ====================================================
θ_i      ``theta``           particles, (M, d)
w_i      ``cloud.weights``   their weights since the last resampling
ℓ_i      ``ell``             log p(D | θ_i)
λ, Δ     ``lam, delta``      annealing parameter and its step
n        ``n``               rows, by total weight
=======  ==================  ====================================================
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit

from .._compat import HasMethods, Interval, StrOptions
from ..history import Memory, Rows
from ..models import Model
from ..particles import RESAMPLING, Cloud
from ..targets import Path
from ..transitions import HMC, SGHMC, Anneal, Rung, State, Streams, confirmed_at_once
from ._base import EvidenceResult, Parts, Progress, Sampler, rung_of
from ._direct import doubts_of_few, doubts_of_lineages
from ._laplace import doubts_of_missed_modes
from ._records import ChunkRecord

#: Half width of the sigmoidal schedule, as Grosse et al. (2015) have it: both ends get small steps.
SLOPE = 4.0


class AIS(Parts, Sampler):
    """Annealed importance sampling (thesis Alg. 6): the evidence of all rows, from prior to posterior.

    Parameters
    ----------
    n_particles : int, default=1000
        M.  The standard error falls as 1/√M; a thousand give about a tenth of a nat for a dozen parameters.
    schedule : {"adaptive", "linear", "sigmoidal"}, default="adaptive"
        λ_t.  The adaptive one keeps the effective sample size at each step (Eq. 3.42) and needs no tuning:
        the first steps must be about 1/n, which equal steps are only if there are n of them.
    n_temperatures : int, default=1000
        T of the linear and the sigmoidal schedule.
    target_ess : float, default=0.8
        ESS*, as a fraction of M: smaller steps cost less than the particles that they save.  With resampling
        also the criterion to resample on a fixed schedule.
    resampling : {"systematic", "multinomial"} or None, default="systematic"
        None is AIS as published: the weights of all steps multiply, so that the largest carries the estimate
        unless target_ess is about 0.99, and the same error then takes four times the time.
    move : HMC, SGHMC or SGNHT, default=HMC()
        HMC with a Metropolis test, which leaves f_t invariant exactly; or SGHMC with the gradient of all
        rows, which does so for Gaussians only.

    Notes
    -----
    With a fixed schedule Ẑ is unbiased, so log Ẑ is more often too low than too high (Eq. 3.10).  Adaptation
    to the particles (of λ, coordinates, step sizes) adds a bias of the order of 1/M.  The standard
    error is that of independent weights, or with resampling that of the ancestors' shares.  It does not
    know of modes that no particle found.  An ``EvidenceWarning`` says so when fewer than 50 weights count.

    With the adaptive schedule and resampling the answer of a model that may have several modes is tested, as
    hierarchies and funnels are annealed too low: a density that is Gaussian given the parameters that change
    the widths of the others answers, or there is a warning that none does.

    The path of the result has one entry, with the schedule in ``lambdas``.

    *Source*: thesis §3.3, Alg. 6; Neal (2001); the schedule of equal ESS steps: Eqs. 3.41–3.43.

    *Cost*: about d log n annealing steps, each of some 5 to 50 gradients of all rows for M particles, for
    one answer: nothing of it is of use when more rows come.

    *When not to use it*: for the evidence as rows come, or of many rows: there :class:`SGAIS` is faster.

    The published settings are :meth:`paper`.

    References
    ----------
    R. M. Neal (2001), Annealed importance sampling, Statistics and Computing 11, 125.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.samplers import AIS
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of(X, 2 * X[:, 0])
    >>> result = AIS().run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {
        "n_particles": [Interval(Integral, 2, None, closed="left")],
        "schedule": [StrOptions({"adaptive", "linear", "sigmoidal"})],
        "n_temperatures": [Interval(Integral, 1, None, closed="left")],
        "move": [HasMethods(["along"])],
        "target_ess": [Interval(Real, 0, 1, closed="neither")],
        "resampling": [StrOptions(set(RESAMPLING)), None],
    }

    def __init__(
        self,
        n_particles: int = 1000,
        schedule: str = "adaptive",
        n_temperatures: int = 1000,
        target_ess: float = 0.8,
        resampling: str | None = "systematic",
        move: Any = HMC(),  # noqa: B008  (each sampler gets its own: see Parts)
    ) -> None:
        self.n_particles = n_particles
        self.schedule = schedule
        self.n_temperatures = n_temperatures
        self.target_ess = target_ess
        self.resampling = resampling
        self.move = self._own("move", move)

    @classmethod
    def paper(cls) -> "AIS":
        """The published settings (thesis §5.1.2), those of SGAIS with all rows in place of mini-batches.

        Returns
        -------
        AIS
            M = 10, ESS* = 5, SGHMC with η = 0.1/n, α = 0.2, β̂ = 0, 20 steps, no resampling, no
            preconditioner.
        """
        move = SGHMC(preconditioner=None, control_variate=False)
        return cls(n_particles=10, target_ess=0.5, resampling=None, move=move)

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        before = State(Cloud.planted(model.sample_prior(rng, self.n_particles)), Memory.empty())  # lines 1, 2
        path, streams = Path(model, before.memory, rows), Streams.one(rng)
        anneal = self.anneal(rung_of(progress))
        step = anneal(before, path, streams)
        infos = [step.info]
        if self.schedule == "adaptive":
            tested = confirmed_at_once(step, path, streams, anneal)
            step, infos = (step, infos) if tested is None else (tested, [*infos, tested.info])
        advice = "raise n_particles, or use resampling='systematic'"
        cloud = step.state.cloud
        doubts = doubts_of_few(step.state.all_weights, "raise n_particles" if self.resampling else advice)
        doubts += doubts_of_lineages(1 / max(cloud.genealogy.variance(cloud.W), 1e-300), "n_particles")
        found = cloud.log_evidence, cloud.log_evidence_std
        doubts += doubts_of_missed_modes(model, rows, cloud.theta, cloud.W, *found, rng)
        record = ChunkRecord.of(before, step.state, infos)
        record = record._replace(n_samples=len(rows), total_weight=rows.total_weight)
        return EvidenceResult.of(step.state, [record], start).doubted(doubts, model)

    def anneal(self, watch: Callable[[Rung], Any] | None = None) -> Anneal:
        """Alg. 6, lines 4 to 8, as a transition.

        Parameters
        ----------
        watch : callable, optional
            Called with each :class:`~sgevidence.transitions.Rung`.

        Returns
        -------
        Anneal
        """
        return Anneal(
            self.move,
            self.target_ess,
            None if self.resampling is None else RESAMPLING[self.resampling],
            n_particles=lambda n: self.n_particles,
            schedule=self._fixed_schedule(),
            last_move=True,
            watch=watch,
        )

    def _fixed_schedule(self) -> np.ndarray | None:
        """λ_1 … λ_T, or None if they are chosen on the way."""
        if self.schedule == "adaptive":
            return None
        t = np.arange(1, self.n_temperatures + 1) / self.n_temperatures
        if self.schedule == "linear":
            return t
        low, high = expit(-SLOPE), expit(SLOPE)
        return np.append((expit(SLOPE * (2 * t[:-1] - 1)) - low) / (high - low), 1.0)
