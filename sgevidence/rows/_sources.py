"""Rows in files, in the place of X: which columns are what; a row that is not whole is refused by name."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..exceptions import warn_caller
from ._input import KNOWN
from ._text_files import (
    Part,
    TextFormat,
    as_numbers,
    as_target,
    decoded,
    files_of,
    gap_words,
    one_at_a_time,
    pyarrow,
    read_numbers,
    refuse_lost,
    row_names,
)

#: Rows of a call of ``partial_fit``, however files and row groups cut them: 8 MB for ten columns.
ROWS_OF_CALL = 100_000
#: Formats of pyarrow by the ending of a file's name.
FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv"}
FORMATS[".txt"] = "txt"  # read as CSV, and never beside it: a folder may have a README.txt
FORMATS |= dict.fromkeys([".arrow", ".feather", ".ipc"], "ipc")


class RowSource:
    """Rows in Parquet, Arrow or CSV files, which ``fit``, ``partial_fit``, ``predict`` and scores take for X.

    ``y`` and ``sample_weight`` of these methods stay None: they are columns.  Answers are those of the same
    rows in arrays, whichever format they come from.

    Parameters
    ----------
    source : path, list of paths or pyarrow.dataset.Dataset
        A file, or a folder of files of one format, which are read in the order of their names: ``.parquet``,
        ``.arrow``, ``.feather``, ``.csv``, ``.tsv`` or ``.txt`` with names in the first line.  A data set is
        read as it is, without a filter.
    target : str, optional
        Column of y: numbers, or labels of any kind for a classifier.
    columns : list of str, optional
        Columns of X, in this order.  None: all but the others, in the order of the file, and but a first
        column that numbers or names the rows, ``rownames`` or one without a name, which is said.
    sample_weight, offset : str, optional
        Columns of the weights, and of the offset of a :class:`~sgevidence.BayesianGLM`.
    dropna : bool, default=False
        Leave out rows in which a value is missing (null or nan) and count them in ``n_dropped``.  False: such
        a row is an error that names file, column and row, unless the estimator takes cells that are missing.
    trials, event, entry : str, optional
        Columns of the trials of a binomial :class:`~sgevidence.BayesianGLM`, of the event of times, and of
        late entries.
    factors : list of str, default=()
        Columns of X whose values are levels, for ``terms=[Factor(name)]`` of the estimator.  In files of
        text they are read as written: 01, 1 and 1e0 are three levels.
    sep : str, optional
        Separator of the columns of text files; None: a tab in files ``.tsv``, else a comma.
    decimal : str, default="."
        Decimal separator of text files.
    thousands : str, optional
        Separator of thousands in text files.
    encoding : str, default="utf-8"
        Encoding of text files.

    Attributes
    ----------
    n_dropped : int
        Rows that the last reading has left out.
    left_out : list of str
        The column that numbers or names the rows, once they have been read.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    ValueError
        At the construction, if the format is not known or a column has two roles; while reading, naming the
        file, if it cannot be read, has no such column, or a value is missing, infinite or no number.

    Notes
    -----
    ``fit`` of more rows than the sampler's ``reservoir_size`` reads them once, 100 000 at a time, into a
    temporary copy, for models whose posterior sums over the rows tell: regressions, mixtures whose components
    do not overlap altogether, and models of one's own with one mode.  Without room for the copy the files are
    read some eight times.  Other models, predictions and scores read the columns that they need into one
    array.  ``partial_fit`` reads 100 000 rows at a time, and has the digits of as many calls with arrays; an
    error or interrupt in one takes back all.

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
        entry: str | None = None,
        factors: Sequence[str] = (),
        sep: str | None = None,
        decimal: str = ".",
        thousands: str | None = None,
        encoding: str = "utf-8",
    ) -> None:
        pyarrow()
        self.source = source
        self.target = target
        self.columns = None if columns is None else list(columns)
        self.sample_weight = sample_weight
        self.offset = offset
        self.trials = trials
        self.event = event
        self.entry = entry
        self.dropna = dropna
        self.factors = list(factors)
        self.sep, self.decimal, self.thousands, self.encoding = sep, decimal, thousands, encoding
        self.n_dropped = 0
        self.left_out: list[str] = []
        others = [name for name in (target, sample_weight, offset, trials, event, entry) if name is not None]
        named = [*(self.columns or self.factors), *others]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"columns {twice} have two roles: each has one")
        if self.columns is not None and (lost := [name for name in self.factors if name not in self.columns]):
            raise ValueError(f"factors {lost} are not among columns={self.columns}")

    def __repr__(self) -> str:
        names = (
            "target",
            "columns",
            "sample_weight",
            "offset",
            "trials",
            "event",
            "entry",
            "dropna",
            "factors",
            "sep",
        )
        given = [
            f", {name}={value!r}" for name in names if (value := getattr(self, name)) not in (None, False, [])
        ]
        return f"RowSource({self.source!r}{''.join(given)})"

    def read(self, only_X: bool = False, keep_missing: bool = False) -> Part:
        """All rows.

        Parameters
        ----------
        only_X : bool, default=False
            Do not read target and weights.
        keep_missing : bool, default=False
            Cells of X that are missing are nan, for an estimator that takes them.

        Returns
        -------
        Part
            ``X`` (pyarrow.Table), ``y``, ``sample_weight``, ``offset``, ``trials``, ``event``, ``entry``.
        """
        tables = list(self._tables(only_X, keep_missing))
        return self.part(pyarrow().concat_tables(tables, promote_options="permissive"), only_X)

    def batches(self, keep_missing: bool = False) -> Iterator[Part]:
        """The rows, 100 000 at a time.

        Parameters
        ----------
        keep_missing : bool, default=False

        Yields
        ------
        Part
        """
        for table in self.tables_of_calls(keep_missing):
            yield self.part(table)

    def tables_of_calls(self, keep_missing: bool) -> Iterator[Any]:
        """Tables of 100 000 rows, of all columns that have a role.

        Parameters
        ----------
        keep_missing : bool
            Whether rows with empty cells stay.

        Yields
        ------
        pyarrow.Table
        """
        waiting, n, none = [], 0, True
        for table in self._tables(False, keep_missing):
            waiting.append(table)
            n += len(table)
            while n >= ROWS_OF_CALL:
                whole = pyarrow().concat_tables(waiting, promote_options="permissive")
                yield whole[:ROWS_OF_CALL]
                waiting, n, none = [whole[ROWS_OF_CALL:]], n - ROWS_OF_CALL, False
        if n or none:
            yield pyarrow().concat_tables(waiting, promote_options="permissive")

    # -- columns ----------------------------------------------------------------------------------

    def _roles(self, only_X: bool) -> dict[str, str]:
        """Columns to read beside X, with what they are."""
        roles = {"offset": self.offset, "trials": self.trials, "event": self.event, "entry": self.entry}
        if not only_X:
            roles |= {"target": self.target, "sample_weight": self.sample_weight}
        return {name: role for role, name in roles.items() if name is not None}

    def _features(self, names: Sequence[str]) -> list[str]:
        """Columns of X."""
        if self.columns is not None:
            return self.columns
        others = (*self._roles(False), *self.left_out)
        return [name for name in names if name not in others]

    def part(self, table: Any, only_X: bool = False) -> Part:
        """Columns of a table by their roles.

        Parameters
        ----------
        table : pyarrow.Table
        only_X : bool, default=False
            Leave the target and the weights out.

        Returns
        -------
        Part
        """
        by_role = {role: table.column(name).to_numpy() for name, role in self._roles(only_X).items()}
        X = table.select(self._features(table.column_names))
        return Part(X, *map(by_role.get, ("target", "sample_weight", *KNOWN)))

    # -- reading ----------------------------------------------------------------------------------

    def _tables(self, only_X: bool, keep_missing: bool) -> Iterator[Any]:
        """Whole rows of the columns that are needed, file by file."""
        pa, self.n_dropped, n_files = pyarrow(), 0, 0
        roles = self._roles(only_X)
        named = [*(self.columns or ()), *self.factors, *roles]
        dataset, unread = self._dataset(named)
        names = dataset.schema.names
        if self.columns is None and not self.left_out and (found := row_names(dataset)):
            self.left_out = found
            words = f"column {found[0]!r} numbers or names the rows and is left out"
            warn_caller(f"{words}: name it in columns= to use it")
        wanted = [*self._features(names), *roles]
        for fragment in dataset.get_fragments():
            path, n_rows = getattr(fragment, "path", f"part {n_files} of {type(dataset).__name__}"), 0
            n_files += 1
            try:
                present = fragment.physical_schema.names
                refuse_lost([*wanted, *named], present)
                options = one_at_a_time(fragment)
                for batch in fragment.to_batches(columns=wanted, schema=dataset.schema, **options):
                    table = pa.Table.from_batches([batch])
                    yield self._whole(table, roles, unread, n_rows, keep_missing)
                    n_rows += len(table)
            except (pa.ArrowException, ValueError, TypeError, OSError) as error:
                numbers = [name for name in wanted if name not in (self.target, *self.factors)]
                is_text = unread is not None and isinstance(error, pa.ArrowInvalid)
                found_text = self._text.first_text(path, numbers) if is_text else None
                raise ValueError(f"{path}: {found_text or error}") from error
        if not n_files:
            raise ValueError(f"{self.source} has no files")
        empty = dataset.schema.empty_table().select(wanted)
        yield self._whole(empty, roles, unread, 0, keep_missing)  # for columns without rows

    @property
    def _text(self) -> TextFormat:
        return TextFormat(self.sep, self.decimal, self.thousands, self.encoding)

    def _dataset(self, named: Sequence[str]) -> tuple[Any, set[str] | None]:
        """The data set of a path; of text the columns that have numbers as they are written, else None.

        ``named`` are columns that the source names, and that files of text must have.
        """
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
        paths = [str(file) for file in files]
        try:
            if formats <= {"csv", "txt"}:
                used = None if self.columns is None else {*self.columns, *self._roles(False)}
                return self._text.dataset(paths, used, named, self.target, self.factors)
            return ds.dataset(paths, format=formats.pop()), None
        except (pyarrow().ArrowException, OSError, ValueError) as error:
            raise ValueError(f"{self.source}: {error}") from error

    def _whole(
        self, table: Any, roles: dict[str, str], unread: set[str] | None, first: int, keep_missing: bool
    ) -> Any:
        """The table with numbers as float64, without rows in which something is missing."""
        missing = np.zeros(len(table), dtype=bool)
        for k, name in enumerate(table.column_names):
            column, is_target = table.column(k), roles.get(name) == "target"
            if unread and name in unread:
                column = read_numbers(column, name, self._text, first, is_target)
            read = decoded if name in self.factors else as_target if is_target else as_numbers
            column = read(column, name, first)
            gaps = column.is_null(nan_is_null=True).to_numpy()
            if keep_missing and name not in (*roles, *self.factors) and not self.dropna:
                column, gaps = column.fill_null(np.nan), np.zeros_like(gaps)
            if gaps.any() and not self.dropna:
                raise ValueError(gap_words(name, gaps, first))
            table = table.set_column(k, name, column)
            missing |= gaps
        self.n_dropped += int(missing.sum())
        return table.filter(pyarrow().array(~missing)) if missing.any() else table
