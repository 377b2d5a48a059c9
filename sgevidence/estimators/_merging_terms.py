"""Sums by level of two models with terms under the numbers of all levels, in the units of the first."""

import copy
from typing import Any

import numpy as np

from ..effects import BSpline, ColumnMaps, LevelSums, Monotone, Smooth, relaid
from ..history import Rows
from ._terms import set_sums, sums_of, terms_of, with_levels_of

#: Rows on which columns in two units are compared, for each column.
N_PROBES_PER_COLUMN = 4


def in_terms_of(whole: Any, other: Any) -> Any:
    """A copy of ``other`` with the sums that ``whole`` would have of its rows; ``whole`` learns its levels.

    ValueError where sums do not say them.
    """
    refuse_terms(whole, other)
    before, sums = other._units.coding, sums_of(other)
    maps = ColumnMaps.between(before.layout, *probed(whole, other))
    if maps is None:
        raise ValueError(
            "models with slopes without an intercept, or products without their main effects, cannot be "
            "merged in different units: give both the same units="
        )
    with_levels_of(whole, whole._read.united(other._read))
    out = copy.copy(other)
    layout, places = whole._units.coding.layout, before.places(whole._read)
    set_sums(out, relaid(sums, before.layout, layout, places, maps))
    return out


def refuse_terms(whole: Any, other: Any) -> None:
    """Only groups, factors and products of Gaussian y have sums that add up."""
    if not all(isinstance(sums_of(one), LevelSums) for one in (whole, other)) or whole.evidence_is_relative_:
        raise ValueError(
            "models with terms can be merged where y is Gaussian and a term is a Group, and not with "
            "prior='jzs': learn one after the other with partial_fit"
        )
    if any(isinstance(term, Smooth | BSpline | Monotone) for term in terms_of(whole)):
        raise ValueError(
            "models with curves or monotone effects cannot be merged: their knots and means are those of the "
            "first rows"
        )
    if (terms_of(whole), whole._read.linear) != (terms_of(other), other._read.linear):
        raise ValueError(f"models cannot be merged whose terms differ: {terms_of(whole)}, {terms_of(other)}")


def probed(whole: Any, other: Any) -> tuple[tuple, tuple]:
    """Columns and y of the same random rows, as the other one and the whole see them."""
    # seed of the rows: where a map is exact, any rows give it
    rng, units, columns = np.random.default_rng(0), whole._units.units, other._read
    n = N_PROBES_PER_COLUMN * other._units.coding.layout.n_columns + 20
    numbers = units.center + units.scale * rng.standard_normal((n, len(units.scale)))
    codes = [rng.integers(0, len(levels.number), n) for levels in columns.levels]
    rows = Rows.of(np.column_stack([numbers, *codes]), units.restored_y(rng.standard_normal(n)))
    seen = [one._units.rows(rows) for one in (other, whole)]
    return tuple((one.X, one.y) for one in seen)  # type: ignore[return-value]
