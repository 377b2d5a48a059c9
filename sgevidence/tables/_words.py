"""Names that fit into a line, and numbers with their errors."""

from collections.abc import Sequence

import numpy as np

#: Characters of a line.
WIDTH = 80
#: Fewest characters of a name, however wide the numbers beside it are.
MIN_NAME_WIDTH = 12
#: Fewest characters of a parameter's name.
LEAST_KEY = 3
#: Significant digits of a standard deviation; the other numbers of its row end at the same decimal.
STD_DIGITS = 2
#: Standard deviation, as a share of a number, that is rounding.
ROUNDING = 1e-12
#: Decimals, and digits before the point, that are written out; beyond, numbers have an exponent.
MOST_DECIMALS, MOST_DIGITS = 6, 7


def shortened(names: Sequence[str], taken: int) -> list[str]:
    """Names without their middle where a line of which ``taken`` characters are used has no room.

    Parameters such as ``n_components=2, covariance_type=full`` keep their values, which tell them apart.
    """
    width = max(WIDTH - taken, MIN_NAME_WIDTH)
    return [name if len(name) <= width else _cut(name, width) for name in names]


def _cut(name: str, width: int) -> str:
    """Parameters ``key=value, …`` lose letters of their keys, other names their middle."""
    pairs = [part.partition("=") for part in name.split(", ")]
    room = (width - sum(len(value) + 1 for _, _, value in pairs) - 2 * (len(pairs) - 1)) // len(pairs)
    if room >= LEAST_KEY and all(sign for _, sign, _ in pairs):
        keys = (key if len(key) <= room else f"{key[: room - 1]}…" for key, _, _ in pairs)
        return ", ".join(f"{key}={value}" for key, (_, _, value) in zip(keys, pairs))
    half = (width - 1) // 2
    return f"{name[: width - 1 - half]}…{name[-half:]}"


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
