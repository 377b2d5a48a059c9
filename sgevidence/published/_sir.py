r"""Sequential importance resampling by data tempering, thesis Alg. 7 (Chopin 2002).

The particles go through the posteriors p(θ | y_≤n) as rows come, each chunk at its full weight, and are
moved by HMC on all rows seen,

    U_n(θ) = − Σ_{k≤n} log p(y_k | θ) − log p(θ).                                 (3.54)

Symbols
-------
=======  ==================  ====================================================
θ_i      ``theta``           particles, (M, d)
w_i      ``cloud.weights``   their weights since the last resampling
y_n      ``piece``           the rows of one step
ℓ_i      ``ell``             log p(y_n | θ_i)
=======  ==================  ====================================================
"""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._compat import HasMethods, Interval
from ..history import Memory, Rows
from ..models import Model
from ..particles import Cloud, systematic
from ..samplers import ChunkRecord, OnlineSampler, Parts, Progress, pieces
from ..targets import Path
from ..transitions import HMC, Anneal, Rung, State, Step, Streams


class SIR(Parts, OnlineSampler):
    """Sequential importance resampling (thesis Alg. 7): evidence by Bayesian updating, with HMC on all rows.

    Parameters
    ----------
    n_particles : int, default=1000
        M, constant.  The standard error falls as 1/√M.
    target_ess : float, default=0.5
        Resample when the effective sample size falls below this fraction of M: the resampling criterion
        that Alg. 7 leaves open.
    chunk_size : int or None, default=None
        Rows weighted at a time (``sample_weight`` counts); None: as many as were seen before, from 100.
    move : HMC, default=HMC()
        How particles move on all rows seen.

    Notes
    -----
    A chunk that would leave an effective sample size of less than half of the target is cut in two until it
    does not, or until it is one row.  A single row (or one with a large weight) that is still too much is let
    in by powers of its likelihood, as :class:`SGAIS` does with any chunk.

    All rows are kept in memory.  Ẑ is unbiased but for what is adapted to the particles (cuts, resampling,
    step sizes), which is of the order of 1/M.  The standard error is that of the ancestors' shares.

    *Source*: thesis §3.4, Alg. 7; Chopin (2002).

    *Cost*: each chunk takes some 10 to 50 gradients of *all rows seen* for M particles: with chunks that
    double that is linear in the rows, with chunks of constant size quadratic.

    *When not to use it*: for streams that do not end, or in small chunks; and for data whose rows jump to
    another regime, where SGAIS anneals and this does not.

    References
    ----------
    N. Chopin (2002), A sequential particle filter method for static models, Biometrika 89, 539.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.samplers import SIR
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of(X, 2 * X[:, 0])
    >>> result = SIR().run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {
        "n_particles": [Interval(Integral, 2, None, closed="left")],
        "target_ess": [Interval(Real, 0, 1, closed="neither")],
        "chunk_size": [Interval(Integral, 1, None, closed="left"), None],
        "move": [HasMethods(["along"])],
    }

    def __init__(
        self,
        n_particles: int = 1000,
        target_ess: float = 0.5,
        chunk_size: int | None = None,
        move: Any = HMC(),  # noqa: B008  (each sampler gets its own: see Parts)
    ) -> None:
        self.n_particles = n_particles
        self.target_ess = target_ess
        self.chunk_size = chunk_size
        self.move = self._own("move", move)

    def _init(self, model: Model, rng: np.random.Generator) -> State:
        return State(Cloud.planted(model.sample_prior(rng, self.n_particles)), Memory.empty())

    def _update(
        self, state: State, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress
    ) -> tuple[State, list[ChunkRecord]]:
        """Absorb rows, chunk by chunk (Alg. 7, line 3)."""
        self._validate_params()
        records = []
        for step, before, _ in self.steps(state, model, rows, rng):
            state = step.state
            records.append(ChunkRecord.of(before, state, [step.info]))
            progress.chunk(records[-1], before.n_rows, is_small=True)
        return state, records

    def steps(
        self,
        state: State,
        model: Model,
        rows: Rows,
        rng: np.random.Generator,
        watch: Callable[[Rung], Any] | None = None,
    ) -> Iterator[tuple[Step, State, Rows]]:
        """Each piece, cut until its weights are even enough, with the state before it.

        Parameters
        ----------
        state : State
        model : Model
        rows : Rows
        rng : numpy.random.Generator
        watch : callable, optional
            Called with each :class:`~sgevidence.transitions.Rung`.

        Yields
        ------
        step : Step
        before : State
        piece : Rows
        """
        streams = Streams.spawned(rng)
        anneal = Anneal(
            self.move,
            self.target_ess,
            systematic,
            n_particles=lambda n: self.n_particles,
            schedule=np.ones(1),
            last_move=True,
            watch=watch,
        )
        queue = list(pieces(rows, state.n, self.chunk_size, False, streams.rows))
        while queue:
            before, piece, cost = state, queue.pop(0), 0.0
            while True:
                ell = model.sum_log_likelihood(state.theta, piece)
                cost += len(ell) * len(piece)
                weights = state.cloud.weights.add(ell)  # Alg. 7, line 4
                if len(piece) == 1 or weights.ess >= 0.5 * self.target_ess * len(ell):
                    break
                half = len(piece) // 2
                piece, rest = piece[:half], piece[half:]
                queue.insert(0, rest)
            path = Path(model, state.memory, piece)
            too_much = weights.ess < 0.5 * self.target_ess * len(ell)  # a single row: let in by powers
            way = anneal._replace(schedule=None) if too_much else anneal
            step = way(state._replace(ell=ell), path, streams)  # lines 5 to 9
            memory = state.memory.absorb(piece, streams.rows)
            info = step.info._replace(n_likelihoods=cost)
            step = step._replace(state=step.state._replace(memory=memory), info=info)
            yield step, before, piece
            state = step.state
