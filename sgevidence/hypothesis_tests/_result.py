"""The result of a test, a Bayes factor with its error that takes more rows, and checks of the input."""

from numbers import Real
from typing import Any, Protocol, Self

import numpy as np
from sklearn.utils import check_array

from ..model_selection import factor_in_digits, factor_or_fraction, in_words
from ..rows import cells_named, missing_in, refuse_extreme, refuse_unreadable
from ..tables import LINE_WIDTH, in_lines, with_errors
from ._report import report

#: Rounding errors, in units of the largest number, within which numbers are all equal.
EQUAL_WITHIN = 4 * float(np.finfo(float).eps)
#: Shapes in words, by the number of axes.
SHAPES = ("one number", "one-dimensional", "two-dimensional")


class Test(Protocol):
    """Data, as far as the Bayes factor depends on them, and a prior."""

    @property
    def name(self) -> str: ...

    @property
    def n_samples(self) -> int: ...

    @property
    def statistics(self) -> dict[str, float]: ...

    @property
    def hypotheses(self) -> tuple[str, str]:
        """Alternative and null, as what follows "if"."""

    @property
    def prior(self) -> str: ...

    def log_bayes_factor(self) -> tuple[float, float]:
        """The alternative against the null, and the error, nats."""

    def with_rows(self, *rows: Any) -> Self: ...

    def with_rscale(self, rscale: Any) -> Self: ...


