r"""The evidence with one grouping factor: effects by quadrature, the few parameters that are left by points.

    log p(y, b, z) = Σ_g log ∫ p(y_g | b, z, v_g) N(v_g) dv_g + log N(b, z; 0, I)

has as many dimensions as there are fixed columns and hyperparameters, whatever the number of levels.

:func:`effects_answer` chooses.  Gaussian y have a closed form given the hyperparameters, and the model says
so itself.  Effects of one grouping factor are integrated level by level; crossed ones and curves from a
Gaussian given the hyperparameters.  Where the points do not suffice there is no answer, and the model is
annealed.

Symbols: ``x`` = (b, z) (M, p + k).
"""

import numpy as np

from ..answers import Answer
from ..history import Rows
from ..models import Model
from ..particles import Weights, systematic
from ._conditional import conditional_answer
from ._integral import check, integrate
from ._model import EffectsModel
from ._quadrature import N_NODES, level_draws, level_modes, log_integrals
from ._rows import OrderedRows

#: Nodes for each effect of a level: of the way to the mode, and those that are tried after it, until the sum
#: over levels is right to so many nats at some points.
FEW_NODES, NODES, MAX_NODE_ERROR, N_TRIED = 5, (5, 7, 9, 11), 0.003, 4
#: Rows × draws of one batch: arrays of this size stay in the cache.
CACHED_ELEMENTS = 30_000


class Levelwise:
    """log p(y, x) of batches."""

    def __init__(self, model: EffectsModel, rows: OrderedRows) -> None:
        self.model, self.rows, self.p = model, rows, model.layout.n_fixed
        self.start = np.zeros((len(rows.starts), rows.W.shape[1]))
        self.batch = max(1, CACHED_ELEMENTS // len(rows.y))
        self.n_evaluations = 0
        self.n_nodes: int | None = None

    def parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """The rest of η, Λ, and own parameters, for which quadrature asks."""
        b, z = x[:, : self.p], x[:, self.p :]
        offset = (b * self.model.layout.scales) @ self.rows.R.T + self.rows.offset
        return offset, self.model.layout.factors(z)[0], self.model.own_of(z)

    def search(self, x: np.ndarray) -> np.ndarray:
        """log p(y, x) with few nodes, (M,)."""
        return self.log_density(x, FEW_NODES)

    def log_density(self, x: np.ndarray, n_nodes: int | None = None) -> np.ndarray:
        """log p(y, x), (M,), with as many nodes as the first points have asked for."""
        if n_nodes is None:
            if self.n_nodes is None:
                self.n_nodes = self._enough_nodes(x[:N_TRIED])
            n_nodes = self.n_nodes
        self.n_evaluations += len(x)
        out = [self._log_density(part, n_nodes) for part in np.array_split(x, -(-len(x) // self.batch))]
        return np.concatenate(out)

    def _enough_nodes(self, x: np.ndarray) -> int:
        """The least number of nodes that differs by little from all of them."""
        most = N_NODES[self.rows.W.shape[1] - 1]
        right = self.log_density(x, most)
        for n_nodes in (n for n in NODES if n < most):
            if np.max(np.abs(self.log_density(x, n_nodes) - right)) < MAX_NODE_ERROR:
                return n_nodes
        return most

    def _log_density(self, x: np.ndarray, n_nodes: int | None) -> np.ndarray:
        log_prior = -0.5 * np.sum(x**2 + np.log(2 * np.pi), axis=1)
        return log_prior + log_integrals(self.rows, *self.parts(x), self.start, n_nodes)

    def remember(self, x: np.ndarray) -> None:
        """Start the modes of all levels from those at x (p + k,)."""
        self.start = level_modes(self.rows, *self.parts(x[None]), self.start).v[0]

    def draws(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """θ with a draw of the effects, (M, d)."""
        out = []
        for part in np.array_split(x, -(-len(x) // self.batch)):
            v = level_draws(self.rows, *self.parts(part), self.start, rng)
            out.append(
                np.concatenate([part[:, : self.p], v.reshape(len(part), -1), part[:, self.p :]], axis=1)
            )
        return np.concatenate(out)


def levelwise_answer(model: EffectsModel, rows: OrderedRows, rng: np.random.Generator, size: int) -> Answer:
    f = Levelwise(model, rows)
    start = np.zeros(f.p + model.layout.n_hyperparameters + model.n_own)
    # points of the integral over up to five dimensions; over eight they are twice, over more four times as
    # many
    n_points = 256 * (1 if len(start) <= 5 else 2 if len(start) <= 8 else 4)
    found = check(integrate(f.log_density, start, rng, n_points, f.search))
    chosen = rng.permutation(systematic(Weights(found.log_w).W, rng, size))
    theta = f.draws(found.x[chosen], rng)
    cost = float(f.n_evaluations * len(rows.y))
    return Answer(theta, np.zeros(size), found.log_Z, found.std, cost)


#: Rows × draws, and draws at least: each draw of the effects of all levels looks at all rows a few times.
MAX_DRAWN, MIN_DRAWS = 3_000_000, 200


def effects_answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | None:
    """Evidence and at most ``size`` draws, fewer of many rows; None where they cannot be trusted."""
    assert isinstance(model, EffectsModel)
    one_factor = len(model.layout.blocks) == 1 and model.layout.largest is not None
    # fixed columns and hyperparameters up to which they are integrated together
    few = model.layout.n_fixed + model.layout.n_hyperparameters + model.n_own <= 12
    answer = levelwise_answer if one_factor and few else conditional_answer
    size = min(size, max(MIN_DRAWS, MAX_DRAWN // max(len(rows), 1)))
    try:
        return answer(model, model.ordered(rows), rng, size)
    except (ArithmeticError, np.linalg.LinAlgError):
        return None
