"""A grid search by evidence."""

from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.utils.validation import check_is_fitted

from ..exceptions import warn_caller
from ..history import task_workers
from ..mixture.estimators import one_walk_of_clones
from ..rows import refuse_unknown_sizes
from ..samplers import Progress
from ._candidates import ONE_MAX_ORDER, candidates, last_step
from ._compare import compare
from ._search import FullData, checked_scorer, evidence_scorers, words_of_fits


class EvidenceSearch(GridSearchCV):
    """Fit every model of a grid to all rows, and keep the one with the most evidence.

    Parameters
    ----------
    estimator : estimator
        With ``log_evidence_`` once fitted, or a pipeline that ends in one.
    param_grid : dict of str to sequence, or list of such dicts
        Values to try of each parameter, as in scikit-learn's ``GridSearchCV``.
    n_jobs : int or None, default=None
        Fits at a time.
    verbose : int, default=0
        Messages of the search, as in ``GridSearchCV``; from 1 on every two seconds a line that says how many
        models are fitted and how long the others will take at that pace.

    Attributes
    ----------
    comparison_ : DataFrame, or Table where pandas is not installed
        The models of the grid side by side, see :func:`compare`.
    best_estimator_ : estimator
        The model with the most evidence, fitted; ``predict`` and others of the search are its own.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its log evidence in the search, nats.
    cv_results_ : dict
        As in ``GridSearchCV``, with the scores of :data:`evidence_scorers`, and the ``warnings`` of each fit
        where the fits ran in this process.

    Warns
    -----
    EvidenceWarning
        If the largest number of components or states, or order, that was tried has the most evidence: a
        larger one may have more.

    See Also
    --------
    compare : The table, for models that are already fitted.
    EvidenceModelAverager : Averages the models instead of choosing one.

    Notes
    -----
    It is ``GridSearchCV`` with ``scoring=evidence_scorers``, ``refit="log_evidence"``, ``cv=FullData()`` and
    ``error_score="raise"``.  The evidence already charges a model for its complexity, so that no rows are
    held out.  The best model is fitted twice, the second time for ``best_estimator_``: with an int as its
    ``random_state`` both fits are the same.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianGMM, EvidenceSearch
    >>> X = scale(load_iris().data[:, 2:])
    >>> search = EvidenceSearch(BayesianGMM(random_state=0), {"n_components": [1, 2, 3, 4]}).fit(X)
    >>> search.best_params_
    {'n_components': 3}
    >>> list(search.comparison_.index)
    ['n_components=3', 'n_components=4', 'n_components=2', 'n_components=1']
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            estimator,
            param_grid,
            scoring=evidence_scorers | {"log_evidence": checked_scorer},
            n_jobs=n_jobs,
            pre_dispatch="all",
            refit="log_evidence",
            cv=FullData(),
            verbose=verbose,
            error_score="raise",
        )

    def fit(self, X: Any, y: Any = None, **params: Any) -> "EvidenceSearch":
        """Fit the models of the grid, and the best of them again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or None, default=None
        **params : dict
            Handed on to ``fit`` of the estimator, as ``sample_weight``.

        Returns
        -------
        EvidenceSearch
            Itself.

        Raises
        ------
        ValueError
            If the models are not of the same rows, as orders of an autoregression without one ``max_order``;
            if X or y is a Dask array that does not know its number of rows.
        """
        refuse_unknown_sizes(0, X=X, y=y)
        n_models = len(ParameterGrid(self.param_grid))
        with self._one_walk(X, y, params), task_workers(self.n_jobs, n_models, X), words_of_fits() as words:
            with self._progress(n_models, words):
                super().fit(X, y, **params)
        log_Z = self.cv_results_["mean_test_log_evidence"]
        if all(n == 0 or Z in words for n, Z in zip(self.cv_results_["mean_test_n_warnings"], log_Z)):
            self.cv_results_["warnings"] = [words.get(Z, ()) for Z in log_Z.tolist()]
        try:
            candidates(self)
        except ValueError as error:
            of_series = hasattr(last_step(self.estimator), "max_order")
            raise ValueError(f"{error}{ONE_MAX_ORDER if of_series else ''}") from None
        self._warn_of_an_end()
        return self

    @property
    def comparison_(self) -> Any:
        """The models of the grid side by side, see :func:`compare`."""
        check_is_fitted(self, "cv_results_")
        return compare(self)

    @contextmanager
    def _one_walk(self, X: Any, y: Any, params: dict[str, Any]) -> Iterator[None]:
        """Mixtures of the grid share a walk over strata; where fits are parallel it comes before them."""
        name = next((one for one in self._names() if one.rsplit("__", 1)[-1] == "n_components"), None)
        grid = [one for one in ParameterGrid(self.param_grid) if name in one]
        tried = [one[name] for one in grid]
        with one_walk_of_clones(last_step(self.estimator), tried):
            for one in grid if self.n_jobs not in (None, 1) else ():
                if one[name] == max(tried):
                    clone(self.estimator).set_params(**clone(one, safe=False)).fit(X, y, **params)
            yield

    def _progress(self, n_models: int, done: Sized) -> AbstractContextManager[Any]:
        """Lines while models are fitted; ``done`` holds an entry for each that this process has."""
        start = perf_counter()

        def stage() -> str:
            n, seconds = len(done), perf_counter() - start
            left = f", about {seconds / n * (n_models + 1 - n):.1f} s left" if n else ""  # and the best again
            return f"{n} of {n_models} models" + left

        return Progress(type(self).__name__, self.verbose).beating(stage)

    def _names(self) -> set[str]:
        """Parameters of the grid."""
        return {name for one in ParameterGrid(self.param_grid) for name in one}

    def _warn_of_an_end(self) -> None:
        for name, best in self.best_params_.items():
            tried = [params[name] for params in self.cv_results_["params"] if name in params]
            # these have a next larger value: the search should end beyond the best
            if name.rsplit("__", 1)[-1] in {"n_components", "n_states", "order"} and min(tried) < best == max(
                tried
            ):
                warn_caller(f"the largest {name} of the grid, {best}, has the most evidence: try larger ones")
