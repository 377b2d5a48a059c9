"""Lines that a run prints: rows, evidence, time so far, time left at the pace of the last chunk."""

import pickle
import re
from itertools import count
from threading import enumerate as enumerate_threads
from time import sleep

import numpy as np
import pytest

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.models import LinearModel
from sgevidence.samplers import AIS, ChunkRecord, Progress, UntilPrecise, under_way


@pytest.fixture
def clock(monkeypatch):
    """A second passes at each look at the clock."""
    seconds = count(0.0)
    monkeypatch.setattr("sgevidence.samplers._base.perf_counter", lambda: next(seconds))


def record(n):
    return ChunkRecord(n, -2.0 * n, 0.1, -2.0)


def check_time_left(capsys):
    """The clock at the start 0; per chunk one look for the line, one for the print, one for the next part."""
    progress = Progress("K=3", n_rows=1000)
    progress.chunk(record(100), 0)
    progress.chunk(record(300), 100)
    progress.chunk(record(1000), 300)
    lines = capsys.readouterr().out.splitlines()
    first = (
        "[K=3] 100 of 1000 rows, log evidence -200.00 ± 0.10 nats, 1 annealing steps, 1.0 s, about 9.0 s left"
    )
    assert lines[0] == first
    assert lines[1].endswith(
        "300 of 1000 rows, log evidence -600.00 ± 0.10 nats, 1 annealing steps, 4.0 s, about 3.5 s left"
    )
    assert lines[2] == "[K=3] 1000 rows, log evidence -2000.00 ± 0.10 nats, 1 annealing steps, 7.0 s"


def test_a_line_a_chunk_with_the_time_left(clock, capsys):
    check_time_left(capsys)


def test_notes_and_small_chunks_come_every_two_seconds(clock, capsys):
    progress = Progress("x", interval=4.0)
    for n in range(1, 13):
        progress(f"note {n}")
    notes = [int(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert 2 <= len(notes) <= 4 and min(np.diff(notes)) >= 3
    for n in range(1, 13):
        progress.chunk(record(n), n - 1, is_small=True)
    assert 2 <= len(capsys.readouterr().out.splitlines()) <= 6


def test_a_result_is_printed_at_once(capsys):
    progress = Progress("Name", interval=1e9)
    progress("a note")
    progress.done("a result")
    assert capsys.readouterr().out.splitlines() == ["[Name] a result"]


def test_silence(capsys):
    quiet = Progress("x", verbose=0)
    quiet("note")
    quiet(lambda: pytest.fail("made for nobody"))
    quiet.done("done")
    quiet.chunk(record(3), 0)
    assert capsys.readouterr().out == ""


class Counting:
    def __init__(self):
        self.expected, self.steps, self.parts = None, 0, 0

    def expect(self, n_parts):
        self.expected = n_parts

    def step(self):
        self.steps += 1

    def part(self):
        self.parts += 1


def rows(n):
    X = np.random.default_rng(0).standard_normal((n, 2))
    return Rows.of(X, X @ [1.0, -1.0] + np.random.default_rng(1).standard_normal(n))


@pytest.mark.parametrize(
    "sampler, n_chunks", [(SGAIS(chunk_size=60, proposal=None), 5), (SGAIS(proposal=None), 3)]
)
def test_chunks_are_announced_and_temperatures_are_steps(sampler, n_chunks, rng):
    watcher, model = Counting(), LinearModel(2, noise_std=1.0)
    progress = Progress("x", verbose=False, watcher=watcher)
    _, records = sampler.update(sampler.init(model, rng), model, rows(300), rng, progress)
    assert watcher.expected == watcher.parts == len(records) == n_chunks
    assert watcher.steps == sum(r.n_moves for r in records) > 0


def test_temperatures_of_annealed_importance_sampling_are_steps(rng):
    watcher = Counting()
    AIS(50).run(LinearModel(2, noise_std=1.0), rows(100), rng, Progress("x", verbose=False, watcher=watcher))
    assert watcher.steps > 3


def test_runs_until_precise_are_parts_and_have_the_name(rng, capsys):
    watcher = Counting()
    sampler = UntilPrecise(0.1, sampler=SGAIS(n_particles=30, max_particles=30, proposal=None))
    result = sampler.run(LinearModel(2, noise_std=1.0), rows(50), rng, Progress("x", watcher=watcher))
    lines = capsys.readouterr().out.splitlines()
    assert (
        watcher.parts == sum(" runs, log evidence" in line for line in lines) <= result.diagnostics["n_runs"]
    )
    assert re.fullmatch(r"\[x\] \d+ runs, log evidence .* ± 0\.\d+ nats, wanted ± 0.1", lines[-1])
    assert pickle.loads(pickle.dumps(Progress("x", watcher=watcher).alone())).watcher is None


def check_beats(capsys):
    """Code that tells nobody how far it is: a line an interval, and none once it ends."""
    progress = Progress("x", interval=0.02)
    with progress.beating(lambda: "1 of 3 models"):
        sleep(0.2)
    lines = capsys.readouterr().out.splitlines()
    assert 2 <= len(lines) <= 11 and all(re.fullmatch(r"\[x\] 1 of 3 models, 0\.\d s", one) for one in lines)
    sleep(0.1)
    assert not capsys.readouterr().out


def test_a_long_part_is_not_silent(capsys):
    check_beats(capsys)


def test_code_without_a_progress_says_what_is_under_way(capsys):
    under_way("told to nobody")
    with Progress("x", interval=0.02).beating():
        sleep(0.1)
        under_way("3 of 5 components")
        sleep(0.1)
    lines = capsys.readouterr().out.splitlines()
    assert "at work" in lines[0] and "3 of 5 components" in lines[-1]


def test_beats_end_with_an_error_and_are_silent_where_nobody_asked(capsys):
    with pytest.raises(KeyboardInterrupt), Progress("x", interval=0.01).beating():
        raise KeyboardInterrupt
    with Progress("x", verbose=False, interval=0.01).beating():
        sleep(0.05)
    assert not any(one.name.startswith("progress of") for one in enumerate_threads())
    assert not capsys.readouterr().out
