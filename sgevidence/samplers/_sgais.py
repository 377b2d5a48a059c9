r"""Stochastic gradient annealed importance sampling, thesis Alg. 8 (Cameron, Eggers and Kroon 2019).

Every chunk of rows is annealed from the posterior of the rows before it, and the particles follow
its tempered posteriors

    log f(θ) = λ log p(y_n | θ) + log L_hist(θ) + log p(θ),                      (4.12)

as published by SGHMC with mini-batches of the rows before (Eq. 4.14).  To the published loop the
default adds three things, each with a switch: it moves the particles only when the weights ask for
it (``lazy``); it carries them along with a posterior that is nearly Gaussian (``escort``); and what
it no longer holds of the history it remembers as sums about an anchor (``control_variate``).

Symbols
-------
=======  ====================  ==========================================================
θ_i      ``theta``             particles, (M, d)
w_i      ``state.weights``     their weights since the last resampling
Ẑ        ``state.log_Z``       log of the mean weights folded in at resamplings
y_n      ``chunk``             the rows to absorb
ℓ_i      ``ell``               log p(y_n | θ_i)
λ, Δ     ``lam, delta``        annealing parameter and its step
n        ``n``                 rows seen, by total weight
M(n)     ``_particles``        particles after n rows
=======  ====================  ==========================================================
"""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..exceptions import DivergenceError
from ..history import Reservoir
from ..particles import RESAMPLING, Genealogy, Weights, next_step
from ._base import SILENT, OnlineSampler
from ._escort import anchored_at_mode, escort
from ._modes import find_modes, jumped, missed_by, renewed
from ._monitor import TOO_NOISY
from ._moves import AnchoredGradientMoves, ExactMoves, StochasticGradientMoves
from ._preconditioner import curvature_coordinates
from ._records import Tally
from ._schedule import particles, pieces, worth_a_search
from ._state import SGAISState, Streams, check_likelihood, resample

#: What an escort must leave of the effective sample size to show a posterior to be Gaussian: then fewer
#: particles will do.
EVEN = 0.9

#: A chunk of 10⁶ nats takes about 500 annealing steps; ten times as many mean that it goes nowhere.
MAX_ANNEALING_STEPS = 5000


