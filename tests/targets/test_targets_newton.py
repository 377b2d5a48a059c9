"""The mode: where another optimiser finds it, with its curvature, and none where there is no maximum."""

import numpy as np
import pytest
from path_problem import MODELS, data, every_model, start
from scipy.optimize import minimize

from sgevidence.targets import Likelihood, Target, find_mode

pytestmark = pytest.mark.usefixtures("double_precision")


@every_model
def test_mode_against_scipy(rng, model):
    rows = data(model, 800, rng)
    target = Target(model, Likelihood(rows))
    a, P = find_mode(target, start(model) + 0.1 * rng.normal(size=model.n_params))

    def negative(theta):
        value, grad = target.value_and_grad(theta[None])
        return -value[0], -grad[0]

    best = minimize(negative, a, jac=True, method="BFGS", options=dict(gtol=1e-6)).x
    distance = (a - best) @ P @ (a - best)
    assert distance < 0.03  # as Newton's decrement promises: 0.01 nats
    np.testing.assert_allclose(P, target.derivatives(a)[2])


class Hills:
    """sin x + sin y − tilt: maxima, minima and saddles; nothing of a model is needed."""

    def derivatives(self, a):
        return np.sum(np.sin(a)), np.cos(a), np.diag(np.sin(a))

    def value(self, theta):
        return np.sum(np.sin(theta), axis=1)


def test_mode_of_a_hill():
    a, P = find_mode(Hills(), np.array([1.0, 2.2]))
    np.testing.assert_allclose(a, np.pi / 2, atol=0.15)
    assert P is not None


@pytest.mark.parametrize("at", [(-np.pi / 2, -np.pi / 2), (np.pi / 2, -np.pi / 2)], ids=["minimum", "saddle"])
def test_no_precision_where_there_is_no_maximum(at):
    """A stationary point of another kind: the slope is nothing, and Newton stops there."""
    assert find_mode(Hills(), np.array(at))[1] is None


def test_no_precision_from_nowhere(rng):
    """Not finite at the start, or no iterations left on the way up."""
    model = MODELS["mixture"]
    target = Target(model, Likelihood(data(model, 50, rng)))
    with np.errstate(all="ignore"):
        assert find_mode(target, np.full(model.n_params, 1e200))[1] is None
