"""Few rows in the place of many: the same likelihood at every θ."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.history import Rows
from sgevidence.models import LinearModel, MixtureModel, SoftmaxModel, _moments

MODELS = {
    "unknown noise": LinearModel(3),
    "known noise": LinearModel(3, noise_std=0.6),
    "no intercept": LinearModel(3, fit_intercept=False),
    "one component": MixtureModel(1, 3),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def rows(model, rng, n=200):
    X = 2.0 + rng.standard_normal((n, 3)) @ rng.standard_normal((3, 3))
    y = None if isinstance(model, MixtureModel) else X @ [1.0, -1.0, 0.5] + rng.standard_normal(n)
    return Rows.of(X, y, rng.gamma(2.0, size=n))


def check_same_likelihood(model, rng):
    many, theta = rows(model, rng), model.sample_prior(rng, 50)
    few = model.condensed(many)
    assert len(few) <= 5
    np.testing.assert_allclose(
        model.sum_log_likelihood(theta, few), model.sum_log_likelihood(theta, many), rtol=1e-10
    )


@every_model
def test_the_likelihood_is_the_same_everywhere(rng, model):
    check_same_likelihood(model, rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("np.sqrt(size / n)", "np.sqrt(1 / n)"),
        ("mean = w @ v / n", "mean = v.mean(axis=0)"),
        ("np.sqrt(w)[:, None] * (v - mean)", "(v - mean)"),
        ("mean + np.sqrt(size / n) * helmert(size).T @ R", "np.sqrt(size / n) * helmert(size).T @ R"),
        ("np.full(size, n / size)", "np.ones(size)"),
    ],
)
def test_broken_moments_are_caught(rng, monkeypatch, right, wrong):
    model = MODELS["unknown noise"]
    mutant = broken(_moments.with_moments, right, wrong)
    monkeypatch.setattr("sgevidence.models._linear.with_moments", mutant)
    with pytest.raises(AssertionError):
        check_same_likelihood(model, rng)


@every_model
def test_far_from_the_origin_nothing_cancels(rng, model):
    """A column at 1e9 with a spread of 1e2: the evidence of few rows is that of many."""
    many = rows(model, rng)
    X = 1e9 + 1e2 * many.X if many.y is None else many.X
    y = None if many.y is None else 1e9 + many.y
    many = Rows(X, y, many.weight)
    assert model.exact_log_evidence(model.condensed(many)) == pytest.approx(
        model.exact_log_evidence(many), rel=1e-7
    )


@every_model
def test_again_and_again(rng, model):
    """A stream of a thousand chunks, condensed at each: no drift."""
    many, few = rows(model, rng, 3000), None
    for chunk in many.blocks(64):
        for one in (chunk[:20], chunk[20:40], chunk[40:]):
            joint = one if few is None else few.join(one)
            few = model.condensed(joint) or joint
    assert len(few) <= 5 and few.total_weight == pytest.approx(many.total_weight)
    assert model.exact_log_evidence(few) == pytest.approx(model.exact_log_evidence(many), abs=1e-6)


def test_where_there_is_nothing_to_condense(rng):
    model = MODELS["unknown noise"]
    assert model.condensed(rows(model, rng, 5)) is None
    assert MixtureModel(2, 3).condensed(rows(MixtureModel(2, 3), rng)) is None
    assert SoftmaxModel(3, 2).condensed(rows(model, rng)) is None
    huge = rows(model, rng)
    huge.y[3] = 1e200
    assert model.condensed(huge) is None
