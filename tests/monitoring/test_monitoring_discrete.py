"""Segments of classes and of counts: priors, what they refuse, and how often they alarm."""

import numpy as np
import pytest
from segment_cases import count_evidence

from sgevidence import EvidenceMonitor
from sgevidence.monitoring import CategorySegment, CountSegment, segment


def test_prior_of_counts_from_the_first_rows(rng):
    """The same as with that mean from the beginning, however the rows are cut."""
    X = rng.poisson([3.0, 500.0, 0.0], size=(40, 3)).astype(float)
    mean = (X[:10].sum(axis=0) + 0.5) / 10
    monitor = EvidenceMonitor(CountSegment(), hazard=1e-15)
    for rows in (X[:4], X[4:25], X[25:]):
        monitor.partial_fit(rows)
    assert monitor.log_evidence_ == pytest.approx(count_evidence(X, mean, 0.5), abs=1e-6)
    assert segment(X, model=CountSegment(), hazard=1e-15).log_evidence == pytest.approx(monitor.log_evidence_)


@pytest.mark.parametrize("model", [CategorySegment(3), CountSegment(), CountSegment(mean=1.0)])
@pytest.mark.parametrize("bad", [-1.0, 0.5, 3.0])
def test_what_is_no_class_or_count_is_refused_and_nothing_is_learned(rng, model, bad):
    X = rng.integers(3, size=(60, 2)).astype(float)
    monitor = EvidenceMonitor(model).partial_fit(X[:30])
    before = monitor.log_evidence_
    wrong = X[30:].copy()
    wrong[20, 1] = bad
    if bad == 3.0 and isinstance(model, CountSegment):
        monitor.partial_fit(wrong)
        return
    with pytest.raises(ValueError, match="row 50 of the stream"):
        monitor.partial_fit(wrong)
    assert monitor.log_evidence_ == before and monitor.n_samples_seen_ == 30
    whole = EvidenceMonitor(model).fit(X).log_evidence_
    assert monitor.partial_fit(X[30:]).log_evidence_ == pytest.approx(whole)


@pytest.mark.parametrize(
    "model, name", [(CategorySegment(1), "n_categories"), (CategorySegment(2, 0.0), "concentration")]
)
def test_parameters_are_checked(model, name):
    with pytest.raises(ValueError, match=name):
        EvidenceMonitor(model).fit([[0.0], [1.0]])


def test_shifts_are_found_and_placed(rng):
    """Rare ones that become common, and counts of thousands that grow by a tenth."""
    rare = (rng.random((2000, 1)) < np.repeat([0.01, 0.2], 1000)[:, None]).astype(float)
    many = rng.poisson(np.repeat([2000.0, 2200.0], 100)[:, None]).astype(float)
    for model, X, place, within in ((CategorySegment(), rare, 1000, 30), (CountSegment(), many, 100, 3)):
        found = EvidenceMonitor(model, threshold=0.999).fit(X).change_points_
        assert len(found) == 1 and abs(found[0] - place) <= within


@pytest.mark.slow
@pytest.mark.parametrize(
    "model, draw, least",
    [
        (CategorySegment(), lambda rng, n: rng.random((n, 1)) < 0.5, 1 / 1.5),
        (CategorySegment(6), lambda rng, n: rng.integers(6, size=(n, 1)), 1 / 1.5),
        (CountSegment(), lambda rng, n: rng.poisson(2.0, (n, 1)), 1 / 1.5),
        (CategorySegment(), lambda rng, n: rng.random((n, 1)) < 0.01, 0.0),
        (CountSegment(), lambda rng, n: rng.poisson(300.0, (n, 1)), 0.0),
    ],
    ids=["a half", "six classes", "two", "one in a hundred", "three hundred"],
)
def test_false_alarms_are_as_rare_as_wanted(model, draw, least, rng):
    """Within a factor of 1.5, on 40 streams without a change; fewer where the prior is wide for the rows."""
    alarms = 0
    for _ in range(40):
        monitor = EvidenceMonitor(model, threshold=0.5).fit(draw(rng, 4000).astype(float))
        alarms += len(monitor.detections_)
    wanted = monitor.false_alarm_rate_ * 40 * 4000
    error = 3 * np.sqrt(alarms)
    assert least * wanted - error <= alarms <= 1.5 * wanted + error


@pytest.mark.parametrize("n_before", [0, 4, 30])
def test_a_row_that_is_no_count_is_refused_when_it_comes(rng, n_before):
    """And the good ones after it are taken, also where rows are still held."""
    X = rng.poisson(3.0, (40, 1)).astype(float)
    monitor = EvidenceMonitor(CountSegment())
    if n_before:
        monitor.partial_fit(X[:n_before])
    for bad in (339.08, -1.0, 2.0**60):
        with pytest.raises(ValueError, match=f"row {n_before} of the stream"):
            monitor.partial_fit([[bad]])
    monitor.partial_fit(X[n_before:])
    assert monitor.log_evidence_ == pytest.approx(EvidenceMonitor(CountSegment()).fit(X).log_evidence_)
    with pytest.raises(ValueError, match="row 2 of the stream"):
        segment([[1.0], [2.0], [0.5]], model=CountSegment())


def chain(rng, n, stay):
    """Two states, each kept with such a probability."""
    return (np.cumsum(rng.random(n) > stay) % 2).astype(float)


@pytest.mark.parametrize("stay", [0.9, 0.2])
def test_a_markov_chain_is_no_string_of_changes(rng, stay):
    """352 alarms in 10 000 rows where it stays with 0.9, before rows could depend on the one before."""
    monitor = EvidenceMonitor(CategorySegment()).fit(chain(rng, 4000, stay))
    assert len(monitor.change_points_) <= 6  # 1.4 are said


def test_a_change_of_a_chain_is_found(rng):
    """Half of the rows are ones before and after."""
    x = np.concatenate([chain(rng, 400, 0.9), chain(rng, 400, 0.4)])
    found = EvidenceMonitor(CategorySegment(), threshold=0.999).fit(x).change_points_
    assert len(found) == 1 and abs(found[0] - 400) <= 25


def test_many_categories_are_independent_rows(rng):
    monitor = EvidenceMonitor(CategorySegment(1000)).fit(rng.integers(1000, size=60))
    assert np.isfinite(monitor.log_evidence_) and monitor._watch.filter.runs.pairs.size == 0
