"""Rows in files, in the place of X: which columns are what; a row that is not whole is refused by name."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._file_columns import as_numbers, files_of, may_go_on, pyarrow, read_numbers

#: Rows of a call of ``partial_fit``, however files and row groups cut them: 8 MB for ten columns.
BATCH = 100_000
#: Formats of pyarrow by the ending of a file's name.
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
}


class Part(NamedTuple):
    """Rows that have been read."""

    X: Any  #: pyarrow.Table of float64, whose names are those of the features
    y: np.ndarray | None
    sample_weight: np.ndarray | None
    offset: np.ndarray | None
    trials: np.ndarray | None
    event: np.ndarray | None


class RowSource:
    """Rows in Parquet, Arrow or CSV files, which ``fit``, ``partial_fit``, ``predict`` and scores take for X.

    ``y`` and ``sample_weight`` of these methods stay None: they are columns.  Answers are those of the same
    rows in arrays, whichever format they come from.

    Parameters
    ----------
    source : path, list of paths or pyarrow.dataset.Dataset
        A file, or a folder of files of one format, which are read in the order of their names: ``.parquet``,
        ``.arrow``, ``.feather`` or ``.csv`` with names in the first line.  A data set is
        read as it is, without a filter.
    target : str, optional
        Column of y: numbers, or labels of any kind for a classifier.
    columns : list of str, optional
        Columns of X, in this order.  None: all but the others, in the order of the file.
    sample_weight, offset : str, optional
        Columns of the weights, and of the offset of a :class:`~sgevidence.BayesianGLM`.
    dropna : bool, default=False
        Leave out rows in which a value is missing (null or nan) and count them in ``n_dropped``.  False: such
        a row is an error that names file, column and row.
    trials, event : str, optional
        Columns of the trials of a binomial :class:`~sgevidence.BayesianGLM`, and of the event of times.

    Attributes
    ----------
    n_dropped : int
        Rows that the last reading has left out.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    ValueError
        At the construction, if the format is not known or a column has two roles; while reading, naming the
        file, if it cannot be read, has no such column, or a value is missing, infinite or no number.

    Notes
    -----
    ``fit`` of more rows than the sampler's ``reservoir_size`` reads 100 000 of them at a time, several times
    over, for models whose posterior sums over the rows tell: regressions, mixtures whose components do not
    overlap altogether, and models of one's own with one mode.  Other models, predictions and scores read the
    columns that they need into one array.  ``partial_fit`` reads 100 000 rows at a time, and has the digits
    of as many calls with arrays; an error or interrupt in one takes back all.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression, RowSource
    >>> table = np.random.default_rng(0).standard_normal((100, 3))
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.csv")
    >>> np.savetxt(path, table, delimiter=",", header="a,b,y", comments="", fmt="%.17g")
    >>> model = BayesianLinearRegression(random_state=0).fit(RowSource(path, target="y"))
    >>> model.feature_names_in_.tolist()
    ['a', 'b']
    >>> model.log_evidence_ == BayesianLinearRegression().fit(table[:, :2], table[:, 2]).log_evidence_
    True
    """

    def __init__(
        self,
        source: Any,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        sample_weight: str | None = None,
        offset: str | None = None,
        dropna: bool = False,
        trials: str | None = None,
        event: str | None = None,
    ) -> None:
        pyarrow()
        self.source = source
        self.target = target
        self.columns = None if columns is None else list(columns)
        self.sample_weight = sample_weight
        self.offset = offset
        self.trials = trials
        self.event = event
        self.dropna = dropna
        self.n_dropped = 0
        others = [name for name in (target, sample_weight, offset, trials, event) if name is not None]
        named = [*(self.columns or []), *others]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"columns {twice} have two roles: each has one")

    def __repr__(self) -> str:
        names = ("target", "columns", "sample_weight", "offset", "trials", "event", "dropna")
        given = [
            f", {name}={value!r}" for name in names if (value := getattr(self, name)) not in (None, False)
        ]
        return f"RowSource({self.source!r}{''.join(given)})"

    def read(self, only_X: bool = False) -> Part:
        """All rows.

        Parameters
        ----------
        only_X : bool, default=False
            Do not read target and weights.

        Returns
        -------
        Part
            ``X`` (pyarrow.Table), ``y``, ``sample_weight``, ``offset``, ``trials``, ``event``.
        """
        return self._part(list(self._tables(only_X)), only_X)

    def batches(self) -> Iterator[Part]:
        """The rows, 100 000 at a time.

        Yields
        ------
        Part
        """
        waiting, n, none = [], 0, True
        for table in self._tables(False):
            waiting.append(table)
            n += len(table)
            while n >= BATCH:
                whole = pyarrow().concat_tables(waiting, promote_options="permissive")
                yield self._part([whole[:BATCH]], False)
                waiting, n, none = [whole[BATCH:]], n - BATCH, False
        if n or none:
            yield self._part(waiting, False)

    # -- columns ----------------------------------------------------------------------------------

    def _roles(self, only_X: bool) -> dict[str, str]:
        """Columns to read beside X, with what they are."""
        roles = {"offset": self.offset, "trials": self.trials, "event": self.event}
        if not only_X:
            roles |= {"target": self.target, "sample_weight": self.sample_weight}
        return {name: role for role, name in roles.items() if name is not None}

    def _features(self, names: Sequence[str]) -> list[str]:
        """Columns of X."""
        if self.columns is not None:
            return self.columns
        others = self._roles(False)
        return [name for name in names if name not in others]

    def _part(self, tables: list[Any], only_X: bool) -> Part:
        table = pyarrow().concat_tables(tables, promote_options="permissive")  # whole numbers and fractions
        by_role = {role: table.column(name).to_numpy() for name, role in self._roles(only_X).items()}
        X = table.select(self._features(table.column_names))
        return Part(X, *map(by_role.get, ("target", "sample_weight", "offset", "trials", "event")))

    # -- reading ----------------------------------------------------------------------------------

    def _tables(self, only_X: bool) -> Iterator[Any]:
        """Whole rows of the columns that are needed, file by file."""
        pa, self.n_dropped, n_files = pyarrow(), 0, 0
        dataset, unread = self._dataset()
        names = dataset.schema.names
        roles, features = self._roles(only_X), self._features(names)
        wanted = [*features, *roles]
        for fragment in dataset.get_fragments():
            path, n_rows = getattr(fragment, "path", f"part {n_files} of {type(dataset).__name__}"), 0
            n_files += 1
            try:
                present = fragment.physical_schema.names
                if lost := [name for name in wanted if name not in present]:
                    raise ValueError(f"no column {lost[0]!r}: its columns are {present}")
                options = _one_at_a_time(fragment)
                for batch in fragment.to_batches(columns=wanted, schema=dataset.schema, **options):
                    table = pa.Table.from_batches([batch])
                    yield self._whole(table, roles, unread, n_rows)
                    n_rows += len(table)
            except (pa.ArrowException, ValueError, TypeError, OSError) as error:
                raise ValueError(f"{path}: {error}") from error
        if not n_files:
            raise ValueError(f"{self.source} has no files")
        empty = dataset.schema.empty_table().select(wanted)
        yield self._whole(empty, roles, unread, 0)  # for columns without rows

    def _dataset(self) -> tuple[Any, str | None]:
        """The data set of a path, and the name of a column that has numbers as they are written.

        Columns of numbers of CSV files are float64 throughout.  A target that begins with whole numbers may
        go on with fractions, or be labels, of which no digit must be lost.
        """
        import pyarrow.csv as csv
        import pyarrow.dataset as ds

        if isinstance(self.source, ds.Dataset):
            return self.source, None
        files = files_of(self.source)
        formats = {FORMATS.get(file.suffix) for file in files}
        if len(formats) != 1 or None in formats:
            raise ValueError(
                f"{self.source}: files must be of one format, with an ending in {sorted(FORMATS)}, got "
                f"{sorted({file.suffix for file in files})}; or give a pyarrow.dataset.Dataset"
            )
        paths, form, unread = [str(file) for file in files], formats.pop(), None
        try:
            dataset = ds.dataset(paths, format=form)
            if form == "csv":
                numbers = {name: pyarrow().float64() for name in dataset.schema.names if name != self.target}
                types = {name: t for name, t in numbers.items() if self._is_used(name)}
                if self.target in dataset.schema.names and may_go_on(dataset.schema.field(self.target).type):
                    unread = self.target
                    types[unread] = pyarrow().string()
                options = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
                dataset = ds.dataset(paths, format=ds.CsvFileFormat(convert_options=options))
        except (pyarrow().ArrowException, OSError) as error:
            raise ValueError(f"{self.source}: {error}") from error
        return dataset, unread

    def _is_used(self, name: str) -> bool:
        return self.columns is None or name in (*self.columns, *self._roles(False))

    def _whole(self, table: Any, roles: dict[str, str], unread: str | None, first: int) -> Any:
        """The table with numbers as float64, without rows in which something is missing."""
        missing = np.zeros(len(table), dtype=bool)
        for k, name in enumerate(table.column_names):
            column = read_numbers(table.column(k), name) if name == unread else table.column(k)
            column = as_numbers(column, name, is_target=roles.get(name) == "target")
            table = table.set_column(k, name, column)
            gaps = column.is_null(nan_is_null=True).to_numpy()
            if gaps.any() and not self.dropna:
                row, others = first + int(np.argmax(gaps)), int(gaps.sum()) - 1
                raise ValueError(
                    f"column {name!r} has no value in row {row}, counted from 0, and in {others} after it: "
                    "fill it, or leave such rows out by dropna=True"
                )
            missing |= gaps
        self.n_dropped += int(missing.sum())
        return table.filter(pyarrow().array(~missing)) if missing.any() else table


def _one_at_a_time(fragment: Any) -> dict[str, Any]:
    """Options of pyarrow with which a file's rows pass through memory and do not stay there.

    Its defaults read 16 batches ahead, and keep a whole Parquet file in a buffer until its last row.
    """
    import pyarrow.dataset as ds

    options: dict[str, Any] = {"use_threads": False, "batch_readahead": 1}
    if isinstance(fragment, ds.ParquetFileFragment):
        options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(pre_buffer=False)
    return options
