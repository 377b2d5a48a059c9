r"""Parts that mixtures of Gaussians share, whatever their covariances: weights, labels, and sums over rows.

p(x) = Σ_k π_k N(x | μ_k, Σ_k) with π ~ Dirichlet(a, …, a).  θ = [z, μ, …]: the weights are π = softmax(z)
with z_k = log Gamma(a) variates, an exact Dirichlet prior with one redundant direction, which the prior keeps
proper; then come blocks of numbers of each component, the means first (``widths``).  The components are
exchangeable, and the evidence is over all K! labellings.

Symbols: ``z`` (M, K), ``mu`` (M, K, p), ``blocks`` = a list of (M, K, width), ``A, F`` as in
:mod:`._natural_sums`.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import autograd.numpy as anp
import numpy as np
from scipy.cluster.vq import kmeans2

from ...models import SINGLE_PRECISION_TOTAL, Evaluation, Exchangeable, Model, QRSums, log_gamma_draws
from ..components import GaussianComponent, GaussianParameters, without_gaps
from ..strata import is_known, mixture_answer
from ._natural_sums import log_prior_of_variances, natural_of_variances, natural_sum

#: Mergers of one k-means solution.
MERGERS = 20


@dataclass(frozen=True)
class GaussianMixture(Exchangeable, Model):
    """Mixture of Gaussians; a concrete one states the prior of means and covariances."""

    n_components: int
    n_features: int
    weight_concentration: float = 1.0  #: of the symmetric Dirichlet prior
    mean_scale: float = 2.0  #: prior standard deviation of a mean in units of its component's σ
    variance_prior: tuple[float, float] = (1.0, 1.0)  #: shape and scale of an inverse gamma
    cell_log_units: tuple[float, ...] = ()  #: that a missing cell, nan, adds to its row's log density

    # rounding a log-weight shifts all rows of its component alike: 20 000 · 10⁻⁷ is still nothing
    evaluation = Evaluation(fused_elements=1_000_000, single_precision_total=SINGLE_PRECISION_TOTAL)

    has_one_mode = True  # in each labelling, or its own search finds them
    own_answer = staticmethod(mixture_answer)
    is_affordable = is_known
    one_component: ClassVar[Any]  #: posterior of a single component
    component_family: ClassVar[type[GaussianComponent]]

    # -- what a concrete mixture states -----------------------------------------------------------

    @property
    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """Numbers of each block of a component's parameters, after its weight."""

    @abstractmethod
    def component_log_densities(self, theta: Any, X: np.ndarray) -> Any:
        """log π_k N(x_r | μ_k, Σ_k), (K, M, n), from deviations, so that nothing cancels."""

    @abstractmethod
    def draw_rows(self, blocks: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """One row of each of n Gaussians with blocks (n, width), (n, p)."""

    @abstractmethod
    def covariances(self, blocks: Sequence[np.ndarray]) -> np.ndarray:
        """Covariances behind (M, K), in the shape of scikit-learn's ``covariances_``."""

    @abstractmethod
    def column_variances(self, covariances: np.ndarray) -> np.ndarray:
        """Variance of each column, (M, K, p), from what :meth:`covariances` gives."""

    @abstractmethod
    def blocks_of(self, mean: np.ndarray, covariance: np.ndarray) -> list[np.ndarray]:
        """Blocks (..., width) of Gaussians, their covariances as :meth:`covariances` gives them."""

    @abstractmethod
    def products(self, X: np.ndarray) -> np.ndarray:
        """Second moments that a covariance is made of, for each row, (n, ...)."""

    # -- parameters -------------------------------------------------------------------------------

    @property
    def n_params(self) -> int:
        return self.n_components * (1 + sum(self.widths))

    @property
    def slots(self) -> np.ndarray:
        K, blocks, start = self.n_components, [np.arange(self.n_components)[:, None]], self.n_components
        for width in self.widths:
            blocks.append(np.arange(start, start + K * width).reshape(K, width))
            start += K * width
        return np.concatenate(blocks, axis=1)

    @property
    def log_gammas(self) -> Sequence[tuple[np.ndarray, float]]:
        return ((np.arange(self.n_components), self.weight_concentration),)

    def _split(self, theta: Any) -> list[Any]:
        """z (M, K) and the blocks (M, K, width) of θ (M, d)."""
        K, parts, start = self.n_components, [theta[:, : self.n_components]], self.n_components
        for width in self.widths:
            parts.append(anp.reshape(theta[:, start : start + K * width], (len(theta), K, width)))
            start += K * width
        return parts

    def _joined(self, z: np.ndarray, blocks: Sequence[np.ndarray]) -> np.ndarray:
        """θ of z (M, K) and blocks (M, K, width)."""
        return np.column_stack(
            [z, *(block.reshape(len(z), block.shape[1] * block.shape[2]) for block in blocks)]
        )

    def _sample_log_gammas(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """z from the prior, (size, K)."""
        return log_gamma_draws(self.weight_concentration, rng, (size, self.n_components))

    def log_prior(self, theta: Any) -> Any:
        """log p(θ) of means in units of σ and of one variance for each column, or for all, (M,)."""
        return log_prior_of_variances(
            theta,
            self.n_components,
            self.n_features,
            self.weight_concentration,
            self.mean_scale,
            self.variance_prior,
        )

    @property
    def family(self) -> GaussianComponent:
        """The components alone, of which a mixture's closed forms are made."""
        return self.component_family(
            self.n_features, self.mean_scale, self.variance_prior, self.cell_log_units
        )

    def of_gaps(self, gaps: np.ndarray) -> np.ndarray:
        """Log density that missing cells (n, p) add to rows, (n,)."""
        return gaps @ self.family.cell_units

    def from_components(
        self, log_weights: np.ndarray, components: GaussianParameters, rng: np.random.Generator
    ) -> np.ndarray:
        """θ (M, d) of log π (M, K) and components with leading (M, K).

        Rows see differences of the K log-gammas only, the weights: log Σ e^z is drawn from its prior,
        the logarithm of a Gamma(K a) variate.
        """
        total = self.n_components * self.weight_concentration
        log_sum = log_gamma_draws(total, rng, (len(log_weights), 1))
        return self._joined(log_weights + log_sum, self.blocks_of(*components))

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        z, *blocks = self._split(theta)
        pi = np.exp(z - z.max(axis=1, keepdims=True))
        return {
            "weights": pi / pi.sum(axis=1, keepdims=True),
            "means": blocks[0],
            "covariances": self.covariances(blocks),
        }

    # -- rows ---------------------------------------------------------------------------------------

    def log_likelihood(self, theta: Any, rows: Any) -> Any:
        log_p = self.component_log_densities(theta, rows.X)
        top = np.max(getattr(log_p, "_value", log_p), axis=0)
        return top + anp.log(anp.sum(anp.exp(log_p - top), axis=0))

    def _from_center(
        self, theta: Any, rows: Any, center: np.ndarray, tape: list | None, single_below: float
    ) -> Any:
        """The sum over rows, measured from a centre, where components have variances."""
        x, gaps = rows.X - center, np.isnan(rows.X)
        has_gaps = bool(gaps.any())
        if has_gaps:
            x = np.where(gaps, 0.0, x)
        F = np.column_stack([self.products(x), x, *([~gaps] if has_gaps else []), np.ones(len(x))])
        A = natural_of_variances(theta, self.n_components, center, has_gaps)
        value = natural_sum(A, F, rows.weight, tape, single_below)
        return value + rows.weight @ self.of_gaps(gaps) if has_gaps else value

    def _row_by_row(self, theta: Any, rows: Any, tape: list | None) -> Any:
        """The sum where a fused one would cancel; every row, component and column at once would be many."""
        M = len(getattr(theta, "_value", theta))
        blocks = rows.blocks(self.evaluation.rows_of_block(M))
        return sum(Model._block_log_likelihood(self, theta, b, tape) for b in blocks)

    def sample_rows(self, theta: np.ndarray, n_rows: int, rng: np.random.Generator) -> Any:
        """n_rows draws: (X, labels).  One θ for all rows, or one θ for each row."""
        z, *blocks = self._split(np.broadcast_to(np.atleast_2d(theta), (n_rows, self.n_params)))
        labels = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
        pick = np.arange(n_rows), labels
        return self.draw_rows([block[pick] for block in blocks], rng), labels

    def starts(self, rows: Any, n_starts: int, rng: np.random.Generator) -> np.ndarray:
        """Points to look for modes from, (n_starts, d): K + 3 clusters merged at random into K groups.

        The clusters are those of k-means, from another start every twenty mergers.
        """
        K, merged, moments = self.n_components, [], self._moments(rows)
        for _ in range(-(-n_starts // MERGERS)):
            clusters = kmeans2(without_gaps(rows.X), K + 3, minit="++", seed=rng, iter=10)[1]
            sums = (clusters == np.arange(K + 3)[:, None]) * rows.weight @ moments
            group = rng.permuted(
                np.hstack([np.tile(np.arange(K), (MERGERS, 1)), rng.integers(K, size=(MERGERS, 3))]), axis=1
            )
            merged.append((group[:, None] == np.arange(K)[:, None]) @ sums)  # (20, K, 1 + p + …)
        return self._at_moments(np.concatenate(merged)[:n_starts])

    def at_groups(self, rows: Any, member: np.ndarray) -> np.ndarray:
        """Points at the moments of groups of rows, (J, d) that ``member`` (J, K, n) says."""
        return self._at_moments((member * rows.weight) @ self._moments(rows))

    def _moments(self, rows: Any) -> np.ndarray:
        """1, X and its products, of each row."""
        X = without_gaps(rows.X)
        return np.column_stack([np.ones(len(rows)), X, self.products(X).reshape(len(rows), -1)])

    def _at_moments(self, sums: np.ndarray) -> np.ndarray:
        """Points of sums over K groups, (J, K, 1 + p + …)."""
        n_starts, K, p = len(sums), self.n_components, self.n_features
        n, total, second = np.split(sums, [1, 1 + p], axis=2)
        mean = total / (n + 1.0)
        shape = self.products(mean).shape[2:]
        count = n.reshape(n_starts, K, *(1 for _ in shape))
        scatter = second.reshape(n_starts, K, *shape) - count * self.products(mean)
        z = np.log((n[:, :, 0] + 1.0) / np.mean(n + 1.0, axis=1))
        return self._joined(z, self.blocks_of(mean, self.guess(scatter, count)))

    @abstractmethod
    def guess(self, scatter: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Covariances of groups of n rows with these products about their means."""

    # -- one component: a closed form -----------------------------------------------------------------

    def sums(self, rows: Any) -> QRSums:
        """Σ of squares of [1, X] for one component, by their factor; ValueError if there are more.

        Where cells are missing, of [1, X, which are there].
        """
        if self.n_components != 1:
            raise ValueError("a closed form of a mixture needs n_components=1")
        return QRSums.of_rows(rows, _with_ones)

    def posterior(self, sums: QRSums) -> Any:
        """Conjugate."""
        return self.one_component.of(self, sums)

    @property
    def has_exact_posterior(self) -> bool:  # type: ignore[override]
        return self.n_components == 1


def _with_ones(rows: Any) -> tuple[np.ndarray, int]:
    """[1, X], and where some cells are missing those which are there; the number of the latter columns."""
    there = ~np.isnan(rows.X)
    if there.all():
        return np.column_stack([np.ones(len(rows)), rows.X]), 0
    return np.column_stack([np.ones(len(rows)), np.where(there, rows.X, 0.0), there]), rows.X.shape[1]
