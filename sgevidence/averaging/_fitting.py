"""``fit`` and ``partial_fit`` of an average: from rows to fitted models and their weights."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from .._compat import check_feature_names, check_n_features, raise_for_params
from ..estimators import FitTasks, Learnt, all_or_nothing, fit_tasks, refuse_changes, settings_of_all
from ..mixture.estimators import one_walk
from ..model_selection import last_step, log_model_prior, seed
from ..rows import at_once, is_dask, names_of, refuse_unreadable, weighs_nothing
from ._learning import METHODS, Standing
from ._pipelines import (
    Chunk,
    FirstCall,
    check_kinds,
    check_online,
    check_pairs,
    chunks,
    evidences,
    fit_child,
    labels,
    named,
    route,
    target_in,
)


class Fitting(CallbackSupportMixin, BaseEstimator):
    """Methods of the average that learn."""

    _takes_known = False  # an offset, or trials
    weights_: Any = Learnt()
    log_evidence_: Any = Learnt()
    log_evidence_std_: Any = Learnt()
    log_evidences_: Any = Learnt()
    log_evidences_std_: Any = Learnt()
    _named: str  #: by an average that it is one model of
    _standing: Standing

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Self:
        raise_for_params(fit_params, self, "fit")
        if self.method != "bma" or not is_dask(X):  # models take a collection as it is
            X, y, sample_weight = at_once(self, X, y, sample_weight)
        if weighs_nothing(sample_weight):  # models that learn chunk by chunk would pass over the rows
            raise ValueError("Sample weights must contain at least one non-zero number.")
        with all_or_nothing(self), fit_tasks(self, "fit", X, y) as tasks:
            refuse_unreadable(takes_missing=True, by_name=True, X=X, y=y, sample_weight=sample_weight)
            standing = self._start()
            if self.method == "bma":
                params = route(self, "fit", standing.children, sample_weight, fit_params)
                calls = [(child, X, y, params[name]) for name, child in standing.children]
                with one_walk([last_step(child) for _, child in standing.children]):
                    standing = standing.after(standing.fitted(self, fit_child, calls, tasks))
            else:
                standing = self._learnt(
                    standing, X, y, None, sample_weight, tasks, fit_params, may_wait=False
                )
            self._store(standing, X, reset=True)
        return self

    def _partial_fit(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, fit_params: dict[str, Any]
    ) -> Self:
        raise_for_params(fit_params, self, "partial_fit")
        X, y, sample_weight = at_once(self, X, y, sample_weight)
        if weighs_nothing(sample_weight):
            return self
        with all_or_nothing(self), fit_tasks(self, "partial_fit", X, y) as tasks:
            refuse_unreadable(takes_missing=True, by_name=True, X=X, y=y, sample_weight=sample_weight)
            first = not hasattr(self, "_standing")
            if first:
                standing = self._start()
            else:
                refuse_changes(self._settings, self._what_must_stay())
                standing = self._standing
                if self.method == "bma":
                    standing = standing._replace(weighing=self._weighing())
            standing = self._learnt(standing, X, y, classes, sample_weight, tasks, fit_params)
            self._store(standing, X, reset=first)
        return self

    def _learnt(
        self,
        standing: Standing,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        tasks: FitTasks | None,
        fit_params: dict[str, Any],
        may_wait: bool = True,
    ) -> Standing:
        """After the rows of a call: at once, or chunk by chunk."""
        if self.method == "bma":
            extra = {} if classes is None else {"classes": classes}
            return standing.learning(self, [Chunk(X, y, sample_weight)], extra, tasks, fit_params)
        if fit_params:
            raise ValueError(
                f"method={self.method!r} learns chunk by chunk and takes no metadata but sample_weight, "
                f"got {sorted(fit_params)}"
            )
        models = [child for _, child in standing.children]
        kind = self._kind(models)
        n_before = standing.shared.get("n_samples_seen_", 0)
        y = None if kind == "density_estimator" else target_in(models, X, y)
        pieces = list(chunks(X, y, sample_weight, n_before, self.chunk_size))
        if classes is None and kind == "classifier" and not standing.shared and standing.waiting is None:
            classes = labels(pieces)
        if tasks is not None:
            tasks.expect(len(pieces))
        extra = {} if classes is None else {"classes": classes}
        call = FirstCall(X, y, sample_weight, may_wait)
        return standing.learning(self, pieces, extra, tasks, call=call)

    def _start(self) -> Standing:
        """Clones of the models, named, with seeds of their own."""
        check_pairs(self._pairs)
        names, models = zip(*self._pairs)
        self._validate_names(names)
        self._check_estimators_are_instances(models)
        check_kinds(self._pairs)
        if self.method != "bma":
            check_online(self._pairs, self.method)
        weighing = self._weighing()
        self._settings = self._what_must_stay()
        children = [(name, clone(child)) for name, child in self._pairs]
        for name, child in children:
            named(child, f"{self._named}, {name}" if hasattr(self, "_named") else name)
        if self.random_state is not None:
            seed([child for _, child in children], self.random_state)
        return Standing(children, weighing)

    def _weighing(self) -> Any:
        """The method, before the first row."""
        return METHODS[self.method].start(self._log_prior(), self.forgetting)

    def _log_prior(self) -> np.ndarray:
        return log_model_prior(self.model_prior, [name for name, _ in self._pairs])

    def _what_must_stay(self) -> dict[str, Any]:
        """Parameters that all rows have in common."""
        found = settings_of_all(self._pairs) | {"method": self.method}
        if self.method != "bma":
            found["model_prior"] = tuple(np.exp(self._log_prior()).round(12).tolist())
        if self.method == "dynamic":
            found["forgetting"] = self.forgetting
        return found

    def _store(self, standing: Standing, X: Any, reset: bool) -> None:
        X = names_of(X)
        check_feature_names(self, X, reset=reset)
        if reset:
            check_n_features(self, X, reset=True)
        self._standing = standing
        if standing.waiting is not None:
            return
        self.__dict__ |= standing.shared
        self.estimators_ = [child for _, child in standing.children]
        self.named_estimators_ = Bunch(**dict(standing.children))
        models = [last_step(child) for child in self.estimators_]
        self.log_evidences_, self.log_evidences_std_ = evidences(models)
        weighing = standing.weighing
        self.log_evidence_, self.log_evidence_std_ = weighing.log_evidence, weighing.log_evidence_std
        self.weights_ = weighing.weights

    @property
    def _held(self) -> Any:
        """The model that waits for more rows; None if there is none."""
        return self._standing.waiting if hasattr(self, "_standing") else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_standing") and self._held is None

    def _must_be_fitted(self) -> None:
        """Predictions and scores need what rows have taught."""
        if self._held is not None:
            self._must_have_learnt("a prediction")
        check_is_fitted(self)

    def _still_held(self, name: str) -> NotFittedError:
        """The error of rows that are too few, for an average of averages."""
        return self._held._still_held(name)

    def _must_have_learnt(self, name: str) -> Standing:
        """An attribute that is computed exists, as the others do, only after fit."""
        if not hasattr(self, "_standing"):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        if self._held is not None:
            raise NotFittedError(f"no row of the average counts yet: {self._held._still_held(name)}")
        return self._standing
