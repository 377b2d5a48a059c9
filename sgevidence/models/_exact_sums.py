r"""Sums of squares and products over rows, without any rounding.

A Gaussian likelihood asks of its rows for Σ ω, Σ ω v and Σ ω v vᵀ.  Rounded, these lose what a column far
from zero says: the square of a timestamp in nanoseconds has no digit left for differences.  Here nothing is
rounded, however the rows are cut and in whatever order they come: a stream of any length is remembered in a
matrix of integers.

Each number is cut into slices of a few bits, v = Σ_l v_l 2^(−βl), so short that the matrix products of
slices are exact in double precision (Ozaki, Ogita, Oishi and Rump 2012):

    2^β · 2^β · (rows of a block) ≤ 2⁵³,        β = 20 for 4096 rows; 13 with a slice of ω as a third factor.

Only what is smaller than 10⁻³⁰⁰ of the largest value in its column is left out.

Symbols: v, ω ``v, w`` = rows (n, q), their weights (n,); β ``bits`` = bits of a slice; ``k`` = slices of both
factors (and of ω): the product's place.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

#: Rows of a block, 2¹².
ROWS_OF_BLOCK = 4096
#: Slices that integers of 64 bits hold the sums of.
BEFORE_CARRY = 512
#: Binary digits of the factors of an affine map: far below the rounding of the rows themselves.
MAP_BITS = 256
#: Prime modulo which ranks are taken, 2³¹ − 1: products of two remainders are integers of 64 bits.
PRIME = 2**31 - 1


class ExactSums(NamedTuple):
    """Σ_r ω_r v_ri v_rj = ``integers[i, j]`` · 2^(``exponents[i]`` + ``exponents[j]`` + ``unit``)."""

    integers: np.ndarray  #: Python's, (q, q)
    exponents: np.ndarray  #: (q,)
    unit: int

    @classmethod
    def of_rows(cls, rows: Any, table: Callable[[Any], np.ndarray]) -> "ExactSums":
        """Sums over the rows of ``table(block)`` (n, q), which is never made of all of them at once."""
        # rows of a table that is made at a time: 5 MB of twenty columns
        return rows.fold(lambda block: cls.of(table(block), block.weight), 32_768)

    @classmethod
    def of(cls, v: np.ndarray, w: np.ndarray) -> "ExactSums":
        """Sums over the rows of v (n, q), each counted w (n,) times."""
        q = v.shape[1]
        if not len(v):
            return cls(np.zeros((q, q), dtype=int).astype(object), np.zeros(q, dtype=int), 0)
        if len(v) == 1:
            return cls._of_row(v[0], w[0])
        equal = bool(np.all(w == w[0]))
        # bits of a slice with equal weights, and with weights that are sliced as well
        bits = 20 if equal else 13
        top, weight_top = _exponents(v), _exponents(w[:, None])
        by_place: dict[int, np.ndarray] = {}
        total: dict[int, np.ndarray] = {}
        n_slices = 0
        for start in range(0, len(v), ROWS_OF_BLOCK):
            slices = _slices(v[start : start + ROWS_OF_BLOCK], top, bits)
            A, L = np.concatenate(slices), len(slices)  # (L q, rows of the block)
            weights = [None] if equal else _slices(w[start : start + ROWS_OF_BLOCK, None], weight_top, bits)
            for a, u in enumerate(weights):
                G = ((A if u is None else A * u) @ A.T).reshape(L, q, L, q)
                for left in range(L):
                    for right in range(L):
                        k = left + right + a
                        by_place[k] = by_place.get(k, 0) + G[left, :, right].astype(np.int64)
            n_slices += L * len(weights)
            if n_slices > BEFORE_CARRY:
                total, by_place, n_slices = _carried(total, by_place), {}, 0
        total = _carried(total, by_place)
        last = max(total)
        integers = np.sum([part * (1 << bits * (last - k)) for k, part in total.items()], axis=0)
        if equal:
            mantissa, exponent = np.frexp(w[0])
            return cls(integers * int(mantissa * 2.0**53), top - bits, int(exponent) - 53 - bits * last)
        return cls(integers, top - bits, int(weight_top[0]) - bits * (last + 1))

    @classmethod
    def _of_row(cls, v: np.ndarray, w: float) -> "ExactSums":
        """Products of the mantissas of one row, without slices."""
        _exponents(v[None])  # which refuses what is not finite
        mantissas, exponents = np.frexp(np.append(v, w))
        whole = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
        products = np.multiply.outer(whole[:-1], whole[:-1]) * whole[-1]
        return cls(products, exponents[:-1].astype(int) - 53, int(exponents[-1]) - 53)

    def plus(self, other: "ExactSums") -> "ExactSums":
        """Sums over both sets of rows; columns that follow in one set only are ones in the other."""
        if len(self.exponents) != len(other.exponents):
            q = max(len(self.exponents), len(other.exponents))
            return self._widened(q).plus(other._widened(q))
        exponents, unit = np.minimum(self.exponents, other.exponents), min(self.unit, other.unit)
        return ExactSums(self._at(exponents, unit) + other._at(exponents, unit), exponents, unit)

    def _widened(self, q: int) -> "ExactSums":
        """With columns of ones, as the first, behind the others."""
        at = [*range(len(self.exponents)), *[0] * (q - len(self.exponents))]
        return ExactSums(self.integers[np.ix_(at, at)], self.exponents[at], self.unit)

    def affine(self, scale: Sequence[Fraction], shift: Sequence[Fraction]) -> "ExactSums":
        """Sums of rows scale · v + shift, where the first column is one; the factors keep ``MAP_BITS``."""
        r, d = (np.array([_dyadic(Fraction(x)) for x in values], dtype=object) for values in (scale, shift))
        q = len(self.exponents)
        S = np.array([[self.value(i, j) for j in range(q)] for i in range(q)], dtype=object).reshape(q, q)
        mixed = np.multiply.outer(r * S[:, 0], d)
        S = S * np.multiply.outer(r, r) + mixed + mixed.T + S[0, 0] * np.multiply.outer(d, d)
        unit = -max(value.denominator.bit_length() - 1 for value in S.ravel())
        whole = [int(value * (1 << -unit)) for value in S.ravel()]
        return ExactSums(np.array(whole, dtype=object).reshape(q, q), np.zeros(q, dtype=int), unit)

    def _at(self, exponents: np.ndarray, unit: int) -> np.ndarray:
        more = self.exponents - exponents
        bits = more[:, None] + more + (self.unit - unit)
        return self.integers << bits.astype(object) if bits.any() else self.integers

    def value(self, i: int, j: int) -> Fraction:
        """One of the sums."""
        exponent = int(self.exponents[i] + self.exponents[j]) + self.unit
        return Fraction(int(self.integers[i, j])) * Fraction(2) ** exponent

    @property
    def total_weight(self) -> float:
        """Σ ω, where the first column is one."""
        return float(self.value(0, 0))


def _dyadic(x: Fraction) -> Fraction:
    """The nearest number of ``MAP_BITS`` binary digits."""
    if not x:
        return x
    more = MAP_BITS - x.numerator.bit_length() + x.denominator.bit_length()
    return Fraction(round(x * Fraction(2) ** more)) / Fraction(2) ** more


def _exponents(v: np.ndarray) -> np.ndarray:
    """e of each column with |v| < 2^e, (q,); a number that is not finite has no last slice."""
    largest = np.abs(v).max(axis=0)
    if not np.isfinite(largest).all():
        raise ValueError("rows have values that are not finite, of which there are no sums")
    return np.frexp(largest)[1].astype(int)


def _slices(v: np.ndarray, top: np.ndarray, bits: int) -> list[np.ndarray]:
    """Whole numbers v_l with v = 2^top Σ_l v_l 2^(−bits (l + 1)), each (q, n)."""
    rest, out = np.ldexp(v, bits - top).T.copy(), []
    while True:
        whole = np.rint(rest)
        out.append(whole)
        rest -= whole
        if not rest.any():
            return out
        rest *= 2.0**bits


def _carried(total: dict, by_place: dict) -> dict:
    """Sums of 64 bits, added to those of any length."""
    return total | {k: total.get(k, 0) + part.astype(object) for k, part in by_place.items()}


def rank(integers: np.ndarray) -> int:
    """Rank of a matrix of Python's integers modulo a prime: at most the rank itself, nearly always that."""
    M, r = np.array([[int(value) % PRIME for value in row] for row in integers], dtype=np.int64), 0
    for column in range(M.shape[1]):
        found = r + np.flatnonzero(M[r:, column])
        if not len(found):
            continue
        M[[r, found[0]]] = M[[found[0], r]]
        M[r] = M[r] * pow(int(M[r, column]), -1, PRIME) % PRIME
        M[r + 1 :] = (M[r + 1 :] - M[r + 1 :, column, None] * M[r]) % PRIME
        r += 1
    return r
