"""Candidates of a comparison: named evidences of the same rows, whoever holds them.

A mapping or a list of fitted estimators, an averager, a finished grid search or its ``cv_results_`` become
one list of :class:`Candidate`; one check says whether their evidences are of the same data.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

#: Advice for autoregressions of several orders, at the end of a message.
ONE_MAX_ORDER = ": an autoregression is given its first rows, so state one max_order for all orders"
#: How data of as many rows differ.
OTHER_DATA = "other values, weights or order of y, or of X if the models are densities"
#: Parameters that make a fit another draw of the same model: no part of a model's name.
NOT_THE_MODEL = {"random_state", "verbose", "sampler"}


class Candidate(NamedTuple):
    """One model's evidence and what it is the evidence of; what is not known is None."""

    name: str
    log_evidence: float  #: nats
    log_evidence_std: float  #: nats
    n_samples: int | None  #: rows seen
    fingerprint: int | None  #: their checksum
    kind: str | None = None  #: "regressor", "classifier", "density_estimator"
    classes: tuple[Any, ...] | None = None  #: of a classifier
    warnings: tuple[str, ...] = ()
    is_relative: bool = False  #: to a null model, and not the evidence of y
    n_conditioned: int | None = None  #: rows before these that a model of a series is given
    parameters: Mapping[str, Any] = {}  #: by name, those in which the models differ


def behind_transformers(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """The model itself, behind pipelines and frozen estimators, and X as it sees it."""
    while isinstance(estimator, Pipeline | FrozenEstimator):
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
            continue
        *transformers, (_, last) = estimator.steps
        for _, step in transformers if X is not None else ():
            X = X if does_nothing(step) else step.transform(X)
        estimator = last
    return estimator, X


def does_nothing(step: Any) -> bool:
    """Whether a pipeline leaves the rows to its next step as they are."""
    return step is None or step == "passthrough"


def last_step(estimator: Any) -> Any:
    """The model itself."""
    return behind_transformers(estimator)[0]


def for_last_step(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Without metadata routing a pipeline takes ``laststep__sample_weight``."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": value for key, value in for_last_step(last, params).items()}
    return dict(params)


def row_arguments(rows: Any) -> dict[str, Any]:
    """Arguments by name: of a pair of X and y, of a frame that has the y of formulas, or as they are."""
    if hasattr(rows, "columns"):
        return {"X": rows}
    return dict(rows) if isinstance(rows, Mapping) else dict(zip(("X", "y"), rows))


def named_models(models: Any) -> dict[str, Any]:
    """Fitted models by name: of an averager, of a mapping, or of a list, whose names are made up.

    TypeError for anything else, ValueError if there is none.
    """
    if hasattr(models, "named_estimators_"):
        found = dict(models.named_estimators_)
    elif isinstance(models, Mapping):
        found = {str(name): model for name, model in models.items()}
    elif isinstance(models, Sequence) and not isinstance(models, str):
        found = dict(zip(_names(models), models))
    else:
        raise TypeError(
            "models must be a mapping or list of fitted estimators, a fitted EvidenceModelAverager, a fitted "
            f"search or its cv_results_, got {type(models).__name__}"
        )
    if not found:
        raise ValueError("there is no model to compare")
    return found


def candidates(models: Any) -> list[Candidate]:
    """The evidences of several models, checked to be of the same rows: see :func:`compare`."""
    if is_search(models):
        found = _of_search(getattr(models, "cv_results_", models))
    else:
        found = [candidate(name, model) for name, model in named_models(models).items()]
        if isinstance(models, Sequence):
            found = [one._replace(parameters=p) for one, p in zip(found, _of_list(models))]
    check_comparable(found)
    return found


def is_search(models: Any) -> bool:
    """Whether it is a finished search or its ``cv_results_``, which have evidences and no fitted models."""
    results = getattr(models, "cv_results_", models)
    return isinstance(results, Mapping) and "params" in results


def candidate(name: str, estimator: Any) -> Candidate:
    """One fitted estimator's evidence; TypeError if it has no ``log_evidence_``."""
    model = last_step(estimator)
    if isinstance(model, type):
        raise TypeError(f"{name!r} is the class {model.__name__}: give a fitted object of it")
    if not hasattr(model, "log_evidence_"):
        raise TypeError(f"{name!r} ({type(model).__name__}) has no log_evidence_: {_remedy(model)}")
    classes, n_conditioned = getattr(model, "classes_", None), getattr(model, "n_conditioned_", None)
    return Candidate(
        name,
        float(model.log_evidence_),
        float(getattr(model, "log_evidence_std_", np.nan)),
        getattr(model, "n_samples_seen_", None),
        getattr(model, "data_fingerprint_", None),
        None if n_conditioned is not None else _kind(model),  # a series is y, or the one column of a density
        None if classes is None else tuple(np.asarray(classes).tolist()),
        tuple(getattr(model, "warnings_", ())),
        getattr(model, "evidence_is_relative_", False),
        n_conditioned,
    )


def check_comparable(found: Iterable[Candidate]) -> None:
    """Refuse evidences that are not finite or not of the same data.

    A property that a candidate does not know about itself is not compared.  ValueError names the model that
    differs, and how.
    """
    for one in (found := list(found)):
        if not np.isfinite(one.log_evidence):
            raise ValueError(f"{one.name!r} has the log evidence {one.log_evidence}")
    for field, difference in [
        ("kind", "is another kind of model"),
        ("is_relative", "is relative to its null model, or has all of its evidence, otherwise"),
        ("n_samples", "has seen another number of rows"),
        ("classes", "has other classes"),
        ("fingerprint", "has seen other data"),
    ]:
        known = [(one.name, getattr(one, field)) for one in found if getattr(one, field) is not None]
        for name, value in known[1:]:
            if value != known[0][1]:
                of_series = field == "n_samples" and any(one.n_conditioned is not None for one in found)
                words = OTHER_DATA if field == "fingerprint" else f"{value} and {known[0][1]}"
                raise ValueError(
                    f"{name!r} {difference} than {known[0][0]!r}: {words}; their evidences "
                    f"cannot be compared{ONE_MAX_ORDER if of_series else ''}"
                )


def _remedy(model: Any) -> str:
    """Where the evidence may be instead."""
    for attribute in ("regressor_", "classifier_", "estimator_", "best_estimator_"):
        if hasattr(last_step(getattr(model, attribute, None)), "log_evidence_"):
            return f"its {attribute} has, of the rows as they were handed on to it"
    return "it is no estimator of this library" if _is_fitted(model) else "is it fitted?"


def _is_fitted(model: Any) -> bool:
    """As far as scikit-learn can tell."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:  # no estimator at all
        pass
    return True


def _kind(model: Any) -> str | None:
    """Scikit-learn's name of the kind; None for a custom model, and for no scikit-learn estimator."""
    return get_tags(model).estimator_type if hasattr(model, "__sklearn_tags__") else None


def _of_search(results: Mapping[str, Any]) -> list[Candidate]:
    """The rows of a search's ``cv_results_``, scored by ``evidence_scorers``."""
    if "mean_test_log_evidence" not in results or "mean_test_log_evidence_std" not in results:
        raise ValueError(
            "the search has not kept the error bars: give it scoring=evidence_scorers, "
            'refit="log_evidence" and cv=FullData()'
        )
    if "split1_test_log_evidence" in results:
        raise ValueError(
            "the search has averaged evidences of different rows over its splits: give it cv=FullData()"
        )
    n = len(results["params"])
    n_samples, fingerprints = (
        [_whole(value) for value in results.get(f"mean_test_{key}", [np.nan] * n)]
        for key in ("n_samples_seen", "data_fingerprint")
    )
    parameters = [_short(params) for params in results["params"]]
    names = _unique([_spell(params) for params in parameters])
    log_Z, std = results["mean_test_log_evidence"], results["mean_test_log_evidence_std"]
    n_warnings = results.get("mean_test_n_warnings", np.zeros(n))
    unread = "the fit warned: fit a model with these parameters alone to read why"
    words = results.get("warnings", [(unread,) if n_warnings[k] else () for k in range(n)])
    return [
        Candidate(
            names[k],
            float(log_Z[k]),
            float(std[k]),
            n_samples[k],
            fingerprints[k],
            warnings=tuple(words[k]),
            parameters=parameters[k],
        )
        for k in range(n)
    ]


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)


