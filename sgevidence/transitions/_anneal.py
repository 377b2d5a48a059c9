r"""The tempering loop: p(θ | y_<n) → p(θ | y_≤n) by powers of the new rows' likelihood (thesis Alg. 8).

    ESS(Δ) = (Σ ω_i)² / Σ ω_i²,    ω_i = w_i p(y_n | θ_i)^Δ                        (4.15)

It is the only one: with nothing in the memory it is annealed importance sampling (Alg. 6), with a schedule
of one step, λ = 1, sequential importance resampling (Alg. 7).

While the weights stay even new rows weigh on the cloud, and nothing moves (lazy annealing).  Rows that only
weigh are *pending*: ``log_evidence`` is that of all rows at once, and they become history
when the weights ask for a move.

Symbols: θ_i, w_i ``cloud`` = particles and their weights; ℓ_i ``ell`` = log p(y_n | θ_i); λ, Δ ``lam, delta``
= annealing parameter and its step; ESS* ``target_ess`` = as a fraction of the particles; ``M`` = particles,
after the rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import DivergenceError
from ..kernels import Coordinates
from ..particles import Cloud, Weights, next_step, step_bias
from ..targets import Path, Target
from ._base import Adaptation, Info, Moved, State, Step, Streams, check_likelihood


class Reweight(NamedTuple):
    """Take rows in by their weights alone, while the effective sample size stays above target."""

    target_ess: float  #: of all particles: those that rows have ruled out count as lost
    leaves_large: bool = True  #: whether densities at modes come next, which do better by a large chunk

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        n, seen = path.memory.n, 0 if state.pending is None else len(state.pending)
        new = path.chunk[seen:]
        capacity = path.memory.reservoir.capacity or np.inf
        too_many = path.chunk.total_weight > min(n, capacity / 2)
        unknown = state._replace(pending=None, ell=None)
        if self.leaves_large and path.memory.anchor is not None and (too_many or new.total_weight > n / 2):
            return Step(unknown, crossed=False)
        ell, cost = state.ell, 0.0
        if ell is None or state.pending is not None:  # else a survey of the prior knows it
            ell = path.model.sum_log_likelihood(state.theta, new)
            cost = float(len(ell) * len(new))
            ell = ell if state.ell is None else state.ell + ell
        weights = state.cloud.weights.add(ell)
        if not too_many and weights.ess >= self.target_ess * weights.M:
            info = Info(cost, ess=weights.ess, lambdas=(1.0,))
            pending = path.chunk if seen else path.chunk.copy()  # a join is a copy already
            return Step(state._replace(pending=pending, ell=ell), info)
        return Step(unknown._replace(ell=ell), Info(cost), crossed=False)


class Rung(NamedTuple):
    """One temperature, as it was crossed: what is needed to do it again, or to say how far one is."""

    lam: float
    cloud: Cloud  #: after the move
    move: Any  #: along the path
    coordinates: Coordinates | None  #: None where the model drew from the target itself
    adaptation: Adaptation

    @property
    def target(self) -> Target:
        """log f_λ; made when asked for, since it may be of a new mini-batch."""
        return self.move.target(self.lam)

    @property
    def eps(self) -> float:
        """Step of HMC in posterior widths."""
        return float(np.exp(self.adaptation.log_eps))


class Anneal(NamedTuple):
    """Reweight by a little, resample, move, until λ = 1; never declines.

    Without ``resampling`` the weights accumulate, and Δ looks at the increments alone, as published.  With a
    ``schedule`` λ_1, …, λ_T = 1 the cloud is only resampled when its ESS is below target; without it each λ
    is chosen so that ESS(Δ) = ESS* (Eq. 4.15).
    """

    move: Any
    target_ess: float  #: ESS*, as a fraction of the particles
    resampling: Callable | None
    n_particles: Callable[[float], int]  #: M after rows of this total weight
    schedule: np.ndarray | None = None
    last_move: bool = False  #: move at λ = 1 too; lazy annealing leaves that to the next rows
    max_steps: int = 5000  #: 10⁶ nats take about 500; ten times as many mean that it goes nowhere
    watch: Callable[[Rung], Any] | None = None  #: after each move

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        cloud, adaptation, ell = state.cloud, state.adaptation, state.ell
        lambdas: list[float] = []
        ess, moves, n_likelihoods = float(cloud.M), [], 0.0
        lam, move = 0.0, self.move.along(path, rng)  # line 4
        while lam < 1.0:  # line 5
            if ell is None:
                ell = path.increment(cloud.theta)
                n_likelihoods += cloud.M * len(path.chunk)
            check_likelihood(ell, cloud, path)
            log_w = cloud.weights.log_w if self.resampling else np.zeros(cloud.M)
            if self.schedule is None:
                # of more particles than go on, as draws of the prior, no more than those need count
                target_ess = min(self.target_ess, self.n_particles(path.n) / cloud.M)
                delta = next_step(ell, log_w, 1.0 - lam, target_ess)  # line 6, Eq. (4.15)
                lam = min(max(lam + delta, np.nextafter(lam, 1.0)), 1.0)  # line 7
            else:
                delta = self.schedule[len(lambdas)] - lam
                lam = self.schedule[len(lambdas)]
            increment = delta * ell if delta > 0.0 else np.where(ell > -np.inf, 0.0, -np.inf)  # Δ → 0
            cloud = cloud.weighted(increment)  # line 8
            if self.resampling and self.schedule is None and lam < 1.0 and delta > 0.0:
                # not in the paper: these particles have chosen the Δ that they are averaged at
                cloud = cloud.corrected(step_bias(ell, log_w, delta))
            lambdas.append(lam)
            ess = min(ess, Weights(log_w + increment).ess)
            if lam == 1.0 and not self.last_move:
                break  # the next chunk will ask for a move, if one is needed
            cloud, adaptation, moved = self.renewed(cloud, move, lam, adaptation, path, rng)
            moves.append(moved)
            ell = None
            if len(lambdas) == self.max_steps:
                raise DivergenceError(
                    f"annealing did not reach the posterior in {self.max_steps} steps{move.advice}"
                )
        info = Info(
            lambdas=tuple(lambdas),
            ess=ess,
            n_likelihoods=n_likelihoods,
            n_moves=len(moves),
            n_gradients=sum(m.n_gradients for m in moves),
            n_refused=sum(m.n_refused for m in moves),
            acceptance=moves[-1].acceptance if moves else np.nan,
            noise_to_injection=moves[-1].noise_to_injection if moves else np.nan,
        )
        return Step(state._replace(cloud=cloud, adaptation=adaptation, ell=None), info)

    def renewed(
        self, cloud: Cloud, move: Any, lam: float, adaptation: Adaptation, path: Path, rng: Streams
    ) -> tuple[Cloud, Adaptation, Moved]:
        """The cloud resampled, and moved at p(θ | y_<n) p(y_n | θ)^λ (lines 9 and 10)."""
        coordinates = move.coordinates(cloud, lam)  # of the tempered posterior, before resampling
        if self.resampling and (self.schedule is None or cloud.weights.ess < self.target_ess * cloud.M):
            cloud = cloud.resampled(self.resampling, self.n_particles(path.n), rng.resampling)  # line 9
        moved = move(cloud.theta, lam, coordinates, adaptation)  # line 10
        cloud = cloud._replace(theta=moved.theta)
        if self.watch is not None:
            self.watch(Rung(lam, cloud, move, coordinates, moved.adaptation))
        return cloud, moved.adaptation, moved
