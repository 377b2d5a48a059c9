"""Columns of files, and the text of tables: separators, decimals, numbers, what reads like a date."""

import codecs
import os
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from difflib import get_close_matches
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


#: Names of a first column that numbers or names the rows, in lower case: R and pandas write it.
ROW_NAMES = ("", "rownames", "row.names", "row_names", "unnamed: 0", "...1")


class TextFormat(NamedTuple):
    """How a file of text separates columns and writes numbers."""

    sep: str | None = None  #: None: a tab in files .tsv, else a comma
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"

    def refuse_unknown_encoding(self) -> None:
        """ValueError on a name that no encoding has."""
        try:
            codecs.lookup(self.encoding)
        except LookupError as error:
            raise ValueError(f"{error}: give encoding=, as 'latin-1'") from None

    def names(self, path: str) -> list[str]:
        """Names of the columns of a file; ValueError if two have one name, or its rows are not text."""
        return self._read_schema([path]).schema.names

    def dataset(
        self,
        paths: Sequence[str],
        columns: Collection[str] | None,
        named: Sequence[str],
        target: str | None,
        factors: Sequence[str],
    ) -> tuple[Any, set[str]]:
        """The files as a data set, and its columns that have numbers as they are written.

        Columns of numbers are float64 throughout, and those that begin with true and false are 0 and 1;
        None: all but target and factors, which are text as it is written.  A target that begins with whole
        numbers may go on with fractions, or be labels, of which no digit must be lost.
        """
        pa = pyarrow()
        found = self._read_schema(paths)
        names = found.schema.names
        refuse_lost(named, names)  # before text of another column is refused as no number
        skipped = {target, *factors, *row_names(found)} if columns is None else {target, *factors}
        numbers = [name for name in names if name not in skipped and (columns is None or name in columns)]
        truths = {name for name in numbers if found.schema.field(name).type == pa.bool_()}
        unread = set(numbers if self.thousands else ()) - truths
        if target is not None and target in names:
            if may_go_on(found.schema.field(target).type) or self._is_grouped(found, target):
                unread.add(target)
        types = dict.fromkeys(numbers, pa.float64())
        types |= dict.fromkeys(truths, pa.bool_()) | dict.fromkeys(unread, pa.string())
        types |= {name: pa.string() for name in factors if name in names}  # 01 is not 1
        try:
            return self._opened(paths, types), unread
        except pa.ArrowInvalid as error:
            raise ValueError(self.first_text(paths[0], numbers) or str(error)) from None

    def _read_schema(self, paths: Sequence[str]) -> Any:
        """The files as a data set of the types that their first rows show."""
        self.refuse_unknown_encoding()
        try:
            found = self._opened(paths, {})
            found.schema.names  # noqa: B018 - decodes them
            return found
        except UnicodeDecodeError:
            raise ValueError(f"the text is not {self.encoding}: give encoding=, as 'latin-1'") from None
        except pyarrow().ArrowInvalid as error:
            raise ValueError(self._parse_words(paths[0], str(error))) from None

    def _is_grouped(self, found: Any, name: str) -> bool:
        """Whether the first rows of a column of text are numbers with separated thousands."""
        if self.thousands is None or str(found.schema.field(name).type) != "string":
            return False
        try:
            # rows that tell whether a target is numbers or labels
            return len(self.numbers(found.head(1000, columns=[name]).column(name))) > 0
        except pyarrow().ArrowInvalid:
            return False

    def first_text(self, path: str, numbers: Sequence[str]) -> str | None:
        """Words on the first cell of columns of numbers that is none; None if there is no such cell."""
        import pyarrow.compute as pc

        n_before = 0
        as_read = {field.name: str(field.type) for field in self._opened([path], {}).schema}
        present = [name for name in numbers if as_read.get(name, "bool") != "bool"]  # true and false are read
        as_text = self._opened([path], dict.fromkeys(present, pyarrow().string()))
        for batch in as_text.to_batches(columns=present, use_threads=False):
            for name, column in zip(present, batch.columns):
                text = pc.utf8_trim_whitespace(column)
                try:
                    self.numbers(text)
                except pyarrow().ArrowInvalid:
                    row = self.first_text_row(text)
                    return self.text_words(name, text[row].as_py(), n_before + row)
            n_before += len(batch)
        return None

    def numbers(self, text: Any) -> Any:
        """A column of text as whole numbers, to the last digit, or else as float64, or ArrowInvalid."""
        import pyarrow.compute as pc

        pa = pyarrow()
        if self.thousands:
            self._refuse_other_groups(text)
            text = pc.replace_substring(text, self.thousands, "")
        if self.decimal != ".":
            text = pc.replace_substring(text, self.decimal, ".")
        try:
            return text.cast(pa.int64())
        except pa.ArrowInvalid:
            return text.cast(pa.float64())

    def _refuse_other_groups(self, text: Any) -> None:
        """ArrowInvalid if a separator of thousands is not before three digits: 1.12.2020 is a date."""
        import pyarrow.compute as pc

        text = pc.utf8_trim_whitespace(text)
        thousands, decimal = re.escape(str(self.thousands)), re.escape(self.decimal)
        grouped = rf"^[-+]?\d{{1,3}}({thousands}\d{{3}})+({decimal}\d*)?$"
        has_any = pc.match_substring(text, str(self.thousands))
        if pc.any(pc.and_not(has_any, pc.match_substring_regex(text, grouped))).as_py():
            raise pyarrow().ArrowInvalid(f"{self.thousands!r} does not separate thousands")

    @staticmethod
    def text_words(name: str, value: Any, row: int) -> str:
        """Words on a cell that is no number."""
        kind, remedy = kind_of_text(value)
        return (
            f"column {name!r} has {kind}, {value!r} in row {row} counted from 0, and must be numbers: "
            f"{remedy}leave it out of columns=, or take its levels as a factor, factors=[{name!r}]"
        )

    def first_text_row(self, text: Any) -> int:
        """The first row of a column of text that is no number, if there is one."""
        low, high = 0, len(text)
        while high - low > 1:
            half = (low + high) // 2
            try:
                self.numbers(text.slice(low, half - low))
                low = half
            except pyarrow().ArrowInvalid:
                high = half
        return low

    def _parse_words(self, path: str, words: str) -> str:
        """Words on a file that is no table, without those on how it was opened."""
        with open(path, encoding=self.encoding, errors="replace") as file:
            header = file.readline(1000).strip()
        if twice := re.search(r"multiple columns named (.*)$", words, re.M):
            return f"several columns are named {twice[1]!r}: give each a name of its own"
        found = re.search(r"CSV parse error: (Row #\d+: Expected \d+ columns, got \d+)", words)
        return (found[1] if found else words) + sep_words([header], self.sep)

    def _opened(self, paths: Sequence[str], types: dict[str, Any]) -> Any:
        import pyarrow.csv as csv
        import pyarrow.dataset as ds

        tabs = all(path.endswith(".tsv") for path in paths)
        convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True, decimal_point=self.decimal)
        parse = csv.ParseOptions(delimiter=self.sep or ("\t" if tabs else ","))
        read = csv.ReadOptions(encoding=self.encoding)
        form = ds.CsvFileFormat(parse_options=parse, convert_options=convert, read_options=read)
        found = ds.dataset(list(paths), format=form)
        for field in found.schema:  # decoded here, if not before
            if str(field.type) == "binary":
                raise ValueError(
                    f"column {field.name!r} is not {self.encoding}: give encoding=, as 'latin-1'"
                )
        return found


