"""Searches, comparisons and checks have one answer in any units of the data, by default."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    EvidenceSearch,
    FullData,
    compare,
    evidence_scorer,
    predictive_check,
    replicate,
)

FAST = SGAIS(n_particles=60, max_particles=60)
UNIT, ORIGIN = np.array([1e4, 1e-3, 2.0]), np.array([3e6, -7.0, 1e5])


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((80, 3))
    X[:40] += 3.0
    return X, X @ [0.5, 0.0, -0.3] + rng.standard_normal(80)


@pytest.mark.slow
def test_a_search_over_components(rows):
    X = rows[0][20:60]
    mixture, numbers = BayesianGMM(random_state=0, sampler=FAST), {"n_components": [1, 2]}
    one, other = (EvidenceSearch(mixture, numbers).fit(Z) for Z in (X, X * UNIT + ORIGIN))
    assert one.best_params_ == other.best_params_ == {"n_components": 2}
    log_jacobian = 40 * np.log(UNIT).sum()
    assert one.best_estimator_.log_evidence_ - other.best_estimator_.log_evidence_ == pytest.approx(
        log_jacobian, abs=1e-6 + 4 * one.best_estimator_.log_evidence_std_
    )
    ways = dict(cv=FullData(), scoring=evidence_scorer), dict(cv=2)
    for way in ways:  # held-out rows are scored in the units of the others
        folds = [GridSearchCV(mixture, numbers, **way).fit(Z) for Z in (X, X * UNIT + ORIGIN)]
        assert folds[0].best_params_ == folds[1].best_params_
        scores = [fit.cv_results_["mean_test_score"] for fit in folds]
        of_one = log_jacobian if "scoring" in way else log_jacobian / 40
        np.testing.assert_allclose(scores[0] - scores[1], of_one, atol=0.3 if "scoring" in way else 0.05)


def test_comparisons_checks_and_replicates(rows):
    X, y = rows
    tables, checks, pools = [], [], []
    for Z, t in ((X, y), (X * UNIT + ORIGIN, 50.0 * y - 1e4)):
        fits = {str(some): BayesianLinearRegression(columns=some).fit(Z, t) for some in ([], [0], [0, 2])}
        tables.append(compare(fits)["probability"])
        checks.append(predictive_check(fits["[0, 2]"], Z, t, random_state=0).table["p"])
        pools.append(replicate(BayesianLinearRegression(), Z, t, n=2, random_state=0).log_evidence_)
    np.testing.assert_allclose(*tables, atol=1e-6)
    np.testing.assert_allclose(list(checks[0]), list(checks[1]), atol=0.12)  # replicates are other draws
    assert pools[0] - pools[1] == pytest.approx(80 * np.log(50.0), abs=1e-6)


def test_exposure_in_other_units(rows, rng):
    X, _ = rows
    exposure = rng.uniform(1.0, 30.0, 80)
    y = rng.poisson(exposure * np.exp(0.4 * X[:, 0] - 2.0))
    log_factors = []
    for unit in (1.0, 365.25):
        fits = [
            BayesianGLM(columns=some, random_state=0).fit(X, y, offset=np.log(unit * exposure))
            for some in ([], [0])
        ]
        assert not fits[1].warnings_
        log_factors.append(fits[1].log_evidence_ - fits[0].log_evidence_)
    assert log_factors[0] == pytest.approx(log_factors[1], abs=1e-6)
