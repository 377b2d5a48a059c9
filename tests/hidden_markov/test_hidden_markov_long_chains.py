"""Evidence of hidden states against draws of the prior, and against long Gibbs chains and a warped bridge."""

from math import factorial

import numpy as np
import pytest
from mixture_kinds import prior_draws
from scipy.special import gammaln

from sgevidence import bridge_evidence
from sgevidence.hidden_markov import HiddenMarkovModel, filtered, hidden_state_evidence
from sgevidence.hidden_markov._forward import Dynamics
from sgevidence.hidden_markov._states import HiddenStates
from sgevidence.history import Rows
from sgevidence.mixture.components import DiagonalGaussian, PoissonGamma

#: British coal mining disasters of each year, 1851 to 1962 (R. G. Jarrett 1979, Biometrika 66, 191).
DISASTERS = np.concatenate(
    [
        [4, 5, 4, 1, 0, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5],
        [3, 4, 2, 5, 2, 2, 3, 4, 2, 1, 3, 2, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1],
        [0, 3, 2, 2, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 1, 1, 0, 2, 3, 3, 1, 1],
        [2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0],
    ]
)
#: Rows, states, distance of means in standard deviations, and probability to stay.
SERIES = [
    (60, 2, 4.0, 0.9),
    (60, 2, 1.5, 0.5),
    (60, 3, 3.0, 0.95),
    (120, 2, 2.0, 0.98),
    (120, 3, 5.0, 0.7),
    (200, 2, 1.0, 0.95),
    (200, 4, 4.0, 0.9),
    (300, 3, 2.0, 0.97),
    (300, 2, 6.0, 0.5),
    (500, 3, 3.0, 0.6),
    (500, 4, 6.0, 0.98),
    (800, 2, 1.5, 0.9),
    (1000, 3, 4.0, 0.95),
    (1500, 2, 2.5, 0.99),
    (2000, 4, 4.0, 0.95),
]


def of_counts(K):
    family = PoissonGamma((2.0, 1.0), (1.0,))
    return HiddenMarkovModel(emission=family, n_states=K), Rows.of(
        DISASTERS[:, None], (np.arange(112) == 0).astype(float)
    )


def test_disasters_with_one_rate():
    model, rows = of_counts(1)
    found = hidden_state_evidence(model, rows, np.random.default_rng(0), 10)
    S, n = DISASTERS.sum(), 112
    exact = gammaln(2 + S) - (2 + S) * np.log(1 + n) - gammaln(DISASTERS + 1.0).sum()
    assert found.log_evidence == pytest.approx(exact, abs=1e-9)


@pytest.mark.nightly
def test_disasters_with_two_rates_against_draws_of_the_prior(rng):
    model, rows = of_counts(2)
    found = hidden_state_evidence(model, rows, rng)
    total = np.full(1000, -np.inf)
    starts = np.arange(112) == 0
    for i in range(1000):  # 10⁷ draws
        rates, A = rng.gamma(2.0, size=(2, 10_000)), rng.random((2, 10_000))
        log_e = DISASTERS[:, None, None] * np.log(rates) - rates
        A = np.array([[A[0], 1 - A[0]], [1 - A[1], A[1]]])
        _, log_p = filtered(log_e, Dynamics(A, np.full((2, 10_000), 0.5)), starts)
        total[i] = np.logaddexp.reduce(log_p.sum(axis=0)) - np.log(10_000)
    expected = np.logaddexp.reduce(total) - np.log(1000) - gammaln(DISASTERS + 1.0).sum()
    w = np.exp(total - total.max())
    error = w.std() / w.mean() / np.sqrt(len(w))
    assert error < 0.05
    assert abs(found.log_evidence - expected) < 4 * np.hypot(error, found.log_evidence_std)


