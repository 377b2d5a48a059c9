"""Prior sampling: right within its own error where it can work, and a warning where it cannot."""

import warnings

import numpy as np
import pytest
from error_bars import check_coverage, z_scores

from sgevidence import EvidenceWarning
from sgevidence.history import Rows
from sgevidence.models import LinearModel
from sgevidence.published import PriorSampling

MODEL = LinearModel(1, noise_std=1.0)
X = np.linspace(-1, 1, 6)[:, None]
ROWS = Rows.of(X, X[:, 0] + [0.3, -0.5, 0.1, 0.8, -0.2, -0.4])
EXACT = MODEL.exact_log_evidence(ROWS)


def check(rng, n_seeds=40):
    check_coverage(z_scores(PriorSampling(1000), MODEL, ROWS, EXACT, rng, n_seeds))


def test_covers_the_exact_value(rng):
    check(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("weights.log_mean", "np.mean(weights.log_w)"),
        ("np.sqrt(weights.relative_variance)", "np.sqrt(weights.relative_variance) / 3"),
        ("model.sum_log_likelihood(theta[-1], rows)", "model.log_joint(theta[-1], rows)"),
    ],
    ids=["mean of logs", "a third of the error", "prior counted twice"],
)
def test_a_mistake_is_seen(rng, install_broken, right, wrong):
    install_broken(PriorSampling, "_run", right, wrong)
    with pytest.raises(AssertionError, match=r"claimed|outliers"):
        check(rng)


def test_weighted_draws_are_from_the_posterior(rng):
    result = PriorSampling(50_000).run(MODEL, ROWS, rng)
    exact = MODEL.exact_posterior(ROWS, rng, 200_000)
    ess = result.diagnostics["ess"]
    mean = result.weights @ result.theta
    assert np.all(np.abs(mean - exact.mean(axis=0)) < 5 * exact.std(axis=0) / np.sqrt(ess))
    variance = result.weights @ (result.theta - mean) ** 2
    np.testing.assert_allclose(variance, exact.var(axis=0), rtol=5 * np.sqrt(2 / ess))


def test_batches_are_one_sample_and_the_work_is_counted(rng):
    result = PriorSampling(5000).run(MODEL, ROWS, rng)  # two thousand at a time
    assert result.theta.shape == (5000, 2) and len(np.unique(result.theta)) == 10_000
    assert (result.n_likelihoods, result.n_gradients) == (30_000, 0)
    assert result.path["log_evidence"].tolist() == [result.log_evidence]


def test_its_failure_is_reported():
    """Fig. 3.2: ten draws and a hundred rows.  Far too low, and the error bar is below one nat."""
    rng = np.random.default_rng(0)
    model, rows = LinearModel(1, False, noise_std=1.0), Rows.of(np.ones((100, 1)), 2 + rng.normal(size=100))
    with pytest.warns(EvidenceWarning, match=r"only \d.\d of 10 draws count"):
        result = PriorSampling(10).run(model, rows, rng)
    assert result.log_evidence < model.exact_log_evidence(rows) - 3
    assert result.log_evidence_std < 1
    assert np.all(result.weights > 0) and result.weights.sum() == pytest.approx(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PriorSampling(100_000).run(model, rows, rng)


class Impossible(LinearModel):
    def sum_log_likelihood(self, theta, rows):
        return np.full(len(theta), -np.inf)


def test_impossible_rows_are_refused(rng):
    with pytest.raises(ValueError, match="zero or not a number for all 10 draws"):
        PriorSampling(10).run(Impossible(1, noise_std=1.0), ROWS, rng)
