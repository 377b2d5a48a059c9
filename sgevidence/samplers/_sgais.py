r"""Stochastic gradient annealed importance sampling, thesis Alg. 8 (Cameron, Eggers and Kroon 2019).

Every chunk of rows is annealed from the posterior of the rows before it, and the particles
follow by SGHMC with mini-batches of those rows:

    Û(θ) = −λ log p(y_n | θ) − n/|B| Σ_{y ∈ B} log p(y | θ) − log p(θ)           (4.14)

Symbols
-------
=======  ====================  ==========================================================
θ_i      ``theta``             particles, (M, d)
w_i      ``state.weights``     their weights since the last resampling
Ẑ        ``state.log_Z``       log of the mean weights folded in at resamplings
y_n      ``chunk``             the rows to absorb
ℓ_i      ``ell``               log p(y_n | θ_i)
λ, Δ     ``lam, delta``        annealing parameter and its step
B        ``batch``             mini-batch of the rows before the chunk, a new one at each step
n        ``n``                 rows (total weight) including the chunk
η, α, β̂  ``eta, alpha, beta_hat``  learning rate lr/n, momentum decay, gradient noise
=======  ====================  ==========================================================
"""

from numbers import Integral, Real
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from ..history import Reservoir
from ..kernels import sghmc
from ..particles import RESAMPLING, Weights, next_step
from ._base import ChunkRecord, DivergenceError, EvidenceResult, evidence_path
from ._preconditioner import curvature_coordinates

#: A chunk of 10⁶ nats takes about 500 annealing steps; ten times as many mean that it goes nowhere.
MAX_ANNEALING_STEPS = 5000


class SGAISState(NamedTuple):
    """Everything the next chunk needs; a value, never changed in place."""

    theta: np.ndarray
    weights: Weights
    log_Z: float
    log_Z_var: float
    history: Reservoir

    @property
    def log_evidence(self) -> float:
        """log Ẑ = log (1/M) Σ w_i, nats."""
        return self.log_Z + self.weights.log_mean

    @property
    def log_evidence_std(self) -> float:
        """From the relative variance of the mean weights, nats."""
        return float(np.sqrt(self.log_Z_var + self.weights.relative_variance))


