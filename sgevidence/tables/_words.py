"""Numbers with their errors."""

import numpy as np

#: Characters of a line.
WIDTH = 80
#: Significant digits of a standard deviation; the other numbers of its row end at the same decimal.
STD_DIGITS = 2
#: Standard deviation, as a share of a number, that is rounding.
ROUNDING = 1e-12
#: Decimals, and digits before the point, that are written out; beyond, numbers have an exponent.
MOST_DECIMALS, MOST_DIGITS = 6, 7


def with_errors(values: np.ndarray, stds: np.ndarray) -> list[str]:
    """Values as ``-12.34 ± 0.05``, to hundredths of a nat, which are less than a reader needs to decide."""
    errors = ["0" if s == 0 else f"{s:.2f}" if s >= 0.01 or np.isnan(s) else "<0.01" for s in stds]
    width = max(map(len, errors))
    return [f"{v:.2f} ± {error.ljust(width)}" for v, error in zip(values, errors)]


def to_digits(value: float, sd: float) -> str:
    """A number to the second digit of a standard deviation."""
    if not np.isfinite(value) or not np.isfinite(sd) or sd == 0:
        return f"{value:.6g}"
    decimals = STD_DIGITS - 1 - int(np.floor(np.log10(sd)))
    if decimals <= MOST_DECIMALS and abs(value) < 10.0**MOST_DIGITS:
        return f"{round(value, max(decimals, 0)) + 0.0:.{max(decimals, 0)}f}"  # no −0
    before = int(np.floor(np.log10(abs(value)))) if value else 0
    return f"{value:.{min(max(before + decimals, 1), 15)}e}"
