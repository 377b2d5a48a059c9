"""A test of independence in a table of counts, by what the design has fixed (Gunel and Dickey 1974).

Cells have the prior Dirichlet(a, …, a); under independence the margins have the priors that follow from it,
with J − 1 (rows) and I − 1 (columns) taken from their parameters a_r = Ja, a_c = Ia, the primed ones.  With
D(x) = ∏ Γ(x) / Γ(Σ x) and the margins r, c of the table y of I × J cells, A = IJa, A′ = A − (I − 1)(J − 1),

    total fixed     B  = D(y + a)/D(a) · D(a_r′)/D(r + a_r′) · D(a_c′)/D(c + a_c′),
    rows fixed      B · D(a_r)/D(r + a_r) · D(r + a_r′)/D(a_r′),
    nothing fixed   B · Γ(n + A) Γ(A′) / (Γ(A) Γ(n + A′)) · (b/(1 + b))^((I − 1)(J − 1)),   b = A/n,

and with both margins of a 2 × 2 table fixed the prior is that of the cells given the margins.

In a 2 × 2 table whose margins are not both fixed, the log odds ratio is the difference of two logits of
independent Beta(α₁₁, α₁₂) and Beta(α₂₁, α₂₂), with α = a before and y + a after the counts: an integral over
the second logit.

Logarithms of gamma functions whose large parts cancel, and sums over as many terms as there are counts.

log Γ of a count of 10¹² is 10¹³ and has an error of .004 in double precision, so that sums of them are taken
in decimals, by

    log Γ(x) = (x − ½) log x − x + ½ log 2π + 1/(12x) − 1/(360x³) + 1/(1260x⁵) − …

A sum over whole numbers of a log-concave term that changes over many of them is an integral, with a relative
error of the square of one over the width.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from functools import partial
from typing import Any

import numpy as np
from scipy.special import betaln, expit, gammaln

from ._result import (
    NULLS_TAIL_NATS,
    PLAIN_NULLS,
    BayesFactorResult,
    Effect,
    Nulls,
    array_of,
    coded_levels,
    counts_of,
    log_integrals,
)

#: Counts up to which doubles have ten digits of the answer behind the point.
LARGEST_OF_DOUBLES = 1e5
#: Arguments from which on the series has 17 digits, and digits of the decimals.
LEAST_OF_SERIES, DIGITS = 200.0, 60
#: Coefficients of 1/x, 1/x³, … in the series of log Γ.
SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)
HALF_LOG_2PI_DECIMAL = Decimal("0.9189385332046727417803297364056176398613974736377834128")
#: Nats below the largest term at which a sum ends, terms that are added one by one, and nodes beyond.
TERM_ENDING_NATS, MOST_TERMS, PANELS, NODES = 50.0, 100_000, 64, 32


def log_gamma_sum(plus: np.ndarray, minus: np.ndarray) -> float:
    """Σ log Γ over the first arguments less that over the second, which may nearly cancel."""
    if max(plus.max(), minus.max()) <= LARGEST_OF_DOUBLES:
        return float(gammaln(plus).sum() - gammaln(minus).sum())
    with localcontext() as context:
        context.prec = DIGITS
        total = Decimal(0)
        for sign, values in ((1, plus), (-1, minus)):
            distinct, counts = np.unique(values, return_counts=True)
            for value, n in zip(distinct.tolist(), counts.tolist()):
                total += sign * n * _log_gamma(value)
        return float(total)


def _log_gamma(value: float) -> Decimal:
    if value < LEAST_OF_SERIES:
        return Decimal(math.lgamma(value))
    x = Decimal(value)
    rest = sum((Decimal(c) / x ** (2 * k + 1) for k, c in enumerate(SERIES)), Decimal(0))
    return (x - Decimal("0.5")) * x.ln() - x + HALF_LOG_2PI_DECIMAL + rest


def log_gamma_step(x: np.ndarray | float, d: np.ndarray) -> np.ndarray:
    """log Γ(x + d) − log Γ(x), of many d; the difference is not lost where x is large."""
    x = np.asarray(x, dtype=float)
    end = x + d
    if x.min() < LEAST_OF_SERIES or end.min() < LEAST_OF_SERIES:
        return np.where(
            np.minimum(x, end) < LEAST_OF_SERIES, gammaln(end) - gammaln(x), _step(np.maximum(x, 1.0), d)
        )
    return _step(x, d)


def _step(x: np.ndarray, d: np.ndarray) -> np.ndarray:
    end = np.maximum(x + d, 1.0)
    rest = sum(c * (end ** -(2 * k + 1.0) - x ** -(2 * k + 1.0)) for k, c in enumerate(SERIES))
    return d * np.log(x) + (end - 0.5) * np.log1p(np.maximum(d / x, 1.0 / x - 1.0)) - d + rest


def log_sum(log_term: Callable[[np.ndarray], np.ndarray], low: int, high: int) -> float:
    """log Σ_k exp log_term(k), low ≤ k ≤ high, of a log-concave term."""
    top = _mode(log_term, low, high)
    most = float(log_term(np.array([float(top)]))[0])
    first = _end(log_term, top, low, most - TERM_ENDING_NATS)
    last = _end(log_term, top, high, most - TERM_ENDING_NATS)
    if last - first < MOST_TERMS:
        return most + float(np.log(np.exp(log_term(np.arange(first, last + 1.0)) - most).sum()))
    edges = np.linspace(first - 0.5, last + 0.5, PANELS + 1)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2
    k = (edges[:-1, None] + half * (1 + nodes)).ravel()
    return most + float(np.log(np.sum((half * weights).ravel() * np.exp(log_term(k) - most))))


def _mode(log_term: Callable[[np.ndarray], np.ndarray], low: int, high: int) -> int:
    """The largest term, by where the next one is no larger."""
    while low < high:
        middle = (low + high) // 2
        here, following = log_term(np.array([float(middle), middle + 1.0]))
        low, high = (middle + 1, high) if following > here else (low, middle)
    return low


def _end(log_term: Callable[[np.ndarray], np.ndarray], top: int, limit: int, least: float) -> int:
    """The last term on the way from the largest to the limit that counts."""
    if float(log_term(np.array([float(limit)]))[0]) >= least:
        return limit
    inside, outside = top, limit
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        is_inside = float(log_term(np.array([float(middle)]))[0]) >= least
        inside, outside = (middle, outside) if is_inside else (inside, middle)
    return inside


#: Labels of the rows and of the columns of a table.
Levels = tuple[list[Any], list[Any]]
#: Words of ``fixed``.
PLANS = ("none", "total", "rows", "columns", "margins")


@dataclass(frozen=True, eq=False)
class Contingency:
    table: np.ndarray
    fixed: str
    concentration: float
    nulls: Nulls = PLAIN_NULLS
    levels: Levels | None = None  #: of rows and columns, where cases have been counted
    name: str = "Contingency table"

    def with_rows(self, table: Any, columns: Any = None) -> "Contingency":
        more = _table(table) if columns is None else self._counted(table, columns)
        if more.shape != self.table.shape:
            raise ValueError(f"table must have the shape {self.table.shape}, got {more.shape}")
        return replace(self, table=self.table + more)

    def _counted(self, rows: Any, columns: Any) -> np.ndarray:
        """Counts of more cases, in the places of their levels."""
        if self.levels is None:
            raise ValueError("columns are labels, and the table so far has none: give a table of counts")
        cases = [np.asarray(labels, dtype=object).ravel().tolist() for labels in (rows, columns)]
        if len(cases[0]) != len(cases[1]):
            raise ValueError(f"labels come in pairs, got {len(cases[0])} and {len(cases[1])}")
        found = np.zeros(self.table.shape)
        for case in zip(*cases):
            for level, known in zip(case, self.levels):
                if level not in known:
                    raise ValueError(f"{level!r} is none of the levels {known} of the table so far")
            found[tuple(known.index(level) for level, known in zip(case, self.levels))] += 1
        return found

    @property
    def n_samples(self) -> int:
        return int(self.table.sum())

    @property
    def statistics(self) -> dict[str, float]:
        return {"rows": self.table.shape[0], "columns": self.table.shape[1], "n": self.n_samples}

    @property
    def hypotheses(self) -> tuple[str, str]:
        plain = "rows and columns depend on each other", "rows and columns are independent"
        what = "the log odds ratio"
        return self.nulls.hypotheses(what, f"{what} is", "0", plain)

    @property
    def prior(self) -> str:
        what = {"none": "nothing", "margins": "both margins"}.get(self.fixed, self.fixed)
        return f"cells ~ Dirichlet({self.concentration:g}), {what} fixed"

    def log_bayes_factor(self) -> tuple[float, float]:
        value = self._of_dependence()
        if self.nulls == PLAIN_NULLS:
            return value, 0.0
        a, reach = self.concentration, NULLS_TAIL_NATS + 2 * float(np.log(self.n_samples + 2))
        prior = partial(log_density_of_odds, np.full((2, 2), a))
        posterior = partial(log_density_of_odds, self.table + a)
        effect = Effect(float, prior, lambda x: value + posterior(x), -2 * reach, 2 * reach)
        return self.nulls.log_bayes_factor(effect)

    def _of_dependence(self) -> float:
        """The log Bayes factor of any dependence."""
        y, a = (self.table.T if self.fixed == "columns" else self.table), self.concentration
        I, J = y.shape
        r, c, n = y.sum(axis=1), y.sum(axis=0), y.sum()
        if self.fixed == "margins":
            return _margins(y, a)
        prior_r, prior_c = np.full(I, J * a - (J - 1)), np.full(J, I * a - (I - 1))
        A, free = I * J * a, (I - 1) * (J - 1)
        of_rows = r + J * a if self.fixed in ("rows", "columns") else r + prior_r
        known: list[Any] = [np.full(I * J, a), [of_rows.sum() - n, (c + prior_c).sum() - n]]  # of the priors
        prior = np.full(I, J * a) if self.fixed in ("rows", "columns") else prior_r
        plus: list[Any] = [y.ravel() + a, [(c + prior_c).sum(), of_rows.sum()], [A], prior_c, prior]
        minus: list[Any] = [c + prior_c, of_rows, [n + A], *known]
        if self.fixed == "none":
            plus, minus = [*plus, [n + A, A - free]], [*minus, [A, n + A - free]]
        value = log_gamma_sum(np.concatenate(plus), np.concatenate(minus))
        return float(value - (free * np.log1p(n / A) if self.fixed == "none" else 0.0))


def log_density_of_odds(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Log density of the log odds ratio of cells with the density Dirichlet(α), (m,)."""
    (a, b), (c, d) = alpha  # β of logits u + x and u

    def slope(u: np.ndarray) -> np.ndarray:
        return a + c - (a + b) * expit(u + x) - (c + d) * expit(u)

    # the mode of the log-concave integrand over u lies between the modes of its two factors
    u, high = np.minimum(np.log(a / b) - x, np.log(c / d)), np.maximum(np.log(a / b) - x, np.log(c / d))
    for _ in range(60):  # halvings
        middle = (u + high) / 2
        rises = slope(middle) > 0
        u, high = np.where(rises, middle, u), np.where(rises, high, middle)
    p, q = expit(u + x), expit(u)
    width = 1 / np.sqrt((a + b) * p * (1 - p) + (c + d) * q * (1 - q))

    def log_f(more: np.ndarray) -> np.ndarray:
        v = u[:, None] + more
        w = v + x[:, None]
        return a * w + c * v - (a + b) * np.logaddexp(0, w) - (c + d) * np.logaddexp(0, v)

    return log_integrals(log_f, width) - betaln(a, b) - betaln(c, d)


