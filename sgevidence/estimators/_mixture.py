"""What estimators of mixtures share: components of rows, and posterior means in common slots."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._density import DensityEstimator
from ._input import check_count, generator

#: Mean probability of an exchange from which on two components are not told apart.
CONFUSED = 0.05


class MixtureEstimator(DensityEstimator):
    """Base of mixtures, whose model has ``component_log_densities`` and exchangeable components."""

    _model: Any  #: an exchangeable model with ``component_log_densities``

    def fit_predict(self, X: Any, y: None = None, sample_weight: Any = None) -> np.ndarray:
        """:meth:`fit`, then :meth:`predict` of the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log probabilities of the components given each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            log Σ_i W_i p(x, k | θ_i) − log Σ_i W_i p(x | θ_i), with the particles relabelled to
            common slots: the predictive rule for a row not seen before.
        """
        rows = self._rows_to_score(X)
        canonical = self._model.canonicalize(self.particles_)
        joint = self._average_over_particles(
            rows, lambda _, block: self._model.component_log_densities(canonical, block.X)
        )
        return (joint - np.logaddexp.reduce(joint, axis=0)).T

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the components given each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.argmax(self.predict_log_proba(X), axis=1)

    @property
    def weights_(self) -> np.ndarray:
        """Posterior mean of the component weights."""
        return self._slot_mean("weights")

    def _summary_notes(self) -> list[str]:
        theta = self._model.canonicalize(self.particles_)
        return unclear_labels(self._model.label_confusion(theta, self.particle_weights_))

    def _draw_rows(self, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
        """Draws from the posterior predictive distribution as the model has rows, and their components."""
        check_is_fitted(self)
        check_count(n_samples, "n_samples")
        rng = generator(self.random_state)
        chosen = rng.choice(len(self.particles_), size=n_samples, p=self.particle_weights_)
        theta = self._model.canonicalize(self.particles_)[chosen]
        return self._model.sample_rows(theta, n_samples, rng)

    def _slot_mean(self, name: str) -> np.ndarray:
        self._must_have_learnt(f"{name}_")
        return self._posterior_mean_and_std(name)[0]


def unclear_labels(confusion: np.ndarray) -> list[str]:
    """A sentence that two components may be one another, from the probabilities (K, K) of an exchange."""
    pairs = [f"{k} and {j}" for k, j in np.argwhere(np.triu(confusion >= CONFUSED))]
    if not pairs:
        return []
    words = ", ".join(pairs[:3]) + (", and others" if len(pairs) > 3 else "")
    return [f"labels: the posterior hardly tells apart components {words}; ignore their numbers."]
