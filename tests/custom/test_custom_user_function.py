"""A user's function fails at some θ, returns nan, or returns one buffer: what it costs, what is refused."""

import pickle

import autograd.numpy as anp
import numpy as np
import pytest

from sgevidence.custom import CustomModel
from sgevidence.history import Rows

pytestmark = pytest.mark.usefixtures("double_precision")

THETA = np.random.default_rng(0).standard_normal((57, 2))
EXTREME = THETA[:, 0] > 1.0
ROWS = Rows.of(np.zeros((9, 1)), np.linspace(-1.0, 1.0, 9))


def log_prior(theta):
    return anp.sum(-0.5 * theta**2 - 0.5 * np.log(2 * np.pi), axis=1)


def log_likelihood(theta, X, y):
    return -0.5 * (y - theta[:, :1] - theta[:, 1:]) ** 2


def custom(likelihood=log_likelihood, prior=log_prior):
    return CustomModel(lambda rng, size: rng.standard_normal((size, 2)), prior, likelihood, 2)


def raising(error):
    """A likelihood that raises where any θ is extreme, as a factorisation of all at once does."""

    def likelihood(theta, X, y):
        if np.any(np.asarray(getattr(theta, "_value", theta))[:, 0] > 1.0):
            raise error("of an extreme θ")
        return log_likelihood(theta, X, y)

    return likelihood


def check_only_those(model):
    """−∞ where the function fails, everywhere else as it is; gradients, too."""
    value, grad = model.value_and_grad_log_joint(THETA, ROWS)
    right, right_grad = custom().value_and_grad_log_joint(THETA, ROWS)
    np.testing.assert_array_equal(value, np.where(EXTREME, -np.inf, right))
    np.testing.assert_allclose(grad[~EXTREME], right_grad[~EXTREME])
    np.testing.assert_array_equal(model.log_joint(THETA, ROWS), value)
    assert model.failures.n_failed == 2 * EXTREME.sum() and "extreme" in model.failures.example


@pytest.mark.parametrize(
    "error", [np.linalg.LinAlgError, FloatingPointError, OverflowError, ZeroDivisionError]
)
def test_an_exception_costs_only_its_own_particles(error):
    check_only_those(custom(raising(error)))


def test_other_exceptions_are_passed_on():
    with pytest.raises(KeyError):
        custom(raising(KeyError)).log_joint(THETA, ROWS)


def test_a_gradient_that_cannot_be_formed_is_zero():
    """The way back goes through what the way there does not, as the inverse of a singular matrix."""
    from autograd.extend import defvjp, primitive

    @primitive
    def same(u):
        return np.array(u)

    def back(ans, u):
        def vjp(g):
            if np.any(u > 1.0):
                raise np.linalg.LinAlgError("Singular matrix")
            return g

        return vjp

    defvjp(same, back)
    model = custom(lambda theta, X, y: log_likelihood(theta, X, y) + 0.0 * same(theta[:, :1]))
    value, grad = model._value_and_grad_log_likelihood(THETA, ROWS)
    right, right_grad = custom()._value_and_grad_log_likelihood(THETA, ROWS)
    np.testing.assert_allclose(value, right)
    np.testing.assert_allclose(grad, np.where(EXTREME[:, None], 0.0, right_grad), atol=1e-12)


def test_nan_is_refused_at_any_call_unless_the_arithmetic_overflowed():
    def at_a_row(theta, X, y):
        return anp.where((theta[:, :1] > 1.0) & (y > 0.9), np.nan, log_likelihood(theta, X, y))

    with pytest.raises(
        ValueError, match=r"log_likelihood is nan at a row with X = \[0.\] at θ = \[.*nothing has overflowed"
    ):
        custom(at_a_row).sum_log_likelihood(THETA, ROWS)
    with pytest.raises(ValueError, match=r"log_likelihood is nan"):
        custom(at_a_row).value_and_grad_log_joint(THETA, ROWS)
    with pytest.raises(ValueError, match="log_prior is nan at θ"):
        custom(prior=lambda theta: anp.log(theta[:, 0])).log_joint(THETA, ROWS)
    with pytest.raises(ValueError, match="log_likelihood is inf at a row"):
        custom(lambda theta, X, y: log_likelihood(theta, X, y) + np.inf).log_joint(THETA, ROWS)

    def overflows(theta, X, y):
        huge = anp.exp(anp.where(theta[:, :1] > 1.0, 1e3, 0.0))
        return log_likelihood(theta, X, y) + (huge - huge)

    model = custom(overflows)
    with np.errstate(all="ignore"):
        value = model.log_joint(THETA, ROWS)
    np.testing.assert_array_equal(value, np.where(EXTREME, -np.inf, custom().log_joint(THETA, ROWS)))
    assert model.failures.n_failed == EXTREME.sum() and "overflow" in model.failures.example


def test_nan_of_a_theta_that_left_the_finite_numbers_is_no_fault_of_the_function():
    theta = np.array([[0.0, np.inf], [0.1, 0.2]])
    model = custom(lambda theta, X, y: log_likelihood(theta, X, y) + 0.0 * theta[:, 1:])
    with np.errstate(all="ignore"):
        value = model.log_joint(theta, ROWS)
    assert value[0] == -np.inf and np.isfinite(value[1]) and model.failures.n_failed == 0


def test_a_buffer_that_a_function_returns_again_is_copied():
    buffer = np.empty(len(THETA))

    def prior(theta):
        buffer[: len(theta)] = log_prior(theta)
        return buffer[: len(theta)]

    model = custom(prior=prior)
    first, expected = model.log_prior(THETA), log_prior(THETA)
    model.log_prior(2 * THETA)
    np.testing.assert_array_equal(first, expected)


def test_functions_that_fail_everywhere_are_named():
    def fails(theta, X, y):
        raise np.linalg.LinAlgError("Singular matrix")

    with pytest.raises(
        ValueError, match=r"log_likelihood failed with LinAlgError \(Singular matrix\) at θ = \["
    ):
        custom(fails).check(ROWS, np.random.default_rng(0))


def test_only_some_nan_of_a_call_are_looked_into():
    """Each costs a call; the rest counts as the same."""
    n_calls = []

    def overflows(theta, X, y):
        n_calls.append(len(theta))
        huge = anp.exp(anp.full((len(theta), len(y)), 1e3))
        return huge - huge

    model = custom(overflows)
    with np.errstate(all="ignore"):
        assert np.all(model.sum_log_likelihood(THETA, ROWS) == -np.inf)
    assert n_calls == [57] + 20 * [1] and model.failures.n_failed == 57 and model.failures.n_calls == 57


def test_failures_are_counted_and_travel():
    failures = custom().failures
    assert failures.share == 0.0
    failures.n_calls = 4
    failures.add("f", OverflowError("far"), "θ = [0. 0.]")
    again = pickle.loads(pickle.dumps(failures))
    assert again == failures and again.share == 0.25
    assert again.example == "f failed with OverflowError (far) at θ = [0. 0.]"
