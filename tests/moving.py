"""A path between two Gaussian posteriors, and clouds moved along it."""

from path_problem import data

from sgevidence.history import Anchor, Memory
from sgevidence.models import LinearModel
from sgevidence.particles import Cloud
from sgevidence.targets import Path
from sgevidence.transitions import Adaptation, Streams

MODEL = LinearModel(2, noise_std=1.0)


def anchored_path(rng, capacity=None, n=400, c=200):
    rows = data(MODEL, n + c, rng)
    anchor = Anchor.of(MODEL, MODEL.exact_posterior(rows[:n], rng, 500).mean(axis=0), rows[:n])
    return Path(MODEL, Memory.empty(capacity).absorb(rows[:n], rng, anchor), rows[n:]), rows


def moved(move, path, theta, lam, rng, times=2):
    along, adaptation = move.along(path, Streams.spawned(rng)), Adaptation()
    coordinates = along.coordinates(Cloud.planted(theta), lam)
    for _ in range(times):
        result = along(theta, lam, coordinates, adaptation)
        theta, adaptation = result.theta, result.adaptation
    return result
