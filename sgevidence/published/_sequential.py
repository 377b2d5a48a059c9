"""Sequential evidence by stochastic gradient MCMC, thesis §4.1 (Cameron, Eggers and Kroon 2019, conference).

    log Ẑ = Σ_n log p̂(y_n | y_<n),    p̂(y_n | y_<n) = (1/M) Σ_i p(y_n | θ_i),      (4.3, 4.4)

with θ_i moved by SGHMC from one posterior to the next.  Particles keep no weights and are never
resampled.  The published settings are :meth:`SequentialSGMCMC.paper`; the default is the same
estimator with smaller chunks, more particles, and gradients that do not heat the cloud.

Symbols
-------
=======  ====================  ==========================================================
θ_i      ``theta``             particles, (M, d)
y_n      ``pending``           the chunk that is coming in; it may arrive in parts
p_ni     ``state.weights``     p(y_n | θ_i), log, (M,)
Ẑ        ``state.log_Z``       log, of the chunks before
U_i      ``deviation``         Σ_n [p_ni / p̂_n − 1]
n        ``n``                 rows seen, by total weight
=======  ====================  ==========================================================

The error bar.  To first order log Ẑ − log Z = (1/M) Σ_i U_i, with p in the place of p̂.  The M
chains do not interact, so the U_i are independent however slowly each chain forgets, and the spread
of U_i over √M is the standard error, with all correlations from chunk to chunk.

The state of the sequential sampler between two sets of rows, and its report of the evidence.

    log Ẑ = Σ_n log (1/M) Σ_i p(y_n | θ_i)                                        (4.4)

Symbols: ``U_i`` = Σ_n [M W_i − 1], a particle's share of the error of all means so far, (M,).
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from .._compat import HasMethods, Interval
from ..history import N_BLOCKS, N_INFLUENCE_DRAWS, Anchor, Influence, Memory, Rows
from ..models import Model
from ..particles import Cloud, Genealogy, Weights, systematic
from ..samplers import ChunkRecord, OnlineSampler, Parts, Progress, check_history, chunk_edges
from ..targets import STRAY_SQUARED, Path, anchored_at_mode
from ..transitions import SGHMC, Adaptation, Streams, check_likelihood


class SequentialState(NamedTuple):
    """Everything the next rows need; a value, never changed in place."""

    theta: np.ndarray  #: draws from the posterior of the rows in ``memory``
    weights: Weights  #: likelihood of the rows in ``pending``
    log_Z: float
    deviation: np.ndarray  #: U_i, (M,)
    initial_var: float  #: variance of log Ẑ from ``initial``
    memory: Memory
    pending: Rows | None = None  #: the chunk that is not yet complete

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.memory.n_rows + (0 if self.pending is None else len(self.pending))

    @property
    def n(self) -> float:
        """Their total weight."""
        return self.memory.n + (0.0 if self.pending is None else self.pending.total_weight)

    @property
    def all_weights(self) -> Weights:
        """Weights of the cloud as a sample of the posterior of all rows seen."""
        return self.weights

    @property
    def log_evidence(self) -> float:
        """Log evidence of all rows seen, nats."""
        return self.log_Z + self.weights.log_mean

    @property
    def deviations(self) -> np.ndarray:
        """U_i with the chunk that is coming in."""
        return self.deviation + self.weights.M * self.weights.W - 1.0

    @property
    def log_evidence_std(self) -> float:
        """From the spread of U_i, and what a sample of the rows has left in the anchored sums, nats."""
        M = self.weights.M
        shared_var = self.initial_var + self.memory.doubt_var(self.theta, self.weights.W)
        return float(np.sqrt(shared_var + np.sum(self.deviations**2) / (M * (M - 1))))

    def anchored(self, path: Path, rng: Streams) -> tuple["SequentialState", Anchor, Any]:
        """The cloud in slots, and sums over history and chunk in the same slots.

        They stay at the old anchor while the cloud is near it, and else go near the mode.
        """
        model, memory, chunk, _ = path
        if memory.anchor is not None:
            theta = model.canonicalize(self.theta, memory.labels)
            sums = memory.anchor.plus(Anchor.of(model, memory.anchor.a, chunk))
            if memory._replace(anchor=sums).anchor_distance(theta.mean(axis=0)) ** 2 < STRAY_SQUARED:
                return self._replace(theta=theta), sums, memory.labels
        labels = model.slot_reference(self.theta)
        theta = model.canonicalize(self.theta, labels)
        _, anchor = anchored_at_mode(path, theta.mean(axis=0), rng.rows)
        return self._replace(theta=theta), anchor, labels

    def record(self, before: "SequentialState", words: dict) -> ChunkRecord:
        """Record of the chunk from the state before to this one."""
        still = dict(n_annealing_steps=0, ess=float(self.weights.M), lambdas=np.zeros(0))
        return ChunkRecord(
            n_samples=self.n_rows,
            log_evidence=self.log_evidence,
            log_evidence_std=self.log_evidence_std,
            log_predictive=self.log_evidence - before.log_evidence,
            n_particles=self.weights.M,
            total_weight=self.n,
            anchor_distance=self.memory.anchor_distance(self.weights.W @ self.theta),
            **still | words,
        )


#: Growth of the chunks as published, n/4; with more than four parameters the default is 1/d.
PUBLISHED_GROWTH = 0.25


class SequentialSGMCMC(Parts, OnlineSampler):
    """Product of mean predictives, with SGHMC between chunks (thesis §4.1, Eqs. 4.3–4.5).

    Parameters
    ----------
    n_particles : int, default=500
        M.  The bias is minus half the variance, Σ_n Var(p_n)/(2M p_n²), so it is the smaller of the two
        once the standard error is below a nat.
    first_chunk : int, default=1
        Rows of the first chunks.  Draws from the prior say little of twenty rows at once.
    growth : float or None, default=None
        Later chunks are ``growth`` times the rows seen.  None: 1/4 as published, or 1/d if that is less:
        the variance of one mean is about (e^(d·growth) − 1)/M.
    chunk_size : int, default=500
        Most rows of a chunk.
    reservoir_size : int or None, default=100000
        Rows of the past to keep; None keeps all.
    initial : sampler or None, default=None
        Whose evidence of the first 100 rows takes the place of the first terms, and whose posterior
        draws the chains start from: the hybrid of §5.3.  Any object with ``run``, such as
        ``NestedSampling()``.  While there are fewer rows, it is run anew at each call.
    move : SGHMC or SGNHT, default=SGHMC(momentum_decay=0.4)
        Moves after each chunk.  With steps of √0.1 widths and α = 0.4 they leave a hundredth of the start
        after 20 steps; 0.2, as published, leaves a tenth, and the evidence of 200 rows is then off by 0.2
        nats.  Without control variates the noise of the mini-batches moves the cloud as a whole, by about
        n·lr/(4α·batch_size) squared posterior widths: see Notes.

    Notes
    -----
    *Source:* conference paper, §§2–4; thesis §4.1.  *Cost:* a pass over the rows for the means, and
    n_steps mini-batches a chunk, for each particle.

    A chunk may arrive in parts: its rows weigh on the cloud at once, and particles move when it is
    complete, so the answer does not depend on how a stream is cut.

    *When not to use it.*  Nothing corrects a chain that is not where it should be.  The mean of few
    particles is too low (Jensen), by tens of nats if the rows of a chunk surprise the model, and then
    the reported error is too small as well: an :class:`EvidenceWarning` is given when the mean of a
    chunk rests on fewer than five particles.  With the published settings the evidence also drifts
    down as n grows, by about d/8 nats for each chunk of 500 once n is well over 2000, and the
    reported error, which is that of the particles' spread about each other, does not see it.  Where
    the posterior has several modes, as that of a mixture, a particle that is caught in a poor one
    counts as much as the others for ever: at 1000 rows the evidence came out 22 nats too low with five
    components, and 19 too high with two, whose modes predict better together than the best one
    alone.  :class:`SGAIS` does all of this better.

    References
    ----------
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), A Sequential Marginal Likelihood Approximation Using
    Stochastic Gradients, Proceedings 33, 18.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.samplers import SequentialSGMCMC
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of(X, 2 * X[:, 0])
    >>> result = SequentialSGMCMC().run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {
        "n_particles": [Interval(Integral, 2, None, closed="left")],
        "first_chunk": [Interval(Integral, 1, None, closed="left")],
        "growth": [Interval(Real, 0, None, closed="neither"), None],
        "chunk_size": [Interval(Integral, 1, None, closed="left")],
        "reservoir_size": [Interval(Integral, N_BLOCKS, None, closed="left"), None],
        "initial": [HasMethods("run"), None],
        "move": [HasMethods("along")],
    }

    def __init__(
        self,
        n_particles: int = 500,
        first_chunk: int = 1,
        growth: float | None = None,
        chunk_size: int = 500,
        reservoir_size: int | None = 100_000,
        *,
        initial: Any = None,
        move: Any = SGHMC(momentum_decay=0.4),  # noqa: B008  (each sampler gets its own: see Parts)
    ) -> None:
        self.n_particles = n_particles
        self.first_chunk = first_chunk
        self.growth = growth
        self.chunk_size = chunk_size
        self.reservoir_size = reservoir_size
        self.initial = initial
        self.move = self._own("move", move)

    @classmethod
    def paper(cls, initial: Any = None) -> "SequentialSGMCMC":
        """The published settings (conference paper, §4), nothing added.

        Parameters
        ----------
        initial : sampler or None, default=None
            ``NestedSampling.paper()`` for the published hybrid.

        Returns
        -------
        SequentialSGMCMC
            M = 10, chunks of 20 rows up to n = 80, of n/4 up to 2000 and of 500 from there, mini-batches
            of 500 from the whole history, lr = 0.1, α = 0.2, β̂ = 0, 20 steps, no preconditioner.
        """
        return cls(
            n_particles=10,
            first_chunk=20,
            growth=PUBLISHED_GROWTH,
            reservoir_size=None,
            initial=initial,
            move=SGHMC(preconditioner=None, control_variate=False),
        )

    def _init(self, model: Model, rng: np.random.Generator) -> SequentialState:
        M = self.n_particles
        theta = model.sample_prior(rng, M)
        return SequentialState(
            theta, Weights.ones(M), 0.0, np.zeros(M), 0.0, Memory.empty(self.reservoir_size)
        )

    def _update(
        self,
        state: SequentialState,
        model: Model,
        rows: Rows,
        rng: np.random.Generator,
        progress: Progress,
    ) -> tuple[SequentialState, list[ChunkRecord]]:
        """Absorb rows, chunk by chunk."""
        self._validate_params()
        streams, records = Streams.one(rng), []
        growth = min(PUBLISHED_GROWTH, 1 / model.n_params) if self.growth is None else self.growth
        start = 0 if self.initial is None else 100  # rows whose evidence ``initial`` gives, as published
        last = state.n + rows.total_weight
        edges = chunk_edges(start, last, self.first_chunk, growth, self.chunk_size) - 1e-9
        for piece in rows.cut(edges - state.n):
            before = state
            state, words = self._weighed(state, model, piece, rng)
            if np.any((edges > before.memory.n) & (edges <= state.n)):
                state, more = self._moved(state, model, streams)
                words |= more
            records.append(state.record(before, words))
            progress.chunk(records[-1], before.n_rows, is_small=True)
        return state, records

    def _own_doubts(self, state: SequentialState, records: list[ChunkRecord]) -> list[str]:
        # A chunk whose mean rests on fewer particles is too low by more than 1/(2·5), 0.1 nats
        if min((r.ess for r in records), default=np.inf) >= 5.0:
            return []
        return [
            "the mean predictive of a chunk rests on fewer than five particles, so the log evidence is too "
            "low, by more than its reported error: raise n_particles, lower first_chunk and "
            "growth, or give an initial sampler"
        ]

    def _weighed(
        self, state: SequentialState, model: Model, piece: Rows, rng: np.random.Generator
    ) -> tuple[SequentialState, dict[str, Any]]:
        """The terms of Eq. (4.4), or the answer of ``initial`` while there are few rows; and what it took."""
        pending = piece.copy() if state.pending is None else state.pending.join(piece)
        if self.initial is not None and state.memory.n_rows == 0:
            result = self.initial.run(model, pending, rng)
            state = state._replace(
                theta=result.theta[systematic(result.weights, rng, self.n_particles)],
                log_Z=result.log_evidence,
                initial_var=result.log_evidence_std**2,
                pending=pending,
            )
            return state, dict(n_likelihoods=result.n_likelihoods, n_gradients=result.n_gradients)
        weights = state.weights.add(model.sum_log_likelihood(state.theta, piece))
        M, path = self.n_particles, Path(model, state.memory, pending)
        check_likelihood(weights.log_w, Cloud.planted(state.theta), path)
        words = dict(
            n_likelihoods=float(M * len(piece)), ess=weights.ess, lambdas=np.ones(1), n_annealing_steps=1
        )
        return state._replace(weights=weights, pending=pending), words

    def _moved(
        self, state: SequentialState, model: Model, rng: Streams
    ) -> tuple[SequentialState, dict[str, Any]]:
        """From p(θ | y_<n) to p(θ | y_≤n), and the chunk becomes history; and what it took."""
        assert state.pending is not None  # a chunk is complete
        path = Path(model, state.memory, state.pending)
        move = self.move.along(path, rng)
        cloud = Cloud(state.theta, state.weights, 0.0, Genealogy.planted(self.n_particles))
        moved = move(state.theta, 1.0, move.coordinates(cloud, 1.0), Adaptation())
        after = state._replace(
            theta=moved.theta,
            weights=Weights.ones(self.n_particles),
            log_Z=state.log_evidence,
            deviation=state.deviations,
            pending=None,
        )
        anchor, labels = None, None
        if self.move.needs_anchor:
            after, anchor, labels = after.anchored(path, rng)
        words = dict(
            n_moves=1,
            n_refused=moved.n_refused,
            n_gradients=moved.n_gradients,
            acceptance=moved.acceptance,
            noise_to_injection=moved.noise_to_injection,
        )
        influence = None if anchor is None else Influence(model, anchor.a, after.theta[:N_INFLUENCE_DRAWS])
        memory = state.memory.absorb(path.chunk, rng.rows, anchor, labels, influence=influence)
        return after._replace(memory=memory), words

    def _validate_params(self) -> None:
        super()._validate_params()
        check_history(self.move, self.reservoir_size)
