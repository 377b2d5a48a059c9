"""Independence proposals from the points of a cloud: the target stays, and walkers change modes."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.kernels import LocalDensity, independence

D, WIDTH, SHARE, AWAY = 3, 0.05, 0.1, 5.0


def log_target(x):
    """A tenth in a mode a twentieth as wide."""
    wide = np.log(1 - SHARE) - 0.5 * np.sum(x**2, axis=1)
    narrow = np.log(SHARE / WIDTH**D) - 0.5 * np.sum(((x - AWAY) / WIDTH) ** 2, axis=1)
    return np.logaddexp(wide, narrow)


def cloud(rng, size, share=SHARE):
    narrow = rng.random((size, 1)) < share
    return np.where(narrow, AWAY, 0.0) + np.where(narrow, WIDTH, 1.0) * rng.standard_normal((size, D))


def check_invariance(rng, start_share=SHARE, n_clouds=40, M=200, n_steps=15):
    """The share of the narrow mode and the second moments of both, over clouds that know little of them."""
    share, wide, narrow = [], [], []
    for _ in range(n_clouds):
        x = cloud(rng, M, start_share)
        density = LocalDensity.of(x, rng)
        x, *_ = independence(x, log_target, density, density.place, rng, n_steps=n_steps)
        there = np.all(np.abs(x - AWAY) < 10 * WIDTH, axis=1)
        share.append(there.mean())
        wide.append(np.mean(x[~there] ** 2))
        narrow += [] if not there.any() else [np.mean(((x[there] - AWAY) / WIDTH) ** 2)]
    for name, found, true in (("share", share, SHARE), ("wide", wide, 1.0), ("narrow", narrow, 1.0)):
        z = (np.mean(found) - true) / (np.std(found) / len(found) ** 0.5)
        assert abs(z) < 4.5, f"{name} is off by {z:.1f} errors"


def test_target_stays(rng):
    check_invariance(rng, n_clouds=15)


@pytest.mark.slow
def test_walkers_change_modes(rng):
    """From shares that are wrong by a factor of four to the right one."""
    check_invariance(rng, start_share=0.4, n_steps=40)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("independence", "log_target(new) - density.log_density(new, own)", "log_target(new)"),
        ("log_density", "... - self.log_det[:, None]", "..."),
        ("draw", "self.scales[i]", "2 * self.scales[i]"),
    ],
    ids=["no ratio", "no determinants", "wider than it says"],
)
def test_a_mistake_is_seen(rng, monkeypatch, install_broken, name, right, wrong):
    owner = LocalDensity if hasattr(LocalDensity, name) else None
    if owner is None:
        monkeypatch.setitem(globals(), name, broken(globals()[name], right, wrong))
    else:
        install_broken(owner, name, right, wrong)
    with pytest.raises(AssertionError, match="off by"):
        check_invariance(rng)


def test_own_center_is_left_out(rng):
    """q₋ⱼ is the mean over the others: draws never stem from j, and its density has no such term."""
    x = rng.standard_normal((60, 2)) * 1e-3
    x[7] += 50.0
    density = LocalDensity.of(x, rng)
    density.scales[7] *= 1e-6  # its own neighbours are far: as a center it would be seen at once
    others, _ = density.draw(np.full(4000, 7), rng)
    assert np.abs(others).max() < 40
    assert density.log_density(x[[7]], np.array([7]))[0] < density.log_density(x[[7]], np.array([-1]))[0] - 1


def test_no_density_of_too_few_or_equal_points(rng):
    assert LocalDensity.of(rng.standard_normal((15, 2)), rng) is None
    assert LocalDensity.of(np.zeros((100, 2)), rng) is None
    many = LocalDensity.of(rng.standard_normal((1200, 2)), rng)
    assert len(many.centers) == 500 and np.sum(many.place >= 0) == len(many.centers)
