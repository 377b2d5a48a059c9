"""Stochastic gradient annealed importance sampling, thesis Alg. 8 (Cameron, Eggers and Kroon 2019).

Every chunk of rows is annealed from the posterior of the rows before it, and the particles follow
its tempered posteriors

    log f(θ) = λ log p(y_n | θ) + log L_hist(θ) + log p(θ),                      (4.12)

as published by SGHMC with mini-batches of the rows before (Eq. 4.14).  The loop itself is
:class:`~sgevidence.transitions.Anneal`.  The default tries cheaper transitions first: a density that covers
the posterior (``FromProposal``), weights alone (``Reweight``), densities at the modes that the particles know
(``FromModes``).  Then modes that the particles have missed are looked for (``MissedModes``).

Symbols
-------
=======  ================  ==========================================================
θ_i      ``cloud.theta``   particles, (M, d)
Ẑ        ``log_evidence``  log of the mean weight, resamplings included
y_n      ``path.chunk``    the rows to absorb
n        ``path.n``        rows seen, by total weight
M(n)     ``_particles``    particles after n rows
=======  ================  ==========================================================

**A model** has a general answer, an answer of its own, or none, and is annealed.  **The schedule** says how
many rows are annealed at a time, and by how many particles.

Symbols: ``n`` = rows seen, by total weight; ``M(n)`` = particles after n rows; ``K, d`` = exchangeable
components and parameters of the model.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._compat import HasMethods, Interval, StrOptions
from ..answers import TOLERANCE_NATS, Answers, proposal
from ..exceptions import ImpossibleRowsError
from ..history import N_BLOCKS, FoldedRows, Memory, Rows
from ..models import Model
from ..particles import RESAMPLING
from ..transitions import (
    HMC,
    SGHMC,
    Anneal,
    Crossing,
    FromProposal,
    ModeSearch,
    PriorCloud,
    Proposal,
    State,
    Streams,
    check_rows,
)
from ._base import OnlineSampler, Parts, Progress, check_history, rung_of
from ._records import ChunkRecord, WaitingRecord

#: Growth of the rows since a model's own answer was asked, from which it is asked first: it finds modes of
#: which no particle knows.
PROPOSAL_ROW_GROWTH = 1.25
#: Tolerance, nats, from which N_ROUGH_DRAWS draws of a posterior that is not annealed suffice.
ROUGH_NATS, N_ROUGH_DRAWS = 0.3, 200


def crossing_of(
    model: Model,
    anneal: Anneal,
    may_search: bool,
    may_answer: bool,
    tolerance: float = TOLERANCE_NATS,
) -> Crossing:
    """The ways across a chunk that a model has, to an error of the log evidence in nats."""
    way = from_all_rows(model, anneal.n_particles, tolerance) if may_answer else None
    return Crossing(anneal, may_search, way, model.anchors_early or not isinstance(anneal.move, HMC))


def from_all_rows(model: Model, n_particles: Callable[[float], int], tolerance: float) -> FromProposal:
    """The transition that answers for all rows of a model at once.

    Where the evidence is wanted roughly, as of a model that a search is about to leave, so are the draws.
    """
    answers = answers_of(model, tolerance)
    M = n_particles if tolerance < ROUGH_NATS else lambda n: min(n_particles(n), N_ROUGH_DRAWS)
    growth = PROPOSAL_ROW_GROWTH if answers is not None and answers is model.own_answer else np.inf
    return FromProposal(M, answers, growth, tolerance)


def answers_of(model: Model, tolerance: float = TOLERANCE_NATS) -> Answers | None:
    """The function that answers for a model; None if it has to be annealed."""
    return proposal(model, tolerance) or model.own_answer


def first_state(
    crossing: Crossing, state: State, model: Model, rows: Rows, rng: Streams
) -> tuple[State, list[Any], Rows]:
    """The state after as many of the first rows as have an answer, what happened, and the rows that are left.

    Particles that start from an answer have lost no group of it, as they may on the way from the prior.
    """
    n = affordable_rows(model, rows) if crossing.from_all_rows is not None and not state.n_rows else 0
    if not n:
        return state, [], rows
    order = rng.rows.permutation(len(rows))
    state, infos = crossing.at_once(state, model, rows.take(np.sort(order[:n])), rng)
    return state, infos, rows.take(np.sort(order[n:])) if infos else rows


def affordable_rows(model: Model, rows: Rows) -> int:
    """How many of the rows would have an answer, 0 where none would; by halves, as rows may have weights."""
    n = len(rows) if answers_of(model) is model.own_answer else 0
    while n and not model.is_affordable(rows[:n]):
        n //= 2
    return n


#: Parts that do not go with accumulated weights.
ALONE = (
    "resampling=None, the published form in which weights accumulate, goes with mode_search=None and "
    "proposal=None"
)


class SGAIS(Parts, OnlineSampler):
    """Stochastic gradient annealed importance sampling (thesis Alg. 8).

    Parameters
    ----------
    n_particles : int, default=100
        A quarter of the number of particles after many rows, and the least number of any cloud.
        The standard error of the log evidence falls as 1/√M.
    max_particles : int or None, default=None
        Number of particles for the first rows, from which most of the error comes.  None: 2000 for
        regressions and custom models, 16 000/d between 400 and 1000 for mixtures with K <= 2, otherwise
        16 d K between 1500 and 3000; less in proportion if ``n_particles`` is below 100.
    target_ess : float, default=0.5
        Effective sample size to keep at each annealing step, as a fraction of M (Eq. 4.15).
    chunk_size : int or None, default=None
        Rows annealed at a time, in order.  None: as many as were seen before, from 100, and those of one
        call in random order: data sorted by class would first teach the particles one class.  Within a
        call the path is then that of random subsets.
    resampling : {"systematic", "multinomial"} or None, default="systematic"
        With None the weights accumulate, as published: the number of particles is constant, every
        annealing step is followed by a move, and ``mode_search`` and ``proposal`` must be None.
    reservoir_size : int or None, default=100000
        Number of past rows that are kept, a uniform sample of all; None keeps all.  Until it is full nothing
        is approximated.  Rows of high leverage, such as the only ten in which a column is not zero, are kept
        beside the sample, at most a twentieth of its size.  A sample whose noise spreads the particles by
        more than half a nat grows, up to ten times.  At least 16, since the noise is measured on 16 parts.
        Linear regressions and mixtures of one component need no sample (:meth:`Model.sums`).
    move : HMC, SGHMC or SGNHT, default=HMC()
        How particles move between annealing steps.
    mode_search : ModeSearch or None, default=ModeSearch()
        Looks for modes of a custom model that the particles have missed, and takes their evidence from
        importance sampling around them where that is the better estimate.  None does not.
    proposal : Proposal or None, default=Proposal()
        Takes evidence and particles from a density that covers the posterior, where the model knows one:
        linear regressions and mixtures of one component are exact, softmax and generalised linear ones
        answer from a Gaussian or Student t at their mode, other mixtures from strata, custom models by boxes
        or a survey of their prior; others are annealed.
        None anneals: then a mixture may be left with two groups in one component, hundreds of nats low
        without a sign of it.
    tolerance : float, default=0.03
        Standard error of the log evidence, nats, at which engines stop: 0.03 is three per cent of a Bayes
        factor.  Regressions take fewer or more draws for it, and a stream looks at all rows again when its
        particles know less; more draws than 0.03 may ask for are not taken, so that a smaller tolerance may
        be missed, which ``log_evidence_std_`` says.  Closed forms are exact; what is annealed, mixtures and
        models with groups or of one's own have a price that the tolerance does not change:
        :class:`UntilPrecise` repeats them.  From 0.3 nats on, answers come with 200 draws at most.

    Raises
    ------
    ValueError
        When it is used with parameters that do not go together.

    Notes
    -----
    The published settings are :meth:`paper`.  Memory is bounded by the reservoir and the cloud, and a
    call costs the same however many rows came before.  At most half a reservoir of rows waits to be
    absorbed; they weigh on the particles at once.

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
    >>> SGAIS().run(model, rows, np.random.default_rng(0)).log_evidence == model.exact_log_evidence(rows)
    True
    >>> annealed = SGAIS(n_particles=500, proposal=None)
    >>> result = annealed.run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {
        "n_particles": [Interval(Integral, 2, None, closed="left")],
        "max_particles": [Interval(Integral, 2, None, closed="left"), None],
        "target_ess": [Interval(Real, 0, 1, closed="neither")],
        "chunk_size": [Interval(Integral, 1, None, closed="left"), None],
        "resampling": [StrOptions(set(RESAMPLING)), None],
        "reservoir_size": [Interval(Integral, N_BLOCKS, None, closed="left"), None],
        "move": [HasMethods(["along"])],
        "mode_search": [ModeSearch, None],
        "proposal": [Proposal, None],
        "tolerance": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_particles: int = 100,
        max_particles: int | None = None,
        target_ess: float = 0.5,
        chunk_size: int | None = None,
        resampling: str | None = "systematic",
        reservoir_size: int | None = 100_000,
        move: Any = HMC(),  # noqa: B008  (each sampler gets its own: see Parts)
        mode_search: ModeSearch | None = ModeSearch(),  # noqa: B008
        proposal: Proposal | None = Proposal(),  # noqa: B008
        tolerance: float = 0.03,
    ) -> None:
        self.n_particles = n_particles
        self.max_particles = max_particles
        self.target_ess = target_ess
        self.chunk_size = chunk_size
        self.resampling = resampling
        self.reservoir_size = reservoir_size
        self.move = self._own("move", move)
        self.mode_search = self._own("mode_search", mode_search)
        self.proposal = self._own("proposal", proposal)
        self.tolerance = tolerance

    @classmethod
    def paper(cls) -> "SGAIS":
        """The published settings (thesis §5.1.1), nothing added.

        Returns
        -------
        SGAIS
            M = 10, ESS* = 5, chunks and mini-batches of 500 from the whole history, lr = 0.1, α = 0.2,
            β̂ = 0, 20 steps, no resampling, no preconditioner.
        """
        return cls(
            n_particles=10,
            chunk_size=500,
            resampling=None,
            reservoir_size=None,
            move=SGHMC(preconditioner=None, control_variate=False),
            mode_search=None,
            proposal=None,
        )

    @property
    def takes_folded_rows(self) -> bool:
        """Whether ``update`` takes rows that nobody holds, of which sums are asked."""
        return None not in (self.proposal, self.reservoir_size, self.resampling) and self.chunk_size is None

    def _init(self, model: Model, rng: np.random.Generator) -> State:
        size = self.reservoir_size
        memory = Memory.empty(size, None if size is None else 10 * size)
        return State(PriorCloud(model, deepcopy(rng), self._particles(model, 0.0)), memory)  # type: ignore

    def _update(
        self, state: State, model: Model, rows: Any, rng: np.random.Generator, progress: Progress
    ) -> tuple[State, list[ChunkRecord]]:
        """Absorb rows, chunk by chunk (Alg. 8, line 3)."""
        check_history(self.move, self.reservoir_size)  # the rest was looked at by init
        streams, before = Streams.spawned(rng), state
        records: list[Any] = []
        try:
            for after, infos in self._steps(state, model, rows, streams, progress):
                record_of = WaitingRecord if after.waits else ChunkRecord.of
                records.append(record_of(before, after, tuple(infos)))
                progress.chunk(records[-1], before.n_rows)
                before = after
        except ImpossibleRowsError:  # of the first piece that has any: those of all pieces are wanted
            check_rows(rows, state, state.path(model, rows))
            raise
        return before, records

    def _steps(self, state: State, model: Model, rows: Any, rng: Streams, progress: Progress) -> Iterator:
        """States after each piece of the rows, and what happened on the way to them."""
        scheme = None if self.resampling is None else RESAMPLING[self.resampling]
        M = partial(self._particles, model)
        anneal = Anneal(
            self.move, self.target_ess, scheme, M, last_move=scheme is None, watch=rung_of(progress)
        )
        crossing = crossing_of(
            model, anneal, self.mode_search is not None, self.proposal is not None, self.tolerance
        )
        n_rows = state.n_rows + len(rows)
        if self.chunk_size is None:
            way = crossing.of_folds if isinstance(rows, FoldedRows) else crossing.at_once
            state, infos = way(state, model, rows, rng)
            if infos:
                yield self._thinned(state, model, rng), infos
                return
            state, infos, rows = first_state(crossing, state, model, rows, rng)
            yield from [(state, infos)] if infos else []
        shuffle = self.chunk_size is None
        for piece in pieces(rows, state.n, self.chunk_size, shuffle, rng.rows, progress.expect):
            path, is_last = state.path(model, piece), state.n_rows + len(piece) == n_rows
            state, infos = crossing(state, path, rng, is_last)
            state = self._thinned(state, model, rng)
            yield state, infos

    def _thinned(self, state: State, model: Model, rng: Streams) -> State:
        """The state without particles that are not needed any more."""
        M = self._particles(model, state.n)
        if self.resampling is None or state.pending is not None or 2 * M > state.cloud.M:
            return state
        # Weights are nearly equal: no duplicates to move apart.  Where modes differ roots tell who lost one.
        is_safe = model.has_one_mode and model.slots is None
        fewer = state.cloud.thinned if is_safe else state.cloud.resampled
        return state._replace(cloud=fewer(RESAMPLING[self.resampling], M, rng.resampling))

    def _particles(self, model: Model, n: float) -> int:
        """M(n); without resampling it cannot change."""
        if self.resampling is None:
            return self.n_particles
        return particles(model, n, self.n_particles, self.max_particles)

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.resampling is None and (self.mode_search or self.proposal):
            raise ValueError(ALONE)
        check_history(self.move, self.reservoir_size)


