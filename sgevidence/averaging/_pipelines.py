"""A stream through the models of an average, pipelines among them.

scikit-learn's pipelines have no ``partial_fit``.  Here their transformers are fitted on the first chunk
and kept, and the last step sees the chunks as they transform them; its units are those of all rows of the
first call, transformed so.
"""

import copy
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing

from ..estimators import Standardising, task_of
from ._chunks import FirstCall
from ._routing import routing_enabled


def is_online(child: Any) -> bool:
    """Can it learn from rows as they come?  A frozen model does not learn."""
    if isinstance(child, Pipeline):
        return is_online(child.steps[-1][1])
    return not isinstance(child, FrozenEstimator) and hasattr(child, "partial_fit")


def behind_transformers(child: Any, X: Any) -> tuple[Any, Any]:
    """The model at the end of a pipeline, and X as it sees it."""
    while isinstance(child, Pipeline | FrozenEstimator):
        if isinstance(child, Pipeline):
            for _, transformer in child.steps[:-1]:
                X = X if _does_nothing(transformer) else transformer.transform(X)
            child = child.steps[-1][1]
        else:
            child = child.estimator
    return child, X


def named(child: Any, name: str) -> None:
    """The model at the end prints its progress under this name; one that others may own keeps its own."""
    while isinstance(child, Pipeline):
        child = child.steps[-1][1]
    if getattr(child, "_copies_are_branches", False) and not isinstance(child, FrozenEstimator):
        child._named = name


def fit_child(child: Any, X: Any, y: Any, params: dict[str, Any], owner: Any, leaf: Any) -> Any:
    """The child fitted on the rows, as the task ``leaf`` of its owner."""
    with task_of(owner, leaf, child):
        return child.fit(X, y, **params)


def partial_fit_child(
    child: Any,
    X: Any,
    y: Any,
    params: dict[str, Any],
    extra: dict[str, Any],
    first: bool,
    call: FirstCall | None = None,
    owner: Any = None,
    leaf: Any = None,
) -> Any:
    """A copy of the child that has absorbed the rows; the child itself stays as it was.

    ``params`` are metadata, ``extra`` goes to the model at the end as it is, and ``call`` has the rows that
    say what its units are, where the call is cut into chunks.
    """
    if isinstance(child, Pipeline):
        return _partial_fit_pipeline(child, X, y, params, extra, first, call, owner, leaf)
    shallow = getattr(child, "_copies_are_branches", False)  # our own, whose states are immutable
    child = copy.copy(child) if shallow else copy.deepcopy(child)
    with task_of(owner, leaf, child):
        if call is None or not (isinstance(child, Standardising) and child.standardize):
            return child.partial_fit(X, y, **extra, **params)
        classes = extra.get("classes")
        child._units_of_call = child._read_units(call.X, call.y, call.sample_weight, classes, call.may_wait)
        try:
            return child.partial_fit(X, y, **extra, **params)
        finally:
            del child._units_of_call


def _partial_fit_pipeline(
    pipeline: Pipeline,
    X: Any,
    y: Any,
    params: dict[str, Any],
    extra: dict[str, Any],
    first: bool,
    call: FirstCall | None,
    owner: Any,
    leaf: Any,
) -> Pipeline:
    routed = process_routing(pipeline, "fit", **params) if routing_enabled() and params else None
    steps = []
    for name, step in pipeline.steps[:-1]:
        if not _does_nothing(step):
            if first:
                step, X = _fit_transform(step, X, y, {} if routed is None else routed[name])
            else:
                X = step.transform(X)
            call = None if call is None else call.behind(step)
        steps.append((name, step))
    name, last = pipeline.steps[-1]
    if routed is not None:
        last_params = routed[name]["fit"]
    else:
        last_params = {key.removeprefix(f"{name}__"): value for key, value in params.items()}
    pipeline = copy.copy(pipeline)
    last = partial_fit_child(last, X, y, last_params, extra, first, call, owner, leaf)
    pipeline.steps = [*steps, (name, last)]
    return pipeline


def _does_nothing(step: Any) -> bool:
    return step is None or step == "passthrough"


def _fit_transform(transformer: Any, X: Any, y: Any, params: Any) -> tuple[Any, Any]:
    if hasattr(transformer, "fit_transform"):
        return transformer, transformer.fit_transform(X, y, **params.get("fit_transform", {}))
    return transformer, transformer.fit(X, y, **params.get("fit", {})).transform(X)
