"""HMC on a path: exact whatever it is guided by; its step, its lengths, and what it remembers."""

import numpy as np
import pytest
from moving import MODEL, anchored_path, moved
from mutants import broken
from path_problem import MODELS, Problem, data
from scipy.stats import kstest

from sgevidence.kernels import Coordinates
from sgevidence.targets import Likelihood, Target
from sgevidence.transitions import HMC, ExactMoves, Streams

M = 2000


def check_trajectories(rng, guided, trajectories=HMC.trajectories):
    """Draws from the posterior stay so, along its own gradients or along those of half its rows."""
    rows = data(MODEL, 600, rng)
    exact = MODEL.exact_posterior(rows, rng, 50_000)
    target = Target(MODEL, Likelihood(rows))
    guide = Target(MODEL, Likelihood(rows[:300])) if guided else None
    coordinates = Coordinates.from_covariance(np.cov(exact.T))
    move = HMC(min_trajectories=4, max_trajectories=4, min_guided=0.0)
    theta, *_ = trajectories(move, exact[:M], target, coordinates, 0.0, rng, guide)
    p = [kstest(a, b).pvalue for a, b in zip(theta.T, exact.T)]
    assert min(p) > 1e-5, f"p-values {p}"
    assert np.mean(np.all(theta == exact[:M], axis=1)) < 0.01 or guided


@pytest.mark.parametrize("guided", [False, True])
def test_trajectories_are_exact(rng, guided):
    check_trajectories(rng, guided)


@pytest.mark.parametrize(
    "guided, right, wrong",
    [(True, "test = None if guide is None else log_target", "test = None"),
     (False, "(...).value_and_grad(coordinates.unwhiten(phi))", "(...).value_and_grad(phi)")],
    ids=["the guide is believed", "coordinates forgotten"],
)  # fmt: skip
def test_a_mistake_is_seen(rng, guided, right, wrong):
    with pytest.raises(AssertionError, match="p-values"):
        check_trajectories(rng, guided, broken(HMC.trajectories, right, wrong))


def test_hmc_finds_a_step_of_the_acceptance_wanted(rng):
    path, _ = anchored_path(rng)
    start = MODEL.exact_posterior(path.memory.sample, rng, M)
    result = moved(HMC(target_acceptance=0.9, conditional=False), path, start, 1.0, rng, times=8)
    assert 0.8 < result.acceptance <= 1.0 and np.isnan(result.noise_to_injection)
    assert result.adaptation.log_eps != 0.0


@pytest.mark.parametrize("stretch, quiet", [(0.5, True), (4.0, False)])
def test_a_quiet_sample_is_target_and_guide_and_a_noisy_one_only_guides(rng, stretch, quiet):
    """By the cloud at hand: what a narrow one is sure of a wide one is not."""
    problem = Problem(MODELS["softmax"], rng, n=5000, c=2000)
    theta = problem.anchor.a + stretch * (problem.theta - problem.anchor.a)
    move = ExactMoves(HMC(guide_rows=600), problem.path, Streams.one(rng))
    move.decide(theta)
    rows = move.rows
    assert (move.guide is None) == quiet and rows.is_exact != quiet
    error = np.std(rows.at(1.0).value(theta) - problem.path.on_rows(None, rng).at(1.0).value(theta))
    assert error < 0.1
    move.decide(10 * theta)
    assert move.rows is rows  # chosen once: force and test are of the same rows


def test_leapfrog_steps():
    move = HMC(n_steps=16, trajectory_length=1.5)
    assert [move.leapfrog_steps(eps) for eps in (0.5, 0.1, 0.01, 9.0)] == [3, 15, 16, 1]
    assert [move.leapfrog_steps(0.5, repeat) for repeat in (1, 2, 3, 4)] == [3, 6, 12, 16]
