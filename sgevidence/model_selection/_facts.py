"""Facts of a report beside the numbers of a table: probabilities of models, priors of parameters, robustness.

Robustness is the Bayes factor of two models under other prior scales, as papers plot it beside the one that
they report,

    log B(s) = log Z_1(s) − log Z_2(s),

where a scale s of both models is changed in both, and one that a single model has in that one alone.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ._candidates import is_search, last_step, named_models, row_arguments
from ._prior_sensitivity import prior_sensitivity


class Robustness(NamedTuple):
    """Log Bayes factors, nats, under the prior scale that moves them most."""

    lowest: tuple[str, float]  #: the prior, such as ``coef_scale / 3``, and the factor under it
    highest: tuple[str, float]
    as_given: float


def robustness(models: Any, two: tuple[int, int], rows: Any) -> Robustness | None:
    """Factors of the best model and the next, by number; None if no prior scale can be varied.

    ``rows`` are those of :func:`row_arguments`.
    """
    arguments = row_arguments(rows)
    first, second = (_log_evidences(_unfitted(models)[k], arguments) for k in two)
    names = [name for name in dict.fromkeys([*first, *second]) if name != AS_GIVEN]
    if not names:
        return None
    factors = {name: first.get(name, first[AS_GIVEN]) - second.get(name, second[AS_GIVEN]) for name in names}
    ranges: dict[str, list[tuple[str, float]]] = {}
    for name, factor in factors.items():
        ranges.setdefault(name.rsplit(" ", 2)[0], []).append((name, factor))
    decisive = max(ranges.values(), key=lambda found: np.ptp([factor for _, factor in found]))
    low, high = (end(decisive, key=lambda one: one[1]) for end in (min, max))
    return Robustness(low, high, first[AS_GIVEN] - second[AS_GIVEN])


#: Name of the first row of a table of prior_sensitivity.
AS_GIVEN = "as given"


def _log_evidences(model: Any, arguments: dict[str, Any]) -> dict[str, float]:
    """By prior, nats; one entry where a model states no scales."""
    try:
        table = prior_sensitivity(model, **arguments)
    except TypeError as error:
        if "prior scales" not in str(error):
            raise
        return {AS_GIVEN: clone(model).fit(**arguments).log_evidence_}
    return dict(zip(map(str, table.index), table["log_evidence"]))


def _unfitted(models: Any) -> list[Any]:
    """The models in their order; those of a search by its parameters."""
    if not is_search(models):
        return list(named_models(models).values())
    if not hasattr(models, "estimator"):
        raise ValueError("sensitivity= needs the models, and cv_results_ has none: give the search itself")
    parameters = models.cv_results_["params"]
    return [
        clone(models.estimator).set_params(**{k: clone(v, safe=False) for k, v in one.items()})
        for one in parameters
    ]


class Facts(NamedTuple):
    """Prior probabilities that a comparison was given, and priors that it read in its models."""

    model_prior: tuple[float, ...]  #: of the models, in the order of the table
    priors: tuple[tuple[str, str], ...]  #: whose, and the priors of parameters
    robustness: Robustness | None = None  #: of the Bayes factor, where it was asked for


def facts_of(models: Any, model_prior: np.ndarray) -> Facts:
    """Priors that are alike stand once; a search has those of its best model alone."""
    if is_search(models):
        found = {"the best model": getattr(models, "best_estimator_", None)}
    elif hasattr(last_step(models), "log_evidence_") and not hasattr(models, "named_estimators_"):
        found = {"all models": models}  # a mixture, or a selector
    else:
        found = named_models(models)
    words: dict[str, list[str]] = {}
    for name, model in found.items():
        words.setdefault(prior_words(model), []).append(name)
    whose = {
        text: "all models" if len(words) == 1 < len(found) else ", ".join(who) for text, who in words.items()
    }
    return Facts(tuple(model_prior.tolist()), tuple((who, text) for text, who in whose.items() if text))


def prior_words(model: Any) -> str:
    """Priors of a model's parameters in a line, empty if it does not say them."""
    notes = " ".join(getattr(last_step(model), "_prior_notes", list)())
    return " ".join(notes[notes.find("priors (") :].replace(", units_", "").split()) if notes else ""
