r"""Predictions of an average of models: the mixture of their predictive distributions.

    p(y | x, data) = Σ_k w_k p_k(y | x, data)                      (Hoeting et al. 1999, Eq. 1)

The score that the average expects of a row is the mean of log p(y | x) under itself, minus the entropy H
of the mixture.  For classes it is a sum.  For numbers each model says what it expects, −H_k, and

    −H = −Σ_k w_k H_k − I,     0 ≤ I ≤ H(w),

where I is what y would tell of which model is right, and H(w) the entropy of the weights.  I is taken from
the predictive moments, ½ [log σ² − Σ_k w_k log σ_k²], with σ² the variance of the mixture, where that is
below H(w): for Gaussian predictions that agree in variance or mean little, that of the Gaussian of equal
moments; for predictions far apart, exact.

Symbols
-------
=======  =============  ===================================================
w_k      ``weights_``   posterior probabilities of the models
m_k, σ_k ``means, stds`` predictive mean and standard deviation of model k
I        ``told``       information of y about the model
=======  =============  ===================================================

The summary of an average: its models, and the parameters that they have in common.

The posterior of a coefficient is the mixture of the models' posteriors, with a point at zero for models
without the column:

    E[f] = Σ_k w_k E_k[f],     Var[f] = Σ_k w_k (Var_k[f] + (E_k[f] − E[f])²).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from .._compat import raise_for_params
from ..estimators import ParameterTable, bounds, percent, response_in, scalar_names, weighted_quantiles
from ..model_selection import behind_transformers, last_step
from ..particles import log_mixture, mixture_moments
from ..rows import at_once, read_labels, refuse_unreadable
from ..tables import Table, with_errors
from ._pipelines import route_to_last_steps, target_in


class ModelTable(Table):
    """Models, the index, with their weights; the repr fits into eighty columns."""

    def _printed(self) -> Table:
        weight, low, high, log_Z, std, warnings = self.columns
        cells = {name: [f"{value:.3f}" for value in self[name]] for name in (weight, low, high)}
        cells["log evidence ± error"] = with_errors(self[log_Z], self[std])
        if any(self[warnings]):
            cells["doubt"] = ["warned" if words else "" for words in self[warnings]]
        return Table(cells, self.index)


class AverageSummary(NamedTuple):
    """Models of an average with their weights, and averaged parameters.

    Parameters
    ----------
    models : Table
        One row per model, the heaviest first: ``weight``, its interval of 90 % as ``5%`` and ``95%``,
        ``log_evidence``, ``log_evidence_std`` (nats), ``warnings``.
    parameters : ParameterTable or None
        Parameters averaged over models, if these are regressions of one kind that see the same columns:
        ``inclusion`` (sum of the weights of the models that have the parameter), ``mean``, ``sd`` and the
        bounds of the interval.  A coefficient is zero in models without its column.
    """

    models: Table
    parameters: ParameterTable | None

    def __repr__(self) -> str:
        return "\n\n".join(repr(table) for table in self if table is not None)

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self if table is not None)


def summary(averager: Any, level: float) -> AverageSummary:
    """The tables of a fitted average."""
    q = bounds(level)
    order = np.argsort(-averager.weights_, kind="stable")
    low, high = averager.weights_interval_
    models = [last_step(child) for child in averager.estimators_]
    columns = {
        "weight": averager.weights_,
        "5%": low,
        "95%": high,
        "log_evidence": averager.log_evidences_,
        "log_evidence_std": averager.log_evidences_std_,
        "warnings": np.array(["; ".join(getattr(model, "warnings_", ())) for model in models]),
    }
    names = list(averager.named_estimators_)
    table = ModelTable({name: values[order] for name, values in columns.items()}, [names[k] for k in order])
    return AverageSummary(table, _parameters(averager, models, q) if _are_alike(averager) else None)


def _are_alike(averager: Any) -> bool:
    """Their coefficients mean the same: one class, one kind of family, no transformers in between."""
    kinds = set()
    for child in averager.estimators_:
        model = last_step(child)
        family = getattr(model, "_family", None)
        kinds.add((type(model), type(family), getattr(family, "link", None)))
        transforms = isinstance(child, Pipeline) and len(child.steps) > 1
        if transforms or not hasattr(model, "coef_"):
            return False
    return len(kinds) == 1


def _parameters(averager: Any, models: list[Any], q: list[float]) -> ParameterTable:
    """Mixtures of the posteriors of the models' parameters."""
    draws: list[dict[str, np.ndarray]] = []
    for model in models:
        named = model._summarised(dict(model._parameters(model.particles_)))
        named.pop("effects", None)  # one for each level, as in summary() of a model
        scalars = scalar_names(model, {name: values.shape[1:] for name, values in named.items()})
        draws.append({label: named[name][(slice(None), *index)] for label, name, index in scalars})
    labels, rows = [], []
    for label in dict.fromkeys(label for one in sorted(draws, key=len, reverse=True) for label in one):
        has = np.array([label in one for one in draws])
        # parameters that are zero in a model that does not have them
        if not has.all() and label.partition("[")[0] not in ("coef", "intercept"):
            continue
        at_zero = [np.zeros(len(model.particles_)) for model in models]
        values = np.concatenate([one.get(label, zero) for one, zero in zip(draws, at_zero)])
        W = np.concatenate([w * model.particle_weights_ for w, model in zip(averager.weights_, models)])
        mean = W @ values
        sd = np.sqrt(W @ (values - mean) ** 2)
        labels.append(label)
        rows.append((averager.weights_[has].sum(), mean, sd, *weighted_quantiles(values, W, q)))
    columns = dict(zip(["inclusion", "mean", "sd", *map(percent, q)], np.array(rows).reshape(-1, 5).T))
    return ParameterTable(columns, labels, heading="averaged over models")


