"""The anchor: near the mode of all rows seen, with sums that stand for them."""

import numpy as np
import pytest
from path_problem import MODELS, Problem, every_model

from sgevidence.history import Anchor
from sgevidence.targets import MODE_ROWS, anchored_at_mode, gaussian

pytestmark = pytest.mark.usefixtures("double_precision")


@every_model
@pytest.mark.parametrize("capacity", [None, 400])
def test_anchored_at_mode(rng, model, capacity):
    """Near the mode of all rows seen; the sums exact while the history is, and within its noise after."""
    problem = Problem(model, rng, n=2000, c=2000, capacity=capacity)
    new, anchor = anchored_at_mode(problem.path, problem.anchor.a, rng)
    for one, other in zip(new[:4], Anchor.of(model, anchor.a, problem.chunk)):
        np.testing.assert_allclose(one, other)
    direct = Anchor.of(model, anchor.a, problem.rows)
    m, P = gaussian(model, direct)
    if capacity is None:
        assert (anchor.a - m) @ P @ (anchor.a - m) < 0.05
        np.testing.assert_allclose(anchor.G, direct.G, rtol=1e-6, atol=1e-4 * np.abs(direct.G).max())
    got, _ = gaussian(model, anchor)
    assert (got - m) @ P @ (got - m) < 0.05 * len(m)  # where the Gaussian is, in posterior widths
    scale = np.sqrt(np.outer(np.diag(P), np.diag(P)))
    np.testing.assert_allclose(anchor.H / scale, direct.H / scale, atol=1e-6 if capacity is None else 0.2)


def test_a_large_chunk_is_not_searched(rng):
    """One Newton step from the sums at the start says where the mode is."""
    problem = Problem(MODELS["softmax"], rng, n=500, c=MODE_ROWS + 1)
    new, anchor = anchored_at_mode(problem.path, problem.anchor.a, rng)
    np.testing.assert_array_equal(anchor.a, problem.anchor.a)
    for one, other in zip(new[:4], Anchor.of(problem.model, problem.anchor.a, problem.chunk)):
        np.testing.assert_allclose(one, other)
