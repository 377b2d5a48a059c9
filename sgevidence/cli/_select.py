"""``compare --select``: which columns of a regression, by the evidence of their subsets."""

import json
from typing import Any

import numpy as np
import typer

from ..estimators import BayesianLinearRegression
from ..feature_selection import EvidenceFeatureSelector
from ..tables import Table
from ._models import given, regressions

#: Subsets that are printed.
BEST = 10


def fitted_selector(rows: Any, family: str | None, standardize: bool, seed: int) -> EvidenceFeatureSelector:
    """The posterior over subsets of the columns of a regression of this family."""
    models = regressions(rows, [], [], family, standardize, seed)
    if len(models) > 1:
        raise ValueError(f"--select weighs the subsets of one regression: give one --family of {family}")
    estimator, names = next(iter(models.values()))
    if isinstance(estimator, BayesianLinearRegression):  # whose subsets have closed forms
        selector = EvidenceFeatureSelector(standardize=standardize, random_state=seed)
    else:
        selector = EvidenceFeatureSelector(estimator=estimator, random_state=seed)
    return selector.fit(rows.X, rows.y, **given(rows, names))


def print_selection(selector: EvidenceFeatureSelector, as_json: bool) -> None:
    """Inclusion probabilities and the best subsets, as tables or as one object of JSON."""
    names = [str(name) for name in selector.feature_names_in_]
    inclusion, best = selector.inclusion_probabilities_, selector.models_
    columns = {
        name: np.asarray(best[name])[:BEST] for name in ("size", "log_evidence", "log_prior", "probability")
    }
    subsets = [list(one) for one in best["columns"]][:BEST]
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
    selected = np.where(selector.get_support()[order], "yes", "")
    table = {"probability": inclusion[order], "selected": selected}
    typer.echo(str(Table(table, [names[k] for k in order])))
    typer.echo("")
    typer.echo(str(Table(columns, [", ".join(subset) or "null" for subset in subsets])))
