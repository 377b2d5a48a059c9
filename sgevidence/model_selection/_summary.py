"""A comparison in eighty columns: the summary that is read first of its table."""

from typing import Any

import numpy as np

from ..tables import Table, with_errors
from ._probabilities import printed_names, printed_probabilities

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


def summary(table: Any) -> Table:
    """The summary, and below it the meanings of its words, from a table with COLUMNS."""
    columns = {name: np.asarray(table[name]) for name in COLUMNS}
    doubts = [
        _doubt(*row) for row in zip(*(columns[k] for k in ("difference", "difference_std", "warnings")))
    ]
    cells = {
        "log evidence ± error": with_errors(columns["log_evidence"], columns["log_evidence_std"]),
        "probability": printed_probabilities(columns["probability"]),
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


def by_parameters(summary: Table, table: Any, as_text: bool) -> Table:
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


def _bayes_factor(difference: float) -> str:
    """e^difference, of any size; two digits, and no more than a power of ten where it is beyond 10⁻¹⁰."""
    power = difference / np.log(10)
    return f"1e{power:.0f}" if power < -10 else f"{np.exp(difference):.2g}"
