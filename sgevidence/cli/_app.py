"""The commands: their options, what they print, and errors as one line in the place of a traceback."""

import io
import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from ..displays import ComparisonDisplay
from ..effects import column_names
from ..exceptions import DivergenceError, EvidenceWarning
from ..io import save
from ..model_selection import compare as compared
from ..monitoring import EvidenceMonitor
from ..rows import RowSource, TextFormat
from ._checkpoints import WATCHED_ROWS, learnt_in_batches, resumed
from ._lines import LineFormat, bounded_lines, rows_of_lines
from ._models import FrameRows, Models, component_counts, densities, formula_models, given, regressions
from ._select import fitted_selector, print_selection

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
STDERR = Console(stderr=True, soft_wrap=True)
Sep = Annotated[str | None, typer.Option(help="what separates columns of text; default: by the file")]
Decimal = Annotated[str, typer.Option(help="what is written before decimals")]
Thousands = Annotated[str | None, typer.Option(help="what is written between thousands")]
Encoding = Annotated[str, typer.Option(help="encoding of text, as latin-1")]

REFUSALS = (ValueError, TypeError, OSError, DivergenceError, ImportError, MemoryError, RecursionError)
#: A number that is no year, which may be a name.
FRACTION = r"[-+]?\d*\.\d+(e[-+]?\d+)?"
#: Parameters that errors of the library name, as they are typed here.
TYPED = {
    r"dropna=True": "--dropna",
    r"columns=(\[.*\])?(?=[,; ]|$)": "--features",
    r"factors=\['(.*?)'\]": r"--factor \1",
    r"sep='\\t'": r"--sep '\\t'",
    r"sep='(.)'": r"--sep '\1'",
    r"(decimal|thousands)='(.)'": r"--\1 \2",
    r"encoding=, as 'latin-1'": "--encoding latin-1",
    r"standardize=False": "--no-standardize",
}


@contextmanager
def errors_in_words() -> Iterator[None]:
    """One line on standard error, and the exit code 1; warnings are lines there, too."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda words, *_: typer.echo(f"warning: {as_typed(str(words))}", err=True)
            yield
    except UnicodeDecodeError as error:
        typer.echo(f"error: the text is not {error.encoding}: give --encoding, as latin-1", err=True)
        raise typer.Exit(1) from None
    except REFUSALS as error:
        typer.echo(f"error: {as_typed(str(error))}", err=True)
        raise typer.Exit(1) from None


def as_typed(words: str) -> str:
    """With options in the place of parameters."""
    for pattern, option in TYPED.items():
        words = re.sub(pattern, option, words)
    return words


def print_version(wanted: bool) -> None:
    """The version, and the end."""
    if wanted:
        typer.echo(version("sgevidence"))
        raise typer.Exit


@app.callback()
def about(
    _: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Log evidences of Bayesian models, in nats."""


