"""A thousand rows of five groups, and what is known of their one mode and log evidence."""

import json

import numpy as np
from made_data import DATA, MAKE

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel

LOG_Z = json.loads((DATA / "gold.json").read_text())["cases"]["SIM_G_1000"]["logZ"]
MODEL = MixtureModel(5, 2)
ROWS = Rows.of(MAKE["sim_G"](1000)["X"])


def relabelled(theta, rng):
    """Each point with its components in another order."""
    out = theta.copy()
    for row in out:
        row[MODEL.slots] = row[MODEL.slots[rng.permutation(len(MODEL.slots))]]
    return out


def near(mode, size, rng):
    """Points of the mode's region, in all labellings."""
    z = rng.standard_normal((size, len(mode.a)))
    return relabelled(mode.a + np.linalg.solve(np.linalg.cholesky(mode.P).T, z.T).T, rng)
