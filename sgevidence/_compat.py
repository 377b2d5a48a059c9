"""Parts of scikit-learn beyond its public interface that the package uses, in one place.

scikit-learn's guide for developers of estimators tells them to use most of these names, but they carry
an underscore and may move.  Checked with 1.9.0 and 1.9.1; ``pyproject.toml`` has the bound.  Everything
else is imported from scikit-learn where it is used.
"""

from sklearn.base import _clone_parametrized as clone_parametrized
from sklearn.base import _fit_context as fit_context
from sklearn.callback._callback_support import callback_management_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions, validate_params
from sklearn.utils.metadata_routing import _raise_for_params as raise_for_params
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "BaseComposition",
    "HasMethods",
    "Interval",
    "StrOptions",
    "callback_management_context",
    "check_feature_names",
    "check_n_features",
    "check_sample_weight",
    "check_y",
    "clone_parametrized",
    "fit_context",
    "num_samples",
    "raise_for_params",
    "safe_indexing",
    "validate_params",
]
