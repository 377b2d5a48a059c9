"""Effects that terms have found: of levels, of curves, and their shares of the variance of y.

Symbols: ``theta`` = draws (M, d), ``W`` = their weights.
"""

from typing import Any, NamedTuple

import numpy as np

from ..effects import (
    CODE,
    BSpline,
    Cycle,
    EffectsModel,
    Group,
    Interaction,
    Smooth,
    fixed_effects,
    group_effects,
    level_words,
)
from ..models import Predicted
from ..particles import spread
from ..tables import Table, in_pandas
from ._terms import terms_of

#: Draws of which curves and shares of variance are made, and points of a curve.
N_CURVE_DRAWS, N_CURVE_POINTS = 400, 120


def level_effects(model: Any, named: dict[str, np.ndarray]) -> list[tuple[Any, np.ndarray]]:
    """Effects of levels with their draws (M,), of every class, those of curves left out."""
    coding = model._units.coding
    labels = {"fixed_effects": fixed_effects(coding)[0], "effects": group_effects(coding)[0]}
    found = [
        pair
        for name in labels
        if name in named
        for pair in zip(labels[name], np.moveaxis(named[name], -1, 0))
    ]
    curves = {term.name for term in terms_of(model) if isinstance(term, Smooth | BSpline)}
    found = [(effect, values) for effect, values in found if effect.term not in curves]
    if not found or found[0][1].ndim == 1:
        return found
    return [
        (effect._replace(label=f"{effect.label}, {label}"), values[:, k])
        for k, label in enumerate(model.classes_)
        for effect, values in found
    ]


def effects_table(model: Any) -> Any:
    """Posterior mean and standard deviation of every level's effect, in the data's units."""
    W, parameters = model.particle_weights_, model._parameters(model.particles_)
    found = level_effects(model, parameters)
    mean = np.array([W @ values for _, values in found])
    sd = np.sqrt([W @ (values - m) ** 2 for (_, values), m in zip(found, mean)])
    levels = np.empty(len(found), dtype=object)  # of several kinds
    levels[:] = [effect.level for effect, _ in found]
    named: dict[str, Any] = {}
    if parameters.get("fixed_effects", W).ndim == 3:
        named["class"] = np.repeat(model.classes_, len(found) // len(model.classes_))
    named |= {
        "term": [effect.term for effect, _ in found],
        "level": levels,
        "mean": mean,
        "sd": sd,
    }
    return in_pandas(Table(named, [effect.label for effect, _ in found]))


class CurveDraws(NamedTuple):
    """A curve in the unit of y; with a line it is zero at the mean of the column, else its mean is zero."""

    name: str
    x: np.ndarray  #: (n,)
    f: np.ndarray  #: (M, n)


def curves(model: Any) -> list[CurveDraws]:
    """Draws of all curves of a fitted model over the range of their columns."""
    if not model._has_terms or not any(isinstance(t, Smooth | BSpline) for t in terms_of(model)):
        return []
    coding, theta = model._units.coding, model.particles_[spread(model.particle_weights_, N_CURVE_DRAWS)]
    named = model._parameters(theta)
    labels = [effect.term for effect in fixed_effects(coding)[0]]
    found = []
    for term in (term for term in terms_of(model) if term.name in coding.curves):
        curve = coding.curves[term.name]
        low, high = (curve if isinstance(curve, Cycle) else curve.splines).range
        x = np.linspace(low, high, N_CURVE_POINTS)
        if isinstance(term, Smooth):
            found += curves_of_levels(model, term, x, theta)
            continue
        contrasts = named["fixed_effects"][..., [name == term.name for name in labels]]
        a = contrasts @ np.linalg.pinv(curve.from_contrasts).T
        f = a @ (curve.columns(x) - coding.means[term.name]).T
        if f.ndim == 3:
            found += [CurveDraws(f"{term.column}, {c}", x, f[:, k]) for k, c in enumerate(model.classes_)]
        else:
            found.append(CurveDraws(str(term.column), x, f))
    return found


def curves_of_levels(model: Any, term: Smooth, x: np.ndarray, theta: np.ndarray) -> list[CurveDraws]:
    """The curve of each level, or that of all, with its line, by the model's own linear predictor."""
    coding, units, found = model._units.coding, model._units.units, []
    columns, names, is_cyclic = coding.columns, np.array(coding.column_terms), term.period is not None
    at = columns.place(term.column) if is_cyclic else columns.linear.index(term.column)
    own = {term.name, *([] if is_cyclic else [str(term.column)])}
    own |= {one.name for one in coding.terms if isinstance(one, Interaction) and has_lines(one, term)}
    kept = np.isin(names, [*own, CODE])
    for group in (one for one in coding.terms if isinstance(one, Group) and one.column == term.by):
        kept[np.flatnonzero(names == group.name)] = [
            effect == term.column and not is_cyclic for effect in group.effects
        ]
    for k, level in enumerate([None] if term.by is None else columns.levels_of(term.by)):
        rows = np.zeros((len(x), len(columns.linear) + columns.n_apart))
        rows[:, at] = x
        if level is not None:
            rows[:, columns.place(term.by)] = k
        alone = np.where(kept, coding.encoded(rows), 0.0)
        f = units.y_scale * (model._model.linear_predictor(theta, alone) - model._model.intercept_center)
        shown = x if is_cyclic else units.center[at] + units.scale[at] * x
        name = str(term.column) if level is None else f"{term.column} | {level_words(level)}"
        found.append(CurveDraws(name, shown, f))
    return found


def has_lines(product: Interaction, curve: Smooth) -> bool:
    """Whether a product has the lines of the levels of a curve."""
    return {getattr(part, "column", part) for part in product} == {curve.column, curve.by}


def variance_shares(model: Any, X: np.ndarray) -> Any:
    """Share of each term, and of the noise, in the sum of their variances over encoded rows (n, c).

    The linear predictor is linear in the columns, so that a term's part is that of its columns alone.
    """
    if not isinstance(model._model, EffectsModel):
        raise AttributeError("shares of the variance are those of a model with groups or curves")
    if getattr(model, "_std_unit", None) is not None:
        raise AttributeError("rows with known_std= share no noise whose share of the variance could be told")
    theta = model.particles_[spread(model.particle_weights_, N_CURVE_DRAWS)]
    names, variance = np.array(model._units.coding.column_terms), {}
    for name in dict.fromkeys(names[(names != "") & (names != CODE)]):
        alone = np.where((names == name) | (names == CODE), X[:, : len(names)], 0.0)
        variance[str(name)] = np.var(model._model.linear_predictor(theta, alone), axis=1)
    own = model._model.parameters(theta)
    if "noise_std" in own:
        family, (_, *more) = model._model.family, model._model._distribution(theta, X)
        given = family.law_of_rows(more)[0] if isinstance(family, Predicted) else own["noise_std"][:, None]
        variance["noise"] = np.mean(given**2, axis=1)
    shares = np.array(list(variance.values())) / np.sum(list(variance.values()), axis=0)
    low, high = np.quantile(shares, [0.05, 0.95], axis=1)
    return in_pandas(Table({"share": shares.mean(axis=1), "5%": low, "95%": high}, list(variance)))
