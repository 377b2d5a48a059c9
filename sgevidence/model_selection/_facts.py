"""Facts of a report beside the numbers of a table: probabilities of models and priors of parameters."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._candidates import is_search, last_step, named_models
from ._robustness import Robustness


class Facts(NamedTuple):
    """Prior probabilities that a comparison was given, and priors that it read in its models."""

    model_prior: tuple[float, ...]  #: of the models, in the order of the table
    priors: tuple[tuple[str, str], ...]  #: whose, and the priors of parameters
    robustness: Robustness | None = None  #: of the Bayes factor, where it was asked for


def facts_of(models: Any, names: Sequence[str], model_prior: np.ndarray) -> Facts:
    """Priors that are alike stand once; a search has those of its best model alone."""
    if is_search(models):
        found = {"of the best model": getattr(models, "best_estimator_", None)}
    elif hasattr(last_step(models), "log_evidence_") and not hasattr(models, "named_estimators_"):
        found = {"of all models": models}  # a mixture, or a selector
    else:
        found = named_models(models)
    words: dict[str, list[str]] = {}
    for name, model in found.items():
        words.setdefault(prior_words(model), []).append(name)
    whose = {
        text: "of all models" if len(words) == 1 < len(found) else ", ".join(who)
        for text, who in words.items()
    }
    return Facts(tuple(model_prior.tolist()), tuple((who, text) for text, who in whose.items() if text))


def prior_words(model: Any) -> str:
    """Priors of a model's parameters in a line, empty if it does not say them."""
    notes = " ".join(getattr(last_step(model), "_prior_notes", list)())
    return " ".join(notes[notes.find("priors (") :].replace(", units_", "").split()) if notes else ""
