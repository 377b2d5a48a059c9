"""Bayesian model averaging: models weighted by their evidence."""

import copy
from numbers import Integral

import numpy as np
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, _fit_context, clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    process_routing,
)
from sklearn.utils.metaestimators import _BaseComposition, available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from .estimators._base import EvidenceEstimator
from .estimators._transaction import all_or_nothing
from .model_selection import last_step
from .particles import log_sum_exp


def _children_have(method):
    """The averager has a method if all children have it and they are of one kind that predicts."""

    def check(self):
        children = self._children()
        return (
            bool(children)
            and self._kind(children) in ("classifier", "regressor")
            and all(hasattr(last_step(child), method) for child in children)
        )

    return check


def _children_are_online(self):
    children = self._children()
    return bool(children) and all(map(_is_online, children))


class EvidenceModelAverager(MetaEstimatorMixin, _BaseComposition):
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
        ``partial_fit``.
    estimators_ : list of estimators
        The fitted models.
    named_estimators_ : Bunch
        The same by name.
    n_samples_seen_, data_fingerprint_ : int
        Rows absorbed and their checksum, the same for all models.
    classes_ : ndarray of shape (n_classes,)
        Classifiers only.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
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
    afterwards, and the last step sees the chunks as they transform them.

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

    def __init__(self, estimators, *, model_prior=None, n_jobs=None, random_state=None):
        self.estimators = estimators
        self.model_prior = model_prior
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- learning -------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None, **fit_params):
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
        _raise_for_params(fit_params, self, "fit")
        with all_or_nothing(self):
            children = self._fresh_children()
            params = self._route("fit", children, sample_weight, fit_params)
            fitted = Parallel(n_jobs=self.n_jobs)(
                delayed(_fit_child)(child, X, y, params[name]) for name, child in children
            )
            self._path = []
            self._store(fitted, X, reset=True)
        return self

    @available_if(_children_are_online)
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X, y=None, classes=None, sample_weight=None):
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
            As in :meth:`fit`; nothing has changed then.
        """
        with all_or_nothing(self):
            first = not hasattr(self, "estimators_")
            if first:
                children, self._path = self._fresh_children(), []
            else:
                children = list(self.named_estimators_.items())
            params = self._route("partial_fit", children, sample_weight, {})
            extra = {} if classes is None else {"classes": classes}
            fitted = Parallel(n_jobs=self.n_jobs)(
                delayed(_partial_fit_child)(child, X, y, params[name], extra, first)
                for name, child in children
            )
            self._store(fitted, X, reset=first)
        return self

    def _fresh_children(self):
        """Clones of the models, named, with seeds of their own."""
        self._validate_estimators()
        children = [(name, clone(child)) for name, child in self.estimators]
        if self.random_state is not None:
            _seed([child for _, child in children], check_random_state(self.random_state))
        return children

    def _validate_estimators(self):
        pairs = self.estimators
        if not pairs or not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs):
            raise ValueError(f"estimators must be a non-empty list of (name, estimator) pairs, got {pairs!r}")
        names, children = zip(*pairs)
        self._validate_names(names)
        self._check_estimators_are_instances(children)
        kinds = {}
        for name, child in pairs:
            kind = get_tags(child).estimator_type
            if kind is not None:
                kinds.setdefault(kind, name)
        if len(kinds) > 1:
            raise ValueError(
                "evidences of different kinds of models cannot be compared: "
                + ", ".join(f"{name!r} is a {kind}" for kind, name in kinds.items())
            )
        self._log_prior(names)

    def _log_prior(self, names):
        prior = self.model_prior
        if prior is None:
            prior = np.ones(len(names))
        elif isinstance(prior, dict):
            if set(prior) != set(names):
                raise ValueError(f"model_prior has keys {sorted(prior)}, the models are {sorted(names)}")
            prior = [prior[name] for name in names]
        prior = np.asarray(prior, dtype=float)
        if prior.shape != (len(names),) or not np.all(np.isfinite(prior) & (prior > 0)):
            raise ValueError(
                f"model_prior must be {len(names)} positive numbers, one a model, got {self.model_prior!r}"
            )
        return np.log(prior / prior.sum())

    def _store(self, fitted, X, reset):
        """Check that the evidences are of the same rows, then weigh the models."""
        names = [name for name, _ in self.estimators] if reset else list(self.named_estimators_)
        models = [last_step(child) for child in fitted]
        for name, model in zip(names, models):
            if not hasattr(model, "log_evidence_"):
                raise ValueError(
                    f"estimator {name!r} ({type(model).__name__}) has no log_evidence_ after fit"
                )
            if not np.isfinite(model.log_evidence_):
                raise ValueError(f"estimator {name!r} has log_evidence_ = {model.log_evidence_}")
        for attribute, meaning in [
            ("n_samples_seen_", "has seen another number of rows"),
            ("data_fingerprint_", "has seen other data"),
            ("classes_", "has other classes"),
        ]:
            self._share(attribute, meaning, names, models)
        _check_feature_names(self, X, reset=reset)
        if reset:
            _check_n_features(self, X, reset=True)
        self.estimators_ = fitted
        self.named_estimators_ = Bunch(**dict(zip(names, fitted)))
        self.log_evidences_ = np.array([m.log_evidence_ for m in models], dtype=float)
        self.log_evidences_std_ = np.array([getattr(m, "log_evidence_std_", np.nan) for m in models])
        joint = self._log_prior(names) + self.log_evidences_
        self.log_evidence_ = float(log_sum_exp(joint))
        self.weights_ = np.exp(joint - self.log_evidence_)
        self.log_evidence_std_ = float(np.linalg.norm(self.weights_ * self.log_evidences_std_))
        self._path = [*self._path, (self.n_samples_seen_, self.weights_)]

    def _share(self, attribute, meaning, names, models):
        """Store what all models agree on, or say which does not; models that do not have it are not asked."""
        known = [
            (name, getattr(model, attribute))
            for name, model in zip(names, models)
            if hasattr(model, attribute)
        ]
        for name, value in known[1:]:
            if not np.array_equal(value, known[0][1]):
                raise ValueError(
                    f"estimator {name!r} {meaning} than {known[0][0]!r}: {attribute} is {value} and "
                    f"{known[0][1]}; their evidences cannot be compared"
                )
        if known:
            setattr(self, attribute, known[0][1])
        elif attribute == "n_samples_seen_":
            raise ValueError(f"estimator {names[0]!r} has no n_samples_seen_ after fit")

    # -- prediction -------------------------------------------------------------------------------

    @available_if(_children_have("predict"))
    def predict(self, X, return_std=False):
        """Most probable class, or mean, under the average of the models' predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Regressors: also return the standard deviation, spread between models included.

        Returns
        -------
        prediction : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        check_is_fitted(self)
        if self._kind() == "classifier":
            if return_std:
                raise ValueError("return_std is for regressors only")
            return self.classes_[np.argmax(self.predict_log_proba(X), axis=1)]
        if not return_std:
            return self.weights_ @ np.array(self._ask("predict", X))
        means, stds = np.array(self._ask("predict", X, return_std=True)).transpose(1, 0, 2)
        mean = self.weights_ @ means
        return mean, np.sqrt(self.weights_ @ (stds**2 + (means - mean) ** 2))

    @available_if(_children_have("predict_proba"))
    def predict_log_proba(self, X):
        """Log of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._mix(self._ask("predict_log_proba", X))

    @available_if(_children_have("predict_proba"))
    def predict_proba(self, X):
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
    def decision_function(self, X):
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

    def score_samples(self, X, y=None):
        """Log predictive density of each row under the mixture of models, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, a classifier or regressor gives the score that it expects, as
            :meth:`BayesianLinearRegression.score_samples` does.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        kind = self._kind()
        if y is None and kind == "classifier":
            log_p = self.predict_log_proba(X)
            return np.sum(np.exp(log_p) * log_p, axis=1)
        if y is None and kind == "regressor":
            return -0.5 * np.log(2 * np.pi * np.e) - np.log(self.predict(X, return_std=True)[1])
        args = () if y is None or kind == "density_estimator" else (y,)
        return self._mix(self._ask("score_samples", X, *args))

    def score(self, X, y=None, sample_weight=None):
        """Accuracy of a classifier, R² of a regressor, otherwise mean of :meth:`score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        metric = {"classifier": accuracy_score, "regressor": r2_score}.get(self._kind())
        if metric is not None:
            return metric(y, self.predict(X), sample_weight=sample_weight)
        return float(np.average(self.score_samples(X, y), weights=sample_weight))

    @property
    def weights_path_(self) -> dict[str, np.ndarray]:
        """One entry per call of ``fit`` or ``partial_fit``."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("EvidenceModelAverager has no weights_path_ before it is fitted")
        n_samples, weights = zip(*self._path)
        return {"n_samples": np.array(n_samples), "weights": np.array(weights)}

    def _ask(self, method, X, *args, **kwargs):
        """The answers of all models, each to X as its pipeline transforms it."""
        _check_feature_names(self, X, reset=False)
        answers = []
        for child in self.estimators_:
            model, X_in = _behind_transformers(child, X)
            answers.append(getattr(model, method)(X_in, *args, **kwargs))
        return answers

    def _mix(self, logs):
        """log Σ_k weight_k exp(logs_k); a weight that underflows is no model."""
        alive = self.weights_ > 0
        log_weights = np.log(self.weights_[alive])
        logs = np.array([log for log, a in zip(logs, alive) if a])
        return log_sum_exp(logs + log_weights.reshape(-1, *[1] * (logs.ndim - 1)), axis=0)

    # -- scikit-learn ------------------------------------------------------------------------------

    def _children(self):
        """The models, or an empty list if ``estimators`` is not a list of pairs."""
        if hasattr(self, "estimators_"):
            return self.estimators_
        try:
            return [child for _, child in self.estimators]
        except (TypeError, ValueError):
            return []

    def _kind(self, children=None):
        """ "classifier", "regressor", "density_estimator", or None with a custom model among them."""
        try:
            kinds = {get_tags(child).estimator_type for child in children or self._children()}
        except (AttributeError, TypeError, ValueError):
            return None
        return kinds.pop() if len(kinds) == 1 else None

    def get_params(self, deep=True):
        """Parameters, also those of the models as ``name__param``.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        dict
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params):
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            child = get_tags(self.estimators[0][1])
            tags.estimator_type = self._kind()
            tags.classifier_tags, tags.regressor_tags = child.classifier_tags, child.regressor_tags
            tags.target_tags = child.target_tags
        except (AttributeError, TypeError, ValueError, IndexError, KeyError):
            pass  # not a list of pairs: fit says so
        return tags

    def get_metadata_routing(self):
        """Where metadata goes: to ``fit`` and ``partial_fit`` of the models that request it.

        A pipeline's ``fit`` request holds for ``partial_fit`` too.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=self)
        for name, child in self.estimators:
            mapping = MethodMapping()
            for method in ("fit", "partial_fit"):
                mapping.add(caller=method, callee=_callee(child, method))
            router.add(**{name: child}, method_mapping=mapping)
        return router

    def _route(self, method, children, sample_weight, params):
        """Keyword arguments of each child's method, by name."""
        given = params if sample_weight is None else {"sample_weight": sample_weight, **params}
        if not _routing_enabled():
            return {name: _for_last_step(child, given) for name, child in children}
        if not given:
            return {name: {} for name, _ in children}
        routed = process_routing(self, method, **given)
        return {name: dict(routed[name][_callee(child, method)]) for name, child in children}