FIRST_CHUNK_ROWS = 100
#: Particles of a regression while the rows are few, by default.
PARTICLES = 2000


def particles_of_mixture(K: int, d: int) -> int:
    """Particles of a mixture: more where modes have to be told apart.

    Fits of one or two components must be fast, also in many columns.
    """
    return int(np.clip(16_000 / d, 400, 1000) if K <= 2 else np.clip(16 * d * K, 1500, 3000))


#: Rows up to which all of them are used; then their number falls as 1/√n.
PLENTY_UNTIL = 250


def pieces(
    rows: Rows,
    n: float,
    chunk_size: int | None,
    shuffle: bool,
    rng: np.random.Generator,
    expect: Callable[[int], Any] = lambda n_pieces: None,
) -> Iterator[Rows]:
    """Rows in pieces of chunk_size, or in pieces that double the rows seen, from 100, in random order.

    ``expect`` is told how many pieces there are.

    Under the model the rows are exchangeable; data sorted by class are not, and particles that have
    learnt one class from the first hundred rows would have to unlearn it.
    """
    if chunk_size is not None:
        expect(int(np.ceil(rows.total_weight / chunk_size)))
        yield from rows.chunks(chunk_size)
        return
    last = n + rows.total_weight
    edges = FIRST_CHUNK_ROWS * 2.0 ** np.arange(np.ceil(np.log2(max(last / FIRST_CHUNK_ROWS, 1.0))))
    in_order = list(rows.cut(edges - n))
    expect(len(in_order))
    if not shuffle or len(in_order) == 1:
        yield from in_order
        return
    cuts = np.cumsum([len(piece) for piece in in_order])[:-1]
    for indices in np.split(rng.permutation(len(rows)), cuts):
        yield rows.take(np.sort(indices))


def particles(model: Model, n: float, n_particles: int, max_particles: int | None) -> int:
    """M(n): early rows are cheap, and most of the variance is made there."""
    most = max_particles
    if most is None:
        most = PARTICLES if model.slots is None else particles_of_mixture(len(model.slots), model.n_params)
        most = max(n_particles, int(most * min(n_particles / 100, 1.0)))
    M = max(4 * n_particles, most * (PLENTY_UNTIL / max(n, PLENTY_UNTIL)) ** 0.5)
    return max(n_particles, min(int(M), most))


def chunk_edges(start: float, last: float, first: int, growth: float, most: int) -> np.ndarray:
    """Rows at which chunks are complete: ``first`` more, later ``growth`` times those seen, to ``most``."""
    edges = [float(start)]
    while edges[-1] <= last and max(first, growth * edges[-1]) < most:
        edges.append(edges[-1] + max(first, np.floor(growth * edges[-1])))
    return np.r_[edges, np.arange(edges[-1] + most, last + most, most)]
