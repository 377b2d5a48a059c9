"""``standardize=True``: the evidence of the data as given under a prior in the units of the first rows."""

import pickle
import warnings

import numpy as np
import pytest
from estimator_cases import CASES, data
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    EvidenceSearch,
    EvidenceWarning,
    FullData,
    compare,
    evidence_scorers,
)
from sgevidence.bidirectional import bidirectional_error
from sgevidence.samplers import AIS, Exact

STANDARD = ("linear", "softmax", "glm", "gmm")
FAST = SGAIS(n_particles=60, max_particles=60)
#: Units and zeros of two columns, and of y.
SCALE, ZERO = np.array([1e-3, 40.0]), np.array([2.0, -300.0])


def raw(kind, n=90, seed=0):
    """A case's rows in units of their own; y is far from zero in a linear regression."""
    X, y = data(kind, n, seed)
    return X * SCALE + ZERO, 20.0 * y + 700.0 if kind == "linear" else y


def by_hand(kind, X, y, weight=None):
    """Rows that are standardised before, and log |dx'/dx| of all of them."""
    weight = np.ones(len(X)) if weight is None else weight

    def moments(x):
        mean = np.average(x, axis=0, weights=weight)
        std = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
        return rounded(mean, std), rounded(std, std)  # as units are, so that draws have the same digits

    mean, std = moments(X)
    log_jacobian = -weight.sum() * np.sum(np.log(std)) if kind == "gmm" else 0.0
    if kind == "linear":
        y_mean, y_std = moments(y)
        y, log_jacobian = (y - y_mean) / y_std, -weight.sum() * np.log(y_std)
    return (X - mean) / std, y, log_jacobian


def rounded(x, sd):
    """To 32 binary digits of the standard deviation."""
    unit = 2.0 ** (np.frexp(sd)[1] - 32)
    return np.round(x / unit) * unit


def as_given(kind, **params):
    """The estimator of rows that are in units of their own; a link's intercept is measured from the rows."""
    return make(kind, standardize=kind not in ("linear", "gmm"), **params)


def make(kind, **params):
    fast = {} if kind in ("linear", "gmm") else {"sampler": FAST}
    return CASES[kind].make(**{"random_state": 0} | fast | params)


def check_evidence(kind, n=90, **params):
    """It equals that of rows standardised by hand, and the Jacobian."""
    X, y = raw(kind, n)
    weight = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float)
    fitted = make(kind, standardize=True, **params).fit(X, y, sample_weight=weight)
    Xs, ys, log_jacobian = by_hand(kind, X, y, weight)
    reference = as_given(kind, **params).fit(Xs, ys, sample_weight=weight)
    apart = 1e-8 if fitted.log_evidence_std_ == 0 or log_jacobian == 0 else fitted.log_evidence_std_ / 10
    assert fitted.log_evidence_ == pytest.approx(reference.log_evidence_ + log_jacobian, abs=apart + 1e-8)
    path = fitted.evidence_path_
    assert path["log_evidence"][-1] == pytest.approx(fitted.log_evidence_, abs=1e-9)
    assert path["log_predictive"].sum() == pytest.approx(fitted.log_evidence_, abs=1e-9)
    if log_jacobian == 0.0:
        assert abs(fitted.log_evidence_ - reference.log_evidence_) < 1e-8


@pytest.mark.parametrize("kind", STANDARD)
def test_the_evidence_is_that_of_rows_standardised_by_hand(kind):
    check_evidence(kind)


def test_so_is_that_of_a_mixture_of_several_components():
    check_evidence("gmm", 24, n_components=2)