class SGAIS(OnlineSampler):
    """Stochastic gradient annealed importance sampling (thesis Alg. 8).

    Parameters
    ----------
    n_particles : int, default=100
        M once the rows are many and escorts carry the cloud; four times as many while it has to be
        annealed.  The standard error of the log evidence falls as 1/√M.
    target_ess : float, default=0.5
        Effective sample size to keep at each annealing step, as a fraction of M (Eq. 4.15).
    chunk_size : int or None, default=None
        Rows annealed at a time; None: as many as were seen before, from 100.
    batch_size : int, default=500
        Rows per mini-batch of SGHMC, drawn i.i.d., anew at each step.
    learning_rate : float, default=0.1
        Of SGHMC, per observation: η = lr/n.  With a preconditioner, lr is the squared step in posterior
        widths.
    momentum_decay : float, default=0.2
        α of SGHMC.
    gradient_noise : float, default=0.0
        β̂ of SGHMC without control variates, ½·Var[∇Û]; with them it is measured.
    n_steps : int, default=20
        SGHMC steps after each annealing step; 20 steps of √lr = 0.3 widths decorrelate.
    resampling : {"systematic", "multinomial"} or None, default="systematic"
        With None the weights accumulate, as published, and the number of particles is constant.
    preconditioner : {"curvature"} or None, default="curvature"
        Coordinates of unit posterior width.  Without them the step is the same in all directions and
        SGHMC diverges on columns that are not centred or scaled.
    reservoir_size : int or None, default=100000
        Rows of the past to keep, a uniform sample once there are more; None keeps all.  Until it is full
        nothing is approximated.  A hundred thousand rows pin down overlapping mixtures and take
        megabytes.
    kernel : {"hmc", "sghmc", "sgnht"}, default="hmc"
        How particles move: HMC with a Metropolis test on the rows at hand (exact while they are all
        there), SGHMC with mini-batches, or SGHMC with a Nosé–Hoover thermostat, which need not be told
        the noise of the mini-batches (and wants a ``momentum_decay`` below 1).
    max_particles : int or None, default=None
        M for the first rows, which are cheap and where the variance comes from.  None: 2000 for
        regressions and custom models, 16 000/d between 400 and 1000 for mixtures with K <= 2, otherwise
        16 d K between 1500 and 3000; less in proportion if ``n_particles`` is below 100.
    lazy : bool, default=True
        Move only when weighting alone would take the effective sample size below target.
    escort : bool, default=True
        Carry the cloud along where the posterior is nearly Gaussian (see ``samplers/_escort.py``).
    control_variate : bool, default=True
        Use anchored sums for what a sample of the rows leaves out.
    renew : bool, default=True
        Take the modes of a mixture from importance sampling around them, where that is the better
        estimate (see ``samplers/_modes.py``).
    shuffle : bool, default=True
        Take the rows of one call in random order (not with a ``chunk_size``): data sorted by class would
        first teach the particles one class.  Within a call the path is then that of random subsets.
    max_reservoir_size : int, default=1000000
        The reservoir grows up to here if its noise spreads the particles by more than half a nat.
    precision : {"mixed", "double"}, default="mixed"
        Mixed sums the softmax and mixture likelihoods in single precision where the error stays below
        0.02 nats; it halves the time.

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
    >>> result = SGAIS(n_particles=500).run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {
        "n_particles": [Interval(Integral, 2, None, closed="left")],
        "target_ess": [Interval(Real, 0, 1, closed="neither")],
        "chunk_size": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "momentum_decay": [Interval(Real, 0, 1, closed="right")],
        "gradient_noise": [Interval(Real, 0, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "resampling": [StrOptions(set(RESAMPLING)), None],
        "preconditioner": [StrOptions({"curvature"}), None],
        "reservoir_size": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions({"hmc", "sghmc", "sgnht"})],
        "max_particles": [Interval(Integral, 2, None, closed="left"), None],
        "lazy": ["boolean"],
        "escort": ["boolean"],
        "control_variate": ["boolean"],
        "renew": ["boolean"],
        "shuffle": ["boolean"],
        "precision": [StrOptions({"mixed", "double"})],
        "max_reservoir_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_particles=100,
        target_ess=0.5,
        chunk_size=None,
        batch_size=500,
        learning_rate=0.1,
        momentum_decay=0.2,
        gradient_noise=0.0,
        n_steps=20,
        resampling="systematic",
        preconditioner="curvature",
        reservoir_size=100_000,
        *,
        kernel="hmc",
        max_particles=None,
        lazy=True,
        escort=True,
        control_variate=True,
        renew=True,
        shuffle=True,
        max_reservoir_size=1_000_000,
        precision="mixed",
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
        self.kernel = kernel
        self.max_particles = max_particles
        self.lazy = lazy
        self.escort = escort
        self.control_variate = control_variate
        self.renew = renew
        self.shuffle = shuffle
        self.max_reservoir_size = max_reservoir_size
        self.precision = precision

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
            max_particles=10,
            chunk_size=500,
            resampling=None,
            preconditioner=None,
            reservoir_size=None,
            kernel="sghmc",
            lazy=False,
            escort=False,
            control_variate=False,
            renew=False,
            shuffle=False,
            precision="double",
        )

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
        M = self._particles(model, 0.0)
        theta = model.sample_prior(rng, M)
        return SGAISState(
            theta, Weights.ones(M), 0.0, Genealogy.planted(M), 0.0, Reservoir(self.reservoir_size)
        )

    def update(self, state: SGAISState, model, rows, rng: np.random.Generator, progress=SILENT):
        """Absorb rows, chunk by chunk (Alg. 8, line 3).

        Parameters
        ----------
        state : SGAISState
            Not changed.
        model : Model
        rows : Rows
        rng : numpy.random.Generator
        progress : Progress, optional

        Returns
        -------
        state : SGAISState
        records : list of ChunkRecord
        """
        self._validate_params()
        streams = Streams(*rng.spawn(3))
        if self.precision == "double":
            model = model.in_double_precision()
        records = []
        for piece in pieces(rows, state.n, self.chunk_size, self.shuffle, streams.rows):
            state, record = self._extend(state, model, piece, streams)
            records.append(record)
            progress.done(
                f"{record.n_samples} rows, log evidence {record.log_evidence:.2f} "
                f"± {record.log_evidence_std:.2f} nats, {record.n_annealing_steps} annealing steps"
            )
        return state, records

    def _particles(self, model, n, even=False) -> int:
        """M(n); without resampling it cannot change."""
        if self.resampling is None:
            return self.n_particles
        return particles(model, n, self.n_particles, self.max_particles, even)

    def _extend(self, state, model, piece, rng):
        """Let new rows weigh on the cloud; move it only when the weights ask for it (lazy annealing)."""
        before, tally = state, Tally(len(state.theta))
        pending = piece if state.pending is None else state.pending.join(piece)
        n, ell = state.history.n, None
        limit = min(n, (state.history.capacity or np.inf) / 2)
        at_once = piece.total_weight > n / 2 or pending.total_weight > limit
        if self.lazy and not (self.escort and state.anchor is not None and at_once):
            ell = state.ell + model.sum_log_likelihood(state.theta, piece)
            tally.n_likelihoods += len(state.theta) * len(piece)
        if ell is not None and pending.total_weight <= limit and self._suffices(state.weights.add(ell)):
            state = state._replace(pending=pending, ell=ell)
            tally.weighted(state.all_weights, 1.0)
        else:
            state = self._absorb(state._replace(pending=None, ell=0.0), model, pending, ell, rng, tally)
        return state, tally.record(before, state)

    def _largest_reservoir(self) -> int:
        return max(self.reservoir_size, self.max_reservoir_size)

    def _suffices(self, weights) -> bool:
        return weights.ess >= self.target_ess * np.sum(np.isfinite(weights.log_w))

    def _absorb(self, state, model, chunk, ell, rng, tally):
        """Make the chunk history: by escort, by importance sampling of the modes, or else by annealing."""
        history, escorted = state.history, self._escorted(state, model, chunk, ell, rng, tally)
        uneven = self.resampling and not is_even(state)
        if not escorted and uneven and self.escort and state.anchor is not None:
            state, ell = self._refreshed(state, model, chunk, rng, tally), None
            escorted = self._escorted(state, model, chunk, ell, rng, tally)
        before = state.weights.ess
        even = escorted is not None and escorted.weights.ess >= EVEN * before
        search = self._search(state, model, chunk, rng)
        jumped = search and not escorted and self._jumped(state, model, chunk, ell, search, rng, tally)
        state = escorted or jumped or self._annealed(state, model, chunk, ell, rng, tally)
        if search and not jumped:
            state = self._renewed(state, model, search, rng, tally)
        if (self.escort or self.control_variate) and (not escorted or state.anchor is None):
            state = self._anchored(state, model, chunk, rng)
        if tally.sample_noise > TOO_NOISY and history.capacity < self._largest_reservoir():
            history = replace(history, capacity=min(2 * history.capacity, self._largest_reservoir()))
        state = state._replace(history=history.absorb(chunk, rng.rows))
        M = self._particles(model, state.history.n, even)
        if 2 * M <= len(state.theta):  # of nearly equal weights: no duplicates to move apart
            state = resample(state, RESAMPLING[self.resampling], M, rng.resampling)
        return state

    def _search(self, state, model, chunk, rng):
        """All rows at hand and the modes that they have, now and then; or None."""
        history, n = state.history, state.history.n + chunk.total_weight
        if not (self.renew and self.resampling and worth_a_search(model, history.n, n)):
            return None
        rows = chunk
        if history.rows is not None:
            rows = history.rows.scaled(history.n / history.rows.total_weight).join(chunk)
        return rows, find_modes(model, rows, rng.rows)

    def _jumped(self, state, model, chunk, ell, search, rng, tally):
        """The state with new weights and new modes, or None if it is not precise without annealing."""
        if not state.history.complete:
            return None
        if ell is None:
            ell = model.sum_log_likelihood(state.theta, chunk)
            tally.n_likelihoods += len(state.theta) * len(chunk)
        return jumped(model, state._replace(weights=state.weights.add(ell)), *search, rng.noise, tally)

    def _renewed(self, state, model, search, rng, tally):
        """Modes taken from outside while all rows are at hand, and reported as missed if not."""
        if state.history.complete:
            return renewed(model, state, *search, rng.noise, tally)
        tally.missed_mode = missed_by(model, state, *search, rng.rows)
        return state

    def _refreshed(self, state, model, chunk, rng, tally):
        """Even weights and a move at the posterior of the history, before anything of the chunk is let in."""
        moves = self._kernel(state, model, chunk[:1], rng)
        state = self._moved(state, model, chunk, moves, 0.0, rng, tally)
        return state._replace(theta=model.canonicalize(state.theta, state.reference))

    def _escorted(self, state, model, chunk, ell, rng, tally):
        """The state after the map, or None if there is none or the weights refuse it."""
        if not self.escort or state.anchor is None:
            return None
        step = escort(model, state.theta, state.history, state.anchor, chunk, rng.rows)
        if step is None:
            return None
        inside = model.is_canonical(step.theta, state.reference)
        weights = state.weights.add(np.where(inside, step.increment, -np.inf))
        plain = 0.0 if ell is None else state.weights.add(ell).ess
        tally.n_likelihoods += 2 * len(state.theta) * len(chunk)
        # from even weights an escort saves several annealing steps: it may cost as much as two
        least = self.target_ess ** (2 if is_even(state) else 1)
        if inside.mean() < 0.98 or weights.ess < max(least * len(inside), plain):
            tally.n_escorts_refused += 1
            return None
        tally.n_escorts += 1
        tally.sample_noise = step.spread
        tally.weighted(weights, 1.0)
        return state._replace(
            theta=np.where(inside[:, None], step.theta, state.theta),
            weights=weights,
            noise_var=state.noise_var + step.noise_var,
            anchor=step.anchor,
        )

    def _annealed(self, state, model, chunk, ell, rng, tally):
        """p(θ | y_<n) → p(θ | y_≤n) (Alg. 8, lines 4–11)."""
        lam, move = 0.0, self._kernel(state, model, chunk, rng)
        while lam < 1.0:
            if ell is None or lam > 0.0:
                ell = model.sum_log_likelihood(state.theta, chunk)
                tally.n_likelihoods += len(state.theta) * len(chunk)
            log_w = state.weights.log_w if self.resampling else np.zeros(len(state.theta))
            check_likelihood(ell, state, model, chunk)
            delta = next_step(ell, log_w, 1.0 - lam, self.target_ess)  # line 6, Eq. (4.15)
            lam = min(max(lam + delta, np.nextafter(lam, 1.0)), 1.0)  # line 7
            increment = delta * ell if delta > 0.0 else np.zeros(len(ell))  # 0 · −∞ is no number
            state = state._replace(weights=state.weights.add(increment))  # line 8
            tally.weighted(Weights(log_w + increment), lam)
            if self.lazy and lam == 1.0:
                break  # the next chunk will ask for a move, if one is needed
            state = self._moved(state, model, chunk, move, lam, rng, tally)
            if len(tally.lambdas) == MAX_ANNEALING_STEPS:
                raise DivergenceError(
                    f"annealing did not reach the posterior in {MAX_ANNEALING_STEPS} steps{move.advice}"
                )
        return state

    def _moved(self, state, model, chunk, move, lam, rng, tally):
        """Resampled, and moved at p(θ | y_<n) p(y_n | θ)^λ (Alg. 8, lines 9 and 10)."""
        coordinates = None
        if self.preconditioner is not None:  # at the tempered posterior, before resampling
            coordinates = curvature_coordinates(move.target(lam), state.theta, state.weights.W)
        if self.resampling:
            M = self._particles(model, state.history.n + chunk.total_weight)
            state = resample(state, RESAMPLING[self.resampling], M, rng.resampling)  # line 9
        return move(state, lam, coordinates, tally)  # line 10

    def _kernel(self, state, model, chunk, rng):
        """What moves the particles while this chunk comes in."""
        if self.kernel == "hmc":
            return ExactMoves(state, model, chunk, rng)
        moves = AnchoredGradientMoves if self.control_variate else StochasticGradientMoves
        return moves(state, model, chunk, self, rng)

    def _anchored(self, state, model, chunk, rng):
        """Canonical labels, and sums over history and chunk near the mode."""
        reference = model.slot_reference(state.theta)
        theta = model.canonicalize(state.theta, reference)
        start = state.weights.W @ theta
        _, anchor = anchored_at_mode(model, start, state.history, state.anchor, chunk, rng.rows)
        return state._replace(theta=theta, reference=reference, anchor=anchor)


def is_even(state) -> bool:
    """Nothing is gained by resampling."""
    return state.weights.ess >= EVEN * len(state.theta)
