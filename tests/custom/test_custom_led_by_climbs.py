"""A mode that few climbs of a survey meet, so that the survey does not answer, and particles do not find.

The amplitude of a sine is integrated in closed form, its frequency over a grid.
"""

import autograd.numpy as anp
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from sgevidence import BayesianModel
from sgevidence.answers import _proposals as module

HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
STD = np.array([1.0, 1.5])


def rows(seed):
    """Sorted rows of which a few weigh as much as 200."""
    rng = np.random.default_rng([seed, 9])
    x = np.sort(2 * rng.normal(size=240))
    y = 1.2 * np.sin(1.3 * x) * (1 + 0.3 * (x > 0)) + rng.normal(size=240)
    weight = rng.choice([1e-3, 0.0, 200.0], p=[0.3, 0.5, 0.2], size=240)
    return x[:60], y[:60], weight[:60]


def exact(x, y, weight):
    w = np.linspace(-12, 12, 200_001)
    parts = []
    for some in np.array_split(w, 100):
        sine = np.sin(some[:, None] * x)
        precision, slope = 1 + sine**2 @ weight, sine @ (weight * y)
        parts.append(
            0.5 * slope**2 / precision - 0.5 * np.log(precision) + stats.norm.logpdf(some, 0, STD[1])
        )
    constant = -weight.sum() * HALF_LOG_2PI - 0.5 * weight @ y**2
    return logsumexp(np.concatenate(parts)) + np.log(w[1] - w[0]) + constant


def fitted(random_state, x, y, weight):
    def log_likelihood(theta, X, y):
        return -0.5 * (y - theta[:, :1] * anp.sin(theta[:, 1:] * X[:, 0])) ** 2 - HALF_LOG_2PI

    def log_prior(theta):
        return -0.5 * anp.sum((theta / STD) ** 2, axis=1) - np.log(STD).sum() - 2 * HALF_LOG_2PI

    model = BayesianModel(
        log_likelihood,
        sample_prior=lambda rng, size: STD * rng.standard_normal((size, 2)),
        log_prior=log_prior,
        random_state=random_state,
    )
    return model.fit(x[:, None], y, sample_weight=weight)


def check(seed, random_state):
    """No further off than a mirror image that is met by none, and not without a warning."""
    x, y, weight = rows(seed)
    model = fitted(random_state, x, y, weight)
    error = model.log_evidence_ - exact(x, y, weight)
    assert abs(error) < np.log(2) + 4 * model.log_evidence_std_
    assert abs(error) < 4 * model.log_evidence_std_ + 0.01 or model.warnings_


@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("random_state", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_what_climbs_have_met_is_not_forgotten(random_state):
    check(2, random_state)


@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_modes_that_are_forgotten_are_caught(install_broken):
    lead = "Declined(doubt, found._replace(doubts=(LEAD.format(doubt),)))"
    install_broken(module, "surveyed_answer", lead, "Declined(doubt)")
    with pytest.raises(AssertionError):
        for random_state in (1, 2):
            check(2, random_state)
