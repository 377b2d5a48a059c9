"""The default for a series of numbers: against regressions written out one by one, and what it promises."""

import functools
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_t, t
from segment_cases import enumerate_segmentations
from test_monitoring_shape import evidence

from sgevidence import EvidenceMonitor
from sgevidence.monitoring import NormalSegment, SeriesSegment, _noise, _series, segment
from sgevidence.monitoring._filter import RunFilter
from sgevidence.monitoring._series import STRUCTURES, learn_columns
from sgevidence.monitoring._series_runs import Past

NILE = json.loads((Path(__file__).parents[1] / "data" / "nile.json").read_text())
PRIORS = {  # mean of (constant, slope) and their variances where σ is one; in units of σ² by `noise`
    "level": ([0, 0], lambda noise: [noise**-2, 0]),
    "trend": ([0, 0], lambda noise: [noise**-2, noise**-2]),
    "autoregression": ([0, 0.5], lambda noise: [noise**-2, 0.25 * noise**-2]),
    "smoothed": ([0, 0.5], lambda noise: [noise**-2, 0.25 * noise**-2]),
    "volatile": ([0, 0], lambda noise: [noise**-2, 0]),
    "walk": ([0, 0], lambda noise: [1, 0]),
    "momentum": ([0, 0.5], lambda noise: [1, 0.25 * noise**-2]),
}


def units(x, s, warm_up):
    rows = x[: max(s, warm_up)]
    return rows.mean(), rows.std()


def recent(x, i, warm_up):
    """Mean of the rows before row i that forgets, and the root of that of their squared deviations."""
    mean, std = units(x, 0, warm_up)
    smooth, squares = mean, std**2
    for k in range(i):
        smooth, squares = (
            0.6 * smooth + 0.4 * x[k],
            0.92 * squares + 0.08 * (x[k] - units(x, k, warm_up)[0]) ** 2,
        )
    return smooth, np.sqrt(squares)


def design(x, name, s, e, unit, warm_up):
    """Features, targets and scales of rows s .. e − 1 of a run that began at s."""
    Phi, target, scale = [], [], []
    for i in range(s, e):
        smooth, scatter = recent(x, i, warm_up)
        last = (x[i - 1] - unit[0]) / unit[1] if i else 0.0
        step = (x[i - 1] - x[i - 2]) / unit[1] if i > 1 else 0.0
        smoothed = (smooth - unit[0]) / unit[1]
        u = {"trend": (i - s) / 100, "autoregression": last, "smoothed": smoothed, "momentum": step}
        Phi.append([1.0, u.get(name, 0.0)])
        target.append((x[i] - unit[0]) / unit[1] - (last if name in ("walk", "momentum") else 0.0))
        scale.append(scatter / unit[1] if name == "volatile" else 1.0)
    return np.array(Phi), np.array(target), np.array(scale)


def grid(x, i, warm_up):
    """Least step between rows before row i, and a hundredth of a unit while there is none."""
    steps = np.abs(np.diff(x[:i]))
    return steps[steps > 0].min() if (steps > 0).any() else 0.01 * units(x, i, warm_up)[1]


def t_pdf(x, df, scale):
    """scipy's, which takes a hundred times as long for one number."""
    constant = (
        math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi) - math.log(scale)
    )
    return math.exp(constant - (df + 1) / 2 * math.log1p((x / scale) ** 2 / df))


