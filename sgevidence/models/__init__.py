"""Models: priors and likelihoods, differentiated by autograd."""

from ._base import Model
from ._bounds import Bounded
from ._count_families import Bernoulli, Binomial, NegativeBinomial, Poisson
from ._evaluation import (
    NUMERICAL_ERRORS,
    SINGLE_PRECISION_TOTAL,
    Evaluation,
    log_totals,
    pieces_in_cache,
    value_and_grad,
    working_precision,
)
from ._exchangeable import Exchangeable
from ._families import Family, Gamma, Gaussian, StudentT
from ._family_names import FAMILIES, refuse_no_counts, refuse_two_values
from ._far_columns import FarColumns, condition, near
from ._g_priors import RSCALES, GPrior, rscale_of
from ._glm import GLMModel
from ._joint_priors import LKJ, Dirichlet
from ._linear import LinearModel
from ._log_integral import closed_in, log_sum, span
from ._ordinal_family import Ordinal
from ._own_priors import FlatLogarithm, HalfStudentT, KnownValue, RootInverseGamma, from_normal
from ._piecewise_family import MAX_PIECES, PiecewiseExponential
from ._predicted_family import Predicted
from ._proportion_family import Beta, ZeroOneBeta
from ._qr_sums import COLUMN_ROUNDING, MAX_ROUNDING_NATS, QRSums, triangular
from ._quantiles import quantile, resolved
from ._softmax import SoftmaxModel
from ._special import log_dirichlet, log_gamma_draws, log_shares
from ._survival_families import ExponentialTimes, LogLogistic, LogNormal, Times, Weibull
from ._zero_families import (
    HurdleNegativeBinomial,
    HurdlePoisson,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)

__all__ = [
    "closed_in",
    "log_sum",
    "span",
    "FAMILIES",
    "LKJ",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Bounded",
    "Dirichlet",
    "COLUMN_ROUNDING",
    "MAX_PIECES",
    "MAX_ROUNDING_NATS",
    "QRSums",
    "triangular",
    "ExponentialTimes",
    "Family",
    "FarColumns",
    "FlatLogarithm",
    "GPrior",
    "GLMModel",
    "Gamma",
    "Gaussian",
    "HalfStudentT",
    "HurdleNegativeBinomial",
    "HurdlePoisson",
    "KnownValue",
    "LinearModel",
    "LogLogistic",
    "LogNormal",
    "Model",
    "NegativeBinomial",
    "Ordinal",
    "PiecewiseExponential",
    "Poisson",
    "Predicted",
    "RSCALES",
    "RootInverseGamma",
    "SoftmaxModel",
    "StudentT",
    "Times",
    "Weibull",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
    "ZeroOneBeta",
    "condition",
    "from_normal",
    "log_dirichlet",
    "log_gamma_draws",
    "near",
    "refuse_no_counts",
    "refuse_two_values",
    "rscale_of",
    "value_and_grad",
    "NUMERICAL_ERRORS",
    "Exchangeable",
    "quantile",
    "resolved",
    "SINGLE_PRECISION_TOTAL",
    "Evaluation",
    "log_shares",
    "log_totals",
    "pieces_in_cache",
    "working_precision",
]
