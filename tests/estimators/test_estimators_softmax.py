"""Softmax regression: averaged probabilities and labels of any kind."""

import numpy as np
import pytest
from estimator_cases import data, estimator, part

NAMES = np.array(["ant", "bee", "cat"])


@pytest.fixture(scope="module")
def fitted():
    X, y = data("softmax")
    return estimator("softmax", standardize=False).fit(X, NAMES[y])


def test_probabilities_are_averaged_over_particles(fitted):
    X, _ = data("softmax")
    draws = fitted._model.parameters(fitted.particles_)
    logits = np.einsum("mkp,np->mnk", draws["coef"], X) + draws["intercept"][:, None]
    p = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    expected = np.tensordot(fitted.particle_weights_, p, axes=1)
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=1e-9)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.predict(X), NAMES[np.argmax(expected, axis=1)])
    np.testing.assert_allclose(
        fitted.score_samples(X), np.sum(expected * np.log(expected), axis=1), rtol=1e-9
    )


def test_string_labels_are_the_same_model_as_numbers(fitted):
    X, y = data("softmax")
    numbers = estimator("softmax", standardize=False).fit(X, y)
    np.testing.assert_array_equal(numbers.particles_, fitted.particles_)
    assert numbers.data_fingerprint_ == fitted.data_fingerprint_
    assert fitted.classes_.tolist() == NAMES.tolist()
    assert fitted.score(X, NAMES[y]) == numbers.score(X, y) > 0.6
    assert fitted.coef_.shape == fitted.coef_std_.shape == (3, 2)
    assert fitted.intercept_.shape == (3,)


def test_draws_are_labels_with_the_predicted_frequencies(fitted):
    X = np.array([[0.3, -0.2]])
    draws = fitted.sample_y(X, n_samples=3000, random_state=1)[0]
    p = fitted.predict_proba(X)[0]
    frequency = np.mean(draws[:, None] == fitted.classes_, axis=0)
    assert np.all(np.abs(frequency - p) < 5 * np.sqrt(p * (1 - p) / 3000) + 1e-3)


def test_decision_function_is_log_odds_for_two_classes_and_log_probability_for_more(fitted):
    X, y = data("softmax")
    np.testing.assert_array_equal(fitted.decision_function(X), fitted.predict_log_proba(X))
    two = estimator("softmax").fit(X, y == 1)
    p = two.predict_proba(X)
    np.testing.assert_allclose(two.decision_function(X), np.log(p[:, 1] / p[:, 0]), rtol=1e-6, atol=1e-9)
    assert two.coef_.shape == (2, 2)  # both weight vectors are kept


def test_a_class_that_has_not_come_yet_keeps_its_prior():
    X, y = part("softmax", 0, 90)
    known = y < 2
    est = estimator("softmax").partial_fit(X[known], y[known], classes=[2, 1, 0])
    assert est.classes_.tolist() == [0, 1, 2]
    assert est.predict_proba(X)[:, 2].mean() < 0.2
    est.partial_fit(X[~known], y[~known])
    assert est.n_samples_seen_ == 90


def test_a_class_of_weight_zero_is_not_a_class():
    X, y = data("softmax")
    assert estimator("softmax").fit(X, y, sample_weight=(y < 2)).classes_.tolist() == [0, 1]


def test_a_single_class_is_certain():
    X, _ = data("softmax")
    est = estimator("softmax").fit(X, np.full(len(X), "only"))
    assert est.log_evidence_ == pytest.approx(0.0, abs=1e-5)
    assert est.log_evidence_std_ == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(est.predict_proba(X), 1.0)
    assert set(est.predict(X)) == {"only"}


def test_without_intercept():
    est = estimator("softmax", fit_intercept=False).fit(*data("softmax"))
    assert est.intercept_ == 0.0
    np.testing.assert_allclose(est.predict_proba(np.zeros((1, 2))), 1 / 3)
