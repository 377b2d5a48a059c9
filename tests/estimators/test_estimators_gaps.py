"""A series with missing values against the dense marginal normal of the others, and gaps of dated indices."""

import warnings

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from scipy.stats import multivariate_t, norm, t

from sgevidence import BayesianAutoregression, EvidenceSearch, EvidenceWarning, load, save
from sgevidence.estimators import _lags
from sgevidence.history import Rows
from sgevidence.models import LinearModel
from sgevidence.samplers import Exact


def simulated(seed, n, p):
    rng = np.random.default_rng([614, seed])
    y = rng.standard_normal(n)
    for k in range(p, n):
        y[k] = 0.3 + 0.6 * y[k - 1] - 0.3 * y[k - p] + 0.7 * rng.standard_normal()
    return y, rng


def with_gaps(seed, n=25, p=1, first=None, n_missing=None):
    y, rng = simulated(seed, n, max(p, 1))
    places = np.arange(p if first is None else first, n)
    count = int(rng.integers(1, len(places) // 2 + 1)) if n_missing is None else n_missing
    y[rng.choice(places, count, replace=False)] = np.nan
    return y, rng


def marginal(y, p, first, W, s, X=None):
    """log p(values that are there | the first, θ) for each row of (φ, w, b) W, by the covariance of all."""
    n, there, found = len(y) - first, ~np.isnan(y[first:]), np.empty(len(W))
    for k, (w, v) in enumerate(zip(W, s)):
        A, c = np.eye(n), np.full(n, w[-1])
        c += 0.0 if X is None else X[first:] @ w[p:-1]
        for i in range(n):
            for lag in range(1, p + 1):
                if i >= lag:
                    A[i, i - lag] = -w[lag - 1]
                else:
                    c[i] += w[lag - 1] * y[first + i - lag]
        L = solve_triangular(A, np.eye(n), lower=True)[there]
        R = np.linalg.qr(L.T, mode="r")  # the covariance is σ² RᵀR, which explosive φ would round away
        u = solve_triangular(R, y[first:][there] - L @ c, trans="T")
        log_det = 2 * np.sum(np.log(np.abs(np.diag(R)))) + len(u) * (v + np.log(2 * np.pi))
        found[k] = -0.5 * (log_det + np.exp(-v) * u @ u)
    return found


def likelihood(y, p, first, W, s, X=None):
    """The same by stretches."""
    rows, _ = _lags.Past.none().rows(y, X, p, False, first)
    model = LinearModel(rows.X.shape[1])
    stretches = _lags.Stretch.all_of(rows, p, True)
    complete = rows.take(np.flatnonzero(_lags.is_complete(rows)))
    whole = model.sum_log_likelihood(np.column_stack([W, s]), complete) if len(complete) else 0.0
    return whole + sum(one.log_density(W, s) for one in stretches)


def check_likelihood(seed, p, first, with_X):
    y, rng = with_gaps(seed, 30, p, first)
    X = rng.standard_normal((30, 2)) if with_X else None
    W = 0.3 * rng.standard_normal((7, p + 2 * with_X + 1))
    s = rng.standard_normal(7)
    np.testing.assert_allclose(likelihood(y, p, first, W, s, X), marginal(y, p, first, W, s, X), rtol=1e-7)


@pytest.mark.parametrize("with_X", [False, True])
@pytest.mark.parametrize("p, first", [(0, 0), (1, 1), (1, 4), (2, 2), (3, 3), (5, 6)])
def test_the_likelihood_is_the_dense_marginal_normal(p, first, with_X):
    for seed in range(3):
        check_likelihood(seed, p, first, with_X)


def by_importance(y, p, model, rng, n=3000):
    """log Z and its error, by draws about the posterior and the dense marginal normal."""
    theta = np.column_stack(
        [model.posterior_samples()["coef"], model.posterior_samples()["intercept"], log_variance(model)]
    )
    m, C = theta.mean(axis=0), 1.5 * np.cov(theta.T)
    chi = rng.chisquare(8, n) / 8
    x = m + rng.multivariate_normal(np.zeros(len(m)), C, n) / np.sqrt(chi)[:, None]
    log_q = multivariate_t(m, C, df=8).logpdf(x)
    W, s = x[:, :-1], x[:, -1]
    log_prior = norm.logpdf(W).sum(axis=1) + np.log(2) + t(3).logpdf(np.exp(s / 2)) + s / 2 - np.log(2)
    log_w = marginal(y, p, p, W, s) + log_prior - log_q
    shares = np.exp(log_w - log_w.max())
    return logsumexp(log_w) - np.log(n), shares.std() / shares.mean() / np.sqrt(n)


def log_variance(model):
    return 2 * np.log(model.posterior_samples()["noise_std"])


def check_evidence(seed, p):
    y, rng = with_gaps(seed, 40, p)
    model = BayesianAutoregression(p, standardize=False, random_state=seed).fit(y)
    exact, error = by_importance(y, p, model, rng)
    return (model.log_evidence_ - exact) / np.hypot(model.log_evidence_std_, error), model


@pytest.mark.parametrize("p", [1, 2])
def test_the_evidence_is_that_of_the_values_that_are_there(p):
    z, model = check_evidence(1, p)
    assert abs(z) < 4 and model.log_evidence_std_ < 0.02 and not model.warnings_


@pytest.mark.slow
def test_evidences_of_twenty_series():
    z = np.array([check_evidence(100 + seed, 1 + seed % 3)[0] for seed in range(20)])
    assert np.abs(z).max() < 4 and z.std() < 1.3


def test_a_series_without_gaps_has_its_exact_evidence():
    """As many points as the integral over gaps takes; where the last value is missing, it says nothing."""
    y, _ = simulated(3, 40, 1)
    exact = BayesianAutoregression(1, standardize=False, random_state=0).fit(y)
    ends = BayesianAutoregression(1, standardize=False, random_state=0).fit(np.r_[y, np.nan, np.nan])
    assert abs(ends.log_evidence_ - exact.log_evidence_) < 4 * ends.log_evidence_std_ + 1e-3
    assert 0 < ends.log_evidence_std_ < 0.02
    np.testing.assert_allclose(ends.coef_, exact.coef_, atol=0.2 * exact.coef_std_[0])


def test_units_orders_files_and_forecasts(tmp_path):
    y, _ = with_gaps(5, 60, 3, n_missing=9)
    y[-3:] = [0.1, 0.2, 0.4]
    one = BayesianAutoregression(2, random_state=0).fit(y)
    other = BayesianAutoregression(2, random_state=0).fit(1e6 * y + 5e7)
    n = np.sum(~np.isnan(y[2:]))
    assert other.log_evidence_ == pytest.approx(one.log_evidence_ - n * np.log(1e6), abs=1e-3)
    np.testing.assert_allclose(other.forecast(3), 1e6 * one.forecast(3) + 5e7, rtol=1e-3)
    search = EvidenceSearch(BayesianAutoregression(max_order=3, random_state=0), {"order": [0, 1, 2, 3]})
    found = search.fit(y)
    assert len(set(found.cv_results_["mean_test_log_evidence"])) == 4
    save(one, tmp_path / "m")
    assert load(tmp_path / "m").forecast(2).tolist() == one.forecast(2).tolist()
    again = BayesianAutoregression(2, random_state=0).fit(y.tolist())
    assert again.log_evidence_ == one.log_evidence_ and again.coef_.tolist() == one.coef_.tolist()
    assert one.fit(np.nan_to_num(y)).log_evidence_std_ == 0.0  # a fit forgets


GOOD = simulated(7, 40, 1)[0]
HOLE = np.where(np.arange(40) == 20, np.nan, GOOD)
REFUSED = {
    "in what is conditioned on": (
        lambda: BayesianAutoregression(3).fit(np.r_[1.0, np.nan, GOOD]),
        "among its first 3 values, which are conditioned on: begin at row 2",
    ),
    "nothing else": (lambda: BayesianAutoregression().fit(np.r_[1.0, np.full(20, np.nan)]), "NaN only"),
    "a stream": (lambda: BayesianAutoregression().partial_fit(HOLE), "fit.y. of the whole series takes them"),
    "a stream after it": (lambda: BayesianAutoregression().fit(HOLE).partial_fit(GOOD), "learnt at once"),
    "rows to predict": (lambda: BayesianAutoregression().fit(GOOD).predict(HOLE), "1 rows have no value"),
    "at the end": (
        lambda: BayesianAutoregression().fit(np.r_[GOOD, np.nan]).forecast(2),
        "the series must end with values",
    ),
    "too long": (
        lambda: BayesianAutoregression().fit(np.r_[GOOD, np.full(200, np.nan), GOOD]),
        "150 at most are integrated at once",
    ),
    "infinite": (lambda: BayesianAutoregression().fit(np.r_[HOLE, np.inf]), "infinity"),
    "a column beside": (
        lambda: BayesianAutoregression().fit(np.where(HOLE[:, None] > 0, np.nan, 1.0), GOOD),
        "NaN",
    ),
    "another sampler": (lambda: BayesianAutoregression(sampler=Exact()).fit(HOLE), "sampler=None"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_gaps_that_are_refused(name):
    call, words = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def indices():
    pd = pytest.importorskip("pandas")
    return {
        "days": pd.date_range("2020-01-01", periods=40),
        "business days": pd.bdate_range("2020-01-01", periods=40),
        "ends of months": pd.date_range("2020-01-01", periods=40, freq="ME"),
        "quarters": pd.date_range("2020-01-01", periods=40, freq="QS"),
        "years": pd.date_range("1980-01-01", periods=40, freq="YS"),
        "periods": pd.period_range("2020-01", periods=40, freq="M"),
        "hours": pd.date_range("2020-01-01", periods=40, freq="3h", tz="Europe/Berlin"),
        "durations": pd.timedelta_range(0, periods=40, freq="5min"),
    }


@pytest.mark.parametrize("name", ["days", "business days", "ends of months", "quarters", "years", "periods"])
def test_times_that_an_index_lacks_are_missing_rows(name):
    check_index(indices()[name])


@pytest.mark.parametrize("name", ["hours", "durations"])
def test_clock_times_that_an_index_lacks_are_missing_rows(name):
    check_index(indices()[name])


def check_index(index):
    pd = pytest.importorskip("pandas")
    places = [7, 8, 20]
    holes = GOOD.copy()
    holes[places] = np.nan
    expected = BayesianAutoregression(random_state=0).fit(holes).log_evidence_
    series = pd.Series(GOOD, index=index)
    with pytest.warns(EvidenceWarning, match=r"the index lacks times \(3\)"):
        found = BayesianAutoregression(random_state=0).fit(series.drop(index[places]))
    assert found.log_evidence_ == expected
    assert any("lacks times (3)" in words for words in found.warnings_)
    with pytest.raises(ValueError, match="exogenous columns nobody knows"):
        columns = pd.DataFrame({"x": GOOD}, index=index).drop(index[places])
        BayesianAutoregression().fit(columns, series.drop(index[places]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = BayesianAutoregression(random_state=0).fit(series)
    assert whole.log_evidence_ == BayesianAutoregression(random_state=0).fit(GOOD).log_evidence_


def test_irregular_times_follow_one_another():
    """Hours of days of trading, and days at random."""
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2020-01-06", periods=8)
    trading = pd.DatetimeIndex([day + pd.Timedelta(hours=h) for day in days for h in range(9, 14)])
    rng = np.random.default_rng(3)
    random = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 10**9, 40)), unit="s")
    expected = BayesianAutoregression(random_state=0).fit(GOOD).log_evidence_
    for index in (trading, random, pd.Index(np.delete(np.arange(41), 5)), pd.DatetimeIndex([days[0]] * 40)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = BayesianAutoregression(random_state=0).fit(pd.Series(GOOD, index=index))
        assert found.log_evidence_ == expected


def test_rows_of_gaps_are_plain_rows_where_nothing_is_missing():
    rows = Rows.of(np.ones((3, 1)), np.arange(3.0))
    assert not _lags.Stretch.all_of(rows, 1, True) and _lags.is_complete(rows).all()
