"""Transitions that columns move: evidence against sums over sequences, priors, labels, units, refusals."""

import numpy as np
import pandas as pd
import pytest
from moved_transitions import by_grid, by_prior_draws

from sgevidence import (
    BayesianHMM,
    EvidenceModelAverager,
    EvidenceWarning,
    compare,
    predictive_check,
    prior_sensitivity,
)
from sgevidence.hidden_markov import HiddenMarkovModel, hidden_state_evidence
from sgevidence.hidden_markov._transitions import MovedTransitions
from sgevidence.history import Rows
from sgevidence.mixture.components import DiagonalGaussian, PoissonGamma


def problem(seed, K=2, p=1, n=8):
    """A model, its rows, and the columns that move transitions; priors, sequences and gaps by the seed."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, p)) if seed % 2 else rng.integers(0, 2, (n, p)) - 0.5
    numbers = seed // 2 % 2 == 0
    family = DiagonalGaussian(1, 2.0, (1.0, 1.0)) if numbers else PoissonGamma((2.0, 1.0), (2.0,))
    dirichlet = ((1.0, 0.5, 2.0)[seed % 3], (0.0, 2.0)[seed // 3 % 2], None)
    model = HiddenMarkovModel(family, K, *dirichlet, p, (1.0, 2.0)[seed // 5 % 2])
    z = np.cumsum(U[:, 0] > 0.3) % K
    X = (3 * z + rng.standard_normal(n) if numbers else rng.poisson(1.0 + 5 * z))[:, None].astype(float)
    if seed % 5 == 4:
        X[2] = np.nan
    starts = np.isin(np.arange(n), [0, n // 2] if seed % 4 == 3 else [0])
    return model, Rows(np.c_[X, U], starts.astype(float), np.ones(n)), U


def z_score(seed, **size):
    model, rows, U = problem(seed, **size)
    found, rng = (
        hidden_state_evidence(model, rows, np.random.default_rng(seed)),
        np.random.default_rng(-seed % 97),
    )
    by_draws = model.n_states > 2 or model.n_moving > 1
    exact = by_prior_draws(model, rows, U, rng) if by_draws else by_grid(model, rows, U)
    return (found.log_evidence - exact) / found.log_evidence_std


@pytest.mark.parametrize("size", [dict(), dict(p=2, n=6)])
def test_evidence_is_the_sum_over_sequences(size):
    assert abs(z_score(21, **size)) < 4


def test_a_row_of_nan_moves_the_start_by_columns():
    """The sum over sequences that begin with a step without observation."""
    model, rows, U = problem(22)
    X = rows.X.copy()
    X[0, 0] = np.nan
    begins = Rows(X, rows.y, rows.weight)
    found = hidden_state_evidence(model, begins, np.random.default_rng(0))
    assert abs(found.log_evidence - by_grid(model, begins, U)) < 4 * found.log_evidence_std


@pytest.mark.slow
@pytest.mark.parametrize("size, n_seeds", [(dict(n=10), 8), (dict(K=3, n=5), 5), (dict(p=2, n=7), 8)])
def test_error_bars_are_true(size, n_seeds):
    z = np.array([z_score(seed, **size) for seed in range(3000, 3000 + n_seeds)])
    assert np.sqrt(np.mean(z**2)) < 1.3 and np.abs(z).max() < 4


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("_log_priors", "+ 0.5 * np.log(K)", ""),
        ("log_kernels", "np.argsort(order)", "order"),
        ("log_A", "_with_ones(U)", "_with_ones(-0.5 * U)"),
        ("draw", "t_draws(rng, mode.shape, KERNEL_NU)", "2 * t_draws(rng, mode.shape, KERNEL_NU)"),
    ],
)
def test_broken_variants_are_seen(name, right, wrong, install_broken):
    if right.startswith("+"):
        right, wrong = "... + 0.5 * np.log(K)", "..."
    install_broken(MovedTransitions, name, right, wrong)
    size = dict(K=3, n=5) if name == "log_kernels" else {}
    assert any(abs(z_score(seed, **size)) > 4 for seed in (21, 22, 23))


def test_states_have_no_reference(rng):
    """Density of the prior, of kernels and of rows are those of any order of the states."""
    model, rows, _ = problem(1, K=3, p=2)
    theta = model.sample_prior(rng, 50)
    order = np.array([rng.permutation(3) for _ in theta])
    other = model.relabelled(theta, order)
    np.testing.assert_allclose(model.log_prior(other), model.log_prior(theta))
    np.testing.assert_allclose(model.sum_log_likelihood(other, rows), model.sum_log_likelihood(theta, rows))
    back = model.relabelled(other, np.argsort(order, axis=1))
    np.testing.assert_allclose(back, theta, atol=1e-12)


def test_prior_draws_have_the_prior_density(rng):
    """The level of the logits is Dirichlet and the coefficients of next states are alike and normal."""
    law = MovedTransitions(np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]), 1, 2.0)
    named = law.parameters(law.sample_prior(40_000, rng).transpose(1, 0, 2))
    means = named["transition_matrix"].mean(axis=0)
    np.testing.assert_allclose(means, law.prior / 4, atol=0.01)
    apart = named["transition_coefs"][..., 0] - named["transition_coefs"][..., [1, 2, 0], 0]
    np.testing.assert_allclose(apart.std(axis=0), 2 * np.sqrt(2), rtol=0.02)


def frame(n=120, seed=0):
    """Two states, of which rain makes the second more likely."""
    rng = np.random.default_rng(seed)
    rain, z = rng.integers(0, 2, n), np.zeros(n, dtype=int)
    for t in range(1, n):
        z[t] = rng.random() < [[0.05, 0.5], [0.6, 0.97]][z[t - 1]][rain[t]]
    return pd.DataFrame({"y": 3 * z + rng.normal(size=n), "rain": rain.astype(float)}), z


def fitted(X, transitions="~ rain", K=2, **params):
    return BayesianHMM(K, transitions=transitions, random_state=0, **params).fit(X)


def test_a_column_that_moves_transitions_is_found_in_any_unit():
    X, z = frame(80)
    model = fitted(X)
    assert model.log_evidence_ - fitted(X[["y"]], None).log_evidence_ > 5
    assert np.all(model.transition_coefs_[:, 1, 0] > 0.3)
    np.testing.assert_allclose(model.transition_coefs_.sum(axis=1), 0, atol=1e-12)
    assert np.mean(model.predict(X) == z) > 0.9
    other = X.assign(rain=100 - 7 * X["rain"])[["rain", "y"]]
    for moved in (fitted(other), fitted(other.to_numpy(), [0])):
        assert moved.log_evidence_ == pytest.approx(model.log_evidence_, abs=0.08)
        np.testing.assert_allclose(-7 * moved.transition_coefs_, model.transition_coefs_, atol=0.15)
    assert fitted(X, K=1).log_evidence_ == pytest.approx(fitted(X[["y"]], None, K=1).log_evidence_)


@pytest.mark.slow
def test_a_stream_is_the_whole():
    X, _ = frame()
    whole = fitted(X)
    stream = BayesianHMM(2, transitions="~ rain", units=whole.units_, random_state=0)
    stream.partial_fit(X[:70]).partial_fit(X[70:74]).partial_fit(X[74:])
    errors = np.hypot(whole.log_evidence_std_, stream.log_evidence_std_)
    assert abs(stream.log_evidence_ - whole.log_evidence_) < 4 * errors


@pytest.mark.slow
def test_sensitivity_varies_the_prior_of_coefficients():
    X, _ = frame(40)
    table = prior_sensitivity(BayesianHMM(2, transitions="~ rain", random_state=0), X)
    at = list(table.index).index("transition_coef_scale * 3")
    assert table["log_evidence"][at] == fitted(X, transition_coef_scale=3.0).log_evidence_
    assert not any(
        "coef" in name for name in prior_sensitivity(BayesianHMM(2, random_state=0), X[["y"]]).index
    )


@pytest.mark.parametrize("emission", ["poisson", "categorical"])
def test_counts_and_levels(emission):
    X, z = frame(40)
    y = (
        np.random.default_rng(1).poisson(1 + 8 * z)
        if emission == "poisson"
        else np.where(X["y"] > 1.5, "a", "b")
    )
    model = fitted(X.assign(y=y), emission=emission)
    assert np.isfinite(model.log_evidence_) and model.transition_coefs_.shape == (2, 2, 1)


def test_what_has_no_answer_is_refused_in_words():
    X, _ = frame(20)
    for changed, transitions, K, words in [
        (X, "~ wind", 2, r"X has no columns \['wind'\]"),
        (X, "~ rain + y", 2, "none is left that states explain"),
        (X, "~ rain", 4, "may move transitions of up to 3 states"),
        (X.assign(rain=1.0), "~ rain", 2, "'rain' does not vary"),
        (X.assign(rain=X["rain"].where(X.index != 5)), "~ rain", 2, "row 5 of 'rain' has nan"),
    ]:
        with pytest.raises(ValueError, match=words):
            fitted(changed, transitions, K)
    model = fitted(X)
    for call in (lambda: model.sample(3), lambda: predictive_check(model, X, random_state=0)):
        with pytest.raises(ValueError, match="transitions depend on columns"):
            call()
    with pytest.raises(ValueError, match="no columns move transitions"):
        fitted(X, "y ~ 1").sample(X=X)


def test_one_frame_with_and_without_moved_transitions():
    """Columns that only move transitions are no data: an averager and a table compare both on one frame."""
    X, _ = frame(40)
    moved, constant = (BayesianHMM(2, transitions=f"y ~ {by}", random_state=0) for by in ("rain", "1"))
    average = EvidenceModelAverager([("moved", moved), ("constant", constant)]).fit(X.assign(other=1.0))
    found = dict(zip(["moved", "constant"], average.estimators_))
    assert found["moved"].log_evidence_ == fitted(X).log_evidence_
    assert found["constant"].log_evidence_ == fitted(X[["y"]], None).log_evidence_
    assert list(compare(found).index) and average.weights_.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="has 'rain' on both sides"):
        fitted(X, "y + rain ~ rain")


def check_sequences_of_its_own(model, X):
    """Frequencies of the second state by the state before and the column, and the rows of each state."""
    U = X.assign(y=np.nan)
    model.random_state = np.random.RandomState(0)
    rows, z = map(np.concatenate, zip(*(model.sample(X=U) for _ in range(400))))
    before, after, rain = (x.reshape(400, -1) for x in (z, z, np.tile(X["rain"], 400)))
    logits = np.log(model.transition_matrix_)[:, None] + model.transition_coefs_[:, :, 0][:, None] * (
        np.array([0.0, 1.0])[:, None] - X["rain"].mean()
    )
    for i in (0, 1):
        for u in (0, 1):
            mine = (before[:, :-1] == i) & (rain[:, 1:] == u)
            expected = np.exp(logits[i, u, 1]) / np.exp(logits[i, u]).sum()
            assert np.mean(after[:, 1:][mine]) == pytest.approx(expected, abs=0.06)
    assert rows.shape == (len(z), 1)
    assert [np.mean(rows[z == k]) for k in (0, 1)] == pytest.approx(model.means_[:, 0], abs=0.1)


def test_sequences_of_its_own_follow_the_columns(install_broken):
    X, _ = frame(120)
    model = fitted(X)
    check_sequences_of_its_own(model, X)
    install_broken(type(model._model), "sample_rows", "A[t, z[t - 1]]", "A[0, z[t - 1]]")
    with pytest.raises(AssertionError):
        check_sequences_of_its_own(model, X)


@pytest.mark.slow
def test_states_that_overlap_too_much_warn():
    rng = np.random.default_rng(5)
    U = np.sin(np.arange(80) / 7) + 0.3 * rng.standard_normal(80)
    X = np.c_[rng.standard_normal(80) + 1.5 * (np.cumsum(U > 1) % 3), U]
    with pytest.warns(EvidenceWarning, match="draws carry the log evidence"):
        fitted(X, [1], K=3)
