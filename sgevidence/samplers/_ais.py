r"""Annealed importance sampling, thesis Alg. 6 (Neal 2001).

All rows are let in together, by powers of their likelihood, and the particles follow

    f_t(θ) = p(D | θ)^{λ_t} p(θ),   0 = λ_0 < λ_1 < … < λ_T = 1.                  (3.36)

Symbols
-------
=======  ==================  ====================================================
θ_i      ``theta``           particles, (M, d)
w_i      ``state.weights``   their weights since the last resampling
Ẑ        ``state.log_Z``     log of the mean weights folded in at resamplings
ℓ_i      ``ell``             log p(D | θ_i)
λ, Δ     ``lam, delta``      annealing parameter and its step
n        ``n``               rows, by total weight
=======  ==================  ====================================================
"""

from numbers import Integral, Real
from time import perf_counter

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from ..exceptions import DivergenceError
from ..history import Reservoir
from ..kernels import Coordinates, baoab, sghmc
from ..particles import RESAMPLING, Genealogy, Weights, next_step
from ._base import SILENT, EvidenceResult
from ._moves import move_hmc
from ._once import warn_of_few
from ._preconditioner import curvature_coordinates
from ._records import Tally
from ._sgais import MAX_ANNEALING_STEPS
from ._state import SGAISState, check_likelihood, resample
from ._target import Likelihood, Target

#: Half width of the sigmoidal schedule, as Grosse et al. (2015) have it: both ends get small steps.
SLOPE = 4.0