def simulated(n, K, gap, stay, seed):
    rng = np.random.default_rng(seed)
    A = np.full((K, K), (1 - stay) / (K - 1))
    np.fill_diagonal(A, stay)
    z = [0]
    for _ in range(n - 1):
        z.append(rng.choice(K, p=A[z[-1]]))
    x = gap * np.array(z) + rng.normal(size=n)
    return Rows.of(((x - x.mean()) / x.std())[:, None], (np.arange(n) == 0).astype(float))


def long_chain(model, rows, rng, n_chains=12, length=1500):
    """log Z and its error by Gibbs chains, states in the order of their means, and a warped bridge."""
    problem, K = HiddenStates.of(model, rows), model.n_states
    edges = np.quantile(rows.X[:, 0], np.linspace(0, 1, K + 1)[1:-1])
    z = np.searchsorted(edges, rows.X[:, 0] + 0.3 * rng.normal(size=(n_chains, len(rows)))).astype(np.int16)
    c, draws = problem.model.draw(problem.statistics(z), rng), []
    for i in range(length + length // 3):
        c = problem.model.draw(problem.sweep(c, rng).T, rng)
        if i >= length // 3:
            draws.append(unconstrained(model, c))
    draws = np.swapaxes(draws, 0, 1)

    def log_density(phi):
        c, log_jacobian = constrained(model, phi)
        means = phi[:, K * (K - 1) : K * K]
        log_p = problem.log_target(c) + model.log_prior(model.flat(c)) + log_jacobian
        return np.where(np.all(np.diff(means, axis=1) > 0, axis=1), log_p, -np.inf)

    found = bridge_evidence(draws, log_density, random_state=1)
    return found.log_evidence + np.log(factorial(K)), found.log_evidence_std


def unconstrained(model, c):
    """Log odds of transitions against staying, means in order, and log variances, (M, K² + K)."""
    K = model.n_states
    found = model.emission.parameters(c[..., K + 1 :])
    order = np.argsort(found.means[..., 0], axis=0).T
    c = model.coefficients(model.relabelled(model.flat(c), order))
    found = model.emission.parameters(c[..., K + 1 :])
    odds = [c[i, :, j] - c[i, :, i] for i in range(K) for j in range(K) if i != j]
    return np.column_stack([*odds, found.means[..., 0].T, np.log(found.covariances[..., 0]).T])


def constrained(model, phi):
    """c of these, and the log Jacobian of probabilities and variances."""
    K, M = model.n_states, len(phi)
    log_A, k = np.zeros((K, M, K)), 0
    for i in range(K):
        for j in range(K):
            if i != j:
                log_A[i, :, j], k = phi[:, k], k + 1
    log_A -= np.logaddexp.reduce(log_A, axis=2)[..., None]
    means, log_variances = phi[:, k : k + K].T, phi[:, k + K :].T
    parameters = type(prior_draws(model.emission, np.random.default_rng(0), 1))(
        means[..., None], np.exp(log_variances)[..., None]
    )
    log_initial = np.full((K, M, 1), -np.log(K))
    c = np.concatenate([log_A, log_initial, model.emission.coefficients(parameters)], axis=2)
    return c, log_A.sum(axis=(0, 2)) + log_variances.sum(axis=0)


def compared(i, seed=0):
    """z of one series, and both errors."""
    n, K, gap, stay = SERIES[i]
    rows = simulated(n, K, gap, stay, seed=i)
    model = HiddenMarkovModel(emission=DiagonalGaussian(1), n_states=K)
    found = hidden_state_evidence(model, rows, np.random.default_rng(seed))
    log_Z, std = long_chain(model, rows, np.random.default_rng(100 + seed))
    return (found.log_evidence - log_Z) / np.hypot(found.log_evidence_std, std), found, log_Z, std


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("i", [0, 4])
def test_a_long_chain_agrees(i):
    assert abs(compared(i)[0]) < 4


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_long_chains_agree():
    z = np.array([compared(i)[0] for i in range(len(SERIES))])
    assert np.all(abs(z) < 4) and 0.6 < z.std() < 1.5
