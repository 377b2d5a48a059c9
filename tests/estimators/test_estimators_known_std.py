"""Rows with standard errors of their own, against the dense normal of y."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn import clone, config_context

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    EvidenceModelAverager,
    EvidenceSearch,
    Group,
    RowSource,
    compare,
    load,
    merge,
    predictive_check,
    prior_sensitivity,
    save,
)

#: Trials of a vaccine against tuberculosis (Colditz et al. 1994; dat.bcg of R's metafor).
LOG_RR = np.array(
    [-0.889, -1.585, -1.348, -1.442, -0.218, -0.786, -1.621, 0.012, -0.469, -1.371, -0.339, 0.446, -0.017]
)
SE = np.array([0.571, 0.441, 0.644, 0.141, 0.226, 0.083, 0.472, 0.063, 0.238, 0.270, 0.111, 0.730, 0.267])
LATITUDE = np.array([44.0, 55, 42, 52, 13, 44, 19, 13, 27, 42, 18, 33, 33])
X = np.column_stack([(LATITUDE - 33) / 10, np.arange(13)])


def line(**params):
    return BayesianLinearRegression(**{"columns": [0], "standardize": False, "random_state": 0} | params)


def dense(Z, y, std, scales, tau=0.0):
    """log N(y | 0, Z diag(scales²) Zᵀ + diag(std² + τ²)), and posterior mean and sd of the coefficients."""
    V = (Z * scales**2) @ Z.T + np.diag(std**2 + tau**2)
    gain = (scales**2)[:, None] * np.linalg.solve(V, Z).T
    sd = np.sqrt(scales**2 - np.sum(gain * (Z * scales**2).T, axis=1))
    return stats.multivariate_normal(np.zeros(len(y)), V).logpdf(y), gain @ y, sd


def check_dense(seed=0, unit=1.0, **params):
    rng = np.random.default_rng([611, seed])
    n = int(rng.integers(3, 30))
    Z, std = rng.standard_normal((n, 2)), unit * rng.lognormal(0.0, 1.5, n)
    y = unit * (Z @ [1.0, -0.5] + 2) + std * rng.standard_normal(n)
    model = BayesianLinearRegression(**params, random_state=seed).fit(Z, y, known_std=std)
    units = model.units_ if params.get("standardize", True) else None
    center, scale, m, t = (np.zeros(2), np.ones(2), 0.0, 1.0) if units is None else units[:4]
    design = np.column_stack([(Z - center) / scale, np.ones(n)])
    expected, mean, sd = dense(design, y - m, std, np.full(3, t))
    assert model.log_evidence_ == pytest.approx(expected, abs=1e-8) and model.log_evidence_std_ == 0
    assert not model.warnings_
    n_draws = len(model.particles_)  # means and standard deviations are those of draws
    off = np.abs(model.predict(Z) - design @ mean - m)
    assert np.all(off <= 5 * (np.abs(design) @ sd) / np.sqrt(n_draws))
    np.testing.assert_allclose(model.coef_std_, sd[:2] / scale, rtol=5 / np.sqrt(2 * n_draws))


@pytest.mark.parametrize("unit", [1e-7, 1.0, 1e7])
@pytest.mark.parametrize("seed", range(5))
def test_the_evidence_is_that_of_the_dense_normal(seed, unit):
    check_dense(seed, unit)
    check_dense(seed, standardize=False)


def test_a_group_of_one_level_a_row_is_the_random_effects_model():
    """By quadrature over τ; metafor's REML has −0.7145 ± 0.1798, and −0.0291 ± 0.0072 for a degree."""
    tau = np.exp(np.linspace(-9, 4, 2000))
    log_p = np.log(2) + stats.t(3).logpdf(tau / 0.5) - np.log(0.5) + np.log(tau)
    for columns, Z in (([], np.ones((13, 1))), ([0], np.column_stack([X[:, 0], np.ones(13)]))):
        model = line(columns=columns, terms=[Group(1, scale=0.5)]).fit(X, LOG_RR, known_std=SE)
        log_f = [dense(Z, LOG_RR, SE, np.ones(Z.shape[1]), one)[0] for one in tau]
        exact = logsumexp(log_f + log_p) + np.log(13 / 1999)
        assert abs(model.log_evidence_ - exact) < 4 * model.log_evidence_std_ + 1e-3
        assert model.log_evidence_std_ < 0.02
    assert abs(model.coef_[0] / 10 + 0.0291) < 0.002 and abs(model.coef_std_[0] / 10 - 0.0072) < 0.002
    assert "noise_std" not in model.posterior_samples()
    with pytest.raises(AttributeError, match="share no noise"):
        model.variance_shares(X)


