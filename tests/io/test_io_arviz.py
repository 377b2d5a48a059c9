"""The posterior in ArviZ's form, checked against what it says it is."""

import sys

import numpy as np
import pandas as pd
import pytest
from estimator_cases import data, estimator
from scipy.special import log_softmax, logsumexp
from scipy.stats import gamma, norm
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgevidence import SGAIS, BayesianModel, EvidenceModelAverager, to_arviz

pytestmark = pytest.mark.filterwarnings("ignore:.*ArviZ is undergoing:FutureWarning")


@pytest.fixture
def arviz():
    return pytest.importorskip("arviz")


def linear(draws, X, y):
    mean = draws["coef"] @ X.T + draws["intercept"][:, None]
    return norm.logpdf(y, mean, draws["noise_std"][:, None])


def softmax(draws, X, y):
    logits = np.einsum("mkp,np->mnk", draws["coef"], X) + draws["intercept"][:, None]
    return log_softmax(logits, axis=-1)[:, np.arange(len(y)), y]


def gmm(draws, X, y):
    mean, std = draws["means"][:, None], np.sqrt(draws["covariances"])[:, None]
    joint = norm.logpdf(X[:, None], mean, std).sum(axis=-1) + np.log(draws["weights"])[:, None]
    return logsumexp(joint, axis=-1)


def custom(draws, X, y):
    return norm.logpdf(y, draws["theta"] * X[:, 0])


DENSITIES = dict(linear=linear, softmax=softmax, gmm=gmm, custom=custom)
SHAPES = dict(
    linear=dict(coef=("feature",), intercept=(), noise_std=()),
    softmax=dict(coef=("class", "feature"), intercept=("class",)),
    gmm=dict(weights=("component",), means=("component", "feature"), covariances=("component", "feature")),
    custom=dict(theta=("parameter",)),
)


@pytest.mark.parametrize("kind", DENSITIES)
def test_draws_likelihoods_and_evidence(arviz, kind):
    X, y = data(kind)
    model = estimator(kind).fit(X, y)
    found, named = to_arviz(model, X, y), model.posterior_samples()
    assert {name: v.dims[2:] for name, v in found.posterior.data_vars.items()} == SHAPES[kind]
    for name, draws in named.items():
        np.testing.assert_array_equal(found.posterior[name].values[0], draws)
    ell = found.log_likelihood["X" if kind == "gmm" else "y"]
    assert ell.dims == ("chain", "draw", "row")
    np.testing.assert_allclose(ell.values[0], DENSITIES[kind](named, X, y), rtol=1e-9)
    for attributes in (found.attrs, found.posterior.attrs):
        assert attributes["log_evidence"] == model.log_evidence_
        assert attributes["log_evidence_std"] == model.log_evidence_std_
        assert (attributes["n_samples_seen"], attributes["model"]) == (90, type(model).__name__)


def test_the_record_of_the_run(arviz):
    model = estimator("linear")
    for start in range(0, 90, 30):
        model.partial_fit(*(a[start : start + 30] for a in data("linear")))
    stats, path = to_arviz(model).sample_stats, model.evidence_path_
    for name in set(path) - {"lambdas"}:
        assert stats[name].dims == ("chunk",)
        np.testing.assert_array_equal(stats[name].values, path[name])
    schedules = np.split(stats["lambdas"].values, np.cumsum(stats["n_annealing_steps"].values)[:-1])
    assert len(schedules) == len(path["lambdas"]) >= 3
    for schedule, original in zip(schedules, path["lambdas"]):
        np.testing.assert_array_equal(schedule, original)


def test_names_of_columns_and_classes(arviz):
    X, y = data("softmax")
    labels = np.array(["red", "white", "rosé"])[y]
    model = estimator("softmax").fit(pd.DataFrame(X, columns=["acid", "colour"]), labels)
    posterior = to_arviz(model).posterior
    one = posterior.coef.sel({"class": "rosé", "feature": "colour"}).values[0]
    place = model.classes_.tolist().index("rosé")
    np.testing.assert_array_equal(one, model.posterior_samples()["coef"][:, place, 1])
    assert to_arviz(estimator("linear").fit(X, y)).posterior.feature.values.tolist() == ["x0", "x1"]


def test_a_pipelines_rows_are_transformed(arviz):
    X, y = data("linear")
    pipeline = make_pipeline(StandardScaler(), estimator("linear")).fit(X, y)
    inside = to_arviz(pipeline[-1], pipeline[0].transform(X), y).log_likelihood.y
    for outside in (pipeline, FrozenEstimator(pipeline)):
        np.testing.assert_array_equal(to_arviz(outside, X, y).log_likelihood.y, inside)


def test_it_is_stored_and_comes_back(arviz, tmp_path):
    X, y = data("softmax")
    model = estimator("softmax").fit(X, y)
    found = to_arviz(model, X, y)
    found.to_netcdf(str(tmp_path / "fit.nc"))
    back = arviz.from_netcdf(str(tmp_path / "fit.nc"))
    for group in ("posterior", "sample_stats", "log_likelihood"):
        for name, values in found[group].data_vars.items():
            np.testing.assert_array_equal(back[group][name].values, values.values)
            assert back[group][name].dims == values.dims
    assert back.posterior.attrs["log_evidence"] == model.log_evidence_ == back.attrs["log_evidence"]
    assert len(arviz.summary(back, kind="stats")) == 3 * 2 + 3


def test_the_tree_of_later_versions(arviz, tmp_path, monkeypatch):
    """ArviZ 1.0 has no InferenceData: xarray's own tree has taken its place."""
    import xarray

    monkeypatch.delitem(vars(arviz), "InferenceData", raising=False)
    X, y = data("linear")
    model = estimator("linear").fit(X, y)
    tree = to_arviz(model, X, y)
    assert isinstance(tree, xarray.DataTree)
    tree.to_netcdf(tmp_path / "fit.nc")
    with xarray.open_datatree(tmp_path / "fit.nc") as back:
        np.testing.assert_array_equal(back["posterior/coef"].values[0], model.posterior_samples()["coef"])
        assert back.attrs["log_evidence"] == back["posterior"].attrs["log_evidence"] == model.log_evidence_


def test_an_averager_has_several_posteriors(arviz):
    averager = EvidenceModelAverager([("one", estimator("linear"))]).fit(*data("linear"))
    with pytest.raises(TypeError, match="EvidenceModelAverager has no posterior_samples"):
        to_arviz(averager)


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"pip install arviz"):
        to_arviz(estimator("linear").fit(*data("linear")))


def test_parameters_of_a_named_model_keep_their_names_and_shapes(arviz):
    model = BayesianModel(
        lambda p, X, y: -0.5 * (y - p["coef"] @ X.T / p["rate"]) ** 2,
        {"rate": gamma(2), "coef": (norm(0, 1), 2)},  # "coef" of another meaning than in a regression
        sampler=SGAIS(n_particles=20, max_particles=20, mode_search=None),
        random_state=0,
    )
    X, y = data("custom", n=12)
    found = to_arviz(model.fit(X, y), X, y)
    assert found.posterior.rate.dims == ("chain", "draw")
    assert found.posterior.coef.dims == ("chain", "draw", "coef_dim_0")
    draws = model.posterior_samples()
    np.testing.assert_array_equal(found.posterior.coef.values[0], draws["coef"])
    expected = -0.5 * (y - draws["coef"] @ X.T / draws["rate"][:, None]) ** 2
    np.testing.assert_allclose(found.log_likelihood.y.values[0], expected)
