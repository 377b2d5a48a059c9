"""Files of a path, and a column of a file as numbers or labels."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Part(NamedTuple):
    """Rows that have been read."""

    X: Any  #: pyarrow.Table of float64, and of levels of factors, whose names are those of the features
    y: np.ndarray | None
    sample_weight: np.ndarray | None
    offset: np.ndarray | None
    trials: np.ndarray | None
    event: np.ndarray | None = None
    entry: np.ndarray | None = None


def pyarrow() -> Any:
    """The package, which is an extra."""
    try:
        import pyarrow as found
    except ImportError as error:
        raise ImportError("RowSource needs pyarrow: pip install pyarrow") from error
    return found


def files_of(source: Any) -> list[Path]:
    """Files of a path or several, sorted within a folder."""
    if isinstance(source, list | tuple):
        return [file for one in source for file in files_of(one)]
    path = Path(os.fspath(source))
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    if path.is_file():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name[0] not in "._")
    if not files:
        raise ValueError(f"{path} has no files")
    return files


def as_numbers(column: Any, name: str, first: int) -> Any:
    """The column as float64, nothing in it infinite.

    Errors name the column and a row, before which ``first`` rows of the file are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    column = decoded(column)
    kind = column.type
    is_number = kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind)
    if not (is_number or kinds.is_boolean(kind) or kinds.is_null(kind)):
        value = f", {column[0].as_py()!r} in row {first} counted from 0," if len(column) else ""
        raise TypeError(
            f"column {name!r} has type {kind}{value} and must be numbers: leave it out of columns=, take its "
            f"levels as a factor, factors=[{name!r}], or give numbers, for dates such as the days since the "
            "first"
        )
    column = column.cast(pa.float64(), safe=False)
    infinite = pc.is_inf(column).fill_null(False).to_numpy()
    if infinite.any():
        row, others = first + int(np.argmax(infinite)), int(infinite.sum()) - 1
        more = f", and in {others} more" if others else ""
        raise ValueError(f"column {name!r} is infinite in row {row}, counted from 0{more}")
    return column


def as_target(column: Any, name: str, first: int) -> Any:
    """Labels and whole numbers as they are, other numbers as float64; TypeError of dates."""
    import pyarrow.types as kinds

    column = decoded(column)
    if kinds.is_temporal(column.type):
        raise TypeError(f"column {name!r} has type {column.type}, which is neither a number nor a label")
    is_fraction = kinds.is_floating(column.type) or kinds.is_decimal(column.type)
    return as_numbers(column, name, first) if is_fraction else column


def decoded(column: Any, name: str = "", first: int = 0) -> Any:
    """The values of a dictionary, as categories of a data frame are written."""
    import pyarrow.types as kinds

    return column.cast(column.type.value_type) if kinds.is_dictionary(column.type) else column


def gap_words(name: str, gaps: np.ndarray, first: int) -> str:
    """Words on a column that has no value in some rows, before which ``first`` rows of the file are."""
    row, others = first + int(np.argmax(gaps)), int(gaps.sum()) - 1
    more = f", and in {others} more" if others else ""
    return (
        f"column {name!r} has no value in row {row}, counted from 0{more}: fill it, or leave such rows out "
        "by dropna=True"
    )


def may_go_on(kind: Any) -> bool:
    """Whether a column that begins with values of this type may go on with fractions."""
    import pyarrow.types as kinds

    return kinds.is_integer(kind) or kinds.is_null(kind)


def read_numbers(column: Any, name: str, form: Any, first: int, is_target: bool) -> Any:
    """A column of text as whole numbers, to the last digit, or else as float64.

    ValueError names the column, and the text that is no number with its row.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(column)
    try:
        return form.numbers(text)
    except pa.ArrowInvalid:
        row = form.first_text_row(text)
        value, row = text[row].as_py(), first + row
    if is_target:
        words = f"column {name!r} begins with numbers and goes on with text"
        raise ValueError(f"{words}: {value!r} in row {row}, counted from 0")
    raise ValueError(form.text_words(name, value, row))


def one_at_a_time(fragment: Any) -> dict[str, Any]:
    """Options of pyarrow with which a file's rows pass through memory and do not stay there.

    Its defaults read 16 batches ahead, and keep a whole Parquet file in a buffer until its last row.
    """
    import pyarrow.dataset as ds

    options: dict[str, Any] = {"use_threads": False, "batch_readahead": 1}
    if isinstance(fragment, ds.ParquetFileFragment):
        options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(pre_buffer=False)
    return options
