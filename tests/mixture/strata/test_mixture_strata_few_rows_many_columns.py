"""A dozen rows of many columns: strata are summed exactly."""

import numpy as np
import pytest
from enumeration import enumerated

from sgevidence import BayesianGMM
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel


@pytest.mark.parametrize("K, n, p", [(2, 9, 10), (3, 9, 10), (6, 7, 15)])
def test_a_fit_is_the_sum_over_all_allocations(K, n, p):
    """Heavy-tailed rows, of which many allocations hold little each."""
    X = np.random.default_rng([K, n, p]).standard_t(3, (n, p))
    fitted = BayesianGMM(K, random_state=0, standardize=False).fit(X)
    assert fitted.log_evidence_ == pytest.approx(enumerated(MixtureModel(K, p), Rows.of(X)), abs=1e-8)
    assert fitted.log_evidence_std_ < 0.1
