r"""Analysis of variance of fixed factors, each with a scale of its own (Rouder et al. 2012).

    y = μ + Σ_t Z_t u_t + ε,    u_t ~ N(0, g_t σ² I),    g_t ~ InvGamma(1/2, r²/2),    p(μ, σ²) ∝ 1/σ²

The columns of Z_t are orthonormal contrasts of the levels, so that no level is special; an interaction has
the products of its factors' columns.  Given g, with the centred C = ZᵀZ, c = Zᵀy, q = yᵀy and G = diag(g),

    log p(y | g)/p(y | null) = −½ log |I + √G C √G| − (n − 1)/2 log(1 − R²_g),

and what the other terms leave of one term's C and c, diagonalised, gives all its g at once.  The integral
over log g, one dimension per term, is a trapezoid rule: the integrand is analytic for |Im log g| < π/2.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import helmert
from scipy.special import logsumexp

from ..models import GPrior, rscale_of
from ..tables import Table, with_errors
from ._input import ROUNDING, array_of
from ._result import ratio

#: Nats below the maximum at which the integrand is nothing, which leaves 10⁻⁷ of it outside.
NOTHING = 16.0
#: Values of log g between which the integrand is looked for, and the step of the search.
LOWEST, HIGHEST, COARSE = -30.0, 60.0, 1.0
#: Step of the trapezoid rule in units of √(1/(k + 2)), k columns, and its largest step in log g.
STEP, LARGEST_STEP = 1.4, 0.8
#: Nats of error above which the step is halved; halvings at most.
TOLERANCE, MOST_HALVINGS = 4e-4, 2
#: Nats of error that a lucky place of the nodes hides: at most 8e-5 on 14 designs of 22 to 2928 rows.
LEAST_ERROR = 1.5e-4
#: Share of the squares of y that is rounding, and rounding itself.
SMALLEST, EPS = 1e-12, float(np.finfo(float).eps)


class AnovaTable(Table):
    """Bayes factors of models against the mean alone; prints with errors.

    Parameters
    ----------
    columns : mapping of str to sequence
        ``log_bayes_factor`` and ``log_bayes_factor_std``, nats.
    index : sequence of str
        Terms of each model.
    index_name : str, default=""
        Heading of the terms.
    """

    def __repr__(self) -> str:
        value, std = self["log_bayes_factor"], self["log_bayes_factor_std"]
        shown = {
            "log Bayes factor ± error": with_errors(value, std),
            "Bayes factor": [ratio(one) for one in value],
        }
        return Table(shown, self.index).to_string()


def anova(
    y: Any, factors: Mapping[str, Any] | Any, *, interaction: bool = True, rscale: float | str = "medium"
) -> AnovaTable:
    """Does y depend on one factor or two, and on their combination?

    Parameters
    ----------
    y : array-like of shape (n,)
    factors : mapping of str to array-like of shape (n,), or DataFrame
        One or two factors by name: the level of each row, strings or numbers.  All levels are alike
        a priori.
    interaction : bool, default=True
        With two factors, is the model with their interaction among those that are weighed?
    rscale : float or {"medium", "wide", "ultrawide"}, default="medium"
        Scale r of the effects in units of σ.  The words are those of the R package BayesFactor for fixed
        effects: ½ (its default), √2/2, 1.  Two levels with r = ½ are a t-test with √2/2.

    Returns
    -------
    AnovaTable
        One row per model, which a model with an interaction joins only with both of its factors:
        ``log_bayes_factor`` against the mean alone and ``log_bayes_factor_std``, nats.  Two models compare by
        the difference of theirs.

    Raises
    ------
    ValueError, TypeError
        Naming the argument or the factor.

    See Also
    --------
    ttest : Two groups.

    References
    ----------
    J. N. Rouder, R. D. Morey, P. L. Speckman, J. M. Province (2012), Default Bayes factors for ANOVA designs,
    Journal of Mathematical Psychology 56, 356.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.hypothesis_tests import anova
    >>> rng = np.random.default_rng(0)
    >>> soil, water = rng.choice(["clay", "sand", "peat"], 60), rng.choice(["little", "much"], 60)
    >>> height = 1.0 * (water == "much") + rng.standard_normal(60)
    >>> anova(height, {"soil": soil, "water": water}).index
    ['soil', 'water', 'soil + water', 'soil + water + soil:water']
    """
    y = array_of("y", y, 1)
    terms = _contrasts(factors, len(y))
    r = rscale_of("anova", rscale)
    z = y - y.mean() if len(y) else y
    if z @ z <= len(y) * (ROUNDING * np.abs(y).max(initial=0.0)) ** 2:
        raise ValueError("y is constant: there is nothing to explain")
    names = list(terms)
    models = [[name] for name in names] + ([names] if len(names) == 2 else [])
    if len(names) == 2 and interaction:
        both = ":".join(names)
        A, B = terms.values()
        terms = {**terms, both: (A[:, :, None] * B[:, None, :]).reshape(len(y), -1)}
        models.append([*names, both])
    found = [_log_bayes_factor([terms[name] for name in one], z, r) for one in models]
    columns = dict(zip(("log_bayes_factor", "log_bayes_factor_std"), np.array(found).T))
    return AnovaTable(columns, [" + ".join(one) for one in models])


def _contrasts(factors: Any, n: int) -> dict[str, np.ndarray]:
    """Orthonormal contrasts of the levels at each row, by factor."""
    if not (isinstance(factors, Mapping) or hasattr(factors, "columns")):
        raise TypeError(
            f"factors must be a mapping of names to levels, or a DataFrame, got {type(factors).__name__}"
        )
    names = list(factors.columns if hasattr(factors, "columns") else factors)
    if len(names) not in (1, 2):
        raise ValueError(f"factors must be one or two, got {len(names)}")
    terms = {}
    for name in names:
        levels = np.asarray(factors[name])
        if levels.shape != (n,):
            raise ValueError(f"the factor {name!r} must have the shape of y, ({n},), got {levels.shape}")
        if any(level is None or level != level for level in levels.tolist()):
            raise ValueError(f"the factor {name!r} has missing values")
        found, codes = np.unique(
            levels.astype(str) if levels.dtype == object else levels, return_inverse=True
        )
        if len(found) < 2:
            raise ValueError(f"the factor {name!r} must have two levels or more")
        if len(found) >= n:
            raise ValueError(f"the factor {name!r} has a level of its own in each row")
        terms[str(name)] = helmert(len(found))[:, codes].T
    return terms


class GivenScales(NamedTuple):
    """Centred moments, and the integrand that they make."""

    C: np.ndarray  #: (K, K)
    c: np.ndarray  #: Zᵀy / √q, (K,)
    nu: float
    term: np.ndarray  #: of each column, (K,)
    prior: GPrior

    def along(self, t: int, u: np.ndarray, grid: np.ndarray) -> np.ndarray:
        """Log integrand at log g (M, T), where that of term t runs along a grid (L,), (M, L)."""
        mine, rest = self.term == t, self.term != t
        k = mine.sum()
        root = np.exp(u[:, self.term[rest]] / 2)
        A = root[:, :, None] * self.C[np.ix_(rest, rest)] * root[:, None, :] + np.eye(rest.sum())
        beside = root[:, :, None] * np.column_stack([self.C[np.ix_(rest, mine)], self.c[rest]])
        S = np.block([[self.C[np.ix_(mine, mine)], self.c[mine, None]], [self.c[mine], 1.0]])
        S = S - np.swapaxes(beside, 1, 2) @ np.linalg.solve(A, beside)  # what the other terms leave
        eigenvalues, V = np.linalg.eigh(S[:, :k, :k])
        b = np.squeeze(np.swapaxes(V, 1, 2) @ S[:, :k, k:], 2)
        g = np.exp(grid)[:, None]
        spread = 1 + g * np.maximum(eigenvalues, 0.0)[:, None]  # (M, L, k)
        left = S[:, k, k, None] - np.sum(g * b[:, None] ** 2 / spread, axis=2)
        log_det = np.linalg.slogdet(A)[1][:, None] + np.log(spread).sum(axis=2)
        log_prior = self.prior.log_density(u[:, np.arange(u.shape[1]) != t]).sum(axis=1)
        return (
            -0.5 * log_det
            - 0.5 * self.nu * np.log(np.maximum(left, SMALLEST))
            + log_prior[:, None]
            + self.prior.log_density(grid)
        )

    def ends(self) -> list[tuple[float, float]]:
        """Places along each axis through the mode beyond which the integrand is nothing."""
        grid = np.arange(LOWEST, HIGHEST, COARSE)
        at, before = np.zeros(self.term[-1] + 1), None
        while before is None or (at != before).any():
            before, out = at.copy(), []
            for t in range(len(at)):
                f = self.along(t, at[None], grid)[0]
                at[t] = grid[np.argmax(f)]
                near = np.flatnonzero(f > f.max() - NOTHING)
                out.append((grid[max(near[0] - 1, 0)], grid[min(near[-1] + 1, len(grid) - 1)]))
        return out


def _log_bayes_factor(terms: list[np.ndarray], y: np.ndarray, r: float) -> tuple[float, float]:
    """A model of centred y against its mean; and the error, by twice the step and by rounding."""
    Z = np.column_stack(terms)
    Z, n = Z - Z.mean(axis=0), len(y)
    residual = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    left = (residual @ residual) / (y @ y)
    if left < SMALLEST and np.linalg.matrix_rank(Z) < n - 1:
        raise ValueError("y is the same in all rows of equal levels: the Bayes factor is infinite")
    widths = [term.shape[1] for term in terms]
    which, unit = np.repeat(np.arange(len(terms)), widths), np.sqrt(y @ y)
    given = GivenScales(Z.T @ Z, Z.T @ y / unit, n - 1.0, which, GPrior("inverse-gamma", r**2))
    last, ends = len(terms) - 1, given.ends()
    for halving in range(MOST_HALVINGS + 1):
        steps = [min(STEP / np.sqrt(k + 2), LARGEST_STEP) / 2**halving for k in widths]
        axes = [np.arange(low, high + step, step) for (low, high), step in zip(ends, steps)]
        others = np.array([[*one, 0.0] for one in product(*axes[:-1])])
        f = given.along(last, others, axes[last]).reshape([len(axis) for axis in axes])
        value = float(logsumexp(f))
        coarse = float(logsumexp(f[tuple(slice(None, None, 2) for _ in axes)]) + len(axes) * np.log(2))
        error = (coarse - value) ** 2 + LEAST_ERROR  # of e^(−c/h) with half the step
        if error < TOLERANCE:
            break
    return value + float(np.log(steps).sum()), error + n * EPS / max(left, SMALLEST)