@pytest.mark.parametrize("kind", STANDARD)
def test_reports_are_in_the_units_of_the_data(kind):
    X, y = raw(kind)
    fitted = make(kind, standardize=True).fit(X, y)
    Xs, ys, log_jacobian = by_hand(kind, X, y)
    reference, n = as_given(kind).fit(Xs, ys), len(X)
    mean, std = X.mean(axis=0), X.std(axis=0)
    args, reference_args = ((X,), (Xs,)) if y is None else ((X, y), (Xs, ys))
    np.testing.assert_allclose(
        fitted.score_samples(*args), reference.score_samples(*reference_args) + log_jacobian / n, atol=1e-8
    )
    joint = reference.log_predictive(*reference_args) + log_jacobian
    assert fitted.log_predictive(*args) == pytest.approx(joint, abs=1e-6)
    if kind == "gmm":
        np.testing.assert_allclose(fitted.means_, reference.means_ * std + mean)
        np.testing.assert_allclose(fitted.covariances_, reference.covariances_ * std**2)
        np.testing.assert_allclose(fitted.predict_proba(X), reference.predict_proba(Xs), atol=1e-9)
        np.testing.assert_allclose(fitted.sample(5)[0], reference.sample(5)[0] * std + mean)
        return
    t, m = (y.std(), y.mean()) if kind == "linear" else (1.0, 0.0)
    np.testing.assert_allclose(fitted.coef_, reference.coef_ * t / std, rtol=1e-6)
    np.testing.assert_allclose(fitted.coef_std_, reference.coef_std_ * t / std, rtol=1e-6)
    ours, theirs = fitted.posterior_samples(), reference.posterior_samples()
    eta = np.tensordot(ours["coef"], X, (-1, -1)) + ours["intercept"][..., None]
    etas = np.tensordot(theirs["coef"], Xs, (-1, -1)) + theirs["intercept"][..., None]
    np.testing.assert_allclose(eta, etas * t + m, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        fitted.score_samples(X), reference.score_samples(Xs) + log_jacobian / n, atol=1e-8
    )
    np.testing.assert_allclose(
        fitted.sample_y(X, 2, random_state=0),
        reference.sample_y(Xs, 2, random_state=0) * t + m,
    )
    if kind == "linear":
        assert fitted.noise_std_ == pytest.approx(reference.noise_std_ * t)
        ours, theirs = fitted.predict(X, return_std=True), reference.predict(Xs, return_std=True)
        np.testing.assert_allclose(ours[0], theirs[0] * t + m)
        np.testing.assert_allclose(ours[1], theirs[1] * t)
        assert abs(ours[0] - (X @ fitted.coef_ + fitted.intercept_)).max() < 1e-8


def test_the_density_of_y_integrates_to_one():
    X, y = raw("linear")
    fitted = make("linear", standardize=True).fit(X, y)
    grid = np.linspace(y.mean() - 15 * y.std(), y.mean() + 15 * y.std(), 2001)
    density = np.exp(fitted.score_samples(np.repeat(X[:1], len(grid), axis=0), grid))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("kind", STANDARD)
def test_a_stream_keeps_the_units_of_its_first_call(kind):
    X, y = raw(kind, 60)
    later = None if y is None else y[30:]
    fitted = make(kind, standardize=True).partial_fit(
        X[:30], None if y is None else y[:30], **CASES[kind].first_call
    )
    at_first = fitted._units
    fitted.partial_fit(X[30:] + 5 * SCALE, later)
    assert fitted._units is at_first
    np.testing.assert_allclose(at_first.center, X[:30].mean(axis=0))
    again = pickle.loads(pickle.dumps(fitted))
    for one in (fitted, again):
        one.partial_fit(X[:10], None if y is None else y[:10])
    assert fitted.log_evidence_ == again.log_evidence_
    path = fitted.evidence_path_
    assert path["log_evidence"][-1] == pytest.approx(fitted.log_evidence_, abs=1e-9)
    with pytest.raises(ValueError, match="standardize was True, is False"):
        fitted.set_params(standardize=False).partial_fit(X[:10], None if y is None else y[:10])


def test_a_stream_of_a_linear_regression_is_exact():
    X, y = raw("linear", 60)
    stream = make("linear", standardize=True)
    for part in (slice(0, 20), slice(20, 25), slice(25, 60)):
        stream.partial_fit(X[part], y[part])
    t, m, std, mean = y[:20].std(), y[:20].mean(), X[:20].std(axis=0), X[:20].mean(axis=0)
    exact = BayesianLinearRegression(sampler=Exact(), standardize=False).fit((X - mean) / std, (y - m) / t)
    assert stream.log_evidence_ == pytest.approx(exact.log_evidence_ - 60 * np.log(t), abs=1e-8)


@pytest.mark.parametrize("kind", STANDARD)
def test_a_first_call_of_one_row_is_refused_and_leaves_nothing(kind):
    X, y = raw(kind, 20)
    est = make(kind, standardize=True)
    with pytest.raises(ValueError, match="fewer than two distinct"):
        est.fit(X[:1], None if y is None else y[:1])
    if kind in ("linear", "gmm"):
        with pytest.raises(ValueError, match="fewer than two distinct"):
            est.fit(X[[0, 0]], None if y is None else y[[0, 0]])
    assert not hasattr(est, "log_evidence_")
    with pytest.raises(ValueError, match="fewer than two distinct"):  # rows of weight zero are no rows
        est.fit(X, y, sample_weight=np.eye(20)[0])
    est.fit(X, y)


