"""SIR: errors as claimed however the rows are cut, online, and mistakes that must show."""

import numpy as np
import pytest
from made_data import MAKE

from sgevidence import BayesianLinearRegression
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.published import SIR
from sgevidence.transitions import Anneal

MODEL = LinearModel(2, noise_std=1.0)
X = np.cos(np.arange(300)[:, None] * [3, 5])
ROWS = Rows.of(X, X @ [0.8, -0.5] + 0.3 + np.sqrt(2) * np.cos(7.3 * np.arange(300)))


def check(rng, sampler=None, n_seeds=16):
    exact = MODEL.exact_log_evidence(ROWS)
    results = [(sampler or SIR(300)).run(MODEL, ROWS, g) for g in rng.spawn(n_seeds)]
    z = np.array([(r.log_evidence - exact) / r.log_evidence_std for r in results])
    assert 0.45 < np.sqrt(np.mean(z**2)) < 1.6, f"errors are {np.sqrt(np.mean(z**2)):.2f} of what is claimed"
    assert np.abs(z).max() < 4.5
    return results


@pytest.mark.parametrize("chunk_size", [None, 40, 1000])
def test_against_the_closed_form(rng, chunk_size):
    results = check(rng, SIR(300, chunk_size=chunk_size))
    assert all(r.path["n_samples"][-1] == 300 for r in results)


@pytest.mark.parametrize(
    "owner, name, right, wrong",
    [
        (SIR, "steps", "queue.insert(0, rest)", "pass"),
        (
            SIR,
            "steps",
            "path = Path(model, state.memory, piece)",
            "path = Path(model, state.memory, piece.scaled(9.0))",
        ),
        (Anneal, "__call__", "cloud.weighted(increment)", "cloud._replace(weights=Weights(increment))"),
    ],
    ids=["rows are lost", "moves on another target", "weights are forgotten"],
)
def test_a_mistake_is_seen(rng, install_broken, owner, name, right, wrong):
    install_broken(owner, name, right, wrong)
    with pytest.raises(AssertionError, match="errors are"):
        check(rng)


def test_a_chunk_that_says_too_much_is_cut(rng):
    result = SIR(300, chunk_size=300).run(MODEL, ROWS, rng)
    sizes = np.diff(result.path["n_samples"], prepend=0)
    assert len(sizes) > 5 and sizes.sum() == 300 and sizes[0] < 10 < sizes[-1]
    assert np.all((result.path["ess"] > 0.25 * 300) | (sizes == 1))


def test_weighted_rows_are_repeated_rows(rng):
    """A weight cannot be cut: it must be small enough."""
    weight = np.tile([1.0, 2.0, 3.0], 100)
    exact = MODEL.exact_log_evidence(Rows.of(X, ROWS.y, weight))
    result = SIR(2000).run(MODEL, Rows.of(X, ROWS.y, weight), rng)
    assert abs(result.log_evidence - exact) < 4.5 * result.log_evidence_std


def test_online(rng):
    """Rows of several calls; states are values."""
    sampler, records = SIR(1000), []
    states = [sampler.init(MODEL, rng)]
    for part in (ROWS[:1], ROWS[1:30], ROWS[30:]):
        state, new = sampler.update(states[-1], MODEL, part, rng)
        states.append(state)
        records += new
    for n, state in zip((0, 1, 30, 300), states):
        assert state.n_rows == n
        exact = MODEL.exact_log_evidence(ROWS[:n]) if n else 0.0
        assert abs(state.log_evidence - exact) <= 4.5 * state.log_evidence_std
    assert records[-1].log_evidence == pytest.approx(sum(r.log_predictive for r in records))


def test_in_an_estimator():
    model = BayesianLinearRegression(noise_std=1.0, sampler=SIR(500), random_state=0, standardize=False)
    for part in np.split(np.arange(300), [100, 200]):
        model.partial_fit(X[part], ROWS.y[part])
    assert abs(model.log_evidence_ - MODEL.exact_log_evidence(ROWS)) < 4.5 * model.log_evidence_std_
    assert model.n_samples_seen_ == 300 and model.coef_ == pytest.approx([0.8, -0.5], abs=0.3)


def test_impossible_rows(rng):
    with pytest.raises(ValueError, match="likelihood is zero"):
        SIR(10).run(MODEL, Rows.of(np.full((3, 2), np.nan), np.zeros(3)), rng)


@pytest.mark.slow
@pytest.mark.parametrize("case, model", [("S_iris", SoftmaxModel(4, 3)), ("G_petal_K2", MixtureModel(2, 2))])
def test_gold(rng, case, model):
    d, gold = MAKE["rebuild"](case), MAKE["GOLD"][case]
    for g in rng.spawn(2):
        result = SIR(2000).run(model, Rows.of(d["X"], d.get("y")), g)
        assert abs(result.log_evidence - gold["logZ"]) < 3 * np.hypot(result.log_evidence_std, gold["se"])
