"""Mixtures with many components: seeds agree, and a search and an averager choose the same number."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from sgevidence import BayesianGMM, EvidenceModelAverager, FullData, evidence_scorer


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


DATA = {
    "wine": lambda: load_wine().data,
    "breast cancer": lambda: load_breast_cancer().data[:, :10],
    "iris": lambda: load_iris().data,
    "digits": lambda: PCA(8, random_state=0).fit_transform(load_digits().data),
}
#: Nats of an error bar of 0, which one component has: its evidence is a closed form.
EXACT = 1e-8
#: By a prototype of other code, to some hundredths.
KNOWN = {("wine", 3): -2784.31, ("wine", 4): -2755.17, ("wine", 5): -2749.1}


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
def test_seeds_agree_within_their_errors(rng, name):
    X = standardised(DATA[name]())
    for K in range(1, 7) if len(X) < 200 else (1, 3, 5):
        fits = [BayesianGMM(K, random_state=int(rng.integers(2**31))).fit(X) for _ in range(2)]
        log_Z = np.array([fit.log_evidence_ for fit in fits])
        std = np.array([fit.log_evidence_std_ for fit in fits])
        assert std.max() < 0.3 and not any(fit.warnings_ for fit in fits), (K, log_Z, std)
        w = np.maximum(std, EXACT) ** -2.0
        center = np.sum(w * log_Z) / np.sum(w)
        assert np.all(abs(log_Z - center) < np.maximum(4 * std, 0.02)), (K, log_Z, std)
        if (name, K) in KNOWN:
            assert abs(center - KNOWN[name, K]) < 0.15


@pytest.mark.slow
def test_eight_components_for_two_correlated_groups(rng):
    """Annealing was 36 nats apart from seed to seed."""
    sign = rng.choice([-1.0, 1.0], size=600)
    x = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=600)
    X = np.column_stack([x[:, 0] + 2 * sign, sign * x[:, 1]])
    fits = [BayesianGMM(8, random_state=int(rng.integers(2**31))).fit(X) for _ in range(2)]
    log_Z, std = (
        np.array([getattr(fit, name) for fit in fits]) for name in ("log_evidence_", "log_evidence_std_")
    )
    assert np.median(std) < 0.5 and np.ptp(log_Z) < 2.0
    assert np.all(abs(log_Z - np.median(log_Z)) < 4 * np.hypot(std, np.median(std))), (log_Z, std)


@pytest.mark.parametrize(
    "name, best",
    [
        pytest.param("wine", 6, marks=pytest.mark.nightly),
        pytest.param("iris", 3, marks=pytest.mark.slow),
    ],
)
def test_a_search_and_an_averager_choose_the_same_number_of_components(rng, name, best):
    X, seed = standardised(DATA[name]()), int(rng.integers(2**31))
    K = range(1, 7)
    search = GridSearchCV(
        BayesianGMM(random_state=seed), {"n_components": list(K)}, scoring=evidence_scorer, cv=FullData()
    ).fit(X)
    averager = EvidenceModelAverager([(str(k), BayesianGMM(k)) for k in K], random_state=seed + 1).fit(X)
    assert search.best_params_["n_components"] == K[np.argmax(averager.weights_)] == best