def member_evidence(x, name, noise, tails, s, e, unit, warm_up):
    """Row by row with matrices: log p of a segment under one member."""
    m, V = np.array(PRIORS[name][0], float), np.diag(PRIORS[name][1](noise)).astype(float)
    a, b, total = 1.0, noise**2, 0.0
    strays = excess = 0.0
    follows = name in ("autoregression", "walk", "momentum")
    for i, (phi, target, h) in enumerate(zip(*design(x, name, s, e, unit, warm_up)), start=s):
        # what the last row had as a stray is no part of the state that this one takes after
        phi = phi - [0.0, excess * (follows and name != "walk")]
        target = target + excess * (follows and name != "autoregression")
        z, phi, target, total = (x[i] - unit[0]) / unit[1] / h, phi / h, target / h, total - np.log(h)
        rounding = (grid(x, i, warm_up) / unit[1] / h) ** 2 / 12
        epsilon = (1 + strays) / (10 + i - s) if tails == "strays" else 0.0
        first = i == 0 and follows
        heavy = tails in ("heavy", "right", "left")
        df, error = min(2 * a, 3) if heavy else 2 * a, z if first else target - phi @ m
        wide = 1.6 if tails == "right" else 1 / 1.6 if tails == "left" else 1.0
        g = wide if error > 0 else 1 / wide  # and g/2 of t on either side is not one: 2/(wide + 1/wide) of it
        both_scales = 2 / (wide + 1 / wide)
        freedom, s2 = (2, 2) if first else (df, b / a * (1 + phi @ V @ phi) + rounding)
        stray = t_pdf(z, 1, 5.0)
        p = (1 - epsilon) * both_scales * t_pdf(error / g, freedom, math.sqrt(s2)) + epsilon * stray
        near = 1.0
        if i == s:  # the level may be anywhere, and further out its prior is wider
            anywhere = 0.9 * p + 0.1 * stray
            near, p = 0.9 * p / anywhere if follows else 1.0, anywhere
            V[0, 0] *= max(1.0, abs(z) / 5) ** 2
        total += np.log(p)
        s2 = s2 if first else b / a * (1 + phi @ V @ phi) + rounding
        p = (1 - epsilon) * both_scales * t_pdf(error / g, freedom, math.sqrt(s2))
        r = rows = 0.0 if first else p / (p + epsilon * stray)
        kappa, surprise = rows, 0.0
        if heavy and not first:  # the mean precision of the row, by quadrature
            u = np.linspace(0, 8, 401)  # λ = 2 u² / (df + (error/g)² / scale²)
            density = u**df * np.exp(-(u**2))  # λ^((df - 1)/2) exp(-u²) dλ/du, but for a factor
            r = 2 * (u**2 * density).sum() / density.sum() / (df + (error / g) ** 2 / s2) / g**2
            kappa, rows = (df + 1) / (df + 3), df / (df + 3)
            surprise = 1 - rows
        r, kappa, rows, surprise = near * r, near * kappa, near * rows, near * surprise
        strays += 1 - rows  # the first row of a stream tells some nothing, like one
        excess = (1 - r) * error if follows and tails == "strays" and i > s else 0.0
        if r > 0:  # a step along the score, scaled by the information
            after = V @ np.linalg.inv(np.eye(2) + kappa * np.outer(phi, phi @ V))
            b += 0.5 * (r * error**2 / (1 + kappa * phi @ V @ phi) - surprise * b / a)
            m, V, a = m + after @ phi * r * error, after, a + 0.5 * rows
    return total


def segment_evidence(x, s, e, warm_up, models):
    unit = units(x, s, warm_up)
    members = [
        member_evidence(x, name, noise, tails, s, e, unit, warm_up)
        + np.log(prior * len(_noise.TAILS) * STRUCTURES[name])
        for name in models
        if name != "shape"
        for noise in _series.SERIES_NOISES
        for tails, prior in _noise.TAILS.items()
    ]
    if "shape" in models:  # cells are those of the first rows in every run
        first = units(x, 0, warm_up)
        z, rescaled = (x - first[0]) / first[1], -(e - s) * np.log(first[1] / unit[1])
        cells = np.array([grid(x, i, warm_up) for i in range(s, e)]) / first[1]
        members += list(evidence(z[s:e], z[s - 1] if s else None, cells) + rescaled)
    total = 20 * sum(STRUCTURES[name] for name in models if name != "shape") + 5 * ("shape" in models)
    return np.logaddexp.reduce(members) - np.log(total) - (e - s) * np.log(unit[1])


