"""Counts against quadrature, an offset that is an exposure, and predictions that are those of the cloud."""

import warnings

import numpy as np
import pytest
import sklearn
from one_integral import log_integral
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_t, norm, poisson
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline

from sgevidence import (
    SGAIS,
    BayesianGLM,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    EvidenceSearch,
    EvidenceWarning,
    RowSource,
    Smooth,
)
from sgevidence.models import Bernoulli
from sgevidence.samplers import Laplace

RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 1))
EXPOSURE = RNG.uniform(0.5, 5.0, 40)
Y = RNG.poisson(EXPOSURE * np.exp(0.7 * X[:, 0]))


def one_coefficient(**params):
    return BayesianGLM(
        "poisson",
        fit_intercept=False,
        sampler=SGAIS(n_particles=1000),
        random_state=1,
        **params,
        standardize=False,
    )


def by_quadrature(exposure):
    """log ∫ Π_r Poisson(y_r | exposure_r e^{w x_r}) N(w | 0, 1) dw."""

    def log_joint(w):
        return poisson.logpmf(Y, exposure * np.exp(w * X[:, 0])).sum() + norm.logpdf(w)

    return log_integral(log_joint)


def check_evidence(est, exact):
    assert abs(est.log_evidence_ - exact) <= 4 * est.log_evidence_std_
    assert est.log_evidence_std_ < 0.15


@pytest.mark.parametrize("exposure", [EXPOSURE, np.ones(40)], ids=["offset", "none"])
def test_log_evidence_by_quadrature(exposure):
    offset = None if np.all(exposure == 1) else np.log(exposure)
    check_evidence(one_coefficient().fit(X, Y, offset=offset), by_quadrature(exposure))
    streamed = one_coefficient()
    for start in range(0, 40, 10):
        rows = slice(start, start + 10)
        streamed.partial_fit(X[rows], Y[rows], offset=None if offset is None else offset[rows])
    check_evidence(streamed, by_quadrature(exposure))


@pytest.mark.filterwarnings("ignore:prior and data")
@pytest.mark.parametrize("offset", [60.0, 130.0, 300.0, 690.0])
def test_an_offset_far_above_the_counts(rng, offset):
    """Newton comes down from e^offset, and a search that has not ended is no mode."""
    y = rng.poisson(2.0, 25)
    est = BayesianGLM("poisson", standardize=False, intercept_scale=1.0, random_state=0)
    est.fit(np.zeros((25, 1)), y, offset=offset)
    b = np.linspace(-offset - 15, -offset + 10, 20_001)
    log_joint = poisson.logpmf(y[:, None], np.exp(b + offset)).sum(axis=0) + norm.logpdf(b)
    exact = logsumexp(log_joint) + np.log(b[1] - b[0])
    assert abs(est.log_evidence_ - exact) < 4 * est.log_evidence_std_ + 1e-3
    assert est.log_evidence_std_ < 0.05


def test_a_lost_offset_is_seen():
    with pytest.raises(AssertionError):
        check_evidence(one_coefficient().fit(X, Y), by_quadrature(EXPOSURE))


def test_five_coefficients_by_importance_sampling(rng):
    """A Student-t around the mode, whose draws nearly all count."""
    X = rng.standard_normal((60, 4))
    y = rng.poisson(np.exp(X @ [0.5, -0.5, 0.3, 0.0] + 0.7))
    Phi = np.column_stack([X, np.ones(60)])

    def log_joint(W):
        return poisson.logpmf(y, np.exp(W @ Phi.T)).sum(axis=1) + norm.logpdf(W).sum(axis=1)

    mode = minimize(lambda w: -log_joint(w[None])[0], np.zeros(5)).x
    curvature = Phi.T @ (np.exp(Phi @ mode)[:, None] * Phi) + np.eye(5)
    proposal = multivariate_t(mode, np.linalg.inv(curvature), df=8)
    W = proposal.rvs(20_000, random_state=rng)
    log_w = log_joint(W) - proposal.logpdf(W)
    w = np.exp(log_w - log_w.max())
    exact, error = log_w.max() + np.log(w.mean()), w.std() / w.mean() / np.sqrt(len(w))
    assert error < 0.01
    est = BayesianGLM(sampler=SGAIS(n_particles=1000), random_state=2, standardize=False).fit(X, y)
    check_evidence(est, exact)


@pytest.fixture(scope="module")
def fitted():
    return one_coefficient().fit(X, Y, offset=np.log(EXPOSURE))