def test_streams_files_and_searches(tmp_path):
    whole = line().fit(X, LOG_RR, known_std=SE)
    stream, names = line(), {"known_std": SE}
    for k in (slice(0, 2), slice(2, 9), slice(9, 13)):
        stream.partial_fit(X[k], LOG_RR[k], known_std=SE[k])
    assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-9)
    assert stream.data_fingerprint_ == whole.data_fingerprint_
    path = stream.evidence_path_
    assert path["log_evidence"][-1] == pytest.approx(stream.log_evidence_, abs=1e-9)
    assert path["log_predictive"].sum() == pytest.approx(stream.log_evidence_, abs=1e-9)
    save(stream, tmp_path / "m")
    again = load(tmp_path / "m").partial_fit(X[:3] + 1, LOG_RR[:3], known_std=SE[:3])
    stream.partial_fit(X[:3] + 1, LOG_RR[:3], known_std=SE[:3])
    assert again.log_evidence_ == stream.log_evidence_
    compare({"known": whole, "one noise": line().fit(X, LOG_RR)})  # of one y
    search = EvidenceSearch(line(), {"columns": [[], [0]]}).fit(X, LOG_RR, **names)
    assert search.best_estimator_.log_evidence_ == whole.log_evidence_
    table = prior_sensitivity(line(), X, LOG_RR, **names)
    half = line(coef_scale=1 / 3).fit(X, LOG_RR, **names).log_evidence_
    assert table["log_evidence"][1] == pytest.approx(half, abs=1e-9)
    parts = [line().fit(X[k], LOG_RR[k], known_std=SE[k]) for k in (slice(0, 6), slice(6, 13))]
    if parts[0]._std_unit == parts[1]._std_unit:
        assert merge(*parts).log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-9)
    with pytest.raises(ValueError, match="differ in size"):
        merge(parts[0], line().fit(X, LOG_RR, known_std=100 * SE))


def test_a_column_by_name_is_no_covariate():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("formulae")
    frame = pd.DataFrame({"a": X[:, 0], "se": SE, "rr": np.exp(LOG_RR), "log_rr": LOG_RR})
    plain = line(columns=None).fit(X[:, :1], LOG_RR, known_std=SE)
    named = line(columns=None).fit(frame[["a", "se"]], LOG_RR, known_std="se")
    assert named.log_evidence_ == plain.log_evidence_
    np.testing.assert_array_equal(named.predict(frame[["a", "se"]]), plain.predict(X[:, :1]))
    std = named.predict(frame[["a", "se"]], return_std=True, known_std="se")[1]
    np.testing.assert_allclose(std, plain.predict(X[:, :1], return_std=True, known_std=SE)[1])
    by_formula = line(columns=None, formula="log_rr ~ a").fit(frame, known_std="se")
    assert by_formula.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-9)
    of_log = line(columns=None, formula="log(rr) ~ a").fit(frame, known_std="se")
    assert of_log.log_evidence_ == pytest.approx(plain.log_evidence_ - LOG_RR.sum(), abs=1e-9)
    with pytest.raises(ValueError, match="known_std='sd' names a column"):
        line().fit(frame, LOG_RR, known_std="sd")


