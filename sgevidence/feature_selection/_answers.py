"""Reports and predictions of the selector, averaged over subsets that are weighed when they are asked for."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from ..estimators import ParameterTable, Standardising, dimension_labels, heading, prior_conflict, warned
from ..exceptions import DivergenceError, warn_caller
from ..model_selection import Candidate, comparison_table, evidence_columns, facts_of
from ..models import LinearModel
from ..rows import generator, looks_normalised, refuse_extreme, refuse_unreadable, validated, with_known
from ..samplers import Progress
from ..units import Units
from ._posterior import MIN_LISTED_SUBSETS, Posterior, posterior

#: Why an answer with the g-prior says nothing.
CONSTANT = "y is constant: no column explains any of it, and Bayes factors against the null model say nothing"


@dataclass
class Weighed:
    """The posterior of the rows so far, once it has been asked for: asking changes no attribute."""

    posterior: Posterior | None = None
    average: Any = None


def _selects_for_classes(self: Any) -> bool:
    return hasattr(self.estimator, "predict_proba")


class SubsetAnswers(Standardising):
    """Reports and predictions of the posterior over subsets, from the sums that the selector learns."""

    _sums: Any  #: of [1, X, y]
    _model: LinearModel  #: of all columns
    _units_of_estimator: Units | None  #: where there is an estimator
    _always: list[int]
    _groups: list[list[int]]
    _rng: np.random.Generator
    _weighed: Weighed

    @property
    def inclusion_probabilities_(self) -> np.ndarray:
        """Posterior probability of each column, (n_features,)."""
        return self._posterior("inclusion_probabilities_").inclusion.copy()

    @property
    def models_(self) -> Any:
        """The best subsets, at most 100, as a table that prints log evidences and probabilities.

        Its columns are those of :func:`compare`, ``columns``, ``size`` and ``log_prior``.
        """
        found = self._posterior("models_")
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        subsets = [tuple(names[j] for j in one) for one in found.columns[:MIN_LISTED_SUBSETS]]
        columns = np.empty(len(subsets), dtype=object)
        columns[:] = [tuple(name if isinstance(name, str) else int(name) for name in one) for one in subsets]
        first = slice(len(subsets))
        log_Z, std = found.log_evidence[first] - self._log_units, found.log_evidence_std[first]
        log_prior, n = found.log_prior[first], self.n_samples_seen_
        index = [", ".join(map(str, one)) or "null" for one in subsets]
        each = [Candidate(*one, n, self.data_fingerprint_) for one in zip(index, log_Z, std)]
        mass = float(np.sum(found.probability[first]))
        table = {"columns": columns} | evidence_columns(each, np.diag(std**2), log_prior, mass=mass)
        more = {"size": np.array([len(one) for one in subsets]), "log_prior": log_prior}
        listed = comparison_table(table | more, index, of_subsets=True)
        listed._facts = facts_of(self, np.exp(log_prior))
        return listed

    @property
    def log_evidence_(self) -> float:
        """Log evidence of the average over subsets, nats."""
        return self._posterior("log_evidence_").total - self._log_units

    @property
    def _log_units(self) -> float:
        """Logarithm of the unit of the density of all y, nats."""
        return 0.0 if self._units is None else self._units.log_unit * self._sums.total_weight

    @property
    def evidence_is_relative_(self) -> bool:
        """Is ``log_evidence_`` relative to the null model?"""
        self._posterior("evidence_is_relative_")
        return self._settings["coef_prior"] != "independent"

    @property
    def log_evidence_std_(self) -> float:
        """Standard error of ``log_evidence_``, nats."""
        return self._posterior("log_evidence_std_").total_std

    @property
    def coef_(self) -> np.ndarray:
        """Posterior mean of the coefficients, averaged over subsets."""
        return self._restored("coef", self._average("coef_").coef_)

    @property
    def coef_std_(self) -> np.ndarray:
        """Posterior standard deviation of the coefficients, over subsets, too."""
        return self._restored("coef", self._average("coef_std_").coef_std_)

    @property
    def intercept_(self) -> Any:
        """Posterior mean of the intercept, of a softmax one per class; 0.0 without one."""
        found = self._average("intercept_")
        if self._units is None or not self._settings["fit_intercept"]:
            return found.intercept_
        named = {"coef": found.coef_, "intercept": np.asarray(found.intercept_)}
        return float(self._units.restored(named)["intercept"])

    @property
    def noise_std_(self) -> float:
        """Posterior mean of σ of linear regressions, or the known σ."""
        if self.__sklearn_is_fitted__() and self._settings["estimator"] is not None:
            raise AttributeError(f"{type(self).__name__} has no noise_std_ with an estimator")
        return float(self._restored("noise_std", self._average("noise_std_").noise_std_))

    def summary(self) -> ParameterTable:
        """Inclusion probability, posterior mean and standard deviation of each coefficient.

        Returns
        -------
        ParameterTable
            One row per column of X, of a softmax for each class: ``inclusion``, the probability that it is in
            the model, ``mean`` and ``sd`` of its coefficient over subsets, zero where the column is out.
        """
        self._must_be_fitted()
        features, coef = dimension_labels(self, "feature", self.n_features_in_), self.coef_
        names = [f"coef[{name}]" for name in features]
        if coef.ndim == 2:
            names = [f"coef[{one}, {name}]" for one in self.classes_ for name in features]
        inclusion = np.broadcast_to(self.inclusion_probabilities_, coef.shape)
        table = {"inclusion": inclusion, "mean": coef, "sd": self.coef_std_}
        columns = {name: np.ravel(values) for name, values in table.items()}
        return ParameterTable(columns, names, heading=heading(self), notes=warned(self))

    def _prior_notes(self) -> list[str]:
        stated = self._settings
        if stated["estimator"] is not None:
            return list(self._average("summary")._prior_notes())
        if stated["coef_prior"] != "independent":
            return [f"priors (without units): coefficients {stated['coef_prior']!r}, a g-prior"]
        intercept = f", intercept N(0, {self._model.intercept_scale:g}²)" * stated["fit_intercept"]
        return self._said(f"coefficients N(0, {self._model.coef_scale:g}²){intercept}")

    def _restored(self, name: str, value: Any) -> Any:
        """A named parameter in the data's units."""
        return np.array(value) if self._units is None else self._units.restored({name: value})[name]

    @property
    def warnings_(self) -> list[str]:
        """Why the answer should not be trusted as it is."""
        doubts = self._posterior("warnings_").doubts
        return [*self._doubts, *doubts]

    @property
    def units_(self) -> Units:
        """Units in which the priors are stated, for ``units=`` of another estimator."""
        self._must_have_learnt("units_")
        if self._settings["estimator"] is not None and self._units_of_estimator is not None:
            return self._units_of_estimator
        return super().units_

    def _get_support_mask(self) -> np.ndarray:
        self._must_be_fitted()
        return self._posterior().inclusion >= 0.5  # the median probability model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_weighed")

    def _prior_conflict(self) -> str | None:
        """Parts of the posterior of all columns that contradict the prior; of the g-prior a constant y."""
        n_mean_draws = 100  # means are then known to a tenth of their standard deviations
        weight, mean, scatter = (part[-1] for part in self._sums.by_column())
        if self._settings["coef_prior"] != "independent":
            varies = scatter > 0 or (mean != 0 and not self._settings["fit_intercept"])
            return None if varies else CONSTANT
        y_size = float(np.sqrt(mean**2 + scatter / weight))
        try:
            with np.errstate(all="ignore"):
                theta = self._model.posterior(self._sums).sample(generator(0), n_mean_draws)
        except DivergenceError:  # all columns together are beyond double precision
            return None
        W = np.full(n_mean_draws, 1 / n_mean_draws)
        names = dimension_labels(self, "feature", self.n_features_in_)
        return prior_conflict(self._model, theta, W, None, self._units is not None, y_size, columns=names)

    def _average(self, name: str) -> Any:
        """The mean over subsets, computed when it is first asked for; with an estimator one that predicts."""
        found = self._posterior(name)
        if self._weighed.average is None:
            self._weighed.average = found.averaged.average()
        return self._weighed.average

    def _posterior(self, name: str = "posterior") -> Posterior:
        """Weighed when it is first asked for after new rows."""
        self._must_have_learnt(name)
        found = self._weighed.posterior
        if found is None:
            rng = copy.deepcopy(self._rng)
            size_prior = self._settings["size_prior"]
            prior, rscale = self._settings["coef_prior"], self._settings["rscale"]
            args = self._sums, self._model, self._always, self._groups, size_prior, rng
            progress = Progress(type(self).__name__, getattr(self, "verbose", False))
            with progress.beating():
                found = posterior(*args, prior, rscale, progress)
            normalised = looks_normalised(self.n_samples_seen_, self._sums.total_weight)
            each = (self._prior_conflict(), normalised, self._doubt_of_constants())
            more = [words for words in each if words is not None]
            found = found._replace(doubts=[*found.doubts, *more])
            self._weighed.posterior = found
            warn_caller(*found.doubts)
        return found

    def predict(self, X: Any, return_std: bool = False, offset: Any = None, trials: Any = None) -> Any:
        """Posterior predictive mean, of times median, averaged over subsets; of classes the most probable.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviation, that of y itself included.  Not of classes.
        offset : float or array-like of shape (n_samples,), optional
            As ``fit`` takes it.
        trials : int or array-like of shape (n_samples,), optional

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        known = given_of(offset, trials)
        found, X = self._average_and_X(X, known)
        if self._settings["estimator"] is None:
            return self._of_linear(found, X, return_std)
        if hasattr(self, "classes_") and return_std:
            raise ValueError("return_std is for numbers: predict_proba says how certain a class is")
        return found.predict(X, **known, **({"return_std": True} if return_std else {}))

    @available_if(_selects_for_classes)
    def predict_log_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Log posterior predictive probabilities of the classes, averaged over subsets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        known = given_of(offset)
        found, X = self._average_and_X(X, known)
        return found.predict_log_proba(X, **known)

    @available_if(_selects_for_classes)
    def predict_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Posterior predictive probabilities of the classes, averaged over subsets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X, offset))

    def score_samples(
        self,
        X: Any,
        y: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
        entry: Any = None,
    ) -> np.ndarray:
        """Log predictive density of each row, averaged over subsets; of classes and counts log probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, the score that the average itself expects: minus the entropy of its prediction (of a
            Gaussian with the predictive variance, for linear regressions).
        offset : float or array-like of shape (n_samples,), optional
            As ``fit`` takes it.
        trials : int or array-like of shape (n_samples,), optional
        event, entry : array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples,)
            Nats.  Linear regressions are integrated over the noise, others averaged over draws.
        """
        known = given_of(offset, trials, event, entry)
        found, _ = self._average_and_X(X, known)
        if self._settings["estimator"] is not None:
            return np.asarray(found.score_samples(X, y, **known))
        if y is None:
            _, std = self.predict(X, return_std=True)
            return -0.5 * (1 + np.log(2 * np.pi)) - np.log(std)
        rows = self._rows(X, y, None, False, None)
        if self._units is not None:
            rows = self._units.rows(rows)
        refuse_extreme(X=rows.X, y=rows.y)
        log_unit = 0.0 if self._units is None else self._units.log_unit
        return self._posterior("score_samples").averaged.log_density(rows.X, rows.y) - log_unit

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
    ) -> float:
        """R² of :meth:`predict`; of classes the share of rows that it gets right, of times the concordance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional
        event : bool or array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        known = given_of(offset, trials, event)
        found, _ = self._average_and_X(X, known)
        if self._settings["estimator"] is None:
            return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
        return float(found.score(X, y, sample_weight, **known))

    def _average_and_X(self, X: Any, known: dict[str, Any]) -> tuple[Any, Any]:
        """The average that predicts, and the rows: validated, unless the models of an estimator do that."""
        self._must_be_fitted()
        refuse_unreadable(X=X)
        if self._settings["estimator"] is None:
            if known:
                raise ValueError(f"a linear regression takes no {' and no '.join(known)}: see estimator=")
            X = validated(self, X, reset=False)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._average("predict"), X

    def _of_linear(self, found: Any, X: np.ndarray, return_std: bool) -> Any:
        units = self._units
        if units is not None:
            X = units.X(X)
        refuse_extreme(X=X)
        mean = found.predict(X) if units is None else units.restored_y(found.predict(X))
        if not return_std:
            return mean
        return mean, found.std(X) * (1.0 if units is None else units.y_scale)


def given_of(offset: Any, trials: Any = None, event: Any = None, entry: Any = None) -> dict[str, Any]:
    """Keyword arguments of those that are given."""
    return with_known(None, offset, trials, event, entry).given
