"""Attributes, levels and replicates of hidden states that other tests do not ask for."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import dirichlet

from sgevidence import BayesianHMM, predictive_check

STATE = np.tile(np.repeat([0, 1], 20), 2)
LENGTHS = [40, 40]  # both sequences begin in the first state


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(20261129).normal(size=(80, 1)) + 6.0 * STATE[:, None]


@pytest.fixture(scope="module")
def levels():
    rng = np.random.default_rng(20261130)
    return np.where(rng.random(80) < 0.9, np.where(STATE == 0, "a", "b"), "c").astype(object)[:, None]


def test_first_states_and_covariances_of_states_that_are_clear(rows):
    model = BayesianHMM(2, initial_concentration=1.5, random_state=0).fit(rows, lengths=LENGTHS)
    first = int(np.argmin(model.means_))
    assert model.initial_probabilities_[first] == pytest.approx(3.5 / 5, abs=0.04)  # Dirichlet, two starts
    squares = np.array([40 * rows[STATE == k].var() for k in (0, 1)])
    mean = (rows.var() + squares / 2) / (1 + 40 / 2 - 1)  # of InvGamma(1, 1) in units, given the states
    order = np.argsort(model.means_.ravel())
    assert model.covariances_.ravel()[order] == pytest.approx(mean, rel=0.06)
    plain = BayesianHMM(2, random_state=0).fit(rows[10:30])
    assert plain.initial_probabilities_.tolist() == [0.5, 0.5]


def test_the_prior_of_first_states_is_dirichlet(rows):
    one, other = (
        BayesianHMM(2, initial_concentration=b, random_state=0).fit(rows[10:30])._model for b in (1.0, 2.5)
    )
    theta = other.sample_prior(np.random.default_rng(1), 5)
    p = other.parameters(theta)["initial_probabilities"]
    ratio = [dirichlet([2.5, 2.5]).logpdf(row) - dirichlet([1.0, 1.0]).logpdf(row) for row in p]
    assert other.log_prior(theta) - one.log_prior(theta) == pytest.approx(ratio, rel=1e-9)


def test_levels_that_are_given_are_those_that_are_found(levels):
    found = BayesianHMM(2, emission="categorical", random_state=0).fit(levels[:40])
    given = BayesianHMM(2, emission="categorical", categories=[["a", "b", "c"]], random_state=0).fit(
        levels[:40]
    )
    assert given.log_evidence_ == found.log_evidence_
    (p,) = found.category_probabilities_
    assert p.shape == (2, 3) and p.sum(axis=1) == pytest.approx(1.0)
    assert sorted(p.max(axis=1)) == pytest.approx([0.9, 0.9], abs=0.2)
    drawn, state = found.sample(500)
    assert set(drawn.ravel()) == {"a", "b", "c"}
    common = [np.mean(drawn[state == k] == "abc"[np.argmax(p[k])]) for k in (0, 1)]
    assert common == pytest.approx(p.max(axis=1), abs=0.15)


def test_levels_are_not_complex():
    with pytest.raises(ValueError, match="Complex data"):
        BayesianHMM(2, emission="categorical").fit(np.ones((5, 1)) * 1j)


@pytest.mark.slow
def test_rows_are_drawn_along_the_columns_that_move_transitions(rows):
    frame = pd.DataFrame({"x": rows[:, 0], "u": STATE.astype(float)})
    model = BayesianHMM(2, transitions=["u"], random_state=0).fit(frame)
    drawn, state = model.sample(X=frame)
    assert drawn.shape == (80, 1) and len(state) == 80
    means = np.sort(model.means_.ravel())
    assert sorted(drawn[state == k].mean() for k in (0, 1)) == pytest.approx(means, abs=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("emission", ["gaussian", "categorical"])
def test_replicates_are_as_wide_as_the_rows(rows, levels, emission):
    X = rows if emission == "gaussian" else levels
    found = predictive_check(BayesianHMM(2, emission=emission, random_state=0).fit(X), X)
    assert np.all(np.abs(np.array(found.table["p"][:2]) - 0.5) < 0.49)  # mean and variance


def test_one_state_has_no_dwell_times_in_its_summary(rows):
    assert "a state lasts" not in str(BayesianHMM(1, random_state=0).fit(rows[:20]).summary())