def test_predictions_have_the_noise_that_is_said():
    model = line().fit(X, LOG_RR, known_std=SE)
    _, effect = model.predict(X, return_std=True, known_std=0)
    Z = np.column_stack([X[:, 0], np.ones(13)])
    V = np.linalg.inv(np.eye(2) + (Z / SE[:, None] ** 2).T @ Z)
    np.testing.assert_allclose(effect, np.sqrt(np.sum((Z @ V) * Z, axis=1)), rtol=0.05)
    np.testing.assert_allclose(
        model.predict(X, return_std=True, known_std=2.0)[1], np.hypot(effect, 2.0), rtol=1e-9
    )
    assert model.score(X, LOG_RR) > 0
    for asked in (
        lambda: model.predict(X, return_std=True),
        lambda: model.sample_y(X),
        lambda: model.score_samples(X, LOG_RR),
        lambda: model.score_samples(X),
        lambda: model.log_predictive(X, LOG_RR),
    ):
        with pytest.raises(ValueError, match="noise of new rows is not known"):
            asked()
    with pytest.raises(TypeError, match="not replicated"):
        predictive_check(model, X, LOG_RR)
    with pytest.raises(AttributeError, match="share no noise_std_"):
        _ = model.noise_std_
    with pytest.raises(ValueError, match="came without known_std="):
        line().fit(X, LOG_RR).predict(X, known_std=1.0)


def test_averages_hand_them_on():
    with config_context(enable_metadata_routing=True):
        models = [line().set_fit_request(known_std=True), line(columns=[]).set_fit_request(known_std=True)]
        average = EvidenceModelAverager([("a", models[0]), ("b", models[1])])
        average.fit(X, LOG_RR, known_std=SE)
    alone = [clone(model).fit(X, LOG_RR, known_std=SE).log_evidence_ for model in models]
    assert average.log_evidence_ == pytest.approx(logsumexp(alone) - np.log(2), abs=1e-6)


@pytest.mark.parametrize(
    "params, given, words",
    [
        (dict(noise_std=1.0), {}, "leave out noise_std"),
        (dict(noise_prior=(1, 1)), {}, "leave out noise_prior"),
        (dict(prior="jzs"), {}, "leave out prior='jzs'"),
        ({}, dict(sample_weight=np.ones(13)), "leave out sample_weight"),
        ({}, dict(known_std=0 * SE), "row 0 has 0"),
        ({}, dict(known_std=-SE), "row 0 has -0.571"),
        ({}, dict(known_std=SE[:5]), "inconsistent numbers of samples"),
        ({}, dict(known_std=SE * np.where(SE > 0.7, np.nan, 1)), "NaN"),
        ({}, dict(known_std=SE * np.where(SE > 0.7, np.inf, 1)), "infinity"),
        ({}, dict(known_std=np.array(["a"] * 13)), "known_std"),
        ({}, dict(known_std=SE[:, None] * np.ones(2)), "one number per row"),
        ({}, dict(known_std=np.ma.masked_less(SE, 0.1)), "masked"),
    ],
)
def test_standard_errors_that_nothing_can_have_are_refused(params, given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        line(**params).fit(X, LOG_RR, **{"known_std": SE} | given)


def test_all_rows_have_them_or_none():
    with pytest.raises(ValueError, match="of all rows or of none"):
        line().fit(X, LOG_RR, known_std=SE).partial_fit(X, LOG_RR)
    with pytest.raises(ValueError, match="of all rows or of none"):
        line().fit(X, LOG_RR).partial_fit(X, LOG_RR, known_std=SE)
    both = line().fit(X, LOG_RR, known_std=SE).fit(X, LOG_RR)  # a fit forgets
    assert both.log_evidence_ == line().fit(X, LOG_RR).log_evidence_


def test_files_and_lazy_collections_are_refused(tmp_path):
    pytest.importorskip("pyarrow")
    np.savetxt(tmp_path / "t.csv", np.column_stack([X, LOG_RR]), delimiter=",", header="a,b,y", comments="")
    with pytest.raises(TypeError, match="known_std= is of rows in arrays and frames"):
        line().fit(RowSource(tmp_path / "t.csv", target="y"), known_std=SE)


@pytest.mark.parametrize("family", ["gaussian", "student_t", "poisson"])
def test_generalised_regressions_name_the_one_that_takes_them(family):
    model = BayesianGLM(family)
    search = EvidenceSearch(model, {"coef_scale": [1.0, 2.0]})
    for learn in (model.fit, model.partial_fit, search.fit):
        with pytest.raises(TypeError, match=r"BayesianLinearRegression\(\)\.fit\(X, y, known_std="):
            learn(X, LOG_RR, known_std=SE)
