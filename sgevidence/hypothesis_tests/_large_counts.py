r"""Logarithms of gamma functions whose large parts cancel, and sums over as many terms as there are counts.

log Γ of a count of 10¹² is 10¹³ and has an error of .004 in double precision, so that sums of them are taken
in decimals, by

    log Γ(x) = (x − ½) log x − x + ½ log 2π + 1/(12x) − 1/(360x³) + 1/(1260x⁵) − …

A sum over whole numbers of a log-concave term that changes over many of them is an integral, with a relative
error of the square of one over the width.
"""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
from scipy.special import gammaln

#: Counts up to which doubles have ten digits of the answer behind the point.
LARGEST_OF_DOUBLES = 1e5
#: Arguments from which on the series has 17 digits, and digits of the decimals.
LEAST_OF_SERIES, DIGITS = 200.0, 60
#: Coefficients of 1/x, 1/x³, … in the series of log Γ.
SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)
HALF_LOG_2PI_DECIMAL = Decimal("0.9189385332046727417803297364056176398613974736377834128")
#: Nats below the largest term at which a sum ends, terms that are added one by one, and nodes beyond.
NEGLIGIBLE_TERM_NATS, MOST_TERMS, PANELS, NODES = 50.0, 100_000, 64, 32


def log_gamma_sum(plus: np.ndarray, minus: np.ndarray) -> float:
    """Σ log Γ over the first arguments less that over the second, which may nearly cancel."""
    if max(plus.max(), minus.max()) <= LARGEST_OF_DOUBLES:
        return float(gammaln(plus).sum() - gammaln(minus).sum())
    with localcontext() as context:
        context.prec = DIGITS
        total = Decimal(0)
        for sign, values in ((1, plus), (-1, minus)):
            distinct, counts = np.unique(values, return_counts=True)
            for value, n in zip(distinct.tolist(), counts.tolist()):
                total += sign * n * _log_gamma(value)
        return float(total)


def _log_gamma(value: float) -> Decimal:
    if value < LEAST_OF_SERIES:
        return Decimal(math.lgamma(value))
    x = Decimal(value)
    rest = sum((Decimal(c) / x ** (2 * k + 1) for k, c in enumerate(SERIES)), Decimal(0))
    return (x - Decimal("0.5")) * x.ln() - x + HALF_LOG_2PI_DECIMAL + rest


def log_gamma_step(x: np.ndarray | float, d: np.ndarray) -> np.ndarray:
    """log Γ(x + d) − log Γ(x), of many d; the difference is not lost where x is large."""
    x = np.asarray(x, dtype=float)
    end = x + d
    if x.min() < LEAST_OF_SERIES or end.min() < LEAST_OF_SERIES:
        return np.where(
            np.minimum(x, end) < LEAST_OF_SERIES, gammaln(end) - gammaln(x), _step(np.maximum(x, 1.0), d)
        )
    return _step(x, d)


def _step(x: np.ndarray, d: np.ndarray) -> np.ndarray:
    end = np.maximum(x + d, 1.0)
    rest = sum(c * (end ** -(2 * k + 1.0) - x ** -(2 * k + 1.0)) for k, c in enumerate(SERIES))
    return d * np.log(x) + (end - 0.5) * np.log1p(np.maximum(d / x, 1.0 / x - 1.0)) - d + rest


def log_sum(log_term: Callable[[np.ndarray], np.ndarray], low: int, high: int) -> float:
    """log Σ_k exp log_term(k), low ≤ k ≤ high, of a log-concave term."""
    top = _mode(log_term, low, high)
    most = float(log_term(np.array([float(top)]))[0])
    first = _end(log_term, top, low, most - NEGLIGIBLE_TERM_NATS)
    last = _end(log_term, top, high, most - NEGLIGIBLE_TERM_NATS)
    if last - first < MOST_TERMS:
        return most + float(np.log(np.exp(log_term(np.arange(first, last + 1.0)) - most).sum()))
    edges = np.linspace(first - 0.5, last + 0.5, PANELS + 1)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2
    k = (edges[:-1, None] + half * (1 + nodes)).ravel()
    return most + float(np.log(np.sum((half * weights).ravel() * np.exp(log_term(k) - most))))


def _mode(log_term: Callable[[np.ndarray], np.ndarray], low: int, high: int) -> int:
    """The largest term, by where the next one is no larger."""
    while low < high:
        middle = (low + high) // 2
        here, following = log_term(np.array([float(middle), middle + 1.0]))
        low, high = (middle + 1, high) if following > here else (low, middle)
    return low


def _end(log_term: Callable[[np.ndarray], np.ndarray], top: int, limit: int, least: float) -> int:
    """The last term on the way from the largest to the limit that counts."""
    if float(log_term(np.array([float(limit)]))[0]) >= least:
        return limit
    inside, outside = top, limit
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        is_inside = float(log_term(np.array([float(middle)]))[0]) >= least
        inside, outside = (middle, outside) if is_inside else (inside, middle)
    return inside
