"""Censored times: published likelihoods, identities with counts, medians, survival, and where event goes."""

import numpy as np
import pytest
from scipy import stats
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_validate

from sgevidence import (
    BayesianGLM,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    EvidenceSearch,
    FullData,
    Group,
    RowSource,
    compare,
    evidence_scorer,
    predictive_check,
)
from sgevidence.estimators import concordance
from sgevidence.history import Rows
from sgevidence.io import load, save
from sgevidence.models import Bounded, ExponentialTimes, GLMModel, Weibull
from sgevidence.samplers import Laplace

#: Remission in weeks under 6-mercaptopurine and placebo (Freireich et al. 1963; R's MASS::gehan).
DRUG = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
WEEKS = np.array([*DRUG, 1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], dtype=float)
RELAPSED = np.r_[np.arange(21) < 9, np.ones(21, dtype=bool)]
PLACEBO = np.repeat([0.0, 1.0], 21)[:, None]
TIMES = ("weibull", "lognormal", "loglogistic", "exponential")
RNG = np.random.default_rng(5)
X = RNG.standard_normal((60, 2))
T = np.exp(X @ [0.6, -0.3] + 1.0) * RNG.exponential(size=60) ** 0.7
CLOCK = 6.0 * RNG.exponential(size=60)
EVENT, T = T < CLOCK, np.minimum(T, CLOCK)


def glm(family="weibull", **params):
    return BayesianGLM(**{"family": family, "random_state": 0} | params)


#: Maximum likelihood by R's survreg(Surv(time, cens) ~ treat, MASS::gehan): treat = control, intercept,
#: scale, and log likelihood.
PUBLISHED = [
    (Weibull(), [-1.267, 3.516], 0.732, -106.579),
    (ExponentialTimes(), [-1.527, 3.686], 1.0, -108.524),
]


@pytest.mark.parametrize("family, coefficients, scale, log_likelihood", PUBLISHED)
def test_log_likelihood_of_published_estimates(family, coefficients, scale, log_likelihood):
    """The estimates are the mode, where a step of their rounding changes nothing."""
    model = GLMModel(1, Bounded(family))
    at_scale = [stats.norm.ppf(stats.t(3).cdf(scale) * 2 - 1)] if family.own else []
    theta = np.array([[*coefficients, *at_scale]])
    bounds = [WEEKS, np.where(RELAPSED, WEEKS, np.inf), np.full(42, -np.inf)]
    rows = Rows.of(np.column_stack([PLACEBO, *bounds]), WEEKS)
    assert model.sum_log_likelihood(theta, rows)[0] == pytest.approx(log_likelihood, abs=1e-3)
    assert np.all(abs(model.derivatives(theta[0], rows)[1]) < 0.06)


@pytest.mark.parametrize("standardize", [True, False])
def test_exponential_times_are_counts_of_events(standardize):
    """With the time watched as exposure: one event or none, at a rate e^(−η)."""
    params = dict(standardize=standardize, coef_scale=0.7, fit_intercept=True)
    times = glm("exponential", **params).fit(X, T, event=EVENT)
    counts = glm("poisson", **params).fit(X, EVENT, offset=np.log(T))
    exact = counts.log_evidence_ - np.sum(np.log(T[EVENT]))
    std = np.hypot(times.log_evidence_std_, counts.log_evidence_std_)
    assert abs(times.log_evidence_ - exact) < 4 * std
    np.testing.assert_allclose(times.coef_, -counts.coef_, atol=0.03)


def test_a_weibull_of_one_scale_is_exponential():
    narrow = glm(Weibull(scale=stats.uniform(0.9999, 2e-4))).fit(X, T, event=EVENT)
    std = np.hypot(narrow.log_evidence_std_, 0.005)
    assert abs(narrow.log_evidence_ - glm("exponential").fit(X, T, event=EVENT).log_evidence_) < 4 * std


def test_lognormal_times_are_gaussian_logarithms():
    """Without censoring, but for the Jacobian and the units."""
    times = glm("lognormal", standardize=False).fit(X, T)
    numbers = glm("gaussian", standardize=False).fit(X, np.log(T))
    exact = numbers.log_evidence_ - np.sum(np.log(T))
    std = np.hypot(times.log_evidence_std_, numbers.log_evidence_std_)
    assert abs(times.log_evidence_ - exact) < 4 * std