def check_against_enumeration(X, models):
    n, warm_up, hazard = len(X), 4, 0.1

    @functools.cache  # the same segments are asked for again and again
    def evidence(s, e):
        return segment_evidence(X[:, 0], s, e, warm_up, models)

    log_Z, last, _, _ = enumerate_segmentations(n, hazard, evidence)
    monitor = EvidenceMonitor(SeriesSegment(models, warm_up), hazard=hazard, threshold=1 - 1e-12)
    for rows in (slice(0, 3), slice(3, 5), slice(5, None)):
        monitor.partial_fit(X[rows])
    np.testing.assert_allclose(monitor.log_evidence_, log_Z, atol=1e-7)
    posterior = monitor.run_length_posterior_
    np.testing.assert_allclose(posterior["probability"], last[posterior["start"]], rtol=1e-6, atol=1e-10)


def example(rng, n=7):
    X = rng.normal(size=(n, 1))
    X[4:] += 5.0
    return 3.0 + 20.0 * X


@pytest.mark.parametrize(
    "models",
    [
        pytest.param(_series.SERIES_MODELS, marks=pytest.mark.slow),
        *((name,) for name in _series.SERIES_MODELS),
    ],
)
def test_evidence_and_posterior_are_those_of_all_segmentations(models, rng):
    # evidence() is asked for the same segments again and again: few rows for the whole family
    check_against_enumeration(example(rng, 6 if len(models) > 1 else 7), models)


def test_tails_are_probable_in_all_and_integrate_to_one():
    assert sum(_noise.TAILS.values()) == pytest.approx(1.0)
    e = np.sinh(np.linspace(-14, 14, 20_001))[:, None]
    shape = (len(e), len(_noise.TAILS))
    log_p, weight, _, c, _ = _noise.under_tails(
        np.broadcast_to(e, shape), e**2, np.full(shape, 2.5), np.full(shape, 0.3), 5.0
    )
    np.testing.assert_allclose(np.trapezoid(np.exp(log_p), e, axis=0), 1.0, atol=1e-4)
    assert (weight[[0, -1], 1:] < 1e-3).all() and (weight[:, 0] == 1.0).all() and np.allclose(c[:, 2:], 0.5)
    right, left = (log_p[:, list(_noise.TAILS).index(side)] for side in ("right", "left"))
    np.testing.assert_allclose(right, left[::-1], atol=1e-12)
    assert (np.sign(right - left)[e[:, 0] > 2.0] == 1).all(), "the long side is the other one"


def test_overshoot_is_that_of_the_probable_members():
    """Two runs and two columns; members of weight 0.3 (plain), 0.2 (heavy), 0.4 (walk), and 0.1 elsewhere."""
    tails = list(_noise.TAILS)
    log_member = np.full((2, 2, 3, 4 * len(tails)), -np.inf)
    log_member[:, 0, 0, 2 * len(tails) + tails.index("strays")] = np.log(0.3)
    log_member[:, 0, 0, tails.index("heavy")] = np.log(0.2)
    log_member[:, 0, 2, 0] = np.log(0.4)
    log_member[0, 1, 1, 0] = 0.0  # the second column: a trend in the first run, a walk in the other
    log_member[1, 1, 2, 0] = 0.0
    plain = 0.75 * (0.3 + 1.0) / 2 + 0.25 * (0.3 + 0.0) / 2
    found = _series.overshoot_of_members(log_member, ["level", "trend", "walk"], np.array([0.75, 0.25]))
    assert found == pytest.approx(0.22 * plain + 0.45 * (1 - plain))


