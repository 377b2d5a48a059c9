"""Names of the axes of named parameters, and of the places along them."""

from itertools import product
from typing import Any

#: Axes of the named parameters, without the draws.  A regression has the last of them only; covariances have
#: the first of them, as many as their kind.
DIMENSIONS = {
    "coef": ("class", "feature"),
    "intercept": ("class",),
    "weights": ("component",),
    "means": ("component", "feature"),
    "covariances": ("component", "feature", "other_feature"),
    "stds": ("component", "feature"),
    "category_probabilities": ("component", "level"),
    "theta": ("parameter",),
    "fixed_effects": ("level_of_factor",),
    "effects": ("effect",),
    "effect_stds": ("term",),
}
#: Axes by whose places a table is grouped.
GROUPS = ("class", "component", "state")


def dimensions(model: Any, name: str, n: int) -> tuple[str, ...]:
    """Names of the n axes of a named parameter; of a user's own parameter they are numbered."""
    known = model._dimensions.get(name, tuple(f"{name}_dim_{i}" for i in range(n)))
    return known[:n] if name in ("covariances", "stds") else known[len(known) - n :]


def places(model: Any, dimension: str, size: int) -> list[Any]:
    """Names of columns, classes as they came, numbers of anything else."""
    if dimension == "class":
        return list(model.classes_)
    if dimension == "level":
        columns = places(model, "feature", model.n_features_in_)
        return [f"{name}={level}" for name, known in zip(columns, model.categories_) for level in known]
    if dimension in getattr(model, "_place_names", {}):
        return model._place_names[dimension]
    if dimension not in ("feature", "other_feature"):
        return list(range(size))
    if hasattr(model, "coef_names_"):  # not columns of X alone
        return list(model.coef_names_)
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" if names is None else names[j] for j in getattr(model, "columns_", range(size))]


def scalar_names(model: Any, shapes: dict[str, tuple[int, ...]]) -> list[tuple[str, str, tuple[int, ...]]]:
    """All scalars of named parameters of these shapes as (``"coef[bmi]"``, ``"coef"``, index).

    They are in the order of the parameters, and together for each class and for each component.
    """
    found = []
    for name, shape in shapes.items():
        axes = dimensions(model, name, len(shape))
        labels = [places(model, axis, size) for axis, size in zip(axes, shape)]
        is_grouped = bool(axes) and axes[0] in GROUPS
        for index in product(*map(range, shape)):
            words = ", ".join(str(label[i]) for label, i in zip(labels, index))
            found.append((index[0] if is_grouped else -1, f"{name}[{words}]" if words else name, name, index))
    first = [entry for entry in found if entry[0] >= 0]
    alone = [entry for entry in found if entry[0] < 0]
    return [entry[1:] for entry in [*sorted(first, key=lambda entry: entry[0]), *alone]]
