"""The work of ``compare``: it reads the rows, fits the models and prints their table.

``compare --select``: which columns of a regression, by the evidence of their subsets.
"""

import json
import re
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import typer
from rich.progress import track
from sklearn.base import clone

from ..displays import ComparisonDisplay
from ..effects import Columns, Factor, column_names, contrasts
from ..estimators import BayesianLinearRegression
from ..exceptions import EvidenceWarning
from ..feature_selection import EvidenceFeatureSelector
from ..model_selection import compare as compared
from ..rows import KNOWN, RowSource, TextFormat, with_known
from ..tables import Table
from ._models import (
    STDERR,
    FrameRows,
    Models,
    component_counts,
    densities,
    formula_models,
    given,
    learnt_in_batches,
    regressions,
    unescaped,
)

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
    table = {"inclusion": inclusion[order], "selected": selected}
    typer.echo(str(Table(table, [names[k] for k in order])))
    typer.echo("")
    typer.echo(str(Table(columns, [", ".join(subset) or "null" for subset in subsets])))


#: A number that is no year, which may be a name.
FRACTION = r"[-+]?\d*\.\d+(e[-+]?\d+)?"


def print_compared(asked: Any) -> None:
    """The table of the models that were asked for; ``asked`` has the options of ``compare``."""
    text = TextFormat(unescaped(asked.sep), asked.decimal, asked.thousands, asked.encoding)
    if asked.formula:
        return print_formulas(asked, text)
    if (asked.mixture is None) == (asked.target is None):
        raise ValueError("give either --target, of regressions, or --mixture, of densities")
    columns = [names.split(",") for names in asked.features or []]
    used = list(dict.fromkeys(name for names in columns for name in names)) or None
    factors, used = asked.factor or [], used and list(dict.fromkeys([*used, *(asked.factor or [])]))
    known: dict[str, Any] = {name: getattr(asked, name) for name in ("sample_weight", *KNOWN)}
    source = RowSource(
        asked.data, asked.target, used, dropna=asked.dropna, factors=factors, **known, **text._asdict()
    )
    choices = (asked.standardize, asked.seed)
    if asked.select:
        refuse_with_select(dict(mixture=asked.mixture, plot=asked.plot, checkpoint=asked.checkpoint), columns)
        print_selection(fitted_selector(read(source), factors, asked.family, *choices), asked.as_json)
        return print_dropped(source)
    counts = [] if asked.mixture is None else component_counts(asked.mixture)
    takes_gaps = asked.mixture is not None and asked.covariance != "full"
    rows = read(source, asked.checkpoint is None, takes_gaps)
    if asked.mixture is not None:
        models = densities(counts, rows, columns, factors, asked.covariance, *choices)
    else:
        if asked.family is None and np.array_equal(np.unique(np.asarray(rows.y)), [0, 1]):
            words = (
                "0 or 1 in every row, and is taken for a number: --family bernoulli takes it for no and yes"
            )
            typer.echo(f"--target is {words}", err=True)
        models = regressions(rows, columns, factors, asked.family, *choices)
    print_fitted(fit_all(models, rows, source, asked.checkpoint), source, asked.as_json, asked.plot)


def print_formulas(asked: Any, text: TextFormat) -> None:
    """The table of models by formula."""
    others = (asked.target, asked.features, asked.factor, asked.mixture, asked.select, asked.checkpoint)
    if any(others):
        raise ValueError(
            "--formula says which models there are: leave out --target, --features, --factor, "
            "--mixture, --select and --checkpoint"
        )
    known = (asked.sample_weight, *(getattr(asked, name) for name in KNOWN))
    rows = FrameRows.of(asked.data, asked.formula, known, asked.dropna, text)
    models = formula_models(asked.formula, rows, asked.family, asked.standardize, asked.seed)
    print_fitted(fit_all(models, rows, None, None), rows, asked.as_json, asked.plot)


def print_fitted(fitted: dict[str, Any], source: Any, as_json: bool, plot: str | None) -> None:
    """The comparison, the rows that are left out, and a picture if there is to be one."""
    print_comparison(fitted, as_json)
    print_dropped(source)
    if plot is not None:
        draw_comparison(fitted, plot)


def read(source: RowSource, whole: bool = True, keep_missing: bool = False) -> Any:
    """All rows, or the first batch; what is left out is said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        found = source.read(keep_missing=keep_missing) if whole else next(source.batches(keep_missing))
    names = list(map(str, column_names(found.X)))
    if isinstance(source.source, str) and all(re.fullmatch(FRACTION, name) for name in names):
        typer.echo(f"the first line is taken for names, and they are numbers: {names[:5]}", err=True)
    for name in source.left_out:
        words = "numbers or names the rows and is left out: --features names those to be used"
        typer.echo(f"column {name!r} {words}", err=True)
    return found


def fit_all(models: Models, rows: Any, source: RowSource | None, checkpoint: str | None) -> dict[str, Any]:
    """Fitted models, with a bar of progress where standard error is a terminal."""

    def steps(items: Any) -> Any:
        hidden = not sys.stderr.isatty()
        return track(items, "fitting", total=len(models), console=STDERR, transient=True, disable=hidden)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # they are printed below the table
        if checkpoint is not None and source is not None:
            return learnt_in_batches(models, source, checkpoint, steps)
        return {
            name: model.fit(rows.X, rows.y, **given(rows, names))
            for name, (model, names) in steps(models.items())
        }


def refuse_with_select(others: dict[str, Any], columns: list) -> None:
    """Options that say which models there are, where all subsets of the columns are."""
    named = [name for name, value in others.items() if value is not None]
    if named:
        raise ValueError(f"--select weighs the subsets of one regression, and takes no --{named[0]}")
    if len(columns) > 1:
        raise ValueError("--select weighs all subsets of the columns: give --features once, or not at all")


def print_dropped(source: Any) -> None:
    """Rows without a value, on standard error."""
    if source.n_dropped:
        typer.echo(f"{source.n_dropped} rows with missing values are left out", err=True)


def print_comparison(fitted: dict[str, Any], as_json: bool) -> None:
    """The table on standard output, what is in doubt on standard error."""
    table = compared(fitted)
    if as_json:
        columns = {name: np.asarray(table[name]).tolist() for name in table.columns}
        rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
        typer.echo(json.dumps([{"model": name} | row for name, row in zip(table.index, rows)], indent=2))
    else:
        typer.echo(str(table))
    for name, model in fitted.items():
        for words in model.warnings_:
            typer.echo(f"warning: {name}: {words}", err=True)


def draw_comparison(fitted: dict[str, Any], path: str) -> None:
    """A picture of the table, in the format of the file's ending; matplotlib needs no screen for it."""
    import matplotlib

    matplotlib.use("agg")
    drawn: Any = ComparisonDisplay.from_estimators(fitted)
    drawn.figure_.savefig(path, bbox_inches="tight")
