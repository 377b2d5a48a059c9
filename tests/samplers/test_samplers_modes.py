"""The evidence of mixtures whose best mode particles would miss."""

import numpy as np
import pytest
from mixture_mode import LOG_Z, MAKE, MODEL, ROWS

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel


@pytest.mark.parametrize("seed", [3, 4])
def test_two_components_for_five_groups(seed):
    """One of three seeds used to end 28 nats below the others, in a worse way to merge the groups."""
    result = SGAIS().run(MixtureModel(2, 2), ROWS, np.random.default_rng(seed))
    assert abs(result.log_evidence + 4643.6) < 4 * result.log_evidence_std + 0.2


@pytest.mark.slow
def test_particles_go_on_from_a_renewed_mode(rng):
    """Two calls on: an error of the evidence's bookkeeping would show."""
    model, state, records = MODEL, SGAIS().init(MODEL, rng), []
    for part in (ROWS[:700], ROWS[700:]):
        state, new = SGAIS(max_particles=300).update(state, model, part, rng)
        records += new
    assert abs(state.log_evidence - LOG_Z) < 4 * state.log_evidence_std + 0.05
    assert np.isclose(sum(r.log_predictive for r in records), state.log_evidence)


@pytest.mark.slow
def test_a_mode_lost_by_all_particles_is_recovered():
    """K = 3 on five groups: particles alone are off by 130 nats at this seed."""
    rows = Rows.of(MAKE["sim_G_overlap"](10_000, seed=208)["X"])
    result = SGAIS().run(MixtureModel(3, 2), rows, np.random.default_rng(208))
    assert abs(result.log_evidence + 39607.77) < 4 * result.log_evidence_std + 0.1
