"""The fused sum of a mixture where its terms cancel: far rows, far groups, and both precisions."""

from dataclasses import replace

import numpy as np
import pytest

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel

pytestmark = pytest.mark.usefixtures("double_precision")


def clouds(rng, far):
    """Rows of which one lies far out, and points near the posterior: a component of its own for that one."""
    X = rng.normal(size=(80, 2))
    X[17] = far
    model = MixtureModel(2, 2)
    theta = np.zeros((5, model.n_params))
    theta[:, 2:4] = rng.normal(size=(5, 2)) / 9
    theta[:, 4:6] = 0.8 * far
    theta[:, 8:10] = 2 * np.log(0.5 * abs(far))
    theta[:, 6:8] = rng.normal(size=(5, 2)) / 9
    return model, theta, Rows.of(X)


def row_by_row(model, theta, rows):
    """No term cancels where deviations are formed first."""
    return model.log_likelihood(theta, rows) @ rows.weight


@pytest.mark.parametrize("far", [1e3, 1e8, -1e12, 1e18])
def test_a_far_row_takes_nothing_from_the_others(far, rng):
    model, theta, rows = clouds(rng, far)
    expected = row_by_row(model, theta, rows)
    np.testing.assert_allclose(model.sum_log_likelihood(theta, rows), expected, rtol=0, atol=1e-3)
    value, grad = model.in_double_precision()._value_and_grad_log_likelihood(theta, rows)
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-6)
    h = 1e-4
    up, down = theta.copy(), theta.copy()
    up[:, 6] += h  # log variance of the near component: where a lost digit shows
    down[:, 6] -= h
    slope = (row_by_row(model, up, rows) - row_by_row(model, down, rows)) / (2 * h)
    np.testing.assert_allclose(grad[:, 6], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("offset", [2024.0, 1e9])
def test_rows_far_from_zero_are_measured_from_their_mean(offset, rng):
    model, theta = MixtureModel(2, 1), np.zeros((4, 6))
    theta[:, 2:4] = offset + rng.normal(size=(4, 2))
    rows = Rows.of(offset + rng.normal(size=(100, 1)))
    value = model.in_double_precision().sum_log_likelihood(theta, rows)
    np.testing.assert_allclose(value, row_by_row(model, theta, rows), rtol=0, atol=1e-6)


def test_groups_far_from_each_other_are_summed_row_by_row(rng):
    """No centre serves two tight groups 10⁸ apart: a fused sum would lose the digits."""
    X = np.concatenate([rng.normal(size=(50, 1)), 1e8 + rng.normal(size=(50, 1))])
    model, theta = MixtureModel(2, 1), np.zeros((3, 6))
    theta[:, 3] = 1e8
    rows = Rows.of(X)
    np.testing.assert_allclose(
        model.sum_log_likelihood(theta, rows), row_by_row(model, theta, rows), rtol=1e-12
    )


def test_rows_summed_one_by_one_come_in_blocks_of_their_own(rng, monkeypatch):
    """Of a fused sum's many rows all deviations at once would be gigabytes; the gradient is of all blocks."""
    model, X = MixtureModel(2, 3), rng.normal(size=(300, 3))
    theta, rows, asked = model.sample_prior(rng, 4), Rows.of(X, weight=rng.exponential(size=300)), []
    value, grad = model.value_and_grad_log_joint(theta, rows)

    class InBlocks(MixtureModel):
        evaluation = replace(MixtureModel.evaluation, block_elements=400, fused_elements=10**6)

        def log_likelihood(self, theta, rows):
            asked.append(len(rows))
            return super().log_likelihood(theta, rows)

    monkeypatch.setattr("sgevidence.mixture.models._gaussian.loses_digits", lambda *_: True)
    model = InBlocks(2, 3)
    np.testing.assert_allclose(model.log_joint(theta, rows), value, rtol=1e-6)
    found = model.value_and_grad_log_joint(theta, rows)
    np.testing.assert_allclose(found[0], value, rtol=1e-6)
    np.testing.assert_allclose(found[1], grad, rtol=1e-5, atol=1e-3)
    assert asked == 2 * [100, 100, 100]
