"""A dozen rows of many columns: strata are summed exactly; and what single allocations make up."""

import numpy as np
import pytest
from enumeration import enumerated

from sgevidence import BayesianGMM
from sgevidence.history import Rows
from sgevidence.mixtures._allocation_proposal import Sample
from sgevidence.models import MixtureModel


@pytest.mark.parametrize("K, n, p", [(2, 9, 10), (3, 9, 10), (6, 7, 15)])
def test_a_fit_is_the_sum_over_all_allocations(K, n, p):
    """Heavy-tailed rows, of which many allocations hold little each."""
    X = np.random.default_rng([K, n, p]).standard_t(3, (n, p))
    fitted = BayesianGMM(K, random_state=0, standardize=False).fit(X)
    assert fitted.log_evidence_ == pytest.approx(enumerated(MixtureModel(K, p), Rows.of(X)), abs=1e-8)
    assert fitted.log_evidence_std_ < 0.1


def test_alone_is_what_one_allocation_makes_up():
    """By weight: of four draws the second and the last are one allocation's, and the last counts twice."""
    terms = np.log([[0.5, 0.5, 1e-9], [0.9, 0.05, 0.05], [0.4, 0.4, 0.2], [1e-9, 1e-9, 1.0]])
    log_w = np.log([1.0, 1.0, 1.0, 2.0])
    sample = Sample(
        np.zeros((4, 1)), log_w + np.log(np.exp(terms).sum(axis=1)), terms, np.ones(4, dtype=bool)
    )
    assert sample.alone == pytest.approx(3 / 5)
