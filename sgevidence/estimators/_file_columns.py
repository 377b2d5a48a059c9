"""Files of a path, and a column of a file as numbers or labels."""

import os
from pathlib import Path
from typing import Any


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


def as_numbers(column: Any, name: str, is_target: bool) -> Any:
    """The column as float64, nothing in it infinite; labels as they are.  Errors name the column."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    is_number = kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind)
    if is_target and not is_number:
        if kinds.is_temporal(kind):
            raise TypeError(f"column {name!r} has type {kind}, which is neither a number nor a label")
        return column
    if not (is_number or kinds.is_boolean(kind) or kinds.is_null(kind)):
        raise TypeError(
            f"column {name!r} has type {kind} and must be numbers: leave it out of columns=, or give "
            "numbers, for dates such as the days since the first"
        )
    if is_target and kinds.is_integer(kind):
        return column
    column = column.cast(pa.float64(), safe=False)
    infinite = pc.is_inf(column).fill_null(False).to_numpy()
    if infinite.any():
        raise ValueError(f"column {name!r} is infinite in {int(infinite.sum())} rows of those read at once")
    return column


def may_go_on(kind: Any) -> bool:
    """Whether a column that begins with values of this type may go on with fractions."""
    import pyarrow.types as kinds

    return kinds.is_integer(kind) or kinds.is_null(kind)


def read_numbers(column: Any, name: str) -> Any:
    """A column of text as whole numbers, to the last digit, or else as float64.

    ValueError names the column and the text that is no number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(column)
    try:
        return text.cast(pa.int64())
    except pa.ArrowInvalid:
        pass
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name!r} begins with numbers and goes on with text: {error}") from None
