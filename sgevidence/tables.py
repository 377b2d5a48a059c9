"""Tables that print where pandas is not installed, numbers with their errors, and summaries of tables.

Cells and sentences are in Markdown, LaTeX and HTML: powers of ten, signs, and characters to escape.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from itertools import zip_longest
from typing import Any

import numpy as np

#: Characters of a line.
LINE_WIDTH = 80
#: Style of the cells of a page: columns of numbers end at one line, and their digits have one width.
CELL_STYLE = "text-align: right; font-variant-numeric: tabular-nums; white-space: pre"
#: Style of a bar behind a cell, from the left; its colour shows on white and on black.
BAR_STYLE = "; background: linear-gradient(90deg, rgba(31, 119, 180, 0.3) {0:.1f}%, transparent {0:.1f}%)"
#: Standard deviation, as a share of a number, that is rounding.
ROUNDING_SHARE = 1e-12


class Table:
    """Columns of equal length with a name for each row, for readers who may not have pandas.

    Parameters
    ----------
    columns : mapping of str to sequence
    index : sequence of str
        Names of the rows; a name that is too long for a line of eighty characters takes several.
    index_name : str, default=""
        Heading of the names.
    bars : mapping of str to sequence of float, optional
        Shares of one, such as probabilities, that a page draws as bars behind the cells of these columns.
    heading : str, default=""
        Line above the table.
    notes : sequence of str, default=()
        Sentences, or other tables, below.

    Notes
    -----
    ``table["column"]`` is an array, ``table[["a", "b"]]`` a table of these columns.

    Examples
    --------
    >>> from sgevidence.tables import Table
    >>> table = Table({"log_evidence": [-1.25, -3.0], "rank": [1, 2]}, ["one", "two"])
    >>> table
         log_evidence  rank
    one         -1.25     1
    two         -3.00     2
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any] | np.ndarray],
        index: Sequence[str],
        index_name: str = "",
        bars: Mapping[str, Sequence[float] | np.ndarray] | None = None,
        heading: str = "",
        notes: Sequence[str] = (),
    ):
        self._columns = {name: np.asarray(values) for name, values in columns.items()}
        self.index, self.index_name, self.bars = list(index), index_name, dict(bars or {})
        self.heading, self.notes = heading, list(notes)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, list):
            return Table({name: self._columns[name] for name in key}, self.index)
        return self._columns[key]

    def round(self, decimals: int) -> "Table":
        """Round the numbers.

        Parameters
        ----------
        decimals : int

        Returns
        -------
        Table
        """
        rounded = {k: np.round(v, decimals) if v.dtype.kind == "f" else v for k, v in self._columns.items()}
        return Table(rounded, self.index)

    def to_frame(self) -> Any:
        """The table for pandas.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        from pandas import DataFrame

        return DataFrame(self._columns, index=self.index)

    def to_string(self) -> str:
        """The table as text, columns aligned, between its heading and its notes.

        Returns
        -------
        str
        """
        notes = [note if "\n" in note else "\n".join(in_lines(note, LINE_WIDTH)) for note in self.notes]
        return "\n".join(filter(None, [self.heading, self._printed()._aligned(), *notes]))

    def _aligned(self) -> str:
        """The cells as text."""
        columns = [[name, *_cells(values)] for name, values in self._columns.items()]
        widths = [max(map(len, column)) for column in columns]
        room = LINE_WIDTH - sum(widths) - 2 * len(widths)
        names = [_wrapped(name, room) for name in [self.index_name, *self.index]]
        first = max(len(line) for lines in names for line in lines)
        out = []
        for lines, *cells in zip(names, *columns):
            numbers = "".join("  " + cell.rjust(width) for cell, width in zip(cells, widths))
            out += [a.ljust(first) + b for a, b in zip_longest(lines, [numbers], fillvalue="")]
        return "\n".join(line.rstrip() for line in out)

    def __repr__(self) -> str:
        return self.to_string()

    def _printed(self) -> "Table":
        """The cells that are shown, where these are not the numbers themselves."""
        return self

    def _repr_html_(self) -> str:
        above = f"<p>{in_html(self.heading)}</p>" if self.heading else ""
        tags = ["pre" if "\n" in note else "p" for note in self.notes]  # a table, or a sentence
        below = "".join(f"<{tag}>{in_html(note)}</{tag}>" for tag, note in zip(tags, self.notes))
        return above + self._printed()._in_html() + below

    def _in_html(self) -> str:
        """The cells in a page."""
        left = 'style="text-align: left"'
        head = "".join(f'<th style="{CELL_STYLE}">{in_html(name)}</th>' for name in self.columns)
        columns = [
            [f'<td style="{CELL_STYLE}{bar}">{cell}</td>' for cell, bar in zip(self._padded(name), bars)]
            for name, bars in zip(self.columns, map(self._bars, self.columns))
        ]
        body = "".join(
            f"<tr><th {left}>{in_html(name)}</th>{''.join(cells)}</tr>"
            for name, *cells in zip(self.index, *columns)
        )
        head = f"<th {left}>{in_html(self.index_name)}</th>{head}"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _padded(self, name: str) -> list[str]:
        """Cells of a column for a page; blanks behind a number have the width of a digit."""
        cells = _cells(self._columns[name])
        return [
            in_html(cell.rstrip()) + "\N{FIGURE SPACE}" * (len(cell) - len(cell.rstrip())) for cell in cells
        ]

    def _bars(self, name: str) -> list[str]:
        """Styles of the bars of a column, empty without bars."""
        shares = self.bars.get(name)
        if shares is None:
            return [""] * len(self)
        return [BAR_STYLE.format(100 * float(share)) for share in shares]

    def to_markdown(self) -> str:
        """The table in Markdown, with pipes.

        Returns
        -------
        str
        """
        if (shown := self._printed()) is not self:
            return shown.to_markdown()
        lines = [[self.index_name, *self.columns], ["---", *["---:"] * len(self.columns)], *self._lines()]
        marked = [cells if k == 1 else list(map(in_markdown, cells)) for k, cells in enumerate(lines)]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in marked)

    def to_latex(self) -> str:
        r"""The table in LaTeX, a ``tabular`` with the rules of the package ``booktabs``.

        Returns
        -------
        str
        """
        if (shown := self._printed()) is not self:
            return shown.to_latex()
        head, *rows = (
            " & ".join(map(in_latex, cells)) + r" \\"
            for cells in [[self.index_name, *self.columns], *self._lines()]
        )
        align = "l" + "r" * len(self.columns)
        parts = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
        return "\n".join([*parts, r"\end{tabular}"])

    def _lines(self) -> list[list[str]]:
        """Name and cells of each row, without blanks around them."""
        columns = [[cell.strip() for cell in _cells(values)] for values in self._columns.values()]
        return [[str(name), *cells] for name, *cells in zip(self.index, *columns)]


def in_pandas(table: Table) -> Any:
    """The table as a DataFrame where pandas is installed."""
    return table if find_spec("pandas") is None else table.to_frame().infer_objects()


def _wrapped(name: str, room: int) -> list[str]:
    """Lines of a name; one where not even a short line would fit beside the numbers."""
    if len(name) <= room or room < 12:  # fewest characters of a line of a name
        return [name]
    return in_lines(name, room, "  ")


def in_lines(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most ``width`` characters, ``indent`` before all but the first.

    A word that is longer than a line ends it after a sign, as temperature_ and poly( do; a line with a
    longer piece is longer.
    """
    lines = [""]
    for word in text.split():
        pieces = [word] if len(word) <= width - len(indent) else PIECES.findall(word)
        for k, piece in enumerate(pieces):
            blank = " " * bool(k == 0 and lines[-1].strip())
            if lines[-1].strip() and len(lines[-1] + blank + piece) > width:
                lines.append(indent + piece)
            else:
                lines[-1] += blank + piece
    return [line for line in lines if line]