def check_predictions(family):
    est = glm(family).fit(X, T, event=EVENT)
    draws = est.sample_y(X[:5], 3000, random_state=1)
    at = np.array([0.0, 0.5, 2.0, 9.0])
    survival = est.predict_survival(X[:5], at)
    np.testing.assert_allclose(survival, (draws[:, :, None] > at).mean(axis=1), atol=0.035)
    assert np.all(survival[:, 0] == 1) and np.all(np.diff(survival) < 0)
    median = est.predict(X[:5])
    np.testing.assert_allclose([est.predict_survival(X[k : k + 1], [median[k]])[0, 0] for k in range(5)], 0.5)
    censored = est.score_samples(X[:5], np.full(5, 2.0), event=False)
    np.testing.assert_allclose(np.exp(censored), survival[:, 2])
    h = 1e-4
    slope = (est.predict_survival(X[:5], [2.0 - h]) - est.predict_survival(X[:5], [2.0 + h]))[:, 0] / (2 * h)
    np.testing.assert_allclose(np.exp(est.score_samples(X[:5], np.full(5, 2.0))), slope, rtol=1e-5)


@pytest.mark.parametrize(
    "family",
    [pytest.param(one, marks=[pytest.mark.slow] * (one in ("weibull", "loglogistic"))) for one in TIMES],
)
def test_medians_survival_and_scores_are_of_one_distribution(family):
    check_predictions(family)


def test_an_offset_makes_times_longer():
    offset = RNG.standard_normal(60)
    est = glm("exponential").fit(X, T * np.exp(offset), event=EVENT, offset=offset)
    plain = glm("exponential").fit(X, T, event=EVENT)
    assert est.log_evidence_ == pytest.approx(plain.log_evidence_ - offset @ EVENT, abs=0.03)
    np.testing.assert_allclose(est.predict(X[:3], offset=1.0), np.e * est.predict(X[:3], offset=0.0))
    same = est.predict_survival(X[:3], [2.0], offset=0.0)
    np.testing.assert_allclose(est.predict_survival(X[:3], [2 * np.e], offset=1.0), same)


@pytest.mark.parametrize("family", TIMES)
def test_groups_that_share_a_frailty(family):
    """One with next to no spread is the model without."""
    data, group = np.column_stack([X, np.arange(60) % 12]), [Group(2, scale=1e-4)]
    frail = glm(family, terms=group).fit(data, T, event=EVENT)
    plain = glm(family).fit(X, T, event=EVENT)
    std = np.hypot(frail.log_evidence_std_, plain.log_evidence_std_)
    assert abs(frail.log_evidence_ - plain.log_evidence_) < 4 * std + 0.002
    np.testing.assert_allclose(frail.predict(data[:5]), plain.predict(X[:5]), rtol=0.05)


@pytest.mark.slow
def test_a_stream_has_the_evidence_of_all_rows(tmp_path):
    whole = glm().fit(X, T, event=EVENT)
    est = glm(units=whole.units_)
    est.partial_fit(X[:20], T[:20], event=EVENT[:20]).partial_fit(X[20:45], T[20:45], event=EVENT[20:45])
    save(est, tmp_path / "times.npz")
    est = load(tmp_path / "times.npz").partial_fit(X[45:], T[45:], event=EVENT[45:])
    assert abs(est.log_evidence_ - whole.log_evidence_) < 4 * est.log_evidence_std_ + 0.02
    none = glm(units=whole.units_).fit(X, T, event=False)
    assert none.log_evidence_ > whole.log_evidence_  # all that is asked for is that they are long


def test_concordance():
    """Every pair by hand: ties of predictions count one half, and of equal times the event came first."""

    def by_hand(y, predicted, event, w):
        right = total = 0.0
        for i in range(len(y)):
            for j in range(len(y)):
                if event[i] and (y[i] < y[j] or (y[i] == y[j] and not event[j])):
                    total += w[i] * w[j]
                    right += (
                        w[i] * w[j] * (0.5 * (predicted[i] == predicted[j]) + (predicted[i] < predicted[j]))
                    )
        return right / total

    y, predicted = np.round(T), np.round(3 * X[:, 0])
    w = RNG.integers(1, 4, 60)
    upper = np.where(EVENT, y, np.inf)
    assert concordance(y, upper, predicted, w) == pytest.approx(by_hand(y, predicted, EVENT, w))
    assert concordance(y, y, y) == 1 and concordance(y, y, -y) == 0
    assert np.isnan(concordance(y, np.full(60, np.inf), y))
    est = glm().fit(X, T, event=EVENT)
    assert est.score(X, T, event=EVENT) == concordance(T, np.where(EVENT, T, np.inf), est.predict(X)) > 0.6


