"""The default engine, step by step, as it was: a change of digits is a commit of its own, and measured.

``python tests/samplers/test_samplers_default_paths.py`` stores the paths of today.
"""

import json

import numpy as np
import pytest
from made_data import DATA, MAKE
from threadpoolctl import threadpool_limits

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.samplers import AIS, SGNHT, SIR
from sgevidence.transitions import SGHMC

PATHS = DATA / "default_paths.json"
KNOWN, UNKNOWN = LinearModel(5, noise_std=1.0), LinearModel(5, noise_prior=(1.0, 1.0))
#: Trajectories are chaotic, and processors round differently: by 1e-16 that is forgotten, by 1e-7 it is not.
SOFTMAX = SoftmaxModel(10, 4).in_double_precision()

ANNEALED = dict(proposal=None)
BEYOND = ANNEALED | dict(move=SGHMC(), reservoir_size=700)
SMALL = ANNEALED | dict(n_particles=25, reservoir_size=700)
PARTICLES = ANNEALED | dict(n_particles=25, mode_search=None)
UNADORNED = dict(resampling=None, mode_search=None, proposal=None)

#: model, data, rows, rows a call, sampler
CASES = {
    "linear": (KNOWN, "sim_L", 4000, 4000, SGAIS(**ANNEALED)),
    "linear, calls of 37": (KNOWN, "sim_L", 1500, 37, SGAIS(**ANNEALED)),
    "linear, unknown noise": (UNKNOWN, "sim_L", 1500, 500, SGAIS(**ANNEALED)),
    "linear, beyond the reservoir": (KNOWN, "sim_L", 3000, 300, SGAIS(**ANNEALED, reservoir_size=400)),
    "linear, no resampling": (KNOWN, "sim_L", 500, 500, SGAIS(target_ess=0.9, **UNADORNED)),
    "linear, sghmc": (KNOWN, "sim_L", 3000, 500, SGAIS(**ANNEALED, move=SGHMC())),
    "linear, sghmc beyond": (KNOWN, "sim_L", 3000, 300, SGAIS(**BEYOND)),
    "linear, sgnht": (KNOWN, "sim_L", 1000, 500, SGAIS(**ANNEALED, move=SGNHT())),
    "linear, 50 000 rows": (KNOWN, "sim_L", 50_000, 5000, SGAIS(**ANNEALED)),
    "softmax": (SOFTMAX, "sim_S", 1000, 1000, SGAIS(**ANNEALED, n_particles=25)),
    "softmax, calls of 300": (SOFTMAX, "sim_S", 1500, 300, SGAIS(**SMALL)),
    "mixture": (MixtureModel(3, 2), "sim_G", 1500, 1500, SGAIS(n_particles=25)),
    "mixture, overlapping": (MixtureModel(3, 2), "sim_G_overlap", 700, 200, SGAIS(n_particles=25)),
    "mixture, beyond the reservoir": (MixtureModel(2, 2), "sim_G", 2000, 400, SGAIS(reservoir_size=500)),
    "mixture, particles alone": (
        MixtureModel(3, 2).in_double_precision(), "sim_G", 700, 350, SGAIS(**PARTICLES)
    ),
    "one component": (MixtureModel(1, 2), "sim_G", 1500, 500, SGAIS(**ANNEALED)),
}  # fmt: skip


#: The samplers that anneal or resample by the same steps.
ONCE = {
    "AIS": (UNKNOWN, "sim_L", 300, AIS(200)),
    "AIS, fixed": (SOFTMAX, "sim_S", 100, AIS(100, schedule="sigmoidal", n_temperatures=50)),
    "AIS, sghmc": (KNOWN, "sim_L", 300, AIS(200, move=SGHMC())),
    "AIS, paper": (KNOWN, "sim_L", 300, AIS.paper()),
    "SIR": (UNKNOWN, "sim_L", 500, SIR(200)),
    "SIR, softmax": (SOFTMAX, "sim_S", 200, SIR(200, chunk_size=50)),
}


@threadpool_limits.wrap(limits=1)  # the last digits of a sum depend on how many threads share it
def once(name):
    model, sim, n, sampler = ONCE[name]
    data = MAKE[sim](n)
    result = sampler.run(model, Rows.of(data["X"], data.get("y")), np.random.default_rng(19))
    values = {k: np.ravel(result.path[k]).tolist() for k in ("log_evidence", "log_evidence_std", "n_moves")}
    return values | {"mean": (result.weights @ result.theta).tolist()}


@threadpool_limits.wrap(limits=1)
def path(name):
    """Log evidence, its error and the number of moves after each piece, and a trace of the cloud."""
    model, sim, n, chunk, sampler = CASES[name]
    data, rng = MAKE[sim](n), np.random.default_rng(17)
    state, records = sampler.init(model, rng), []
    for piece in Rows.of(data["X"], data.get("y")).chunks(chunk):
        state, new = sampler.update(state, model, piece, rng)
        records += new
    return {
        "log_evidence": [r.log_evidence for r in records],
        "log_evidence_std": [r.log_evidence_std for r in records],
        "n_moves": [r.n_moves for r in records],
        "n_particles": [r.n_particles for r in records],
        "mean": (state.all_weights.W @ state.theta).tolist(),
    }


#: More than a second each, of ways that others take, too.
SLOW = {"mixture", "mixture, overlapping", "mixture, beyond the reservoir", "SIR, softmax"}
SLOW |= {"softmax, calls of 300"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in [*CASES, *ONCE]]
)
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_default_path(name):
    stored = json.loads(PATHS.read_text())[name]
    now = path(name) if name in CASES else once(name)
    for key, values in stored.items():
        np.testing.assert_allclose(now[key], values, rtol=1e-7, atol=1e-5, err_msg=key)


if __name__ == "__main__":
    stored = {name: path(name) for name in CASES} | {name: once(name) for name in ONCE}
    PATHS.write_text(json.dumps(stored) + "\n")