class BayesFactorResult:
    """A Bayes factor of an alternative against a null hypothesis.

    Parameters
    ----------
    test : object
        Data, as far as the Bayes factor depends on them, and the prior.
    before : tuple, default=()
        Entries of ``path`` before these data.

    Attributes
    ----------
    log_bayes_factor : float
        log p(data | alternative) − log p(data | null), nats: positive speaks for the alternative.
    log_bayes_factor_std : float
        Its numerical error, nats; 0 where the answer is a closed form.
    bayes_factor : float
        The ratio itself; it may overflow to infinity.
    rscale : float or None
        Scale of the prior.
    n_samples : int
        Rows, or counts, so far.
    statistics : dict of str to float
        Classical statistics that the Bayes factor depends on, such as ``t`` and ``df``.
    path : dict of str to ndarray
        ``n_samples``, ``log_bayes_factor``, ``log_bayes_factor_std`` after the first call and after each
        :meth:`update`.

    See Also
    --------
    sgevidence.displays.BayesFactorDisplay : Draws it over ``rscale``, or over the rows.

    Examples
    --------
    >>> from sgevidence.hypothesis_tests import ttest
    >>> result = ttest([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8])
    >>> result = result.update([0.0, 2.0])
    >>> result.path["n_samples"].tolist()
    [8, 10]
    """

    def __init__(self, test: Test, before: tuple[tuple[int, float, float], ...] = ()):
        self._test = test
        self.log_bayes_factor, self.log_bayes_factor_std = test.log_bayes_factor()
        self.n_samples, self.statistics = test.n_samples, test.statistics
        self._entries = (*before, (self.n_samples, self.log_bayes_factor, self.log_bayes_factor_std))

    @property
    def bayes_factor(self) -> float:
        """The ratio p(data | alternative) / p(data | null)."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_bayes_factor))

    @property
    def rscale(self) -> float | None:
        """Scale of the prior; None: a prior without one."""
        return getattr(self._test, "rscale", None)

    @property
    def path(self) -> dict[str, np.ndarray]:
        """Bayes factors after each call, by the number of rows."""
        columns = zip(*self._entries)
        names = ("n_samples", "log_bayes_factor", "log_bayes_factor_std")
        return {name: np.array(values) for name, values in zip(names, columns)}

    def update(self, *rows: Any) -> "BayesFactorResult":
        """The result of the rows so far and more of them; this one stays as it is.

        Parameters
        ----------
        *rows : array-like
            As the test takes its data: x, or x and y, successes and trials, or a table of counts.

        Returns
        -------
        BayesFactorResult

        Notes
        -----
        A Bayes factor may be looked at after each row, and collecting may stop when it says enough, without
        any correction.  Only sums are kept, so that an update costs the same after any number of rows.
        """
        return BayesFactorResult(self._test.with_rows(*rows), self._entries)

    def with_rscale(self, rscale: Any) -> "BayesFactorResult":
        """The result of the same rows under another scale of the prior.

        Parameters
        ----------
        rscale : float or str
            As the test takes it.

        Returns
        -------
        BayesFactorResult

        Raises
        ------
        TypeError
            If the prior has no such scale: that of a contingency table.
        """
        return BayesFactorResult(self._test.with_rscale(rscale))

    def report(self, format: str = "text") -> str:
        """The test for a paper, as tables of :func:`~sgevidence.compare` are reported, with JASP's columns.

        Parameters
        ----------
        format : {"text", "markdown", "latex", "html"}, default="text"

        Returns
        -------
        str
            Both hypotheses with their probabilities and the Bayes factor, the classical statistics, the
            sentence with error and strength, the prior, the Bayes factor under half and twice its scale, and
            the software.

        Raises
        ------
        ValueError
            For another format.
        """
        test = self._test
        names = [f"{words} (H{k})" for words, k in zip(test.hypotheses, (1, 0))]
        shown = ", ".join(f"{name} = {number:.4g}" for name, number in self.statistics.items())
        said = [f"{test.name}: {shown}", f"Prior: {test.prior}."]
        if self.rscale is not None:
            half, twice = (
                factor_or_fraction(self.with_rscale(k * self.rscale).log_bayes_factor) for k in (0.5, 2.0)
            )
            said[1] += f" Under half its scale the Bayes factor of H1 over H0 is {half}, under twice {twice}."
        values, stds = np.array([self.log_bayes_factor, 0.0]), np.array([self.log_bayes_factor_std, 0.0])
        return report(names, ["H1", "H0"], values, stds, "if", said, format)

    def __repr__(self) -> str:
        value, (alternative, null) = self.log_bayes_factor, self._test.hypotheses
        error = with_errors(np.array([value]), np.array([self.log_bayes_factor_std]))[0].strip()
        shown = ", ".join(f"{name} = {number:.4g}" for name, number in self.statistics.items())
        first, second = (alternative, null) if value >= 0 else (null, alternative)
        return "\n".join(
            [
                f"{self._test.name}: {shown}",
                f"Bayes factor {factor_in_digits(value)} (log: {error}); {self._test.prior}",
                *in_lines(
                    f"The data are {factor_in_digits(abs(value))} times as probable if {first} as if "
                    f"{second}: {_strength(value)}.",
                    LINE_WIDTH,
                ),
            ]
        )


def _strength(log_factor: float) -> str:
    words = in_words(log_factor)
    return words if words.startswith("not") else f"{words} evidence"


def array_of(name: str, values: Any, ndim: int) -> np.ndarray:
    """Finite numbers with so many axes."""
    refuse_unreadable(**{name: values})
    try:
        with cells_named(**{name: values}):
            found = check_array(
                values,
                dtype=np.float64,
                ensure_2d=False,
                allow_nd=True,
                ensure_min_samples=0,
                ensure_min_features=0,
                input_name=name,
            )
    except ValueError as error:
        raise ValueError(str(error) if name in str(error) else f"{name} must be numbers: {error}") from error
    except TypeError as error:
        raise TypeError(f"{name} must be numbers: {error}") from error
    if found.ndim != ndim:
        raise ValueError(f"{name} must be {SHAPES[ndim]}, got the shape {found.shape}")
    refuse_extreme(**{name: found})
    return found


def levels_in(name: str, values: Any, n: int, other: str = "y") -> tuple[np.ndarray, list[Any]]:
    """Numbers of the levels of each row, (n,), and the levels, in their order or that which they declare.

    Levels are what Python calls equal, and 1 is not "1".
    """
    if np.ma.is_masked(values):
        raise ValueError(f"{name} is a masked array with masked entries: drop those rows")
    found = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if found.shape != (n,):
        raise ValueError(f"{name} must have the shape of {other}, ({n},), got {found.shape}")
    if missing_in(found).any():
        raise ValueError(f"{name} has missing values")
    cells = found.tolist()
    try:
        distinct = set(cells)
        order = sorted(distinct, key=lambda level: (type(level).__name__, level))
    except TypeError as error:
        raise TypeError(f"{name} has entries that are no levels: {error}") from None
    if len(distinct) < 2:
        raise ValueError(f"{name} must have two levels or more")
    if len(distinct) >= n:
        raise ValueError(f"{name} has a level of its own in each row")
    declared = getattr(getattr(values, "dtype", None), "categories", None)
    levels = order if declared is None else [level for level in list(declared) if level in distinct]
    number = {level: k for k, level in enumerate(levels)}
    return np.array([number[level] for level in cells]), levels


def counts_of(name: str, values: np.ndarray) -> np.ndarray:
    """Whole numbers that are not negative."""
    if (values < 0).any():
        raise ValueError(f"{name} has a negative count, {values.min():g}")
    if (values != np.round(values)).any():
        raise ValueError(f"{name} must be whole numbers, got {values[values != np.round(values)][0]:g}")
    return values


def count_of(name: str, value: Any) -> int:
    """A whole number that is not negative."""
    return int(counts_of(name, array_of(name, value, 0)))


def number_of(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> float:
    """A number between two, without them."""
    if isinstance(value, Real) and not isinstance(value, bool) and low < float(value) < high:
        return float(value)
    where = "a finite number" if low == -np.inf else f"a number between {low:g} and {high:g}"
    raise ValueError(f"{name} must be {where}, got {value!r}")
