r"""A sequence of distributions with fixed kernels, run forward from the prior and back from an exact draw.

Symbols
-------
=======  ==================  ==============================================================
f_t      ``step.target``     t-th unnormalised posterior, f_t = f_{t−1} · p(new rows | θ)
w_i      ``weights``         Π_t f_t(θ_{t−1}) / f_{t−1}(θ_{t−1})
M, T     ``M, T``            particles, distributions
=======  ==================  ==============================================================
"""

from typing import NamedTuple

import numpy as np

from ..history import Memory, Rows
from ..kernels import Coordinates, hmc
from ..particles import Cloud, Weights, multinomial
from ..samplers import AIS
from ..targets import Likelihood, Path, Target
from ..transitions import HMC, Rung, State, Streams
from ._sir import SIR

#: Moves whose coordinates and steps can be used again.
PILOT = HMC(conditional=False)


class Step(NamedTuple):
    """From f_{t−1} to f_t, and a kernel that leaves f_t invariant and is its own reverse."""

    new: Rows  # f_t = f_{t−1} · p(new | θ)
    target: Target
    coordinates: Coordinates
    eps: float

    def log_ratio(self, theta):
        """log f_t − log f_{t−1}, (M,)."""
        return self.target.model.sum_log_likelihood(theta, self.new)

    def move(self, theta, rng):
        """Equal trajectories: in reverse order they are the same."""

        def value_and_grad(phi):
            value, grad = self.target.value_and_grad(self.coordinates.unwhiten(phi))
            return value, grad @ self.coordinates.L

        phi, here = self.coordinates.whiten(theta), None
        L = PILOT.leapfrog_steps(self.eps)
        for _ in range(2):  # trajectories of a move
            eps = self.eps * rng.uniform(0.5, 1.2, len(phi))
            phi, info = hmc(phi, value_and_grad, rng, eps=eps, L=L, here=here)
            here = info.here
        return self.coordinates.unwhiten(phi)


def ais_steps(model, rows, M, T, rng) -> list[Step]:
    """Powers of the likelihood: the λ_t of an adaptive pilot, interpolated, with its next kernel for each."""
    pilot: list[Rung] = []
    start = State(Cloud.planted(model.sample_prior(rng, M)), Memory.empty())
    AIS(M, move=PILOT).anneal(pilot.append)(start, Path(model, start.memory, rows), Streams.one(rng))
    position = np.linspace(0, len(pilot), T + 1)
    lams = np.interp(position, np.arange(len(pilot) + 1), np.r_[0.0, [rung.lam for rung in pilot]])
    steps = []
    for last, lam, k in zip(lams, lams[1:], np.ceil(position[1:]).astype(int) - 1):
        target = Target(model, Likelihood(rows.scaled(lam)))
        coordinates = pilot[k].coordinates
        assert coordinates is not None  # the pilot moves by trajectories
        steps.append(Step(rows.scaled(lam - last), target, coordinates, pilot[k].eps))
    return steps


def sir_steps(model, rows, M, rng) -> list[Step]:
    """Growing sets of rows, cut as a pilot cuts them."""
    rungs: list[Rung] = []
    sampler = SIR(M, move=PILOT)
    walk = sampler.steps(sampler.init(model, rng), model, rows, rng, rungs.append)
    pieces = [piece for _, _, piece in walk]
    return [
        Step(piece, rung.target, rung.coordinates, rung.eps)
        for piece, rung in zip(pieces, rungs)
        if rung.coordinates is not None  # as it is of trajectories
    ]


# effective sample size, as a fraction of M, below which the bounds by SIR resample
def forward(steps, model, M, rng, threshold=0.5, path=None) -> float:
    """log Ẑ from the prior; with a path, that of a run in which the first particle follows it."""
    theta, weights, log_Z = model.sample_prior(rng, M), Weights.ones(M), 0.0
    for t, step in enumerate(steps):
        if path is not None:
            theta[0] = path[t]
        weights = weights.add(step.log_ratio(theta))
        if weights.ess < threshold * M:
            parents = multinomial(weights.W, rng)
            if path is not None:
                parents = np.r_[0, multinomial(weights.W, rng, M - 1)]
            theta, log_Z, weights = theta[parents], log_Z + weights.log_mean, Weights.ones(M)
        theta = step.move(theta, rng)
    return log_Z + weights.log_mean


def reverse(steps, exact, M, rng) -> float:
    """−log mean 1/w of chains from the exact draw back to the prior."""
    theta, weights = np.repeat(exact, M, axis=0), Weights.ones(M)
    for step in reversed(steps):
        theta = step.move(theta, rng)
        weights = weights.add(-step.log_ratio(theta))
    return -weights.log_mean


def backward_path(steps, exact, rng) -> list[np.ndarray]:
    """θ_0 … θ_{T−1} of one reverse chain from the exact draw."""
    theta, path = exact, []
    for step in reversed(steps):
        theta = step.move(theta, rng)
        path.append(theta[0])
    return path[::-1]
