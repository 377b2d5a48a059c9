"""Sequential SG-MCMC: right by default, and wrong in the published ways with the published settings."""

import numpy as np
import pytest
from error_bars import check_coverage
from made_data import MAKE

from sgevidence import SGAIS, BayesianLinearRegression, EvidenceWarning
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel
from sgevidence.published import SequentialSGMCMC, SequentialState
from sgevidence.samplers import SGNHT, chunk_edges
from sgevidence.transitions import SGHMC, Moved

pytestmark = pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")  # few particles, on purpose
MODEL = LinearModel(5, noise_std=1.0)


def sim(n):
    d = MAKE["sim_L"](n)
    return Rows.of(d["X"], d["y"])


def check(sampler, n, rng, n_seeds=12):
    """Errors as large as reported, over a few seeds, and no bias beside them."""
    rows = sim(n)
    exact = MODEL.exact_log_evidence(rows)
    results = [sampler.run(MODEL, rows, g) for g in rng.spawn(n_seeds)]
    z = np.array([(r.log_evidence - exact) / r.log_evidence_std for r in results])
    check_coverage(z, low=0.5)
    assert abs(z.mean()) < 4 / np.sqrt(n_seeds), f"biased by {z.mean():.2f} of its errors"


# -- right ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_against_closed_form(rng):
    check(SequentialSGMCMC(n_particles=300), 60, rng, 8)


def test_thermostat(rng):
    check(SequentialSGMCMC(n_particles=300, move=SGNHT()), 40, rng, 4)


@pytest.mark.slow
@pytest.mark.parametrize("n, n_seeds", [(200, 25), (2000, 6)])
def test_against_closed_form_over_seeds(rng, n, n_seeds):
    check(SequentialSGMCMC(), n, rng, n_seeds)


def test_one_component_mixture(rng):
    d = MAKE["sim_G"](60)
    rows, model = Rows.of(d["X"]), MixtureModel(1, 2)
    result = SequentialSGMCMC().run(model, rows, rng)
    assert abs(result.log_evidence - model.exact_log_evidence(rows)) < 4.5 * result.log_evidence_std
    assert result.log_evidence_std < 0.6


@pytest.mark.slow
def test_mean_of_logs_fails(rng, monkeypatch):
    """The mutant: Σ_n (1/M) Σ_i log p(y_n | θ_i)."""
    wrong = property(lambda s: s.log_Z + float(np.mean(s.weights.log_w)))
    monkeypatch.setattr(SequentialState, "log_evidence", wrong)
    with pytest.raises(AssertionError):
        check(SequentialSGMCMC(n_particles=300), 60, rng, 4)


class Unmoved:
    """The moves of SGHMC, but for the moving."""

    def __init__(self, moves):
        self.moves = moves

    def __getattr__(self, name):
        return getattr(self.moves, name)

    def __call__(self, theta, lam, coordinates, adaptation):
        return Moved(theta, adaptation, 0.0)


class Still(SGHMC):
    def along(self, path, rng):
        return Unmoved(super().along(path, rng))


def test_particles_that_stand_still_fail(rng):
    with pytest.raises(AssertionError):
        check(SequentialSGMCMC(n_particles=300, move=Still(preconditioner=None)), 60, rng, 4)


def test_error_bar_counts_correlations(rng):
    """Chains that never move are as correlated as can be: the spread over seeds is still as reported."""
    model, n_seeds = LinearModel(1, noise_std=5.0), 100
    rows = Rows.of(rng.standard_normal((12, 1)), 3.0 + rng.standard_normal(12))
    sampler = SequentialSGMCMC(n_particles=500, move=Still(preconditioner=None))
    results = [sampler.run(model, rows, g) for g in rng.spawn(n_seeds)]
    spread = np.std([r.log_evidence for r in results], ddof=1)
    reported = np.mean([r.log_evidence_std for r in results])
    assert abs(spread / reported - 1) < 4 / np.sqrt(2 * n_seeds)
    chunk_by_chunk = np.sqrt(np.mean([np.sum(1 / r.path["ess"] - 1 / 500) for r in results]))
    assert spread > 1.5 * chunk_by_chunk


# -- online -----------------------------------------------------------------------------------------


def test_published_schedule():
    """20 rows up to n = 80, n/4 up to 2000, 500 from there (conference paper, §4)."""
    edges = np.r_[0.0, chunk_edges(0, 10_000, 20, 0.25, 500)[1:]]
    n, size = edges[:-1], np.diff(edges)
    assert np.all(size[n <= 80] == 20)
    middle = (n > 80) & (n < 2000)
    np.testing.assert_array_equal(size[middle], np.floor(n[middle] / 4))
    assert np.all(size[n >= 2000] == 500) and edges[-1] >= 10_000


