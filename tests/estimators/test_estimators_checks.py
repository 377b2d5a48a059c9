"""scikit-learn's own checks, defaults untouched, none skipped, and one that two averagers are not to pass."""

from unittest import SkipTest

import pytest
from estimator_cases import CASES
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimators_partial_fit_n_features,
    check_inplace_ensure_writeable,
    check_param_validation,
    parametrize_with_checks,
)

from sgevidence import (
    SGAIS,
    BayesianAutoregression,
    BayesianCategoricalMixture,
    BayesianGMM,
    BayesianHMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
)
from sgevidence.samplers import Laplace


def averager(one, other, **params):
    return EvidenceModelAverager([("one", one), ("other", other)], **params)


# what an averager does with its models does not hang on how many particles these have
QUICK = SGAIS(n_particles=50, max_particles=50)
LINEAR = [BayesianLinearRegression(sampler=QUICK, coef_scale=scale) for scale in (1.0, 3.0)]
# a scaler would see no weights without metadata routing, which is scikit-learn's rule for every pipeline
ESTIMATORS = [
    *(case.make() for case in CASES.values() if case.kind is not None),
    *(BayesianGMM(covariance_type=kind) for kind in ("full", "spherical")),
    averager(BayesianLinearRegression(), make_pipeline("passthrough", BayesianLinearRegression())),
    averager(BayesianGMM(), BayesianGMM(mean_scale=3.0)),
    EvidenceFeatureSelector(),
    BayesianAutoregression(sampler=QUICK),
    BayesianCategoricalMixture(),
    BayesianHMM(),
]
# a classifier, and methods: what they are given passes through what the other averagers have
OTHERS = [
    averager(
        BayesianSoftmaxRegression(sampler=Laplace()),
        make_pipeline("passthrough", BayesianSoftmaxRegression(sampler=Laplace())),
    ),
    *(averager(*LINEAR, method=method) for method in ("dynamic", "stacking")),
]

# what scikit-learn asks only of its own estimators
MORE_CHECKS = [
    check_dataframe_column_names_consistency,
    check_estimators_partial_fit_n_features,
    check_inplace_ensure_writeable,
    check_param_validation,
]


def run(check, *args):
    try:
        check(*args)
    except SkipTest as reason:
        pytest.fail(f"not checked: {reason}")


def in_order(estimator):
    """Their weights depend on the order of rows, which the check changes between its two fits.

    It also asks for predictions of continuous rows of weight zero, whose levels nobody has seen.
    """
    if isinstance(estimator, BayesianAutoregression):
        invariances = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")
        return dict.fromkeys(invariances, "a forecast depends on the rows before it")
    if isinstance(estimator, BayesianHMM):
        invariances = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")
        return dict.fromkeys(invariances, "the state of a row depends on the rows beside it")
    if isinstance(estimator, EvidenceFeatureSelector):
        reason = (
            "columns explain the check's y exactly, and rounding decides between subsets, as a warning says"
        )
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    of_order = getattr(estimator, "method", "bma") in ("dynamic", "stacking")
    of_levels = isinstance(estimator, BayesianCategoricalMixture)
    if not (of_order or of_levels):
        return {}
    return {"check_sample_weight_equivalence_on_dense_data": in_order.__doc__}


def checks_of(estimators):
    """``parametrize_with_checks`` with one repr for each estimator: one for each check took ten seconds."""
    mark, known = parametrize_with_checks(estimators, expected_failed_checks=in_order), {}
    of = mark.kwargs["ids"]

    def name(value):
        if id(value) not in known:
            known[id(value)] = value, of(value)  # kept, or another would get its id
        return known[id(value)][1]

    names, pairs = mark.args
    pairs = [pytest.param(*values_of(pair), marks=marks_of(pair)) for pair in pairs]
    return pytest.mark.parametrize(names, pairs, **(mark.kwargs | {"ids": name}))


def values_of(pair):
    """Estimator and check; scikit-learn marks the pairs that are expected to fail."""
    return getattr(pair, "values", pair)


def marks_of(pair):
    return [*getattr(pair, "marks", ()), *[pytest.mark.slow] * is_dear(*values_of(pair))]


def is_dear(estimator, check) -> bool:
    """Subsets of ten columns, or all classes, are fitted twice: other estimators have the check, too.

    Mixtures of other covariances differ from the default in their components alone, and averages of mixtures
    from those of regressions in what has a check of its own.
    """
    averaged = getattr(estimator, "estimators", [(None, estimator)])[0][1]
    if getattr(estimator, "covariance_type", None) in ("full", "spherical") or (
        isinstance(averaged, BayesianGMM) and averaged is not estimator
    ):
        return True
    dear = EvidenceFeatureSelector | BayesianSoftmaxRegression
    return isinstance(estimator, dear) and "sample_weight_equivalence" in repr(check)


@checks_of(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    run(check, estimator)


@pytest.mark.slow
@checks_of(OTHERS[:2])
def test_scikit_learn_check_of_other_averages(estimator, check):
    run(check, estimator)


@pytest.mark.parametrize("check", MORE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", ESTIMATORS + OTHERS, ids=lambda e: type(e).__name__)
def test_scikit_learn_check_of_its_own(estimator, check):
    run(check, type(estimator).__name__, estimator)
