r"""Sequential evidence by stochastic gradient MCMC, thesis §4.1 (Cameron, Eggers and Kroon 2019, conference).

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
"""

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ..exceptions import EvidenceWarning
from ..history import Anchor, Reservoir, Rows
from ..particles import Weights, systematic
from ._base import SILENT, OnlineSampler
from ._escort import STRAY, anchored_at_mode
from ._moves import AnchoredGradientMoves, StochasticGradientMoves
from ._preconditioner import curvature_coordinates
from ._records import Tally
from ._state import Streams, anchor_distance, check_likelihood

#: Rows whose evidence ``initial`` gives, as published.
INITIAL_ROWS = 100
#: Growth of the chunks as published, n/4; with more than four parameters the default is 1/d.
GROWTH = 0.25
#: A chunk whose mean rests on fewer particles is too low by more than 1/(2·5), 0.1 nats.
FEW = 5.0


class SequentialState(NamedTuple):
    """Everything the next rows need; a value, never changed in place."""

    theta: np.ndarray  #: draws from the posterior of the rows in ``history``
    weights: Weights  #: likelihood of the rows in ``pending``
    log_Z: float
    deviation: np.ndarray  #: U_i, (M,)
    initial_var: float  #: variance of log Ẑ from ``initial``
    history: Reservoir
    pending: Rows | None = None  #: the chunk that is not yet complete
    anchor: Anchor | None = None  #: sums over the history at one point
    reference: tuple | None = None  #: slots of its labelling

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.history.n_rows + (0 if self.pending is None else len(self.pending))

    @property
    def n(self) -> float:
        """Their total weight."""
        return self.history.n + (0.0 if self.pending is None else self.pending.total_weight)

    @property
    def all_weights(self) -> Weights:
        """Weights of the cloud as a sample of the posterior of all rows seen."""
        return self.weights

    @property
    def log_evidence(self) -> float:
        """Of all rows seen, nats."""
        return self.log_Z + self.weights.log_mean

    @property
    def deviations(self) -> np.ndarray:
        """U_i with the chunk that is coming in."""
        return self.deviation + self.weights.M * self.weights.W - 1.0

    @property
    def log_evidence_std(self) -> float:
        """From the spread of U_i, nats."""
        M = self.weights.M
        return float(np.sqrt(self.initial_var + np.sum(self.deviations**2) / (M * (M - 1))))


