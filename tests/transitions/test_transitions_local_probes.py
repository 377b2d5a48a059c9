"""What the end of a climb hides: the likelihood's own maximum, and what stands out of a Gaussian."""

import autograd.numpy as anp
import numpy as np
import pytest
from test_transitions_missed_modes import normal_prior, spike

from sgevidence import SGAIS
from sgevidence.custom import CustomModel
from sgevidence.history import Rows
from sgevidence.targets import Likelihood, Target, find_mode, likelier, outstanding
from sgevidence.transitions import Mode, _climbs


@pytest.mark.parametrize("d, c", [(8, 0.676), (10, 0.75)], ids=["bent by the spike", "a maximum of its own"])
def test_the_likelihood_peaks_where_the_spike_is(rng, d, c):
    model, rows, _ = spike(rng, d, c)
    target = Target(model, Likelihood(rows))
    a, P = find_mode(target, np.zeros(d))
    assert (P is None) == (d == 8) and np.all(a < c - 0.05)
    top, precision = find_mode(target, likelier(model, rows, a))
    np.testing.assert_allclose(top, c, atol=1e-3)
    np.testing.assert_allclose(np.diag(precision), 2501.0, rtol=1e-3)


def test_what_stands_out(rng):
    """A spike in three dimensions, that no slope leads to."""
    found = 0
    for g in rng.spawn(10):
        c = 0.12 * g.standard_normal(3)

        def log_likelihood(theta, X, y, c=c):
            parts = [
                -0.5 * anp.sum(theta**2, axis=1),
                12.0 - 0.5 * anp.sum((theta - c) ** 2, axis=1) / 0.02**2,
            ]
            return anp.reshape(anp.logaddexp(*parts), (-1, 1)) + 0.0 * X[:, 0]

        target = Target(
            CustomModel(*normal_prior(3), log_likelihood, 3), Likelihood(Rows.of(np.zeros((1, 1))))
        )
        points = outstanding(target, np.zeros(3), 2.0 * np.eye(3), g)
        found += len(points) == 1 and np.linalg.norm(points[0] - c) < 0.1
    assert found >= 6


def test_nothing_stands_out_of_a_skewed_posterior(rng):
    """Rates of a count each: half a width from the mode the logarithm is within a nat of its quadratic."""
    d = 30
    model = CustomModel(
        *normal_prior(d),
        lambda theta, X, y: theta[:, X[:, 0].astype(int)] - anp.exp(theta[:, X[:, 0].astype(int)]),
        d,
    )
    target = Target(model, Likelihood(Rows.of(np.arange(d)[:, None].astype(float))))
    assert not len(outstanding(target, *find_mode(target, np.zeros(d)), rng))


def test_a_region_is_without_those_inside(rng):
    model = spike(rng, 2)[0]
    inner = Mode(np.zeros(2), 2500.0 * np.eye(2), 0.0, 4.0)
    outer = Mode(0.1 * np.ones(2), 10.0 * np.eye(2), 0.0, 4.0, (inner,))
    theta = np.array([[0.0, 0.0], [0.05, 0.0], [0.5, 0.0], [9.0, 9.0]])
    assert outer.near(model, theta).tolist() == [False, False, True, False]
    assert inner.near(model, theta).tolist() == [True, True, False, False]
    assert outer.distance(model, theta)[0] == np.inf


@pytest.mark.parametrize(
    "where, name, right, wrong",
    [
        (
            _climbs.Climbs,
            "hidden",
            "[likely, *outstanding(self.few, end.a, end.P, rng)]",
            "[*outstanding(self.few, end.a, end.P, rng)]",
        ),
        (
            _climbs,
            "_is_same",
            "_holds(model, mode, other) and _holds(model, other, mode)",
            "_holds(model, other, mode)",
        ),
        (_climbs, "likelier", "rows.scaled(LIKELIHOOD)", "rows"),
    ],
    ids=["not climbed", "the same as the slab", "with the prior"],
)
def test_a_spike_is_lost_by_a_mistake(rng, monkeypatch, install_broken, where, name, right, wrong):
    install_broken(where, name, right, wrong)
    if name == "likelier":
        monkeypatch.setattr(_climbs, name, getattr(where, name))
    lost = []
    for g in rng.spawn(3):
        model, rows, exact = spike(g, 20, 0.75)
        lost.append(exact - SGAIS(proposal=None).run(model, rows, g).log_evidence)
    assert max(lost) > 3


def test_a_precision_that_is_singular_by_rounding(rng):
    """A direction of which next to nothing is known: points far along it, and no error."""
    model = spike(rng, 2)[0]
    target = Target(model, Likelihood(Rows.of(np.zeros((1, 1)))))
    assert outstanding(target, np.zeros(2), np.array([[1e16, 1e8], [1e8, 1.0]]), rng).shape[1] == 2
