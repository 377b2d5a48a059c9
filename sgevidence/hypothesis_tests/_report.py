"""A test as a paper reports it: hypotheses or models, the sentence on the Bayes factor, prior and software.

The columns are those of JASP, P(M) and P(M | data) beside the Bayes factor against the null; all models are
alike a priori.

References
----------
J. van Doorn et al. (2021), The JASP guidelines for conducting and reporting a Bayesian analysis, Psychonomic
Bulletin and Review 28, 813.
"""

from collections.abc import Sequence

import numpy as np

from ..model_selection import factor_in_digits, likelier, printed_probabilities, software
from ..tables import Table


def table_and_sentences(
    names: Sequence[str],
    log_factors: np.ndarray,
    stds: np.ndarray,
    *,
    data: str,
    prior: str,
    short: Sequence[str] | None = None,
    given: str = "under",
) -> tuple[Table, list[str]]:
    """A report on models, by their log Bayes factors (n,) against the last one, the null, nats.

    ``data`` and ``prior`` are words on them.  ``short`` are names in a sentence, by default ``names``;
    ``given`` is "if" of hypotheses and "under" of models.
    """
    short = short or names
    order = np.argsort(-log_factors, kind="stable").tolist()
    p = np.exp(log_factors - np.logaddexp.reduce(log_factors))
    null, (best, second) = len(names) - 1, order[:2]
    shown = {
        "P(M)": [f"{1 / len(names):.3f}"] * len(names),
        "P(M | data)": printed_probabilities(p[order]),
        "Bayes factor": [factor_in_digits(log_factors[k]) for k in order],
    }
    table = Table(shown, [names[k] for k in order], "model M", {"P(M | data)": p[order]})
    rivals = [(null, f"{names[null]}, the null model" if len(names) > 2 else names[null])] * (best != null)
    if second != null or best == null:
        rivals.append((second, f"{names[second]}, the next best model" if len(names) > 2 else names[second]))
    sentences = [
        likelier(
            names[best],
            words,
            log_factors[best] - log_factors[k],
            float(np.hypot(stds[best], stds[k])),
            given,
        )
        for k, words in rivals
    ]
    models = f"the {len(names)} models" if len(names) > 2 else "both hypotheses"
    said = f"With equal prior probabilities of {models}, that of {short[best]} given the data is"
    software_line = f"Bayes factors of the table are against {short[null]}. {software()}"
    first = ". ".join([data, *sentences, f"{said} {printed_probabilities(p)[best]}."])
    return table, [first, prior, software_line]
