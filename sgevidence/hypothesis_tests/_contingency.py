r"""A test of independence in a table of counts, by what the design has fixed (Gunel and Dickey 1974).

Cells have the prior Dirichlet(a, …, a); under independence the margins have the priors that follow from it,
with J − 1 (rows) and I − 1 (columns) taken from their parameters a_r = Ja, a_c = Ia, the primed ones.  With
D(x) = ∏ Γ(x) / Γ(Σ x) and the margins r, c of the table y of I × J cells, A = IJa, A′ = A − (I − 1)(J − 1),

    total fixed     B  = D(y + a)/D(a) · D(a_r′)/D(r + a_r′) · D(a_c′)/D(c + a_c′),
    rows fixed      B · D(a_r)/D(r + a_r) · D(r + a_r′)/D(a_r′),
    nothing fixed   B · Γ(n + A) Γ(A′) / (Γ(A) Γ(n + A′)) · (b/(1 + b))^((I − 1)(J − 1)),   b = A/n,

and with both margins of a 2 × 2 table fixed the prior is that of the cells given the margins.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from ._result import BayesFactorResult, array_of, counts_of

#: Words of ``fixed``.
PLANS = ("none", "total", "rows", "columns", "margins")


def log_D(x: np.ndarray) -> float:
    """log ∏ Γ(x) / Γ(Σ x)."""
    return float(gammaln(x).sum() - gammaln(x.sum()))


@dataclass(frozen=True, eq=False)
class Contingency:
    table: np.ndarray
    fixed: str
    concentration: float
    name: str = "Contingency table"

    def with_rows(self, table: Any) -> "Contingency":
        more = _table(table)
        if more.shape != self.table.shape:
            raise ValueError(f"table must have the shape {self.table.shape}, got {more.shape}")
        return replace(self, table=self.table + more)

    def with_rscale(self, rscale: Any) -> "Contingency":
        raise TypeError("a contingency table has no rscale: call contingency with another concentration")

    @property
    def n_samples(self) -> int:
        return int(self.table.sum())

    @property
    def statistics(self) -> dict[str, float]:
        return {"rows": self.table.shape[0], "columns": self.table.shape[1], "n": self.n_samples}

    @property
    def hypotheses(self) -> tuple[str, str]:
        return "rows and columns depend on each other", "rows and columns are independent"

    @property
    def prior(self) -> str:
        what = {"none": "nothing", "margins": "both margins"}.get(self.fixed, self.fixed)
        return f"cells ~ Dirichlet({self.concentration:g}), {what} fixed"

    def log_bayes_factor(self) -> tuple[float, float]:
        y, a = (self.table.T if self.fixed == "columns" else self.table), self.concentration
        I, J = y.shape
        r, c, n = y.sum(axis=1), y.sum(axis=0), y.sum()
        if self.fixed == "margins":
            return _margins(y, a), 0.0
        prior_r, prior_c = np.full(I, J * a - (J - 1)), np.full(J, I * a - (I - 1))
        value = log_D(y.ravel() + a) - log_D(np.full(I * J, a))
        value -= log_D(c + prior_c) - log_D(prior_c)
        if self.fixed in ("rows", "columns"):
            return value - log_D(r + J * a) + log_D(np.full(I, J * a)), 0.0
        value -= log_D(r + prior_r) - log_D(prior_r)
        if self.fixed == "none":
            A, free = I * J * a, (I - 1) * (J - 1)
            value += gammaln(n + A) - gammaln(A) - gammaln(n + A - free) + gammaln(A - free)
            value -= free * np.log1p(n / A)
        return float(value), 0.0


def _margins(y: np.ndarray, a: float) -> float:
    """Both margins of a 2 × 2 table fixed: a sum over the tables that have them."""
    (first, second), column = y.sum(axis=1), y[:, 0].sum()
    k = np.arange(max(0, column - second), min(first, column) + 1)
    cells = np.array([k, first - k, column - k, second - column + k])
    log_tables = -gammaln(cells + 1).sum(axis=0)  # up to what the margins say
    log_prior = gammaln(cells + a).sum(axis=0)
    at = k == y[0, 0]
    return float(log_prior[at][0] - logsumexp(log_tables + log_prior) + logsumexp(log_tables))


def contingency(table: Any, *, fixed: str = "total", concentration: float = 1.0) -> BayesFactorResult:
    """Do the rows and columns of a table of counts depend on each other?

    Parameters
    ----------
    table : array-like of int of shape (n_rows, n_columns)
    fixed : {"none", "total", "rows", "columns", "margins"}, default="total"
        Sums that the design has fixed: "none": each cell is a Poisson count; "total": so many cases were
        collected; "rows" or "columns": so many in each group; "margins": both, of a 2 × 2 table alone.  They
        are BayesFactor's ``sampleType`` "poisson", "jointMulti", "indepMulti" (``fixedMargin``), "hypergeom".
    concentration : float, default=1.0
        Parameter a of the Dirichlet prior of the cells, 1 or more; 1 is uniform.

    Returns
    -------
    BayesFactorResult
        Log Bayes factor, nats, of dependence against independence, in closed form.

    Raises
    ------
    ValueError
        Naming the argument: negative counts, fewer than two rows or columns, no counts.

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
    """
    counts = _table(table)
    if not (isinstance(fixed, str) and fixed in PLANS):
        raise ValueError(f"fixed must be one of {list(PLANS)}, got {fixed!r}")
    if fixed == "margins" and counts.shape != (2, 2):
        raise ValueError(f'fixed="margins" needs a table of shape (2, 2), got {counts.shape}')
    a = float(array_of("concentration", concentration, 0))
    if not a >= 1:
        raise ValueError(f"concentration must be 1 or more, got {concentration!r}")
    if not counts.sum():
        raise ValueError("table has no counts")
    return BayesFactorResult(Contingency(counts, fixed, a))


def _table(table: Any) -> np.ndarray:
    counts = counts_of("table", array_of("table", table, 2))
    if min(counts.shape) < 2:
        raise ValueError(f"table must have two rows and columns or more, got the shape {counts.shape}")
    return counts
