"""``compare --formula``: models of a data frame by their formulas."""

import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..effects import resolved, response_of
from ..rows import TextFormat, kind_of_text
from ._models import Models, regression


class FrameRows(NamedTuple):
    """Rows of a file that formulas name the columns of."""

    X: Any  #: a frame, in which the response is
    y: None
    sample_weight: np.ndarray | None
    offset: np.ndarray | None
    trials: np.ndarray | None
    event: np.ndarray | None
    n_dropped: int

    @classmethod
    def of(
        cls,
        data: str,
        formulas: list[str],
        asked: tuple[str | None, ...],
        dropna: bool,
        text: TextFormat,
    ) -> "FrameRows":
        """The file's rows; without those that lack a value of a column that is used, if ``dropna``.

        ``asked`` are the columns of weights, offset, trials and event.
        ValueError if formulas have different responses, or a column does not exist.
        """
        frame = read_frame(data, text)
        if len(responses := {response_of(formula) for formula in formulas}) > 1:
            raise ValueError(
                f"formulas have the responses {sorted(responses)}: evidences of one y are compared"
            )
        known = [name for name in asked if name is not None]
        used = {*responses, *known}.union(*(resolved(formula, frame).columns for formula in formulas))
        if lost := sorted(used - set(frame.columns)):
            raise ValueError(f"{data} has no column {lost[0]!r}: its columns are {list(frame.columns)[:20]}")
        refuse_unread_numbers(frame, used, formulas)
        kept = frame.dropna(subset=sorted(used)) if dropna else frame
        weight, addend, n, ended = (None if name is None else kept[name].to_numpy() for name in asked)
        return cls(kept.drop(columns=known), None, weight, addend, n, ended, len(frame) - len(kept))


def read_frame(data: str, text: TextFormat) -> Any:
    """A file as a pandas frame, whose text is levels; ImportError tells what installs pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("--formula needs pandas and formulae: pip install pandas formulae") from error
    options = text._replace(thousands=None)._asdict()
    readers: dict[str, Any] = {
        ".csv": partial(pandas.read_csv, **options | {"sep": text.sep or ","}),
        ".tsv": partial(pandas.read_csv, **options | {"sep": text.sep or "\t"}),
        ".parquet": pandas.read_parquet,
    }
    readers |= dict.fromkeys([".arrow", ".feather"], pandas.read_feather)
    suffix = Path(data).suffix
    if suffix not in readers:
        raise ValueError(f"--formula reads one file that ends in {sorted(readers)}, got {data}")
    frame = readers[suffix](data)
    if text.thousands is not None:  # pandas takes 1.12.2020 for a number
        for name in frame.columns[[not pandas.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]]:
            frame[name] = with_thousands(frame[name], text)
    return frame


def with_thousands(column: Any, text: TextFormat) -> Any:
    """A column of text as numbers, if all of it is."""
    import pyarrow

    try:
        found = text.numbers(pyarrow.array(column, pyarrow.string(), from_pandas=True))
    except pyarrow.ArrowInvalid:
        return column
    return found.to_numpy(zero_copy_only=False).astype(float)


def refuse_unread_numbers(frame: Any, used: set[str], formulas: list[str]) -> None:
    """Refuse text that reads like numbers or dates and differs from row to row: nobody means its levels."""
    for name in used:
        values = frame[name].dropna()
        are_levels = any(re.search(rf"(C\(|[|:/]\s*){re.escape(name)}\b", formula) for formula in formulas)
        if are_levels or not len(values) or 2 * values.nunique() <= len(values):
            continue
        kind, remedy = kind_of_text(values.iloc[0]) if isinstance(values.iloc[0], str) else ("", "")
        if remedy:
            raise ValueError(
                f"column {name!r} has {kind}, {values.iloc[0]!r}, and must be numbers: {remedy}or write "
                f"C({name}) for its levels"
            )


def formula_models(
    formulas: list[str], rows: FrameRows, family: str | None, standardize: bool, seed: int
) -> Models:
    """Each formula with each family, by default the linear regression."""
    families = (family or "linear").split(",")
    if "softmax" in families:
        raise ValueError("softmax has no formulas: give --family bernoulli for two classes")
    models: Models = {}
    for name in families:
        for formula in dict.fromkeys(formulas):
            words = formula if len(families) < 2 else f"{name}: {formula}"
            parameters = dict(formula=formula, standardize=standardize, random_state=seed)
            models[words] = regression(name, parameters, rows)
    return models
