"""Segments of classes and of counts: priors, what they refuse, and how often they alarm."""

import functools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import betaprime, nbinom
from segment_cases import count_evidence, enumerate_segmentations

from sgevidence import EvidenceMonitor, EvidenceWarning
from sgevidence.monitoring import CategorySegment, CountSegment, NormalSegment, SeriesSegment, segment


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
    """Within a factor of 1.5, on 20 streams without a change; fewer where the prior is wide for the rows."""
    alarms = 0
    for _ in range(20):
        monitor = EvidenceMonitor(model, threshold=0.5).fit(draw(rng, 4000).astype(float))
        alarms += len(monitor.detections_)
    wanted = monitor.false_alarm_rate_ * 20 * 4000
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


def dispersed_evidence(x, sizes, mean, shape):
    """log p(x) of one segment: an integral over the mean for each size, sizes as probable as each other."""
    found = []
    for r in sizes:
        if np.isinf(r):
            found.append(np.exp(count_evidence(x[:, None], np.array([mean]), shape)))
            continue
        odds = betaprime(shape, r * shape / mean + 1)  # of mean μ / r
        density = lambda o, r=r, odds=odds: odds.pdf(o) * np.prod(nbinom.pmf(x, r, 1 / (1 + o)))  # noqa: E731
        found.append(quad(density, 0, np.inf, epsabs=0, epsrel=1e-10, limit=400)[0])
    return np.log(np.mean(found))


def check_dispersed(rng, sizes=(np.inf, 0.7)):
    x = np.concatenate([rng.negative_binomial(2, 0.3, 4), rng.negative_binomial(2, 0.05, 3)]).astype(float)
    evidence = functools.cache(lambda s, t: dispersed_evidence(x[s:t], sizes, 4.0, 0.5))
    log_Z, _, p, best = enumerate_segmentations(7, 0.2, evidence)
    found = segment(x, model=CountSegment(mean=4.0, sizes=sizes), hazard=0.2)
    np.testing.assert_allclose((found.log_evidence, *found.probability), (log_Z, *p), atol=1e-6)
    np.testing.assert_array_equal(found.change_points, best)


def test_counts_of_any_dispersion_are_those_of_all_segmentations(rng):
    check_dispersed(rng)


def test_predictions_of_dispersed_counts_are_calibrated(rng):
    """The monitor tests its own predictions, which Poisson counts fail."""
    draw = lambda: rng.negative_binomial(1.5, 0.2, (400, 1)).astype(float)  # noqa: E731
    seen = [EvidenceMonitor(CountSegment(sizes=(np.inf, 10, 1.5)), max_runs=10).fit(draw()) for _ in range(3)]
    assert [one.miscalibration_ for one in seen] == [None] * 3
    with pytest.warns(EvidenceWarning):
        assert EvidenceMonitor(CountSegment(), max_runs=10).fit(draw()).miscalibration_ is not None


def test_a_default_finds_changes_of_counts_and_classes_and_none_where_there_are_none(rng):
    """Numbers of every kind, two series each: the default was a density, which found no change in counts."""
    changed = {
        "Poisson": lambda: rng.poisson(np.repeat([3.0, 1.0], 60)),
        "many zeros": lambda: rng.negative_binomial(0.5, np.repeat([0.3, 0.03], 100)),
        "rare": lambda: rng.random(300) < np.repeat([0.05, 0.4], 150),
        "columns": lambda: rng.poisson(np.repeat([[2.0, 5.0], [6.0, 5.0]], 80, axis=0)),
    }
    for name, draw in changed.items():
        found = [segment(np.asarray(draw(), dtype=float)) for _ in range(2)]
        assert all(1 <= len(one.change_points) <= 2 for one in found), name
        assert type(found[0].model) is (CategorySegment if name == "rare" else CountSegment)
    same = {
        "Poisson": lambda: rng.poisson(4.0, 300),
        "of any dispersion": lambda: rng.negative_binomial(0.7, 0.1, 300),
        "half zeros": lambda: rng.poisson(4.0, 300) * (rng.random(300) < 0.5),
        "classes": lambda: rng.random(300) < 0.3,
    }
    alarms = [
        len(segment(np.asarray(draw(), dtype=float)).change_points)
        for draw in same.values()
        for _ in range(2)
    ]
    assert np.sum(alarms) <= 2


@pytest.mark.parametrize("numbers", [[8.0, 11.0], [1120.0, 900.0], [0.5, 0.7], [-1.0, 3.0]])
def test_measured_numbers_stay_numbers(rng, numbers):
    """Whole ones too: a level of hundreds, or one that varies less than counts do."""
    x = np.repeat(numbers, 40) + rng.integers(-1, 2, 80)
    assert type(segment(x).model) is SeriesSegment


@pytest.mark.parametrize("model", [None, CountSegment(mean=3.0), NormalSegment()])
def test_rows_with_missing_cells_are_skipped(rng, model):
    """As if they had not come, at the places of the series as given."""
    x = rng.poisson(np.repeat([2.0, 9.0], 60)).astype(float)
    gaps = x.copy()
    missing = np.array([3, 40, 59, 60, 61, 119])
    gaps[missing] = np.nan
    found, left = segment(gaps, model=model), segment(np.delete(x, missing), model=model)
    assert found.n_skipped == 6 and "6 rows skipped" in repr(found) and "skipped" not in repr(left)
    assert found.log_evidence == left.log_evidence and len(found.probability) == 120
    kept = np.delete(np.arange(120), missing)
    np.testing.assert_array_equal(found.change_points, kept[left.change_points])
    np.testing.assert_array_equal(found.probability[kept], left.probability)
    with pytest.raises(ValueError, match="every row has a missing cell"):
        segment(np.full(5, np.nan), model=model)
    with pytest.raises(ValueError, match="X contains infinity in row 120"):
        segment(np.r_[gaps, np.inf], model=model)
