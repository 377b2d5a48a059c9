"""Streams that change half-way, after most rows have been dropped: right, or a bar that says how wrong.

What the rows before the change have to say of the place to which the posterior then goes is known from the
sample alone.  Data and seeds are those of the test's own generator.
"""

import numpy as np
import pytest
from softmax_reference import log_evidence

from sgevidence import SGAIS
from sgevidence.history import Memory, Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.samplers._records import doubts_of_records

N, CALL, RESERVOIR = 1500, 25, 300


def linear(rng, shift):
    model = LinearModel(4)
    X = rng.standard_normal((N, 4))
    y = X @ rng.standard_normal(4) + rng.standard_normal(N)
    y[N // 2 :] += shift
    rows = Rows.of(X, y)
    return model, rows, model.exact_log_evidence(rows), 0.0


def one_component(rng, shift):
    model = MixtureModel(1, 4)
    X = 5.0 + rng.standard_normal((N, 4))
    X[N // 2 :] += shift
    rows = Rows.of(X)
    return model, rows, model.exact_log_evidence(rows), 0.0


def softmax(rng, shift):
    X, B = rng.standard_normal((N, 3)), rng.standard_normal((3, 3))
    logits = X @ B + np.outer(np.arange(N) >= N // 2, [shift, 0.0, -shift])
    rows = Rows.of(X, np.argmax(logits + rng.gumbel(size=(N, 3)), axis=1))
    model = SoftmaxModel(3, 3)
    return model, rows, *log_evidence(model, rows, rng, n=4000)


def stream(problem, rng, **settings):
    """Error in nats, the state and the records."""
    model, rows, exact, _ = problem
    sampler = SGAIS(proposal=None, reservoir_size=RESERVOIR, **settings)
    state, records = sampler.init(model, rng), []
    for piece in rows.chunks(CALL):
        state, new = sampler.update(state, model, piece, rng)
        records += new
    return state.log_evidence - exact, state, records


def check_says_so(rng, problem, shift, n_seeds, wanted=True):
    """RMS of z, and a complaint wherever the sample leaves more than a nat in doubt."""
    z, said = [], []
    for g in rng.spawn(n_seeds):
        made = problem(g, shift)
        error, state, records = stream(made, g)
        assert not state.memory.complete
        z.append(error / np.hypot(state.log_evidence_std, made[3]))
        said.append(bool(doubts_of_records(records)) or state.log_evidence_std < 1.0)
    rms = np.sqrt(np.mean(np.square(z)))
    assert rms < 1 + 2 / np.sqrt(n_seeds) + 0.1, f"RMS of z {rms:.2f}: {np.round(z, 1)}"
    assert all(said), "uncertain by more than a nat without a word"


SHIFTS = [(linear, 3.0), (one_component, 1.0), (softmax, 2.0)]
every_shift = pytest.mark.parametrize("problem, shift", SHIFTS, ids=[p.__name__ for p, _ in SHIFTS])


@pytest.mark.slow
@every_shift
def test_what_a_sample_has_lost_is_in_the_bar(rng, problem, shift):
    check_says_so(rng, problem, shift, n_seeds=3)


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.0, 0.2, 1.0], ids=["no shift", "a small one", "large"])
@every_shift
def test_the_bar_covers(rng, problem, shift, size):
    check_says_so(rng, problem, size * shift, n_seeds=24)


@pytest.mark.slow
@every_shift
def test_the_bar_is_no_wider_than_it_must_be(rng, problem, shift):
    """Without a shift a sample costs nothing to speak of."""
    made = problem(rng, 0.0)
    assert stream(made, rng)[1].log_evidence_std < 0.3


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("self.sums.moved_by_blocks", "self.sums._replace(doubt=None).moved_by_blocks"),
        (
            "self.sums.moved_by_blocks(model, a, kept.scaled(n / weight), weight / n, self.high_leverage)",
            "self.sums.moved_by_blocks(model, a, kept.scaled(n / weight), 1.0, self.high_leverage)",
        ),
    ],
    ids=["forgotten at each move", "a sample of all rows"],
)
def test_a_broken_memory_is_caught(rng, install_broken, right, wrong):
    install_broken(Memory, "moved", right, wrong)
    with pytest.raises(AssertionError):
        check_says_so(rng, linear, 3.0, n_seeds=3)
