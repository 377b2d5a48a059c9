"""A comparison in eighty columns: what is read first of the table, as text and as HTML."""

from typing import Any

import numpy as np

from ..tables import Table, with_errors
from ._facts import Facts
from ._probabilities import printed_names

#: Standard errors of a difference below which the errors leave open which of two models has more evidence.
CLEAR_STDS = 2.0
#: The columns of a comparison that a summary reads.
COLUMNS = ("log_evidence", "log_evidence_std", "probability", "difference", "difference_std", "warnings")
#: In the place of misfits of a model that has no replicates to check it by.
UNCHECKED = "–"
#: The words of the last column, and what they mean.
DOUBTS = {
    "warned": "warned: the fit doubts its own evidence; column 'warnings' says why.",
    "open": "open: the errors leave open whether this model or the best has more evidence.",
    "misfit": "misfit: the model does not reproduce the rows; column 'misfit' says in what.",
    UNCHECKED: f"{UNCHECKED}: no rows of the model can be simulated, so it is not checked.",
}
#: Below a table all of whose models were checked in vain.
NONE_FITS = "None of the models fits the rows: the best is the best of wrong models."


class Comparison:
    """A table that prints as a summary while it has the columns for it; any part of it prints as usual."""

    columns: Any
    index: Any
    _facts: Facts | None = None

    def _summary(self, as_text: bool) -> Table | None:
        """None if a column has been taken away."""
        if not set(COLUMNS) <= set(self.columns) or not len(self.index):
            return None
        found = summary(self)
        shown = _by_parameters(found, self, as_text)
        shown.notes = found.notes
        return shown

    def __repr__(self) -> str:
        found = self._summary(as_text=True)
        return super().__repr__() if found is None else found.to_string()

    def _repr_html_(self) -> str:
        found = self._summary(as_text=False)
        return super()._repr_html_() if found is None else found._repr_html_()  # type: ignore[misc]

    def to_latex(self, *args: Any, **options: Any) -> Any:
        r"""The table that is printed, in LaTeX: a ``tabular`` with the rules of the package ``booktabs``.

        Parameters
        ----------
        *args, **options : object
            With any of them, all columns are written as :meth:`pandas.DataFrame.to_latex` does.

        Returns
        -------
        str
        """
        found = None if args or options else self._summary(as_text=False)
        if found is None:
            return super().to_latex(*args, **options)  # type: ignore[misc]
        return found.to_latex()

    def report(self, format: str = "text") -> str:
        """The comparison for a paper: a table of four columns, sentences, priors and software.

        Parameters
        ----------
        format : {"text", "markdown", "latex", "html"}, default="text"

        Returns
        -------
        str
            The table has the prior probability of each model, its log evidence with the standard error, its
            posterior probability, and the Bayes factor against the best model.  The sentences say how much
            more likely the data are under the best model than under the next, with the error of this Bayes
            factor, and what is in doubt.  Then come the priors of the parameters, and the software.

        Raises
        ------
        ValueError
            For another format, and if columns that the report needs have been taken away.
        """
        from ._report import report  # which reads the summary

        return report(self, format)


class ComparisonTable(Comparison, Table):  # type: ignore[misc]
    """A comparison where pandas is not installed."""


def summary(table: Any) -> Table:
    """The summary, and below it the meanings of its words, from a table with COLUMNS."""
    columns = {name: np.asarray(table[name]) for name in COLUMNS}
    doubts = [
        _doubt(*row) for row in zip(*(columns[k] for k in ("difference", "difference_std", "warnings")))
    ]
    cells = {
        "log evidence ± error": with_errors(columns["log_evidence"], columns["log_evidence_std"]),
        "probability": [_probability(p, len(columns["probability"]) == 1) for p in columns["probability"]],
        "Bayes factor": [_bayes_factor(d) for d in columns["difference"]],
    }
    misfits = np.asarray(table["misfit"] if "misfit" in table.columns else [""] * len(doubts))
    checks = [m if m in ("", UNCHECKED) else "misfit" for m in misfits]
    doubts = [", ".join(filter(None, words)) for words in zip(doubts, checks)]
    if any(doubts):
        cells["doubt"] = doubts
    names = [str(name) for name in table.index]
    notes = [meaning for word, meaning in DOUBTS.items() if any(word in words for words in doubts)]
    none_fits = all(check == "misfit" for check in checks)
    bars = {"probability": columns["probability"]}
    return Table(cells, names, bars=bars, notes=[*notes, NONE_FITS] if none_fits else notes)


def _by_parameters(summary: Table, table: Any, as_text: bool) -> Table:
    """The summary with a column for each parameter that varies, where a line of text has room for all."""
    names = list(table.columns)
    varying = names[1 : names.index("log_evidence")]
    if not varying:
        return summary
    own = {name: summary[name] for name in summary.columns}
    columns = [list(map(str, table[name])) for name in varying]
    if not as_text:
        others = dict(zip(varying[1:], columns[1:]))
        return Table(others | own, columns[0], varying[0], summary.bars)
    widths = [max(map(len, [name, *column])) for name, column in zip(varying, columns)]
    lines = [varying, *map(list, zip(*columns))]
    head, *rows = ("  ".join(map(str.ljust, cells, widths)).rstrip() for cells in lines)
    shown = Table(own, rows, head, summary.bars)
    fits = len(shown.to_string().splitlines()) == len(rows) + 1
    if fits or len(varying) == 1:
        return shown
    return Table(own, printed_names(summary.index), "", summary.bars)


def _doubt(difference: float, difference_std: float, warnings: str) -> str:
    if warnings:
        return "warned"
    is_best = difference == 0.0 and difference_std == 0.0
    return "" if is_best or abs(difference) > CLEAR_STDS * difference_std else "open"


def _probability(p: float, alone: bool) -> str:
    if p >= 0.9995 and not alone:  # rounded to one, too
        return ">0.999"
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def _bayes_factor(difference: float) -> str:
    """e^difference, of any size; two digits, and no more than a power of ten where it is beyond 10⁻¹⁰."""
    power = difference / np.log(10)
    return f"1e{power:.0f}" if power < -10 else f"{np.exp(difference):.2g}"
