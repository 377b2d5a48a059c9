"""Particles of a closed form are drawn when they are looked at, with the digits of an answer at once."""

import copy
import pickle

import numpy as np
import pytest

from sgevidence import SGAIS, BayesianLinearRegression, load, save
from sgevidence.answers import exact_answer
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel
from sgevidence.models._linear_posterior import UnknownNoise
from sgevidence.particles import Cloud
from sgevidence.transitions import PriorCloud
from sgevidence.transitions._answer_cloud import ExactCloud, exact_cloud


def sums_of(model, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, model.n_features))
    return model.sums(Rows.of(X, X.sum(axis=1) + rng.standard_normal(n)))


def never(*args, **kwargs):
    raise AssertionError("this is too expensive for every row")


def check_draws(model):
    sums = sums_of(model)
    cloud = exact_cloud(model, sums, np.random.default_rng(3), 500)
    eager = exact_answer(model, sums, np.random.default_rng(3), 500)
    assert isinstance(cloud, ExactCloud) and cloud.log_evidence == eager.log_evidence
    np.testing.assert_array_equal(cloud.theta, eager.theta)
    np.testing.assert_array_equal(cloud.W, np.full(500, 1 / 500))
    theta, W = cloud.nodes
    sd = eager.theta.std(axis=0) / 500**0.5
    assert np.all(np.abs(W @ theta - eager.theta.mean(axis=0)) < 5 * sd + 1e-12)
    for again in (copy.deepcopy(cloud), pickle.loads(pickle.dumps(cloud))):
        assert set(vars(again)) == {"model", "sums", "rng", "M"}
        np.testing.assert_array_equal(again.theta, cloud.theta)


@pytest.mark.parametrize("noise_std", [None, 0.7])
def test_draws_are_those_of_the_answer(noise_std):
    check_draws(LinearModel(3, noise_std=noise_std))


def test_a_stream_of_rows_draws_nothing_and_knows_its_evidence(rng, monkeypatch, tmp_path):
    X = rng.standard_normal((60, 4))
    y = X.sum(axis=1) + rng.standard_normal(60)
    whole = BayesianLinearRegression(random_state=0).fit(X, y)
    stream = BayesianLinearRegression(random_state=0, units=whole.units_)
    with monkeypatch.context() as patch:
        patch.setattr(UnknownNoise, "sample", never)
        stream.partial_fit(X[:30], y[:30])
        for r in range(30, 60):
            stream.partial_fit(X[r : r + 1], y[r : r + 1])
        assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-10)
        path = stream.evidence_path_
        assert len(path["log_evidence"]) == 31 and path["log_predictive"].sum() == pytest.approx(
            whole.log_evidence_
        )
    save(stream, tmp_path / "model.sge")
    again = load(tmp_path / "model.sge")
    np.testing.assert_array_equal(again.particles_, stream.particles_)
    np.testing.assert_array_equal(copy.deepcopy(stream).coef_, stream.coef_)
    for model in (again, stream):
        model.partial_fit(X[:1], y[:1])
    np.testing.assert_array_equal(again.particles_, stream.particles_)


def test_a_posterior_without_nodes_is_drawn_from_at_once(rng):
    model = MixtureModel(1, 2)
    cloud = exact_cloud(model, model.sums(Rows.of(rng.standard_normal((20, 2)))), rng, 50)
    assert not isinstance(cloud, ExactCloud) and cloud.theta.shape == (50, 5)


MODEL = LinearModel(3, noise_std=1.0)


def test_the_prior_is_drawn_when_it_is_asked_for_and_as_it_was():
    eager = Cloud.planted(MODEL.sample_prior(np.random.default_rng(5), 40))
    prior = PriorCloud(MODEL, np.random.default_rng(5), 40)
    for cloud in (prior, pickle.loads(pickle.dumps(prior)), copy.deepcopy(prior)):
        assert "planted" not in vars(cloud) and cloud.M == 40
        assert cloud.log_evidence == eager.log_evidence
        assert cloud.log_evidence_std == eager.log_evidence_std
        assert np.array_equal(cloud.theta, eager.theta) and "planted" in vars(cloud)
        assert np.array_equal(cloud._replace(log_Z=1.0).theta, eager.theta)
    assert "planted" not in vars(pickle.loads(pickle.dumps(prior)))


class Undrawn(LinearModel):
    sample_prior = never


def test_a_closed_form_draws_nothing_from_its_prior(rng):
    rows = Rows.of(rng.standard_normal((20, MODEL.n_features)), rng.standard_normal(20))
    assert SGAIS().run(Undrawn(3, noise_std=1.0), rows, rng).log_evidence == MODEL.exact_log_evidence(rows)