class SGAIS(BaseEstimator):
    """Stochastic gradient annealed importance sampling (thesis Alg. 8).

    Parameters
    ----------
    n_particles : int, default=100
        M.  The standard error of the log evidence falls as 1/√M.
    target_ess : float, default=0.5
        Effective sample size to keep at each annealing step, as a fraction of M (Eq. 4.15).
    chunk_size : int, default=500
        Rows annealed at a time; larger calls are cut.
    batch_size : int, default=500
        Rows per mini-batch, drawn i.i.d. from the rows before the chunk, anew at each step.
    learning_rate : float, default=0.1
        Per-observation learning rate lr: η = lr/n.  With a preconditioner, lr is the squared step in
        posterior widths, and the width is inflated by 1/(1 − lr/(2(2 − α))).
    momentum_decay : float, default=0.2
        α of SGHMC.
    gradient_noise : float, default=0.0
        β̂ of SGHMC, ½·Var[∇Û] (in the preconditioner's coordinates, if there is one).
    n_steps : int, default=20
        SGHMC steps after each annealing step; 20 steps of √lr = 0.3 widths decorrelate.
    resampling : {"systematic", "multinomial"} or None, default="systematic"
        With None the weights accumulate, as published.
    preconditioner : {"curvature"} or None, default="curvature"
        Coordinates of unit posterior width.  Without them the step is the same in all directions and
        diverges on columns that are not centred or scaled.
    reservoir_size : int or None, default=10000
        Most rows of the past to keep, a uniform sample; None keeps all.

    Notes
    -----
    The published settings are :meth:`paper`.  Memory is bounded by ``reservoir_size`` rows plus the
    cloud; a call costs the same however many rows came before.

    References
    ----------
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), Stochastic Gradient Annealed Importance Sampling for
    Efficient Online Marginal Likelihood Estimation, Entropy 21, 1109.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import SGAIS
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of(X, 2 * X[:, 0])
    >>> result = SGAIS(n_particles=500).run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {
        "n_particles": [Interval(Integral, 2, None, closed="left")],
        "target_ess": [Interval(Real, 0, 1, closed="neither")],
        "chunk_size": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "momentum_decay": [Interval(Real, 0, 1, closed="right")],
        "gradient_noise": [Interval(Real, 0, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "resampling": [StrOptions(set(RESAMPLING)), None],
        "preconditioner": [StrOptions({"curvature"}), None],
        "reservoir_size": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_particles=100,
        target_ess=0.5,
        chunk_size=500,
        batch_size=500,
        learning_rate=0.1,
        momentum_decay=0.2,
        gradient_noise=0.0,
        n_steps=20,
        resampling="systematic",
        preconditioner="curvature",
        reservoir_size=10_000,
    ):
        self.n_particles = n_particles
        self.target_ess = target_ess
        self.chunk_size = chunk_size
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum_decay = momentum_decay
        self.gradient_noise = gradient_noise
        self.n_steps = n_steps
        self.resampling = resampling
        self.preconditioner = preconditioner
        self.reservoir_size = reservoir_size

    @classmethod
    def paper(cls) -> "SGAIS":
        """The published settings (thesis §5.1.1), nothing added.

        Returns
        -------
        SGAIS
            M = 10, ESS* = 5, chunks and mini-batches of 500 from the whole history, lr = 0.1, α = 0.2,
            β̂ = 0, 20 steps, no resampling, no preconditioner.
        """
        return cls(n_particles=10, resampling=None, preconditioner=None, reservoir_size=None)

    def init(self, model, rng: np.random.Generator) -> SGAISState:
        """M particles from the prior with unit weights (Alg. 8, lines 1 and 2).

        Parameters
        ----------
        model : Model
        rng : numpy.random.Generator

        Returns
        -------
        SGAISState
        """
        self._validate_params()
        theta = model.sample_prior(rng, self.n_particles)
        return SGAISState(theta, Weights.ones(self.n_particles), 0.0, 0.0, Reservoir(self.reservoir_size))

    def update(self, state: SGAISState, model, rows, rng: np.random.Generator):
        """Absorb rows, chunk by chunk (Alg. 8, line 3).

        Parameters
        ----------
        state : SGAISState
            Not changed.
        model : Model
        rows : Rows
        rng : numpy.random.Generator

        Returns
        -------
        state : SGAISState
        records : list of ChunkRecord
        """
        self._validate_params()
        streams = Streams(*rng.spawn(3))
        records = []
        for chunk in rows.chunks(self.chunk_size):
            state, record = self._absorb(state, model, chunk, streams)
            records.append(record)
        return state, records

    def run(self, model, rows, rng: np.random.Generator) -> EvidenceResult:
        """Log evidence of all rows: :meth:`init` and one :meth:`update`.

        Parameters
        ----------
        model : Model
        rows : Rows
        rng : numpy.random.Generator

        Returns
        -------
        EvidenceResult
        """
        start = perf_counter()
        state, records = self.update(self.init(model, rng), model, rows, rng)
        return EvidenceResult(
            log_evidence=state.log_evidence,
            log_evidence_std=state.log_evidence_std,
            theta=state.theta,
            weights=state.weights.W,
            path=evidence_path(records),
            n_likelihoods=sum(r.n_likelihoods for r in records),
            n_gradients=sum(r.n_gradients for r in records),
            wall_time=perf_counter() - start,
        )

    def _absorb(self, state, model, chunk, rng):
        """p(θ | y_<n) → p(θ | y_≤n) (Alg. 8, lines 4–11)."""
        before, M = state.log_evidence, len(state.theta)
        lam, lambdas, ess, n_refused, n_gradients = 0.0, [], float(M), 0, 0.0
        while lam < 1.0:
            ell = model.sum_log_likelihood(state.theta, chunk)
            log_w = state.weights.log_w if self.resampling else np.zeros(M)
            check_likelihood(ell, state, model, chunk)
            delta = next_step(ell, log_w, 1.0 - lam, self.target_ess)  # line 6, Eq. (4.15)
            lam = min(max(lam + delta, np.nextafter(lam, 1.0)), 1.0)  # line 7
            lambdas.append(lam)
            state = state._replace(weights=state.weights.add(delta * ell))  # line 8
            ess = min(ess, Weights(log_w + delta * ell).ess)
            coordinates = self._coordinates(state, model, chunk, lam, rng)
            if self.resampling:
                state = resample(state, RESAMPLING[self.resampling], rng.resampling)  # line 9
            state, info = self._move(state, model, chunk, lam, coordinates, rng)  # line 10
            n_refused += info.n_refused
            n_gradients += M * info.n_gradients * (len(chunk) + min(self.batch_size, len(state.history)))
            if len(lambdas) == MAX_ANNEALING_STEPS:
                raise DivergenceError(
                    f"annealing did not reach the posterior in {MAX_ANNEALING_STEPS} steps{self._advice()}"
                )
        state = state._replace(history=state.history.absorb(chunk, rng.rows))
        return state, ChunkRecord(
            n_samples=state.history.n_rows,
            log_evidence=state.log_evidence,
            log_evidence_std=state.log_evidence_std,
            log_predictive=state.log_evidence - before,
            n_annealing_steps=len(lambdas),
            ess=ess,
            lambdas=np.array(lambdas),
            n_refused=n_refused,
            n_likelihoods=float(M * len(chunk) * len(lambdas)),
            n_gradients=n_gradients,
        )

    def _coordinates(self, state, model, chunk, lam, rng):
        """The preconditioner at the tempered posterior, from the weighted cloud before resampling."""
        if self.preconditioner is None:
            return None
        rows = energy_rows(state.history, chunk, lam, self.batch_size, rng.rows)
        return curvature_coordinates(model, state.theta, state.weights.W, rows)

    def _move(self, state, model, chunk, lam, coordinates, rng):
        """SGHMC on Û (Eq. 4.14): in coordinates of unit width the learning rate is lr, otherwise lr/n."""

        def grad_log_target(theta):
            return model.grad_log_joint(
                theta, energy_rows(state.history, chunk, lam, self.batch_size, rng.rows)
            )

        kernel = dict(alpha=self.momentum_decay, beta_hat=self.gradient_noise, n_steps=self.n_steps)
        if coordinates is None:
            n = state.history.n + chunk.total_weight
            theta, info = sghmc(state.theta, grad_log_target, rng.noise, eta=self.learning_rate / n, **kernel)
        else:
            phi, grad_phi = coordinates.whiten(state.theta), coordinates.gradient(grad_log_target)
            phi, info = sghmc(phi, grad_phi, rng.noise, eta=self.learning_rate, **kernel)
            theta = coordinates.unwhiten(phi)
        if info.n_refused > (0 if coordinates is None else len(theta) // 2):
            raise DivergenceError(
                f"SGHMC diverged for {info.n_refused} of {len(theta)} particles "
                f"after {state.history.n_rows} rows{self._advice()}"
            )
        return state._replace(theta=theta), info

    def _advice(self) -> str:
        if self.preconditioner is None:
            return (
                ": the step is too long for the scale of the data. Standardise the columns, "
                "lower learning_rate, or use preconditioner='curvature'"
            )
        return ": lower learning_rate, or check the model and the data for extreme values"


class Streams(NamedTuple):
    """Separate random streams, so that the number of draws from one never shifts another."""

    noise: np.random.Generator
    resampling: np.random.Generator
    rows: np.random.Generator


def energy_rows(history: Reservoir, chunk, lam: float, batch_size: int, rng):
    """The rows of Û (Eq. 4.14) as one weighted set: λ times the chunk, n/|B| times a fresh mini-batch."""
    if len(history) == 0:
        return chunk.scaled(lam)
    return chunk.scaled(lam).join(history.draw(batch_size, rng))


def resample(state: SGAISState, scheme, rng) -> SGAISState:
    """θ_i drawn in proportion to w_i, then w_i ← mean w, which is folded into Ẑ (§4.2)."""
    weights = state.weights
    return state._replace(
        theta=state.theta[scheme(weights.W, rng)],
        weights=Weights.ones(weights.M),
        log_Z=state.log_Z + weights.log_mean,
        log_Z_var=state.log_Z_var + weights.relative_variance,
    )


def check_likelihood(ell, state: SGAISState, model, chunk) -> None:
    """Rows that are impossible under every particle have no evidence: say which."""
    possible = np.isfinite(ell) & np.isfinite(state.weights.log_w)
    if possible.any():
        return
    with np.errstate(all="ignore"):
        bad = ~np.isfinite(model.log_likelihood(state.theta, chunk)).any(axis=0)
    rows = np.flatnonzero(bad) if bad.any() else np.arange(len(chunk))
    raise ValueError(
        f"the likelihood is zero or not a number for all particles at rows {rows[:10].tolist()} of the "
        f"chunk that starts after row {state.history.n_rows}: no log evidence can be given"
    )
