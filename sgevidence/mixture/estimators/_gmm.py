"""Bayesian Gaussian mixture with a running log evidence.

Mixtures of Gaussians whose prior and data contradict each other, as regressions' may.

A mixture has a mean m_j and a standard deviation s_j along each column: some component has
|μ_kj| / σ_kj ≥ |m_j| / s_j, and none is much wider than s_j.  The columns are tested together, and at most
0.1 % of the fits to data of the prior warn.  With full covariances the thinnest direction of each component
is tested, too.
"""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import chdtrc, gammainc, gammaincc

from ..._compat import Interval, StrOptions
from ...estimators import (
    FALSE_CONFLICTS,
    EvidenceEstimator,
    Found,
    conflict,
    correlation_tables,
    dimension_labels,
    documented,
)
from ...history import Rows
from ...particles import log_sum_exp
from ...rows import check_count, check_prior_pair
from ...units import Fold, Units, UnitsUnknown
from ..components import DiagonalGaussian, FullGaussian, SphericalGaussian
from ..models import MixtureModel
from ._mixture import MixtureEstimator

#: Factor between two scales of the prior of variances whose evidences a warning compares.
SCALE_FACTOR = 3.0


def mixture_conflict(model: Any, theta: np.ndarray, W: np.ndarray, is_standardized: bool) -> str | None:
    """A sentence on what contradicts the prior and how to mend it; None if nothing does."""
    with np.errstate(all="ignore"):
        found = _of_mixture(model, model.parameters(theta), W)
        beyond_units = None if found else _of_thin_directions(model, theta, W)
    return conflict(found, beyond_units, is_standardized)


def _of_mixture(model: Any, named: dict[str, np.ndarray], W: np.ndarray) -> Found:
    """Location and spread of the whole mixture along its columns."""
    weights, means = named["weights"][..., None], named["means"]
    m = W @ np.sum(weights * means, axis=1)  # (p,)
    variances = model.family.column_variances(named["covariances"])
    second = W @ np.sum(weights * (variances + (means - m) ** 2), axis=1)
    s = np.sqrt(second)
    p, (b, c) = len(m), model.variance_prior
    if chdtrc(p, np.sum((m / (model.mean_scale * s)) ** 2)) < FALSE_CONFLICTS / 4:
        j = int(np.argmax(np.abs(m) / s))
        return (
            f"column {j} has its mean {abs(m[j]) / s[j]:.0f} standard deviations from zero, where the prior "
            f"has means within {model.mean_scale:g} or so",
            "centre X",
        )
    # σ² ~ InvGamma(b, c) is below s² where all components are narrow, and s² at most some σ² + μ²
    tail = np.minimum(gammaincc(b, c / s**2), gammainc(b, c * (1 + model.mean_scale**2) / s**2))
    tail = np.clip(2 * tail, 1e-300, 1.0)
    if chdtrc(2 * p, -2 * np.sum(np.log(tail))) > FALSE_CONFLICTS / 4:  # Fisher's combination
        return None
    j = int(np.argmin(tail))
    return (
        f"column {j} has a standard deviation of {s[j]:.3g}, beyond variance_prior = ({b:g}, {c:g})",
        "scale X, or change variance_prior",
    )


def _of_thin_directions(model: Any, theta: np.ndarray, W: np.ndarray) -> Found:
    """Full covariances of components that are thinner in some direction than the prior has them.

    Twice β over the variance in the thinnest direction is the largest eigenvalue of a Wishart matrix, and at
    most its trace, which is χ² with p (2b + p − 1) degrees of freedom.
    """
    if model.component is not FullGaussian or model.n_features == 1:
        return None
    p, (b, beta) = model.n_features, model.variance_prior
    Sigma = np.tensordot(W, model.parameters(model.canonicalize(theta))["covariances"], axes=1)  # (K, p, p)
    thinnest = np.linalg.eigvalsh(Sigma)[:, 0]
    k = int(np.argmin(thinnest))
    if chdtrc(p * (2 * b + p - 1), 2 * beta / thinnest[k]) > FALSE_CONFLICTS / (4 * len(thinnest)):
        return None
    direction = np.linalg.eigh(Sigma[k])[1][:, 0]
    i, j = np.sort(np.argsort(-np.abs(direction))[:2])
    expected = beta / (2 * b + 2 * p - 1)  # 2β over the largest eigenvalue of a Wishart matrix
    other = replace(model, variance_prior=(b, beta / SCALE_FACTOR))
    change = float(log_sum_exp(np.log(W) + other.log_prior(theta) - model.log_prior(theta)))
    return (
        f"component {k} is thin in a direction across columns {i} and {j}: its variance there is "
        f"{thinnest[k]:.2g}, where variance_prior = ({b:g}, {beta:.2g}) expects some {expected:.2g} in the "
        f"thinnest; a {SCALE_FACTOR:g} times smaller scale moves the log evidence by {change:+.0f} nats, "
        "and may move the number of groups",
        "compare priors by prior_sensitivity",
    )


#: The component of each ``covariance_type``.
COMPONENT_OF_COVARIANCE: dict[str, type[DiagonalGaussian | FullGaussian]] = {
    "diag": DiagonalGaussian,
    "full": FullGaussian,
    "spherical": SphericalGaussian,
}

#: Variance expected in the thinnest direction of a full covariance, in units of a column's: the largest
#: eigenvalue of a Wishart matrix with p + 1 degrees of freedom is about 4p + 2, and 2β over it the variance.
#: The evidence is right on twenty of twenty simulated sets, with (1, 1) on 18, BIC on 19; one
#: set warns of the prior (with (1, 1) eleven); faithful and iris do not.
THINNEST_VARIANCE = 0.02


@documented
class BayesianGMM(MixtureEstimator):
    """Mixture of K Gaussians with a log evidence that every chunk of rows updates.

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

    _model: MixtureModel

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(COMPONENT_OF_COVARIANCE))],
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

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> MixtureModel:
        scale = None if self._units is None or not self._takes_missing else self._units.scale
        return MixtureModel(
            n_components=check_count(self.n_components, "n_components"),
            n_features=X.shape[1],
            weight_concentration=self.weight_concentration,
            mean_scale=self.mean_scale,
            variance_prior=self._variance_prior(X.shape[1]),
            cell_log_units=() if scale is None else tuple(np.log(scale).tolist()),
            component=COMPONENT_OF_COVARIANCE[self.covariance_type],
        )
