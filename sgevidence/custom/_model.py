"""A user's own model: three functions in autograd.numpy, each answer of which is checked.

A wrong shape broadcasts to a wrong number, or to an array of (M, M); it is refused before anything is
computed with it.  Arrays are handed out as read-only views, so that a function that writes into what it
is given is told so, and the caller's rows stay as they are.  A θ at which a function fails is impossible
(:mod:`._user_function`).

**Whether a prior's density belongs to its sampler** is seen by draws.  For densities p and q both sides of

    E_p[ q / (p + q) ] = E_q[ p / (p + q) ]  ( = ∫ p q / (p + q) )                              (1)

are means of numbers between 0 and 1: Bennett's acceptance ratio (1976, J. Comput. Phys. 22, Eq. 9) at the
ratio one.  If draws of p and the density called p do not belong together, or if p is not normalised, the
two means differ.  Whatever the tails and the support, if they do belong together the difference of the two
sample means is zero on average and no heavy tail can spoil its standard error.  Two kinds of q:

* **p itself, moved**: one coordinate shifted, or stretched about its median, q(θ) = |T′| p(Tθ).  Its draws
  are T⁻¹ of p's, so that (1) becomes a mean over pairs; it overlaps with p whatever p looks like.  It sees
  the shape along the coordinate (a forgotten Jacobian, a wrong scale) but no constant.
* **a Gaussian** with the medians, quartiles and correlations of half the draws, tested on the other half.
  It sees a missing constant, and correlations, as far as it overlaps with p.

Symbols: p ``log_p`` = the density under test, log; q ``log_q`` = the density it is compared with, log; Δ
``delta`` = log q − log p, so that q/(p + q) = 1/(1 + e^−Δ); T ``move`` = θ_j ↦ m + a (θ_j − m) + s.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import NormalDist
from time import perf_counter
from typing import Any, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from ..models import NUMERICAL_ERRORS, Model, value_and_grad
from ._parameters import PlainParameters
from ._user_function import Failures, RowFunction, UserFunction, check_shape, numerical, read_only

#: Draws, of which the Gaussian is fitted to one half: enough for a scale that is wrong by a fifth.
N_PRIOR_DRAWS = 2000
#: Numbers in all the points of one kind of move, and draws at least: what bounds the time of a long θ.
MAX_PROBED_NUMBERS, MIN_PROBED_DRAWS = 800_000, 1000
#: Events that may be expected and yet not happen, with probability e⁻¹²: where p and q hardly overlap, one
#: mean of (1) may rest on draws so rare that none was seen.  The other must be larger by more than so many.
UNSEEN_EVENTS = 12.0


def prior_disagreement(theta: np.ndarray, log_density: Callable, rng: np.random.Generator) -> str | None:
    """Evidence against ``log_density`` being that of the independent draws (n, d); None if there is none.

    A log density of nan is taken for −∞.  ``rng`` is for the draws of the Gaussian.
    """

    def log_p(points: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            value = np.asarray(log_density(points), dtype=float)
        return np.where(np.isnan(value), -np.inf, value)

    here = log_p(theta)
    outside = ~np.isfinite(here)
    if np.any(outside):
        return f"log_prior is {here[outside][0]} at {np.sum(outside)} of {len(theta)} draws"
    median, scale, correlation = robust_gaussian(theta[::2])
    if not np.all(scale > 0):
        return f"half of the draws are equal in column {int(np.argmin(scale))}, which no density allows"
    d = theta.shape[1]
    # coordinates that are moved: of a longer θ evenly spaced ones, for the time it takes
    coordinates = np.unique(np.linspace(0, d - 1, min(d, 25)).round().astype(int))
    # probability of a warning without reason, over all comparisons with one prior
    limit = NormalDist().inv_cdf(1 - 1e-5 / (2 * (2 * len(coordinates) + 1)))
    given_others = 1 / np.sqrt(np.diag(np.linalg.inv(correlation)))  # in units of the scale
    n = int(np.clip(MAX_PROBED_NUMBERS / (d * len(coordinates)), MIN_PROBED_DRAWS, len(theta)))
    pairs = np.concatenate([theta[:n], theta[:n]])
    for j in coordinates:
        # shift and log stretch, in conditional standard deviations of the coordinate: so far that p and its
        # image differ by about what p varies by, where (1) is most sensitive
        for shift, log_stretch in ((0.7 * scale[j], 0.0), (0.0, 0.4)):
            move = median[j], shift * given_others[j], log_stretch * given_others[j]
            if abs(moved_z_score(pairs, here[:n], log_p, j, *move)) > limit:
                return (
                    f"the draws are spread differently along column {j} than log_prior says: a wrong scale "
                    "or location, or a forgotten Jacobian of a transformed parameter"
                )
    L = np.linalg.cholesky(correlation)
    z, constant = gaussian_z_score(theta[1::2], here[1::2], log_p, (median, scale, L), rng)
    if abs(z) > limit and abs(constant) > 0.1:  # A constant smaller than this is not worth a warning, nats
        high_or_low = "high" if constant > 0 else "low"
        return (
            f"log_prior is {abs(constant):.2g} nats too {high_or_low} where the draws are: a missing "
            "constant, or parameters that depend on each other in the one and not in the other"
        )
    return None


def robust_gaussian(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Medians and standard deviations from quartiles, and correlations of clipped z-scores."""
    low, median, high = np.quantile(theta, [0.25, 0.5, 0.75], axis=0)
    scale = (high - low) / 1.349
    d = theta.shape[1]
    with np.errstate(all="ignore"):  # a coordinate without spread has nan here, and is refused by its scale
        z = np.clip((theta - median) / scale, -3, 3)
        correlation = np.nan_to_num(np.corrcoef(z.T)).reshape(d, d)
    shrinkage = d / (d + len(theta))
    return median, scale, (1 - shrinkage) * correlation + shrinkage * np.eye(d)


