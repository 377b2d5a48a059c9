"""The harmonic mean: right where its variance is finite, too high elsewhere, and always with a warning."""

import numpy as np
import pytest
from scipy.stats import kstest

from sgevidence import EvidenceWarning
from sgevidence.exceptions import ImpossibleRowsError
from sgevidence.history import Rows
from sgevidence.kernels import MoveInfo
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel
from sgevidence.published import HarmonicMean
from sgevidence.samplers import Exact
from sgevidence.transitions import HMC

pytestmark = pytest.mark.filterwarnings("ignore:the harmonic mean")

#: A likelihood broader than the prior, so that 1/L has moments: the only case in which it works.
BROAD = LinearModel(1, False, coef_scale=0.3, noise_std=2.0)
X = np.ones((6, 1))
ROWS = Rows.of(X, [1.0, -0.5, 0.4, 2.5, 0.3, 1.1])


def check(rng):
    exact = BROAD.exact_log_evidence(ROWS)
    results = [HarmonicMean(2000).run(BROAD, ROWS, g) for g in rng.spawn(60)]
    z = [(r.log_evidence - exact) / r.log_evidence_std for r in results]
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.5, f"errors are {np.sqrt(np.mean(np.square(z))):.2f}"


def test_right_where_the_variance_is_finite(rng):
    check(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [("Weights(-ell)", "Weights(ell)"), ("-inverse.log_mean", "inverse.log_mean")],
    ids=["arithmetic mean", "sign"],
)
def test_a_mistake_is_seen(rng, install_broken, right, wrong):
    install_broken(HarmonicMean, "_run", right, wrong)
    with pytest.raises(AssertionError, match="errors are"):
        check(rng)


def test_too_high_on_the_hundred_rows_of_the_thesis(rng):
    model, rows = LinearModel(1, False, noise_std=1.0), Rows.of(np.ones((100, 1)), 2 + rng.normal(size=100))
    error = [HarmonicMean(10).run(model, rows, g).log_evidence for g in rng.spawn(50)]
    error = np.array(error) - model.exact_log_evidence(rows)
    assert np.median(error) > 2.5 and np.mean(error > 0) > 0.9


def test_a_warning_at_each_use(rng):
    for g in rng.spawn(2):
        with pytest.warns(EvidenceWarning, match="infinite variance") as caught:
            HarmonicMean(100).run(BROAD, ROWS, g)
        assert len(caught) == 1


class WithoutDraws(LinearModel):
    has_exact_posterior = False


class FailingDraws(LinearModel):
    def exact_posterior(self, rows, rng, size):
        raise ValueError("inside the formula")


def test_draws_by_hmc_are_from_the_posterior(rng):
    """The exact draws are taken away: HMC must give the same distribution, and the same estimate."""
    model = LinearModel(1, noise_std=1.0)
    rows = Rows.of(np.linspace(-1, 1, 40)[:, None], np.linspace(-2, 2, 40))
    exact = model.exact_posterior(rows, rng, 100_000)
    result = HarmonicMean(1000).run(WithoutDraws(1, noise_std=1.0), rows, rng)
    assert result.theta.shape == (1000, 2) and np.all(result.weights == 1 / 1000)
    assert min(kstest(a, b).pvalue for a, b in zip(result.theta.T, exact.T)) > 1e-4
    assert result.n_gradients > 0 and result.diagnostics["acceptance"] > 0.5


def test_a_cloud_in_one_place_is_seen(rng, monkeypatch):
    """The check above notices draws that are not from the posterior."""
    with pytest.raises(AssertionError):
        with monkeypatch.context() as patch:
            patch.setattr(HMC, "trajectories", gather)
            test_draws_by_hmc_are_from_the_posterior(rng)


@pytest.mark.parametrize("noise_std", [1.0, None])
@pytest.mark.parametrize("huge", [1e160, 1e200])
def test_impossible_rows_are_named(rng, noise_std, huge):
    """The formulas would overflow."""
    rows = Rows.of(np.ones((3, 1)), [1.0, huge, 2.0])
    with np.errstate(all="ignore"), pytest.raises(ImpossibleRowsError, match="1 row"):
        HarmonicMean(100).run(LinearModel(1, noise_std=noise_std), rows, rng)


def test_a_formula_that_fails_is_not_taken_for_none(rng):
    """An error inside of it must not be answered by the other algorithm."""
    with pytest.raises(ValueError, match="inside the formula"):
        HarmonicMean(100).run(FailingDraws(1, noise_std=1.0), ROWS, rng)


def gather(self, theta, *_):
    """All particles at the first."""
    return theta[:1] + 0 * theta, 0.0, MoveInfo(1, 1.0, 0, 1.0)


def test_mixtures_are_sampled(rng):
    """The left of two far components is as its own rows make it."""
    rows = Rows.of(np.r_[rng.normal(-4, 1, 30), rng.normal(4, 1, 30)][:, None])
    theta = HarmonicMean(400).run(MixtureModel(2, 1), rows, rng).theta
    left = np.min(theta[:, 2:4], axis=1)
    alone = Exact(4000).run(MixtureModel(1, 1), rows[:30], rng).theta[:, 1]
    assert kstest(left, alone).pvalue > 1e-4
