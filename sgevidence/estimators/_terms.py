"""Linear predictors with terms: groups, factors, curves and products beside linear effects."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from ..effects import Coding, Columns, EffectsModel, Known, RootInverseGamma
from ..history import Rows
from ..models import Family, Gaussian, HalfStudentT
from ._coded_units import CodedUnits, in_units, without_levels
from ._input import column_indices
from ._units import Units


def read_columns(model: Any, X: Any, terms: Sequence, columns: Any, reset: bool) -> np.ndarray:
    """Columns of numbers with a linear effect, then numbers of levels; ``columns_`` are the former."""
    validate_data(model, X, reset=reset, skip_check_array=True)
    X = X if hasattr(X, "columns") else np.asarray(X)
    if reset:
        names = list(X.columns) if hasattr(X, "columns") else list(range(X.shape[1]))
        given = None if columns is None else [names[j] for j in column_indices(columns, len(names), names)]
        model._read = Columns.of(X, terms, given)
        model.columns_ = np.array([names.index(name) for name in model._read.linear], dtype=int)
    return model._read.read(X)


def read_pair(
    model: Any, X: Any, y: Any, terms: Sequence, columns: Any, reset: bool, y_numeric: bool = True
) -> tuple[np.ndarray, Any]:
    """As :func:`read_columns`, and y."""
    read = read_columns(model, X, terms, columns, reset)
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None")
    y = _check_y(y, y_numeric=y_numeric, estimator=model) if y_numeric else np.asarray(y)
    check_consistent_length(read, y)
    return read, y


def coded(model: Any, terms: Sequence, rows: Rows, units: Units | None, kind: str) -> CodedUnits:
    """Units and coding of the first rows; numbers as they are given have units of one."""
    p, centred = len(model.columns_), units is not None and model.fit_intercept
    if units is None:
        units = Units(np.zeros(p), np.ones(p), 0.0, 1.0, 0.0, kind=kind)
    X = in_units(units, rows.X, len(model._read.levels))
    scales = model.coef_scale, model._intercept_scale if model.fit_intercept else None
    return CodedUnits.of(units, Coding.of(model._read, terms, X, rows.weight, scales, centred))


def plain_rows(model: Any, rows: Rows) -> Rows:
    """Rows without the numbers of levels, of which units are taken."""
    return without_levels(rows, len(model.columns_), len(model._read.levels))


def effects_model(model: Any, family: Family, has_offset: bool) -> EffectsModel:
    """The model of a coding."""
    units = model._units
    return EffectsModel(
        n_features=len(units.scale),
        family=family,
        fit_intercept=model.fit_intercept,
        coef_scale=model.coef_scale,
        intercept_scale=model._intercept_scale,
        has_offset=has_offset,
        intercept_center=float(units.intercept_center),
        layout=units.coding.layout,
    )


def gaussian_family(linear_model: Any) -> Gaussian:
    """The noise of a linear regression, as a family has it."""
    if linear_model.noise_std is not None:
        return Gaussian(noise_std=Known(linear_model.noise_std))
    if linear_model.noise_prior is not None:
        return Gaussian(noise_std=RootInverseGamma(*linear_model.noise_prior))
    return Gaussian(noise_std=HalfStudentT(linear_model.noise_scale))