@pytest.mark.parametrize("kind", STANDARD)
def test_constant_columns_have_the_unit_one(kind):
    X, y = raw(kind)
    fitted = make(kind, standardize=True).fit(np.column_stack([X, np.full(len(X), 0.1)]), y)
    assert fitted._units.scale[2] == 1.0 and np.isfinite(fitted.log_evidence_)
    if kind == "linear":  # a prior coefficient of a column of zeros integrates out
        assert fitted.log_evidence_ == pytest.approx(make(kind, standardize=True).fit(X, y).log_evidence_)


@pytest.mark.parametrize("kind", STANDARD)
@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_columns_of_any_size(kind, unit):
    X, y = data(kind)
    expected = make(kind, standardize=True).fit(X, y)
    factor = np.array([unit, 1.0])
    fitted = make(kind, standardize=True).fit(X * factor, y)
    log_jacobian = -len(X) * np.log(unit) if kind == "gmm" else 0.0
    assert fitted.log_evidence_ == pytest.approx(expected.log_evidence_ + log_jacobian, abs=1e-6)
    if kind == "gmm":
        np.testing.assert_allclose(fitted.means_, expected.means_ * factor, rtol=1e-6)
    else:
        assert np.all(abs(fitted.coef_ * factor - expected.coef_) < 0.1 * expected.coef_std_)
        ours, theirs = fitted.score_samples(X * factor, y), expected.score_samples(X, y)
        np.testing.assert_allclose(ours, theirs, atol=0.05)  # other draws, where rounding turned a direction
    with pytest.raises(ValueError, match="whose squares leave"):
        fitted.score_samples(1e105 * factor * np.ones((2, 2)), *([] if y is None else [y[:2]]))


def test_time_stamps_have_units():
    t = 1.7e18 + 1e10 * np.arange(50.0)
    units = BayesianLinearRegression().fit(t[:, None], np.arange(50.0) ** 2).units_
    assert units.center[0] == pytest.approx(t[0] + 24.5e10, rel=1e-15)
    assert units.scale[0] == pytest.approx(1e10 * np.arange(50.0).std(), rel=1e-6)


def test_without_an_intercept_nothing_is_centred():
    X, y = raw("linear")
    fitted = BayesianLinearRegression(fit_intercept=False, standardize=True, random_state=0).fit(X, y)
    rms = lambda x: np.sqrt(np.mean(x**2, axis=0))  # noqa: E731
    plain = BayesianLinearRegression(fit_intercept=False, random_state=0, standardize=False)
    reference = plain.fit(X / rms(X), y / rms(y))
    expected = reference.log_evidence_ - len(y) * np.log(rms(y))
    assert fitted.log_evidence_ == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(fitted.predict(X), X @ fitted.coef_)


@pytest.mark.filterwarnings("error")
def test_without_an_intercept_columns_far_from_zero_are_in_their_units(rng):
    """Units are root mean squares: those of a column that hardly varies, and of ones, are their means."""
    X = np.column_stack([rng.uniform(9.0, 11.0, size=60), np.ones(60)])
    y = 3.0 * X[:, 0] + rng.standard_normal(60)
    stream = BayesianLinearRegression(fit_intercept=False).partial_fit(X[:30], y[:30])
    stream.partial_fit(X[30:], y[30:])
    BayesianGLM(fit_intercept=False, family="poisson").fit(X[:, :1] / 10, rng.poisson(3.0, size=60))
    with pytest.warns(EvidenceWarning, match="left the units.*column 0.*root mean square"):
        stream.partial_fit(np.tile(X * [20.0, 1.0], (9, 1)), np.tile(y, 9))


def test_a_known_noise_is_in_the_unit_of_y():
    X, y = raw("linear")
    fitted = BayesianLinearRegression(10.0, standardize=True, random_state=0).fit(X, y)
    Xs, ys, log_jacobian = by_hand("linear", X, y)
    reference = BayesianLinearRegression(10.0 / y.std(), random_state=0, standardize=False).fit(Xs, ys)
    assert fitted.log_evidence_ == pytest.approx(reference.log_evidence_ + log_jacobian, abs=1e-8)
    assert fitted.noise_std_ == 10.0


