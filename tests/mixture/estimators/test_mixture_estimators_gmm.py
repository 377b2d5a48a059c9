"""Mixtures: the closed form of one component, and reports that do not depend on labels."""

import copy

import numpy as np
import pytest
from estimator_cases import data, estimator
from sklearn.metrics import adjusted_rand_score

from sgevidence.history import Rows

CENTRES = np.array([[-6.0, 0.0], [0.0, 6.0], [6.0, -2.0]])


@pytest.fixture(scope="module")
def clusters():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, size=300)
    return CENTRES[labels] + rng.standard_normal((300, 2)), labels


@pytest.fixture(scope="module")
def fitted(clusters):
    return estimator("gmm", n_components=3, n_particles=200, standardize=False).fit(clusters[0])


def test_one_component_has_the_closed_form_evidence():
    X, _ = data("gmm")
    est = estimator("gmm", n_components=1, n_particles=300, standardize=False).fit(X)
    assert abs(est.log_evidence_ - est._model.exact_log_evidence(Rows.of(X))) < 4 * est.log_evidence_std_ + 1


def relabelled(fitted, rng):
    """The same posterior, every particle in a labelling of its own."""
    shuffled = copy.copy(fitted)
    shuffled.particles_ = fitted.particles_.copy()
    slots = fitted._model.slots
    for theta in shuffled.particles_[1:]:
        theta[slots] = theta[slots[rng.permutation(3)]]
    return shuffled


def test_components_are_near_the_truth_although_particles_label_them_differently(fitted, rng):
    fitted = relabelled(fitted, rng)
    raw = fitted._model.parameters(fitted.particles_)["means"]
    assert raw[:, 0].std(axis=0).max() > 1  # the premise: a plain average would be meaningless
    order = np.argsort(fitted.means_[:, 0])
    np.testing.assert_allclose(fitted.means_[order], CENTRES, atol=0.5)
    np.testing.assert_allclose(fitted.covariances_, 1.0, atol=0.5)
    np.testing.assert_allclose(fitted.weights_, 1 / 3, atol=0.12)
    assert fitted.weights_.sum() == pytest.approx(1.0)


def test_no_report_depends_on_the_particles_labels(fitted, clusters, rng):
    shuffled = relabelled(fitted, rng)
    X, _ = clusters
    np.testing.assert_allclose(shuffled.means_, fitted.means_, rtol=1e-9)
    np.testing.assert_allclose(shuffled.predict_proba(X), fitted.predict_proba(X), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(shuffled.score_samples(X), fitted.score_samples(X), rtol=1e-9)


def test_rows_are_assigned_to_their_clusters(fitted, clusters):
    X, labels = clusters
    assert adjusted_rand_score(labels, fitted.predict(X)) > 0.97
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p.argmax(axis=1), fitted.predict(X))
    np.testing.assert_array_equal(
        estimator("gmm").fit_predict(data("gmm")[0]),
        estimator("gmm").fit(data("gmm")[0]).predict(data("gmm")[0]),
    )


def test_draws_have_the_moments_of_the_data_and_labels_in_the_slots_of_means(fitted, clusters):
    X, labels = fitted.sample(4000)
    assert X.shape == (4000, 2)
    np.testing.assert_array_equal(X, fitted.sample(4000)[0])  # an int seed repeats
    data_X = clusters[0]
    assert np.all(np.abs(X.mean(axis=0) - data_X.mean(axis=0)) < 5 * data_X.std(axis=0) / np.sqrt(300))
    np.testing.assert_allclose(X.std(axis=0), data_X.std(axis=0), rtol=0.15)
    for k in range(3):
        np.testing.assert_allclose(X[labels == k].mean(axis=0), fitted.means_[k], atol=0.5)
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1"):
        fitted.sample(0)


def test_score_is_the_mean_of_score_samples(fitted, clusters):
    assert fitted.score(clusters[0]) == pytest.approx(np.mean(fitted.score_samples(clusters[0])))