def moved_z_score(
    pairs: np.ndarray, here: np.ndarray, log_p: Callable, j: int, m: float, shift: float, log_stretch: float
) -> float:
    """Standard errors by which (1) fails for p and p moved along one coordinate.

    ``pairs`` are the draws, twice; column j is written to and restored, which spares most of the copying.
    """
    n, a, column = len(here), np.exp(log_stretch), pairs[:, j].copy()
    pairs[:n, j] = m + a * (column[:n] - m) + shift
    pairs[n:, j] = m + (column[n:] - m - shift) / a
    there = log_p(pairs).reshape(2, n)
    pairs[:, j] = column
    with np.errstate(invalid="ignore"):
        difference = expit(log_stretch + there[0] - here) - expit(there[1] - here - log_stretch)
    return _z_score(difference.mean(), difference.std(), n)


def gaussian_z_score(
    theta: np.ndarray,
    here: np.ndarray,
    log_p: Callable,
    gaussian: tuple[np.ndarray, np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Standard errors by which (1) fails for p and a Gaussian, and log p's constant that would mend it."""
    median, scale, L = gaussian
    n, d = theta.shape

    def log_q(u: np.ndarray) -> np.ndarray:
        return -0.5 * np.sum(u**2, axis=1) - np.sum(np.log(np.diag(L) * scale)) - d / 2 * np.log(2 * np.pi)

    u = rng.standard_normal((n, d))
    delta_q = log_q(u) - log_p(median + scale * (u @ L.T))
    delta_p = log_q(np.linalg.solve(L, ((theta - median) / scale).T).T) - here
    of_p, of_q = expit(delta_p), expit(-delta_q)
    z = _z_score(of_p.mean() - of_q.mean(), np.sqrt(of_p.var() + of_q.var()), n)

    def imbalance(c: float) -> float:
        return np.mean(expit(delta_p + c)) - np.mean(expit(-delta_q - c))

    delta = np.concatenate([delta_p, delta_q])
    far = 50.0 + np.max(np.abs(delta[np.isfinite(delta)]))
    return z, brentq(imbalance, -far, far) if abs(z) > 3 else 0.0


def _z_score(mean: float, spread: float, n: int) -> float:
    """Standard errors from zero, of what unseen draws cannot explain; no spread is certainty."""
    excess = np.sign(mean) * max(abs(mean) - UNSEEN_EVENTS / n, 0.0)
    return excess * np.sqrt(n) / spread if spread > 0 else np.inf * np.sign(mean) if excess else 0.0


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
