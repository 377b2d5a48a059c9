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

from ._large_counts import log_gamma_step, log_gamma_sum, log_sum
from ._result import BayesFactorResult, array_of, counts_of

#: Words of ``fixed``.
PLANS = ("none", "total", "rows", "columns", "margins")


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
        A, free = I * J * a, (I - 1) * (J - 1)
        of_rows = r + J * a if self.fixed in ("rows", "columns") else r + prior_r
        known: list[Any] = [np.full(I * J, a), [of_rows.sum() - n, (c + prior_c).sum() - n]]  # of the priors
        prior = np.full(I, J * a) if self.fixed in ("rows", "columns") else prior_r
        plus: list[Any] = [y.ravel() + a, [(c + prior_c).sum(), of_rows.sum()], [A], prior_c, prior]
        minus: list[Any] = [c + prior_c, of_rows, [n + A], *known]
        if self.fixed == "none":
            plus, minus = [*plus, [n + A, A - free]], [*minus, [A, n + A - free]]
        value = log_gamma_sum(np.concatenate(plus), np.concatenate(minus))
        return float(value - (free * np.log1p(n / A) if self.fixed == "none" else 0.0)), 0.0


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