@pytest.mark.parametrize("tails", ["heavy", "right", "left"])
def test_information_is_that_of_fisher(tails):
    """Of t with 3 degrees of freedom on mean and log σ², as shares of a Gaussian's, 1/σ² and a half."""
    e, h, k = np.sinh(np.linspace(-16, 16, 8001)), 1e-4, list(_noise.TAILS).index(tails)
    gamma = _noise.LOPSIDED ** _noise.LOPSIDED_POWERS[tails]

    def log_p(mean, s2):
        g = np.where(e > mean, gamma, 1 / gamma)
        return t.logpdf((e - mean) / g, 3, 0, np.sqrt(s2)) - np.log(0.5 * (gamma + 1 / gamma))

    p = np.exp(log_p(0, 1))
    on_mean = (log_p(h, 1) - log_p(-h, 1)) / (2 * h)
    on_log_variance = (log_p(0, np.exp(h)) - log_p(0, np.exp(-h))) / (2 * h)
    none = np.zeros((1, len(_noise.TAILS)))
    seen = _noise.under_tails(none, none[:, :1], none + 2.5, none + 2.5, 5.0)
    assert np.trapezoid(p * on_mean**2, e) == pytest.approx(seen.mean_information[0, k], rel=1e-3)
    assert 2 * np.trapezoid(p * on_log_variance**2, e) == pytest.approx(
        seen.variance_information[0, k], rel=1e-3
    )
    each = np.repeat(e[:, None], len(_noise.TAILS), axis=1)
    a = np.full_like(each, 2.5)
    weighed = _noise.under_tails(each, each[:, :1] ** 2, a, a, 5.0).weight[:, k] * e**2
    assert np.trapezoid(p * weighed, e) == pytest.approx(1.0, rel=1e-3)


def check_efficient(rng, n=400, seeds=40):
    """The scale of heavy-tailed rows is known as well as the best estimate knows it."""
    error = []
    for g in rng.spawn(seeds):
        segment, x = SeriesSegment(("level",)), g.standard_t(3, (n, 1))
        runs = segment.allocate(2, 1)
        segment.settle(runs, x[:10])
        for i in range(n):
            segment.absorb(runs, min(i, 1), x[i : i + 1], None)
        heavy = 0, 0, 0, 2  # of the first run, with the first noise
        error.append(np.log(runs.b[heavy] / runs.a[heavy]) + 2 * np.log(runs.unit[0, 0]))
    best = np.sqrt(4 / n)  # from an information of a quarter a row
    assert abs(np.mean(error)) < 4 * best / np.sqrt(seeds) and np.std(error) < 1.35 * best


@pytest.mark.slow
def test_heavy_tails_are_learnt_efficiently(rng):
    check_efficient(rng)


@pytest.mark.parametrize("name", STRUCTURES)
def test_without_outliers_a_segment_has_its_closed_form(name, rng, monkeypatch):
    """The rows from the second on, given the first: one multivariate t a member."""
    monkeypatch.setattr(_noise, "TAILS", {"Gaussian": 1.0})
    monkeypatch.setattr(_series, "SERIES_NOISES", (0.3,))
    monkeypatch.setattr(_series, "from_anywhere", lambda log_p, z2: (log_p, np.ones_like(log_p)))
    monkeypatch.setattr(Past, "cell", lambda self: np.zeros_like(self.grid))
    x = np.cumsum(rng.normal(size=30))
    segment = SeriesSegment((name,), 10)
    filter = RunFilter(segment, 1e-100, 40, 1)
    segment.settle(filter.runs, x[:10, None])
    for rows in (slice(0, 20), slice(20, 30)):
        filter.absorb(x[rows, None], None)
    unit = units(x, 0, 10)
    Phi, target, scale = design(x, name, 0, 30, unit, 10)
    Phi, target = Phi / scale[:, None], target / scale
    mean, V = np.array(PRIORS[name][0]), np.diag(PRIORS[name][1](0.3))
    first = 1 if name in ("walk", "autoregression", "momentum") else 0
    Phi, target = Phi[first:], target[first:]
    exact = multivariate_t.logpdf(target, Phi @ mean, 0.3**2 * (np.eye(30 - first) + Phi @ V @ Phi.T), df=2)
    exact += first * t.logpdf((x[0] - unit[0]) / unit[1], 2, 0, np.sqrt(2)) - 30 * np.log(unit[1])
    exact -= np.log(scale).sum()
    np.testing.assert_allclose(filter.log_evidence, exact, atol=1e-7)


