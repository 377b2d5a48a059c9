"""A comparison, as it prints and as a paper reports it: four columns, the Bayes factor, priors, software.

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

from ..tables import LINE_WIDTH, Table, in_html, in_latex, in_lines, in_markdown
from ._facts import Facts
from ._probabilities import in_words, printed_names, printed_probabilities
from ._summary import CLEAR_STDS, COLUMNS, UNCHECKED, by_parameters, summary

#: Columns of a comparison that a report reads beside those of the summary.
MORE_COLUMNS = ("n_samples", "probability_low", "probability_high")
#: Standard error of a log Bayes factor, nats, from which its error is said as a factor: it is 65 % there.
ERROR_AS_FACTOR = 0.5
#: Source of the words of evidence.
SCALE = "on the scale of Kass and Raftery (1995)"
#: Models in the table of a report, the best ones: a page has room for as many.
MOST_REPORTED = 10


class Reported:
    """A result with a report for a paper, which ``_reported`` makes: a table, and sentences below it."""

    def _reported(self) -> tuple[Table, list[str]]:
        raise NotImplementedError

    def report(self, format: str = "text") -> str:
        """The result for a paper: a table, sentences, priors and software, as JASP reports them.

        Parameters
        ----------
        format : {"text", "markdown", "latex", "html"}, default="text"

        Returns
        -------
        str
            The table has the models or hypotheses with their prior and posterior probabilities and Bayes
            factors, and of a comparison log evidences with their standard errors.  The sentences say how much
            more likely the data are under the best than under the next or the null, with the error and the
            strength of this Bayes factor, and what is in doubt.  Then come the priors of the parameters (of
            a test the Bayes factor under half and twice their scale), and the software.

        Raises
        ------
        ValueError
            For another format, and for a part of a table, with rows or columns taken away.
        """
        found, sentences = self._reported()
        renderers: dict[str, Callable[[], str]] = {
            "text": lambda: "\n\n".join(
                [found.to_string(), *("\n".join(in_lines(one, LINE_WIDTH)) for one in sentences)]
            ),
            "markdown": lambda: "\n\n".join([found.to_markdown(), *map(in_markdown, sentences)]),
            "latex": lambda: "\n\n".join([found.to_latex(), *map(in_latex, sentences)]),
            "html": lambda: found._repr_html_() + "".join(f"<p>{in_html(one)}</p>" for one in sentences),
        }
        if format not in renderers:
            raise ValueError(f"format must be one of {list(renderers)}, got {format!r}")
        return renderers[format]()


class Comparison(Reported):
    """A table that prints as a summary while it has the columns for it; any part of it prints as usual."""

    columns: Any
    index: Any
    _facts: Facts | None = None

    def _summary(self, as_text: bool) -> Table | None:
        """None if a column has been taken away."""
        if not set(COLUMNS) <= set(self.columns) or not len(self.index):
            return None
        found = summary(self)
        shown = by_parameters(found, self, as_text)
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

    def _reported(self) -> tuple[Table, list[str]]:
        """Four columns, and sentences; ValueError for missing columns and for a part of the table."""
        if lost := [name for name in (*COLUMNS, *MORE_COLUMNS) if name not in self.columns]:
            raise ValueError(f"a report needs the column {lost[0]!r}, which has been taken away")
        if self._facts is None or len(self._facts.model_prior) != len(self.index):
            raise ValueError("a report is of the table that compare() returns, and this is a part of it")
        table = _by_evidence(self)
        sentences = [
            _sentence(table),
            *_left_out(table),
            *_doubts(table),
            *_priors(table),
            *_robustness(table),
            _software(table),
        ]
        return _four_columns(table), sentences


class ComparisonTable(Comparison, Table):  # type: ignore[misc]
    """A comparison where pandas is not installed."""


def _by_evidence(table: Any) -> ComparisonTable:
    """The table with the most evidence first, as that of subsets, by probability, need not be."""
    order = np.argsort(-np.asarray(table["log_evidence"]), kind="stable")
    columns = {name: np.asarray(table[name])[order] for name in table.columns}
    found = ComparisonTable(columns, [table.index[k] for k in order])
    found._facts = table._facts._replace(
        model_prior=tuple(np.array(table._facts.model_prior)[order].tolist())
    )
    return found


def _four_columns(table: Any) -> Table:
    """Prior probability, log evidence and its error, posterior probability, Bayes factor against the best."""
    found = summary(table)
    columns = {
        "P(M)": printed_probabilities(table._facts.model_prior),
        "log evidence ± error": found["log evidence ± error"],
        "P(M | data)": found["probability"],
        "Bayes factor": found["Bayes factor"],
    }
    best = slice(MOST_REPORTED)
    shown = {name: column[best] for name, column in columns.items()}
    return Table(shown, _names(table)[best], "model M", {"P(M | data)": table["probability"][best]})


def _names(table: Any) -> list[str]:
    return printed_names(table.index)


def _sentence(table: Any) -> str:
    """How much likelier the data are under the best model than under the next, and how probable it is."""
    names = _names(table)
    prior = table._facts.model_prior
    if len(names) == 1:
        return f"The table has one model, {names[0]}, and a Bayes factor needs two."
    difference, std = (float(np.asarray(table[name])[1]) for name in ("difference", "difference_std"))
    k = int(np.argmax(table["probability"]))
    columns = ("probability_low", "probability_high")
    shown = printed_probabilities(table["probability"])[k]
    low, high = (float(np.asarray(table[name])[k]) for name in columns)
    bounds = f", {low:.3f} to {high:.3f} by the errors" if high - low > 0.001 else ""
    is_uniform = np.allclose(prior, prior[0])
    all_listed = np.isclose(sum(prior), 1)
    among = f"{len(names)} models" if all_listed else f"more models than these {len(names)}"
    of_prior = "each had the prior probability" if is_uniform else "its prior probability was"
    return (
        f"{likelier(names[0], f'{names[1]}, the next best model', -difference, std)}. The posterior "
        f"probability of {names[k]} is {shown}{bounds}, among {among}; {of_prior} "
        f"{prior[k]:.3g}."
    )


def likelier(first: str, second: str, log_factor: float, std: float, given: str = "under") -> str:
    """How many times as likely the data are under the first as under the second, with error and strength.

    ``log_factor`` and its standard error are in nats, the factor at least 1.
    """
    words = in_words(log_factor)
    strength = f"which is {words}" if words.startswith("not") else f"{words} evidence"
    return (
        f"The data are {_times(log_factor)} as likely {given} {first} as {given} {second} (Bayes factor "
        f"{factor_in_digits(log_factor)}, {_error(std)}), {strength} {SCALE}"
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


def _times(log_factor: float) -> str:
    """e^log_factor times, and more than a power of ten only by its power."""
    return "about" if log_factor < math.log(1.05) else f"{factor_in_digits(log_factor)} times"


def factor_in_digits(log_factor: float) -> str:
    """A Bayes factor with three digits, or two and an exponent, of any size."""
    power = log_factor / math.log(10)
    if -5 < power < 5:
        value = f"{math.exp(log_factor):.3g}"
        return f"{float(value):.0f}" if "e+" in value else value
    exponent = math.floor(power)
    mantissa = f"{10 ** (power - exponent):.1f}"
    return f"1.0e{exponent + 1}" if mantissa == "10.0" else f"{mantissa}e{exponent}"


def factor_or_fraction(log_factor: float) -> str:
    """A Bayes factor, below one as a fraction."""
    return factor_in_digits(log_factor) if log_factor >= 0 else f"1/{factor_in_digits(-log_factor)}"


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
    least, most = map(factor_or_fraction, (low_factor, high_factor))
    decisive = low.rsplit(" ", 2)[0]
    return [
        f"With each prior scale divided and multiplied by three, {decisive} moves the Bayes factor of "
        f"{first} over {second} most: it is {least} under {low}{turns}, and {most} under {high}."
    ]


def _software(table: Any) -> str:
    n = np.asarray(table["n_samples"])[0]
    rows = "" if n == "unknown" else f" of {n} rows"
    return (
        f"Log evidences{rows} are in nats (natural logarithms), with standard errors; Bayes factors of the "
        f"table are against the best model. {software()}"
    )


def software() -> str:
    """The sentence on the software and its versions."""
    version = getattr(sys.modules[__name__.partition(".")[0]], "__version__", "")
    versions = f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    return f"Software: sgevidence {version} (Python {platform.python_version()}, {versions})."