def _callee(child, method):
    """Pipelines have no partial_fit: their ``fit`` says what the steps want."""
    return "fit" if isinstance(child, Pipeline) else method


def _seed(children, rng):
    """Distinct seeds for every random_state of every child."""
    places = [
        (child, key)
        for child in children
        for key in sorted(child.get_params(deep=True))
        if key == "random_state" or key.endswith("__random_state")
    ]
    seeds = sample_without_replacement(2**31 - 1, len(places), random_state=rng)
    for (child, key), seed in zip(places, seeds):
        child.set_params(**{key: int(seed)})


def _routing_enabled() -> bool:
    return get_config()["enable_metadata_routing"]


def _for_last_step(child, params):
    """Without metadata routing a pipeline takes ``laststep__sample_weight``."""
    if isinstance(child, Pipeline):
        name, last = child.steps[-1]
        return {f"{name}__{key}": value for key, value in _for_last_step(last, params).items()}
    return dict(params)


def _is_online(child) -> bool:
    """A frozen model does not learn."""
    if isinstance(child, Pipeline):
        return _is_online(child.steps[-1][1])
    return not isinstance(child, FrozenEstimator) and hasattr(child, "partial_fit")


def _behind_transformers(child, X):
    """The model at the end of a pipeline, and X as it sees it."""
    while isinstance(child, (Pipeline, FrozenEstimator)):
        if isinstance(child, Pipeline):
            for transformer in _transformers(child):
                X = transformer.transform(X)
            child = child.steps[-1][1]
        else:
            child = child.estimator
    return child, X


