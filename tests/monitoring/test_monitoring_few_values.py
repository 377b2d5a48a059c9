"""Rows of few values are told from numbers, once, and however they are cut."""

import copy
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from sgevidence import BayesianGLM, BayesianSoftmaxRegression, EvidenceMonitor, EvidenceWarning
from sgevidence.monitoring import NormalSegment, RegressionSegment, segment

FEWEST_ROWS, MAX_FEW_VALUES = 30, 8  # before anything is said, and that are called few
NILE = json.loads((Path(__file__).parents[1] / "data" / "nile.json").read_text())


def heard(monitor, X, chunk, y=None):
    """(rows seen, message) of each warning of few values."""
    out = []
    for i in range(0, len(X), chunk):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            monitor.partial_fit(X[i : i + chunk], None if y is None else y[i : i + chunk])
        assert all(w.filename == __file__ for w in caught)
        words = [str(w.message) for w in caught if w.category is EvidenceWarning]
        out += [(monitor.n_samples_seen_, w) for w in words if "different values" in w]
    return out


@pytest.mark.parametrize(
    "model, n_values, n", [(None, 2, 60), (NormalSegment(), 4, 120), (NormalSegment(), MAX_FEW_VALUES, 120)]
)
def test_labels_are_named_once_row_by_row_and_in_chunks(model, n_values, n, rng):
    X = np.column_stack([rng.normal(size=n), rng.integers(0, n_values, n)])
    (row, words), *more = heard(EvidenceMonitor(model), X, 1)
    assert not more and FEWEST_ROWS <= row < n
    assert words.startswith("column 1 has only ") and "BayesianSoftmaxRegression" in words
    for chunk in (7, n):
        (seen, same_words), *more = heard(EvidenceMonitor(model), X, chunk)
        assert not more and same_words == words
        assert seen == min(-(-row // chunk) * chunk, n)  # the chunk that has the row
    with pytest.warns(EvidenceWarning, match="column 1 has only"):
        EvidenceMonitor(model).fit(X)  # and every fit is a stream of its own


def test_a_rare_class_is_named_when_it_comes_again():
    X = np.zeros((200, 1))
    X[[80, 150]] = 1.0
    assert [row for row, _ in heard(EvidenceMonitor(NormalSegment()), X, 1)] == [162]


@pytest.mark.parametrize("model, chunk", [(None, 100), (NormalSegment(), 1)])
def test_numbers_are_left_alone(model, chunk, rng):
    streams = {
        "continuous": rng.normal(size=(60, 2)),
        "the Nile": np.array(NILE["series"][0]["raw"], dtype=float)[:60, None],
        "integers": rng.integers(0, 50, (60, 1)),
        "rounded": rng.normal(size=(60, 1)).round(1),
        "a sensor that rests": np.append(np.zeros(30), rng.normal(size=30))[:, None],
        "slow and rounded": np.linspace(5.8, 5.3, 100)[:, None].round(2),
        "constant": np.full((40, 1), 3.0),
    }
    for name, X in streams.items():
        assert not heard(EvidenceMonitor(model), X, chunk), name


def test_only_densities_of_the_rows_are_meant(rng):
    """Dummies are features like others, and an estimator knows what its rows are."""
    X, labels = rng.integers(0, 2, (60, 2)), rng.integers(0, 2, 60)
    assert not heard(EvidenceMonitor(RegressionSegment()), X, 60, rng.normal(size=60))
    monitor = EvidenceMonitor(BayesianSoftmaxRegression(random_state=0))
    assert not heard(monitor, np.zeros((60, 1)), 60, labels)


def test_columns_are_called_by_their_names(rng):
    frame = pytest.importorskip("pandas").DataFrame(
        {"size": rng.normal(size=40), "label": rng.integers(0, 3, 40)}
    )
    with pytest.warns(EvidenceWarning, match="column 'label' has only 3 different values"):
        EvidenceMonitor().fit(frame)
    monitor = EvidenceMonitor(NormalSegment())
    with pytest.warns(EvidenceWarning, match="column 'label' has only 3 different values"):
        for row in frame.to_dict("records"):
            monitor.update(row)


def test_warnings_as_errors_leave_the_monitor_as_it_was(rng):
    X = rng.integers(0, 2, (60, 1))
    monitor = EvidenceMonitor().partial_fit(X[:20])
    before = copy.deepcopy(monitor)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):  # the second call finds the same
            with pytest.raises(EvidenceWarning):
                monitor.partial_fit(X[20:])
    assert monitor.n_samples_seen_ == 20
    assert monitor.log_evidence_ == before.log_evidence_
    assert len(heard(monitor, X[20:], 5)) == 1


def test_a_series_at_hand_is_looked_at_too(rng):
    with pytest.warns(EvidenceWarning, match="column 0 has only 2"):
        segment(rng.integers(0, 2, (50, 1)) + 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        segment(rng.normal(size=(50, 1)))
        segment(rng.integers(0, 2, (50, 1)))  # by a model of classes


def test_what_is_advised_works(rng):
    """A change of the balance and of a rate, found by the models that the warning names."""
    labels = np.append(rng.random(300) < 0.2, rng.random(150) < 0.7).astype(int)
    counts = np.append(rng.poisson(2, 300), rng.poisson(6, 150))
    zeros = np.zeros((50, 1))
    by_class = EvidenceMonitor(BayesianSoftmaxRegression(random_state=0))
    by_count = EvidenceMonitor(BayesianGLM(family="poisson", random_state=0))
    for i in range(0, 450, 50):
        by_class.partial_fit(zeros, labels[i : i + 50], classes=[0, 1])
        by_count.partial_fit(zeros, counts[i : i + 50])
    for monitor in (by_class, by_count):
        assert abs(monitor.change_points_[-1] - 300) <= 30
        assert len(monitor.change_points_) == 1


def test_the_answer_does_not_depend_on_the_cut(rng):
    for n_values in (1, 2, 5, MAX_FEW_VALUES, 4 * MAX_FEW_VALUES):
        X = rng.integers(0, n_values, (200, 3)).astype(float)
        one_by_one = [words for _, words in heard(EvidenceMonitor(NormalSegment()), X, 1)]
        at_once = [words for _, words in heard(EvidenceMonitor(NormalSegment()), X, 200)]
        assert sorted("; ".join(one_by_one).split("; ")) == sorted("; ".join(at_once).split("; "))
        assert bool(at_once) == (2 <= n_values <= MAX_FEW_VALUES)
