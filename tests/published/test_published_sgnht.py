"""The thermostat keeps the width under gradient noise that nobody told it of, where SGHMC heats."""

import numpy as np
import pytest
from gaussian_target import N_SIGMA, check_normal
from made_data import MAKE
from mutants import broken

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.kernels import baoab
from sgevidence.models import LinearModel
from sgevidence.published import sgnht
from sgevidence.samplers import SGNHT
from sgevidence.transitions import SGHMC

EPS, C, M = 0.3, 0.8, 4000
#: Gradient noise, one a coordinate: up to as much as is injected, (1 − c²)/ε² = 4.
V = np.array([0.0, 1.0, 2.0, 4.0])


def noisy(rng, V=V, k=1.0):
    return lambda x: -k * x + np.sqrt(V) * rng.standard_normal(x.shape)


def check(kernel, rng, V=V, tolerance=0.05, n_steps=300, calls=1, **settings):
    """Long-run variance one in each coordinate, up to the bias that is promised and the sampling error."""
    x = rng.standard_normal((M, len(V)))
    for _ in range(calls):
        x, info = kernel(x, noisy(rng, V), rng, eps=EPS, c=C, n_steps=n_steps, **settings)
        assert info.n_refused == 0 and info.n_gradients == n_steps + 1
    variance = np.mean(x**2, axis=0)
    assert np.all(np.abs(variance - 1) < tolerance + N_SIGMA * np.sqrt(2 / M)), f"variance {variance}"


def test_without_noise(rng):
    """Exact for any curvature below 4/ε² up to the O(ε²) of BAOAB, which vanishes for a Gaussian's positions;
    started far from equilibrium."""
    k = np.array([0.5, 1.0, 2.0, 4.0])
    start = 2.0 + 0.1 * rng.standard_normal((10_000, 4))
    x, _ = sgnht(start, noisy(rng, np.zeros(4), k), rng, eps=EPS, c=C, n_steps=300)
    check_normal(x, 1 / k)


def test_noise_of_unknown_size(rng):
    check(sgnht, rng)


def test_sghmc_heats_with_the_same_noise(rng):
    """The contrast: the same splitting, told nothing of V."""
    with pytest.raises(AssertionError, match="variance"):
        check(baoab, rng)


@pytest.mark.slow
def test_short_calls(rng):
    """As samplers use it: 20 steps, each call with new momenta and the friction of a noiseless gradient."""
    check(sgnht, rng, n_steps=20, calls=15)


def test_mini_batch_noise_that_particles_share(rng):
    """Noise common to the cloud moves its mean, which the variance over time must include."""
    x, second = rng.standard_normal((200, 50)), []
    for _ in range(40):
        x, _ = sgnht(x, lambda x: -x + rng.standard_normal(x.shape[1]), rng, eps=EPS, c=C, n_steps=20)
        second.append(np.mean(x**2))
    assert abs(np.mean(second[5:]) - 1) < 0.05


def test_one_particle(rng):
    """With the published mass; fifty coordinates are fifty independent chains."""
    x, second = rng.standard_normal((1, 50)), []
    for _ in range(60):
        x, _ = sgnht(x, noisy(rng, 1.0), rng, eps=EPS, c=C, n_steps=40, mass=1.0)
        second.append(np.mean(x**2))
    assert abs(np.mean(second) - 1) < 0.04 + N_SIGMA * np.sqrt(2 / 3000)


SECOND_DRIFT = "xi = xi + 0.5 * eps * heat(v) / mass; theta = theta + 0.5 * eps * v"


@pytest.mark.parametrize(
    "right, wrong",
    [
        (SECOND_DRIFT, SECOND_DRIFT.replace("xi + 0.5", "xi - 1.5")),
        ("exprel(-2 * xi * eps)", "exprel(2 * xi * eps)"),
        (
            "theta = theta + 0.5 * eps * v; xi = xi + 0.5 * eps * heat(v) / mass",
            "theta = theta + 1.0 * eps * v; xi = xi + 0.5 * eps * heat(v) / mass",
        ),
        (
            "grad = grad_log_target(theta); v = v + 0.5 * eps * grad",
            "grad = grad_log_target(theta); v = v + 0.0 * eps * grad",
        ),
    ],
    ids=["sign of the thermostat", "sign in the injection", "drift", "kick"],
)
def test_mutants(right, wrong, rng):
    with pytest.raises(AssertionError, match=r"variance|refused"):
        check(broken(sgnht, right, wrong), rng)


