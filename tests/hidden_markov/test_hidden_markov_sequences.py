"""Sequences of states that chains do not connect: evidence against exact sums and bounds."""

import numpy as np
import pytest
from hidden_sequences import by_counts, by_sequences, from_below, log_joints

from sgevidence import BayesianHMM
from sgevidence.hidden_markov import _search
from sgevidence.hidden_markov._states import HiddenStates
from sgevidence.history import Rows

#: Three distinct rows, and the sequence of these (found in a trial, 2026).
THREE_VALUES = [
    ([[-0.6, -4.6, 2.0], [3.6, -2.3, -0.8], [-3.6, 5.0, 0.1]], "000000021111111", -89.0882),
    ([[-0.6, -4.6, 2.0], [3.6, -2.3, -0.8], [-3.6, 5.0, 0.1]], "0000000000021111111111", -113.188),
    ([[-1.8, 2.6], [-0.4, 3.8], [2.8, -2.4]], "0011121111100000000000001001", -73.339),
]


def problem_of(model, X):
    """The model, rows in its units, and nats of the units."""
    rows = model._sequences(X, None)
    return model._model, rows, model._log_unit * rows.total_weight


def exact(model, X):
    """log Z of a fitted model of two states and few distinct rows."""
    law, rows, log_units = problem_of(model, X)
    values, which = np.unique(rows.X, axis=0, return_inverse=True)
    return by_counts(law, values, which.ravel()) - log_units


def three_values(seed):
    """Rows of three distinct values that stay a while."""
    rng = np.random.default_rng(seed)
    n, stay, which = int(rng.integers(16, 29)), rng.choice([0.5, 0.8, 0.95]), [0, 1, 2]
    while len(which) < n:
        which.append(which[-1] if rng.random() < stay else int(rng.integers(3)))
    return np.round(3 * rng.normal(size=(3, rng.integers(1, 5))), 1)[which]


def burst(seed):
    """Fifteen rows, some of which are elsewhere."""
    rng = np.random.default_rng(seed)
    X, at, size = rng.normal(size=(15, rng.integers(1, 5))), rng.integers(0, 12), rng.integers(1, 4)
    X[at : at + size] += 3 * rng.choice([-1, 1], size=X.shape[1])
    return np.round(X, 2)


def check(found, expected):
    error, std = found.log_evidence_ - expected, found.log_evidence_std_
    assert abs(error) < 4 * std, (error, std)
    assert std < 0.05
    return error / std


def test_counts_and_sequences_have_one_sum():
    X = three_values(0)[:9]
    model = BayesianHMM(2, stickiness=1.0, initial_concentration=0.5).fit(X)
    law, rows, log_units = problem_of(model, X)
    assert exact(model, X) + log_units == pytest.approx(by_sequences(law, rows)[0], abs=1e-9)
    assert model.log_evidence_ == pytest.approx(exact(model, X), abs=1e-9)


@pytest.mark.parametrize("case", range(3))
def test_three_distinct_rows(case):
    values, which, known = THREE_VALUES[case]
    X = np.array(values)[[int(one) for one in which]]
    model = BayesianHMM(2, random_state=1).fit(X)
    assert exact(model, X) == pytest.approx(known, abs=1e-3)
    check(model, known)


