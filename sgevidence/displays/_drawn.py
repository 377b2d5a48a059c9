"""The fitted model that a display draws, and the names of its columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from ..estimators import places
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


def feature_names(estimator: Any, model: Any, size: int) -> list[str]:
    """Columns that the model uses; those of a pipeline have the names that the steps before it give them."""
    is_named = any(hasattr(model, name) for name in ("feature_names_in_", "coef_names_"))
    if isinstance(estimator, Pipeline) and not is_named:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step that does not name its columns
            names = None
        if names is not None and len(names) == model.n_features_in_:
            return [str(names[j]) for j in getattr(model, "columns_", range(size))]
    return [str(name) for name in places(model, "feature", size)]
