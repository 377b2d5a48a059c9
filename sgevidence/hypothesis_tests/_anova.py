r"""Analysis of variance with JZS priors: factors, and subjects with several rows (Rouder et al. 2012).

    y = μ + Σ_t Z_t u_t + ε,    u_t ~ N(0, g_t σ² I),    g_t ~ InvGamma(1/2, r²/2),    p(μ, σ²) ∝ 1/σ²

The columns of Z_t are orthonormal contrasts of the levels, so that no level is special; an interaction has
the products of its factors' columns.  The integral is that of :class:`~sgevidence.effects.JZSPosterior`.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np

from ..effects import (
    GROUP_SCALE,
    MAX_FORMULAS,
    JZSPosterior,
    LevelSums,
    RelativeLayout,
    column_products,
    contrasts,
    hereditary,
    jzs_block,
)
from ..history import Rows
from ..model_selection import Reported, factor_in_digits
from ..models import rscale_of
from ..tables import Table, with_errors
from ._report import table_and_sentences
from ._result import EQUAL_WITHIN, array_of, coded_levels

#: Name of the null model where each subject has several rows.
SUBJECTS_ALONE = "subjects alone"


class AnovaTable(Reported, Table):
    """Bayes factors of models against the mean, or subjects, alone; prints with errors.

    Parameters
    ----------
    columns : mapping of str to sequence
        ``log_bayes_factor`` and ``log_bayes_factor_std``, nats.
    index : sequence of str
        Terms of each model.
    index_name : str, default=""
        Heading of the terms.
    bars : mapping of str to sequence of float, optional
        Shares of one that a page draws as bars.
    heading : str, default=""
        Line above the table.
    notes : sequence of str, default=()
        Sentences, or other tables, below.
    """

    _facts: tuple[str, int, float] | None = None  #: name of the null model, rows, scale of effects

    def _reported(self) -> tuple[Table, list[str]]:
        if self._facts is None:
            raise ValueError("a report is of the table that anova() returns, and this is a part of it")
        null, n, r = self._facts
        values, stds = (np.append(self[name], 0.0) for name in self.columns)
        prior = f"Prior: effects of each term, in units of σ, ~ Cauchy(0, {r:.3g}) (Rouder and others, 2012)."
        if null == SUBJECTS_ALONE:
            prior = f"{prior[:-1]}, of subjects ~ Cauchy(0, {GROUP_SCALE:g})."
        data = f"Analysis of variance: n = {n}"
        return table_and_sentences([*self.index, null], values, stds, data=data, prior=prior)

    def _printed(self) -> Table:
        value, std = self["log_bayes_factor"], self["log_bayes_factor_std"]
        shown = {
            "log Bayes factor ± error": with_errors(value, std),
            "Bayes factor": [factor_in_digits(one) for one in value],
        }
        return Table(shown, self.index)


def anova(
    y: Any,
    factors: Mapping[str, Any] | Any,
    *,
    subjects: Any = None,
    interaction: bool | int = True,
    rscale: float | str = "medium",
) -> AnovaTable:
    """Does y depend on one factor or several, and on their combinations?

    Parameters
    ----------
    y : array-like of shape (n,)
    factors : mapping of str to array-like of shape (n,), or DataFrame
        One or more factors by name, between subjects or within them: the level of each row, strings or
        numbers, of which 1 and "1" are two.  All levels are alike a priori.
    subjects : array-like of shape (n,), optional
        Who gave each row, where each gave several.  Subjects have intercepts of their own with r = 1, in all
        models and in the null.
    interaction : bool or int, default=True
        Are interactions among the terms that are weighed?  A number is that of the factors in one at most.
    rscale : float or {"medium", "wide", "ultrawide"}, default="medium"
        Scale r of the effects in units of σ.  The words are those of the R package BayesFactor for fixed
        effects: ½ (its default), √2/2, 1.  Two levels with r = ½ are a t-test with √2/2.

    Returns
    -------
    AnovaTable
        One row per model; an interaction comes only with its factors, and with all interactions within it:
        ``log_bayes_factor`` against the mean alone, or against subjects alone, and
        ``log_bayes_factor_std``, nats.  Two models compare by the difference of theirs.

    Raises
    ------
    ValueError, TypeError
        Naming the argument or the factor.

    See Also
    --------
    ttest : Two groups.
    sgevidence.BayesianLinearRegression : Covariates and slopes of subjects, too, with ``prior="jzs"``.

    Notes
    -----
    Up to three scales g are integrated by the trapezoid rule, right to about 10⁻⁴ nats; more, such as those
    of two factors, their interaction and subjects, by quasi-random points, ± 0.005.

    Three factors have 18 models, and four have 166.  More than 4096 are refused: give ``interaction=2``, or
    the formulas that matter to ``BayesianLinearRegression(prior="jzs")``, which also has covariates.

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
    who = None if subjects is None else coded_levels("subjects", subjects, len(y))[0]
    z = y - y.mean() if len(y) else y
    if z @ z <= len(y) * (EQUAL_WITHIN * np.abs(y).max(initial=0.0)) ** 2:
        raise ValueError("y is constant: there is nothing to explain")
    terms, models = _models(terms, interaction)
    found = np.array([_log_bayes_factor([terms[name] for name in one], who, z, r) for one in models])
    if who is not None:
        alone, error = _log_bayes_factor([], who, z, r)
        found = np.column_stack([found[:, 0] - alone, np.hypot(found[:, 1], error)])
    columns = dict(zip(("log_bayes_factor", "log_bayes_factor_std"), found.T))
    table = AnovaTable(columns, [" + ".join(one) for one in models])
    table._facts = ("one common mean" if who is None else SUBJECTS_ALONE, len(y), r)
    return table


