"""Exchangeable components: relabelling changes no density, and every labelling has one image."""

from itertools import permutations

import numpy as np
import pytest

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import Exchangeable, Model


def relabelled(model, theta, rng):
    """Each particle with its components in a random order."""
    out = theta.copy()
    for row, values in zip(out, theta):
        row[model.slots] = values[model.slots[rng.permutation(model.n_components)]]
    return out


@pytest.mark.parametrize("K", [1, 2, 4])
def test_canonicalize_changes_neither_likelihood_nor_prior(K):
    model, rng = MixtureModel(K, 2), np.random.default_rng(9)
    theta, rows = model.sample_prior(rng, 50), Rows.of(rng.standard_normal((20, 2)))
    canonical = model.canonicalize(theta)
    np.testing.assert_allclose(model.log_prior(canonical), model.log_prior(theta), rtol=1e-10)
    np.testing.assert_allclose(
        model.sum_log_likelihood(canonical, rows), model.sum_log_likelihood(theta, rows), rtol=1e-10
    )
    np.testing.assert_array_equal(np.sort(canonical, axis=1), np.sort(theta, axis=1))
    assert K == 1 or not np.array_equal(canonical, theta)


def test_canonicalize_is_a_fundamental_domain_for_a_fixed_reference():
    """Overlapping prior draws: all 4! labellings of a particle have one image, and it stays there."""
    model, rng = MixtureModel(4, 2), np.random.default_rng(10)
    theta = model.sample_prior(rng, 100)
    reference = model.slot_reference(theta)
    canonical = model.canonicalize(theta, reference)
    for order in permutations(range(4)):
        permuted = theta.copy()
        permuted[:, model.slots] = theta[:, model.slots[list(order)]]
        np.testing.assert_array_equal(model.canonicalize(permuted, reference), canonical)
    np.testing.assert_array_equal(model.canonicalize(canonical, reference), canonical)


def test_canonicalize_finds_common_slots_of_a_relabelled_cloud():
    """Well separated components, each particle labelled at random, come back as they were made."""
    model, rng = MixtureModel(4, 2), np.random.default_rng(11)
    centre = np.concatenate([np.zeros(4), [-9, -9, 9, -9, -9, 9, 9, 9], np.zeros(8)])
    cloud = centre + 0.3 * rng.standard_normal((200, model.n_params))
    shuffled = relabelled(model, cloud, rng)
    shuffled[0] = cloud[0]  # the reference starts from the first particle as it is labelled
    np.testing.assert_array_equal(model.canonicalize(shuffled), cloud)
    assert not np.array_equal(shuffled, cloud)


class Scales(Exchangeable, Model):
    """A mixture of its own: weights and scales in turn, and one parameter that all components share."""

    n_params = 7
    slots = np.arange(6).reshape(3, 2)

    def sample_prior(self, rng, size):
        return rng.standard_normal((size, 7))

    def log_prior(self, theta):
        return -0.5 * np.sum(theta**2, axis=1) - 3.5 * np.log(2 * np.pi)

    def log_likelihood(self, theta, rows):
        raise NotImplementedError


def one_image(model, theta):
    """Do all labellings of every particle have one image, which is canonical?"""
    reference = model.slot_reference(theta)
    canonical = model.canonicalize(theta, reference)
    assert model.is_canonical(canonical, reference).all()
    inside = 0
    for order in permutations(range(len(model.slots))):
        permuted = theta.copy()
        permuted[:, model.slots] = theta[:, model.slots[list(order)]]
        np.testing.assert_array_equal(model.canonicalize(permuted, reference), canonical)
        inside += np.sum(model.is_canonical(permuted, reference))
    return inside == len(theta)


def test_any_mixture_can_use_it():
    """Slots are all that it says; the parameter that belongs to no component stays where it is."""
    model, rng = Scales(), np.random.default_rng(12)
    theta = model.sample_prior(rng, 200)
    assert one_image(model, theta)
    np.testing.assert_array_equal(model.canonicalize(theta)[:, 6], theta[:, 6])


def test_slots_must_be_defined():
    class Without(Exchangeable, Model):
        pass

    with pytest.raises(TypeError, match="slots"):
        Without()
