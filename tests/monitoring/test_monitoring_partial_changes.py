"""A change in some of the columns: against all subsets of the columns, and found where one column changes."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from sgevidence import EvidenceMonitor
from sgevidence.monitoring import _series, segment
from sgevidence.monitoring._series import learn_columns


def over_subsets(gain):
    """Log density over that of columns that all go on, by all subsets that may have changed."""
    p, terms = len(gain), []
    for changed in itertools.product([False, True], repeat=p):
        k = sum(changed)
        if k:
            each = (1 / p) ** k * (1 - 1 / p) ** (p - k) / (1 - (1 - 1 / p) ** p)
            terms.append(np.log(0.5 * (k == p) + 0.5 * each) + gain[list(changed)].sum())
    return logsumexp(terms)


def check_subsets(rng):
    for p in (2, 3, 5):
        gain = rng.normal(size=(6, p)) * [[0.1], [1], [10], [100], [1e3], [0.0]]
        found = _series._log_run(gain)
        np.testing.assert_allclose(found, [over_subsets(one) for one in gain], rtol=1e-12, atol=1e-12)


def check_density(rng):
    """Over all values that a row of two columns may have, the probabilities of each run sum to one."""
    R, values = 5, 3
    gain, weight = np.zeros((R, 2)), np.zeros(R)
    for _ in range(8):
        log_z = np.log(rng.dirichlet(np.ones(values), size=(R, 2)))
        total = np.zeros(R)
        for row in itertools.product(range(values), repeat=2):
            of_row = np.take_along_axis(log_z, np.array(row)[None, :, None], axis=2)[..., 0]
            total += np.exp(learn_columns(gain.copy(), weight, of_row))
        np.testing.assert_allclose(total, 1.0, rtol=1e-12)
        seen = log_z[:, range(2), rng.integers(values, size=2)]
        weight = weight + learn_columns(gain, weight, seen)


def test_all_subsets_are_summed(rng):
    check_subsets(rng)


def test_rows_have_a_density(rng):
    check_density(rng)


def test_one_column_is_as_before(rng):
    log_z = rng.normal(size=(4, 1))
    np.testing.assert_array_equal(learn_columns(np.zeros((4, 1)), np.zeros(4), log_z), log_z[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 106))
def test_a_variance_that_changes_in_one_of_four_columns(seed):
    """The other three need not be learnt anew; heavy tails in one column of an old run were cheaper."""
    rng = np.random.default_rng([seed, 4, 9])
    X = rng.standard_normal((300, 4))
    X[150:, seed % 4] *= 3
    found = EvidenceMonitor().fit(X).change_points_
    assert len(found) == 1 and abs(found[0] - 150) < 12


def test_a_mean_that_changes_in_one_of_four_columns(rng):
    X = rng.standard_normal((110, 4))
    X[60:, 2] += 2.5
    found = segment(X).change_points
    assert len(found) == 1 and abs(found[0] - 60) < 6