def _models(
    factors: dict[str, np.ndarray], interaction: bool | int
) -> tuple[dict[str, np.ndarray], list[tuple[str, ...]]]:
    """Contrasts of all terms, and the terms of each model."""
    if not isinstance(interaction, Integral | np.bool_) or interaction < 0:
        raise TypeError(f"interaction must be True, False or a number of factors, got {interaction!r}")
    is_any = isinstance(interaction, bool | np.bool_) and interaction
    order = len(factors) if is_any else max(int(interaction), 1)
    groups = [some for k in range(1, len(factors) + 1) for some in combinations(factors, k) if k <= order]
    terms = {":".join(some): column_products([factors[name] for name in some]) for some in groups}
    needs = {
        ":".join(some): {":".join(part) for k in range(1, len(some)) for part in combinations(some, k)}
        for some in groups
    }
    models = hereditary(terms, needs)[1:]
    if len(models) >= MAX_FORMULAS:
        raise ValueError(
            f"{len(factors)} factors with their interactions have more than {MAX_FORMULAS} models: give "
            "interaction=2, or fit the formulas that matter"
        )
    return terms, models


def _contrasts(factors: Any, n: int) -> dict[str, np.ndarray]:
    """Orthonormal contrasts of the levels at each row, by factor."""
    if not (isinstance(factors, Mapping) or hasattr(factors, "columns")):
        raise TypeError(
            f"factors must be a mapping of names to levels, or a DataFrame, got {type(factors).__name__}: "
            f"write {{{getattr(factors, 'name', None) or 'group'!r}: …}}"
        )
    names = list(factors.columns if hasattr(factors, "columns") else factors)
    if not names:
        raise ValueError("factors must be one or more, got none")
    if len(set(map(str, names))) < len(names):
        raise ValueError(f"two factors are named {str(names[0])!r}: give each a name of its own")
    terms = {}
    for name in names:
        codes, _ = coded_levels(f"the factor {name!r}", factors[name], n)
        terms[str(name)] = contrasts(codes.max() + 1)[codes]
    return terms


def _log_bayes_factor(
    terms: Sequence[np.ndarray], who: np.ndarray | None, y: np.ndarray, r: float
) -> tuple[float, float]:
    """A model of centred y against its mean, and the error."""
    n, one = len(y), np.ones((len(y), 1))
    columns, blocks = [one], []
    for Z in terms:
        columns += [Z, 0 * one]
        blocks.append(jzs_block(1, Z.shape[1], r))
    if who is not None:
        columns += [one, who[:, None]]
        blocks.append(jzs_block(int(who.max()) + 1, 1, GROUP_SCALE))
    Phi = np.column_stack([one, *terms, *([] if who is None else [np.eye(who.max() + 1)[who]])])
    residual = y - Phi @ np.linalg.lstsq(Phi, y, rcond=None)[0]
    # share of the squares of y that is rounding
    if residual @ residual < 1e-12 * (y @ y) and np.linalg.matrix_rank(Phi) < n:
        raise ValueError("y is the same in all rows of equal levels: the Bayes factor is infinite")
    layout = RelativeLayout(np.ones(1), tuple(blocks))
    rows = Rows.of(np.column_stack(columns), y / np.sqrt(y @ y))
    found = JZSPosterior(layout, LevelSums.of_rows(layout, rows))
    return found.log_evidence, found.log_evidence_std