def _names(models: Sequence[Any]) -> list[str]:
    """Type names, with the parameters in which models of one type differ."""
    lasts = [last_step(model) for model in models]
    names = []
    for last in lasts:
        peers = [other for other in lasts if type(other) is type(last)]
        differing = _differing(last, peers)
        names.append(type(last).__name__ + (f"({_spell(differing)})" if differing else ""))
    return _unique(names)


def _of_list(models: Sequence[Any]) -> list[dict[str, Any]]:
    """Parameters in which models of one type differ; none if there are several types."""
    lasts = [last_step(model) for model in models]
    return [_differing(last, lasts) if len(set(map(type, lasts))) == 1 else {} for last in lasts]


def _differing(model: Any, peers: list[Any]) -> dict[str, Any]:
    if not hasattr(model, "get_params") or isinstance(model, type):
        return {}
    params = {k: v for k, v in model.get_params(deep=False).items() if k not in NOT_THE_MODEL}
    return {
        key: value
        for key, value in params.items()
        if len({repr(peer.get_params(deep=False)[key]) for peer in peers}) > 1
    }


def _short(params: Mapping[str, Any]) -> dict[str, Any]:
    """By the last part of scikit-learn's ``step__parameter`` where that is clear."""
    short = [key.rsplit("__", 1)[-1] for key in params]
    return dict(zip(short, params.values())) if len(set(short)) == len(short) else dict(params)


def _spell(params: Mapping[str, Any]) -> str:
    """``a=1, b=2``."""
    return ", ".join(f"{key}={value}" for key, value in params.items()) or "no parameters"


def _unique(names: list[str]) -> list[str]:
    """Repeated names are numbered."""
    out = []
    for i, name in enumerate(names):
        out.append(name if names.count(name) == 1 else f"{name} #{names[: i + 1].count(name)}")
    return out
