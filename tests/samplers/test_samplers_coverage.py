"""Does log_evidence_std_ cover?  The error over its claim must behave like N(0, 1) over many seeds."""

import numpy as np
import pytest
from error_bars import check_coverage, z_scores
from made_data import GOLD, rows_of
from softmax_reference import log_evidence

from sgevidence import SGAIS
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.transitions import SGHMC


def softmax_reference(rows, rng):
    return log_evidence(SoftmaxModel(10, 4), rows, rng)


def test_importance_sampling_against_gold(rng):
    """The reference below is one."""
    log_Z, error = softmax_reference(rows_of("sim_S", 1000), rng)
    gold = GOLD["SIM_S_1000"]
    assert abs(log_Z - gold["logZ"]) < 4.5 * np.hypot(error, gold["se"])
    assert error < 0.01


def test_few_seeds(rng):
    """A quick look at what the slow tests do in full."""
    model, rows = LinearModel(5, noise_std=1.0), rows_of("sim_L", 500)
    check_coverage(z_scores(SGAIS(proposal=None), model, rows, model.exact_log_evidence(rows), rng, 30))


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [dict(), dict(chunk_size=500), dict(reservoir_size=400), dict(move=SGHMC())],
    ids=["default", "chunks of 500", "small reservoir", "sghmc"],
)
def test_linear(rng, settings):
    model, rows = LinearModel(5, noise_std=1.0), rows_of("sim_L", 2000)
    check_coverage(
        z_scores(SGAIS(proposal=None, **settings), model, rows, model.exact_log_evidence(rows), rng, 30)
    )


@pytest.mark.slow
def test_softmax(rng):
    rows = rows_of("sim_S", 1000)
    log_Z, _ = softmax_reference(rows, rng)
    check_coverage(z_scores(SGAIS(proposal=None), SoftmaxModel(10, 4), rows, log_Z, rng, 15))


@pytest.mark.slow
def test_one_component(rng):
    model, rows = MixtureModel(1, 2), rows_of("sim_G", 1000)
    check_coverage(z_scores(SGAIS(proposal=None), model, rows, model.exact_log_evidence(rows), rng, 100))
