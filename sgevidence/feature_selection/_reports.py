"""Answers of the selector, weighed when they are asked for."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators import ParameterTable, Standardising, dimension_labels, heading, prior_conflict, warned
from ..exceptions import DivergenceError, warn_caller
from ..model_selection import Candidate, comparison_table, evidence_columns, facts_of
from ..models import LinearModel
from ..rows import generator, looks_normalised
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


class SubsetReports(Standardising):
    """Reports of the posterior over subsets; the selector learns the sums that it follows from."""

    _settings: dict[str, Any]
    _sums: Any  #: of [1, X, y]
    _model: LinearModel  #: of all columns
    _units_of_estimator: Units | None  #: where there is an estimator
    _always: list[int]
    _groups: list[list[int]]
    classes_: np.ndarray
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
        listed._facts = facts_of(self, index, np.exp(log_prior))
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
        return ParameterTable(columns, names, heading(self), warned(self))

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
