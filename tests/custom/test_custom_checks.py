"""What a user's functions return is checked, and what they are given cannot be spoilt."""

import re

import autograd.numpy as anp
import numpy as np
import pytest

from sgevidence.custom import CustomModel, RowFunction, dimension_of
from sgevidence.history import Rows

pytestmark = pytest.mark.usefixtures("double_precision")


def sample_prior(rng, size):
    return rng.standard_normal((size, 2))


def log_prior(theta):
    return anp.sum(-0.5 * theta**2 - 0.5 * np.log(2 * np.pi), axis=1)


def log_likelihood(theta, X, y):
    return -0.5 * (y - anp.dot(theta, X.T)) ** 2 - 0.5 * np.log(2 * np.pi)


RNG = np.random.default_rng(0)
ROWS = Rows.of(RNG.standard_normal((250, 2)), RNG.standard_normal(250))


def model(sampler=sample_prior, prior=log_prior, likelihood=log_likelihood):
    return CustomModel(sampler, prior, likelihood, 2)


def checked(**functions):
    return model(**functions).check(ROWS, np.random.default_rng(1))


def test_what_is_right_passes():
    assert checked() is None


@pytest.mark.parametrize(
    "shape, got",
    {
        "(1, n)": (lambda ell: ell[:1], r"\(1, 100\)"),
        "(M,)": (lambda ell: ell[:, 0], r"\(128,\)"),
        "(M, 1)": (lambda ell: ell[:, :1], r"\(128, 1\)"),
        "(n,)": (lambda ell: ell[0], r"\(100,\)"),
        "(n, M)": (lambda ell: ell.T, r"\(100, 128\)"),
        "()": (lambda ell: 0.0, "a float"),
        "a list": (lambda ell: ell.tolist(), "a list"),
    }.values(),
)
def test_wrong_shapes_of_the_likelihood_are_refused(shape, got):
    message = rf"log_likelihood must return the shape \(M, n\), here \(128, 100\), but returned {got}"
    with pytest.raises(ValueError, match=message):
        checked(likelihood=lambda theta, X, y: shape(log_likelihood(theta, X, y)))


@pytest.mark.parametrize(
    "shape, got",
    [
        (lambda p: p[:, None], r"\(2000, 1\)"),
        (lambda p: p[None], r"\(1, 2000\)"),
        (lambda p: p[:1], r"\(1,\)"),
        (lambda p: p.sum(), r"\(\)"),
        (lambda p: 0.0, "a float"),
    ],
)
def test_wrong_shapes_of_the_prior_are_refused(shape, got):
    message = rf"log_prior must return the shape \(M,\), here \(2000,\), but returned {got}"
    with pytest.raises(ValueError, match=message):
        checked(prior=lambda theta: shape(log_prior(theta)))


def test_shapes_are_looked_at_in_gradients_and_for_every_number_of_rows():
    """What is right for a hundred rows may be wrong for one."""
    squeezed = model(likelihood=lambda theta, X, y: anp.squeeze(log_likelihood(theta, X, y)))
    theta = sample_prior(np.random.default_rng(2), 5)
    squeezed.value_and_grad_log_joint(theta, ROWS)
    with pytest.raises(ValueError, match=r"log_likelihood must .* here \(5, 1\), but returned \(5,\)"):
        squeezed.value_and_grad_log_joint(theta, ROWS[:1])
    with pytest.raises(ValueError, match=r"log_prior must .* here \(5,\), but returned \(5, 1\)"):
        model(prior=lambda theta: log_prior(theta)[:, None]).value_and_grad_log_joint(theta, ROWS)


