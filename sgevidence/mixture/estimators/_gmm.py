"""Bayesian Gaussian mixture with a running log evidence."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from ..._compat import Interval, StrOptions
from ...estimators import EvidenceEstimator, correlation_tables, dimension_labels, documented
from ...history import Rows
from ...rows import check_count, check_prior_pair
from ...units import Fold, Units, UnitsUnknown
from ..models import FullMixtureModel, GaussianMixture, MixtureModel, SphericalMixtureModel
from ._mixture import MixtureEstimator
from ._prior_conflict import mixture_conflict

#: The model of each ``covariance_type``.
MODEL_OF_COVARIANCE: dict[str, type[GaussianMixture]] = {
    "diag": MixtureModel,
    "full": FullMixtureModel,
    "spherical": SphericalMixtureModel,
}

#: Variance expected in the thinnest direction of a full covariance, in units of a column's: the largest
#: eigenvalue of a Wishart matrix with p + 1 degrees of freedom is about 4p + 2, and 2β over it the variance.
#: The evidence is right on twenty of twenty simulated sets, with (1, 1) on 18, BIC on 19; one
#: set warns of the prior (with (1, 1) eleven); faithful and iris do not.
THINNEST_VARIANCE = 0.02


@documented
class BayesianGMM(MixtureEstimator):
    """Mixture of K Gaussians whose log evidence grows with every chunk.

    π ~ Dirichlet(weight_concentration), σ²_kj ~ InvGamma(variance_prior) and
    μ_kj | σ²_kj ~ N(0, (mean_scale · σ_kj)²) (journal paper, App. B.3), for other covariances than diagonal
    ones with the same prior of each variance.  The evidence is over all K! labellings of the components.

    Parameters
    ----------
    n_components : int, default=1
        Number of components K.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        Covariances of a component: a variance of each column; any matrix, with the prior
        Σ_k ~ IW(2b + p − 1, 2β I), (b, β) = variance_prior, and μ_k | Σ_k ~ N(0, mean_scale² Σ_k); or one
        variance for all columns.  In one column all three are the same model.  Components with diagonal
        covariances take two or more of themselves for one group of correlated columns.
    weight_concentration : float, default=1.0
        Concentration of the symmetric Dirichlet prior of the weights; 1 is uniform.
    mean_scale : float, default=2.0
        Prior standard deviation of a mean, in units of its component's σ, around the centre of the data, or
        zero with ``standardize=False``.
    variance_prior : tuple of two floats, default=None
        Shape b and scale β of the inverse gamma prior of a variance, with full covariances of the variance in
        every direction.  None is (1, 1), and for full covariances of p ≥ 2 columns (1, min(1, (2p + 1)/50)),
        which expects a variance of 1/50 in the thinnest direction of a component.
    {units}
        Spherical components have a centre for each column and one unit, the root of the mean variance.
    {parameters of every estimator}

    Attributes
    ----------
    variance_prior_ : tuple of two floats
        Prior of a variance that was used.
    weights_ : ndarray of shape (n_components,)
        Posterior mean, after relabelling particles to common slots.
    means_ : ndarray of shape (n_components, n_features)
        Posterior means of the means.
    covariances_ : ndarray
        Posterior means of the covariances: variances (n_components, n_features) of diagonal ones, matrices
        (n_components, n_features, n_features) of full ones, (n_components,) of spherical ones.
    component_evidence_ : dict of str to ndarray
        Log evidence of 1 … ``n_components`` components, and its standard error, nats.
    component_evidence_covariance_ : ndarray of shape (n_components, n_components)
        Covariance of the errors of these, which they share, nats².
    n_components_in_use_proba_ : ndarray of shape (n_components,)
        Posterior probability that 1 … ``n_components`` of the components have rows.
    {attributes of every estimator}

    See Also
    --------
    EvidenceModelAverager : Combine models by their evidence.

    Notes
    -----
    Cells that are missing (nan) are left out of the density of their row, which is right where they are
    missing at random: given the cells that are there, whether another is missing says nothing.  Diagonal and
    spherical components take them, in ``fit``, ``partial_fit``, scores and ``predict``; units are those of
    the cells that are there.

    Components are exchangeable, so that labels of different fits, and of single ``particles_``, may
    differ.  A scaler in front, in a pipeline, changes log p(X) by a Jacobian, and is not needed: units are
    those of the data.

    References
    ----------
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), Entropy 21, 1109.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sgevidence import BayesianGMM
    >>> X = load_iris().data[:, 2:]
    >>> one, two = (BayesianGMM(K, random_state=0).fit(X).log_evidence_ for K in (1, 2))
    >>> two - one > 100
    True

    One flower species is one group, whose petals' length and width are correlated:

    >>> one_species = X[50:100]
    >>> diag, full = (
    ...     BayesianGMM(covariance_type=kind, random_state=0).fit(one_species).log_evidence_
    ...     for kind in ("diag", "full")
    ... )
    >>> full - diag > 10
    True
    """

    _model: GaussianMixture

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(MODEL_OF_COVARIANCE))],
        "weight_concentration": [Interval(Real, 0, None, closed="neither")],
        "mean_scale": [Interval(Real, 0, None, closed="neither")],
        "variance_prior": [tuple, list, None],
        "standardize": ["boolean"],
        "units": [Units, None],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "diag",
        weight_concentration: float = 1.0,
        mean_scale: float = 2.0,
        variance_prior: tuple[float, float] | None = None,
        standardize: bool = True,
        units: Units | None = None,
        sampler: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.weight_concentration = weight_concentration
        self.mean_scale = mean_scale
        self.variance_prior = variance_prior
        self.standardize = standardize
        self.units = units
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    @property
    def _takes_missing(self) -> bool:  # type: ignore[override]
        """Cells, where the columns of a component are independent."""
        return self.covariance_type != "full"

    def _replicated(self, theta: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows as many as X has; cells that are missing there are missing."""
        return np.where(np.isnan(X), np.nan, super()._replicated(theta, X, rng))

    def _prior_conflict(self, rows: Rows) -> str | None:
        return mixture_conflict(self._model, *self._nodes, self._units is not None)

    def _variance_prior(self, p: int) -> tuple[float, float]:
        """Shape and scale for p columns."""
        if self.variance_prior is not None:
            return check_prior_pair(self.variance_prior, "variance_prior")
        is_full = self.covariance_type == "full" and p > 1
        return 1.0, min(1.0, (2 * p + 1) * THINNEST_VARIANCE) if is_full else 1.0

    @property
    def variance_prior_(self) -> tuple[float, float]:
        """Prior of a variance that was used."""
        return self._variance_prior(self.n_features_in_)

    @property
    def means_(self) -> np.ndarray:
        """Posterior mean of the component means."""
        return self._slot_mean("means")

    @property
    def covariances_(self) -> np.ndarray:
        """Posterior mean of the components' covariances."""
        return self._slot_mean("covariances")

    def _prior_notes(self) -> list[str]:
        b, beta = self.variance_prior_
        return self._said(
            f"means N(0, ({self.mean_scale:g} σ)²), variances InvGamma({b:g}, {beta:g}), weights "
            f"Dirichlet({self.weight_concentration:g})"
        )

    def _summarised(self, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Standard deviations in place of covariances, whose correlations are notes."""
        variances = named.pop("covariances")
        if self.covariance_type == "full":
            variances = np.diagonal(variances, axis1=-2, axis2=-1)
        return named | {"stds": np.sqrt(variances)}

    def _summary_notes(self) -> list[str]:
        p = self.n_features_in_
        # columns up to which a table of correlations fits into a line
        if self.covariance_type != "full" or not 1 < p <= 10:
            return super()._summary_notes()
        return [
            *correlation_tables(dimension_labels(self, "feature", p), self.covariances_),
            *super()._summary_notes(),
        ]

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        if fold is None and (empty := np.flatnonzero(np.isnan(rows.X).all(axis=0))).size:
            name = self._column_names()[empty[0]]
            raise UnitsUnknown(
                f"{name} has no value in the rows of the first call, and so no unit: leave it out"
            )
        return Units.of_density(rows, self.covariance_type == "spherical", fold)

    @property
    def _kind(self) -> str:
        return "rows, one unit" if self.covariance_type == "spherical" else "rows"

    def _identity(self, rows: Rows) -> np.ndarray:
        """X, whatever bits a missing cell has."""
        gaps = np.isnan(rows.X)
        return np.where(gaps, np.nan, rows.X) if gaps.any() else rows.X

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> GaussianMixture:
        scale = None if self._units is None or not self._takes_missing else self._units.scale
        return MODEL_OF_COVARIANCE[self.covariance_type](
            n_components=check_count(self.n_components, "n_components"),
            n_features=X.shape[1],
            weight_concentration=self.weight_concentration,
            mean_scale=self.mean_scale,
            variance_prior=self._variance_prior(X.shape[1]),
            cell_log_units=() if scale is None else tuple(np.log(scale).tolist()),
        )
