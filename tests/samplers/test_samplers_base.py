"""What samplers share: an answer from states and records, parts of their own, doubts that are kept."""

from linecache import getline

import numpy as np
import pytest
from path_problem import data
from sklearn.base import clone

from sgevidence import SGAIS, EvidenceWarning
from sgevidence.models import LinearModel
from sgevidence.samplers import AIS, SIR, EvidenceResult, SequentialSGMCMC, check_history
from sgevidence.transitions import HMC, SGHMC

MODEL = LinearModel(2, noise_std=1.0)


def test_run_is_one_update(rng):
    """``run`` is ``init`` and one ``update``: the same numbers, costs added up over the records."""
    rows, sampler = data(MODEL, 300, rng), SGAIS(50, max_particles=50, chunk_size=60, proposal=None)
    seed = int(rng.integers(2**31))
    result = sampler.run(MODEL, rows, np.random.default_rng(seed))
    g = np.random.default_rng(seed)
    state, records = sampler.update(sampler.init(MODEL, g), MODEL, rows, g)
    mine = EvidenceResult.of(state, records, 0.0)
    for name in ("log_evidence", "log_evidence_std", "n_likelihoods", "n_gradients"):
        assert getattr(mine, name) == getattr(result, name), name
    assert result.n_likelihoods == sum(r.n_likelihoods for r in records) > 50 * 300
    np.testing.assert_array_equal(result.path["log_evidence"], [r.log_evidence for r in records])
    assert sum(result.path["log_predictive"]) == pytest.approx(result.log_evidence)
    assert abs(result.log_evidence - MODEL.exact_log_evidence(rows)) < 5 * result.log_evidence_std
    # the draws are the posterior's: mean of the weighted cloud
    exact = MODEL.exact_posterior(rows, rng, 20_000)
    off = (result.weights @ result.theta - exact.mean(axis=0)) / exact.std(axis=0)
    assert np.abs(off).max() < 5 / np.sqrt(0.3 * 50)


@pytest.mark.parametrize("sampler", [SGAIS, AIS, SIR, SequentialSGMCMC])
def test_no_two_samplers_share_a_part(sampler):
    """A part that is the signature's default is cloned; one that is given is taken as it is."""
    one, other, given = sampler(), sampler(), SGHMC() if sampler is SequentialSGMCMC else HMC()
    assert one.move is not other.move
    one.set_params(move__n_steps=3)
    assert other.move.n_steps == sampler().move.n_steps != 3
    assert sampler(move=given).move is given and clone(one).move.n_steps == 3


def test_parameters_of_parts_are_checked():
    with pytest.raises(ValueError, match="'n_steps' parameter of HMC"):
        SGAIS(move=HMC(n_steps=0))._validate_params()


def test_a_sample_of_the_history_needs_an_anchor():
    plain = SGHMC(control_variate=False)
    with pytest.raises(ValueError, match="give it control_variate=True, or set reservoir_size=None"):
        check_history(plain, 100)
    check_history(plain, None)
    check_history(SGHMC(), 100)


def test_doubts_are_told_and_kept(rng):
    """The line that the warning names is the user's."""
    result = SGAIS(50, proposal=None).run(MODEL, data(MODEL, 20, rng), rng)

    with pytest.warns(EvidenceWarning) as caught:
        doubted = result.doubted(["this", "that"])
    assert [str(one.message) for one in caught] == ["this", "that"]
    assert caught[0].filename == __file__
    assert getline(__file__, caught[0].lineno).strip() == 'doubted = result.doubted(["this", "that"])'
    assert doubted.warnings == ("this", "that") and result.warnings == ()
