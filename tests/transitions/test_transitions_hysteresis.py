"""Legs beyond the posterior, and the way back to the prior."""

import autograd.numpy as anp
import numpy as np
import pytest

from sgevidence.custom import CustomModel
from sgevidence.history import Memory, Rows
from sgevidence.models import LinearModel
from sgevidence.particles import Cloud, systematic
from sgevidence.targets import Path
from sgevidence.transitions import HMC, Adaptation, Anneal, Streams
from sgevidence.transitions import _hysteresis as module
from sgevidence.transitions._hysteresis import bracketed, hysteresis, tempered, way_back

M = 500


def problem(seed):
    """A linear model, its exact log evidence, and exact draws of its posterior."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 2))
    model, rows = LinearModel(2, noise_std=1.0), Rows.of(X, X @ [1.0, -0.5] + rng.standard_normal(30))
    draws = model.posterior(model.sums(rows)).sample(rng, M)
    return Path(model, Memory.empty(), rows), model.exact_log_evidence(rows), draws, Streams.one(rng)


def anneal():
    return Anneal(HMC(conditional=False), 0.5, systematic, lambda n: M)


@pytest.mark.parametrize("seed", range(2))
def test_a_cloud_that_follows_closes_the_loop_and_finds_the_evidence_going_back(seed):
    path, exact, draws, rng = problem(seed)
    cloud = Cloud.planted(draws)._replace(log_Z=exact)
    legs = hysteresis(anneal(), cloud, Adaptation(), path, rng, most=1e9)
    assert abs(legs.hysteresis) < 4 * legs.std and not legs.lags
    back = way_back(anneal(), legs, path, rng)
    std = back.cloud.log_evidence_std
    assert abs(-back.log_ratio - exact) < 4 * std < 1.0
    both = bracketed(cloud, legs, back)
    assert abs(both.log_evidence - exact) < 4 * both.log_evidence_std
    assert both.M == M and both.log_evidence_std >= abs(-back.log_ratio - exact) / 2


def test_there_and_back_beyond_is_a_ratio_that_is_known():
    path, _, draws, rng = problem(3)
    up = tempered(anneal(), Cloud.planted(draws), Adaptation(), path, (1.0, 1.3), rng)
    power = Path(path.model, path.memory, path.chunk.scaled(1.3))
    # log Z(1.3)/Z(1) with rows that count 1.3 times
    ratio = power.model.exact_log_evidence(power.chunk) - path.model.exact_log_evidence(path.chunk)
    assert up.has_arrived and abs(up.log_ratio - ratio) < 4 * up.cloud.log_evidence_std + 0.01


def test_a_cloud_that_has_lost_a_neck_lags_and_its_bar_says_so():
    rng, k = np.random.default_rng(0), 9
    v = np.maximum(4 + 2 * rng.standard_normal(M), 0.0)  # of a funnel with N(0, 3²)
    draws = np.column_stack([v, np.exp(v / 2)[:, None] * rng.standard_normal((M, k))])

    def log_likelihood(theta, X, y):
        v, x = theta[:, 0], theta[:, 1:]
        return (-0.5 * anp.sum(x**2, axis=1) * anp.exp(-v) - 0.5 * k * v)[:, None]

    scale = np.r_[3.0, np.full(k, 30.0)]
    model = CustomModel(
        lambda rng, size: rng.standard_normal((size, k + 1)) * scale,
        lambda t: -0.5 * anp.sum((t / scale) ** 2, axis=1),
        log_likelihood,
        k + 1,
    )
    path = Path(model, Memory.empty(), Rows.of(np.zeros((1, 1))))
    cloud = Cloud.planted(draws)
    legs = hysteresis(anneal(), cloud, Adaptation(), path, Streams.one(rng), most=1e9)
    assert legs.lags and legs.hysteresis < 0
    bar = bracketed(cloud, legs, None).log_evidence_std
    assert bar >= min(module.ERROR_PER_GAP * abs(legs.hysteresis), module.MAX_LAG_NATS)


def test_no_leg_is_begun_that_costs_too_much():
    path, _, draws, rng = problem(4)
    legs = hysteresis(anneal(), Cloud.planted(draws), Adaptation(), path, rng, most=10.0)
    assert np.isnan(legs.hysteresis) and not legs.lags and legs.info.n_gradients == 0.0