def test_an_offset_keeps_its_unit():
    X, y = raw("glm")
    hours = np.random.default_rng(0).uniform(1, 10, len(X))
    fitted = make("glm", standardize=True).fit(X, y, offset=np.log(hours))
    Xs, _, _ = by_hand("glm", X, y)
    reference = make("glm").fit(Xs, y, offset=np.log(hours))
    assert abs(fitted.log_evidence_ - reference.log_evidence_) < 1e-8
    ours, theirs = (e.predict(x, offset=0.5) for e, x in ((fitted, X), (reference, Xs)))
    np.testing.assert_allclose(ours, theirs)


def test_units_are_those_of_the_columns_that_are_used():
    X, y = raw("linear")
    wide = np.column_stack([np.full(len(X), 7.0), X])
    fitted = BayesianLinearRegression(columns=[1, 2], standardize=True, random_state=0).fit(wide, y)
    assert fitted.log_evidence_ == make("linear", standardize=True).fit(X, y).log_evidence_
    for null in (BayesianGLM(columns=[], standardize=True), BayesianLinearRegression(columns=[])):
        assert np.isfinite(null.fit(wide, np.arange(90.0)).log_evidence_)


@pytest.mark.parametrize("kind", STANDARD)
def test_the_parameter_is_scikit_learns(kind):
    est = make(kind, standardize=True)
    assert clone(est).get_params()["standardize"] is True
    with pytest.raises(ValueError, match="standardize"):
        est.set_params(standardize=2).fit(*raw(kind))


