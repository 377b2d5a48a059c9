"""Effective draws of chains whose autocorrelation time is known; R̂ of chains that differ."""

import numpy as np
import pytest
from chains import autoregressive

from sgevidence.bridging import _draws
from sgevidence.bridging._draws import mixing, split_mixing


def check(rng, rho, C):
    """τ = (1 + ρ) / (1 − ρ)."""
    found = [mixing(autoregressive(g, C, 8000 // C, 1, rho)[..., 0]) for g in rng.spawn(20)]
    ratio = np.mean([m.n_effective for m in found]) / (8000 * (1 - rho) / (1 + rho))
    assert 0.8 < ratio < 1.15
    assert max(m.r_hat for m in found) < 1.05


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("C", [1, 4])
def test_autoregressive_chains(rng, rho, C):
    check(rng, rho, C)


@pytest.mark.parametrize(
    "name, right, wrong, rho",
    [
        ("_time", "-1.0 + 2.0 * ...", "2.0 * ...", 0.0),
        ("_time", "-1.0 + 2.0 * ...", "-1.0 + ...", 0.9),
        ("mixing", "1.0 - (W - s) / V", "1.0 - (W + s) / V", 0.9),
    ],
)
def test_power_of_autoregressive_chains(rng, monkeypatch, install_broken, name, right, wrong, rho):
    install_broken(_draws, name, right, wrong)
    monkeypatch.setitem(globals(), "mixing", _draws.mixing)
    with pytest.raises(AssertionError):
        check(rng, rho, 4)


def test_a_draw_is_worth_no_more_than_one(rng):
    assert mixing(autoregressive(rng, 4, 1000, 1, -0.8)[..., 0]).n_effective == 4000


def test_constants_and_chains_that_stand_still():
    assert mixing(np.ones((3, 40)))[:2] == (120.0, 1.0)
    stuck = mixing(np.repeat([[0.0], [1.0], [2.0]], 40, axis=1))
    assert stuck.r_hat == np.inf and stuck.n_effective < 6


def test_ranks_see_place_and_width(rng):
    x = np.tan(np.pi * (rng.random((4, 500)) - 0.5))  # no mean, no variance
    assert split_mixing(x).r_hat < 1.05 and split_mixing(x).n_effective > 1000
    assert split_mixing(x + 3.0 * np.arange(4)[:, None]).r_hat > 1.2
    assert split_mixing(x * np.array([1, 1, 1, 5])[:, None]).r_hat > 1.05
