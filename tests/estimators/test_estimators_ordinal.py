"""Ordered levels: evidence by importance sampling, two are a logistic regression, order, classes, streams."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp
from sklearn.base import is_classifier
from sklearn.utils import estimator_checks

from sgevidence import SGAIS, BayesianGLM, Group
from sgevidence.models import GLMModel, Ordinal
from sgevidence.samplers import Laplace

RNG = np.random.default_rng(4)
X = RNG.normal([0.0, 3.0], size=(80, 2))
LEVELS = np.digitize(X @ [1.0, -0.7] + RNG.logistic(size=80), [-3.0, -1.5, 0.5])
WORDS = np.array(["none", "mild", "severe", "fatal"])


def ordinal(**params):
    return BayesianGLM("ordinal", **{"random_state": 0} | params)


def by_importance(X, y, K, seed=0):
    """A t over (w, c₁, log gaps) that is fitted to its own draws; the prior from scipy's logistic density."""

    def log_joint(t):
        c = np.cumsum(np.column_stack([t[:, 2:3], np.exp(t[:, 3:])]), axis=1)
        prior = stats.norm.logpdf(t[:, :2]).sum(axis=1) + np.sum(np.log(np.arange(1, K)))  # log (K − 1)!
        prior = prior + stats.logistic.logpdf(c).sum(axis=1) + t[:, 3:].sum(axis=1)
        edges = np.column_stack([np.full(len(t), -np.inf), c, np.full(len(t), np.inf)])
        eta = t[:, :2] @ X.T
        mass = expit(edges[:, y + 1] - eta) - expit(edges[:, y] - eta)
        return prior + np.log(np.maximum(mass, 1e-300)).sum(axis=1)

    rng, mean, cov = np.random.default_rng(seed), np.r_[0, 0, -1.0, np.zeros(K - 2)], np.eye(K + 1)
    for size in (20_000, 20_000, 20_000, 40_000):
        q = stats.multivariate_t(mean, cov, df=7)
        theta = q.rvs(size, random_state=rng)
        log_w = log_joint(theta) - q.logpdf(theta)
        W = np.exp(log_w - logsumexp(log_w))
        mean, cov = W @ theta, 1.2 * np.cov(theta.T, aweights=W) + 1e-6 * np.eye(K + 1)
    exact = logsumexp(log_w) - np.log(size)
    return exact, np.std(np.exp(log_w - exact)) / size**0.5


def check_evidence():
    exact, error = by_importance(X - X.mean(axis=0), LEVELS, 4)
    est = ordinal(standardize=False).fit(X - X.mean(axis=0), LEVELS)
    assert error < 0.01 and est.log_evidence_std_ < 0.02
    assert abs(est.log_evidence_ - exact) < 4 * np.hypot(est.log_evidence_std_, error)


def test_evidence_of_four_levels():
    check_evidence()


def test_two_levels_are_a_logistic_regression():
    """Whose intercept −c has a logistic prior: here by weights between the two priors."""
    y = (LEVELS > 1).astype(int)
    two = ordinal(standardize=False).fit(X, y)
    logit = BayesianGLM("bernoulli", intercept_scale=2.0, standardize=False, random_state=0).fit(X, y)
    b = logit.posterior_samples()["intercept"]
    ratio = np.exp(stats.logistic.logpdf(b) - stats.norm.logpdf(b, scale=2.0))
    error = np.std(ratio) / np.mean(ratio) / np.sqrt(len(b) / 4)
    exact = logit.log_evidence_ + np.log(np.mean(ratio))
    assert abs(two.log_evidence_ - exact) < 4 * np.hypot(two.log_evidence_std_, error)


def test_predictions_of_levels():
    est = ordinal().fit(X, LEVELS)
    p = est.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(est.predict(X), np.argmax(p, axis=1))
    assert est.score(X, LEVELS) == np.mean(est.predict(X) == LEVELS) > 0.4
    draws = est.sample_y(X[:4], 2000, random_state=0)
    np.testing.assert_allclose(np.mean(draws[:, :, None] == np.arange(4), axis=1), p[:4], atol=0.05)
    c, w = est.posterior_samples()["thresholds"], est.posterior_samples()["coef"]
    np.testing.assert_allclose(np.mean(expit(c[:, 0:1] - w @ X.T), axis=0), p[:, 0], atol=0.01)
    assert np.all(np.diff(c, axis=1) > 0) and is_classifier(est)
    assert est.coef_[0] > 0.5 and est.coef_[1] < -0.2 and "thresholds[0]" in str(est.summary())