@app.command()
def compare(
    data: Annotated[str, typer.Argument(help="Parquet, Arrow, CSV, TSV or text file, or a folder of them")],
    target: Annotated[str | None, typer.Option(help="column of y; none for mixtures")] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(help="columns of one model, as a,b,c; once a model; default: all"),
    ] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option(help="a model, as 'y ~ x + (1 | group)'; once a model, in the place of --target"),
    ] = None,
    mixture: Annotated[str | None, typer.Option(help="numbers of components, as 1-7 or 1,2,4")] = None,
    family: Annotated[
        str | None, typer.Option(help="linear, softmax, poisson and others, as a,b; default: by the target")
    ] = None,
    sample_weight: Annotated[str | None, typer.Option(help="column of weights")] = None,
    offset: Annotated[str | None, typer.Option(help="column of the offset of a GLM")] = None,
    trials: Annotated[str | None, typer.Option(help="column of the trials of --family binomial")] = None,
    event: Annotated[
        str | None, typer.Option(help="column of 1 where a time ended by its event, 0 where it is censored")
    ] = None,
    factor: Annotated[
        list[str] | None, typer.Option(help="column whose values are levels, as text is; once a column")
    ] = None,
    sep: Sep = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
    dropna: Annotated[bool, typer.Option(help="leave out rows with missing values")] = False,
    standardize: Annotated[bool, typer.Option(help="priors in units of the data")] = True,
    covariance: Annotated[
        str, typer.Option(help="of the components of mixtures: diag, full or spherical")
    ] = "diag",
    select: Annotated[bool, typer.Option(help="weigh all subsets of the columns")] = False,
    seed: Annotated[int, typer.Option(help="of the random numbers")] = 0,
    plot: Annotated[str | None, typer.Option(help="file of a picture of the comparison, as out.png")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="folder: learn in batches, and continue from there after a crash")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON in the place of a table")] = False,
) -> None:
    """Rank models of the rows of DATA by their evidence: regressions of a target, or mixtures."""
    with errors_in_words():
        text = TextFormat(unescaped(sep), decimal, thousands, encoding)
        if formula:
            if target or features or factor or mixture or select or checkpoint:
                raise ValueError(
                    "--formula says which models there are: leave out --target, --features, --factor, "
                    "--mixture, --select and --checkpoint"
                )
            frame_rows = FrameRows.of(data, formula, (sample_weight, offset, trials, event), dropna, text)
            models = formula_models(formula, frame_rows, family, standardize, seed)
            return print_fitted(fit_all(models, frame_rows, None, None), frame_rows, as_json, plot)
        if (mixture is None) == (target is None):
            raise ValueError("give either --target, of regressions, or --mixture, of densities")
        columns = [text.split(",") for text in features or []]
        used = list(dict.fromkeys(name for names in columns for name in names)) or None
        factors, used = factor or [], used and list(dict.fromkeys([*used, *(factor or [])]))
        known: dict[str, Any] = dict(sample_weight=sample_weight, offset=offset, trials=trials, event=event)
        source = RowSource(data, target, used, dropna=dropna, factors=factors, **known, **text._asdict())
        if select:
            refuse_with_select(dict(mixture=mixture, plot=plot, checkpoint=checkpoint), columns)
            print_selection(fitted_selector(read(source), factors, family, standardize, seed), as_json)
            return print_dropped(source)
        counts = [] if mixture is None else component_counts(mixture)
        takes_gaps = mixture is not None and covariance != "full"
        rows = read(source, checkpoint is None, takes_gaps)
        if mixture is not None:
            models = densities(counts, rows, columns, factors, covariance, standardize, seed)
        else:
            models = regressions(rows, columns, factors, family, standardize, seed)
        print_fitted(fit_all(models, rows, source, checkpoint), source, as_json, plot)


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


def unescaped(sep: str | None) -> str | None:
    """A tab that is typed as two characters."""
    return "\t" if sep == r"\t" else sep


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


@app.command()
def watch(
    data: Annotated[str, typer.Argument(help="file of numbers, a row a line; - is standard input")] = "-",
    hazard: Annotated[float, typer.Option(help="prior probability of a change at a row")] = 1 / 250,
    threshold: Annotated[float, typer.Option(help="posterior probability that declares a change")] = 0.9,
    checkpoint: Annotated[
        str | None, typer.Option(help="file: save there, and continue from there after a crash")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="name, or number from 1, of a column to watch; default: all")
    ] = None,
    sep: Sep = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
    as_json: Annotated[bool, typer.Option("--json", help="one object of JSON for each change")] = False,
) -> None:
    """Print the change points of DATA as they are declared.  Rows are counted from 0."""
    with errors_in_words(), open_or_stdin(data, encoding) as stream:
        monitor = EvidenceMonitor(hazard=hazard, threshold=threshold)
        if checkpoint is not None:
            monitor = resumed(monitor, Path(checkpoint))
        n_seen = getattr(monitor, "n_samples_seen_", 0)
        form = LineFormat(column or (), unescaped(sep), decimal, thousands)
        name = "standard input" if data == "-" else data
        rows = rows_of_lines(bounded_lines(stream, name), name, form, partial(typer.echo, err=True))
        if data != "-" and sum(1 for _ in islice(rows, n_seen)) < n_seen:
            raise ValueError(f"{checkpoint} has seen {n_seen} rows, and {data} has fewer")
        for row in rows:
            monitor.partial_fit([row])
            for found in monitor.detections_[-1:] if monitor.drift_detected else ():
                words = (
                    f"row {found.row}: a change at row {found.place}, probability {found.probability:.3f}, "
                    f"log Bayes factor {found.log_bayes_factor:.1f}"
                )
                typer.echo(json.dumps(found._asdict(), default=float) if as_json else words)
            if checkpoint is not None and monitor.n_samples_seen_ % WATCHED_ROWS == 0:
                save(monitor, checkpoint)
        if checkpoint is not None and getattr(monitor, "n_samples_seen_", 0) > n_seen:
            save(monitor, checkpoint)


def open_or_stdin(path: str, encoding: str) -> Any:
    """A file of text, or standard input, which stays open."""
    TextFormat(encoding=encoding).refuse_unknown_encoding()
    if path != "-":
        return open(path, encoding=encoding)
    if encoding != "utf-8" and isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding=encoding)
    return nullcontext(sys.stdin)