def test_units_do_not_matter(rng):
    X = rng.normal(size=(100, 1))
    X[50:] += 5.0
    one = EvidenceMonitor().fit(X)
    other = EvidenceMonitor().fit(1e6 - 250.0 * X)
    np.testing.assert_array_equal(one.change_points_, other.change_points_)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_ - 100 * np.log(250.0), abs=1e-5)


def test_the_past_is_not_touched_by_what_comes(rng):
    X = rng.normal(size=(80, 2))
    short, long = EvidenceMonitor().fit(X[:47]), EvidenceMonitor().fit(X)
    np.testing.assert_allclose(long.log_predictive_[:47], short.log_predictive_, atol=1e-9)


def test_the_nile_changed_in_1898():
    nile = np.array(NILE["series"][0]["raw"], float).reshape(-1, 1)
    found = EvidenceMonitor().fit(nile).change_points_
    assert len(found) == 1 and abs(1871 + found[0] - 1899) <= 2


def runs_of(*parts):
    return np.concatenate([np.full(n, value, float) for n, value in parts])


@pytest.mark.filterwarnings("ignore:column 0 has only")
@pytest.mark.parametrize(
    "parts, places",
    [
        ([(22, 500), (13, 1100)], [22]),
        pytest.param([(30, 0), (30, 1), (30, 0)], [30, 60], marks=pytest.mark.slow),
        pytest.param([(30, 3), (30, 7), (40, -2), (50, 100)], [30, 60, 100], marks=pytest.mark.slow),
        pytest.param([(50, 0), (50, 0.1)], [50], marks=pytest.mark.slow),
        ([(30, 0.01), (30, 0.02), (30, 0.05)], [30, 60]),
        pytest.param([(100, 1), (50, 2)], [100], marks=pytest.mark.slow),
        ([(12, 1), (30, 2), (12, 5)], [12, 42]),
        ([(5, 1), (30, 2)], [5]),
    ],
)
def test_constant_runs_change_once_each(parts, places):
    """A run of equal rows may not gain without end by being narrower than another."""
    x = runs_of(*parts)
    np.testing.assert_array_equal(segment(x).change_points, places)
    np.testing.assert_array_equal(EvidenceMonitor().fit(x).change_points_, places)


def test_a_jump_of_a_million_scatters_is_one_change(rng):
    x = np.repeat([500.0, 1100.0], 50) + 1e-5 * rng.normal(size=100)
    assert EvidenceMonitor().fit(x[:, None]).change_points_.tolist() == [50]


@pytest.mark.slow
@pytest.mark.xfail(reason="declared within five rows, before the run without a change is ahead again")
def test_a_tick_in_a_walk_is_no_change(rng):
    """Not met: an alarm at the tick in each walk tried; only the posterior takes it back, in ten rows."""
    found = 0
    for _ in range(2):
        x = np.cumsum(rng.normal(size=150))
        x[120] += 25.0
        found += np.sum(np.abs(EvidenceMonitor().fit(x[:, None]).change_points_ - 120) <= 2)
    assert found == 0


@pytest.mark.filterwarnings("ignore:column 0 has only 2 different values")
def test_constant_rows_have_a_finite_evidence():
    for level in (0.0, 5.0):
        X = np.full((100, 1), level)
        X[60:] += 1.0
        monitor = EvidenceMonitor().fit(X)
        assert np.isfinite(monitor.log_evidence_)
        assert monitor.change_points_[0] == 60


@pytest.mark.slow
def test_an_outlier_is_no_change(rng):
    found = 0
    for _ in range(8):
        X = rng.normal(size=(300, 1))
        X[[100, 200]] += 12.0
        found += len(EvidenceMonitor().fit(X).change_points_)
    assert found <= 3  # Gaussian rows alone have an alarm in one of three such eights