def test_answer_does_not_depend_on_how_the_stream_is_cut(rng):
    rows, sampler = sim(80), SequentialSGMCMC(n_particles=50, first_chunk=5)
    seed = int(rng.integers(2**31))
    whole = sampler.run(MODEL, rows, np.random.default_rng(seed))
    g = np.random.default_rng(seed)
    state = sampler.init(MODEL, g)
    seen = 0
    for size in (1, 2, 30, 7, 40):
        state, records = sampler.update(state, MODEL, rows[seen : seen + size], g)
        seen += size
        assert records[-1].n_samples == state.n_rows == seen
        assert records[-1].log_evidence == state.log_evidence
    np.testing.assert_allclose(state.log_evidence, whole.log_evidence, atol=1e-8)
    np.testing.assert_allclose(state.log_evidence_std, whole.log_evidence_std, atol=1e-8)
    np.testing.assert_allclose(state.theta, whole.theta, atol=1e-8)
    np.testing.assert_allclose(state.all_weights.W, whole.weights, atol=1e-8)


def test_estimator(rng):
    d = MAKE["sim_L"](50)
    new = lambda: BayesianLinearRegression(  # noqa: E731
        sampler=SequentialSGMCMC(n_particles=100), noise_std=1.0, random_state=3, standardize=False
    )
    whole, parts = new().fit(d["X"], d["y"]), new()
    for part in np.array_split(np.arange(50), 4):
        parts.partial_fit(d["X"][part], d["y"][part])
    np.testing.assert_allclose(parts.log_evidence_, whole.log_evidence_, atol=1e-8)
    assert whole.diagnostics_["n_moves"] > 5 and whole.diagnostics_["ess"] > 5
    assert whole.evidence_path_["n_samples"][-1] == 50


def test_impossible_rows(rng):
    rows = sim(10)
    sampler = SequentialSGMCMC(n_particles=20)
    state = sampler.init(MODEL, rng)
    bad = Rows.of(rows.X, np.r_[rows.y[:9], np.inf])
    with pytest.raises(ValueError, match=r"at 1 row\(s\) that follow row 9"):
        sampler.update(state, MODEL, bad, rng)
    assert state.n_rows == 0 and state.log_evidence == 0.0


@pytest.mark.parametrize("wrong", [dict(growth=0.0), dict(first_chunk=0), dict(initial="nested")])
def test_parameters_are_checked(wrong, rng):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SequentialSGMCMC(**wrong).run(MODEL, sim(5), rng)


# -- the hybrid -------------------------------------------------------------------------------------


class Spy(SGAIS):
    """A sampler for the first rows that remembers what it said."""

    def run(self, model, rows, rng, progress=None):
        self.said = super().run(model, rows, rng)
        self.n_rows = len(rows)
        return self.said


def test_hybrid(rng):
    rows, spy = sim(200), Spy()
    sampler = SequentialSGMCMC(n_particles=300, initial=spy)
    state = sampler.init(MODEL, rng)
    for n in (40, 70):  # the first rows are the initial sampler's, at each call
        state, _ = sampler.update(state, MODEL, rows[state.n_rows : n], rng)
        assert spy.n_rows == n and state.n_rows == n
        assert state.log_evidence == pytest.approx(spy.said.log_evidence)
        assert state.log_evidence_std == pytest.approx(spy.said.log_evidence_std)
    state, records = sampler.update(state, MODEL, rows[70:], rng)
    assert spy.n_rows == 100 and records[0].n_samples == 100
    assert records[0].log_evidence == pytest.approx(spy.said.log_evidence)
    assert state.log_evidence_std > spy.said.log_evidence_std
    error = state.log_evidence - MODEL.exact_log_evidence(rows)
    assert abs(error) < 4.5 * state.log_evidence_std


# -- as published -----------------------------------------------------------------------------------


def test_published_settings_are_too_low_and_say_so(rng):
    """Ten particles from the prior know nothing of twenty rows (§4.1: "tends to have high variance")."""
    rows = sim(100)
    with pytest.warns(EvidenceWarning, match="fewer than five particles"):
        results = [SequentialSGMCMC.paper().run(MODEL, rows, g) for g in rng.spawn(5)]
    error = np.array([r.log_evidence for r in results]) - MODEL.exact_log_evidence(rows)
    assert np.median(error / np.array([r.log_evidence_std for r in results])) < -3


@pytest.mark.slow
def test_published_settings_drift_and_control_variates_do_not(rng):
    """From a right start, with the same particles: gradient noise that all share moves the whole cloud."""
    rows = sim(20_000)
    exact = MODEL.exact_log_evidence(rows)
    published = SequentialSGMCMC.paper(initial=SGAIS())
    steady = SequentialSGMCMC(initial=SGAIS(), n_particles=200)
    with pytest.warns(EvidenceWarning):
        assert published.run(MODEL, rows, rng).log_evidence < exact - 10
    result = steady.run(MODEL, rows, rng)
    assert abs(result.log_evidence - exact) < 4.5 * result.log_evidence_std
