"""A comparison in eighty columns, and as a paper reports it.

A comparison as a paper reports it: four columns, the sentence on the Bayes factor, priors, software.

The sentence follows the guidelines for reports of Bayes factors: prior probabilities of the models, the Bayes
factor, what it is against, and its error.

References
----------
J. van Doorn et al. (2021), The JASP guidelines for conducting and reporting a Bayesian analysis, Psychonomic
Bulletin and Review 28, 813; E.-J. Wagenmakers et al. (2018), Bayesian inference for psychology, Part II,
Psychonomic Bulletin and Review 25, 58; R. E. Kass, A. E. Raftery (1995), Bayes Factors, Journal of the
American Statistical Association 90, 773.
"""

import math
import platform
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
import sklearn

from ..tables import LINE_WIDTH, Table, in_html, in_latex, in_lines, in_markdown, with_errors
from ._facts import Facts
from ._probabilities import as_printed, in_words

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
    if "formula" not in varying:
        return summary
    return Table(own, list(map(as_printed, summary.index)), "", summary.bars)


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


#: Columns of a comparison that a report reads beside those of the summary.
MORE_COLUMNS = ("n_samples", "probability_low", "probability_high")
#: Standard error of a log Bayes factor, nats, from which its error is said as a factor: it is 65 % there.
ERROR_AS_FACTOR = 0.5
#: Source of the words of evidence.
SCALE = "on the scale of Kass and Raftery (1995)"
#: Models in the table of a report, the best ones: a page has room for as many.
MOST_REPORTED = 10


def report(table: Any, format: str) -> str:
    """The report of a comparison; ValueError for unknown formats and missing columns."""
    renderers: dict[str, Callable[[Table, list[str]], str]] = {
        "text": _as_text,
        "markdown": lambda found, said: "\n\n".join([found.to_markdown(), *map(in_markdown, said)]),
        "latex": lambda found, said: "\n\n".join([found.to_latex(), *map(in_latex, said)]),
        "html": lambda found, said: found._repr_html_() + "".join(f"<p>{in_html(one)}</p>" for one in said),
    }
    if format not in renderers:
        raise ValueError(f"format must be one of {list(renderers)}, got {format!r}")
    if lost := [name for name in (*COLUMNS, *MORE_COLUMNS) if name not in table.columns]:
        raise ValueError(f"a report needs the column {lost[0]!r}, which has been taken away")
    if table._facts is None or len(table._facts.model_prior) != len(table.index):
        raise ValueError("a report is of the table that compare() returns, and this is a part of it")
    table = _by_evidence(table)
    sentences = [
        _sentence(table),
        *_left_out(table),
        *_doubts(table),
        *_priors(table),
        *_robustness(table),
        _software(table),
    ]
    return renderers[format](_four_columns(table), sentences)


def _by_evidence(table: Any) -> ComparisonTable:
    """The table with the most evidence first, as that of subsets, by probability, need not be."""
    order = np.argsort(-np.asarray(table["log_evidence"]), kind="stable")
    columns = {name: np.asarray(table[name])[order] for name in table.columns}
    found = ComparisonTable(columns, [table.index[k] for k in order])
    found._facts = table._facts._replace(
        model_prior=tuple(np.array(table._facts.model_prior)[order].tolist())
    )
    return found


def _as_text(found: Table, sentences: list[str]) -> str:
    paragraphs = ("\n".join(in_lines(one, LINE_WIDTH)) for one in sentences)
    return "\n\n".join([found.to_string(), *paragraphs])


def _four_columns(table: Any) -> Table:
    """Prior probability, log evidence and its error, posterior probability, Bayes factor against the best."""
    found = summary(table)
    columns = {
        "P(M)": [f"{p:.3f}" if p >= 0.0005 else "<0.001" for p in table._facts.model_prior],
        "log evidence ± error": found["log evidence ± error"],
        "P(M | data)": found["probability"],
        "Bayes factor": found["Bayes factor"],
    }
    best = slice(MOST_REPORTED)
    shown = {name: column[best] for name, column in columns.items()}
    return Table(shown, _names(table)[best], "model M", {"P(M | data)": table["probability"][best]})


def _names(table: Any) -> list[str]:
    return list(map(as_printed, table.index))


