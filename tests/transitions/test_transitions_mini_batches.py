"""Stochastic gradients as published: where they settle, and when they diverge."""

import numpy as np
import pytest
from moving import MODEL, anchored_path
from mutants import broken
from path_problem import data

from sgevidence import DivergenceError
from sgevidence.history import Memory
from sgevidence.particles import Cloud
from sgevidence.samplers import SGNHT
from sgevidence.targets import Path
from sgevidence.transitions import SGHMC, Adaptation, StochasticGradientMoves, Streams

M, LR, ALPHA = 4000, 0.8, 0.2


def inflated(k, eta):
    """Stationary variance of Alg. 4 without noise of the gradient, at curvature k (:func:`kernels.sghmc`)."""
    return 1 / (k * (1 - eta * k / (2 * (2 - ALPHA))))


def check_variance(rng, move, call=StochasticGradientMoves.__call__):
    """Without a history the gradient is that of all rows, and where it settles is known.

    The variance of SGHMC is inflated by the length of its step, in each direction of the posterior by
    its own where there are no coordinates of unit width; that of the thermostat is exact.
    """
    rows = data(MODEL, 300, rng)
    path = Path(MODEL, Memory.empty(), rows)
    theta = MODEL.exact_posterior(rows, rng, M)
    along = StochasticGradientMoves(move, path, Streams.spawned(rng))
    P = -MODEL.mean_hessian_log_joint(theta[:2], rows)
    k, V = np.linalg.eigh(P)
    coordinates = along.coordinates(Cloud.planted(theta), 1.0)
    for _ in range(8):
        theta = call(along, theta, 1.0, coordinates, Adaptation()).theta
    if isinstance(move, SGNHT):
        expected = 1 / k
    else:
        expected = inflated(k, LR / len(rows)) if coordinates is None else inflated(1.0, LR) / k
    z = (np.var(theta @ V, axis=0) / expected - 1) / np.sqrt(2 / M)
    assert np.abs(z.sum()) < 4.5 * np.sqrt(len(z)), f"variance off by {z} standard errors"


SETTINGS = dict(learning_rate=LR, momentum_decay=ALPHA, control_variate=False)


@pytest.mark.parametrize(
    "move",
    [SGHMC(**SETTINGS), SGHMC(preconditioner=None, **SETTINGS), SGNHT(**SETTINGS | {"learning_rate": 0.4})],
    ids=["SGHMC", "SGHMC in the model's own coordinates", "SGNHT"],
)
def test_variance_is_that_of_the_published_recursion(rng, move):
    check_variance(rng, move)


@pytest.mark.parametrize(
    "right, wrong",
    [("settings.learning_rate / path.n", "settings.learning_rate / (2 * path.n)"),
     ("self.target(lam).value_and_grad(theta)[1]", "0.8 * self.target(lam).value_and_grad(theta)[1]")],
    ids=["half the learning rate", "a weaker gradient"],
)  # fmt: skip
def test_a_mistake_is_seen(rng, right, wrong):
    with pytest.raises(AssertionError, match="variance off"):
        call = broken(StochasticGradientMoves.__call__, right, wrong)
        check_variance(rng, SGHMC(preconditioner=None, **SETTINGS), call)


def test_steps_that_are_too_long_are_an_error(rng):
    path, _ = anchored_path(rng)
    plain = SGHMC(control_variate=False, preconditioner=None, learning_rate=1e4)
    start = MODEL.exact_posterior(path.memory.sample, rng, 50)
    with np.errstate(all="ignore"), pytest.raises(DivergenceError, match="Standardise the columns"):
        along = plain.along(path, Streams.spawned(rng))
        for _ in range(50):
            start = along(start, 1.0, None, Adaptation()).theta
