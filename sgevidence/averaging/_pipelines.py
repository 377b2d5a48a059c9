"""Models of an average: their checks, and a stream through them, pipelines among them.

scikit-learn's pipelines have no ``partial_fit``.  Here their transformers are fitted on the first chunk
and kept, and the last step sees the chunks as they transform them; its units are those of all rows of the
first call, transformed so.  Rows come in the chunks in which models predict them and then learn from them,
in the order given.

Metadata (``sample_weight``, ``offset`` and what else models request) go to the models, behind transformers.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from .._compat import num_samples, raise_for_params, safe_indexing
from ..estimators import Standardising, target_if_there, task_of
from ..model_selection import does_nothing, for_last_step, last_step, named_models
from ..rows import read_labels


class Chunk(NamedTuple):
    """Some of the rows of a call."""

    X: Any
    y: Any
    sample_weight: Any

    @property
    def weight(self) -> np.ndarray:
        """How often each row counts, (n,)."""
        one = 1.0 if self.sample_weight is None else self.sample_weight
        return np.broadcast_to(np.asarray(one, dtype=float), (num_samples(self.X),))


class FirstCall(NamedTuple):
    """All rows of a call that is cut into chunks, of which models that have no units yet take theirs."""

    X: Any
    y: Any
    sample_weight: Any
    may_wait: bool  #: for more rows

    def behind(self, transformer: Any) -> "FirstCall":
        """These rows as a fitted transformer makes them."""
        return self._replace(X=transformer.transform(self.X))


def chunks(X: Any, y: Any, sample_weight: Any, n_before: int, chunk_size: int) -> Iterator[Chunk]:
    """Chunks that double the rows seen, from ten, until they have ``chunk_size``; no rows of weight zero."""
    X, y, sample_weight = (_sliceable(one) for one in (X, y, sample_weight))
    per_row = sample_weight is not None and np.ndim(sample_weight) > 0
    check_consistent_length(X, y, sample_weight if per_row else None)
    if per_row and 0 < np.count_nonzero(sample_weight) < num_samples(X):
        X, y, sample_weight = (
            None if one is None else safe_indexing(one, np.flatnonzero(sample_weight))
            for one in (X, y, sample_weight)
        )
    if not num_samples(X):
        yield Chunk(X, y, sample_weight)  # for the models to refuse
    start, n = 0, num_samples(X)
    while start < n:
        # rows of the first chunk, from which chunks double
        stop = min(start + min(chunk_size, max(10, n_before + start)), n)
        piece = slice(start, stop)
        yield Chunk(
            safe_indexing(X, piece),
            None if y is None else safe_indexing(y, piece),
            safe_indexing(sample_weight, piece) if per_row else sample_weight,
        )
        start = stop


def labels(pieces: list[Chunk]) -> np.ndarray | None:
    """The classes of all rows, of which the first chunk may not have all; None for the models to refuse."""
    if pieces[0].y is None:
        return None
    return np.unique(read_labels(np.concatenate([np.ravel(np.asarray(piece.y)) for piece in pieces])))


def target_in(models: Iterable[Any], X: Any, y: Any) -> Any:
    """y, or that of the first model whose formula names a column of X; None where nobody says y."""
    for model in models:
        y = target_if_there(last_step(model), X, y)
    return y


def _sliceable(array: Any) -> Any:
    """Rows of an argument that has rows, as scikit-learn slices it."""
    if issparse(array):
        return array.tocsr()
    known = array is None or np.isscalar(array) or hasattr(array, "iloc") or hasattr(array, "__getitem__")
    return array if known else np.asarray(array)


def is_online(child: Any) -> bool:
    """Can it learn from rows as they come?  A frozen model does not learn."""
    if isinstance(child, Pipeline):
        return is_online(child.steps[-1][1])
    return not isinstance(child, FrozenEstimator) and hasattr(child, "partial_fit")


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
        child._of_call = child._reader_of(call.X, call.y, call.sample_weight, classes, call.may_wait)
        try:
            return child.partial_fit(X, y, **extra, **params)
        finally:
            del child._of_call


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
        if not does_nothing(step):
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


def _fit_transform(transformer: Any, X: Any, y: Any, params: Any) -> tuple[Any, Any]:
    if hasattr(transformer, "fit_transform"):
        return transformer, transformer.fit_transform(X, y, **params.get("fit_transform", {}))
    return transformer, transformer.fit(X, y, **params.get("fit", {})).transform(X)


def router(owner: Any, named_models: list[tuple[str, Any]]) -> MetadataRouter:
    """To the models that request the metadata; those of a score are those of the predictions in it."""
    router = MetadataRouter(owner=owner)
    for name, model in named_models:
        mapping = MethodMapping()
        for method in ("fit", "partial_fit", "predict"):
            mapping.add(caller=method, callee=_callee(model, method))
        mapping.add(caller="score", callee="predict")
        router.add(**{name: model}, method_mapping=mapping)
    return router


def route(
    owner: Any, method: str, children: list[tuple[str, Any]], sample_weight: Any, params: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Keyword arguments of each child's method, by name."""
    given = params if sample_weight is None else {"sample_weight": sample_weight, **params}
    if not routing_enabled():
        return {name: for_last_step(child, given) for name, child in children}
    if not given:
        return {name: {} for name, _ in children}
    routed = process_routing(owner, method, **given)
    return {name: dict(routed[name][_callee(child, method)]) for name, child in children}


