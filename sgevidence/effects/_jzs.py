r"""JZS priors: effects in units of σ, each term with a g of its own, μ and log σ flat (Rouder et al. 2012).

    u_t | g_t, σ ~ N(0, g_t σ² R_t),    g_t ~ InvGamma(1/2, r_t²/2),    p(μ, σ²) ∝ 1/σ²

Given g all but the integral over g has a closed form.  With ν = n − 1 and S(g) the squares that are left,

    log p(y | g)/p(y | null) = −½ log |M(g)|/n − ν/2 log S(g)/S₀,

a Bayes factor against the mean alone: p(y) itself has no norm, but that of μ and σ cancels.  Up to three g
are integrated by the trapezoid rule over log g, for the integrand is analytic for |Im log g| < π/2; more by
quasi-random points.

Symbols: ``u`` = log g (M, T), ``z`` = standard normals that g are functions of, ``nu`` = ν.

References
----------
J. N. Rouder, R. D. Morey, P. L. Speckman, J. M. Province (2012), Default Bayes factors for ANOVA designs,
Journal of Mathematical Psychology 56, 356.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.special import erf, ndtr, ndtri

from ..exceptions import DivergenceError
from ..models import GPrior, log_sum, span
from ..particles import Weights
from ._closed_form import NOISELESS, GaussianPosterior
from ._curves import BSpline
from ._factors import Factor, Interaction
from ._gaussian import Conditional, LevelSums, in_order, solutions
from ._integral import Integral
from ._layout import Block, Layout
from ._model import EffectsModel

#: Scales r of covariates, of contrasts of fixed factors, and of groups and curves: BayesFactor's defaults.
COVARIATE_SCALE, FACTOR_SCALE, GROUP_SCALE = 8**-0.5, 0.5, 1.0
#: Values of log g between which the integrand is looked for, and the step of the search.
MIN_LOG_G, MAX_LOG_G, LOG_G_STEP = -30.0, 60.0, 1.0
#: Step of the trapezoid rule in units of √(1/(k + 2)), k effects, and its largest step in log g.
JZS_STEP, MAX_JZS_STEP = 1.4, 0.8
#: Nats of error above which the step is halved; points at most.
JZS_TOLERANCE_NATS, MAX_POINTS = 4e-4, 300_000
#: Share of the squares of y that is rounding.
MIN_SHARE_OF_SQUARES = 1e-12


def in_noise(block: Block) -> Block:
    """A block of a group or a curve, each effect with a g of its own."""
    return block._replace(in_noise=True, correlated=False)


def jzs_blocks(
    covariates: np.ndarray, weight: np.ndarray, factors: list[tuple[Any, int]]
) -> tuple[Block, ...]:
    """Blocks of the covariates (n, p), whose prior has their correlations, and of factors, by their sizes."""
    blocks = []
    if p := covariates.shape[1]:
        values, axes = np.linalg.eigh(np.cov(covariates.T, aweights=weight, bias=True).reshape(p, p))
        # smallest variance of a combination of covariates, over the largest, that is no rounding
        kept = values > 1e-10 * values[-1]
        inverse = np.where(kept, np.where(kept, values, 1.0) ** -0.5, 0.0)
        blocks.append(jzs_block(1, p, COVARIATE_SCALE, (axes * inverse) @ axes.T))
    return (*blocks, *(jzs_block(1, size, scale_of(term)) for term, size in factors))


def is_covariate(term: Any) -> bool:
    """Whether a fixed term is more covariates: B-splines, or a product with a column of numbers."""
    is_product = isinstance(term, Interaction)
    return isinstance(term, BSpline) or (is_product and not all(isinstance(part, Factor) for part in term))


def scale_of(term: Any) -> float:
    """r of a term."""
    if is_covariate(term):
        return COVARIATE_SCALE
    if isinstance(term, Interaction):
        return FACTOR_SCALE
    return FACTOR_SCALE if term.scale is None else term.scale


def jzs_block(n_levels: int, n_effects: int, scale: float, root: Any = None) -> Block:
    """Effects with one g, or of several levels with a g for each of their effects."""
    return Block(n_levels, n_effects, scale, common=n_levels == 1, in_noise=True, root=root)


def standard_normal(u: np.ndarray, scale: float) -> np.ndarray:
    """z of u = log g: √g = scale/|N(0, 1)|."""
    a = scale * np.exp(-0.5 * u)
    return np.where(a > 0.7, ndtri(2 * ndtr(-a)), -ndtri(erf(a / np.sqrt(2))))


class RelativeLayout(Layout):
    """Effects in units of σ = exp(last z), fixed columns with flat priors."""

    @property
    def fixed_precision(self) -> np.ndarray:
        return np.zeros(self.n_fixed)

    def factors(self, z: Any) -> list[Any]:
        sigma = np.exp(z[:, -1, None, None])
        return [sigma * factor for factor in super().factors(z)]


@dataclass(frozen=True)
class JZSModel(EffectsModel):
    """Blocks of covariates, if there are any, of factors, then of groups and curves.

    ``fixed_terms`` says of each factor and product whether it is among the covariates, and its size.
    """

    fixed_terms: tuple[tuple[bool, int], ...] = ()

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        named, p = super().parameters(theta), self.n_features
        effects = named.pop("effects", np.zeros((len(theta), 0))) * named["noise_std"][:, None]
        stds = named.pop("effect_stds", effects) * named["noise_std"][:, None]
        among, apart = (sum(size for one, size in self.fixed_terms if one == kind) for kind in (True, False))
        coef, products, contrasts, rest = np.split(effects, np.cumsum([p, among, apart]), axis=1)
        pieces = {kind: part for kind, part in ((True, products), (False, contrasts))}
        at, fixed = {True: 0, False: 0}, [np.zeros((len(theta), 0))]
        for kind, size in self.fixed_terms:
            fixed.append(pieces[kind][:, at[kind] : at[kind] + size])
            at[kind] += size
        first = (p + among > 0) + sum(not kind for kind, _ in self.fixed_terms)
        found = {"coef": coef, "fixed_effects": np.concatenate(fixed, axis=1)}
        found |= {"effects": rest, "effect_stds": stds[:, first:]}
        return named | {name: value for name, value in found.items() if value.shape[1] or name == "coef"}

    def posterior(self, sums: LevelSums) -> "JZSPosterior":
        return JZSPosterior(self.layout, sums)


class JZSPosterior(GaussianPosterior):
    """Log Bayes factor against the mean alone, and draws."""

    def __init__(self, layout: Layout, sums: LevelSums) -> None:
        super().__init__(layout, sums, 0, lambda z: np.ones(len(z)))
        p = layout.n_fixed
        A, c = sums.rest[0, :p, :p], sums.y_rest[0, :p]
        self.nu = sums.n - p
        self.null_squares = sums.y2 - c @ np.linalg.solve(A, c) if p else sums.y2
        self.null_log_det = 0.5 * np.linalg.slogdet(A)[1]
        self.scales = [block.scale for block in layout.blocks for _ in range(block.n_scales)]
        self.widths = [width for block in layout.blocks for width in block.sizes]

    @cached_property
    def integral(self) -> Integral:
        if not self.scales:
            return Integral(0.0, 0.0, np.zeros((1, 0)), np.zeros(1), 1.0)
        # values of g up to which the trapezoid rule is used
        found = super().integral if len(self.scales) > 3 else self._by_grid()
        best = found.x[[np.argmax(found.log_w)]]
        if self._conditional(best).squares[0] < 100 * MIN_SHARE_OF_SQUARES * self.null_squares:
            raise DivergenceError(NOISELESS)
        return found

    def log_integrand(self, u: np.ndarray) -> np.ndarray:
        """Log Bayes factor given log g, and its prior, (M,)."""
        priors = [GPrior("inverse-gamma", r**2).log_density(column) for r, column in zip(self.scales, u.T)]
        return self._in_batches(self._log_p, self._z(u)) + np.sum(priors, axis=0)

    def _draws(self, z: np.ndarray, copies: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        found, (L, q) = self._conditional(z), self.sums.levels.shape[1:3]
        sigma = np.sqrt(found.squares[copies] / rng.chisquare(self.nu, len(copies)))
        rest = sigma[:, None] * rng.standard_normal((len(copies), self.sums.rest.shape[1]))
        levels = sigma[:, None, None] * rng.standard_normal((len(copies), L, q))
        effects = in_order(self.layout, *solutions(self.layout, self.sums, found, copies, rest, levels))
        effects[:, self.layout.n_fixed :] /= sigma[:, None]
        return np.column_stack([effects, z[copies], np.log(sigma)])

    def _conditional(self, z: np.ndarray) -> Conditional:
        factors = self.layout.factors(np.pad(z, ((0, 0), (0, 1))))  # σ = 1
        found = self._given(factors, np.ones(len(z)))
        squares = np.maximum(found.squares, MIN_SHARE_OF_SQUARES * self.null_squares)
        ratio = self.null_log_det - found.log_det - 0.5 * self.nu * np.log(squares / self.null_squares)
        return found._replace(log_p=ratio, squares=squares)

    def _z(self, u: np.ndarray) -> np.ndarray:
        return np.column_stack([standard_normal(column, r) for r, column in zip(self.scales, u.T)])

    def _by_grid(self) -> Integral:
        """The trapezoid rule; the error by twice the step and by rounding."""
        ends, halving = self._ends(), 0
        while True:
            steps = [min(JZS_STEP / np.sqrt(k + 2), MAX_JZS_STEP) / 2**halving for k in self.widths]
            axes = [np.arange(low, high + step, step) for (low, high), step in zip(ends, steps)]
            u = np.array(list(product(*axes)))
            f = self.log_integrand(u).reshape([len(axis) for axis in axes])
            value, gap = log_sum(f)
            # nats that a lucky place of the nodes hides: at most 8e-5 on 14 designs of 22 to 2928 rows
            error = gap**2 + 1.5e-4  # of e^(−c/h) with half the step
            if error < JZS_TOLERANCE_NATS or len(u) * 2 ** len(axes) > MAX_POINTS:
                break
            halving += 1
        least = np.min(self._conditional(self._z(u[np.argmax(f)][None])).squares) / self.null_squares
        log_w = f.ravel()
        error += self.sums.n * float(np.finfo(float).eps) / least
        return Integral(
            value + float(np.log(steps).sum()), error, self._z(u), log_w, float(Weights(log_w).ess)
        )

    def _ends(self) -> list[tuple[float, float]]:
        """Values of log g along each axis through the mode beyond which the integrand is nothing."""
        grid = np.arange(MIN_LOG_G, MAX_LOG_G, LOG_G_STEP)
        at, before = np.zeros(len(self.scales)), None
        while before is None or (at != before).any():
            before, out = at.copy(), []
            for t in range(len(at)):
                u = np.tile(at, (len(grid), 1))
                u[:, t] = grid
                f = self.log_integrand(u)
                at[t] = grid[np.argmax(f)]
                # nats below the maximum at which the integrand is nothing, which leaves 10⁻⁷ of it outside
                out.append(tuple(grid[list(span(f, 16.0))]))
        return out
