"""Rows in parts: of files, which are read one after the other, or of Dask, whose workers hold them.

A collection takes a function to its parts, wherever these are: ``each`` has what it returns of each of them,
``fold`` the sum.  With Dask the function travels once to each worker, and sums are added there.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from weakref import finalize

import numpy as np

from ..history import ADDED_AT_ONCE, add_all, add_in_order
from ._input import KNOWN, WithKnown
from ._sources import ROWS_OF_CALL, RowSource
from ._text_files import Part

#: A function of the number of a part and of its rows.
OfPart = Callable[[int, Part], Any]


class Collection(Protocol):
    """Rows in parts, not validated."""

    can_be_read: bool  #: whether all rows may be read at once where sums do not suffice

    def each(self, function: Callable) -> list[Any]:
        """Results of the function for each part, in their order."""

    def fold(self, function: Callable) -> Any:
        """Their sum, in an order that depends on the parts alone."""

    def parts(self) -> Iterator[Part]:
        """The parts one after the other, here."""


class FileCollection:
    """Rows of a :class:`RowSource`, 100 000 at a time however files and row groups cut them.

    The first question to all of them writes the tables that it reads to a temporary directory, where the next
    ones find them: a file is read and its text parsed once.
    """

    can_be_read = True

    def __init__(self, source: RowSource, keep_missing: bool) -> None:
        self.source, self.keep_missing = source, keep_missing
        self._copy: TemporaryDirectory | None = None  #: of all rows; None until they have been read
        self._n_parts = 0  #: in it

    def each(self, function: OfPart) -> list[Any]:
        return list(self._values(function))

    def fold(self, function: OfPart) -> Any:
        return add_in_order(self._values(function))

    def parts(self) -> Iterator[Part]:
        return self.source.batches(self.keep_missing)

    def _tables(self) -> Iterator[Any]:
        """Tables of the parts: from the copy, or from the files, of which a copy is made."""
        if self._copy is not None:
            yield from (_table_in(self._copy.name, number) for number in range(self._n_parts))
            return
        n_parts, copy = 0, None
        try:
            copy = TemporaryDirectory(prefix="sgevidence-rows-", ignore_cleanup_errors=True)
            finalize(self, copy.cleanup)
        except OSError:  # no place to write
            pass
        for table in self.source.tables_of_calls(self.keep_missing):
            if copy is not None and not _is_written(table, copy.name, n_parts):
                copy.cleanup()
                copy = None
            n_parts += 1
            yield table
        self._copy, self._n_parts = copy, n_parts

    def _values(self, function: OfPart) -> Iterator[Any]:
        for number, table in enumerate(self._tables()):
            part = self.source.part(table)
            yield applied(function, number, part, f"{self.source}, from row {number * ROWS_OF_CALL}")


def _path(directory: str, number: int) -> str:
    return os.path.join(directory, f"{number}.arrow")


def _is_written(table: Any, directory: str, number: int) -> bool:
    """Write the table of a part; False where there is no room for it."""
    import pyarrow as pa

    try:
        with pa.OSFile(_path(directory, number), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    except OSError:
        return False
    return True


def _table_in(directory: str, number: int) -> Any:
    import pyarrow as pa

    with pa.OSFile(_path(directory, number), "rb") as file:
        return pa.ipc.open_file(file).read_all()


class DaskCollection:
    """Rows of Dask arrays and dataframes, which are cut alike.

    ValueError if they are not: rows would be paired with the targets of others.
    """

    can_be_read = False

    def __init__(self, **arrays: Any) -> None:
        self.arrays = arrays  # workers forget parts of which nobody holds the collection
        X = arrays["X"]
        self.names = [name for name in Part._fields if arrays.get(name) is not None]
        columns = [blocks(arrays[name], X, name) for name in self.names]
        for name, column in zip(self.names, columns):
            if len(column) != len(columns[0]):
                raise ValueError(
                    f"X has {len(columns[0])} parts and {name} {len(column)}, so that rows would be paired "
                    "with those of others: take both from one persisted collection, or give the dataframes "
                    "that arrays were made of"
                )
        self.pieces = list(zip(*columns))

    def each(self, function: OfPart) -> list[Any]:
        return list(computed(self._tasks(function)))

    def fold(self, function: OfPart) -> Any:
        from dask import delayed

        sums = self._tasks(function)
        while len(sums) > 1:
            groups = [sums[k : k + ADDED_AT_ONCE] for k in range(0, len(sums), ADDED_AT_ONCE)]
            sums = [delayed(add_all, pure=False)(group) for group in groups]
        return computed(sums)[0]

    def parts(self) -> Iterator[Part]:
        from dask import delayed

        for piece in self.pieces:
            yield computed([delayed(part_of, pure=False)(self.names, *piece)])[0]

    def _tasks(self, function: OfPart) -> list[Any]:
        from dask import delayed

        travelling = delayed(function, pure=False, traverse=False)
        task = delayed(_applied_to, pure=False)
        return [task(travelling, number, self.names, *piece) for number, piece in enumerate(self.pieces)]


def _applied_to(function: OfPart, number: int, names: list[str], *arrays: Any) -> Any:
    return applied(function, number, part_of(names, *arrays), f"part {number}, counted from 0")


def applied(function: OfPart, number: int, part: Part, name: str) -> Any:
    """Result of the function for a part; its errors name the part."""
    try:
        return function(number, part)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: {error}") from error


def part_of(names: list[str], *arrays: Any) -> Part:
    """A part of which some columns are there."""
    given = dict(zip(names, arrays))
    return Part(*(given.get(name) for name in Part._fields))


def computed(tasks: list[Any]) -> tuple[Any, ...]:
    """Results of tasks, in whatever scheduler Dask is set to.

    RuntimeError if parts are lost that nothing can compute again.
    """
    from dask import compute

    try:
        return compute(*tasks)
    except Exception as error:
        if type(error).__name__ not in ("FutureCancelledError", "CancelledError", "KilledWorker"):
            raise
        raise RuntimeError(
            f"Dask has lost parts of the rows ({type(error).__name__}: {error}): scattered data die with "
            "their worker, while a persisted collection that was read or computed is made again"
        ) from error


def is_dask(X: Any) -> bool:
    """Is it a Dask array or dataframe?"""
    return hasattr(type(X), "to_delayed") and hasattr(type(X), "ndim")


def refuse_unknown_sizes(axis: int, **arrays: Any) -> None:
    """Dask does not say of which argument it knows too little: a ValueError that does, and what to do."""
    for name, array in arrays.items():
        sizes = getattr(array, "chunks", ())[axis : axis + 1] if is_dask(array) else ()
        if any(np.isnan(size).any() for size in sizes):
            kind = "rows" if axis == 0 else "columns"
            raise ValueError(
                f"{name} is a Dask array of parts with an unknown number of {kind}: call "
                f"{name}.compute_chunk_sizes() before"
            )


def names_of(X: Any) -> Any:
    """Object with the names and the number of the columns of X: a dataframe without rows for one of Dask."""
    return X._meta if is_dask(X) and hasattr(X, "columns") else X


def blocks(column: Any, X: Any, name: str) -> list[Any]:
    """Parts of a column as Dask's delayed objects; of a number, itself for each part.

    Parts of dataframes are taken before Dask optimises the graph: it may join parts of one column and not of
    others.
    """
    if name != "X" and np.ndim(column) == 0 and not is_dask(column):
        return [column] * len(blocks(X, X, "X"))
    if not is_dask(column):
        return _cut_as(column, X, name)
    if hasattr(column, "rechunk"):  # an array
        refuse_unknown_sizes(1, **{name: column})
        known = getattr(X, "chunks", None)
        if column.ndim == 2:
            column = column.rechunk({1: -1})
        if known and not np.isnan([*known[0], *column.chunks[0]]).any() and known[0] != column.chunks[0]:
            if sum(known[0]) != sum(column.chunks[0]):
                raise ValueError(f"X has {sum(known[0])} rows and {name} {sum(column.chunks[0])}")
            column = column.rechunk({0: known[0]})
    return np.ravel(column.to_delayed(optimize_graph=False)).tolist()


def _cut_as(column: Any, X: Any, name: str) -> list[Any]:
    """Parts of a column that is at hand, cut as X is."""
    lengths = getattr(X, "chunks", [[np.nan]])[0]
    if np.isnan(lengths).any():
        raise ValueError(f"{name} must be a Dask collection as X is, whose parts have unknown lengths")
    if sum(lengths) != len(column):
        raise ValueError(f"X has {sum(lengths)} rows and {name} {len(column)}")
    stops = np.cumsum(lengths)
    return [column[stop - length : stop] for stop, length in zip(stops, lengths)]


def collection_of(
    X: Any, y: Any, sample_weight: Any, source: RowSource | None, keep_missing: bool = False
) -> Collection | None:
    """The collection that is given in the place of X; None of arrays."""
    if source is not None:
        return FileCollection(source, keep_missing)
    known = X if isinstance(X, WithKnown) else WithKnown(X, None)
    if not is_dask(known.X):
        return None
    return DaskCollection(X=known.X, y=y, sample_weight=sample_weight, **known.given)


def together(parts: Sequence[Part]) -> Part:
    """Parts as one, which are not empty."""
    return Part(*(_concatenated(columns) for columns in zip(*parts)))


def _concatenated(columns: Sequence[Any]) -> Any:
    first = columns[0]
    if first is None or (np.ndim(first) == 0 and not hasattr(first, "column_names")):
        return first
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat(columns)
    if hasattr(first, "column_names"):
        import pyarrow as pa

        return pa.concat_tables(columns)
    return np.concatenate(columns)


def at_once(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, only_X: bool = False
) -> tuple[Any, Any, Any]:
    """X, y and weights; if X is a :class:`RowSource` or a Dask collection, of all rows, with an offset.

    ValueError if y, weights or an offset are given beside a source, or the estimator has no use for its
    offset.
    """
    source = _source(estimator, X, y, sample_weight)
    if source is not None:
        return arrays_of(source.read(only_X, takes_gaps(estimator)))
    collection = collection_of(X, y, sample_weight, None)
    return (X, y, sample_weight) if collection is None else arrays_of(together(list(collection.parts())))


def collection_in(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Collection | None:
    """Rows in parts that are given in the place of X; None of arrays."""
    source = _source(estimator, X, y, sample_weight)
    return collection_of(X, y, sample_weight, source, takes_gaps(estimator))


def _source(estimator: Any, X: Any, y: Any, sample_weight: Any) -> RowSource | None:
    given = X.given if isinstance(X, WithKnown) else {}
    source = X.X if isinstance(X, WithKnown) else X
    if not isinstance(source, RowSource):
        return None
    for name, value in ({"y": y, "sample_weight": sample_weight} | given).items():
        if value is not None:
            role = "target" if name == "y" else name
            raise ValueError(f"{name} is given beside a RowSource: name its column there, {role}=...")
    for name in KNOWN:
        if getattr(source, name) is not None and not estimator._takes_known:
            raise ValueError(f"{source!r} has {name}, of which {type(estimator).__name__} has no use")
    return source


def arrays_of(part: Part) -> tuple[Any, Any, Any]:
    """X with what is known of its rows, y and weights."""
    known = WithKnown(part.X, *(getattr(part, name) for name in KNOWN))
    return known if known.given else part.X, part.y, part.sample_weight


def takes_gaps(estimator: Any) -> bool:
    """Does it take numbers that are missing?"""
    tags = estimator.__sklearn_tags__().input_tags
    return bool(tags.allow_nan and not tags.categorical)