def route_to_last_steps(owner: Any, named_models: list[tuple[str, Any]], params: dict[str, Any]) -> list[Any]:
    """Keyword arguments for predictions and scores of what is behind each model's transformers."""
    raise_for_params(params, owner, "predict")
    if not params:
        return [{} for _ in named_models]
    routed = process_routing(owner, "predict", **params)
    return [_through_pipelines(model, dict(routed[name]["predict"])) for name, model in named_models]


def _through_pipelines(model: Any, params: dict[str, Any]) -> dict[str, Any]:
    while isinstance(model, Pipeline) and params:
        name, last = model.steps[-1]
        params, model = dict(process_routing(model, "predict", **params)[name]["predict"]), last
    return params


def routing_enabled() -> bool:
    """Is scikit-learn's metadata routing switched on?"""
    return get_config()["enable_metadata_routing"]


def _callee(child: Any, method: str) -> str:
    """Pipelines have no partial_fit: their ``fit`` says what the steps want."""
    return "fit" if isinstance(child, Pipeline) and method == "partial_fit" else method


def as_pairs(estimators: Any) -> Any:
    """Names and models of a mapping or of a list of models, named as :func:`compare` does; else as it is."""
    if isinstance(estimators, Mapping):
        return list(estimators.items())
    if isinstance(estimators, list | tuple) and estimators:
        if all(hasattr(model, "get_params") and not isinstance(model, type) for model in estimators):
            return list(named_models(estimators).items())
    return estimators


def check_pairs(estimators: Any) -> None:
    """The list of models is one of names and models."""
    if (
        not estimators
        or not isinstance(estimators, list | tuple)
        or not all(isinstance(p, list | tuple) and len(p) == 2 for p in estimators)
    ):
        raise ValueError(
            "estimators must be a dict of estimators by name, a list of them, or a non-empty list of (name, "
            f"estimator) pairs, got {estimators!r}"
        )


def check_kinds(named_models: Sequence[tuple[str, Any]]) -> None:
    """All models are regressors, all classifiers or all densities, as far as they say what they are."""
    kinds: dict[str, str] = {}
    for name, model in named_models:
        kind = get_tags(model).estimator_type
        if kind is not None:
            kinds.setdefault(kind, name)
    if len(kinds) > 1:
        raise ValueError(
            "evidences of different kinds of models cannot be compared: "
            + ", ".join(f"{name!r} is a {kind}" for kind, name in kinds.items())
        )


def check_online(named_models: Sequence[tuple[str, Any]], method: str) -> None:
    """All models learn from rows as they come."""
    for name, model in named_models:
        if not is_online(model):
            raise ValueError(
                f"method={method!r} has models predict rows before they learn from them, but estimator "
                f"{name!r} cannot learn from rows as they come: it has no partial_fit"
            )


def evidences(models: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Log evidences of fitted models and their standard errors, nats; an error that is not told is nan."""
    log_Z = np.array([model.log_evidence_ for model in models], dtype=float)
    return log_Z, np.array([getattr(model, "log_evidence_std_", np.nan) for model in models], dtype=float)
