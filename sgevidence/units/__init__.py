"""Units that priors are stated in: taken from the first rows, held, and watched."""

from ._coded_units import CodedUnits, fold_of_numbers, in_units, numbers_alone
from ._intercepts import LINK_SCALE, class_centers, intercept_center
from ._unit_watch import LEFT_UNITS, UnitWatch, wild
from ._units import (
    MIN_ROWS,
    MOST_HELD,
    Fold,
    Units,
    UnitsUnknown,
    log_slopes,
    refuse_few,
    sum_of_slopes,
)

__all__ = [
    "CodedUnits",
    "Fold",
    "LEFT_UNITS",
    "LINK_SCALE",
    "MIN_ROWS",
    "MOST_HELD",
    "UnitWatch",
    "Units",
    "UnitsUnknown",
    "class_centers",
    "fold_of_numbers",
    "in_units",
    "intercept_center",
    "log_slopes",
    "sum_of_slopes",
    "refuse_few",
    "wild",
    "numbers_alone",
]
