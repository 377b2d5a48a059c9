r"""Particles that go along a sequence with the forward algorithm as their likelihood (Chopin 2002).

Rows come one by one.  A particle θ is weighed by p(y_t | y_<t, θ), with its states summed over, and where
fewer than half of the particles count they are drawn anew and swept on at all rows so far; the filter then
starts from the last state that the sweep has drawn, which belongs to the particle.  The mean weights
multiply to the evidence: labels need not be told apart, and nothing is lost where states overlap, or have few
rows.  Few rows cost little, so that there are many particles at first.

Symbols: ``c`` = coefficients of M particles, (K, M, D); α ``alpha`` = filter of the last row of each
particle, (K, M); log w ``log_w`` = weights since they were last drawn, (M,).

References
----------
N. Chopin (2002), A sequential particle filter method for static models, Biometrika 89, 539;
N. Chopin (2007), Inference and model choice for sequentially ordered hidden Markov models, Journal of the
Royal Statistical Society B 69, 269.
"""

from typing import NamedTuple

import numpy as np

from ..models import filtered
from ..particles import Weights, systematic
from ._hidden_states import HiddenStates

#: Particles at most and at least, and particles × rows between these.
MOST, LEAST, AT_ONCE = 500, 100, 250_000
#: Share of effective particles below which they are drawn anew, and sweeps that they move by then.
SHARE, SWEEPS = 0.5, 2
#: Rows that are weighed at a time: so many, or this share of those before.
FEWEST_ROWS, GROWTH = 8, 0.3
#: Variance of an evidence over that of its mean weights if particles had forgotten each other.
REMEMBERED = 2.0


class Walked(NamedTuple):
    """Log evidence and its variance, nats, and equally weighted particles (K, M, D) of all rows."""

    log_Z: float
    variance: float
    c: np.ndarray
    n_likelihoods: float


def walked(problem: HiddenStates, rng: np.random.Generator) -> Walked:
    """Particles from the prior to the last row."""
    model, n = problem.model, len(problem.F)
    K, t, log_Z, variance, spent = model.n_states, 0, 0.0, 0.0, 0.0
    c = model.draw(np.zeros((K, MOST, model.n_coefficients)), rng)
    alpha, log_w = np.full((K, MOST), 1 / K), np.zeros(MOST)
    while t < n:
        size = min(n - t, max(FEWEST_ROWS, int(GROWTH * t)))
        F, starts = problem.F[t : t + size], problem.starts[t : t + size]
        after, log_p = filtered(model.log_emissions(c, F), model.dynamics(c), starts, alpha)
        weights = [Weights(row) for row in log_w + np.cumsum(log_p, axis=0)]
        few = (i for i, w in enumerate(weights) if w.ess < SHARE * w.M)
        last = next(few, size - 1)
        t, spent, w = t + last + 1, spent + size * len(log_w), weights[last]
        if w.ess >= SHARE * w.M and t < n:
            alpha, log_w = after[-1], w.log_w
            continue
        log_Z, variance = log_Z + w.log_mean, variance + w.relative_variance
        size = int(np.clip(AT_ONCE / t, LEAST, MOST))
        so_far = problem.first(t)
        c = c[:, systematic(w.W, rng, size)]
        for _ in range(SWEEPS):
            T, state = so_far.allocate(c, rng)
            c = problem.draw(T, rng)
        alpha = (state == np.arange(K)[:, None]).astype(float)
        log_w, spent = np.zeros(size), spent + 2 * SWEEPS * t * size
    return Walked(log_Z, REMEMBERED * variance, c, spent)