class AIS(BaseEstimator):
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
    kernel : {"hmc", "sghmc"}, default="hmc"
        HMC with a Metropolis test, which leaves f_t invariant exactly; or ``n_steps`` of SGHMC with the
        gradient of all rows, which does so for Gaussians only.
    target_ess : float, default=0.8
        ESS*, as a fraction of M: smaller steps cost less than the particles that they save.  With resampling
        also the criterion to resample on a fixed schedule.
    resampling : {"systematic", "multinomial"} or None, default="systematic"
        None is AIS as published: the weights of all steps multiply, so that the largest carries the estimate
        unless target_ess is about 0.99, and the same error then takes four times the time.
    learning_rate : float, default=0.1
        Of SGHMC: the squared step in posterior widths, lr/n without a preconditioner.
    momentum_decay : float, default=0.2
        α of SGHMC.
    n_steps : int, default=20
        SGHMC steps after each annealing step.
    preconditioner : {"curvature"} or None, default="curvature"
        Coordinates of unit width of f_t.  SGHMC then takes the splitting that is exact for Gaussians; with
        None it is Alg. 4 as published.

    Notes
    -----
    With a fixed schedule Ẑ is unbiased, so log Ẑ is more often too low than too high (Eq. 3.10).  What is
    adapted to the particles (λ, coordinates, step sizes) adds a bias of the order of 1/M.  The standard
    error is that of independent weights, or with resampling that of the ancestors' shares.  It does not
    know of modes that no particle found.  An ``EvidenceWarning`` says so when fewer than 50 weights count.

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
    >>> from sgevidence import AIS
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
        "kernel": [StrOptions({"hmc", "sghmc"})],
        "target_ess": [Interval(Real, 0, 1, closed="neither")],
        "resampling": [StrOptions(set(RESAMPLING)), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "momentum_decay": [Interval(Real, 0, 1, closed="right")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "preconditioner": [StrOptions({"curvature"}), None],
    }

    def __init__(
        self,
        n_particles=1000,
        schedule="adaptive",
        n_temperatures=1000,
        kernel="hmc",
        target_ess=0.8,
        resampling="systematic",
        *,
        learning_rate=0.1,
        momentum_decay=0.2,
        n_steps=20,
        preconditioner="curvature",
    ):
        self.n_particles = n_particles
        self.schedule = schedule
        self.n_temperatures = n_temperatures
        self.kernel = kernel
        self.target_ess = target_ess
        self.resampling = resampling
        self.learning_rate = learning_rate
        self.momentum_decay = momentum_decay
        self.n_steps = n_steps
        self.preconditioner = preconditioner

    @classmethod
    def paper(cls) -> "AIS":
        """The published settings (thesis §5.1.2), those of SGAIS with all rows in place of mini-batches.

        Returns
        -------
        AIS
            M = 10, ESS* = 5, SGHMC with η = 0.1/n, α = 0.2, β̂ = 0, 20 steps, no resampling, no
            preconditioner.
        """
        return cls(n_particles=10, kernel="sghmc", target_ess=0.5, resampling=None, preconditioner=None)

    def run(self, model, rows, rng: np.random.Generator, progress=SILENT) -> EvidenceResult:
        """Log evidence of all rows.

        Parameters
        ----------
        model : Model
        rows : Rows
        rng : numpy.random.Generator
        progress : Progress, optional

        Returns
        -------
        EvidenceResult
            A path of one entry, with the schedule in ``lambdas``.

        Raises
        ------
        ValueError
            If the rows are impossible under all particles.
        DivergenceError
            If SGHMC diverges, or annealing gets nowhere.
        """
        self._validate_params()
        start, tally = perf_counter(), Tally(self.n_particles)
        for state, lam, _ in self._anneal(model, rows, rng, tally):
            progress(f"λ = {lam:.3g}, log evidence so far {state.log_evidence:.2f}")
        advice = "raise n_particles, or use resampling='systematic'"
        warn_of_few(state.all_weights, "raise n_particles" if self.resampling else advice)
        record = tally.record(_planted(state.theta), state)._replace(n_samples=len(rows))
        return EvidenceResult.of(state, [record], start)

    def _anneal(self, model, rows, rng, tally):
        """States after each temperature (Alg. 6), with their λ and the coordinates of the move."""
        M, n = self.n_particles, rows.total_weight
        state = _planted(model.sample_prior(rng, M))  # lines 1, 2
        lam, t, fixed = 0.0, 0, self._fixed_schedule()
        while lam < 1.0:  # line 4
            ell = model.sum_log_likelihood(state.theta, rows)
            tally.n_likelihoods += M * len(rows)
            check_likelihood(ell, state, model, rows)
            before = lam
            if fixed is None:
                log_w = state.weights.log_w if self.resampling else np.zeros(M)
                delta = next_step(ell, log_w, 1.0 - lam, self.target_ess)  # line 5, Eq. (3.42)
                lam = min(max(lam + delta, np.nextafter(lam, 1.0)), 1.0)  # line 6
            else:
                lam = fixed[t]
            state = state._replace(weights=state.weights.add((lam - before) * ell))  # line 7
            tally.weighted(state.weights, lam)
            target = Target(model, Likelihood(rows.scaled(lam)))
            coordinates = Coordinates(np.eye(state.theta.shape[1]) / np.sqrt(n))
            if self.preconditioner is not None:
                coordinates = curvature_coordinates(target, state.theta, state.weights.W)
            if self.resampling and (fixed is None or state.weights.ess < self.target_ess * M):
                state = resample(state, RESAMPLING[self.resampling], M, rng)
            theta, log_eps, info = self._move(state, target, coordinates, rng)  # line 8
            state = state._replace(theta=theta, log_eps=log_eps)
            tally.moved(info, M, len(rows))
            yield state, lam, coordinates
            t += 1
            if fixed is None and t == MAX_ANNEALING_STEPS:
                raise DivergenceError(
                    f"annealing did not reach the posterior in {MAX_ANNEALING_STEPS} steps: check the model "
                    "and the data for extreme values"
                )

    def _move(self, state, target, coordinates, rng):
        """Particles moved on f_t: theta, log_eps, MoveInfo."""
        if self.kernel == "hmc":
            canonical = target.model.canonicalize
            return move_hmc(state.theta, target, coordinates, state.log_eps, rng, canonical)
        phi, lr = coordinates.whiten(state.theta), self.learning_rate
        grad = coordinates.gradient(lambda theta: target.value_and_grad(theta)[1])
        if self.preconditioner is None:
            phi, info = sghmc(phi, grad, rng, eta=lr, alpha=self.momentum_decay, n_steps=self.n_steps)
        else:
            phi, info = baoab(phi, grad, rng, eps=lr**0.5, c=1 - self.momentum_decay, n_steps=self.n_steps)
        if info.n_refused > (0 if self.preconditioner is None else len(phi) // 2):
            raise DivergenceError(
                f"SGHMC diverged for {info.n_refused} of {len(phi)} particles: lower learning_rate, "
                "standardise the columns, or use kernel='hmc'"
            )
        return coordinates.unwhiten(phi), state.log_eps, info

    def _fixed_schedule(self):
        """λ_1 … λ_T, or None if they are chosen on the way."""
        if self.schedule == "adaptive":
            return None
        t = np.arange(1, self.n_temperatures + 1) / self.n_temperatures
        if self.schedule == "linear":
            return t
        low, high = expit(-SLOPE), expit(SLOPE)
        return np.append((expit(SLOPE * (2 * t[:-1] - 1)) - low) / (high - low), 1.0)


def _planted(theta) -> SGAISState:
    """Particles of unit weight."""
    M = len(theta)
    return SGAISState(theta, Weights.ones(M), 0.0, Genealogy.planted(M), 0.0, Reservoir(None))
