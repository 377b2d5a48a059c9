"""Strata as a sampler: sums over all allocations, refusals in words, and what estimators make of it."""

import numpy as np
import pytest
from enumeration import enumerated
from mixture_kinds import FullMixture, SphericalMixture

from sgevidence import BayesianGMM, BayesianLinearRegression, EvidenceWarning
from sgevidence.history import Rows
from sgevidence.mixture.models import CategoricalMixtureModel, MixtureModel
from sgevidence.mixture.strata import MixtureEvidence
from sgevidence.models import LinearModel
from sgevidence.samplers import UntilPrecise


def few_rows(seed, n=7):
    rng = np.random.default_rng(seed)
    return Rows.of(rng.standard_normal((n, 2)) + 2.5 * (np.arange(n)[:, None] % 2))


MODELS = {
    "diag": (MixtureModel(3, 2), few_rows(0)),
    "full": (FullMixture(3, 2), few_rows(1)),
    "spherical": (SphericalMixture(2, 2), few_rows(2)),
    "categorical": (
        CategoricalMixtureModel(2, n_levels=(3, 2)),
        Rows.of(np.random.default_rng(3).integers(2, size=(7, 2)).astype(float)),
    ),
    "one": (MixtureModel(1, 2), few_rows(4)),
}


@pytest.mark.filterwarnings("ignore:the log evidence may be off")
@pytest.mark.usefixtures("never_summed")
@pytest.mark.parametrize("name", MODELS)
def test_the_sum_over_all_allocations(name, rng):
    model, rows = MODELS[name]
    result, exact = MixtureEvidence(500).run(model, rows, rng), enumerated(model, rows)
    assert abs(result.log_evidence - exact) < 4 * np.hypot(result.log_evidence_std, 0.003)
    assert result.log_evidence_std < 0.05 and not result.warnings
    assert result.theta.shape == (500, model.n_params) and np.allclose(result.weights, 1 / 500)
    assert np.all(np.isfinite(model.log_joint(result.theta, rows)))
    assert result.components.log_evidence.shape == (model.n_components,)
    assert result.diagnostics["n_strata"] == model.n_components and result.diagnostics["effective"] > 0.3
    assert result.path["log_evidence"][-1] == result.log_evidence and result.n_likelihoods > 0


def test_same_seed_same_digits_whatever_the_number_of_draws():
    model, rows = MODELS["full"]
    one, two, other = (
        MixtureEvidence(size).run(model, rows, np.random.default_rng(5)) for size in (50, 50, 80)
    )
    assert np.array_equal(one.theta, two.theta)
    assert one.log_evidence == other.log_evidence and len(other.theta) == 80


FULL = FullMixture(2, 2)
FAR = np.concatenate([np.zeros((50, 2)), [[1e9, 0.0]]])


@pytest.mark.parametrize(
    "model, rows, words",
    [
        (LinearModel(2), Rows.of(np.zeros((5, 2)), np.zeros(5)), "LinearModel has no components"),
        (FullMixture(11, 2), Rows.of(np.zeros((50, 2))), "n_components is 11"),
        (FULL, Rows.of(np.zeros((150_000, 2))), "more than the 100000 that strata of 2 components"),
        (FULL, Rows.of(FAR), "centre and scale"),
        (FULL, Rows.of(np.zeros((0, 2))), "no row"),
    ],
)
def test_refusals_say_why(model, rows, words, rng):
    with pytest.raises(ValueError, match=words):
        MixtureEvidence().run(model, rows, rng)


def test_estimators_take_it():
    X = few_rows(6).X
    model = BayesianGMM(3, sampler=MixtureEvidence(200), random_state=0, standardize=False).fit(X)
    exact = enumerated(MixtureModel(3, 2), Rows.of(X))
    assert model.log_evidence_ == pytest.approx(exact, abs=1e-8) and model.warnings_ == []
    assert model.component_evidence_["log_evidence"][-1] == model.log_evidence_
    assert model.n_components_in_use_proba_.sum() == pytest.approx(1)
    assert model.diagnostics_["n_strata"] == 3 and not hasattr(model, "partial_fit")
    again = BayesianGMM(
        3, sampler=UntilPrecise(0.1, sampler=MixtureEvidence(200)), random_state=0, standardize=False
    ).fit(X)
    assert again.log_evidence_ == pytest.approx(exact, abs=1e-8)
    with pytest.raises(ValueError, match="no components"):
        BayesianLinearRegression(sampler=MixtureEvidence(), standardize=False).fit(X, X[:, 0])


def test_a_doubt_is_given_once(rng):
    """The rows are so few that searches may miss an allocation."""
    model = BayesianGMM(
        2, covariance_type="full", sampler=MixtureEvidence(20), random_state=0, standardize=False
    )
    with pytest.warns(EvidenceWarning, match="so few") as given:
        model.fit(rng.standard_normal((21, 6)))
    assert len(model.warnings_) == len(given) == 1