class SequentialSGMCMC(OnlineSampler):
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
    batch_size : int, default=500
        Rows of a mini-batch.
    learning_rate : float, default=0.1
        Of SGHMC: η = lr/n, or with a preconditioner the squared step in posterior widths.
    momentum_decay : float, default=0.4
        α of SGHMC.  With steps of √0.1 it leaves a hundredth of the start after 20 steps; 0.2, as
        published, leaves a tenth, and the evidence of 200 rows is then off by 0.2 nats.
    gradient_noise : float, default=0.0
        β̂ of SGHMC without control variates; with them it is measured.
    n_steps : int, default=20
        SGHMC steps after each chunk.
    preconditioner : {"curvature"} or None, default="curvature"
        Coordinates of unit posterior width.
    reservoir_size : int or None, default=100000
        Rows of the past to keep; None keeps all.
    initial : sampler or None, default=None
        Whose evidence of the first 100 rows takes the place of the first terms, and whose posterior
        draws the chains start from: the hybrid of §5.3.  Any object with ``run``, such as
        ``NestedSampling()``.  While there are fewer rows, it is run anew at each call.
    kernel : {"sghmc", "sgnht"}, default="sghmc"
    control_variate : bool, default=True
        Mini-batches see only what anchored sums over all rows leave out.  Without, their noise moves
        the cloud as a whole, by about n·lr/(4α·batch_size) squared posterior widths: see Notes.

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
    >>> from sgevidence import SequentialSGMCMC
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
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "momentum_decay": [Interval(Real, 0, 1, closed="right")],
        "gradient_noise": [Interval(Real, 0, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "preconditioner": [StrOptions({"curvature"}), None],
        "reservoir_size": [Interval(Integral, 1, None, closed="left"), None],
        "initial": [HasMethods("run"), None],
        "kernel": [StrOptions({"sghmc", "sgnht"})],
        "control_variate": ["boolean"],
    }

    def __init__(
        self,
        n_particles=500,
        first_chunk=1,
        growth=None,
        chunk_size=500,
        batch_size=500,
        learning_rate=0.1,
        momentum_decay=0.4,
        gradient_noise=0.0,
        n_steps=20,
        preconditioner="curvature",
        reservoir_size=100_000,
        *,
        initial=None,
        kernel="sghmc",
        control_variate=True,
    ):
        self.n_particles = n_particles
        self.first_chunk = first_chunk
        self.growth = growth
        self.chunk_size = chunk_size
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum_decay = momentum_decay
        self.gradient_noise = gradient_noise
        self.n_steps = n_steps
        self.preconditioner = preconditioner
        self.reservoir_size = reservoir_size
        self.initial = initial
        self.kernel = kernel
        self.control_variate = control_variate

    @classmethod
    def paper(cls, initial=None) -> "SequentialSGMCMC":
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
            growth=GROWTH,
            momentum_decay=0.2,
            preconditioner=None,
            reservoir_size=None,
            initial=initial,
            control_variate=False,
        )

    def init(self, model, rng: np.random.Generator) -> SequentialState:
        """M particles from the prior.

        Parameters
        ----------
        model : Model
        rng : numpy.random.Generator

        Returns
        -------
        SequentialState
        """
        self._validate_params()
        M = self.n_particles
        theta = model.sample_prior(rng, M)
        return SequentialState(theta, Weights.ones(M), 0.0, np.zeros(M), 0.0, Reservoir(self.reservoir_size))

    def update(self, state: SequentialState, model, rows, rng: np.random.Generator, progress=SILENT):
        """Absorb rows, chunk by chunk.

        Parameters
        ----------
        state : SequentialState
            Not changed.
        model : Model
        rows : Rows
        rng : numpy.random.Generator
            Drawn from only when a chunk is complete.
        progress : Progress, optional

        Returns
        -------
        state : SequentialState
        records : list of ChunkRecord

        Raises
        ------
        DivergenceError
            If SGHMC leaves the region where the model can be evaluated.
        ValueError
            If rows are impossible under every particle.
        """
        self._validate_params()
        streams, records = Streams(rng, rng, rng), []
        edges = self._edges(model.n_params, state.n + rows.total_weight) - 1e-9
        for piece in rows.cut(edges - state.n):
            before, tally = state, Tally(self.n_particles)
            state = self._weighed(state, model, piece, rng, tally)
            if np.any((edges > before.history.n) & (edges <= state.n)):
                state = self._moved(state, model, streams, tally)
            records.append(tally.record(before, state))
            progress(
                f"{state.n_rows} rows, log evidence {state.log_evidence:.2f} ± {state.log_evidence_std:.2f}"
            )
        if min((r.ess for r in records), default=np.inf) < FEW:
            warnings.warn(
                "the mean predictive of a chunk rests on fewer than five particles, so the log evidence is "
                "too low, by more than its reported error: raise n_particles, lower first_chunk and growth, "
                "or give an initial sampler",
                EvidenceWarning,
                stacklevel=2,
            )
        return state, records

    def _edges(self, d, last) -> np.ndarray:
        """Row counts at which a chunk is complete."""
        growth = min(GROWTH, 1 / d) if self.growth is None else self.growth
        edges = [0.0 if self.initial is None else float(INITIAL_ROWS)]
        while edges[-1] <= last and max(self.first_chunk, growth * edges[-1]) < self.chunk_size:
            edges.append(edges[-1] + max(self.first_chunk, np.floor(growth * edges[-1])))
        return np.r_[edges, np.arange(edges[-1] + self.chunk_size, last + self.chunk_size, self.chunk_size)]

    def _weighed(self, state, model, piece, rng, tally):
        """The terms of Eq. (4.4), or the answer of ``initial`` while there are few rows."""
        pending = piece if state.pending is None else state.pending.join(piece)
        if self.initial is not None and state.history.rows is None:
            result = self.initial.run(model, pending, rng)
            tally.n_likelihoods, tally.n_gradients = result.n_likelihoods, result.n_gradients
            return state._replace(
                theta=result.theta[systematic(result.weights, rng, self.n_particles)],
                log_Z=result.log_evidence,
                initial_var=result.log_evidence_std**2,
                pending=pending,
            )
        log_p = state.weights.log_w + model.sum_log_likelihood(state.theta, piece)
        check_likelihood(log_p, state, model, pending)
        tally.n_likelihoods += len(state.theta) * len(piece)
        tally.weighted(Weights(log_p), 1.0)
        return state._replace(weights=Weights(log_p), pending=pending)

    def _moved(self, state, model, rng, tally):
        """From p(θ | y_<n) to p(θ | y_≤n), and the chunk becomes history."""
        chunk, coordinates = state.pending, None
        moves = AnchoredGradientMoves if self.control_variate else StochasticGradientMoves
        move = moves(state, model, chunk, self, rng)
        if self.preconditioner is not None:
            coordinates = curvature_coordinates(move.target(1.0), state.theta, state.weights.W)
        state = move(state, 1.0, coordinates, tally)._replace(
            weights=Weights.ones(len(state.theta)),
            log_Z=state.log_evidence,
            deviation=state.deviations,
            pending=None,
        )
        if self.control_variate:
            state = self._anchored(state, model, chunk, rng)
        return state._replace(history=state.history.absorb(chunk, rng.rows))

    def _anchored(self, state, model, chunk, rng):
        """Sums over history and chunk, at the old anchor while the cloud is near it, else near the mode."""
        if state.anchor is not None:
            theta = model.canonicalize(state.theta, state.reference)
            sums = state.anchor.plus(Anchor.of(model, state.anchor.a, chunk))
            near = state._replace(theta=theta, anchor=sums)
            if anchor_distance(near) ** 2 < STRAY:
                return near
        reference = model.slot_reference(state.theta)
        theta = model.canonicalize(state.theta, reference)
        _, anchor = anchored_at_mode(model, theta.mean(axis=0), state.history, state.anchor, chunk, rng.rows)
        return state._replace(theta=theta, reference=reference, anchor=anchor)
