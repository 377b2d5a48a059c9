"""The λ-step, on asymmetric likelihoods: on a symmetric one a wrong sign goes unseen."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.particles import next_step, step_bias

M = 200


def naive_ess(log_w):
    w = np.exp(log_w - log_w.max())
    return w.sum() ** 2 / (w**2).sum()


def skewed(rng, scale=50.0):
    """A likelihood has a ceiling and a long lower tail."""
    return 7.0 - scale * rng.exponential(size=M)


def check_meets_target(next_step, ell, log_w, target):
    delta = next_step(ell, log_w, 1.0, target)
    assert 0 < delta < 1
    assert naive_ess(log_w + delta * ell) == pytest.approx(target * len(ell), rel=1e-6), "not the target"
    return delta


@pytest.mark.parametrize("target", [0.1, 0.5, 0.9, 0.999])
def test_meets_the_target(rng, target):
    check_meets_target(next_step, skewed(rng), np.zeros(M), target)


@pytest.mark.parametrize("target", [0.1, 0.5])
def test_meets_the_target_with_unequal_weights(rng, target):
    log_w = rng.normal(scale=0.5, size=M)
    assert naive_ess(log_w) > target * M  # the premise
    check_meets_target(next_step, skewed(rng), log_w, target)


def test_unequal_weights_matter(rng):
    ell, log_w = skewed(rng), rng.normal(scale=0.5, size=M)
    assert next_step(ell, log_w, 1.0, 0.5) != pytest.approx(next_step(ell, np.zeros(M), 1.0, 0.5), rel=1e-3)


def test_the_largest_step_for_equal_weights(rng):
    """For equal ω the ESS falls with Δ: all shorter steps are above target, all longer ones below."""
    ell = skewed(rng)
    delta = next_step(ell, np.zeros(M), 1.0, 0.5)
    assert all(naive_ess(t * delta * ell) > 0.5 * M for t in np.linspace(0, 0.999, 30))
    assert all(naive_ess(t * ell) < 0.5 * M for t in np.linspace(1.001 * delta, 1.0, 30))


@pytest.mark.parametrize("remaining", [1.0, 0.3, 1e-12])
def test_takes_all_that_remains_when_it_can(rng, remaining):
    assert next_step(skewed(rng, scale=0.1), np.zeros(M), remaining, 0.5) == remaining


def test_the_end_point_is_looked_at_first(rng):
    """Weights that the increment evens out: below target now, above it at the end."""
    ell = skewed(rng, scale=3.0)
    assert naive_ess(-ell) < 0.3 * M  # the premise
    assert next_step(ell, -ell, 1.0, 0.3) == 1.0


def test_never_beyond_what_remains(rng):
    ell = skewed(rng)
    free = next_step(ell, np.zeros(M), 1.0, 0.5)
    assert next_step(ell, np.zeros(M), free / 2, 0.5) == free / 2
    assert next_step(ell, np.zeros(M), free * 2, 0.5) == pytest.approx(free, rel=1e-6)


def test_zero_when_below_target_already(rng):
    log_w = rng.normal(scale=3.0, size=M)
    assert naive_ess(log_w) < 0.5 * M  # the premise
    assert next_step(skewed(rng), log_w, 1.0, 0.5) == 0.0


def test_dead_particles_count_as_lost(rng):
    """Whatever ruled them out: the step is shorter than for the others alone, and none if those are few."""
    ell, log_w = skewed(rng), np.zeros(M)
    alone = next_step(ell, log_w, 1.0, 0.5)
    some = np.r_[ell, np.full(M // 4, -np.inf)]
    delta = next_step(some, np.zeros(len(some)), 1.0, 0.5)
    assert 0 < delta < alone
    assert naive_ess((delta * some)[:M]) == pytest.approx(0.5 * len(some), rel=1e-6)
    assert next_step(np.r_[ell, 0.0], np.r_[log_w, -np.inf], 1.0, 0.5) < alone
    most = np.r_[ell, np.full(2 * M, -np.inf)]
    assert next_step(most, np.zeros(len(most)), 1.0, 0.5) == 0.0
    assert next_step(np.r_[0.0, np.full(999, -np.inf)], np.zeros(1000), 1.0, 0.5) == 0.0


@pytest.mark.parametrize("scale", [1e-3, 1e3, 1e9, 1e15])
def test_scale_invariance(rng, scale):
    """Only Δℓ counts: the first chunk of a stream may be a billion nats wide under the prior."""
    ell = skewed(rng, scale=1e4)
    delta = next_step(ell, np.zeros(M), 1.0, 0.5)
    assert next_step(scale * ell, np.zeros(M), 1.0, 0.5) == pytest.approx(delta / scale, rel=1e-8)


def test_shift_invariance(rng):
    ell = skewed(rng)
    delta = next_step(ell, np.zeros(M), 1.0, 0.5)
    assert next_step(ell - 1e6, np.zeros(M) + 1e4, 1.0, 0.5) == pytest.approx(delta, rel=1e-6)


def test_equal_likelihoods_need_no_step():
    assert next_step(np.full(M, -1e5), np.zeros(M), 1.0, 0.9) == 1.0


def test_arguments_unchanged(rng):
    ell, log_w = np.r_[skewed(rng), -np.inf], np.zeros(M + 1)
    before = ell.copy()
    next_step(ell, log_w, 1.0, 0.5)
    np.testing.assert_array_equal(ell, before)
    np.testing.assert_array_equal(log_w, 0.0)


@pytest.mark.parametrize("scale", [1e10, 1e100, 1e300])
def test_the_step_is_found_however_far_the_likelihood_spreads(rng, scale):
    """As where a user forbids a region by a huge constant, or a column is in tiny units."""
    ell = np.where(rng.random(M) < 0.3, rng.normal(size=M), -scale)
    check_meets_target(next_step, ell, np.zeros(M), 0.5)


def cost_of_the_choice(rng, M=1000, runs=1500, d=20, lam=0.05):
    """What a step of chosen length errs by beyond one of the right length, and the formula, (runs,) each.

    θ ~ N(0, 1)^d, weighted by e^{θ_1/3}, and ℓ = −50 Σ(θ_j − 1)², so that all is Gaussian.
    """
    precision, shift = 1 + 100 * lam, (np.arange(d) == 0) / 3

    def draw(size):
        first = 1 - 1 / precision + rng.standard_normal(size) / np.sqrt(precision)
        others = rng.noncentral_chisquare(d - 1, (d - 1) / precision, size=size) / precision
        return -50 * ((first - 1) ** 2 + others), first / 3

    def gain(ell, log_w, delta):
        return np.log(np.mean(np.exp(log_w + delta * (ell - ell.max())))) + delta * ell.max()

    def log_Z(t):
        return np.sum(-0.5 * np.log(1 + 100 * t) - 50 * t + (100 * t + shift) ** 2 / (2 * (1 + 100 * t)))

    right = next_step(*draw(400_000), 1.0, 0.5)
    more, bias = np.zeros(runs), np.zeros(runs)
    for run in range(runs):
        ell, log_w = draw(M)
        delta = next_step(ell, log_w, 1.0, 0.5)
        bias[run] = step_bias(ell, log_w, delta)
        more[run] = (
            gain(ell, log_w, delta) - gain(ell, log_w, right) - log_Z(lam + delta) + log_Z(lam + right)
        )
    return more, bias


def check_bias(rng):
    more, bias = cost_of_the_choice(rng)
    assert more.mean() < -10 * more.std() / np.sqrt(len(more))  # the premise
    left = (more - bias).mean() / more.mean()
    assert abs(left) < 0.25, f"{left:.0%} of it are left"


def test_what_the_choice_of_steps_costs(rng):
    check_bias(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("2 * u - g - 1", "g + 1 - 2 * u"),
        ("2 * u - g - 1", "u - g"),
        ("2 * np.mean(g * from_mean)", "np.mean(g * from_mean)"),
        ("length * u * from_mean", "length * from_mean"),
    ],
)
def test_power_of_that(rng, monkeypatch, right, wrong):
    monkeypatch.setitem(globals(), "step_bias", broken(step_bias, right, wrong))
    with pytest.raises(AssertionError):
        check_bias(rng)


def test_impossible_rows_have_no_part_in_the_bias(rng):
    """Particles of no weight count, their likelihood does not; nor does a constant."""
    ell = np.where(rng.random(M) < 0.2, -np.inf, skewed(rng))
    log_w = rng.normal(scale=0.3, size=M)
    bias = step_bias(ell, log_w, 0.05)
    assert np.isfinite(bias) and bias != 0
    assert step_bias(np.where(ell > -np.inf, ell + 1e6, -np.inf), log_w - 50, 0.05) == pytest.approx(
        bias, rel=1e-6
    )
    assert step_bias(np.where(ell > -np.inf, ell, -1e7), log_w, 0.05) == pytest.approx(bias)


def check_range(rng, most=4.0, trials=3000):
    """Few particles, weights that go with or against ℓ, ℓ in steps: never more than some M-ths of a nat."""
    for _ in range(trials):
        M = int(rng.choice([2, 5, 10, 50, 200]))
        scale, against = 10 ** rng.uniform(-1, 3), rng.choice([0.0, 0.3])
        ell = -scale * (rng.exponential(size=M) if rng.random() < 0.6 else rng.integers(0, 3, size=M))
        log_w = rng.normal(scale=rng.choice([0.0, 0.5, 0.9]), size=M) - against * ell / scale
        delta = next_step(ell, log_w, 1.0, 0.5)
        if 0 < delta < 1:
            assert abs(step_bias(ell, log_w, delta)) < most / M


def test_the_bias_is_left_where_the_first_order_says_nothing(rng):
    check_range(rng)
    assert step_bias(np.zeros(10), np.zeros(10), 0.5) == 0.0  # ESS does not fall at all
