"""Parts that estimators of mixtures share: components of rows, and posterior means in common slots."""

from typing import Any, Self

import numpy as np

from ..._compat import clone_parametrized
from ...answers import ComponentEvidence
from ...estimators import DensityEstimator, by_parts
from ...rows import check_count, generator
from ...samplers import sharing
from ..strata import SharedWalk


class MixtureEstimator(DensityEstimator):
    """Base of mixtures, whose model has ``component_log_densities`` and exchangeable components."""

    _model: Any  #: an exchangeable model with ``component_log_densities``
    _walk: SharedWalk  #: until a fit, that of clones with fewer or more components

    def __sklearn_clone__(self) -> Self:
        """A clone that shares walks with all others, as those for the same fold of a ``GridSearchCV``."""
        clone = clone_parametrized(self)
        clone._walk = self.__dict__.setdefault("_walk", SharedWalk())
        return clone

    def _add(self, *arguments: Any) -> None:
        with sharing(self.__dict__.pop("_walk", None)):
            super()._add(*arguments)

    @property
    def component_evidence_(self) -> dict[str, np.ndarray]:
        """Log evidence of 1 … ``n_components`` components, and its standard error, nats.

        The arrays are n_components, log_evidence and log_evidence_std.  All come from one walk over the
        number of components in use and share their errors: ``component_evidence_covariance_`` gives those of
        differences.
        """
        found = self._components("component_evidence_")
        unit = self._log_unit * self._weight_seen
        return {
            "n_components": np.arange(1, len(found.log_evidence) + 1),
            "log_evidence": found.log_evidence - unit,
            "log_evidence_std": np.sqrt(np.diag(found.covariance)),
        }

    @property
    def component_evidence_covariance_(self) -> np.ndarray:
        """Covariance of the errors of ``component_evidence_``, nats², (n_components, n_components)."""
        return self._components("component_evidence_covariance_").covariance

    @property
    def n_components_in_use_proba_(self) -> np.ndarray:
        """Posterior probability that 1 … ``n_components`` of the components have rows, (n_components,)."""
        return self._components("n_components_in_use_proba_").in_use

    def _components(self, name: str) -> ComponentEvidence:
        """Evidences of every number of components, of exactly the rows seen.

        AttributeError if they are not known, with the reason.
        """
        self._must_have_learnt(name)
        if self._model.n_components == 1:
            one = np.ones(1)
            here = self.log_evidence_ + self._log_unit * self._weight_seen
            var = self.log_evidence_std_**2 * np.ones((1, 1))
            return ComponentEvidence(self._weight_seen, here * one, var, one)
        state = None if self._stream is None else self._stream.state
        found = self._components_of_run()
        if found is None and not getattr(getattr(state, "memory", None), "complete", True):
            raise AttributeError(
                f"{name} is not known: strata need all rows, and the sampler's reservoir has kept a part of "
                f"{self.n_samples_seen_} only; a larger reservoir_size keeps more"
            )
        if found is None:
            raise AttributeError(f"{name} is not known: the evidence comes from particles, not from strata")
        if found.n != self._weight_seen:
            raise AttributeError(
                f"{name} was last known at {found.n:g} rows, by weight, of {self._weight_seen:g}: particles "
                "have carried the evidence on since; fit all rows at once"
            )
        return found

    @property
    def _choices(self) -> tuple[int, Any]:
        return self.n_components, np.int64  # type: ignore[attr-defined]

    def _components_of_run(self) -> ComponentEvidence | None:
        """Evidences that the sampler has met on its way, of the rows at that time."""
        state = None if self._stream is None else self._stream.state
        return getattr(self._result if state is None else state, "components", None)

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

    @by_parts
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

    @by_parts
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

    @by_parts
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

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draws from the posterior predictive distribution.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Numbers, or levels; objects, if columns have levels of several types.
        labels : ndarray of shape (n_samples,)
            Component, or class, of each row, in the slots of ``weights_``.
        """
        self._must_be_fitted()
        check_count(n_samples, "n_samples")
        rng = generator(self.random_state)
        chosen = rng.choice(len(self.particles_), size=n_samples, p=self.particle_weights_)
        theta = self._model.canonicalize(self.particles_)[chosen]
        X, labels = self._model.sample_rows(theta, n_samples, rng)
        return self._as_given(X), labels

    def _slot_mean(self, name: str) -> np.ndarray:
        self._must_have_learnt(f"{name}_")
        return self._posterior_mean_and_std(name)[0]


def unclear_labels(confusion: np.ndarray, of: str = "components") -> list[str]:
    """A sentence that two of them may be one another, from the probabilities (K, K) of an exchange."""
    # mean probability of an exchange from which on two components are not told apart
    pairs = [f"{k} and {j}" for k, j in np.argwhere(np.triu(confusion >= 0.05))]
    if not pairs:
        return []
    words = ", ".join(pairs[:3]) + (", and others" if len(pairs) > 3 else "")
    return [f"labels: the posterior hardly tells apart {of} {words}; ignore their numbers."]
