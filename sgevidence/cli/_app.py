"""The commands: their options, and errors as one line in the place of a traceback.

What a command does is imported when it runs, so that ``--help`` does not wait for scikit-learn and pandas.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from types import SimpleNamespace
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
Sep = Annotated[str | None, typer.Option(help="what separates columns of text; default: by the file")]
Decimal = Annotated[str, typer.Option(help="what is written before decimals")]
Thousands = Annotated[str | None, typer.Option(help="what is written between thousands")]
Encoding = Annotated[str, typer.Option(help="encoding of text, as latin-1")]

#: Errors that are said in a line, as the library's own are.
REFUSALS = (ValueError, TypeError, OSError, ImportError, MemoryError, RecursionError)
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
    from ..exceptions import DivergenceError

    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda words, *_: typer.echo(f"warning: {as_typed(str(words))}", err=True)
            yield
    except UnicodeDecodeError as error:
        typer.echo(f"error: the text is not {error.encoding}: give --encoding, as latin-1", err=True)
        raise typer.Exit(1) from None
    except (*REFUSALS, DivergenceError) as error:
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
        typer.Option(help="columns of one model, as a,b,c; once per model; default: all"),
    ] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option(help="a model, as 'y ~ x + (1 | group)'; once per model, in the place of --target"),
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
    entry: Annotated[
        str | None, typer.Option(help="column of the time from which on a row would have been seen")
    ] = None,
    factor: Annotated[
        list[str] | None, typer.Option(help="column whose values are levels, as text is; once per column")
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
    options = SimpleNamespace(**locals())
    with errors_in_words():
        from ._comparison import print_compared

        print_compared(options)


@app.command()
def watch(
    data: Annotated[str, typer.Argument(help="file of numbers, one row per line; - is standard input")] = "-",
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
    """Print the change points of DATA as they are declared.

    A change is named by the year or date of its row where a column has them, else by the row's number from 0.
    """
    options = SimpleNamespace(**locals())
    with errors_in_words():
        from ._watching import print_changes

        print_changes(options)