def test_predictions_are_averages_over_particles(fitted):
    rates = EXPOSURE * np.exp(fitted.particles_ * X[:, 0])
    W = fitted.particle_weights_
    mean, std = fitted.predict(X, return_std=True, offset=np.log(EXPOSURE))
    np.testing.assert_allclose(mean, W @ rates, rtol=1e-9)
    np.testing.assert_allclose(std**2, W @ (rates + rates**2) - (W @ rates) ** 2, rtol=1e-9)
    scores = fitted.score_samples(X, Y, offset=np.log(EXPOSURE))
    np.testing.assert_allclose(np.exp(scores), W @ poisson.pmf(Y, rates), rtol=1e-6)
    y = np.arange(400)[:, None, None]
    p = np.einsum("m,ymn->yn", W, poisson.pmf(y, rates[None, :, :8]))
    entropy = -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=0)
    unseen = fitted.score_samples(X[:8], offset=np.log(EXPOSURE[:8]))
    np.testing.assert_allclose(unseen, -entropy, atol=0.01)
    residual = Y - mean
    r2 = 1 - residual @ residual / np.sum((Y - Y.mean()) ** 2)
    assert fitted.score(X, Y, offset=np.log(EXPOSURE)) == pytest.approx(r2)
    draws = fitted.sample_y(X, 2000, random_state=0, offset=np.log(EXPOSURE))
    assert np.all(np.abs(draws.mean(axis=1) - mean) < 5 * std / np.sqrt(2000))
    joint = W @ np.exp(poisson.logpmf(Y[:5], rates[:, :5]).sum(axis=1))
    log_offset = np.log(EXPOSURE[:5])
    assert fitted.log_predictive(X[:5], Y[:5], offset=log_offset) == pytest.approx(np.log(joint))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(y=-Y - 1.0), "y must be counts, but has the negative value"),
        (dict(offset=np.zeros(39)), "inconsistent numbers of samples"),
        (dict(offset=np.zeros((40, 2))), "offset must have one number per row"),
        (dict(offset=np.full(40, np.nan)), "offset contains NaN"),
        (dict(offset=np.ma.masked_array(np.zeros(40), mask=np.arange(40) == 1)), "offset is a masked array"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        one_coefficient().fit(**dict(X=X, y=Y) | arguments)


def test_what_are_no_counts_is_warned_of():
    with pytest.warns(EvidenceWarning, match="not counts"):
        one_coefficient().fit(X, Y + 0.5)


NO_COUNTS = {
    "shares": (RNG.uniform(0.1, 0.9, 40), ["gaussian", "gamma", "beta"]),
    "times": (RNG.exponential(3.0, 40), ["gaussian", "gamma", "weibull"]),
    "reals": (RNG.standard_normal(40), ["gaussian", "student_t"]),
    "negative": (np.arange(40) - 5, ["gaussian", "student_t"]),
    "classes": (np.arange(40) % 2, ["bernoulli", "poisson"]),
    "truth values": (np.arange(40) % 2 == 0, ["bernoulli", "poisson"]),
    "zeros": (np.zeros(40), ["bernoulli", "poisson"]),
    "a two of weight zero": (np.r_[2.0, np.arange(39) % 2], ["poisson"]),
}


def fits(X, y, weight, path):
    """Every door that takes rows for a model without a named family."""
    path.write_text("a,w,y\n" + "".join(f"{x},{w},{v}\n" for x, w, v in zip(X[:, 0], weight, y * 1.0)))
    pieces = BayesianGLM(random_state=0)
    average = EvidenceModelAverager([("one", BayesianGLM()), ("two", BayesianGLM(columns=[]))])
    yield lambda: BayesianGLM().fit(X, y, weight)
    yield lambda: BayesianGLM(standardize=False).fit(X, y, weight)
    yield lambda: BayesianGLM(terms=[Smooth(0)]).fit(X, y, weight)
    yield lambda: [pieces.partial_fit(X[i : i + 1], y[i : i + 1], weight[i : i + 1]) for i in range(40)]
    yield lambda: BayesianGLM().fit(RowSource(path, target="y", sample_weight="w"))
    yield lambda: clone(average).set_params(method="dynamic").fit(X, y, weight)
    yield lambda: average.fit(X, y, weight)
    yield lambda: EvidenceSearch(BayesianGLM(), {"columns": [[], [0]]}).fit(X, y, sample_weight=weight)
    yield lambda: EvidenceFeatureSelector(estimator=BayesianGLM()).fit(X, y, sample_weight=weight)


@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("kind", NO_COUNTS)
def test_without_a_named_family_only_counts_are_taken(kind, tmp_path):
    y, suited = NO_COUNTS[kind]
    weight = (np.arange(40) > 0) * 1.0 if "weight" in kind else np.ones(40)
    for fit in fits(X, y, weight, tmp_path / "rows.csv"):
        with pytest.raises(ValueError, match="no family is named") as caught:
            fit()
        assert all(repr(family) in str(caught.value) for family in suited)
    for family in suited:  # a family that is named is not second-guessed
        BayesianGLM(family, sampler=Laplace()).fit(X, y, weight)


@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_without_a_named_family_counts_are_poisson(tmp_path):
    named = BayesianGLM("poisson", random_state=0).fit(X, Y)
    assert BayesianGLM(random_state=0).fit(X, Y).log_evidence_ == named.log_evidence_
    y = np.sort(Y)  # zeros and ones come first
    assert y[12] <= 1
    for number, fit in enumerate(fits(X, y, np.ones(40), tmp_path / "rows.csv")):
        if number == 3:  # a stream does not know what comes
            with pytest.raises(ValueError, match="family='poisson'"):
                fit()
        else:
            fit()


@pytest.mark.parametrize("family", ["poisson", "negative_binomial", "bernoulli", "weibull", "binomial"])
def test_an_offset_that_is_no_logarithm_is_doubted_before_anything_is_learnt(family, rng, monkeypatch):
    """Hours in the place of their logarithm: e^hours is no rate."""
    hours, classes = rng.uniform(0.1, 900.0, 40), np.arange(40) % 2
    y = {"bernoulli": classes, "binomial": classes, "weibull": Y + 1.0}.get(family, Y)
    known = {"trials": 3} if family == "binomial" else {}
    words = "np.log.exposure"
    with monkeypatch.context() as patch:  # whatever fitting costs, the warning has come
        patch.setattr(BayesianGLM, "_add", lambda *arguments: 1 / 0)
        with pytest.warns(EvidenceWarning, match=words), pytest.raises(ZeroDivisionError):
            BayesianGLM(family).fit(X, y, offset=hours, **known)
    with pytest.warns(EvidenceWarning) as caught:
        BayesianGLM(family, random_state=0).fit(X, y, offset=np.sort(hours) / 10 - 45, **known)
    assert any("np.log(exposure)" in str(one.message) for one in caught)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=f".*{words}")
        BayesianGLM(family, random_state=0).fit(X, y, offset=np.log(hours), **known)
        BayesianGLM(family, random_state=0).fit(X, y, offset=np.linspace(-15, 30, 40), **known)
        BayesianGLM("gaussian", random_state=0).fit(X, y, offset=hours)