def test_without_thermostat_it_heats(rng):
    with pytest.raises(AssertionError, match="variance"):
        check(sgnht, rng, mass=1e9)


def test_friction_settles_where_theory_says(rng, monkeypatch):
    """At A + εV/2 to first order: heat in equals heat out."""
    seen = []
    monkeypatch.setitem(sgnht.__globals__, "seen", seen)
    spy = broken(sgnht, "exprel(-2 * xi * eps)", "exprel(seen.append(xi) or -2 * xi * eps)")
    for _ in range(10):
        spy(rng.standard_normal((M, 4)), noisy(rng), rng, eps=EPS, c=C, n_steps=150)
    expected = -np.log(C) / EPS + EPS * V / 2
    assert np.all(np.abs(np.mean(seen[149::150], axis=0) / expected - 1) < 0.06)


@pytest.mark.parametrize("factor", [np.nan, np.inf, 1e6], ids=["nan", "inf", "runaway"])
def test_unsound_particles_stay_and_do_not_stop_the_others(factor, rng):
    bad, start = np.array([1, 4]), rng.standard_normal((2000, 2))
    k = np.ones((2000, 1))
    k[bad] = factor
    moved, info = sgnht(start, lambda x: -k * x, rng, eps=EPS, c=C, n_steps=60)
    assert info.n_refused == 2
    np.testing.assert_array_equal(moved[bad], start[bad])
    good = np.setdiff1d(np.arange(2000), bad)
    assert abs(info.temperature - 1) < 0.2
    assert abs(np.mean(moved[good] ** 2) - 1) < 0.2
    assert abs(np.mean(moved[good] * start[good])) < 0.2


@pytest.mark.parametrize("c", [0.0, 1.0])
def test_friction_and_momentum(c, rng):
    with pytest.raises(ValueError, match="0 < c < 1"):
        sgnht(np.zeros((5, 1)), np.negative, rng, eps=0.3, c=c, n_steps=1)


# -- in SGAIS ---------------------------------------------------------------------------------------


def sgais_errors(settings, n, rng, n_seeds):
    d = MAKE["sim_L"](n)
    rows, model = Rows.of(d["X"], d["y"]), LinearModel(5, noise_std=1.0)
    results = [SGAIS(proposal=None, **settings).run(model, rows, g) for g in rng.spawn(n_seeds)]
    error = np.array([r.log_evidence for r in results]) - model.exact_log_evidence(rows)
    return error, np.array([r.log_evidence_std for r in results])


def test_sgais(rng):
    error, std = sgais_errors(dict(move=SGNHT()), 60, rng, 3)
    assert np.mean((error / std) ** 2) < 1 + N_SIGMA * np.sqrt(2 / 3)


@pytest.mark.slow
def test_sgais_coverage(rng):
    """The particles are moved at all n, with mini-batches of the history from 500 rows."""
    error, std = sgais_errors(dict(move=SGNHT()), 2000, rng, 16)
    spread = np.sqrt(np.mean((error / std) ** 2))
    assert 0.8 - 3 / np.sqrt(32) < spread < 1.25 + 3 / np.sqrt(32)
    error, std = sgais_errors(dict(move=SGNHT()), 10_000, rng, 4)
    assert np.all(np.abs(error) < 4.5 * std)


@pytest.mark.slow
def test_raw_mini_batches_bias_sgais_less_than_sghmc(rng):
    """Without control variates the noise at 10⁴ rows is five times what is injected."""
    raw = dict(reservoir_size=None)
    cooled, _ = sgais_errors(raw | dict(move=SGNHT(control_variate=False)), 10_000, rng, 4)
    heated, _ = sgais_errors(raw | dict(move=SGHMC(control_variate=False)), 10_000, rng, 6)
    assert heated.mean() < -2.0 and np.mean(cooled**2) < np.mean(heated**2)