def _transformers(pipeline):
    return [step for _, step in pipeline.steps[:-1] if step is not None and step != "passthrough"]


def _fit_child(child, X, y, params):
    return child.fit(X, y, **params)


def _partial_fit_child(child, X, y, params, extra, first):
    """A copy of the child that has absorbed the rows; the child itself stays as it was."""
    if not isinstance(child, Pipeline):
        # states of our own estimators are immutable, so that a shallow copy is a branch of the stream
        shallow = isinstance(child, (EvidenceEstimator, EvidenceModelAverager))
        child = copy.copy(child) if shallow else copy.deepcopy(child)
        return child.partial_fit(X, y, **extra, **params)
    routed = process_routing(child, "fit", **params) if _routing_enabled() and params else None
    steps = []
    for name, step in child.steps[:-1]:
        if step is not None and step != "passthrough":
            if first:
                step, X = _fit_transform(step, X, y, {} if routed is None else routed[name])
            else:
                X = step.transform(X)
        steps.append((name, step))
    name, last = child.steps[-1]
    if routed is not None:
        last_params = routed[name]["fit"]
    else:
        last_params = {key.removeprefix(f"{name}__"): value for key, value in params.items()}
    child = copy.copy(child)
    child.steps = [*steps, (name, _partial_fit_child(last, X, y, last_params, extra, first))]
    return child


def _fit_transform(transformer, X, y, params):
    if hasattr(transformer, "fit_transform"):
        return transformer, transformer.fit_transform(X, y, **params.get("fit_transform", {}))
    return transformer, transformer.fit(X, y, **params.get("fit", {})).transform(X)