@pytest.mark.slow
def test_heavy_tails_are_no_changes(rng):
    """2.2 alarms are wanted in 20 000 rows; there were 17 and 19 before the noise could have such tails."""
    alarms = sum(len(EvidenceMonitor().fit(rng.standard_t(3, (1000, 1))).change_points_) for _ in range(8))
    assert alarms <= 7  # 2.4 by the rate measured, and then more than seven are one in 400


@pytest.mark.parametrize(
    "model, length",
    [
        pytest.param(None, 1000, marks=pytest.mark.nightly),
        pytest.param(NormalSegment(), 4000, marks=pytest.mark.slow),
    ],
)
def test_false_alarms_are_as_rare_as_wanted(model, length, rng):
    """Within a factor of 1.5, on 25 streams without a change, at a threshold that gives enough of them."""
    alarms = wanted = 0.0
    for _ in range(25):
        monitor = EvidenceMonitor(model, threshold=0.5).fit(rng.normal(size=(length, 1)))
        alarms += len(monitor.detections_)
        wanted += monitor.false_alarm_rate_ * length
    error = 3 * np.sqrt(alarms)
    assert wanted / 1.5 - error <= alarms <= 1.5 * wanted + error


# -- changes in some of the columns -----------------------------------------------------------------


def over_subsets(gain):
    """Log density over that of columns that all go on, by all subsets that may have changed."""
    p, terms = len(gain), []
    for changed in itertools.product([False, True], repeat=p):
        k = sum(changed)
        if k:
            each = (1 / p) ** k * (1 - 1 / p) ** (p - k) / (1 - (1 - 1 / p) ** p)
            terms.append(np.log(0.5 * (k == p) + 0.5 * each) + gain[list(changed)].sum())
    return logsumexp(terms)


def check_subsets(rng):
    for p in (2, 3, 5):
        gain = rng.normal(size=(6, p)) * [[0.1], [1], [10], [100], [1e3], [0.0]]
        found = _series._log_run(gain)
        np.testing.assert_allclose(found, [over_subsets(one) for one in gain], rtol=1e-12, atol=1e-12)


def check_density(rng):
    """Over all values that a row of two columns may have, the probabilities of each run sum to one."""
    R, values = 5, 3
    gain, weight = np.zeros((R, 2)), np.zeros(R)
    for _ in range(8):
        log_z = np.log(rng.dirichlet(np.ones(values), size=(R, 2)))
        total = np.zeros(R)
        for row in itertools.product(range(values), repeat=2):
            of_row = np.take_along_axis(log_z, np.array(row)[None, :, None], axis=2)[..., 0]
            total += np.exp(learn_columns(gain.copy(), weight, of_row))
        np.testing.assert_allclose(total, 1.0, rtol=1e-12)
        seen = log_z[:, range(2), rng.integers(values, size=2)]
        weight = weight + learn_columns(gain, weight, seen)


def test_all_subsets_are_summed(rng):
    check_subsets(rng)


def test_rows_have_a_density(rng):
    check_density(rng)


def test_one_column_is_as_before(rng):
    log_z = rng.normal(size=(4, 1))
    np.testing.assert_array_equal(learn_columns(np.zeros((4, 1)), np.zeros(4), log_z), log_z[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 103))
def test_a_variance_that_changes_in_one_of_four_columns(seed):
    """The other three need not be learnt anew; heavy tails in one column of an old run were cheaper."""
    rng = np.random.default_rng([seed, 4, 9])
    X = rng.standard_normal((300, 4))
    X[150:, seed % 4] *= 3
    found = EvidenceMonitor().fit(X).change_points_
    assert len(found) == 1 and abs(found[0] - 150) < 12


def test_a_mean_that_changes_in_one_of_four_columns(rng):
    X = rng.standard_normal((110, 4))
    X[60:, 2] += 2.5
    found = segment(X).change_points
    assert len(found) == 1 and abs(found[0] - 60) < 6
