"""A user's own model: three functions in ``autograd.numpy``, each answer of which is checked.

A wrong shape broadcasts to a wrong number, or to an array of (M, M); it is refused before anything is
computed with it.  Arrays are handed out as read-only views, so that a function that writes into what it
is given is told so, and the caller's rows stay as they are.  A θ at which a function fails is impossible
(:mod:`._user_function`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, Self

import numpy as np

from ..models import NUMERICAL_ERRORS, Model, value_and_grad
from ._gradients import numerical
from ._other_priors import PlainParameters
from ._prior_probe import N_PRIOR_DRAWS, prior_disagreement
from ._row_function import RowFunction
from ._user_function import Failures, UserFunction, check_shape, read_only

#: Draws from the prior and rows, evenly spaced, at which :meth:`CustomModel.check` looks for nan.
CHECKED_DRAWS, MAX_NAN_CHECKED_ROWS = 128, 100
#: Draws of the survey, 2^k: at most of up to three and of more parameters, of which slopes of a narrow mode
#: reach into thousands of times its own part of the prior; and at least.
MAX_SURVEY_BITS, MIN_SURVEY_BITS = (17, 14), 12
#: Draws from the prior at which the functions are asked again, alone and for their gradient.
ASKED_AGAIN_DRAWS = 5


def check_independence(function: UserFunction, theta: np.ndarray, rows: Any) -> None:
    """The value of the likelihood at a draw from the prior is the same whoever else is in the cloud."""
    checked = theta[:ASKED_AGAIN_DRAWS]
    with np.errstate(all="ignore"):
        together = _values(function, checked, rows)
        alone = np.concatenate([_values(function, t[None], rows) for t in checked])
        # relative difference of log likelihoods that is no rounding, of single precision either
        wrong = np.abs(together - alone) > 1e-3 * (1 + np.abs(alone))
    if np.any(wrong):
        m, r = np.argwhere(wrong)[0]
        raise ValueError(
            f"{function.name} is {together[m, r]:.6g} at {function.words(checked[m])} among {len(checked)} "
            f"parameter vectors, and {alone[m, r]:.6g} alone: the first axis of parameters counts vectors, "
            "which must not be mixed, and a likelihood is not random"
        )


def check_gradient(function: UserFunction, theta: np.ndarray, rows: Any, gradient: Any) -> None:
    """Autograd can differentiate the function at possible θ, else TypeError; a stated gradient is right."""

    def total(t: Any) -> Any:
        return function.as_it_comes(t, rows.X, rows.y, shape=(len(rows),)) @ np.ones(len(rows))

    with np.errstate(all="ignore"):
        checked = theta[:ASKED_AGAIN_DRAWS]
        if not len(checked):
            return
        try:
            found = value_and_grad(total, checked)[1]
        except NUMERICAL_ERRORS:
            return
        except Exception as error:
            if gradient != "autograd":
                raise
            raise TypeError(
                f"autograd cannot differentiate {function.name} ({type(error).__name__}: {error}): use "
                "autograd.numpy and autograd.scipy inside of it and of functions in priors, or "
                "gradient='numerical'"
            ) from error
        if not callable(gradient):
            return
        expected = value_and_grad(numerical(lambda t: np.asarray(total(t))), checked)[1]
    size = np.abs(expected).max(axis=1, keepdims=True) + 1e-6
    # relative difference of gradients that central differences do not explain
    wrong = np.abs(found - expected) > 0.02 * size
    if wrong.any(axis=1).sum() > len(checked) / 2:  # at an edge or a jump, differences are none
        m = int(np.argmax(wrong.any(axis=1)))
        raise ValueError(
            f"gradient is not the derivative of {function.name}: at {function.words(checked[m])} it gives "
            f"{found[m]} in the coordinates of the sampler, and differences give {expected[m]}"
        )


def _values(function: UserFunction, theta: np.ndarray, rows: Any) -> np.ndarray:
    """As they come, (M, n)."""
    return np.asarray(function.as_it_comes(theta, rows.X, rows.y, shape=(len(rows),)))


@dataclass(frozen=True)
class CustomModel(Model):
    """Prior and likelihood from functions; messages call them by their names in :class:`BayesianModel`.

    No answer depends on ``failures``, a count of how often they were asked and failed.
    """

    prior_sampler: Callable  #: (rng, size) -> (size, d)
    prior_log_density: Callable  #: (theta (M, d)) -> (M,)
    row_log_likelihood: Callable  #: (theta (M, d), X, y) -> (M, n)
    dimension: int  #: d (:func:`dimension_of`)
    row_sampler: Callable | None = None  #: (theta (n, d), X, rng) -> rows
    prior: Any = None  #: names and values of the parameters from the coordinates θ; None where θ are they
    gradient: Any = "autograd"  #: how the likelihood is differentiated, for the messages of :meth:`check`
    failures: Failures = field(default_factory=Failures, compare=False, repr=False)

    def counted(self) -> Self:
        """A copy of the model that counts failures by itself; the count of this model stays as it is."""
        return replace(self, failures=replace(self.failures))

    @property
    def _prior(self) -> UserFunction:
        return UserFunction("log_prior", self.prior_log_density, "(M,)", self.failures, self.words)

    @property
    def _likelihood(self) -> UserFunction:
        function = self.row_log_likelihood
        if isinstance(function, RowFunction):
            function = partial(function, charge=self.failures.charge)
        return UserFunction("log_likelihood", function, "(M, n)", self.failures, self.words)

    def words(self, theta: np.ndarray) -> str:
        """One θ (d,) by name, for messages."""
        try:
            named = {} if self.prior is None else self.prior.named(theta[None])
        except (ValueError, *NUMERICAL_ERRORS):  # the prior itself has no value there
            named = {}
        if named.keys() <= {"theta"}:
            return f"θ = {named.get('theta', theta[None])[0]}"
        return ", ".join(f"{name} = {value[0]}" for name, value in named.items())

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        return super().parameters(theta) if self.prior is None else self.prior.named(theta)

    @property
    def n_params(self) -> int:
        return self.dimension

    @property
    def hyperparameters(self) -> np.ndarray | None:  # type: ignore[override]
        return getattr(self.prior, "hyperparameters", None)

    def sample_prior(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Exact draws from the prior, (size, d): an array of their own, whatever the sampler keeps.

        ValueError if the draws have another shape or are not finite, or their density is nan or +inf.
        """
        theta = np.array(self.prior_sampler(rng, size), dtype=float)
        check_shape(theta, (size, self.dimension), "sample_prior", "(size, d)")
        if not np.all(np.isfinite(theta)):
            raise ValueError(f"sample_prior returned {theta[~np.isfinite(theta)][0]}: draws must be finite")
        with np.errstate(all="ignore"):
            value = self._prior.as_it_comes(theta)
        _refuse_nan(value[:, None], "log_prior")
        return theta

    def _fold(self, rows: Any, function: Callable, size: int) -> Any:
        """As of any model; failures are counted with the sums, since blocks may be in other processes."""
        if len(rows) <= size:
            return function(self, rows)

        def of_block(block: Any) -> tuple[Any, Failures]:
            one = replace(self, failures=Failures())
            return function(one, block), one.failures

        total, failures = rows.fold(of_block, size)
        self.failures.count(failures)
        return total

    def log_prior(self, theta: Any) -> Any:
        return self._prior(theta)

    def log_likelihood(self, theta: Any, rows: Any) -> Any:
        return self._likelihood(theta, rows.X, rows.y, shape=(len(rows.X),))

    def sample_rows(self, theta: np.ndarray, X: Any, rng: np.random.Generator) -> Any:
        if self.row_sampler is None:
            raise ValueError("this model cannot simulate: it was made without sample_rows")
        return np.array(self.row_sampler(read_only(theta), read_only(X), rng))

    def check(self, rows: Any, rng: np.random.Generator) -> str | None:
        """Try the functions at draws from the prior, before they are relied on.

        A hundred of the first rows, evenly spaced, are tried.  The answer is evidence, in words, that
        ``log_prior`` is not the density of ``sample_prior``, by draws (:func:`prior_disagreement`); None if
        there is none.

        ValueError if a function returns a wrong shape, or a value that no density has at a draw from the
        prior: nan or +inf, from the prior at any of 2000 draws, from the likelihood at any of 128 (−inf is a
        legal value); if a function fails at all of them; if its value at one θ depends on others; if a
        gradient that a user states is not the derivative.  TypeError if autograd cannot differentiate the
        likelihood.
        """
        theta = self.sample_prior(rng, N_PRIOR_DRAWS)
        tried = np.unique(np.linspace(0, len(rows) - 1, self.n_checked(rows)).astype(int))
        with np.errstate(all="ignore"):
            part, n_failed, start = rows.take(tried), self.failures.n_failed, perf_counter()
            ell = self._likelihood.as_it_comes(theta[:CHECKED_DRAWS], part.X, part.y, shape=(len(part),))
        self.failures.seconds_per_call = (perf_counter() - start) / CHECKED_DRAWS
        _refuse_nan(ell, "log_likelihood", tried)
        if self.failures.n_failed - n_failed == CHECKED_DRAWS:
            raise ValueError(f"{self.failures.example}, and at all other draws from the prior")
        possible = theta[:CHECKED_DRAWS][np.isfinite(ell).all(axis=1)]
        check_gradient(self._likelihood, possible, part, self.gradient)
        check_independence(self._likelihood, theta, part)
        if self.has_normal_coordinates:
            return None
        return prior_disagreement(theta, self._prior.as_it_comes, rng)  # nan: outside its support

    @staticmethod
    def n_checked(rows: Any) -> int:
        """Rows at which :meth:`check` tries the functions."""
        return min(len(rows), MAX_NAN_CHECKED_ROWS)

    @property
    def n_surveyed(self) -> int:  # type: ignore[override]
        return self.survey_of(self.failures.max_likelihoods - self.failures.n_likelihoods)

    @property
    def calls_per_gradient(self) -> int:
        """Evaluations of the likelihood."""
        return 2 * self.dimension + 1 if self.gradient == "numerical" else 1

    @property
    def calls_per_draw(self) -> float:
        """Evaluations for each draw of a survey: itself, draws of t densities, and climbs."""
        return 2.0 + 0.08 * self.calls_per_gradient

    def survey_of(self, n_calls: float) -> int:
        """Draws of the survey for an answer with so many evaluations, a power of two."""
        most = MAX_SURVEY_BITS[self.dimension > 3]
        bits = np.log2(min(max(n_calls / self.calls_per_draw, 1.0), 2.0**most))
        return int(2 ** max(np.floor(bits), MIN_SURVEY_BITS))

    @property
    def has_normal_coordinates(self) -> bool:  # type: ignore[override]
        """The coordinates are standard normals, whose density and draws are ours."""
        return not (self.prior is None or isinstance(self.prior, PlainParameters))


def dimension_of(prior_sampler: Callable, rng: np.random.Generator) -> int:
    """Length d of θ, from two draws; ValueError if they are not a matrix of two rows."""
    shape = np.shape(prior_sampler(rng, 2))
    if len(shape) != 2 or shape[0] != 2 or shape[1] == 0:
        raise ValueError(f"sample_prior must return the shape (size, d), here (2, d), but returned {shape}")
    return shape[1]


def _refuse_nan(value: np.ndarray, name: str, rows: np.ndarray | None = None) -> None:
    """nan and +inf in (M, n) values at draws from the prior are mistakes; −inf says impossible."""
    bad = np.isnan(value) | (value == np.inf)
    if np.any(bad):
        where = "" if rows is None else f", at rows {rows[bad.any(axis=0)][:5].tolist()}"
        raise ValueError(
            f"{name} is {value[bad][0]} at {np.sum(bad.any(axis=1))} of {len(value)} draws from the prior"
            f"{where}: a log density is a number or -inf"
        )
