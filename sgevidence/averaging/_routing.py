"""Where metadata goes: ``sample_weight``, ``offset`` and what else the models of an average request."""

from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from .._compat import raise_for_params


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
        return {name: _for_last_step(child, given) for name, child in children}
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


def _for_last_step(child: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Without metadata routing a pipeline takes ``laststep__sample_weight``."""
    if isinstance(child, Pipeline):
        name, last = child.steps[-1]
        return {f"{name}__{key}": value for key, value in _for_last_step(last, params).items()}
    return dict(params)
