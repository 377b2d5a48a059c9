r"""Bayesian updating with nested sampling, thesis §4.3.

    log Ẑ = Σ_n log p̂(y_n | y_<n),   p(y_n | y_<n) = ∫ p(y_n | θ) p(θ | y_<n) dθ

Each predictive evidence is a nested sampling of one chunk with the posterior of the rows before as its
prior.  Draws from that are the points of the nested sampling before, in proportion to λ_k w_k (Eq. 4.16),
of which a weighted reservoir keeps M as they come (Chao 1982).

Symbols
-------
=======  ===================  ==================================================
M        ``n_live``           live points, and places in the reservoir
y_n      ``chunk``            the rows to absorb
λ_k w_k  ``Shell.log_p``      weight of a dead point, log
p(θ | y_<n)  ``past``         the prior of this chunk, as value and gradient
=======  ===================  ==================================================
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

from .._compat import Interval
from ..history import Memory, Reservoir, Rows
from ..kernels import Coordinates, sghmc
from ..models import Model
from ..particles import Weights, log_sum_exp, systematic
from ..samplers import ChunkRecord, OnlineSampler, Progress, bottleneck, descend, evidence, founders, pieces
from ..targets import Likelihood, Path, Target
from ..transitions import HMC, ConstrainedMoves, covariance


class SequentialNestedState(NamedTuple):
    """Everything the next rows need; a value, never changed in place."""

    theta: np.ndarray  #: M draws from p(θ | y_≤n), of equal weight
    log_evidence: float
    variance: float  #: of it, the sum over chunks
    history: Reservoir
    log_eps: float = 0.0  #: adapted HMC step

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.history.n_rows

    @property
    def all_weights(self) -> Weights:
        """Weights of the draws: equal."""
        return Weights.ones(len(self.theta))

    @property
    def log_evidence_std(self) -> float:
        """Standard error, nats."""
        return float(np.sqrt(self.variance))


class SequentialNestedSampling(OnlineSampler):
    """Bayesian updating with nested sampling (thesis §4.3).

    Parameters
    ----------
    n_live : int, default=500
        Live points M, and draws kept from one chunk to the next.
    n_steps : int, default=20
        Steps of the kernel, as in :class:`NestedSampling`.
    chunk_size : int or None, default=None
        Rows taken at a time; None: as many as were seen before, from 100, in random order.  Each chunk
        costs a nested sampling, so that few large ones are cheaper.
    batch_size : int or None, default=None
        None: the moves see all rows and have a Metropolis test, which is exact.  A number: SGHMC on
        mini-batches of the rows before, as in the thesis, so that a chunk costs the same however many
        came before it.
    learning_rate : float, default=0.01
        For SGHMC with mini-batches, per observation: η = lr/n.  SGAIS's 0.1 undersamples the boundary far
        more: in a regression on 1000 rows in chunks that double it gave 3.3 nats too many, this 0.4.
    momentum_decay : float, default=0.1
        α of the dynamics.
    remaining_mass : float, default=0.01
        Each chunk stops when what may remain is below this part of its evidence.

    Notes
    -----
    The reservoir's draws repeat points that weigh much; before the next chunk they are moved by HMC (or
    SGHMC with ``batch_size``) on the posterior of all rows, so that they are distinct and nearly
    independent.

    *Approximate*: M draws stand for the posterior, so that modes keep the share they were given
    by the chunk before.  With ``batch_size`` the noise of the gradient also widens the posterior that a
    chunk starts from, and the layer along the contour is visited too rarely; the standard error, the
    root of the sum of H/M over chunks, knows of neither.

    *Cost*: that of :class:`NestedSampling` on the largest data and each smaller one.  All rows are kept.

    *When not to use it*: for one fixed data set :class:`NestedSampling` is more accurate, its errors do
    not add up over chunks; for long streams ``SGAIS`` costs less.

    References
    ----------
    S. A. Cameron, thesis, §4.3.
    M. T. Chao (1982), A general purpose unequal probability sampling plan, Biometrika 69, 653.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.samplers import SequentialNestedSampling
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of(X, 2 * X[:, 0])
    >>> sampler = SequentialNestedSampling(n_live=100, chunk_size=20)
    >>> result = sampler.run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {
        "n_live": [Interval(Integral, 4, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "chunk_size": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "momentum_decay": [Interval(Real, 0, 1, closed="right")],
        "remaining_mass": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        n_live: int = 500,
        n_steps: int = 20,
        chunk_size: int | None = None,
        batch_size: int | None = None,
        *,
        learning_rate: float = 0.01,
        momentum_decay: float = 0.1,
        remaining_mass: float = 0.01,
    ) -> None:
        self.n_live = n_live
        self.n_steps = n_steps
        self.chunk_size = chunk_size
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum_decay = momentum_decay
        self.remaining_mass = remaining_mass

    def _init(self, model: Model, rng: np.random.Generator) -> SequentialNestedState:
        return SequentialNestedState(model.sample_prior(rng, self.n_live), 0.0, 0.0, Reservoir(None))

    def _update(
        self,
        state: SequentialNestedState,
        model: Model,
        rows: Rows,
        rng: np.random.Generator,
        progress: Progress,
    ) -> tuple[SequentialNestedState, list[ChunkRecord]]:
        """Absorb rows, chunk by chunk."""
        self._validate_params()
        records = []
        for chunk in pieces(rows, state.history.n, self.chunk_size, True, rng):
            n_before = state.n_rows
            state, record = self._extend(state, model, chunk, rng, progress)
            records.append(record)
            progress.chunk(record, n_before)
        return state, records

    def _extend(
        self,
        state: SequentialNestedState,
        model: Model,
        chunk: Rows,
        rng: np.random.Generator,
        progress: Progress,
    ) -> tuple[SequentialNestedState, ChunkRecord]:
        """p̂(y_n | y_<n), and draws from p(θ | y_≤n)."""
        first, M, spent = state.n_rows == 0, len(state.theta), 0.0
        batch_size = None if first else self.batch_size
        eta = self.learning_rate / (state.history.n + chunk.total_weight)

        def past(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal spent
            rows = chunk[:0] if first else state.history.rows
            if batch_size is not None:
                rows = state.history.draw(batch_size, rng)
            spent += len(theta) * len(rows)
            return Target(model, Likelihood(rows)).value_and_grad(theta)

        moves = ConstrainedMoves(
            model,
            chunk,
            past,
            rng,
            kernel="reflection",
            n_steps=self.n_steps,
            alpha=self.momentum_decay,
            eta=None if batch_size is None else eta,
            sample_prior=model.sample_prior if first else None,
        )
        kept, log_W, totals = state.theta, -np.inf, []
        ell = moves.log_likelihood(state.theta)
        for shell in descend(state.theta, ell, moves, M // 2, self.remaining_mass, rng, progress):
            kept, log_W = weighted_reservoir(kept, log_W, shell.theta, shell.log_p, rng)
            totals.append((shell.ell, shell.log_w, shell.n_live, shell.founder))
        ell, log_w, n_live, founder = (np.concatenate(part) for part in zip(*totals))
        log_Z, var, _ = evidence(ell, log_w, n_live)
        var += bottleneck(founders(ell + log_w, founder), M, len(totals) - 1)
        kept, log_eps, n_gradients = self._moved(
            model.canonicalize(kept), Path(model, Memory(state.history), chunk), state.log_eps, rng
        )
        after = SequentialNestedState(
            theta=kept,
            log_evidence=state.log_evidence + log_Z,
            variance=state.variance + var,
            history=state.history.absorb(chunk, rng),
            log_eps=log_eps,
        )
        record = ChunkRecord(
            n_samples=after.n_rows,
            total_weight=after.history.n,
            log_evidence=after.log_evidence,
            log_evidence_std=after.log_evidence_std,
            log_predictive=log_Z,
            n_particles=M,
            n_moves=moves.n_moves,
            acceptance=moves.acceptance,
            n_likelihoods=moves.n_likelihoods,
            n_gradients=moves.n_gradients + spent + n_gradients,
        )
        return after, record

    def _moved(
        self, theta: np.ndarray, path: Path, log_eps: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, float, float]:
        """Draws moved apart, at p(θ | y_≤n): theta, log_eps and gradients, particles × rows."""
        (model, memory, chunk, _), batch_size = path, self.batch_size
        if batch_size is not None and memory.n_rows:

            def grad_all(theta: np.ndarray) -> np.ndarray:
                return model.grad_log_joint(theta, path.batch(1.0, batch_size, rng))

            eta, n_rows = self.learning_rate / path.n, len(chunk) + batch_size
            theta, info = sghmc(
                theta, grad_all, rng, eta=eta, alpha=self.momentum_decay, n_steps=self.n_steps
            )
        else:
            coordinates, n_rows = Coordinates.from_covariance(covariance(theta)), path.n_at_hand
            target = Target(model, Likelihood(chunk if not memory.n_rows else path.all_rows))
            theta, log_eps, info = HMC().trajectories(theta, target, coordinates, log_eps, rng)
        return theta, log_eps, len(theta) * info.n_gradients * n_rows


def weighted_reservoir(
    kept: np.ndarray, log_W: float, theta: np.ndarray, log_w: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """M places after new points have come: (kept, log of the total weight seen).

    Whenever it is asked, a point that weighs w of all W seen is expected M w/W times, as in Chao's plan;
    one that weighs more than W/M is there more than once, where Chao would keep it once for certain.
    """
    M, log_W_new = len(kept), float(np.logaddexp(log_W, log_sum_exp(log_w)))
    if log_W_new == -np.inf:
        return kept, log_W_new
    W = np.exp(np.concatenate([np.full(M, log_W - np.log(M)), log_w]) - log_W_new)
    return np.concatenate([kept, theta])[systematic(W, rng, M)], log_W_new
