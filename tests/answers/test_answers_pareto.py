"""The tail of importance weights, against tails that are known."""

import numpy as np
from scipy.stats import genpareto

from sgevidence.answers import pareto_k


def test_pareto_k_of_known_tails(rng):
    for k in (-0.3, 0.2, 0.7, 1.2):
        found = [pareto_k(np.log(genpareto.rvs(k, size=4000, random_state=rng) + 1.0)) for _ in range(20)]
        assert abs(np.mean(found) - k) < 0.25
    assert pareto_k(np.zeros(100)) == -np.inf
