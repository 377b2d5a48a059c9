"""The work of ``compare``: it reads the rows, fits the models and prints their table."""

import json
import re
import sys
import warnings
from typing import Any

import numpy as np
import typer
from rich.progress import track

from ..displays import ComparisonDisplay
from ..effects import column_names
from ..exceptions import EvidenceWarning
from ..model_selection import compare as compared
from ..rows import RowSource, TextFormat
from ._checkpoints import learnt_in_batches
from ._models import FrameRows, Models, component_counts, densities, formula_models, given, regressions
from ._select import fitted_selector, print_selection
from ._terminal import STDERR, unescaped

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
    known: dict[str, Any] = {
        name: getattr(asked, name) for name in ("sample_weight", "offset", "trials", "event")
    }
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
    known = (asked.sample_weight, asked.offset, asked.trials, asked.event)
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
