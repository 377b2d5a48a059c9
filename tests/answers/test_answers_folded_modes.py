"""Evidence around modes by sums over parts, against closed forms and symmetries."""

from math import lgamma

import numpy as np
import pytest
from folded_rows import folded
from mixture_kinds import FullMixture, SphericalMixture
from mutants import broken

from sgevidence.answers import FoldsDoNotSuffice, _folded_modes, folded_modes_answer
from sgevidence.answers._folded_modes import AroundMode, SeenByRows
from sgevidence.history import Memory, Rows
from sgevidence.mixture.models import CategoricalMixtureModel, MixtureModel
from sgevidence.targets import Likelihood, Target, find_mode

KINDS = [MixtureModel, CategoricalMixtureModel, FullMixture, SphericalMixture]


def two_groups(kind, rng, n):
    """Rows of two groups that share nothing, and their closed form: each of the 2! allocations is one."""
    label, a = (rng.random(n) < rng.uniform(0.2, 0.8)).astype(int), 1.5
    if kind is CategoricalMixtureModel:  # some levels are rare, and none is in both groups
        X = 2 * label[:, None] + (rng.random((n, 4)) < rng.uniform(0.001, 0.5, (2, 4))[label])
        model, one = (kind(K, (5, 4, 4, 4), a) for K in (2, 1))
    else:
        p = 1 if kind is MixtureModel else 2
        width = rng.uniform(0.5, 2.0, (2, 1))[label] * rng.standard_normal((n, p))
        X = np.array([-60.0, 40.0])[label, None] + width @ rng.standard_normal((p, p))
        model, one = (kind(K, p, weight_concentration=a) for K in (2, 1))
    rows = Rows.of(X.astype(float), None, rng.integers(1, 4, n).astype(float))
    log_Z = np.log(2) + lgamma(2 * a) - lgamma(2 * a + rows.total_weight)
    for k in range(2):
        group = rows.take(np.flatnonzero(label == k))
        log_Z += one.exact_log_evidence(group) + lgamma(group.total_weight + a) - lgamma(a)
    return model, rows, log_Z


def best_mode(model, rows, rng):
    few = Target(model, Likelihood(rows[:200]))
    ends = np.array([find_mode(few, start)[0] for start in model.starts(rows[:200], 8, rng)])
    return find_mode(Target(model, Likelihood(rows)), ends[np.argmax(few.value(ends))])[0]


def standard_errors(seeds):
    z = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        model, rows, log_Z = two_groups(KINDS[seed % len(KINDS)], rng, 1500)
        a, memory = best_mode(model, rows, rng), Memory.empty(800)
        found, memory = folded_modes_answer(model, folded(rows, seed, 800), [a], memory, rng, 100)
        assert found.log_evidence_std < 0.03 and memory.n == rows.total_weight
        z.append((found.log_evidence - log_Z) / found.log_evidence_std)
    return np.array(z)


def test_groups_that_share_nothing_have_their_closed_form():
    z = standard_errors(range(4))
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


def test_components_that_are_too_many_are_refused_in_words():
    rng = np.random.default_rng(5)
    model, rows = MixtureModel(2, 1), Rows.of(rng.standard_normal((3000, 1)))
    target = Target(model, Likelihood(rows))
    starts = [find_mode(target, start)[0] for start in model.starts(rows, 5, rng)]
    with pytest.raises(FoldsDoNotSuffice, match=r"components overlap|no mode"):
        folded_modes_answer(model, folded(rows, 0, 900), starts, Memory.empty(1500), rng, 100)


# -- coordinates around modes, against Dirichlet densities ------------------------------------------


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


def test_draws_have_their_density():
    """The mean of g/f over draws of f is one for any density g; here another of the same kind."""
    rng, model = np.random.default_rng(8), SphericalMixture(2, 2)
    seen = SeenByRows(model.log_gammas, model.n_params)
    A = rng.standard_normal((8, 8))
    P = np.diag([9.0, 30.0, 5.0, 20.0, 8.0, 12.0, 4.0, 30.0]) + 0.3 * A @ A.T
    modes = ((np.zeros(8), P), (0.1 * A[0], 1.3 * P))
    f, g = (AroundMode(model, seen, a, B) for a, B in modes)
    assert len(f.variances) == 2 and len(f.sticks) == 1
    x = f.draws(3000, rng)
    w = np.exp(g.log_density(x) - f.log_density(x))
    assert abs(np.mean(w) - 1.0) < 4.0 * np.std(w) / len(w) ** 0.5 < 0.2


def test_densities_far_out_are_zero_and_not_unknown():
    model = MixtureModel(1, 1)
    seen = SeenByRows(model.log_gammas, model.n_params)
    mode = AroundMode(model, seen, np.zeros(3), np.diag([1.0, 5.0, 7.0]))
    far = np.array([[0.0, -2000.0], [0.0, 2000.0], [1e200, 0.0], [3.0, 0.0]])
    log_f = mode.log_density(far)
    assert np.all(log_f[:3] < -1e2) and np.all(np.isfinite(log_f[3:]))