def kind_of_text(value: str) -> tuple[str, str]:
    """Text or dates, and how its numbers would be read; an empty remedy of other words."""
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d*)?", value):
        return "text", "give thousands=',', "
    if re.fullmatch(r"-?\d+,\d+", value):
        return "text", "give decimal=',', "
    if re.fullmatch(r"-?\d{1,3}(\.\d{3})+,\d+", value):
        return "text", "give decimal=',' and thousands='.', "
    if re.fullmatch(r"[^\w\s.,+-]\s?[\d.,]+|[+-]?[\d.,]+\s?[^\w\s.,]", value):
        return "text", "give numbers without their unit, "
    if is_date(value):
        return "dates", "give numbers, such as the days since the first, "
    return "text", ""


def sep_words(names: Sequence[str], sep: str | None = None) -> str:
    """A hint where the first line has become one name."""
    found = [one for one in (";", "\t", "|") if len(names) == 1 and one in names[0] and one != sep]
    return f"; give sep={found[0]!r}" if found else ""


def refuse_lost(named: Sequence[str], names: Sequence[str]) -> None:
    """ValueError for a column that a file does not have."""
    if lost := [name for name in named if name not in names]:
        close = get_close_matches(lost[0], names, n=1)
        near = f", {close[0]!r} is near" if close else ""
        raise ValueError(f"no column {lost[0]!r}{near}: its columns are {[*names]}{sep_words(names)}")


def is_date(text: str) -> bool:
    """Is it a date, or a date and a time?"""
    if re.fullmatch(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}", text):
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def row_names(dataset: Any) -> list[str]:
    """The first column, if its name and its first rows say that it numbers or names the rows."""
    import pyarrow.types as kinds

    names = dataset.schema.names
    if not names or names[0].strip().lower() not in ROW_NAMES:
        return []
    column = dataset.head(1000, columns=names[:1]).column(0)  # rows that must count by one
    if kinds.is_string(column.type):
        return names[:1]
    is_count = kinds.is_integer(column.type) and not column.null_count
    return names[:1] if is_count and np.all(np.diff(column.to_numpy()) == 1) else []
