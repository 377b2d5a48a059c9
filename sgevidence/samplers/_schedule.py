"""How many rows are annealed at a time, and by how many particles.

Symbols: ``n`` = rows seen, by total weight; ``M(n)`` = particles after n rows; ``K, d`` = exchangeable
components and parameters of the model.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..history import Rows
from ..models import Model

FIRST_CHUNK_ROWS = 100
#: Particles of a regression while the rows are few, by default.
PARTICLES = 2000


def particles_of_mixture(K: int, d: int) -> int:
    """Particles of a mixture: more where modes have to be told apart.

    Fits of one or two components must be fast, also in many columns.
    """
    return int(np.clip(16_000 / d, 400, 1000) if K <= 2 else np.clip(16 * d * K, 1500, 3000))


#: Rows up to which all of them are used; then their number falls as 1/n.
PLENTY_UNTIL = 250


def pieces(
    rows: Rows,
    n: float,
    chunk_size: int | None,
    shuffle: bool,
    rng: np.random.Generator,
    expect: Callable[[int], Any] = lambda n_pieces: None,
) -> Iterator[Rows]:
    """Rows in pieces of chunk_size, or in pieces that double the rows seen, from 100, in random order.

    ``expect`` is told how many pieces there are.

    Under the model the rows are exchangeable; data sorted by class are not, and particles that have
    learnt one class from the first hundred rows would have to unlearn it.
    """
    if chunk_size is not None:
        expect(int(np.ceil(rows.total_weight / chunk_size)))
        yield from rows.chunks(chunk_size)
        return
    last = n + rows.total_weight
    edges = FIRST_CHUNK_ROWS * 2.0 ** np.arange(np.ceil(np.log2(max(last / FIRST_CHUNK_ROWS, 1.0))))
    in_order = list(rows.cut(edges - n))
    expect(len(in_order))
    if not shuffle or len(in_order) == 1:
        yield from in_order
        return
    cuts = np.cumsum([len(piece) for piece in in_order])[:-1]
    for indices in np.split(rng.permutation(len(rows)), cuts):
        yield rows.take(np.sort(indices))


def particles(model: Model, n: float, n_particles: int, max_particles: int | None, even: bool) -> int:
    """M(n): early rows are cheap, and most of the variance is made there.

    Annealing needs more particles than escorts, while those leave the weights nearly even.
    """
    most = max_particles
    if most is None:
        most = PARTICLES if model.slots is None else particles_of_mixture(len(model.slots), model.n_params)
        most = max(n_particles, int(most * min(n_particles / 100, 1.0)))
    ratio = PLENTY_UNTIL / max(n, PLENTY_UNTIL)
    M = max(n_particles, most * ratio) if even else max(4 * n_particles, most * ratio**0.5)
    return max(n_particles, min(int(M), most))


def chunk_edges(start: float, last: float, first: int, growth: float, most: int) -> np.ndarray:
    """Rows at which chunks are complete: ``first`` more, later ``growth`` times those seen, to ``most``."""
    edges = [float(start)]
    while edges[-1] <= last and max(first, growth * edges[-1]) < most:
        edges.append(edges[-1] + max(first, np.floor(growth * edges[-1])))
    return np.r_[edges, np.arange(edges[-1] + most, last + most, most)]
