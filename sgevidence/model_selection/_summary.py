"""A comparison in eighty columns: what is read first of the table, as text and as HTML."""

from typing import Any

import numpy as np

from ..tables import Summarised, Table, with_errors

#: Standard errors of a difference below which the errors leave open which of two models has more evidence.
CLEAR_STDS = 2.0
#: The columns of a comparison that a summary reads.
COLUMNS = ("log_evidence", "log_evidence_std", "probability", "difference", "difference_std", "warnings")
#: The words of the last column, and what they mean.
DOUBTS = {
    "warned": "warned: the fit doubts its own evidence; column 'warnings' says why.",
    "open": "open: the errors leave open whether this model or the best has more evidence.",
    "misfit": "misfit: the model does not reproduce the rows; column 'misfit' says in what.",
}
#: Below a table all of whose models were checked in vain.
NONE_FITS = "None of the models fits the rows: the best is the best of wrong models."


class Comparison(Summarised):
    """The summary of a comparison."""

    columns: Any
    index: Any

    def _summary(self, as_text: bool) -> tuple[Table, list[str]] | None:
        if not set(COLUMNS) <= set(self.columns) or not len(self.index):
            return None
        table, notes = summary(self)
        return (_by_parameters(table, self) if as_text else table), notes


class ComparisonTable(Comparison, Table):  # type: ignore[misc]
    """A comparison where pandas is not installed."""


def summary(table: Any) -> tuple[Table, list[str]]:
    """The summary, and the meanings of its words, from a table with COLUMNS."""
    columns = {name: np.asarray(table[name]) for name in COLUMNS}
    doubts = [
        _doubt(*row) for row in zip(*(columns[k] for k in ("difference", "difference_std", "warnings")))
    ]
    cells = {
        "log evidence ± error": with_errors(columns["log_evidence"], columns["log_evidence_std"]),
        "probability": [_probability(p) for p in columns["probability"]],
        "Bayes factor": [_bayes_factor(d) for d in columns["difference"]],
    }
    misfits = np.asarray(table["misfit"] if "misfit" in table.columns else [""] * len(doubts))
    doubts = [", ".join(filter(None, [word, "misfit" * bool(m)])) for word, m in zip(doubts, misfits)]
    if any(doubts):
        cells["doubt"] = doubts
    names = [str(name) for name in table.index]
    notes = [meaning for word, meaning in DOUBTS.items() if any(word in words for words in doubts)]
    return Table(cells, names), [*notes, NONE_FITS] if all(misfits) else notes


def _by_parameters(summary: Table, table: Any) -> Table:
    """The summary with a column for each parameter that varies, where a line has room for all."""
    names = list(table.columns)
    varying = names[1 : names.index("log_evidence")]
    if not varying:
        return summary
    columns = [[name, *map(str, table[name])] for name in varying]
    widths = [max(map(len, column)) for column in columns]
    head, *rows = ("  ".join(map(str.ljust, cells, widths)).rstrip() for cells in zip(*columns))
    shown = Table({name: summary[name] for name in summary.columns}, rows, head)
    fits = len(shown.to_string().splitlines()) == len(rows) + 1
    return shown if fits or len(varying) == 1 else summary


def _doubt(difference: float, difference_std: float, warnings: str) -> str:
    if warnings:
        return "warned"
    is_best = difference == 0.0 and difference_std == 0.0
    return "" if is_best or abs(difference) > CLEAR_STDS * difference_std else "open"


def _probability(p: float) -> str:
    if 0.9995 <= p < 1.0:
        return ">0.999"
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def _bayes_factor(difference: float) -> str:
    """e^difference, of any size; two digits, and no more than a power of ten where it is beyond 10⁻¹⁰."""
    power = difference / np.log(10)
    return f"1e{power:.0f}" if power < -10 else f"{np.exp(difference):.2g}"
