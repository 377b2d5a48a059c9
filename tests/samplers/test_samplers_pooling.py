"""Pooled runs: an unbiased value, an error that covers, a test of the claims with its level and power."""

import numpy as np
import pytest
from mutants import broken
from scipy.stats import kstest

from sgevidence.samplers import DOUBTFUL_P_VALUE, pool


def draws(rng, size, errors=(0.3, 0.5, 0.2, 0.4, 0.3)):
    """(size, n) unbiased log evidences of truth 0 and their errors."""
    s = np.array(errors)
    return s * rng.standard_normal((size, len(s))) - 0.5 * s**2, s


def bias_in_errors(rng, pool=pool, size=1000):
    """Mean of the pooled evidence minus the truth, 1, in standard errors."""
    log_Z, s = draws(rng, size)
    found = np.exp([pool(z, s).log_evidence for z in log_Z])
    return (found.mean() - 1) / (found.std() / np.sqrt(size))


def test_the_pool_is_unbiased_and_its_error_covers(rng):
    assert abs(bias_in_errors(rng)) < 4
    log_Z, s = draws(rng, 1000)
    pools = [pool(z, s) for z in log_Z]
    z = np.array([one.log_evidence / one.log_evidence_std for one in pools])
    assert 0.75 < z.std() < 1.1  # not above one; below, because the scale factor never shrinks an error


@pytest.mark.parametrize(
    "wrong", ["float(np.sum(log_Z))", "float(log_sum_exp(log_Z + np.log(s**-2 / np.mean(s**-2)))) + 0.1"]
)
def test_a_wrong_pool_is_seen(wrong, rng):
    assert abs(bias_in_errors(rng, broken(pool, "float(log_sum_exp(log_Z))", wrong))) > 4


def test_the_p_value_is_uniform_if_the_claims_are_true(rng):
    log_Z, s = draws(rng, 1000)
    assert kstest([pool(z, s).p_value for z in log_Z], "uniform").pvalue > 1e-3


def test_power_that_the_documentation_promises(rng):
    log_Z, s = draws(rng, 1000, errors=(0.3,) * 5)
    caught = np.mean([pool(z, s / 3).p_value < DOUBTFUL_P_VALUE for z in log_Z])
    assert 0.76 < caught < 0.9


def test_a_run_that_missed_a_mode_does_not_pull_the_pool_down():
    """It claims least and is lowest: weighted by 1/s² the pool would be its −36."""
    found = pool(np.array([0.0, 0.1, -36.0]), np.array([0.3, 0.3, 0.05]))
    assert found.log_evidence == pytest.approx(np.log((1 + np.exp(0.1)) / 3), abs=1e-9)
    assert found.p_value < 1e-10 and found.log_evidence_std > 5
    (doubt,) = found.doubts("do this", of="seeds")
    assert "3 seeds disagree by 20.8" in doubt and doubt.endswith("do this")