def test_a_stream_of_rows_with_such_offsets_is_doubted_once():
    model = BayesianGLM("poisson", standardize=False, sampler=Laplace())
    offset = np.linspace(0.0, 60.0, 40)
    reader = BayesianGLM("poisson", random_state=0)
    with pytest.warns(EvidenceWarning) as caught:
        for r in range(40):
            reader.partial_fit(X[r : r + 1], Y[r : r + 1], offset=offset[r : r + 1])
    assert sum("np.log(exposure)" in str(one.message) for one in caught) == 1
    assert sum("np.log(exposure)" in words for words in reader.warnings_) == 1
    with pytest.warns(EvidenceWarning, match="np.log.exposure"):
        model.fit(X, Y, offset=offset)


@pytest.mark.parametrize(
    "y, classes",
    [
        (np.ones(40), None),
        (np.zeros(40, dtype=int), None),
        (np.ones(40, dtype=bool), None),
        (np.full(40, "yes"), ["no", "yes"]),
        (np.r_[np.ones(39), 0.0], None),  # whose zero has no weight
    ],
)
def test_two_classes_of_which_one_has_rows_are_doubted(y, classes):
    weight = np.r_[np.ones(39), 0.0]
    ways = [("bernoulli", None)]
    if y.dtype.kind == "U":  # links and terms do not ask how classes are written
        ways += [(Bernoulli(link="probit"), None), ("bernoulli", [Smooth(0)])]
    for family, terms in ways:
        model = BayesianGLM(family, terms=terms, random_state=0)
        with pytest.warns(EvidenceWarning, match=f"y has one class, {y[0]}:"):
            model.fit(X, y, weight, classes=classes)
        assert any("y has one class" in words for words in model.warnings_)
    other = y.copy()
    other[0] = classes[0] if classes else 1 - y[0] if y.dtype.kind != "b" else False
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="y has one class")
        BayesianGLM("bernoulli", random_state=0).fit(X, other, weight)
        streamed = BayesianGLM("bernoulli", random_state=0)
        for rows in (slice(1, 20), slice(0, 20)):  # a stream may begin with one class
            streamed.partial_fit(X[rows], other[rows], classes=classes)
            classes = None


def test_rows_of_weight_zero_take_their_offset_with_them():
    weight = np.arange(40) % 2
    one = one_coefficient().fit(X, Y, sample_weight=weight, offset=np.log(EXPOSURE))
    other = one_coefficient().fit(X[1::2], Y[1::2], offset=np.log(EXPOSURE[1::2]))
    assert one.log_evidence_ == other.log_evidence_


