"""The statistical checks must be able to fail: kernels with one mistake each, and every one is caught."""

import pytest
from gaussian_target import check_hmc, check_random_walk, check_sghmc, check_sgld
from mutants import broken

from sgevidence.kernels import hmc, random_walk, sghmc, sgld

MUTANTS = {
    "sghmc: position moves before the momentum": (
        check_sghmc,
        sghmc,
        "v = v - alpha * v + eta * grad_log_target(theta) + xi  # line 5\n",
        "old, theta = theta, theta + v; v = v - alpha * v + eta * grad_log_target(old) + xi; continue\n",
    ),
    "sghmc: half the noise": (
        check_sghmc,
        sghmc,
        "2 * (alpha - np.asarray(beta_hat) * eta)",
        "alpha - np.asarray(beta_hat) * eta",
    ),
    "sghmc: noise of SGLD": (
        check_sghmc,
        sghmc,
        "alpha - np.asarray(beta_hat) * eta",
        "1 - np.asarray(beta_hat) * eta",
    ),
    "sghmc: variance taken for standard deviation": (check_sghmc, sghmc, "np.sqrt(noise)", "noise"),
    "sghmc: friction forgotten": (check_sghmc, sghmc, "v - alpha * v", "v"),
    "sghmc: momentum refreshed at each step": (check_sghmc, sghmc, "resample_momentum", "True"),
    "sgld: half the noise": (
        check_sgld,
        sgld,
        "2 * (1 - np.asarray(beta_hat) * eta)",
        "1 - np.asarray(beta_hat) * eta",
    ),
    "sgld: half the gradient": (
        check_sgld,
        sgld,
        "eta * grad_log_target(theta)",
        "0.5 * eta * grad_log_target(theta)",
    ),
    "sgld: variance taken for standard deviation": (check_sgld, sgld, "np.sqrt(noise)", "noise"),
    "hmc: no Metropolis test": (
        check_hmc,
        hmc,
        "np.log1p(-rng.random(len(theta))) < log_ratio",
        "log_ratio > -1e9",
    ),
    "hmc: kinetic energy forgotten": (
        check_hmc,
        hmc,
        "(log_p - log_p0) - 0.5 * np.sum(v**2 - v0**2, axis=1)",
        "log_p - log_p0",
    ),
    "hmc: last half step forgotten": (check_hmc, hmc, "v = v + 0.5 * eps * grad  # line 11", "pass"),
    "hmc: sign of the ratio": (check_hmc, hmc, "(log_p - log_p0)", "(log_p0 - log_p)"),
    "random walk: no Metropolis test": (
        check_random_walk,
        random_walk,
        "np.log1p(-rng.random(len(theta))) < log_p_new - log_p",
        "np.isfinite(log_p_new)",
    ),
    "random walk: stale density": (
        check_random_walk,
        random_walk,
        "np.where(accept, log_p_new, log_p)",
        "log_p",
    ),
    "random walk: test without the logarithm": (
        check_random_walk,
        random_walk,
        "np.log1p(-rng.random(len(theta)))",
        "-rng.random(len(theta))",
    ),
}


@pytest.mark.parametrize("check, kernel, right, wrong", MUTANTS.values(), ids=MUTANTS)
def test_broken_kernel_is_caught(rng, check, kernel, right, wrong):
    with pytest.raises(AssertionError, match=r"off by|p-values|n_refused"):
        check(broken(kernel, right, wrong), rng)


@pytest.mark.parametrize("check, kernel, V", [(check_sghmc, sghmc, 0.9), (check_sgld, sgld, 1.6)])
@pytest.mark.parametrize(
    "wrong", ["2 * np.asarray(beta_hat)", "0.5 * np.asarray(beta_hat)", "0 * np.asarray(beta_hat)"]
)
def test_broken_noise_correction_is_caught(rng, check, kernel, V, wrong):
    with pytest.raises(AssertionError, match="variance off"):
        check(broken(kernel, "np.asarray(beta_hat)", wrong), rng, V=V, beta_hat=V / 2)
