"""A mode, and a cloud that is nowhere near it."""

import numpy as np
import pytest
from mixture_mode import LOG_Z, MAKE, MODEL, ROWS

from sgevidence.particles import Cloud
from sgevidence.targets import Likelihood, Target, find_mode
from sgevidence.transitions import Mode


@pytest.fixture
def elsewhere(rng):
    """A cloud far from the mode, with next to no evidence."""
    return Cloud.planted(MODEL.sample_prior(rng, 200))._replace(log_Z=LOG_Z - 1e6)


@pytest.fixture
def mode():
    d = MAKE["sim_G"](1000)
    truth = np.r_[np.log(d["w"] * 5), d["mu"].ravel(), np.log(d["s2"]).ravel()]
    target = Target(MODEL, Likelihood(ROWS))
    a, P = find_mode(target, truth)
    return Mode(a, P, float(target.value(a[None])[0]), 4.0)  # its radius
