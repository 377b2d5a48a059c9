"""Evidence of hidden Markov models: against sums over all sequences of states, and draws of the prior."""

from itertools import product
from math import lgamma

import numpy as np
import pytest

from sgevidence.hidden_markov import HiddenMarkovModel, hidden_state_evidence
from sgevidence.hidden_markov import _evidence as _hidden_evidence
from sgevidence.hidden_markov._states import HiddenStates
from sgevidence.history import Rows
from sgevidence.mixture.components import Categorical, DiagonalGaussian, FullGaussian, PoissonGamma

FAMILIES = [DiagonalGaussian(2), FullGaussian(2), PoissonGamma((2.0, 1.0), (1.0,)), Categorical((3, 2), 0.5)]
PRIORS = [{}, {"concentration": 0.5, "stickiness": 2.0, "initial_concentration": 1.5}]


def rows_of(family, rng, n=9):
    """Two sequences with a step without observation."""
    level = np.repeat([0.0, 3.0, -2.0], [4, 3, 2])[:n, None]
    if isinstance(family, Categorical):
        X = rng.integers(0, 2, size=(n, 2)).astype(float)
    elif isinstance(family, PoissonGamma):
        X = rng.poisson(3 + level).astype(float)
    else:
        X = rng.normal(size=(n, 2)) + level
    X[3] = np.nan
    return Rows(X, np.isin(np.arange(n), [0, 5]).astype(float), np.ones(n))


def log_urn(counts, prior):
    """Log probability of draws with these counts from a Dirichlet-multinomial urn."""
    terms = [lgamma(a + c) - lgamma(a) for a, c in zip(prior, counts)]
    return sum(terms) + lgamma(sum(prior)) - lgamma(sum(prior) + sum(counts))


def enumerated(model, rows):
    """log Σ_z p(x, z), a sequence of states at a time."""
    K, out = model.n_states, []
    known = ~np.isnan(rows.X).any(axis=1)
    evidence = {}
    for z in product(range(K), repeat=len(rows)):
        N, first = np.zeros((K, K)), np.zeros(K)
        for t, state in enumerate(z):
            if rows.y[t]:
                first[state] += 1
            else:
                N[z[t - 1], state] += 1
        a, kappa = model.concentration, model.stickiness
        log_p = sum(log_urn(N[i], a + kappa * (np.arange(K) == i)) for i in range(K))
        b = model.initial_concentration
        log_p += -first.sum() * np.log(K) if b is None else log_urn(first, [b] * K)
        for k in range(K):
            mine = tuple(t for t, state in enumerate(z) if state == k and known[t])
            if mine not in evidence:
                T = model.emission.features(rows.X[list(mine)]).sum(axis=0) if mine else None
                evidence[mine] = 0.0 if T is None else float(model.emission.log_evidence(T))
            log_p += evidence[mine]
        out.append(log_p)
    return np.logaddexp.reduce(out)


def model_of(family, K, prior):
    return HiddenMarkovModel(emission=family, n_states=K, **prior)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("prior", PRIORS, ids=["uniform", "sticky"])
def test_few_rows_are_summed(family, prior, rng):
    rows, model = rows_of(family, rng, n=6), model_of(family, 3, prior)
    found = hidden_state_evidence(model, rows, rng, 20)
    assert found.log_evidence == pytest.approx(enumerated(model, rows), abs=1e-9)
    assert found.log_evidence_std == 0.0


def check_sampling(family, prior, K, rng, monkeypatch, n=8):
    """Importance sampling, where the sum over all sequences is switched off."""
    monkeypatch.setattr(_hidden_evidence, "MOST_SEQUENCES", 1)
    rows, model = rows_of(family, rng, n), model_of(family, K, prior)
    found = hidden_state_evidence(model, rows, rng, 200)
    error = found.log_evidence - enumerated(model, rows)
    assert 0.02 <= found.log_evidence_std < 0.035
    assert abs(error) < 4 * found.log_evidence_std + 1e-3, (error, found.log_evidence_std)
    assert found.doubt == ""


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("prior", PRIORS, ids=["uniform", "sticky"])
def test_sampling_knows_the_sum(family, prior, rng, monkeypatch):
    check_sampling(family, prior, 2, rng, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("prior", PRIORS, ids=["uniform", "sticky"])
def test_sampling_knows_the_sum_over_three_states(family, prior, rng, monkeypatch):
    check_sampling(family, prior, 3, rng, monkeypatch, n=9)


@pytest.mark.parametrize(
    "owner, name, right, wrong",
    [
        (
            HiddenStates,
            "log_sum_over_labels",
            "list(map(list, permutations(range(len(c)))))",
            "[list(range(len(c)))]",
        ),
        (
            HiddenMarkovModel,
            "dynamics",
            "Dynamics.of(self.transitions.log_A(dyn, U), first)",
            "Dynamics.of(self.transitions.log_A(dyn, U), 0 * first)",
        ),
    ],
)
def test_wrong_sums_over_labels_and_wrong_transitions_are_seen(
    owner, name, right, wrong, rng, monkeypatch, install_broken
):
    install_broken(owner, name, right, wrong)
    with pytest.raises(AssertionError):
        for family in FAMILIES:
            check_sampling(family, PRIORS[1], 2, rng, monkeypatch)


def test_one_state_is_a_component():
    rng = np.random.default_rng(0)
    for family in FAMILIES:
        rows = rows_of(family, rng)
        known = rows.X[~np.isnan(rows.X).any(axis=1)]
        exact = float(family.log_evidence(family.features(known).sum(axis=0)))
        found = hidden_state_evidence(model_of(family, 1, {}), rows, rng, 5)
        assert found.log_evidence == pytest.approx(exact, abs=1e-10)
        assert found.log_evidence_std == 0.0


def test_draws_are_of_the_posterior(rng, monkeypatch):
    """Means of draws by particles against draws of the exact sum."""
    family, rows = FAMILIES[2], rows_of(FAMILIES[2], rng, 8)
    model = model_of(family, 2, PRIORS[1])
    exact = hidden_state_evidence(model, rows, rng, 4000)
    monkeypatch.setattr(_hidden_evidence, "MOST_SEQUENCES", 1)
    found = hidden_state_evidence(model, rows, rng, 4000)
    np.testing.assert_allclose(found.in_use, exact.in_use, atol=0.06)
    one, two = (model.parameters(part.theta) for part in (exact, found))
    larger = one["rates"].max(axis=1), two["rates"].max(axis=1)
    apart = abs(larger[0].mean() - larger[1].mean()) / larger[0].std()
    assert apart < 0.12


def test_labels_are_put_in_order(rng):
    model = model_of(FAMILIES[0], 3, {})
    theta = model.sample_prior(rng, 50)
    order = rng.permuted(np.tile(np.arange(3), (50, 1)), axis=1)
    other = model.relabelled(theta, order)
    rows = rows_of(FAMILIES[0], rng)
    np.testing.assert_allclose(model.sum_log_likelihood(theta, rows), model.sum_log_likelihood(other, rows))
    np.testing.assert_allclose(model.log_prior(theta), model.log_prior(other))
    reference = model.slot_reference(theta)
    same = model.canonicalize(theta, reference), model.canonicalize(other, reference)
    np.testing.assert_allclose(*same)


def test_long_series_and_many_states_are_refused_in_words():
    why = _hidden_evidence.why_no_evidence
    assert "up to 6 states" in why(model_of(FAMILIES[0], 7, {}), 10)
    assert "can afford" in why(model_of(FAMILIES[0], 4, {}), 10**6)
    assert why(model_of(FAMILIES[0], 1, {}), 10**7) is None