def _margins(y: np.ndarray, a: float) -> float:
    """Both margins of a 2 × 2 table fixed: a sum over the tables that have them."""
    (first, second), column = y.sum(axis=1), y[:, 0].sum()
    low, high = int(max(0, column - second)), int(min(first, column))
    at, signs = y.ravel(), np.array([1, -1, -1, 1])[:, None]

    def log_ratio(k):
        """Prior of a table over its number, up to a constant."""
        cells = at[:, None] + signs * (k - at[0])
        return log_gamma_step(cells + 1.0, np.full_like(cells, a - 1.0, dtype=float)).sum(axis=0)

    centre = np.clip(round(float(first) * float(column) / float(first + second)), low, high)
    cells = at + signs[:, 0] * (centre - at[0])

    def log_tables(k):
        """Number of tables, less that of the table at the centre."""
        return -log_gamma_step(cells[:, None] + 1.0, signs * (k - centre)).sum(axis=0)

    from_centre = log_gamma_sum(at + 1.0, cells + 1.0)  # log number at the centre less that of the table
    mine = float(log_ratio(np.array([float(at[0])]))[0])
    return mine - log_sum(log_ratio, low, high) + log_sum(log_tables, low, high) + from_centre


def contingency(
    table: Any,
    columns: Any = None,
    *,
    fixed: str = "total",
    null: tuple[float, float] | None = None,
    alternative: str = "two-sided",
    concentration: float = 1.0,
) -> BayesFactorResult:
    """Do the rows and columns of a table of counts, or two columns of labels, depend on each other?

    Parameters
    ----------
    table : array-like of int of shape (n_rows, n_columns), or labels of shape (n_samples,)
        Counts; or with ``columns`` the label that each case has for the rows of the table.
    columns : array-like of shape (n_samples,), optional
        The label that each case has for the columns: ``contingency(sex, smoker)`` counts the cases as R's
        ``table`` and ``pandas.crosstab`` do, labels sorted or in the order that a categorical declares.
    fixed : {"none", "total", "rows", "columns", "margins"}, default="total"
        Sums that the design has fixed: "none": each cell is a Poisson count; "total": so many cases were
        collected; "rows" or "columns": so many in each group; "margins": both, of a 2 × 2 table alone.  They
        are BayesFactor's ``sampleType`` "poisson", "jointMulti", "indepMulti" (``fixedMargin``), "hypergeom".
    null : (float, float), optional
        All log odds ratios of a 2 × 2 table between the two are compared with all others.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        A log odds ratio of a 2 × 2 table greater or less than 0 alone is compared with independence.  It is
        log (n₁₁ n₂₂ / (n₁₂ n₂₁)): greater means that the first row has more of the first column.
    concentration : float, default=1.0
        Parameter a of the Dirichlet prior of the cells, 1 or more; 1 is uniform.

    Returns
    -------
    BayesFactorResult
        Log Bayes factor, nats, of dependence against independence, in closed form.

    Raises
    ------
    ValueError
        Naming the argument: negative counts, fewer than two rows or columns, no counts; labels that are
        missing, or of which each case has its own.

    References
    ----------
    E. Gunel, J. Dickey (1974), Bayes factors for independence in contingency tables, Biometrika 61, 545.

    Examples
    --------
    Which of two dolls 160 children chose, by the child (Hraba and Grant 1970):

    >>> from sgevidence.hypothesis_tests import contingency
    >>> contingency([[50, 48], [21, 41]], fixed="columns")
    Contingency table: rows = 2, columns = 2, n = 160
    Bayes factor 1.81 (log: 0.60 ± 0); cells ~ Dirichlet(1), columns fixed
    The data are 1.81 times as probable if rows and columns depend on each other as
    if rows and columns are independent: not worth more than a bare mention.

    Each of these children with its label:

    >>> children = ["black"] * 71 + ["white"] * 89
    >>> dolls = ["same"] * 50 + ["other"] * 21 + ["same"] * 48 + ["other"] * 41
    >>> round(contingency(dolls, children, fixed="columns").log_bayes_factor, 2)
    0.6
    """
    counts, levels = (_table(table), None) if columns is None else _cases(table, columns)
    if not (isinstance(fixed, str) and fixed in PLANS):
        raise ValueError(f"fixed must be one of {list(PLANS)}, got {fixed!r}")
    if fixed == "margins" and counts.shape != (2, 2):
        raise ValueError(f'fixed="margins" needs a table of shape (2, 2), got {counts.shape}')
    a = float(array_of("concentration", concentration, 0))
    if not a >= 1:
        raise ValueError(f"concentration must be 1 or more, got {concentration!r}")
    if not counts.sum():
        raise ValueError("table has no counts")
    nulls = Nulls.of(alternative, null)
    if null is not None and nulls.interval is None:
        raise ValueError(f"null must be a pair (low, high) of log odds ratios, got {null!r}")
    if nulls != PLAIN_NULLS and (counts.shape != (2, 2) or fixed == "margins"):
        raise ValueError('alternative= and null= need a table of shape (2, 2), and not fixed="margins"')
    return BayesFactorResult(Contingency(counts, fixed, a, nulls, levels))