def test_levels_in_their_own_order():
    """As numbers, as classes=, and of an ordered categorical; the order of the alphabet is refused."""
    pd = pytest.importorskip("pandas")
    y = WORDS[LEVELS]
    numbers = ordinal().fit(X, LEVELS)
    named = ordinal().fit(X, y, classes=WORDS)
    frame = pd.Series(pd.Categorical(y, categories=WORDS, ordered=True))
    assert named.classes_.tolist() == WORDS.tolist()
    assert named.log_evidence_ == numbers.log_evidence_ == ordinal().fit(X, frame).log_evidence_
    np.testing.assert_array_equal(named.predict(X), WORDS[numbers.predict(X)])
    np.testing.assert_array_equal(named.score_samples(X, y), numbers.score_samples(X, LEVELS))
    upside_down = ordinal().fit(X, y, classes=WORDS[::-1])
    std = np.hypot(named.log_evidence_std_, upside_down.log_evidence_std_)
    assert abs(upside_down.log_evidence_ - named.log_evidence_) < 4 * std
    for wrong, words in (
        (dict(y=y), "whose order is not known"),
        (dict(y=y, classes=WORDS[:3]), "not among the classes"),
        (dict(y=y, classes=[*WORDS, "mild"]), "has a level twice"),
        (dict(y=np.ones(80)), "y has one level"),
        (dict(y=X[:, 0]), "[Uu]nknown label type"),
    ):
        with pytest.raises(ValueError, match=words):
            ordinal().fit(X, **wrong)


def test_a_level_that_no_row_has():
    est = ordinal().fit(X, LEVELS, classes=[0, 1, 2, 3, 4])
    p = est.predict_proba(X)
    assert p.shape == (80, 5) and 0 < p[:, 4].mean() < 0.05
    assert est.log_evidence_ < ordinal().fit(X, LEVELS).log_evidence_


def test_a_stream_of_levels():
    whole = ordinal().fit(X, LEVELS)
    est = ordinal(units=whole.units_).partial_fit(X[:30], LEVELS[:30], classes=range(4))
    est.partial_fit(X[30:], LEVELS[30:])
    assert abs(est.log_evidence_ - whole.log_evidence_) < 4 * est.log_evidence_std_ + 0.02


def test_levels_of_groups():
    """A group needs no intercept either, and no column at all is a model."""
    subject = np.repeat(np.arange(10), 8)
    data = np.column_stack([X[:, :1], subject])
    y = np.digitize(X[:, 0] + 2.0 * RNG.standard_normal(10)[subject] + RNG.logistic(size=80), [-1.0, 1.0])
    groups = ordinal(terms=[Group(1)]).fit(data, y)
    plain = ordinal(columns=[0]).fit(data, y)
    assert groups.log_evidence_ > plain.log_evidence_ + 2 > ordinal(columns=[]).fit(data, y).log_evidence_
    assert "intercept" not in groups.posterior_samples()
    none = ordinal(terms=[Group(1, scale=1e-4)]).fit(data, y)
    std = np.hypot(none.log_evidence_std_, plain.log_evidence_std_)
    assert abs(none.log_evidence_ - plain.log_evidence_) < 4 * std + 0.002


@pytest.mark.parametrize(
    "check", ["check_classifiers_classes", "check_estimators_pickle", "check_methods_subset_invariance"]
)
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_scikit_learn_check(check):
    est = ordinal(sampler=SGAIS(n_particles=30, max_particles=30), standardize=False)
    if check != "check_classifiers_classes":  # which has strings without an order
        getattr(estimator_checks, check)("BayesianGLM", est)


def test_number_of_levels():
    with pytest.raises(ValueError, match="two or more"):
        Ordinal(n_levels=1)
    model = GLMModel(1, Ordinal(n_levels=3), fit_intercept=False)
    assert model.n_params == 3 and model.parameters(np.zeros((4, 3)))["thresholds"].shape == (4, 2)
    laplace = ordinal(sampler=Laplace()).fit(X, LEVELS)
    assert abs(laplace.log_evidence_ - ordinal().fit(X, LEVELS).log_evidence_) < 0.1
