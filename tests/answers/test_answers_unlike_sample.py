"""Rows that a sample does not tell of, among rows with tails that go on as those of the sample do."""

from dataclasses import replace

import numpy as np
from test_answers_folded import folded

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.targets import Likelihood, Target, find_mode
from sgevidence.transitions._from_folds import unlike_sample


def with_strangers(rng, n_strangers, far, n=3000):
    """Three groups, and a few rows that a sample of four hundred has not met."""
    X = 5.0 * np.array([[-1, 0], [1, 0], [0, 1]])[rng.integers(3, size=n)] + rng.standard_normal((n, 2))
    rows = Rows.of(np.r_[X, far + 0.5 * rng.standard_normal((n_strangers, 2))])
    start = np.concatenate([np.full(3, -1.1), [-5, 0, 5, 0, 0, 5], np.zeros(6)])
    model = MixtureModel(3, 2)
    a = find_mode(Target(model, Likelihood(rows.take(np.arange(400)))), start)[0]
    places = np.arange(400)
    return model, a, replace(folded(rows, 1), sample=rows.take(places), sample_numbers=places)


def check_strangers(rng):
    for g in rng.spawn(6):
        assert len(unlike_sample(*with_strangers(g, 0, 0.0), 500)[0]) == 0
        assert unlike_sample(*with_strangers(g, 4, 15.0), 500)[0].tolist() == [3000, 3001, 3002, 3003]


def test_rows_that_the_sample_does_not_tell_of_are_said(rng):
    """Eight such rows of 60 008 had two modes, of which the better was lost: 5 nats at a claimed 0.002."""
    check_strangers(rng)