@pytest.mark.slow
def test_event_goes_where_trials_go():
    """Cross-validation, searches, averages and the selector."""
    with config_context(enable_metadata_routing=True):
        model = glm(sampler=Laplace()).set_fit_request(event=True).set_score_request(event=True)
        params = {"event": EVENT}
        found = cross_validate(model, X, T, cv=3, params=params)
        assert np.all(found["test_score"] > 0.5)
        grid = GridSearchCV(model, {"family": TIMES}, scoring=evidence_scorer, cv=FullData())
        assert grid.fit(X, T, **params).best_score_ == pytest.approx(
            glm(grid.best_params_["family"], sampler=Laplace()).fit(X, T, event=EVENT).log_evidence_
        )
        models = [(name, glm(name).set_fit_request(event=True)) for name in TIMES]
        average = EvidenceModelAverager(models).fit(X, T, event=EVENT)
    alone = [glm(name).fit(X, T, event=EVENT).log_evidence_ for name in TIMES]
    np.testing.assert_allclose(list(average.log_evidences_), alone)
    search = EvidenceSearch(glm(), {"family": list(TIMES)}).fit(X, T, event=EVENT)
    assert search.best_params_["family"] == TIMES[int(np.argmax(alone))]
    noise = np.column_stack([X[:, :1], RNG.standard_normal(60)])
    selector = EvidenceFeatureSelector(estimator=glm(), random_state=0).fit(noise, T, event=EVENT)
    assert selector.inclusion_probabilities_[0] > 0.9 > selector.inclusion_probabilities_[1]
    assert selector.score(noise, T, event=EVENT) > 0.6


def test_event_is_a_column_of_files(tmp_path):
    pytest.importorskip("pyarrow")
    table = np.column_stack([X, T, EVENT])
    path = tmp_path / "times.csv"
    np.savetxt(path, table, delimiter=",", header="a,b,t,event", comments="", fmt="%.17g")
    source = RowSource(path, target="t", event="event")
    est = glm().fit(source)
    assert est.log_evidence_ == glm().fit(X, T, event=EVENT).log_evidence_
    assert est.score(source) == est.score(X, T, event=EVENT)


def test_other_censoring_is_other_data():
    censored, complete = glm().fit(X, T, event=EVENT), glm().fit(X, T)
    with pytest.raises(ValueError, match="has seen other data"):
        compare({"one": censored, "other": complete})
    compare({"one": complete, "other": glm("gamma").fit(X, T)})
    assert predictive_check(complete, X, T, random_state=0, n_draws=400).misfits is not None
    with pytest.raises(TypeError, match="censored times and late entries have no replicates"):
        predictive_check(censored, X, T, event=EVENT)


@pytest.mark.parametrize(
    "family, given, words",
    [
        ("hurdle_poisson", dict(event=True), "HurdlePoisson has neither event nor entry"),
        ("weibull", dict(event=0.5), "event must be 1 where the event came and 0 where it is censored"),
        ("weibull", dict(event=EVENT[:3]), "inconsistent numbers of samples"),
        ("weibull", dict(trials=3), "only binomial has trials"),
        ("lognormal", dict(y=T - T.min()), "positive times, but has 0"),
    ],
)
def test_what_cannot_be_is_refused_in_words(family, given, words):
    with pytest.raises(ValueError, match=words):
        glm(family).fit(X, **{"y": np.ceil(T)} | given)
    with pytest.raises(AttributeError, match="predict_survival"):
        glm("gamma").fit(X, T).predict_survival(X, [1.0])
    with pytest.raises(ValueError, match="numbers from zero"):
        glm("exponential").fit(X, T).predict_survival(X, [-1.0])
