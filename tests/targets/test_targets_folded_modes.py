"""Evidence around modes by sums over parts, against closed forms and symmetries."""

from math import lgamma

import numpy as np
import pytest
from mutants import broken
from test_targets_folded import folded

from sgevidence.history import Memory, Rows
from sgevidence.models import MixtureModel
from sgevidence.targets import FoldsDoNotSuffice, Likelihood, Target, _folded_modes, find_mode
from sgevidence.targets._folded_modes import SeenByRows, folded_modes_answer


def two_groups(rng, n):
    """Rows of two groups that share nothing, and their closed form: each of the 2! allocations is one."""
    label = (rng.random(n) < rng.uniform(0.2, 0.8)).astype(int)
    x = np.array([-60.0, 40.0])[label] + rng.uniform(0.5, 2.0, 2)[label] * rng.standard_normal(n)
    rows = Rows.of(x[:, None], None, rng.integers(1, 4, n).astype(float))
    a, model, one = 1.5, MixtureModel(2, 1, weight_concentration=1.5), MixtureModel(1, 1)
    log_Z, start = np.log(2) + lgamma(2 * a) - lgamma(2 * a + rows.total_weight), []
    for k in range(2):
        group = rows.take(np.flatnonzero(label == k))
        log_Z += one.exact_log_evidence(group) + lgamma(group.total_weight + a) - lgamma(a)
        mean = np.average(group.X[:, 0], weights=group.weight)
        start.append([np.log(group.total_weight / rows.total_weight), mean, np.log(group.X.var())])
    return model, rows, np.array(start).T.ravel(), log_Z


def standard_errors(seeds):
    z = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        model, rows, start, log_Z = two_groups(rng, 2500)
        a = find_mode(Target(model, Likelihood(rows)), start)[0]
        found, memory = folded_modes_answer(model, folded(rows, seed), [a], Memory.empty(1500), rng, 100)
        assert found.log_evidence_std < 0.03 and memory.n == rows.total_weight
        z.append((found.log_evidence - log_Z) / found.log_evidence_std)
    return np.array(z)


def test_groups_that_share_nothing_have_their_closed_form():
    z = standard_errors(range(6))
    assert np.max(np.abs(z)) < 4.5 and np.mean(z**2) < 3.0


def test_a_labelling_that_is_forgotten_is_seen(monkeypatch):
    weighed = broken(_folded_modes.weighed, "lgamma(len(model.slots) + 1)", "0.0")
    monkeypatch.setattr(_folded_modes, "weighed", weighed)
    assert np.max(np.abs(standard_errors([0]))) > 4.5


def mirrored(seed):
    """Three groups on a line and their mirror image, of which two components may join either two."""
    rng = np.random.default_rng(seed)
    x = np.repeat([-4.0, 0.0, 4.0], 300) + 0.5 * rng.standard_normal(900)
    model, rows = MixtureModel(2, 1), Rows.of(np.r_[x, -x][:, None])
    one = find_mode(Target(model, Likelihood(rows)), np.array([0.0, -0.7, -4.0, 2.0, -1.0, 1.4]))[0]
    return model, rows, one, one * [1, 1, -1, -1, 1, 1]


def gain_of_the_mirror_image(seed):
    model, rows, one, other = mirrored(seed)
    answers = [
        folded_modes_answer(
            model, folded(rows, 0, 900), starts, Memory.empty(900), np.random.default_rng(seed), 100
        )[0]
        for starts in ([one], [other, one, one[[1, 0, 3, 2, 5, 4]]])  # the last is the first, relabelled
    ]
    gain, bar = (
        np.array([getattr(a, name) for a in answers]) for name in ("log_evidence", "log_evidence_std")
    )
    return (gain[1] - gain[0] - np.log(2)) / np.hypot(*bar)


def test_a_mirror_image_has_as_much_and_a_relabelling_nothing_more():
    assert np.max(np.abs([gain_of_the_mirror_image(seed) for seed in range(2)])) < 4.5


def test_a_share_that_is_forgotten_is_seen(monkeypatch):
    log_density = broken(_folded_modes.AroundModes.log_density, "np.log(self.share[j])", "0.0")
    monkeypatch.setattr(_folded_modes.AroundModes, "log_density", log_density)
    assert abs(gain_of_the_mirror_image(0)) > 4.5


def test_components_that_are_too_many_are_refused_in_words():
    rng = np.random.default_rng(5)
    model, rows = MixtureModel(2, 1), Rows.of(rng.standard_normal((3000, 1)))
    target = Target(model, Likelihood(rows))
    starts = [find_mode(target, start)[0] for start in model.starts(rows, 5, rng)]
    with pytest.raises(FoldsDoNotSuffice, match=r"components overlap|no mode"):
        folded_modes_answer(model, folded(rows, 0, 900), starts, Memory.empty(1500), rng, 100)


def test_totals_of_log_gammas_are_as_in_the_prior():
    rng = np.random.default_rng(6)
    seen = SeenByRows(((np.array([0, 2]), 0.7), (np.array([1, 3, 5]), 2.0)), 6)
    theta = rng.standard_normal((5, 6))
    x = seen.of(theta)
    again = seen.theta(x, rng)
    assert x.shape == (5, 4) and np.allclose(seen.of(again), x) and np.allclose(again[:, 4], theta[:, 4])
    for indices, c in seen.groups:  # log-gammas less their total have a Dirichlet density
        alone, z, L = (
            SeenByRows(((np.arange(len(indices)), c),), len(indices)),
            theta[:, indices],
            len(indices),
        )
        log_pi = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
        log_gammas = np.sum(c * z - np.exp(z), axis=1) - L * lgamma(c)
        dirichlet = lgamma(L * c) - L * lgamma(c) + c * log_pi.sum(axis=1)
        assert np.allclose(log_gammas - alone.log_density_of_totals(z), dirichlet)