@pytest.mark.parametrize(
    "shape, got",
    [((), r"\(\)"), ((2,), r"\(2,\)"), ((1, 2), r"\(1, 2\)"), ((2, 0), r"\(2, 0\)"), ((2, 2, 1), "")],
)
def test_the_number_of_parameters_is_that_of_two_draws(shape, got):
    with pytest.raises(
        ValueError, match=rf"sample_prior must return the shape \(size, d\), .* returned {got}"
    ):
        dimension_of(lambda rng, size: np.zeros(shape), np.random.default_rng(0))
    assert dimension_of(sample_prior, np.random.default_rng(0)) == 2


def test_draws_from_the_prior_have_their_shape_and_are_finite():
    with pytest.raises(ValueError, match=r"sample_prior must .* here \(7, 2\), but returned \(2, 7\)"):
        model(lambda rng, size: sample_prior(rng, size).T).sample_prior(np.random.default_rng(0), 7)
    for value in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match=f"sample_prior returned {value}: draws must be finite"):
            model(lambda rng, size, v=value: np.full((size, 2), v)).sample_prior(np.random.default_rng(0), 7)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_no_density_is_at_a_draw_from_the_prior_is_refused(value):
    def sometimes(theta, ell):
        return anp.where(theta[:, :1] > 1.5, value, ell)

    with pytest.raises(ValueError, match=rf"log_prior is {value} at \d+ of 2000 draws from the prior: a log"):
        checked(prior=lambda theta: sometimes(theta, log_prior(theta)[:, None])[:, 0])
    with pytest.raises(
        ValueError, match=rf"log_likelihood is {value} at \d+ of 128 draws .* rows \[0, 2, 5,"
    ):
        checked(likelihood=lambda theta, X, y: sometimes(theta, log_likelihood(theta, X, y)))


def test_minus_infinity_is_legal_in_the_likelihood():
    assert (
        checked(
            likelihood=lambda theta, X, y: anp.where(theta[:, :1] > 0, -np.inf, log_likelihood(theta, X, y))
        )
        is None
    )


@pytest.mark.parametrize("argument", [0, 1, 2], ids=["theta", "X", "y"])
def test_a_function_that_writes_into_its_arguments_is_told_so(argument):
    def writes(*arguments):
        arguments[argument][:] = 0.0
        return log_likelihood(*arguments)

    before, theta = ROWS.X.copy(), sample_prior(np.random.default_rng(3), 4)
    with pytest.raises(ValueError, match="log_likelihood writes into an array that it is given"):
        model(likelihood=writes).sum_log_likelihood(theta, ROWS)
    np.testing.assert_array_equal(ROWS.X, before)
    assert ROWS.X.flags.writeable and theta.flags.writeable  # only the view is read-only


def test_a_prior_that_writes_is_told_so_and_other_errors_are_passed_on():
    def clips(theta):
        theta[theta > 1] = 1
        return log_prior(theta)

    def fails(theta):
        raise ValueError("my own")

    theta = sample_prior(np.random.default_rng(3), 4)
    with pytest.raises(ValueError, match="log_prior writes into an array"):
        model(prior=clips).log_prior(theta)
    with pytest.raises(ValueError, match=r"^my own$"):
        model(prior=fails).log_prior(theta)


def test_draws_are_not_the_array_that_a_sampler_keeps():
    kept = np.zeros((5, 2))
    drawn = model(lambda rng, size: kept[:size]).sample_prior(np.random.default_rng(0), 5)
    drawn += 1
    assert not kept.any()


@pytest.mark.parametrize(
    "function, has_rows, call",
    [(lambda p, X: X, True, "(p, X, y) (y is None"), (lambda p, X, y: y, False, "(p) (fit() without rows)")],
)
def test_a_function_of_other_arguments_is_told_the_call_that_is_made(function, has_rows, call):
    with pytest.raises(TypeError, match=re.escape(call)):
        RowFunction(function, None, has_rows=has_rows)


def test_arguments_with_defaults_and_functions_without_a_signature_are_let_through():
    RowFunction(lambda p, X=None, y=None: 0.0, None, has_rows=False)
    RowFunction(lambda *rest: 0.0, None)
    RowFunction(min, None)
