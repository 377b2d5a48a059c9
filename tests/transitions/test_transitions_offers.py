"""Offers that were not sure, against what particles claim in the end."""

import numpy as np

from sgevidence.particles import Cloud, Genealogy, Weights
from sgevidence.transitions import Offer
from sgevidence.transitions._crossing import is_better


def test_what_was_offered_is_taken_if_particles_claim_clearly_less():
    """By three standard errors of both, and half a nat; or if their error bar is three times as wide."""

    def cloud(value, std):
        return Cloud(np.zeros((3, 1)), Weights.ones(3), value, Genealogy.planted(3, std**2))

    def offer(value, std):
        return Offer(cloud(value, std), 0)

    own = cloud(-10.0, 0.0).log_evidence_std
    for std in (0.01, 0.3, 1.0):
        least = max(3 * np.hypot(own, cloud(0.0, std).log_evidence_std), 0.5)
        assert is_better(offer(-9.99 + least, std), cloud(-10.0, 0.0))
        assert not is_better(offer(-10.01 + least, std), cloud(-10.0, 0.0))
        assert not is_better(offer(-30.0, std), cloud(-10.0, 0.0))
    assert is_better(offer(-11.0, 0.1), cloud(-10.0, 0.5))
    assert not is_better(offer(-11.0, 0.2), cloud(-10.0, 0.5))
