"""Parameters may not change in mid-stream: the rows before were learnt with the old ones.

A sampler's state, the model inside it and the evidence so far all belong to the parameters of the first
call.  With others the next rows would give the evidence of neither model.
"""

import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..samplers import SGAIS


@cache
def default_sampler() -> SGAIS:
    """The sampler of ``sampler=None``: one for all, since nobody is given it to change."""
    return SGAIS()


@cache
def _default_parameters() -> dict[str, Any]:
    return {key: _value(value) for key, value in default_sampler().get_params(deep=True).items()}


def settings(estimator: Any) -> dict[str, Any]:
    """Values of all parameters by name, of those that are objects the class; None as sampler is SGAIS()."""
    found: dict[str, Any] = {}
    for name, value in _parameters(estimator):
        *_, last = name.split("__")
        if last == "sampler" and value is None:
            value = default_sampler()
            found |= {f"{name}__{key}": v for key, v in _default_parameters().items()}
        # these change nothing of what has been learnt
        if last not in {"verbose", "n_jobs", "random_state", "max_calls"}:
            found[name] = _value(value)
    return found


def _parameters(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of ``get_params(deep=True)``; the signature of a class is looked at once."""
    if type(estimator).get_params is not BaseEstimator.get_params:  # of pipelines, which add their steps
        yield from estimator.get_params(deep=True).items()
        return
    for name in _names(type(estimator)):  # type: ignore[arg-type]
        value = getattr(estimator, name)
        yield name, value
        if hasattr(value, "get_params") and not isinstance(value, type):
            yield from ((f"{name}__{key}", part) for key, part in value.get_params(deep=True).items())


@cache
def _names(cls: type) -> list[str]:
    return sorted(inspect.signature(cls).parameters)


def settings_of_all(models: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Parameters of named models, as ``name__param``."""
    found: dict[str, Any] = {}
    for name, model in models:
        found |= {name: type(model)} | {f"{name}__{key}": value for key, value in settings(model).items()}
    return found


def _value(value: Any) -> Any:
    """A copy that is not changed with the parameter, and can be compared by ``==``."""
    if hasattr(value, "__array__"):  # of pandas and polars, too
        value = np.asarray(value).tolist()
    if isinstance(value, float) and np.isnan(value):
        return "nan"  # is not equal to itself
    if isinstance(value, list | tuple):
        return tuple(map(_value, value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        return type(value)
    return dict(value) if isinstance(value, dict) else value


def refuse_changes(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Say what is no longer as it was: ValueError names the parameters with old and new values."""
    changed = [name for name in before | now if before.get(name, None) != now.get(name, None)]
    others = [name for name in changed if not any(name.startswith(f"{c}__") for c in changed)]
    if others:
        words = [f"{name} was {_word(before.get(name))}, is {_word(now.get(name))}" for name in others]
        raise ValueError(
            f"parameters changed since the rows before were learnt: {'; '.join(words[:5])}"
            f"{f'; and {len(words) - 5} more' if len(words) > 5 else ''}: call fit to start anew"
        )


def _word(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else repr(value)