def test_rows_without_their_offset_are_refused_not_taken_for_zero(fitted):
    message = "fitted with an offset: give the offset of these rows"
    for call in (
        lambda: fitted.predict(X),
        lambda: fitted.score(X, Y),
        lambda: fitted.score_samples(X, Y),
        lambda: fitted.score_samples(X),
        lambda: fitted.sample_y(X),
        lambda: fitted.log_predictive(X, Y),
        lambda: fitted.partial_fit(X, Y),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    np.testing.assert_array_equal(fitted.predict(X, offset=0), fitted.predict(X, offset=np.zeros(40)))
    refitted = one_coefficient().fit(X, Y, offset=np.log(EXPOSURE)).fit(X, Y)  # fit forgets the offset, too
    np.testing.assert_array_equal(refitted.predict(X), refitted.predict(X, offset=0.0))
    later = one_coefficient().partial_fit(X, Y, offset=0.0).partial_fit(X, Y, offset=np.log(EXPOSURE))
    with pytest.raises(ValueError, match=message):
        later.partial_fit(X, Y)


def test_an_offset_after_rows_without_one_is_refused():
    plain = one_coefficient().fit(X, Y)
    with pytest.raises(ValueError, match="fitted without an offset"):
        plain.partial_fit(X, Y, offset=np.log(EXPOSURE))
    assert np.all(plain.predict(X, offset=1.0) > plain.predict(X))  # and rows to predict may have one
    assert plain.score_samples(X, Y, offset=1.0).shape == plain.score_samples(X, Y).shape


def asks_for_offset(est, yes):
    est = est.set_fit_request(offset=yes).set_partial_fit_request(offset=yes)
    return est.set_predict_request(offset=yes)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_average_hands_the_offset_on_to_those_who_ask_for_it(method):
    with sklearn.config_context(enable_metadata_routing=True):
        rate, plain = (asks_for_offset(one_coefficient(), yes) for yes in (True, False))
        models = [
            ("rate", rate),
            ("deep", make_pipeline("passthrough", clone(rate))),
            ("plain", plain),
        ]
        averager = EvidenceModelAverager(models)
        offset = np.log(EXPOSURE)
        getattr(averager, method)(X, Y, offset=offset)
        exact = by_quadrature(EXPOSURE)
        exact = [exact, exact, by_quadrature(np.ones(40))]
        assert np.all(np.abs(averager.log_evidences_ - exact) < 4 * averager.log_evidences_std_)
        rate, deep, plain = averager.estimators_
        each = [rate.predict(X, offset=offset), deep[-1].predict(X, offset=offset), plain.predict(X)]
        np.testing.assert_allclose(averager.predict(X, offset=offset), averager.weights_ @ each)
        mean, std = averager.predict(X, return_std=True, offset=offset)
        assert np.all(std > np.sqrt(mean) / 2)
        densities = [np.exp(m.score_samples(X, Y, offset=offset)) for m in (rate, deep[-1])]
        densities.append(np.exp(plain.score_samples(X, Y)))
        scores = averager.score_samples(X, Y, offset=offset)
        np.testing.assert_allclose(np.exp(scores), averager.weights_ @ densities)
        assert averager.score_samples(X, offset=offset).shape == (40,)
        assert averager.score(X, Y, offset=offset) == pytest.approx(r2_score(Y, averager.weights_ @ each))
        with pytest.raises(ValueError, match="fitted with an offset"):
            averager.predict(X)
        with pytest.raises(TypeError, match="colour"):
            averager.predict(X, colour=offset)
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        averager.predict(X, offset=offset)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_chunks_of_a_hundred_are_sharp(family):
    """Error bars are at most 0.03 while all rows are at hand, and true against ``fit`` of them."""
    rng = np.random.default_rng([50, 5])
    X = rng.standard_normal((1000, 5))
    eta = X @ rng.normal(0, 0.4, 5)
    y = rng.poisson(np.exp(eta)) if family == "poisson" else rng.random(1000) < 1 / (1 + np.exp(-eta))
    model, z = BayesianGLM(family, random_state=0), []
    for stop in range(100, 1001, 100):
        model.partial_fit(X[stop - 100 : stop], y[stop - 100 : stop])
        fit = BayesianGLM(family, units=model.units_, random_state=stop).fit(X[:stop], y[:stop])
        assert model.log_evidence_std_ < 0.03
        error = np.hypot(model.log_evidence_std_, fit.log_evidence_std_)
        z.append((model.log_evidence_ - fit.log_evidence_) / error)
    assert np.max(np.abs(z)) < 4
