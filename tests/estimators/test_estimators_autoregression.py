"""The autoregression: evidence by dense Gaussians, streams cut anywhere, forecasts that cover what comes."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, multivariate_normal, norm

from sgevidence import (
    BayesianAutoregression,
    BayesianLinearRegression,
    EvidenceModelAverager,
    EvidenceMonitor,
    EvidenceSearch,
    EvidenceWarning,
    compare,
    load,
    merge,
    prior_sensitivity,
    save,
)
from sgevidence.displays import CoefficientsDisplay
from sgevidence.monitoring import RegressionSegment
from sgevidence.samplers import Exact

#: Nothing here is tuned to a seed: any other will do.
SEED = 20261126


def simulated(phi, n, seed, b=0.3, sigma=0.7, X=None):
    """A series, and standard normal noise in the place of what came before."""
    rng = np.random.default_rng([SEED, seed])
    y = rng.standard_normal(n + len(phi))
    for t in range(len(phi), len(y)):
        y[t] = b + sum(f * y[t - 1 - lag] for lag, f in enumerate(phi)) + sigma * rng.standard_normal()
        y[t] += 0.0 if X is None else X[t - len(phi), 0]
    return y[len(phi) :]


def columns(seed, n, p=2):
    return np.random.default_rng([SEED, 7, seed]).standard_normal((n, p))


def by_hand(y, X=None, order=1, max_order=None, trend="c"):
    """Design matrix, the constant last, and targets, row by row."""
    first = order if max_order is None else max_order
    rows = []
    for t in range(first, len(y)):
        row = [y[t - lag] for lag in range(1, order + 1)] + ([t + 1.0] if trend == "ct" else [])
        rows.append([*row, *([] if X is None else X[t]), *([] if trend == "n" else [1.0])])
    return np.array(rows).reshape(len(y) - first, -1), y[first:]


def fitted(series, X=None, **params):
    model = BayesianAutoregression(**{"random_state": 0, "standardize": False} | params)
    return model.fit(series) if X is None else model.fit(X, series)


CASES = {
    "one lag": {},
    "three lags": dict(order=3),
    "no lag": dict(order=0),
    "common rows": dict(order=1, max_order=4),
    "no intercept": dict(order=2, trend="n"),
    "trend": dict(order=2, trend="ct", coef_scale=0.5),
    "exogenous": dict(order=2, max_order=3, with_X=True),
    "all": dict(order=1, max_order=2, trend="ct", with_X=True, coef_scale=0.3, intercept_scale=2.0),
}


def case(name, n=40):
    params = dict(CASES[name])
    X = columns(1, n) if params.pop("with_X", False) else None
    return simulated([0.6, -0.3], n, 1, X=X), X, params


def dense(y, X, sigma, **params):
    """log p(y | first rows, σ) by the n × n covariance."""
    scales = [params.pop(name, 1.0) for name in ("coef_scale", "intercept_scale")]
    Phi, target = by_hand(y, X, **params)
    S = np.full(Phi.shape[1], scales[0])
    if params.get("trend", "c") != "n":
        S[-1] = scales[1]
    covariance = sigma**2 * np.eye(len(target)) + (Phi * S**2) @ Phi.T
    return multivariate_normal(np.zeros(len(target)), covariance).logpdf(target)


@pytest.mark.parametrize("name", CASES)
def test_evidence_is_that_of_a_dense_gaussian(name):
    y, X, params = case(name)
    model = fitted(y, X, noise_std=0.6, **params)
    assert model.log_evidence_ == pytest.approx(dense(y, X, 0.6, **params), abs=1e-8)
    assert model.log_evidence_std_ == 0.0


def test_evidence_with_unknown_noise_is_an_integral_of_dense_gaussians():
    y, X, params = case("exogenous", 20)

    def joint(s):  # σ ~ half-t(3, 1), s = log σ
        log_prior = np.log(4 / (np.pi * np.sqrt(3))) - 2 * np.log1p(np.exp(2 * s) / 3) + s
        return np.exp(dense(y, X, np.exp(s), **params) + log_prior + 30.0)

    integral = quad(joint, -5.0, 5.0, epsabs=0, epsrel=1e-8, limit=200)[0]
    assert fitted(y, X, **params).log_evidence_ == pytest.approx(np.log(integral) - 30.0, abs=1e-6)


# -- streams cut anywhere -----------------------------------------------------------------------------


def cut(y, X, rng, **params):
    """Calls of one row, of few, and of more than lags give one answer, in buffers that the caller reuses."""
    model, start = BayesianAutoregression(**{"random_state": 0, "standardize": False} | params), 0
    while start < len(y):
        size = int(rng.choice([1, 1, 2, 3, 17]))
        part = y[start : start + size].copy()
        if X is None:
            model.partial_fit(part)
        else:
            beside = X[start : start + size].copy()
            model.partial_fit(beside, part)
            beside[:] = -1e9
        part[:] = -1e9
        start += size
    return model


@pytest.mark.parametrize("name", CASES)
def test_a_stream_may_be_cut_anywhere(name):
    y, X, params = case(name)
    rng = np.random.default_rng([SEED, 2])
    for known in ({"noise_std": 0.6}, {}):
        whole, stream = fitted(y, X, **known, **params), cut(y, X, rng, **known, **params)
        assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-8)
        assert stream.n_samples_seen_ == whole.n_samples_seen_ == len(y) - whole.n_conditioned_
        assert stream.data_fingerprint_ == whole.data_fingerprint_
        assert stream.evidence_path_["log_predictive"].sum() == pytest.approx(whole.log_evidence_)


def test_predictions_after_a_cut_are_those_of_one_fit():
    y, X, params = case("all", 60)
    whole = fitted(y, X, noise_std=0.6, **params)
    stream = cut(y, X, np.random.default_rng([SEED, 3]), noise_std=0.6, **params)
    future = columns(5, 4)
    means, stds = zip(*(model.forecast(4, future, return_std=True) for model in (whole, stream)))
    np.testing.assert_allclose(*means, atol=0.1)  # of other draws
    np.testing.assert_allclose(*stds, rtol=0.1)


def test_before_the_first_row_of_the_likelihood_the_posterior_is_the_prior():
    model = BayesianAutoregression(3, random_state=0, standardize=False).partial_fit([1.0, 2.0])
    assert (model.log_evidence_, model.log_evidence_std_, model.n_samples_seen_) == (0.0, 0.0, 0)
    assert np.all(np.abs(model.coef_) < 0.1) and not model.warnings_ and model.diagnostics_["ess"] > 0
    with pytest.raises(ValueError, match="needs the 3 values before it, and only 2 have been seen"):
        model.forecast(1)
    assert np.isfinite(model.partial_fit([1.5]).forecast(1)).all()


def test_copies_files_and_pickles_go_on(tmp_path):
    pytest.importorskip("skops")
    y, X, params = case("exogenous")
    model = fitted(y[:20], X[:20], **params)
    save(model, tmp_path / "model.sge")
    others = [load(tmp_path / "model.sge"), pickle.loads(pickle.dumps(model)), copy.copy(model)]
    expected = model.partial_fit(X[20:], y[20:]).log_evidence_
    for other in others:
        assert other.partial_fit(X[20:], y[20:]).log_evidence_ == expected


# -- predictions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("standardize", [False, True])
def test_one_step_predictions_are_those_of_the_parameters(name, standardize):
    y, X, params = case(name, 50)
    seen = slice(0, 40)
    model = fitted(10 * y[seen] + 5, None if X is None else X[seen], standardize=standardize, **params)
    draws, W = model._parameters(model.particles_), model.particle_weights_
    Phi, target = by_hand(10 * y + 5, X, **{k: v for k, v in params.items() if "scale" not in k})
    Phi, target = Phi[-10:], target[-10:]
    coef = draws["coef"] if "intercept" not in draws else np.c_[draws["coef"], draws["intercept"]]
    means, stds = coef @ Phi.T, draws["noise_std"][:, None]
    after = [10 * y[40:] + 5] if X is None else [X[40:], 10 * y[40:] + 5]
    mean, std = model.predict(*after, return_std=True)
    np.testing.assert_allclose(mean, W @ means, rtol=1e-9, atol=1e-9)
    variance = W @ (stds**2 + (means - W @ means) ** 2)
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-6)
    density = np.log(W @ norm(means, stds).pdf(target))
    np.testing.assert_allclose(model.score_samples(*after), density, atol=1e-6)
    residual = target - W @ means
    assert model.score(*after) == pytest.approx(
        1 - residual @ residual / np.sum((target - target.mean()) ** 2)
    )
    first = model.forecast(1, None if X is None else X[40:41])
    np.testing.assert_allclose(first, mean[:1], rtol=1e-9)


def test_the_joint_predictive_is_what_learning_adds():
    y, X, params = case("exogenous", 50)
    model = fitted(y[:40], X[:40], noise_std=0.6, **params)
    expected = fitted(y, X, noise_std=0.6, **params).log_evidence_ - model.log_evidence_
    assert model.log_predictive(X[40:], y[40:]) == pytest.approx(expected, abs=0.15)


@pytest.mark.parametrize("name", ["three lags", "no lag", "all"])
def test_forecasts_are_the_distribution_of_simulated_paths(name):
    y, X, params = case(name)
    model, future = fitted(y, X, **params), None if X is None else columns(5, 6)
    mean, std, bounds = model.forecast(6, future, return_std=True, interval=0.8)
    paths = model.sample_forecast(6, 4000, future, random_state=1)
    assert paths.shape == (6, 4000) and bounds.shape == (6, 2)
    z = (paths.mean(axis=1) - mean) / (paths.std(axis=1) / np.sqrt(4000))
    assert np.abs(z).max() < 5
    np.testing.assert_allclose(np.mean(paths < bounds[:, :1], axis=1), 0.1, atol=0.03)
    np.testing.assert_allclose(np.mean(paths < bounds[:, 1:], axis=1), 0.9, atol=0.03)
    np.testing.assert_allclose(
        np.median(paths, axis=1), model.forecast(6, future, interval=1e-9)[1][:, 0], atol=0.15
    )
    np.testing.assert_allclose(paths.std(axis=1), std, rtol=0.15)


def ranks(seed):
    """Distribution function of forecasts at what came, also of one draw alone, the posterior mean; (2, 4).

    The parameters are drawn from the prior.
    """
    rng = np.random.default_rng([SEED, 11, seed])
    phi, b = 0.4 * rng.standard_normal(2), rng.standard_normal()
    sigma = abs(rng.standard_t(3))
    y = list(rng.standard_normal(2))
    for _ in range(9):
        y.append(b + phi @ y[:-3:-1] + sigma * rng.standard_normal())
    model = BayesianAutoregression(2, coef_scale=0.4, random_state=seed, standardize=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        model.fit(y[:7])
    paths = [model.sample_forecast(4, 300, random_state=seed)]
    model.particles_ = (model.particle_weights_ @ model.particles_)[None]
    model.particle_weights_ = np.ones(1)
    paths.append(model.sample_forecast(4, 300, random_state=seed))
    return np.mean(np.array(paths) < np.array(y[7:])[:, None], axis=2)


def test_forecasts_cover_what_comes_and_need_the_uncertainty_of_the_parameters():
    u, plug_in = np.array([ranks(seed) for seed in range(80)]).transpose(1, 0, 2)
    assert min(kstest(u[:, step], "uniform").pvalue for step in range(4)) > 1e-4
    outside = np.mean(np.abs(2 * u - 1) > 0.8)  # four correlated steps of 80 series: 0.2 ± 0.03
    assert 0.1 < outside < 0.27 < np.mean(np.abs(2 * plug_in - 1) > 0.8)


def test_standardised_is_the_model_of_a_standardised_series():
    y, X, _ = case("exogenous", 60)
    y = 1e3 + 50 * y
    model = fitted(y, 7 * X, order=2, trend="ct", standardize=True)
    m, s = y[2:].mean(), y[2:].std()
    Phi, target = by_hand(y, 7 * X, order=2, trend="ct")
    Phi = Phi[:, :-1]
    center, scale = Phi.mean(axis=0), Phi.std(axis=0)
    center[:2], scale[:2] = m, s
    plain = BayesianLinearRegression(random_state=0, standardize=False).fit(
        (Phi - center) / scale, (target - m) / s
    )
    assert model.log_evidence_ == pytest.approx(plain.log_evidence_ - len(target) * np.log(s), abs=1e-6)
    np.testing.assert_allclose(model.coef_[:2], plain.coef_[:2], atol=0.02)
    np.testing.assert_allclose(model.forecast(1, 7 * X[:1])[0], model.predict(7 * X[:1], y[:1])[0])
    assert not model.warnings_ and 800 < model.forecast(5, X[:5])[-1] < 1200


# -- orders -------------------------------------------------------------------------------------------


def test_orders_with_one_max_order_are_compared_searched_and_averaged():
    y = simulated([1.1, -0.6], 150, 6)
    models = {f"order {p}": fitted(y, order=p, max_order=4) for p in range(5)}
    table = compare(models)
    assert table.index[0] == "order 2"
    search = EvidenceSearch(
        BayesianAutoregression(max_order=4, random_state=0, standardize=False), {"order": range(5)}
    ).fit(y)
    assert search.best_params_ == {"order": 2}
    average = EvidenceModelAverager(
        [(k, BayesianAutoregression(**m.get_params())) for k, m in models.items()]
    )
    for start in range(0, 150, 40):
        average.partial_fit(y[start : start + 40])
    expected = {k: m.log_evidence_ for k, m in models.items()}
    Z = np.exp(np.array(list(expected.values())) - max(expected.values()))
    np.testing.assert_allclose(average.weights_, Z / Z.sum(), atol=1e-8)
    assert average.predict(y[:6]).shape == average.score_samples(y[:6]).shape == (6,)
    # and with a regression of the same y, given the same rows
    Phi, target = by_hand(y, order=4)
    plain = BayesianLinearRegression(random_state=0, standardize=False).fit(Phi[:, :-1], target)
    assert compare([plain, models["order 4"]]) is not None
    assert plain.log_evidence_ == pytest.approx(models["order 4"].log_evidence_, abs=1e-8)


def test_orders_without_one_max_order_are_refused():
    y = simulated([0.5], 60, 8)
    with pytest.raises(ValueError, match=r"another number of rows.*state one max_order for all orders"):
        compare([fitted(y, order=p) for p in (1, 2)])
    with pytest.raises(ValueError, match="state one max_order for all orders"):
        EvidenceSearch(BayesianAutoregression(random_state=0, standardize=False), {"order": [1, 2]}).fit(y)
    pair = [(f"order {p}", BayesianAutoregression(p, standardize=False)) for p in (1, 2)]
    with pytest.raises(ValueError, match="state one max_order for all orders"):
        EvidenceModelAverager(pair).fit(y)
    with pytest.warns(EvidenceWarning, match="the largest order of the grid, 1, has the most evidence"):
        EvidenceSearch(
            BayesianAutoregression(max_order=1, random_state=0, standardize=False), {"order": [0, 1]}
        ).fit(y)


# -- input --------------------------------------------------------------------------------------------

GOOD = simulated([0.5], 30, 9)
BESIDE = columns(9, 30)
BAD = {
    "too few rows": (
        lambda: fitted(GOOD[:2], order=2),
        "n_samples = 2: fit needs more rows than the first 2",
    ),
    "max_order": (lambda: fitted(GOOD, order=3, max_order=2), "max_order = 2 is less than order = 3"),
    "missing": (
        lambda: fitted(GOOD).predict(np.r_[GOOD, np.nan]),
        "NaN: 1 rows have no value, the first is row 30",
    ),
    "infinite": (lambda: fitted(np.r_[GOOD, np.inf]), "infinity"),
    "letters": (lambda: fitted(list("abcdef")), "y must be numbers"),
    "nothing": (lambda: BayesianAutoregression(standardize=False).fit(), "requires y to be passed"),
    "columns alone": (lambda: fitted(BESIDE), "a series has one column, got shape"),
    "no parameters": (lambda: fitted(GOOD, order=0, trend="n", noise_std=1.0), "has no parameters"),
    "noise twice": (
        lambda: fitted(GOOD, noise_std=1.0, noise_scale=1.0),
        "noise_std and noise_scale are given",
    ),
    "later without X": (
        lambda: fitted(GOOD, BESIDE).partial_fit(GOOD),
        "with 2 exogenous columns: give X and y",
    ),
    "no future": (lambda: fitted(GOOD, BESIDE).forecast(2), "in the next 2 rows, X_future"),
    "short future": (lambda: fitted(GOOD, BESIDE).forecast(3, BESIDE[:2]), "X_future has 2 rows for 3 steps"),
    "useless future": (lambda: fitted(GOOD).forecast(2, BESIDE[:2]), "X_future has no use"),
    "no step": (lambda: fitted(GOOD).forecast(0), "steps must be an integer of at least 1"),
    "interval": (lambda: fitted(GOOD).forecast(1, interval=90), "a probability between 0 and 1"),
    "explosive": (
        lambda: fitted(2.0 ** np.arange(15.0), noise_std=1.0).forecast(1100),
        "leave the floating-point numbers",
    ),
}


@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_words(name):
    attempt, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        attempt()


def test_a_refused_call_changes_nothing():
    model = fitted(GOOD[:20])
    before = (model._past, model.log_evidence_)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([1.0, np.nan])
    assert (model._past, model.log_evidence_) == before
    model.partial_fit(GOOD[20:])
    assert model.log_evidence_ == fitted(GOOD).log_evidence_


def test_parts_of_a_series_are_not_merged():
    with pytest.raises(TypeError, match="one after the other with partial_fit"):
        merge(fitted(GOOD[:15]), fitted(GOOD[15:]))


def test_a_monitor_is_shown_another_way():
    """Runs that begin anew are given rows that the others have to explain."""
    average = EvidenceModelAverager([("one", BayesianAutoregression(standardize=False))])
    for model in (BayesianAutoregression(standardize=False), average):
        with pytest.raises(TypeError, match=r"cannot be watched.*RegressionSegment\(\)"):
            EvidenceMonitor(model).partial_fit(GOOD)
    y = np.concatenate([simulated([0.9], 150, 21), simulated([-0.9], 150, 22)])
    monitor = EvidenceMonitor(RegressionSegment()).partial_fit(y[:-1, None], y[1:])
    assert np.abs(monitor.change_points_ - 150).min() < 15


def test_sensitivity_to_the_prior():
    table = prior_sensitivity(BayesianAutoregression(2, random_state=0, standardize=False), GOOD)
    assert "coef_scale * 3" in str(table)


def test_names_of_frames_and_displays():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(BESIDE, columns=["rain", "heat"])
    model = fitted(pd.Series(GOOD), frame, order=2, trend="ct", coef_scale=0.1)
    assert model.coef_names_ == ["lag 1", "lag 2", "trend", "rain", "heat"]
    display = CoefficientsDisplay.from_estimator(model)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == model.coef_names_
    assert "coef[lag 2]" in str(model.summary()) and "coef[rain]" in str(model.summary())
    assert fitted(pd.Series(GOOD)).log_evidence_ == fitted(GOOD.reshape(-1, 1)).log_evidence_


def test_another_sampler():
    exact = fitted(GOOD, sampler=Exact())
    assert exact.log_evidence_ == pytest.approx(fitted(GOOD).log_evidence_, abs=1e-8)
    assert not hasattr(exact, "partial_fit")
    assert np.isfinite(exact.forecast(3)).all()