def _table(table: Any) -> np.ndarray:
    cells = np.asarray(table, dtype=object)
    if cells.ndim == 1 or any(isinstance(cell, str) for cell in cells.ravel()):
        raise ValueError(
            "table must be two-dimensional counts; contingency(a, b) counts cases whose labels are a and b"
        )
    counts = counts_of("table", array_of("table", table, 2))
    if min(counts.shape) < 2:
        raise ValueError(f"table must have two rows and columns or more, got the shape {counts.shape}")
    return counts


def _cases(rows: Any, columns: Any) -> tuple[np.ndarray, Levels]:
    """Counts of cases, and the labels of rows and columns."""
    counted = "give one label per case, or one table of counts, [[3, 4], [5, 6]]"
    try:
        n = np.size(columns)
        of_rows, row_levels = coded_levels("table", rows, n, "columns")
        of_columns, column_levels = coded_levels("columns", columns, n)
    except ValueError as error:
        raise ValueError(f"{error}: {counted}") from None
    n_cells, numbers = len(row_levels) * len(column_levels), (int, float)
    if n < n_cells and all(isinstance(level, numbers) for level in (*row_levels, *column_levels)):
        raise ValueError(f"{n} pairs of numbers are labels of a table of {n_cells} cells: {counted}")
    counts = np.zeros((len(row_levels), len(column_levels)))
    np.add.at(counts, (of_rows, of_columns), 1.0)
    return counts, (row_levels, column_levels)
