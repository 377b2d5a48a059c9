"""AIS: unbiased as proved, errors as claimed, all schedules and kernels, and mistakes that must show."""

import numpy as np
import pytest
from error_bars import z_scores
from made_data import MAKE

from sgevidence import BayesianLinearRegression, DivergenceError, EvidenceWarning
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.samplers import AIS
from sgevidence.transitions import HMC, SGHMC, Anneal

pytestmark = pytest.mark.filterwarnings("ignore:only .* draws count")
MODEL = LinearModel(2, noise_std=1.0)
X = np.linspace(-1, 1, 40)[:, None] ** [1, 2]
ROWS = Rows.of(X, X @ [1.5, -0.5] + np.cos(7 * np.arange(40)))
EXACT = MODEL.exact_log_evidence(ROWS)
WAYS = {
    "default": dict(),
    "sghmc": dict(move=SGHMC()),
    "linear": dict(schedule="linear", n_temperatures=40),
    "sigmoidal": dict(schedule="sigmoidal", n_temperatures=30),
    "as published, small steps": dict(resampling=None, target_ess=0.97),
}


def check_errors(z, low=0.45, high=1.5):
    """Systematic resampling makes less noise than the error bar allows for."""
    assert low < np.sqrt(np.mean(z**2)) < high, f"errors are {np.sqrt(np.mean(z**2)):.2f} of what is claimed"
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, marks=[pytest.mark.slow] * (name == "sghmc"), id=name) for name, way in WAYS.items()],
)
def test_against_the_closed_form(rng, way):
    check_errors(z_scores(AIS(200, **way), MODEL, ROWS, EXACT, rng, 12))


def check_unbiased(rng):
    """The mean of Ẑ/Z over seeds is 1, however badly the chains mix (Alg. 6)."""
    sampler = AIS(500, schedule="sigmoidal", n_temperatures=15, resampling=None)
    ratio = np.exp([sampler.run(MODEL, ROWS, g).log_evidence - EXACT for g in rng.spawn(15)])
    error = ratio.std(ddof=1) / np.sqrt(len(ratio))
    assert abs(ratio.mean() - 1) < 4.5 * error, f"biased: {ratio.mean():.3f} ± {error:.3f}"
    assert error < 0.15


def test_unbiased(rng):
    check_unbiased(rng)


WEIGHTING = """
cloud = cloud.weighted(increment)
if ... and ... and lam < 1.0 and delta > 0.0:
    cloud = ...
"""
MOVE_FIRST = """
move = self.move.along(path, rng)
cloud = cloud._replace(theta=move(cloud.theta, lam, Coordinates(0.15 * np.eye(3)), state.adaptation).theta)
increment = delta * path.increment(cloud.theta)
"""


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "self.schedule[len(lambdas)] - lam",
            "np.append(self.schedule, 1.0)[len(lambdas) + 1] - self.schedule[len(lambdas)]",
        ),
        (WEIGHTING, MOVE_FIRST + WEIGHTING),
        (
            "self.renewed(cloud, move, lam, ..., path, rng)",
            "self.renewed(cloud, move, max([0.0, *self.schedule[self.schedule < lam]]), ..., path, rng)",
        ),
    ],
    ids=["the step of another λ", "weight after the move", "move at the λ before"],
)
def test_a_mistake_is_seen(rng, install_broken, right, wrong):
    install_broken(Anneal, "__call__", right, wrong)
    with pytest.raises(AssertionError, match="biased"):
        check_unbiased(rng)


@pytest.mark.parametrize("schedule", ["linear", "sigmoidal"])
def test_fixed_schedules(schedule):
    lams = AIS(schedule=schedule, n_temperatures=10)._fixed_schedule()
    assert len(lams) == 10 and lams[0] > 0 and lams[-1] == 1
    steps = np.diff(lams, prepend=0.0)
    np.testing.assert_allclose(steps, steps[::-1])  # both are symmetric
    assert (steps.max() / steps.min() > 5) == (schedule == "sigmoidal")


def test_the_adaptive_schedule_keeps_the_target(rng):
    result = AIS(400, target_ess=0.7).run(MODEL, ROWS, rng)
    lams = result.path["lambdas"][0]
    assert lams[-1] == 1 and np.all(np.diff(lams) > 0) and len(lams) == result.path["n_annealing_steps"][0]
    assert result.diagnostics["ess"] == pytest.approx(280, rel=0.01)


def test_counts_and_draws(rng):
    result = AIS(3000, move=HMC(conditional=False)).run(MODEL, ROWS, rng)
    steps = result.path["n_annealing_steps"][0]
    assert result.n_likelihoods == 3000 * 40 * steps and result.n_gradients > result.n_likelihoods
    exact = MODEL.exact_posterior(ROWS, rng, 3000)
    z = (result.weights @ result.theta - exact.mean(axis=0)) / exact.std(axis=0) * np.sqrt(3000 / 5)
    assert np.abs(z).max() < 4.5
    assert exact.std(axis=0) == pytest.approx(result.theta.std(axis=0), rel=0.15)


def test_published_settings(rng):
    """Ten particles that never meet: too low, and said so."""
    with pytest.warns(EvidenceWarning, match="of 10 draws count"):
        result = AIS.paper().run(MODEL, ROWS, rng)
    assert result.theta.shape[0] <= 10 and np.isfinite(result.log_evidence)
    assert result.n_gradients == 10 * 20 * 40 * result.path["n_annealing_steps"][0]


def test_errors(rng):
    impossible = LinearModel(1, noise_std=1.0), Rows.of(np.full((3, 1), np.nan), np.zeros(3))
    with pytest.raises(ValueError, match="likelihood is zero"):
        AIS(10).run(*impossible, rng)
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        AIS.paper().run(MODEL, Rows.of(1e4 * X, ROWS.y), rng)


def test_in_an_estimator():
    model = BayesianLinearRegression(noise_std=1.0, sampler=AIS(300), random_state=0, standardize=False).fit(
        X, ROWS.y
    )
    assert abs(model.log_evidence_ - EXACT) < 5 * model.log_evidence_std_
    assert not hasattr(model, "partial_fit")


GOLD = {"S_iris": lambda: SoftmaxModel(4, 3)} | {
    f"G_petal_K{K}": lambda K=K: MixtureModel(K, 2) for K in (1, 2, 3)
}


@pytest.mark.parametrize(
    "case, M", [("S_iris", 500), *(pytest.param(c, 500, marks=pytest.mark.slow) for c in list(GOLD)[1:])]
)
def test_gold(rng, case, M):
    """From the prior the particles find all labellings, as often as each other on average."""
    d, gold = MAKE["rebuild"](case), MAKE["GOLD"][case]
    for g in rng.spawn(2):
        result = AIS(M).run(GOLD[case](), Rows.of(d["X"], d.get("y")), g)
        assert abs(result.log_evidence - gold["logZ"]) < 3 * np.hypot(result.log_evidence_std, gold["se"])
        assert result.log_evidence_std < 0.4


@pytest.mark.slow
def test_coverage(rng):
    d = MAKE["sim_L"](500)
    model, rows = LinearModel(5, noise_std=1.0), Rows.of(d["X"], d["y"])
    z = z_scores(AIS(), model, rows, model.exact_log_evidence(rows), rng, 60)
    check_errors(z, 0.7, 1.3)
