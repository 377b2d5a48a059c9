"""Parts of integrals over a scale against closed forms of Gaussian integrands."""

import numpy as np
import pytest

from sgevidence.models import closed_in, log_sum, span


def gaussian(u, m, s):
    """log N(u; m, s²)."""
    return -0.5 * ((u - m) / s) ** 2 - np.log(s) - 0.5 * np.log(2 * np.pi)


def test_a_hump_is_found_and_integrated(rng):
    """A narrow hump somewhere in a wide interval has the integral one."""
    for _ in range(5):
        m, s = rng.uniform(-40, 40), np.exp(rng.uniform(-9, 1))
        u = closed_in(lambda u, m=m, s=s: gaussian(u, m, s), -60.0, 60.0, 128, 40.0, 0.5)
        step = u[1] - u[0]
        value, error = log_sum(gaussian(u, m, s))
        assert value + np.log(step) == pytest.approx(0.0, abs=1e-8)
        assert error < 1e-3


def test_span_of_several_functions(rng):
    """Beyond the nodes nothing counts, and one node more stands on either side."""
    u, m = np.linspace(-5, 5, 201), rng.uniform(-2, 2, 2)
    f = np.array([gaussian(u, m[0], 0.1), gaussian(u, m[1], 0.3)])
    first, last = span(f, 8.0)
    counts = (f > f.max(axis=1, keepdims=True) - 8.0).any(axis=0)
    assert not counts[: first + 1].any() and not counts[last:].any() and counts[[first + 1, last - 1]].all()
    assert span(np.zeros(7), 1.0) == (0, 6)  # all counts, and no node is left on either side


def test_axes_of_a_grid_are_halved_together(rng):
    x = np.linspace(-9, 9, 73)
    f = gaussian(x[:, None], rng.uniform(-0.5, 0.5), 1.0) + gaussian(x, rng.uniform(-0.5, 0.5), 1.0)
    value, error = log_sum(f)
    assert value + 2 * np.log(x[1] - x[0]) == pytest.approx(0.0, abs=1e-9) and error < 1e-9