def test_in_a_pipeline_a_scaler_before_changes_nothing_but_the_jacobian():
    X, y = raw("linear")
    pipeline = make_pipeline(StandardScaler(), make("linear", standardize=True)).fit(X, y)
    alone = make("linear", standardize=True).fit(X, y)
    assert pipeline[-1].log_evidence_ == pytest.approx(alone.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(pipeline.predict(X), alone.predict(X), rtol=1e-3)  # other draws


def test_a_search_over_standardize_compares_evidences_of_the_same_y():
    X, y = load_diabetes(return_X_y=True)
    grid = {"standardize": [False, True]}
    search = GridSearchCV(
        BayesianLinearRegression(random_state=0),
        grid,
        scoring=evidence_scorers,
        refit="log_evidence",
        cv=FullData(),
    ).fit(X, y)
    table = compare(search)
    assert search.best_params_ == {"standardize": True}
    fits = [BayesianLinearRegression(standardize=s).fit(X, y) for s in (False, True)]
    assert fits[0].data_fingerprint_ == fits[1].data_fingerprint_
    assert table["difference"].min() == pytest.approx(fits[0].log_evidence_ - fits[1].log_evidence_)
    assert fits[1].score(X, y) >= 0.51
    # with the same prior in the data's units both are the same model, up to the intercept's
    t, s = y.std(), X[:, 2].std()
    both = [
        BayesianLinearRegression(60.0, columns=[2], coef_scale=t / s, intercept_scale=1e4, standardize=False),
        BayesianLinearRegression(60.0, columns=[2], standardize=True, intercept_scale=1e4 / t),
    ]
    one, other = (est.fit(X, y).log_evidence_ for est in both)
    assert one == pytest.approx(other, abs=2e-3)


def test_an_average_over_standardize_is_of_the_same_rows():
    X, _ = raw("gmm")
    models = [(str(s), BayesianGMM(1, standardize=s, sampler=Exact())) for s in (False, True)]
    average = EvidenceModelAverager(models, random_state=0).fit(X)
    single = [model.fit(X).log_evidence_ for _, model in models]
    np.testing.assert_allclose(average.log_evidences_, single)
    search = EvidenceSearch(BayesianGMM(sampler=Exact()), {"standardize": [False, True]}).fit(X)
    assert search.best_params_ == {"standardize": True}


def test_another_sampler_agrees():
    X, y = raw("linear", 40)
    exact = BayesianLinearRegression(standardize=True, sampler=Exact()).fit(X, y)
    other = BayesianLinearRegression(standardize=True, sampler=AIS(n_particles=200), random_state=0).fit(X, y)
    assert abs(other.log_evidence_ - exact.log_evidence_) < 4 * other.log_evidence_std_


def test_the_selector_weighs_the_same_models():
    X, y = load_diabetes(return_X_y=True)
    X = X[:, :4]
    selector = EvidenceFeatureSelector(standardize=True).fit(X, y)
    for k in range(4):
        best = selector.models_.iloc[k]
        one = BayesianLinearRegression(columns=list(best["columns"]), standardize=True).fit(X, y)
        assert best["log_evidence"] == pytest.approx(one.log_evidence_, abs=1e-8)
    Xs, ys, log_jacobian = by_hand("linear", X, y)
    reference = EvidenceFeatureSelector().fit(Xs, ys)
    assert selector.log_evidence_ == pytest.approx(reference.log_evidence_ + log_jacobian, abs=1e-8)
    np.testing.assert_allclose(selector.inclusion_probabilities_, reference.inclusion_probabilities_)
    np.testing.assert_allclose(selector.coef_, reference.coef_ * y.std() / X.std(axis=0))
    np.testing.assert_allclose(selector.coef_std_, reference.coef_std_ * y.std() / X.std(axis=0))
    assert selector.noise_std_ == pytest.approx(reference.noise_std_ * y.std())
    ours, theirs = selector.predict(X, return_std=True), reference.predict(Xs, return_std=True)
    np.testing.assert_allclose(ours[0], theirs[0] * y.std() + y.mean())
    np.testing.assert_allclose(ours[1], theirs[1] * y.std())
    np.testing.assert_allclose(X @ selector.coef_ + selector.intercept_, ours[0])
    stream = EvidenceFeatureSelector(standardize=True).partial_fit(X[:50], y[:50])
    assert stream.partial_fit(X[50:], y[50:]).units_.y_center == pytest.approx(y[:50].mean())


def test_a_chunk_line_has_the_evidence_of_the_data(capsys):
    X, y = raw("linear", 40)
    fitted = BayesianLinearRegression(standardize=True, verbose=True).fit(X, y)
    assert f"log evidence {fitted.log_evidence_:.2f}" in capsys.readouterr().out.splitlines()[-1]


def test_no_rows_can_be_drawn_from_a_prior_that_waits_for_rows():
    with pytest.raises(ValueError, match="no rows are drawn from such a prior"):
        bidirectional_error(BayesianSoftmaxRegression(standardize=True), 10)


@pytest.mark.parametrize("kind", STANDARD)
def test_a_weight_of_two_is_a_row_twice(kind):
    X, y = raw(kind, 30)
    weight = np.random.default_rng(1).integers(0, 4, size=len(X))
    twice = np.repeat(np.arange(len(X)), weight)
    one = make(kind, standardize=True).fit(X, y, sample_weight=weight)._units
    other = make(kind, standardize=True).fit(X[twice], None if y is None else y[twice])._units
    for mine, theirs in zip(one, other):
        np.testing.assert_array_equal(mine, theirs)


def test_units_that_are_given_may_be_of_rows_that_come_yet(rng):
    """Three groups in their order leave the units of ten rows, and not those of all."""
    X = np.repeat([0.0, 30.0, 60.0], 40)[:, None] + rng.standard_normal((120, 1))
    whole = BayesianGMM(1).fit(X)
    stream, other = BayesianGMM(1, units=whole.units_), BayesianGMM(1)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the rows have left")
        for start in range(0, 120, 10):
            stream.partial_fit(X[start : start + 10])
    assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-8)
    with pytest.warns(EvidenceWarning, match=r"column 0 has its mean .* units="):
        for start in range(0, 120, 10):
            other.partial_fit(X[start : start + 10])


def test_a_column_of_two_values_may_leave_its_unit(rng):
    X = rng.integers(0, 2, size=(60, 1)).astype(float)
    y = rng.standard_normal(60)
    model = BayesianLinearRegression().partial_fit(X[:30], y[:30])
    with pytest.warns(EvidenceWarning, match="column 0 has its mean"):
        model.partial_fit(20.0 * X[30:] - 10.0, y[30:])


def test_units_keep_their_digits_where_the_rows_looked_at_first_are_unlike_the_others():
    """Each fourth of 4000 rows says first where a column is about; here these weigh next to nothing."""
    rng = np.random.default_rng(20261129)
    x, weight = 1e12 + rng.normal(size=4000), np.ones(4000)
    x[::4], weight[::4] = 0.0, 1e-30
    units = BayesianLinearRegression().fit(x[:, None], rng.normal(size=4000), sample_weight=weight).units_
    seen = x[weight == 1.0] - 1e12
    assert units.center[0] - 1e12 == pytest.approx(seen.mean(), abs=1e-3)
    assert units.scale[0] == pytest.approx(seen.std(), rel=1e-5)
