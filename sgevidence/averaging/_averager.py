"""Averages of models, weighted by their evidence or by their predictions."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if

from .._compat import BaseComposition, Interval, StrOptions, fit_context
from ..model_selection import last_step
from ._fitting import Fitting
from ._learning import METHODS, columns
from ._model_mixture import MixedPredictions
from ._pipelines import as_pairs, is_online, router


def _children_are_online(self: "EvidenceModelAverager") -> bool:
    children = self._children()
    return bool(children) and all(map(is_online, children))


class EvidenceModelAverager(Fitting, MetaEstimatorMixin, MixedPredictions, BaseComposition):
    """Average of models, weighted by posterior probability, by stacking, or with a memory that fades.

    Parameters
    ----------
    estimators : dict of str to estimator, list of estimators, or list of (str, estimator) tuples
        Models of the same rows, of one kind: regressors, classifiers or densities, alone or as the
        last step of a pipeline; those of a list are named as :func:`compare` does.  A ``FrozenEstimator``
        is used as it is.  With a :class:`BayesianModel` among them the averager predicts if it has a
        ``mean=``, without ``return_std``.
    model_prior : array-like of shape (n_models,), dict or None, default=None
        Positive prior weights of the models, in the order of ``estimators`` or by name; normalised.
        None is uniform.  Stacking has no prior: there it holds until rows have been predicted.
    method : {"bma", "stacking", "dynamic"}, default="bma"
        How models are weighted.

        * ``"bma"``, Bayesian model averaging: by posterior probability, ∝ prior · evidence.  For a question
          to which one of the models is the answer.
        * ``"stacking"``: so that the mixture would have predicted each row best from the rows before its
          chunk.  For predictions where no model is true.
        * ``"dynamic"``, dynamic model averaging: as ``"bma"`` with a memory that fades.  For streams in
          which the right model changes.

        The last two learn chunk by chunk, in the order of the rows: shuffle rows that are sorted.
    forgetting : float, default=0.99
        For ``"dynamic"``, the factor α of the log weights with every row, so that about 1/(1−α) rows count.
        1 is ``"bma"``.
    chunk_size : int, default=100
        For ``"stacking"`` and ``"dynamic"``, most rows that the models predict before they learn from them.
        Calls are cut into such chunks; the first chunks are of 10, 10, 20, 40 and 80 rows.
    n_jobs : int or None, default=None
        Models fitted at a time.  The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        If not None, each child gets seeds of its own derived from it.

    Attributes
    ----------
    weights_ : ndarray of shape (n_models,)
        Weights of the models; of ``"bma"`` and ``"dynamic"`` their posterior probabilities.
    weights_interval_ : ndarray of shape (2, n_models)
        Bounds of 90 % for the weights: what the standard errors of the evidences leave of them; of
        ``"stacking"``, what the choice of rows leaves (Bayesian bootstrap, computed when asked for).
    log_evidence_, log_evidence_std_ : float
        Log density with which the average predicted the rows before it learnt from them, using the weights
        before each chunk, and its standard error (delta method), in nats.  With ``"bma"`` this is the log
        evidence of the mixture of models, log Σ_k prior_k Z_k; with ``"dynamic"`` Σ log Σ_k weight_k
        p_k(chunk | rows before) over chunks; of ``"stacking"`` Σ log Σ_k weight_k p_k(row | chunks before)
        over rows after the first chunk, its error without that of the weights.  All are log densities of the
        rows, and can be compared.
    log_evidences_, log_evidences_std_ : ndarray of shape (n_models,)
        Log evidence of each model and its standard error, in nats.
    weights_path_ : dict of str to ndarray
        After each chunk, of ``"bma"`` after each call of ``fit`` or ``partial_fit``: ``n_samples`` (n,),
        ``weights`` (n, n_models), ``log_evidence``, ``log_evidence_std`` (n,).  At most 4096 entries: then
        every second is dropped.
    warnings_ : list of str
        Why the answer should not be trusted as it is; those of a model begin with its name.
    estimators_ : list of estimators
        The fitted models.
    named_estimators_ : Bunch
        The fitted models by name.
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
    With many rows posterior probabilities concentrate on one model, the one nearest to the truth in
    Kullback–Leibler divergence, even if none is true.  Where that is the case (M-open), a mixture may predict
    better than each: stacking finds it.  Where the truth moves, all rows together are the wrong judge:
    ``"dynamic"`` asks the last ones.

    Mixtures that differ in ``n_components`` alone share one walk over the numbers of components in use when
    they are fitted by ``"bma"``, and its errors, where strata answer without a doubt
    (``component_evidence_`` of :class:`BayesianGMM`); ``partial_fit`` continues each by itself.

    Scores of rows for stacking are kept for 4096 rows, a uniform sample of a longer stream.

    Models with ``standardize=True`` take their units from all rows of the first call, however it is cut into
    chunks.  While one of them holds rows that are too few to have units, the average waits for it: no row
    counts, and attributes and predictions raise ``NotFittedError``.

    ``partial_fit`` with pipelines: the transformers are fitted on the first chunk and kept fixed afterwards.
    The last step sees the chunks as they transform them, and its units are those of all rows of the first
    call, transformed so.  With ``"bma"``, ``model_prior``
    holds for all rows and may be changed at any time; parameters of the models may not.

    References
    ----------
    J. A. Hoeting, D. Madigan, A. E. Raftery, C. T. Volinsky (1999), Bayesian Model Averaging: A
    Tutorial, Statistical Science 14, 382.

    A. E. Raftery, M. Kárný, P. Ettler (2010), Online Prediction Under Model Uncertainty via Dynamic Model
    Averaging: Application to a Cold Rolling Mill, Technometrics 52, 52.

    Y. Yao, A. Vehtari, D. Simpson, A. Gelman (2018), Using Stacking to Average Bayesian Predictive
    Distributions, Bayesian Analysis 13, 917.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sgevidence import BayesianGMM, EvidenceModelAverager
    >>> X = load_iris().data[:, 2:]
    >>> models = {"one": BayesianGMM(1), "two": BayesianGMM(2)}
    >>> averager = EvidenceModelAverager(models, random_state=0).fit(X)
    >>> averager.weights_.round(3)
    array([0., 1.])
    >>> averager.named_estimators_.two.means_.shape
    (2, 2)
    """

    _parameter_constraints: dict = {
        "estimators": [dict, list, tuple],
        "model_prior": ["array-like", dict, None],
        "method": [StrOptions(set(METHODS))],
        "forgetting": [Interval(Real, 0, 1, closed="right")],
        "chunk_size": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimators: Any,
        *,
        model_prior: Any = None,
        method: str = "bma",
        forgetting: float = 0.99,
        chunk_size: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.model_prior = model_prior
        self.method = method
        self.forgetting = forgetting
        self.chunk_size = chunk_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _pairs(self) -> Any:
        """Names and models, as scikit-learn's compositions have them."""
        return as_pairs(self.estimators)

    @_pairs.setter
    def _pairs(self, pairs: Any) -> None:
        self.estimators = dict(pairs) if isinstance(self.estimators, dict) else pairs

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
            Metadata that the models have requested, if metadata routing is enabled; with ``method="bma"``.

        Returns
        -------
        self : EvidenceModelAverager

        Raises
        ------
        ValueError
            On bad input, if the evidences of the models cannot be compared, and if models that learn chunk
            by chunk have no ``partial_fit``; nothing has changed then.
        TypeError
            If a model has no evidence.
        """
        return self._fit(X, y, sample_weight, fit_params)

    @available_if(_children_are_online)
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, **fit_params: Any
    ) -> Self:
        """Let all models learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        classes : array-like of shape (n_classes,), optional
            Classifiers: all labels that may ever come.
        sample_weight : array-like of shape (n_samples,), optional
        **fit_params : dict
            As in :meth:`fit`.

        Returns
        -------
        self : EvidenceModelAverager

        Raises
        ------
        ValueError
            As in :meth:`fit`, and if parameters of the models or the method have changed since the first
            call; nothing has changed then.
        """
        return self._partial_fit(X, y, classes, sample_weight, fit_params)

    @property
    def weights_path_(self) -> dict[str, np.ndarray]:
        """Weights after each chunk (``"bma"``: call), with ``n_samples``, log evidence and its std."""
        return columns(self._must_have_learnt("weights_path_").path)

    @property
    def weights_interval_(self) -> np.ndarray:
        """Bounds of 90 % for the weights, by errors of evidences (``"stacking"``: the choice of rows)."""
        return self._must_have_learnt("weights_interval_").weighing.interval

    @property
    def warnings_(self) -> list[str]:
        """Why the answer should not be trusted: warnings of the weights, then of each model by name."""
        standing = self._must_have_learnt("warnings_")
        return standing.weighing.complaints + [
            f"{name}: {words}"
            for name, child in standing.children
            for words in getattr(last_step(child), "warnings_", ())
        ]

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
        return self._get_params("_pairs", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, of the models as ``name__param``, or a model by its name.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self : EvidenceModelAverager
        """
        self.estimators = params.pop("estimators", self.estimators)
        self._set_params("_pairs", **params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            child = get_tags(self._pairs[0][1])
            tags.estimator_type = self._kind()
            tags.classifier_tags, tags.regressor_tags = child.classifier_tags, child.regressor_tags
            tags.target_tags = child.target_tags
            tags.input_tags.allow_nan = all(get_tags(m).input_tags.allow_nan for _, m in self._pairs)
        except (AttributeError, TypeError, ValueError, IndexError, KeyError):
            pass  # not a list of pairs: fit says so
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes: to ``fit``, ``partial_fit`` and ``predict`` of the models that request it.

        A pipeline's ``fit`` request holds for ``partial_fit`` too, and a ``predict`` request for scores.

        Returns
        -------
        MetadataRouter
        """
        return router(self, self._pairs)
