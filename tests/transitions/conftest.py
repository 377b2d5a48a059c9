"""A mode of a mixture."""

import numpy as np
import pytest
from mixture_mode import MAKE, MODEL, ROWS

from sgevidence.targets import Likelihood, Target, find_mode
from sgevidence.transitions import Mode


@pytest.fixture
def mode():
    d = MAKE["sim_G"](1000)
    truth = np.r_[np.log(d["w"] * 5), d["mu"].ravel(), np.log(d["s2"]).ravel()]
    target = Target(MODEL, Likelihood(ROWS))
    a, P = find_mode(target, truth)
    return Mode(a, P, float(target.value(a[None])[0]), 4.0)  # its radius