def _sentence(table: Any) -> str:
    """How much likelier the data are under the best model than under the next, and how probable it is."""
    names = _names(table)
    prior = table._facts.model_prior
    if len(names) == 1:
        return f"The table has one model, {names[0]}, and a Bayes factor needs two."
    difference, std = (float(np.asarray(table[name])[1]) for name in ("difference", "difference_std"))
    words = in_words(difference)
    strength = f"which is {words}" if words.startswith("not") else f"{words} evidence"
    k = int(np.argmax(table["probability"]))
    columns = ("probability", "probability_low", "probability_high")
    p, low, high = (float(np.asarray(table[name])[k]) for name in columns)
    bounds = f", {low:.3f} to {high:.3f} by the errors" if high - low > 0.001 else ""
    is_uniform = np.allclose(prior, prior[0])
    all_listed = np.isclose(sum(prior), 1)
    among = f"{len(names)} models" if all_listed else f"more models than these {len(names)}"
    of_prior = "each had the prior probability" if is_uniform else "its prior probability was"
    return (
        f"The data are {_times(-difference)} as likely under {names[0]} as under {names[1]}, the next best "
        f"model (Bayes factor {_size(-difference)}, {_error(std)}), {strength} {SCALE}. The posterior "
        f"probability of {names[k]} is {_in_a_sentence(p)}{bounds}, among {among}; {of_prior} "
        f"{prior[k]:.3g}."
    )


def _left_out(table: Any) -> list[str]:
    """How many models the table does not show, and what they share."""
    if len(table.index) <= MOST_REPORTED:
        return []
    rest = float(np.sum(np.asarray(table["probability"])[MOST_REPORTED:]))
    return [
        f"The table shows the {MOST_REPORTED} models of {len(table.index)} with the most evidence; the "
        f"others have a probability of {rest:.3f} together."
    ]


def _in_a_sentence(p: float) -> str:
    return "above 0.999" if p >= 0.9995 else f"{p:.3f}"


def _times(log_factor: float) -> str:
    """e^log_factor times, and more than a power of ten only by its power."""
    return "about" if log_factor < math.log(1.05) else f"{_size(log_factor)} times"


def _size(log_factor: float) -> str:
    """A Bayes factor above one, to two digits, or three where it decides between words."""
    power = log_factor / math.log(10)
    if power > 5:  # a mantissa and an exponent, of any size
        exponent = math.floor(power)
        return f"{10 ** (power - exponent):.1f}e{exponent}"
    return f"{math.exp(log_factor):.3g}" if log_factor < math.log(100) else f"{math.exp(log_factor):.0f}"


def _error(std: float) -> str:
    """Relative error of a Bayes factor, as JASP says it."""
    if math.isnan(std):
        return "of unknown error"
    if std == 0:
        return "exact"
    if std >= ERROR_AS_FACTOR:
        return f"uncertain by a factor of {math.exp(std):.2g}"
    percent = 100 * math.expm1(std)
    if percent < 0.1:
        return "error below 0.1 %"
    return f"error {percent:.0f} %" if percent >= 1 else f"error {percent:.1g} %"


def _doubts(table: Any) -> list[str]:
    """Sentences that must not be left out: open differences, warnings of fits, misfits."""
    names = _names(table)
    difference, std = (np.abs(np.asarray(table[name])) for name in ("difference", "difference_std"))
    said = []
    if len(names) > 1 and difference[1] <= CLEAR_STDS * std[1]:
        said.append(f"The errors leave open whether {names[0]} or {names[1]} has more evidence.")
    for name, words in zip(names, table["warnings"]):
        if words:
            said.append(f"The evidence of {name} is in doubt: {words}.")
    if "misfit" in table.columns:
        for name, words in zip(names, table["misfit"]):
            if words and words != UNCHECKED:
                said.append(f"{name} does not reproduce the rows: {words}.")
    return said


def _priors(table: Any) -> list[str]:
    said = [f"Priors of {who}{words.removeprefix('priors')}." for who, words in table._facts.priors]
    if said and "b₀" in said[-1]:
        said[-1] += " Here b₀ is the link function of the mean of y."
    return said or ["Priors of the parameters: these models do not say theirs in a line, state them here."]


def _robustness(table: Any) -> list[str]:
    """How far the Bayes factor of the sentence moves with the prior scale that decides."""
    found = table._facts.robustness
    if found is None:
        return []
    first, second = _names(table)[:2]
    (low, low_factor), (high, high_factor) = found.lowest, found.highest
    turns = " and then favours the latter" if low_factor < 0 <= high_factor else ""
    least = _size(low_factor) if low_factor >= 0 else f"1/{_size(-low_factor)}"
    most = _size(high_factor) if high_factor >= 0 else f"1/{_size(-high_factor)}"
    decisive = low.rsplit(" ", 2)[0]
    return [
        f"With each prior scale divided and multiplied by three, {decisive} moves the Bayes factor of "
        f"{first} over {second} most: it is {least} under {low}{turns}, and {most} under {high}."
    ]


def _software(table: Any) -> str:
    version = getattr(sys.modules[__name__.partition(".")[0]], "__version__", "")
    n = np.asarray(table["n_samples"])[0]
    rows = "" if n == "unknown" else f" of {n} rows"
    versions = f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    return (
        f"Log evidences{rows} are in nats (natural logarithms), with standard errors; Bayes factors of the "
        f"table are against the best model. Software: sgevidence {version} (Python "
        f"{platform.python_version()}, {versions})."
    )
