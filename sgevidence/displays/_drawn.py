"""The fitted model that a display draws."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..model_selection import last_step


def drawn(display: type, estimator: Any, *attributes: str) -> Any:
    """The model behind pipelines, which has one of the attributes that the display reads.

    TypeError names the display and what it draws instead.
    """
    model = last_step(estimator)
    if any(hasattr(owner, name) for owner in (model, type(model)) for name in attributes):
        return model  # not fitted, it says so itself
    advice = ""
    if isinstance(estimator, Mapping | Sequence):
        several = hasattr(display, "from_estimators")
        advice = ": from_estimators draws several" if several else ": give one of them"
    raise TypeError(
        f"{display.__name__} draws a fitted estimator with {' or '.join(attributes)}, "
        f"got {type(model).__name__}{advice}"
    )