def _cells(values: np.ndarray) -> list[str]:
    """Numbers of a column with as many decimals as the one that needs most, at most six digits' worth."""
    if values.dtype.kind != "f":
        return [str(v) for v in values]
    texts = [f"{v:.6g}" for v in values]
    decimals = max((len(t.partition(".")[2]) for t in texts if "e" not in t), default=0)
    return [t if "e" in t or "n" in t else f"{v:.{decimals}f}" for t, v in zip(texts, values)]


def with_errors(values: np.ndarray, stds: np.ndarray) -> list[str]:
    """Values as ``-12.34 ± 0.05``, to hundredths of a nat, which are less than a reader needs to decide."""
    errors = ["0" if s == 0 else f"{s:.2f}" if s >= 0.01 or np.isnan(s) else "<0.01" for s in stds]
    width = max(map(len, errors))
    return [f"{v:.2f} ± {error.ljust(width)}" for v, error in zip(values, errors)]


def to_digits(value: float, sd: float) -> str:
    """A number to the second digit of a standard deviation."""
    if not np.isfinite(value) or not np.isfinite(sd) or sd == 0:
        return f"{value:.6g}"
    # two significant digits of a standard deviation; the other numbers of its row end at the same decimal
    decimals = 1 - int(np.floor(np.log10(sd)))
    if decimals <= 6 and abs(value) < 10.0**7:  # beyond, numbers have an exponent
        return f"{round(value, max(decimals, 0)) + 0.0:.{max(decimals, 0)}f}"  # no −0
    before = int(np.floor(np.log10(abs(value)))) if value else 0
    return f"{value:.{min(max(before + decimals, 1), 15)}e}"


#: Characters that LaTeX reads as commands, or has no letter for.
IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "²": "$^2$",
    "₀": "$_0$",
    "\N{GREEK SMALL LETTER SIGMA}": r"$\sigma$",
    "τ": r"$\tau$",
    "ν": r"$\nu$",
    "μ": r"$\mu$",
    "φ": r"$\phi$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "η": r"$\eta$",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
#: Characters that Markdown reads as marks.
IN_MARKDOWN = re.compile(r"([\\|*_`<\[\]])")
#: Pieces of a word, each with the signs that end it.
PIECES = re.compile(r"[^_.,:;/|*+()\[\]-]*[_.,:;/|*+()\[\]-]+|[^_.,:;/|*+()\[\]-]+")
#: A number with an exponent.
POWER = re.compile(r"\b(\d+(?:\.\d+)?)e([-+]?)0*(\d+)\b")


def in_latex(text: str) -> str:
    """Text for a document in LaTeX."""
    escaped = "".join(IN_LATEX.get(sign, sign) for sign in text)
    return POWER.sub(lambda found: "$" + _factor(found, r" \times ") + f"10^{{{_power(found)}}}$", escaped)


def in_markdown(text: str) -> str:
    """Text for a document in Markdown."""
    escaped = IN_MARKDOWN.sub(r"\\\1", text)
    superscripts = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
    return POWER.sub(
        lambda found: f"{_factor(found, ' × ')}10{_power(found).translate(superscripts)}", escaped
    )


def in_html(text: str) -> str:
    """Text for a page."""
    return POWER.sub(
        lambda found: f"{_factor(found, ' × ')}10<sup>{_power(found).replace('-', '−')}</sup>", escape(text)
    )


def _factor(found: re.Match[str], times: str) -> str:
    return "" if found[1] == "1" else f"{found[1]}{times}"


def _power(found: re.Match[str]) -> str:
    return f"{found[2].replace('+', '')}{found[3]}"