def _children_have(method: str) -> Callable[[Any], bool]:
    """The averager has a method if all children have it and they are of one kind that predicts."""

    def check(self: Any) -> bool:
        children = self._children()
        return (
            bool(children)
            and self._kind(children) in ("classifier", "regressor")
            and all(hasattr(last_step(child), method) for child in children)
        )

    return check


def _children_predict(self: Any) -> bool:
    """All are classifiers, or all predict means: regressors, and models of one's own with ``mean=``."""
    children = self._children()
    if self._kind(children) != "classifier" and not _all_kinds(children) <= {"regressor", None}:
        return False
    for model in map(last_step, children):
        try:
            _ = model.predict
        except AttributeError as error:
            reason = error.__cause__ or error
            raise AttributeError(
                f"predict averages predictions of all models, and a {type(model).__name__} has none: {reason}"
            ) from error
    return bool(children)


def _all_kinds(children: list[Any]) -> set[str | None]:
    """Kinds of the models, None for a custom model."""
    return {get_tags(child).estimator_type for child in children if hasattr(child, "__sklearn_tags__")}


class MixedPredictions(BaseEstimator):
    """Methods of the fitted average that predict and score."""

    _copies_are_branches = True  # of a stream, as its models' are

    @available_if(_children_predict)
    def predict(self, X: Any, return_std: bool = False, **params: Any) -> Any:
        """Most probable class, or mean, under the average of the models' predictions.

        Each :class:`BayesianModel` among the models needs its ``mean=``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Regressors: also return the standard deviation, spread between models included.  A
            :class:`BayesianModel` states a mean, and no standard deviation.
        **params : dict
            Metadata that the models have requested for ``predict``, if metadata routing is enabled, such as
            the ``offset`` of a :class:`BayesianGLM`.

        Returns
        -------
        prediction : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        self._must_be_fitted()
        if self._kind() == "classifier":
            if return_std:
                raise ValueError("return_std is for regressors only")
            raise_for_params(params, self, "predict")
            return self.classes_[np.argmax(self.predict_log_proba(X), axis=1)]
        if not return_std:
            return self.weights_ @ np.array(self._ask("predict", X, metadata=params))
        if None in _all_kinds(self.estimators_):
            raise ValueError(
                "return_std: the mean= of a BayesianModel says nothing of the standard deviation"
            )
        return mixture_moments(self.weights_, *self._predictive_moments(X, params))

    def _predictive_moments(self, X: Any, params: dict[str, Any]) -> np.ndarray:
        """Means and standard deviations of all models, (2, K, n)."""
        return np.array(self._ask("predict", X, metadata=params, return_std=True)).transpose(1, 0, 2)

    @available_if(_children_have("predict_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        self._must_be_fitted()
        return log_mixture(self.weights_, np.array(self._ask("predict_log_proba", X)))

    @available_if(_children_have("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, averaged over models.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(_children_have("predict_proba"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds of the averaged prediction for two classes, its log probabilities for more.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def score_samples(self, X: Any, y: Any = None, **params: Any) -> np.ndarray:
        """Log predictive density of each row under the mixture of models, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, that of the formulas, where X has it; else a classifier or regressor gives the score
            that it expects: minus the entropy of the averaged prediction.  For regressors the score is the
            average of the scores that the models expect, less the information that y would give about which
            model is right, by their means and variances.
        **params : dict
            Metadata that the models have requested for ``predict``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X, y, _ = at_once(self, X, y)
        self._must_be_fitted()
        kind = self._kind()
        y = target_in(self.estimators_, X, y)
        if y is None and kind == "classifier":
            log_p = self.predict_log_proba(X)
            return np.sum(np.exp(log_p) * log_p, axis=1)
        if y is None and kind == "regressor":
            return self._expected_score(X, params)
        args = () if y is None or kind == "density_estimator" else (y,)
        return log_mixture(self.weights_, np.array(self._ask("score_samples", X, *args, metadata=params)))

    def _expected_score(self, X: Any, params: dict[str, Any]) -> np.ndarray:
        """Σ_k w_k E_k − I of regressors."""
        w, (means, stds) = self.weights_, self._predictive_moments(X, params)
        told = np.log(mixture_moments(w, means, stds)[1]) - w @ np.log(stds)
        entropy = -np.sum(w[w > 0] * np.log(w[w > 0]))
        scores = np.array(self._ask("score_samples", X, metadata=params))
        return w @ scores - np.minimum(told, entropy)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> float:
        """Accuracy of a classifier, R² of a regressor, otherwise mean of :meth:`score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        sample_weight : array-like of shape (n_samples,), optional
        **params : dict
            Metadata that the models have requested for ``predict``.

        Returns
        -------
        float
        """
        X, y, sample_weight = at_once(self, X, y, sample_weight)
        self._must_be_fitted()
        for model, X_in in (behind_transformers(child, X) for child in self.estimators_):
            y = response_in(model, X_in, y) if getattr(model, "formula", None) is not None else y
        metrics = {"classifier": accuracy_score, "regressor": r2_score}
        if (kind := self._kind()) in metrics:
            y = read_labels(y) if kind == "classifier" else y
            return metrics[kind](y, self.predict(X, **params), sample_weight=sample_weight)
        return float(np.average(self.score_samples(X, y, **params), weights=sample_weight))

    def summary(self, level: float = 0.9) -> AverageSummary:
        """Models with their weights, and parameters averaged over models.

        Parameters
        ----------
        level : float, default=0.9
            Probability of the intervals of the parameters.

        Returns
        -------
        AverageSummary
            With the tables ``models`` and ``parameters``; ``parameters`` is None unless the models are
            regressions of one kind without transformers in front.
        """
        self._must_be_fitted()
        return summary(self, level)

    def _ask(self, method: str, X: Any, *args: Any, metadata: Any = None, **kwargs: Any) -> list[Any]:
        """The answers of all models, each to X as its pipeline transforms it."""
        X, *_ = at_once(self, X, only_X=True)
        refuse_unreadable(takes_missing=True, by_name=True, X=X)
        routed = route_to_last_steps(self, list(self.named_estimators_.items()), metadata or {})
        answers = []
        for child, requested in zip(self.estimators_, routed):
            model, X_in = behind_transformers(child, X)
            answers.append(getattr(model, method)(X_in, *args, **kwargs, **requested))
        return answers

    def _children(self) -> list[Any]:
        """The models, or an empty list if ``estimators`` is neither a dict nor a list."""
        if hasattr(self, "estimators_"):
            return self.estimators_
        try:
            return [child for _, child in self._pairs]
        except (TypeError, ValueError):
            return []

    def _kind(self, children: list[Any] | None = None) -> str | None:
        """ "classifier", "regressor", "density_estimator", or None with a custom model among them."""
        try:
            kinds = {get_tags(child).estimator_type for child in children or self._children()}
        except (AttributeError, TypeError, ValueError):
            return None
        return kinds.pop() if len(kinds) == 1 else None
