"""``compare --select``: which columns of a regression, by the evidence of their subsets."""

import json
from typing import Any, NamedTuple

import numpy as np
import typer
from sklearn.base import clone

from ..effects import Columns, Factor, contrasts
from ..estimators import BayesianLinearRegression
from ..feature_selection import EvidenceFeatureSelector
from ..rows import with_known
from ..tables import Table
from ._models import given, regressions

#: Subsets that are printed.
N_BEST = 10


class Selection(NamedTuple):
    """A selector, and its columns and factors."""

    selector: EvidenceFeatureSelector
    names: list[str]
    groups: list[list[Any]]  #: columns of each, as ``models_`` has them

    @property
    def inclusion(self) -> np.ndarray:
        """Inclusion probability of each name."""
        columns = list(getattr(self.selector, "feature_names_in_", range(self.selector.n_features_in_)))
        return self.selector.inclusion_probabilities_[[columns.index(group[0]) for group in self.groups]]

    def named(self, columns: Any) -> list[str]:
        """Names of a subset of columns."""
        there = set(columns)
        return [name for name, group in zip(self.names, self.groups) if group[0] in there]


def fitted_selector(
    rows: Any, factors: list[str], family: str | None, standardize: bool, seed: int
) -> Selection:
    """The posterior over subsets of the columns of a regression of this family."""
    models = regressions(rows, [], factors, family, standardize, seed)
    if len(models) > 1:
        raise ValueError(f"--select weighs the subsets of one regression: give one --family of {family}")
    estimator, names = next(iter(models.values()))
    known, X, groups, labels = given(rows, names), rows.X, None, None
    if factors:
        X, groups, labels = with_contrasts(rows.X, factors, standardize)
        estimator.set_params(columns=None, terms=None)
        if standardize:
            estimator.set_params(
                units=units_with_contrasts(estimator, X, rows.y, known, groups, len(factors))
            )
    if isinstance(estimator, BayesianLinearRegression):  # whose subsets have closed forms
        selector = EvidenceFeatureSelector(
            groups=groups, standardize=standardize, units=estimator.units, random_state=seed
        )
    else:
        selector = EvidenceFeatureSelector(estimator=estimator, groups=groups, random_state=seed)
    selector.fit(X, rows.y, **known)
    if groups is None or labels is None:
        columns = selector.feature_names_in_.tolist()
        return Selection(selector, list(map(str, columns)), [[name] for name in columns])
    return Selection(selector, labels, groups)


def with_contrasts(
    X: Any, factors: list[str], standardize: bool
) -> tuple[np.ndarray, list[list[int]], list[str]]:
    """Columns of numbers, then the contrasts of each factor: all columns, those of each name, and names.

    A factor is what ``Factor`` makes of a column: no level is a reference.
    """
    read = Columns.of(X, [Factor(name) for name in factors])
    values, p = read.read(X), len(read.linear)
    columns, groups = [values[:, :p]], [[j] for j in range(p)]
    for codes, levels in zip(values[:, p:].T, read.levels):
        if len(levels.number) < 2:
            raise ValueError(f"--factor {levels.name}: the column has one level, and nothing to select")
        H = contrasts(len(levels.number))
        columns.append(H[codes.astype(int)] * (1.0 if standardize else Factor(levels.name).prior_scale))
        start = groups[-1][-1] + 1 if groups else 0
        groups.append(list(range(start, start + H.shape[1])))
    return np.hstack(columns), groups, [str(name) for name in (*read.linear, *factors)]


def units_with_contrasts(
    estimator: Any, X: np.ndarray, y: Any, known: dict[str, Any], groups: list[list[int]], n_factors: int
) -> Any:
    """Units of the rows, in which contrasts keep the prior that a factor has whatever its levels weigh."""
    others = {name: value for name, value in known.items() if name != "sample_weight" and value is not None}
    whole = clone(estimator)
    whole._first_rows(with_known(X, **others) if others else X, y, known.get("sample_weight"))
    units = whole._units
    at = [j for group in groups[-n_factors:] for j in group]
    scale = units.scale.copy()
    scale[at] = 1 / Factor("").prior_scale
    return units._replace(scale=scale, spread=units.spread * units.scale / scale)


def print_selection(selection: Selection, as_json: bool) -> None:
    """Inclusion probabilities and the best subsets, as tables or as one object of JSON."""
    selector, names, inclusion = selection.selector, selection.names, selection.inclusion
    best = selector.models_
    subsets = [selection.named(one) for one in best["columns"]][:N_BEST]
    columns = {"size": np.array([len(subset) for subset in subsets])}
    columns |= {
        name: np.asarray(best[name])[:N_BEST] for name in ("log_evidence", "log_prior", "probability")
    }
    if as_json:
        rows = [dict(zip(columns, values)) for values in zip(*(array.tolist() for array in columns.values()))]
        out = {
            "log_evidence": selector.log_evidence_,
            "inclusion_probabilities": dict(zip(names, inclusion.tolist())),
            "models": [{"columns": subset} | row for subset, row in zip(subsets, rows)],
        }
        typer.echo(json.dumps(out, indent=2))
        return
    order = np.argsort(-inclusion, kind="stable")
    # inclusion probability of the median probability model
    selected = np.where(inclusion[order] >= 0.5, "yes", "")
    table = {"probability": inclusion[order], "selected": selected}
    typer.echo(str(Table(table, [names[k] for k in order])))
    typer.echo("")
    typer.echo(str(Table(columns, [", ".join(subset) or "null" for subset in subsets])))
