"""Each setting beyond the reservoir: most rows are gone, and the answer is still that of all of them.

The references know nothing of reservoirs: closed forms, quadrature over the noise, importance sampling.
"""

from itertools import product

import numpy as np
import pytest
from made_data import MAKE
from scipy.special import logsumexp
from scipy.stats import invgamma
from softmax_reference import log_evidence

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.samplers import SGNHT
from sgevidence.transitions import HMC, SGHMC

N = 4000
RESERVOIR = 500


def known_noise(rng):
    d = MAKE["sim_L"](N)
    model, rows = LinearModel(5, noise_std=1.0), Rows.of(d["X"], d["y"])
    return model, rows, model.exact_log_evidence(rows), 0.0


def unknown_noise(rng):
    """log ∫ p(σ²) Z(σ) dσ², by the trapezoid over log σ² where the posterior is."""
    _, rows, _, _ = known_noise(rng)
    log_s2 = np.linspace(-0.4, 0.4, 801)
    terms = [LinearModel(5, noise_std=np.exp(t / 2)).exact_log_evidence(rows) for t in log_s2]
    log_f = np.array(terms) + invgamma(1.0).logpdf(np.exp(log_s2)) + log_s2
    assert max(log_f[0], log_f[-1]) < log_f.max() - 30
    return LinearModel(5, noise_prior=(1.0, 1.0)), rows, logsumexp(log_f) + np.log(log_s2[1] - log_s2[0]), 0.0


def softmax(rng):
    d = MAKE["sim_S"](N)
    model, rows = SoftmaxModel(10, 4), Rows.of(d["X"], d["y"])
    return model, rows, *log_evidence(model, rows, rng)


def one_component(rng):
    model, rows = MixtureModel(1, 2), Rows.of(MAKE["sim_G"](N)["X"])
    return model, rows, model.exact_log_evidence(rows), 0.0


MODELS = {f.__name__: f for f in (known_noise, unknown_noise, softmax, one_component)}
MOVES = {"hmc": HMC(), "sghmc": SGHMC(), "sgnht": SGNHT()}
#: Rows a call and chunk_size.
CUTS = {
    "calls of 500": (500, None),
    "calls of 50": (50, None),
    "chunks of 250": (N, 250),
    "at once": (N, None),
}


@pytest.fixture(scope="module")
def problem():
    """Model, rows, log Z and its error, each made once."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = MODELS[name](np.random.default_rng(0))
        return made[name]

    return get


#: Cases that run by default, a second or two each; a quarter of the others is slow.
QUICK = {
    ("known_noise", "hmc", "calls of 500"),
    ("known_noise", "sghmc", "calls of 500"),
}
GRID = (list(MODELS), list(MOVES), list(CUTS))


def cases():
    """Quick cases, and of the others those that meet every pair of settings: positions add up to 4 k."""
    for position, case in zip(product(*(range(len(names)) for names in GRID)), product(*GRID)):
        if case in QUICK:
            yield pytest.param(*case, id="-".join(case))
        elif sum(position) % 4 == 0:
            costly = case[0] == "softmax" and case[1] != "hmc"  # a minute each and more
            mark = pytest.mark.nightly if costly else pytest.mark.slow
            yield pytest.param(*case, marks=mark, id="-".join(case))


@pytest.mark.parametrize("name, move, cut", list(cases()))
def test_beyond_the_reservoir(rng, problem, name, move, cut):
    """Two seeds; each within 4 of its own errors and the reference's, and an error that says something."""
    model, rows, exact, error = problem(name)
    call, chunk_size = CUTS[cut]
    sampler = SGAIS(
        proposal=None,
        reservoir_size=RESERVOIR,
        chunk_size=chunk_size,
        move=MOVES[move],
    )
    for g in rng.spawn(2):
        state = sampler.init(model, g)
        for piece in rows.chunks(call):
            state, _ = sampler.update(state, model, piece, g)
        assert not state.memory.complete and len(state.memory.reservoir) <= 10 * RESERVOIR < N * 2
        z = (state.log_evidence - exact) / np.hypot(state.log_evidence_std, error)
        assert abs(z) < 4, f"off by {state.log_evidence - exact:.2f} nats, {z:.1f} standard errors"
        assert state.log_evidence_std < 0.6