def test_a_burst_that_chains_leave_has_its_bound():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 4))
    X[68:72] += 3 * np.array([1, -1, 1, -1])
    X = np.round(X, 2)
    model = BayesianHMM(2, emission="full", variance_prior=(1, 0.1), random_state=1).fit(X)
    law, rows, log_units = problem_of(model, X)
    z = (np.isin(np.arange(80), range(68, 72))).astype(int)
    assert model.log_evidence_ > from_below(law, rows, z) - log_units - 4 * model.log_evidence_std_
    assert model.log_evidence_std_ < 0.05


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_sixty_problems_of_three_distinct_rows(seed):
    z = [
        check(m, exact(m, X))
        for X in map(three_values, range(100 * seed, 100 * seed + 60))
        for m in [fitted(X)]
    ]
    assert np.std(z) < 1.3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_forty_bursts(seed):
    z = []
    for i in range(40):
        X, prior = burst([seed, i]), [(1, 1), (1, 0.1), (2, 0.1)][i % 3]
        model = fitted(X, emission=["gaussian", "full", "spherical"][i // 3 % 3], variance_prior=prior)
        law, rows, log_units = problem_of(model, X)
        z.append(check(model, by_sequences(law, rows)[0] - log_units))
    assert np.std(z) < 1.3


def fitted(X, K=2, **params):
    return BayesianHMM(K, random_state=0, **params).fit(X)


@pytest.mark.slow
def test_three_states_of_eleven_rows_and_their_states():
    for seed in range(4):
        X = three_values([seed, 3])[:11]
        model = fitted(X, 3)
        law, rows, log_units = problem_of(model, X)
        log_Z, together = by_sequences(law, rows)
        check(model, log_Z - log_units)
        check_states(model, rows, together)


def check_states(model, rows, together):
    """p(z_t = z_u) of neighbours by draws, within their errors."""
    law, rng = model._model, np.random.default_rng(0)
    z = HiddenStates.of(law, rows).sweep(law.coefficients(model.particles_), rng).z
    found = np.mean(z[:, 1:] == z[:, :-1], axis=0)
    # draws by weights of some 300 effective draws
    np.testing.assert_allclose(found, np.diagonal(together, 1), atol=4 * 0.5 / np.sqrt(200))


@pytest.mark.parametrize("case", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_draws_have_the_states_of_the_sum(case):
    values, which, _ = THREE_VALUES[case]
    X = np.array(values)[[int(one) for one in which[:15]]]
    model = fitted(X)
    law, rows, _ = problem_of(model, X)
    check_states(model, rows, by_sequences(law, rows)[1])


@pytest.mark.parametrize(
    "case", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
)
def test_a_stream_of_three_distinct_rows(case):
    values, which, known = THREE_VALUES[case]
    X = np.array(values)[[int(one) for one in which]]
    whole = fitted(X)
    for cuts in ([9], [12, 13, 14]):
        stream = BayesianHMM(2, random_state=3, units=whole.units_)
        for part in np.split(X, cuts):
            stream.partial_fit(part)
        check(stream, known)


def test_statistics_of_windows(rng):
    """Statistics of sequences with a window given to another state are those of the sequences."""
    model = BayesianHMM(3, emission="full").fit(three_values(1))._model
    X = rng.normal(size=(14, model.emission.n_features))
    starts = np.isin(np.arange(14), [0, 6])
    problem = HiddenStates.of(model, Rows(X, starts.astype(float), np.ones(14)))
    z = rng.integers(3, size=14).astype(np.int16)
    windows, T = _search.edited(problem, z, rng)
    for i in rng.choice(T.shape[1], 60):
        new = z.copy()
        new[windows.start[i] : windows.stop[i]] = windows.state[i]
        np.testing.assert_allclose(T[:, i], problem.statistics(new[None])[:, 0], atol=1e-9)


def test_a_window_without_a_score_does_not_end_the_search_for_others(rng, monkeypatch):
    """One that leaves a state next to no row is no number; then no window was found, and nothing to sweep."""
    X = rng.normal(size=(80, 1)) + np.repeat([0.0, 3.0], 40)[:, None]
    model = BayesianHMM(2, random_state=0).fit(X)
    problem, z = HiddenStates.of(*problem_of(model, X)[:2]), np.zeros(80, dtype=np.int16)
    score = HiddenStates.log_joint
    monkeypatch.setattr(HiddenStates, "log_joint", lambda self, T: np.append(score(self, T)[:-1], np.nan))
    found = _search.with_windows(problem, z, 4, rng)
    assert found and np.ptp(found[0]) == 1


def far_states(seed, n, scale, p, n_places):
    """Rows of a chain whose states are far from each other, and their states."""
    rng, z = np.random.default_rng(seed), [0]
    while len(z) < n:
        z.append(z[-1] if rng.random() < 0.95 else int(rng.integers(n_places)))
    return scale * rng.normal(size=(n_places, p))[z] + rng.normal(size=(n, p)), np.array(z)


def check_far_states(*places):
    """Two states where rows have more places: one place, or two, against the others is a bound."""
    X, where = far_states(*places)
    model = BayesianHMM(2, random_state=1).fit(X)
    law, rows, log_units = problem_of(model, X)
    subsets = [
        np.flatnonzero([i >> k & 1 for k in range(places[-1])]) for i in range(1, 2 ** (places[-1] - 1))
    ]
    z = np.array([np.isin(where, one) for one in subsets], dtype=int)
    assert model.log_evidence_ > log_joints(law, rows, z).max() - log_units


FAR_STATES = [(0, 200, 6, 2, 3), (9, 450, 15, 3, 4)]


@pytest.mark.parametrize("places", FAR_STATES)
def test_places_are_put_together_that_hold_most(places):
    check_far_states(*places)


@pytest.mark.parametrize(
    ("places", "name", "right", "wrong"),
    [
        (FAR_STATES[0], "_starts", "np.array(z, dtype=np.int16)", "np.array(z[:1] * len(z), dtype=np.int16)"),
        (
            FAR_STATES[1],
            "_swept",
            "problem.log_held(c, T, log_p)",
            "-problem.log_held(c, T, log_p)",
        ),
    ],
)
def test_a_search_that_finds_one_basin_is_seen(places, name, right, wrong, install_broken):
    install_broken(_search, name, right, wrong)
    with pytest.raises(AssertionError):
        check_far_states(*places)
