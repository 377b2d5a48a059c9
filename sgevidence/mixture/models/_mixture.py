r"""Parts of all mixtures: weights, labels, and how θ is laid out.

p(x) = Σ_k π_k p(x | φ_k) with π ~ Dirichlet(a, …, a) and components of one family.  θ = [z, blocks]: the
weights are π = softmax(z) with z_k = log Gamma(a) variates, an exact Dirichlet prior with one redundant
direction, which the prior keeps proper; then come blocks of numbers of each component.  The components are
exchangeable, and the evidence is over all K! labellings.

Symbols: ``z`` (M, K), ``blocks`` = a list of (M, K, width).
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import autograd.numpy as anp
import numpy as np

from ...models import SINGLE_PRECISION_TOTAL, Evaluation, Exchangeable, Model, log_gamma_draws, log_shares
from ..components import without_gaps
from ..strata import is_known, mixture_answer


class Mixture(Exchangeable, Model):
    """Mixture of K components of one family, which states its ``blocks`` and all that is made of them."""

    n_components: int
    n_features: int
    weight_concentration: float  #: of the symmetric Dirichlet prior
    family: Any  #: the components alone, of which closed forms are made
    widths: tuple[int, ...]  #: numbers of each block of a component's parameters, after its weight

    # rounding a log-weight shifts all rows of its component alike: 20 000 · 10⁻⁷ is still nothing
    evaluation = Evaluation(fused_elements=1_000_000, single_precision_total=SINGLE_PRECISION_TOTAL)

    has_one_mode = True  # in each labelling, or its own search finds them
    own_answer = staticmethod(mixture_answer)
    is_affordable = is_known

    # -- parameters -------------------------------------------------------------------------------

    @property
    def n_params(self) -> int:
        return self.n_components * (1 + sum(self.widths))

    @property
    def slots(self) -> np.ndarray:
        z, *blocks = self._split(np.arange(self.n_params)[None])
        return np.concatenate([z[0, :, None], *(block[0] for block in blocks)], axis=1)

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

    def sample_prior(self, rng: np.random.Generator, size: int) -> np.ndarray:
        z = log_gamma_draws(self.weight_concentration, rng, (size, self.n_components))
        return self._joined(z, self.family.sample_blocks(rng, (size, self.n_components)))

    def from_components(
        self, log_weights: np.ndarray, components: Any, rng: np.random.Generator
    ) -> np.ndarray:
        """θ (M, d) of log π (M, K) and components with leading (M, K).

        Rows see differences of the K log-gammas only, the weights: log Σ e^z is drawn from its prior,
        the logarithm of a Gamma(K a) variate.
        """
        blocks, total = self.family.blocks(components, rng), self.n_components * self.weight_concentration
        return self._joined(log_weights + log_gamma_draws(total, rng, (len(log_weights), 1)), blocks)

    def at_groups(self, rows: Any, member: np.ndarray) -> np.ndarray:
        """Points at the moments of groups of rows, (J, d) that ``member`` (J, K, n) says."""
        return self._at_sums((member * rows.weight) @ self.family.features(without_gaps(rows.X)))

    def _at_sums(self, T: np.ndarray) -> np.ndarray:
        """Points at sums of features over K groups, (J, K, q)."""
        n = T[..., -1] + 1.0
        return self._joined(np.log(n / np.mean(n, axis=1, keepdims=True)), self.family.blocks_at(T))

    # -- rows ---------------------------------------------------------------------------------------

    def component_log_densities(self, theta: Any, X: np.ndarray) -> Any:
        """log π_k p(x_r | φ_k), (K, M, n)."""
        z, *blocks = self._split(theta)
        return anp.transpose(log_shares(z)[:, :, None] + self.family.log_densities(blocks, X), (1, 0, 2))

    def log_likelihood(self, theta: Any, rows: Any) -> Any:
        log_p = self.component_log_densities(theta, rows.X)
        top = np.max(getattr(log_p, "_value", log_p), axis=0)
        return top + anp.log(anp.sum(anp.exp(log_p - top), axis=0))

    def sample_rows(self, theta: np.ndarray, n_rows: int, rng: np.random.Generator) -> Any:
        """n_rows draws: (X, labels).  One θ for all rows, or one θ for each row."""
        z, *blocks = self._split(np.broadcast_to(np.atleast_2d(theta), (n_rows, self.n_params)))
        labels = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
        return self.family.draw_rows([block[np.arange(n_rows), labels] for block in blocks], rng), labels

    # -- one component: a closed form -----------------------------------------------------------------

    @property
    def has_exact_posterior(self) -> bool:  # type: ignore[override]
        return self.n_components == 1

    def sums(self, rows: Any) -> Any:
        """Sums over rows of which one component's closed form is made; ValueError if there are more."""
        if self.n_components != 1:
            raise ValueError("a closed form of a mixture needs n_components=1")
        return self._sums_of_one(rows)

    @abstractmethod
    def _sums_of_one(self, rows: Any) -> Any:
        """Sums, whose ``plus`` adds those of other rows."""
