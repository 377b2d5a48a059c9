"""Targets: value, gradient and curvature are those of one function; samples of rows are unbiased."""

import numpy as np
import pytest
from mutants import broken
from path_problem import MODELS, data, every_model, start

from sgevidence.history import Anchor, Memory, Reservoir
from sgevidence.targets import Likelihood, Target, of_history, sampled

pytestmark = pytest.mark.usefixtures("double_precision")


@every_model
@pytest.mark.parametrize("kind", ["all rows", "sample and anchor", "tempered sum"])
def test_target_gradient(rng, model, kind):
    """value, value_and_grad, derivatives and curvature are those of one function, by central differences."""
    rows, a = data(model, 300, rng), start(model)
    anchor, likelihood = Anchor.of(model, a, rows), Likelihood(rows)
    if kind != "all rows":
        likelihood = sampled(model, rows, anchor, 50, rng)
    if kind == "tempered sum":
        likelihood = likelihood.scaled(0.3).plus(Likelihood(data(model, 20, rng)))
    target = Target(model, likelihood)
    theta = a + 0.3 * rng.normal(size=(3, model.n_params))
    value, grad = target.value_and_grad(theta)
    np.testing.assert_allclose(target.value(theta), value, rtol=1e-12)
    h = 1e-5
    for j, step in enumerate(h * np.eye(model.n_params)):
        slope = (target.value(theta + step) - target.value(theta - step)) / (2 * h)
        np.testing.assert_allclose(slope, grad[:, j], rtol=1e-5, atol=1e-4)
    curvature = []
    for t, v, g in zip(theta, value, grad):
        f, slope, P = target.derivatives(t)
        assert f == pytest.approx(v)
        np.testing.assert_allclose(slope, g, rtol=1e-8, atol=1e-6)
        steps = h * np.eye(model.n_params)
        numeric = (target.value_and_grad(t + steps)[1] - target.value_and_grad(t - steps)[1]) / (-2 * h)
        np.testing.assert_allclose(P, numeric, rtol=1e-4, atol=1e-3)
        curvature.append(P)
    np.testing.assert_allclose(target.mean_curvature(theta), np.mean(curvature, axis=0), rtol=1e-5, atol=1e-4)


def check_sampled(rng, sampled):
    """Rows without replacement and their anchored sums: the mean over samples is the full likelihood."""
    model = MODELS["softmax"]
    rows, theta = data(model, 200, rng), 0.3 * rng.normal(size=(4, model.n_params))
    anchor = Anchor.of(model, np.zeros(model.n_params), rows)
    full = model.sum_log_likelihood(theta, rows)

    def value(likelihood):
        return model.sum_log_likelihood(theta, likelihood.rows) + likelihood.correction(theta)

    errors = np.array([value(sampled(model, rows, anchor, 40, rng)) - full for _ in range(400)])
    error = errors.std(axis=0) / np.sqrt(400)
    assert np.all(np.abs(errors.mean(axis=0)) < 4.5 * error), f"biased: {errors.mean(axis=0)} ± {error}"


def test_sampled_is_unbiased_over_samples(rng):
    check_sampled(rng, sampled)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("rows.scaled(n / rows.total_weight)", "rows"),
        ("anchor.plus(Anchor.of(model, anchor.a, rows), -1.0)", "anchor"),
        (
            "anchor.plus(Anchor.of(model, anchor.a, rows), -1.0)",
            "anchor.plus(Anchor.of(model, anchor.a, rows), -2.0)",
        ),
    ],
    ids=["factor of the sample missing", "anchor not taken off the sample", "taken off twice"],
)
def test_broken_samples_are_caught(rng, right, wrong):
    with pytest.raises(AssertionError, match="biased"):
        check_sampled(rng, broken(sampled, right, wrong))


def test_history_is_whole_while_it_fits(rng):
    model, rows = MODELS["softmax"], data(MODELS["softmax"], 200, rng)
    anchor = Anchor.of(model, np.zeros(model.n_params), rows)
    assert of_history(model, Memory(Reservoir(50), anchor), 100, rng) is None
    whole = of_history(model, Memory(Reservoir(None).absorb(rows, rng), anchor), 200, rng)
    assert whole.correction is None and whole.rows.total_weight == 200
    part = of_history(model, Memory(Reservoir(50).absorb(rows, rng), anchor), 200, rng)
    assert part.correction is not None and len(part.rows) == 50
    assert part.rows.total_weight == pytest.approx(200)
