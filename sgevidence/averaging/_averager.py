"""Bayesian model averaging: models weighted by their evidence."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed

from .._compat import BaseComposition, check_feature_names, check_n_features, fit_context, raise_for_params
from ..estimators import all_or_nothing, refuse_changes, refuse_masked, settings_of_all
from ..model_selection import last_step
from ._mixing import MixedPredictions
from ._pipelines import fit_child, is_online, partial_fit_child, seed
from ._routing import route, router
from ._weights import ModelWeights, check_kinds, check_pairs, extended, log_model_prior, what_all_share


def _children_are_online(self: "EvidenceModelAverager") -> bool:
    children = self._children()
    return bool(children) and all(map(is_online, children))


class EvidenceModelAverager(MetaEstimatorMixin, MixedPredictions, BaseComposition):
    """Average of models, each weighted by its posterior probability p(model | data) ∝ prior · evidence.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples
        Models of the same rows, of one kind: regressors, classifiers or densities, alone or as the
        last step of a pipeline.  A ``FrozenEstimator`` is used as it is.  With a
        :class:`BayesianModel` among them the averager has no ``predict``.
    model_prior : array-like of shape (n_models,), dict or None, default=None
        Positive prior weights of the models, in the order of ``estimators`` or by name; normalised.
        None is uniform.
    n_jobs : int or None, default=None
        Models fitted at a time.  The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        If not None, each child gets seeds of its own derived from it.

    Attributes
    ----------
    weights_ : ndarray of shape (n_models,)
        Posterior probabilities of the models.
    log_evidence_, log_evidence_std_ : float
        Log evidence of the mixture of models, log Σ_k prior_k Z_k, and its standard error
        √Σ_k (weight_k · std_k)² (delta method), in nats.
    log_evidences_, log_evidences_std_ : ndarray of shape (n_models,)
        Of each model.
    weights_path_ : dict of str to ndarray
        ``n_samples`` (n_calls,) and ``weights`` (n_calls, n_models) after each call of ``fit`` or
        ``partial_fit``.  At most 4096 entries: then every second is dropped.
    estimators_ : list of estimators
        The fitted models.
    named_estimators_ : Bunch
        The same by name.
    n_samples_seen_, data_fingerprint_ : int
        Rows absorbed and their checksum, the same for all models.
    classes_ : ndarray of shape (n_classes,)
        Classifiers only.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if X has column names.

    See Also
    --------
    evidence_scorer : Choose one model instead.

    Notes
    -----
    With many rows the weights concentrate on one model, the one nearest to the truth in
    Kullback–Leibler divergence, even if none is true.  In that (M-open) setting stacking, which
    weights models by how well they predict together, may predict better.

    ``partial_fit`` with pipelines: the transformers are fitted on the first chunk and kept fixed
    afterwards, and the last step sees the chunks as they transform them.  ``model_prior`` holds for all
    rows and may be changed at any time; parameters of the models may not.

    References
    ----------
    J. A. Hoeting, D. Madigan, A. E. Raftery, C. T. Volinsky (1999), Bayesian Model Averaging: A
    Tutorial, Statistical Science 14, 382.

    Y. Yao, A. Vehtari, D. Simpson, A. Gelman (2018), Using Stacking to Average Bayesian Predictive
    Distributions, Bayesian Analysis 13, 917.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianGMM, EvidenceModelAverager
    >>> X = scale(load_iris().data[:, 2:])
    >>> models = [("one", BayesianGMM(1)), ("two", BayesianGMM(2))]
    >>> averager = EvidenceModelAverager(models, random_state=0).fit(X)
    >>> averager.weights_.round(3)
    array([0., 1.])
    >>> averager.named_estimators_.two.means_.shape
    (2, 2)
    """

    _parameter_constraints: dict = {
        "estimators": [list, tuple],
        "model_prior": ["array-like", dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    named_estimators_: Bunch
    n_samples_seen_: int
    data_fingerprint_: int
    _path: list[tuple[int, np.ndarray]]
    _settings: dict[str, Any]  #: parameters of the models at the first call

    def __init__(
        self, estimators: Any, *, model_prior: Any = None, n_jobs: int | None = None, random_state: Any = None
    ) -> None:
        self.estimators = estimators
        self.model_prior = model_prior
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- learning -------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit all models on the same rows and weight them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Not for densities.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        **fit_params : dict
            Metadata that the models have requested, if metadata routing is enabled.

        Returns
        -------
        self : EvidenceModelAverager

        Raises
        ------
        ValueError
            On bad input, and if the evidences of the models cannot be compared; nothing has changed then.
        """
        raise_for_params(fit_params, self, "fit")
        with all_or_nothing(self):
            refuse_masked(X=X, y=y, sample_weight=sample_weight)
            children = self._start()
            params = route(self, "fit", children, sample_weight, fit_params)
            fitted = Parallel(n_jobs=self.n_jobs)(
                delayed(fit_child)(child, X, y, params[name]) for name, child in children
            )
            self._store(fitted, X, reset=True)
        return self

    @available_if(_children_are_online)
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Let all models learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        classes : array-like of shape (n_classes,), optional
            Classifiers: all labels that may ever come.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : EvidenceModelAverager

        Raises
        ------
        ValueError
            As in :meth:`fit`, and if parameters of the models have changed since the first call; nothing
            has changed then.
        """
        with all_or_nothing(self):
            refuse_masked(X=X, y=y, sample_weight=sample_weight)
            first = not hasattr(self, "estimators_")
            if not first:
                refuse_changes(self._settings, settings_of_all(self.estimators))
            children = self._start() if first else list(self.named_estimators_.items())
            params = route(self, "partial_fit", children, sample_weight, {})
            extra = {} if classes is None else {"classes": classes}
            fitted = Parallel(n_jobs=self.n_jobs)(
                delayed(partial_fit_child)(child, X, y, params[name], extra, first)
                for name, child in children
            )
            self._store(fitted, X, reset=first)
        return self

    def _start(self) -> list[tuple[str, Any]]:
        """Clones of the models, named, with seeds of their own."""
        self._validate_estimators()
        self._settings, self._path = settings_of_all(self.estimators), []
        children = [(name, clone(child)) for name, child in self.estimators]
        if self.random_state is not None:
            seed([child for _, child in children], check_random_state(self.random_state))
        return children

    def _validate_estimators(self) -> None:
        check_pairs(self.estimators)
        names, children = zip(*self.estimators)
        self._validate_names(names)
        self._check_estimators_are_instances(children)
        check_kinds(self.estimators)
        log_model_prior(self.model_prior, names)

    def _store(self, fitted: list[Any], X: Any, reset: bool) -> None:
        """Check that the evidences are of the same rows, then weigh the models."""
        names = [name for name, _ in self.estimators] if reset else list(self.named_estimators_)
        models = [last_step(child) for child in fitted]
        self.__dict__ |= what_all_share(names, models)
        check_feature_names(self, X, reset=reset)
        if reset:
            check_n_features(self, X, reset=True)
        self.estimators_ = fitted
        self.named_estimators_ = Bunch(**dict(zip(names, fitted)))
        weighed = ModelWeights.of(models, log_model_prior(self.model_prior, names))
        self.log_evidences_, self.log_evidences_std_ = weighed.log_evidences, weighed.log_evidences_std
        self.log_evidence_, self.log_evidence_std_ = weighed.log_evidence, weighed.log_evidence_std
        self.weights_ = weighed.weights
        self._path = extended(self._path, (self.n_samples_seen_, self.weights_))

    @property
    def weights_path_(self) -> dict[str, np.ndarray]:
        """One entry per call of ``fit`` or ``partial_fit``."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("EvidenceModelAverager has no weights_path_ before it is fitted")
        n_samples, weights = zip(*self._path)
        return {"n_samples": np.array(n_samples), "weights": np.array(weights)}

    # -- scikit-learn ------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, also those of the models as ``name__param``.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        dict
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, of the models as ``name__param``, or a model by its name.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self : EvidenceModelAverager
        """
        self._set_params("estimators", **params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            child = get_tags(self.estimators[0][1])
            tags.estimator_type = self._kind()
            tags.classifier_tags, tags.regressor_tags = child.classifier_tags, child.regressor_tags
            tags.target_tags = child.target_tags
        except (AttributeError, TypeError, ValueError, IndexError, KeyError):
            pass  # not a list of pairs: fit says so
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes: to ``fit`` and ``partial_fit`` of the models that request it.

        A pipeline's ``fit`` request holds for ``partial_fit`` too.

        Returns
        -------
        MetadataRouter
        """
        return router(self, self.estimators)
