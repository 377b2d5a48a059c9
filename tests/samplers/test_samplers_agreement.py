"""Ten ways to ask one question: all samplers agree on one conjugate target, and two of them on others.

The target is small and little informative, so that even the samplers that are never to be used can do it.
"""

import numpy as np
import pytest

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel
from sgevidence.samplers import (
    AIS,
    SGNHT,
    SIR,
    EvidenceResult,
    Exact,
    HarmonicMean,
    Laplace,
    NestedSampling,
    PriorSampling,
    SequentialNestedSampling,
    SequentialSGMCMC,
    UntilPrecise,
)
from sgevidence.transitions import SGHMC

MODEL = LinearModel(2, noise_std=2.0)
X = np.random.default_rng(0).standard_normal((20, 2))
ROWS = Rows.of(X, X @ [1.0, -1.0] + 2 * np.random.default_rng(1).standard_normal(20))
EXACT = MODEL.exact_log_evidence(ROWS)

SAMPLERS = {
    "Exact": Exact(),
    "Laplace": Laplace(),
    "PriorSampling": PriorSampling(),
    "HarmonicMean": HarmonicMean(5000),
    "NestedSampling": NestedSampling(200),
    "NestedSampling by rejection": NestedSampling(200, kernel="rejection"),
    "NestedSampling by random walk": NestedSampling(200, kernel="random_walk"),
    "SequentialNestedSampling": SequentialNestedSampling(200),
    "AIS": AIS(),
    "AIS, sigmoidal": AIS(300, schedule="sigmoidal", n_temperatures=100),
    "AIS by SGHMC": AIS(move=SGHMC()),
    "SIR": SIR(),
    "SequentialSGMCMC": SequentialSGMCMC(1000),
    "SequentialSGMCMC, hybrid": SequentialSGMCMC(initial=NestedSampling(200)),
    "SGAIS": SGAIS(proposal=None),
    "SGAIS by SGHMC": SGAIS(move=SGHMC(), proposal=None),
    "SGAIS by SGNHT": SGAIS(move=SGNHT(), proposal=None),
    "SGAIS until precise": UntilPrecise(0.03, sampler=SGAIS(proposal=None)),
}


def check(result: EvidenceResult, exact, most=0.3):
    """Within four of its own standard errors, none of which is a third of a nat."""
    assert abs(result.log_evidence - exact) <= 4 * result.log_evidence_std
    assert result.log_evidence_std < most


@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("name", SAMPLERS)
def test_all_agree_on_a_conjugate_target(name, rng):
    result = SAMPLERS[name].run(MODEL, ROWS, rng)
    check(result, EXACT, most=1.0 if name == "HarmonicMean" else 0.3)  # of infinite variance
    assert isinstance(result, EvidenceResult) and isinstance(result.log_evidence_std, float)
    assert (result.log_evidence_std == 0.0) == (name == "Exact")
    mean = result.weights @ result.theta
    exact = Exact(20_000).run(MODEL, ROWS, rng).theta
    ess = 1 / np.sum(result.weights**2)
    assert np.all(np.abs(mean - exact.mean(axis=0)) < 5 * exact.std(axis=0) * (1 / 20_000 + 3 / ess) ** 0.5)
    assert result.path["n_samples"][-1] == 20 and result.path["log_evidence"][-1] == result.log_evidence
    assert result.wall_time > 0 and np.isclose(result.weights.sum(), 1)
    assert result.n_likelihoods > 0 or name == "Exact"


@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("name", ["NestedSampling", "AIS", "SIR", "SGAIS"])
def test_a_model_with_another_likelihood_does_not_agree(name, rng):
    """The check has teeth: noise of 1.5 for 2 is seen."""
    wrong = LinearModel(2, noise_std=1.5)
    with pytest.raises(AssertionError):
        check(SAMPLERS[name].run(wrong, ROWS, rng), EXACT)


def mixture_rows(n):
    """One-dimensional, three groups (conference paper, Fig. A1)."""
    rng = np.random.default_rng(7)
    return Rows.of(rng.choice([-2.0, 0.0, 2.0], size=n)[:, None] + 0.5 * rng.standard_normal((n, 1)))


def check_pair(a, b):
    std = np.hypot(a.log_evidence_std, b.log_evidence_std)
    assert abs(a.log_evidence - b.log_evidence) < 4 * std


@pytest.mark.parametrize("n", [10, pytest.param(20, marks=pytest.mark.slow)])
def test_rejection_agrees_with_reflection(rng, n):
    """Conference paper, Fig. A1: nine parameters; rejection needs e^H prior draws a point."""
    model, rows = MixtureModel(3, 1), mixture_rows(n)
    settings = dict(n_live=100, remaining_mass=0.5)  # the live points at the end are counted
    rejection = NestedSampling(kernel="rejection", **settings).run(model, rows, rng)
    check_pair(NestedSampling(**settings).run(model, rows, rng), rejection)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_nested_sampling_agrees_with_ais(rng, n):
    """Journal paper, Fig. A1: 20 to 1000 rows; here also with SGAIS."""
    model, rows = MixtureModel(3, 1), mixture_rows(n)
    ais = AIS(500).run(model, rows, rng)
    check_pair(NestedSampling(200).run(model, rows, rng), ais)
    check_pair(SGAIS(proposal=None).run(model, rows, rng), ais)
