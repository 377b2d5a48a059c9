"""The calibration suite: its references against each other, its bookkeeping, and a small run of it."""

import csv
import gzip
import json
import re
import runpy
import sys
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom, chi2, multivariate_normal, norm

from sgevidence import BayesianGMM, BayesianLinearRegression
from sgevidence.samplers import Exact

BENCHMARKS = Path(__file__).parents[1] / "examples" / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def beside():
    """The suite's files import each other as scripts do."""
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def suite():
    return runpy.run_path(str(BENCHMARKS / "calibration.py"))


# -- references ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d, n, offset", [(1, 5, 0.0), (15, 100, 0.0), (50, 20, 0.0), (3, 2000, 100.0)])
@pytest.mark.parametrize("noise_std", [None, 0.7])
def test_exact_linear_regression(rng, d, n, offset, noise_std):
    """``Exact`` by another quadrature; a known noise by the density of all y at once."""
    from calibration_evidence import linear

    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n) + offset
    known = linear(X, y, noise_std).log_evidence
    fitted = BayesianLinearRegression(noise_std=noise_std, sampler=Exact(), standardize=False).fit(X, y)
    assert fitted.log_evidence_ == pytest.approx(known, abs=1e-6 + 1e-11 * abs(known))
    if noise_std is not None and n <= 100:
        covariance = X @ X.T + 1 + noise_std**2 * np.eye(n)
        assert known == pytest.approx(multivariate_normal(np.zeros(n), covariance).logpdf(y), abs=1e-6)


@pytest.mark.parametrize("mean", [0.0, 2024.0])
def test_exact_one_component(rng, mean):
    from calibration_evidence import one_gaussian

    X = mean + rng.standard_normal((30, 3))
    known = one_gaussian(X).log_evidence
    assert BayesianGMM(1, sampler=Exact(), standardize=False).fit(X).log_evidence_ == pytest.approx(
        known, abs=1e-6
    )


def test_importance_sampling_against_quadrature(rng):
    """Two classes and one column: two contrasts; a Poisson rate has two parameters as it is."""
    from calibration_evidence import LOG_2PI, log_integral, poisson, softmax
    from scipy.special import gammaln

    X = rng.standard_normal((12, 1))
    y = (rng.random(12) < 0.5).astype(float)
    counts = rng.poisson(2.0, 12).astype(float)

    def prior(u, v):
        return -0.5 * (u**2 + v**2) - LOG_2PI

    def logistic(u, v):  # W = (u, −u)/√2
        eta = np.sqrt(2) * (u[..., None] * X[:, 0] + v[..., None]) * (2 * y - 1)
        return prior(u, v) - np.logaddexp(0, -eta).sum(axis=-1)

    def rates(u, v):
        eta = u[..., None] * X[:, 0] + v[..., None]
        return prior(u, v) + (counts * eta - np.exp(eta)).sum(axis=-1) - gammaln_sum

    gammaln_sum = gammaln(counts + 1).sum()
    box = [(-8.0, 8.0)] * 2
    for found, exact in (
        (softmax(X, y, 2, rng), log_integral(logistic, box, 301)),
        (poisson(X, counts, rng), log_integral(rates, box, 301)),
    ):
        assert found.std < 0.02
        assert abs(found.log_evidence - exact) < 4.5 * found.std


def test_annealing_from_another_gaussian(rng):
    """A correlated Gaussian of known mass, from one beside it that is narrower."""
    from calibration_evidence import annealed
    from references import Student

    d, mass = 10, 3.0
    C = 0.5 + 0.5 * np.eye(d)
    target = multivariate_normal(np.ones(d), C)
    start = Student(np.full(d, 0.7), 0.9 * np.linalg.cholesky(C), np.inf)
    log_w, draws = annealed(lambda x: target.logpdf(x) + mass, start, rng, 500, 60, 30)
    w = np.exp(log_w - log_w.max())
    error = np.sqrt((np.sum(w**2) / w.sum() ** 2) - 1 / len(w))
    assert error < 0.1
    assert abs(logsumexp(log_w) - np.log(len(w)) - mass) < 4.5 * error
    assert np.all(abs(draws[-1].mean(axis=0) - 1) < 5 / np.sqrt(500))
    assert np.all(abs(draws[-1].var(axis=0) - 1) < 5 * np.sqrt(2 / 500))


def test_quadrature_says_when_it_does_not_converge():
    from calibration_evidence import log_integral

    spikes = lambda t: -0.5 * ((t % 1.0 - 0.5) / 1e-5) ** 2  # noqa: E731
    with pytest.raises(ArithmeticError, match="does not converge"):
        log_integral(spikes, [(-8.0, 8.0)])
    assert log_integral(lambda t: norm.logpdf(t, 3, 1e-3), [(-8.0, 8.0)]) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("K, n, d", [(2, 9, 1), (3, 7, 2)])
def test_sums_over_allocations_agree(rng, K, n, d):
    """One by one; by sequential runs; by importance sampling from their ends."""
    import calibration_mixture_evidence as evidence
    from calibration_allocations import by_enumeration, by_particles

    X = 2 * rng.standard_normal((n, d))
    exact = by_enumeration(X, K).log_evidence
    run, ends, weights = by_particles(X, K, rng, 10, 100)
    assert 0 < run.std < 0.1 and weights.sum() == pytest.approx(1)
    assert abs(run.log_evidence - exact) < 5 * run.std  # a t with nine degrees of freedom
    _, log_w = evidence.weighted_draws(X, ends.taken(rng.choice(1000, 100, p=weights)), 2000, rng)
    w = np.exp(log_w - log_w.max())
    error = np.sqrt(np.sum(w**2) / w.sum() ** 2 - 1 / len(w))
    assert error < 0.1
    assert abs(logsumexp(log_w) - np.log(len(w)) - exact) < 4.5 * error


@pytest.mark.slow
def test_chains_from_the_truth(rng, monkeypatch):
    """One component in closed form, and with one to spare by all allocations."""
    import calibration_wide as wide
    from calibration_allocations import by_enumeration
    from calibration_evidence import one_gaussian

    X = rng.standard_normal((60, 3))
    found = wide.from_the_truth(X, np.zeros(60, dtype=int), 0, rng)
    assert abs(found.log_evidence - one_gaussian(X).log_evidence) < 4 * found.std < 0.1
    monkeypatch.setattr(wide, "KEPT", 400)
    found = wide.from_the_truth(X[:8], np.zeros(8, dtype=int), 1, rng)
    assert abs(found.log_evidence - by_enumeration(X[:8], 2).log_evidence) < 4 * found.std < 0.4


@pytest.mark.slow
@pytest.mark.parametrize("apart, sound", [(0.0, False), (4.0, True)])
def test_groups_that_are_as_good_as_one_are_no_reference(rng, apart, sound):
    import calibration_wide as wide

    labels = np.arange(120) % 2
    X = rng.standard_normal((120, 3)) + apart * labels[:, None]
    assert wide.from_the_truth(X, labels, 0, rng).sound == sound


def test_moments_of_many_numbers(rng):
    """160 of them: the sample covariance alone is seven nats too low."""
    import calibration_wide as wide
    from calibration_evidence import one_gaussian

    X = rng.standard_normal((60, 80))
    found = wide.by_moments(X, np.ones((60, 1)), rng)
    assert abs(found - one_gaussian(X).log_evidence) < 3


@pytest.mark.parametrize("apart", [1.0, 400.0])
def test_bridge_between_densities_that_do_not_meet_is_no_reference(rng, apart):
    """And it ends: a fixed-point iteration went to and fro."""
    from bridge import meng_wong

    own, other = rng.standard_normal((60, 40)), rng.standard_normal(3000)  # p is q, moved
    log_Z, std = meng_wong(-(own**2 - (own + apart) ** 2) / 2, -((other - apart) ** 2 - other**2) / 2)
    assert abs(log_Z) < 4 * std < 0.4 if apart == 1.0 else std > 0.5


def test_enumeration_by_hand():
    """Two rows, two components: together or apart."""
    from calibration_allocations import by_enumeration
    from calibration_evidence import one_gaussian

    X = np.array([[-1.0], [2.0]])
    together = one_gaussian(X).log_evidence
    apart = one_gaussian(X[:1]).log_evidence + one_gaussian(X[1:]).log_evidence
    expected = np.logaddexp(np.log(2 / 3) + together, np.log(1 / 3) + apart)
    assert by_enumeration(X, 2).log_evidence == pytest.approx(expected)


def test_permanent(rng):
    from calibration_mixture_evidence import log_permanent

    A = 3 * rng.standard_normal((4, 2, 5, 5))
    sums = [A[:, :, range(5), list(p)].sum(axis=-1) for p in permutations(range(5))]
    np.testing.assert_allclose(log_permanent(A), logsumexp(sums, axis=0))
    far = np.array([0.0, -900.0, 0.0, 0.0, -2000.0])  # the scale of a component of many rows
    np.testing.assert_allclose(log_permanent(A + far), logsumexp(sums, axis=0) + far.sum())


def test_custom_references_integrate_the_likelihoods_that_are_fitted(rng):
    """The closed forms of the two that have one, by quadrature of what the cell fits."""
    import calibration_custom as custom

    data = custom.uniform_rows(rng, 5)
    lo = float(np.log(data.X.max()))
    theta = np.linspace(lo, lo + 10, 400_001)[1:, None]
    joint = custom.bounded(theta, data.X, None).sum(axis=1) + custom.standard_density(theta)
    found = logsumexp(joint) + np.log(theta[1, 0] - theta[0, 0])
    assert custom.of_bounded(data, rng).log_evidence == pytest.approx(found, abs=1e-3)
    data = custom.normal_rows(rng, 1)
    line = np.linspace(-6, 6, 1201)
    grid = np.column_stack([g.ravel() for g in np.meshgrid(line, line)])
    joint = custom.spike(grid, data.X, None).sum(axis=1) + custom.standard_density(grid)
    found = logsumexp(joint) + 2 * np.log(line[1] - line[0])
    assert custom.of_spike(data, rng, 2).log_evidence == pytest.approx(found, abs=1e-3)


# -- cells ---------------------------------------------------------------------------------------------------


def test_cells_are_many_distinct_and_fresh(suite):
    cells = suite["CELLS"]
    assert len(cells) >= 60 and all(name == cell.name for name, cell in cells.items())
    assert {cell.seeds for cell in cells.values()} == {20, 30}
    for cell in cells.values():
        if cell.n <= 1000:
            one, same, other = (cell.make(cell.rng(seed, 0)) for seed in (1, 1, 2))
            assert len(one.X) == cell.n
            np.testing.assert_array_equal(one.X, same.X)
            assert not np.array_equal(one.X, other.X)


# -- bookkeeping ---------------------------------------------------------------------------------------------


def lines(z, cell="a", std=0.1, **more):
    """Made-up records with these z."""
    common = {"cell": cell, "std": std, "seconds": 1.0, "warnings": [], "reference_method": "closed form"}
    common |= {"reference_std": 0.0, "reference_sound": True}
    return [{**common, "seed": i, "z": float(v), "error": float(v) * std, **more} for i, v in enumerate(z)]


def quantiles(n, rng):
    return rng.permutation(norm.ppf((np.arange(n) + 0.5) / n))


def verdict(records):
    from calibration_summary import summarise

    return summarise(records).verdict


def test_a_true_error_bar_passes_and_half_of_it_does_not(rng):
    z = quantiles(20, rng)
    assert verdict(lines(z)) == "true"
    assert verdict(lines(2 * z)) in ("false", "silent")  # std halved
    assert verdict(lines(z + 1.0)) == "false"
    assert verdict(lines(1.34 * z)) == "chance"


def test_what_a_perfect_error_bar_would_do_by_chance(rng):
    from calibration_summary import summarise

    trials = [summarise(lines(z)) for z in rng.standard_normal((400, 5))]
    share = np.mean([s.fair for s in trials])
    assert abs(share - trials[0].perfect) < 4.5 * np.sqrt(0.25 / 400)


def test_one_silent_failure_of_twenty_is_too_many(rng):
    z = quantiles(20, rng)
    z[3] = 5.0
    assert verdict(lines(z)) == "silent"
    records = lines(z)
    records[3]["warnings"] = ["uncertain by 2 nats: more particles"]
    assert verdict(records) == "true"
    assert verdict(lines(np.r_[quantiles(49, rng), 5.0])) == "true"  # two per cent


def test_numbers_of_a_summary():
    from calibration_summary import summarise

    records = lines([1.0, -1.0, 3.5, 0.5])
    records[2]["warnings"] = ["x"]
    records[3]["reference_sound"] = False
    records.append({"cell": "a", "seed": 9, "seconds": 3.0, "warnings": [], "failure": "ValueError: no"})
    s = summarise(records)
    assert (s.fits, s.refused, s.warned, s.doubtful, s.silent) == (5, 1, 1, 1, 2)
    assert s.mean_z == 0 and s.sd_z == pytest.approx(np.sqrt(2)) and s.far == 0
    assert s.rms == pytest.approx(0.1 * np.sqrt((1 + 1 + 3.5**2) / 3)) and s.seconds == 1.0
    assert verdict(records[-1:]) == "refused"
    assert verdict(lines([5.0, 6.0], warnings=["x"])) == "warned"
    assert verdict(lines([0.0, 0.0], reference_sound=False)) == "unknown"


def test_warnings_are_right_where_the_answer_is_off():
    from calibration_summary import of_warnings

    records = lines([0.0, 3.5], warnings=["uncertain by 1.5 nats: more"])
    records += lines([2.0], std=0.6, warnings=["uncertain by 2.0 nats: more", "3 proposals refused"])
    records += lines([9.0])
    everything, uncertain, refused = of_warnings(records)
    assert (everything.fits, everything.right) == (3, 2)
    assert (refused.message, refused.fits, refused.right) == ("… proposals refused", 1, 1)
    assert (uncertain.message, uncertain.fits) == ("uncertain by … nats", 3)


def test_a_run_goes_on_where_it_stopped(suite, tmp_path, run_script, capsys):
    file, cells = tmp_path / "runs.jsonl", ["linear, d=1, n=5", "mixture K=2, d=1, n=8, few rows"]
    run_script(suite["main"], "--output", file, "--seeds", 2, "--cells", *cells)
    first = file.read_text().splitlines()
    assert [json.loads(s)["seed"] for s in first] == [1, 2, 1, 2]
    file.write_text("\n".join(first[:1] + first[2:]) + "\n")  # one fit is lost
    run_script(suite["main"], "--output", file, "--seeds", 2, "--cells", *cells)
    again = file.read_text().splitlines()
    assert again[:3] == first[:1] + first[2:] and len(again) == 4
    timing = ("seconds", "reference_seconds", "date")
    lost, found = ({k: v for k, v in json.loads(s).items() if k not in timing} for s in (first[1], again[3]))
    assert lost == found  # a seed is a seed
    run_script(suite["main"], "--output", file, "--seeds", 3, "--cells", *cells, "--max-seconds-cell", 1e-9)
    assert len(file.read_text().splitlines()) == 4  # the time is used up
    capsys.readouterr()


@pytest.mark.slow
def test_cells_beyond_the_bars_are_looked_at_again(suite, tmp_path, run_script, capsys):
    file, cells = tmp_path / "runs.jsonl", ["linear, d=1, n=5", "mixture K=1, d=1, n=5"]
    shifted = [lines(np.linspace(-1, 1, 31) + shift, cell)[1:] for cell, shift in zip(cells, (1.0, 0.0))]
    file.write_text("\n".join(json.dumps(r) for r in [*shifted[0], *shifted[1]]) + "\n")
    run_script(suite["main"], "--output", file, "--seeds", 30, "--cells", *cells)
    assert len(file.read_text().splitlines()) == 60  # as many as were asked for
    run_script(suite["main"], "--output", file, "--cells", *cells)
    more = [json.loads(s) for s in file.read_text().splitlines()[60:]]
    assert [(r["cell"], r["seed"]) for r in more] == [(cells[0], seed) for seed in range(31, 301)]
    capsys.readouterr()


def test_what_is_refused_or_takes_too_long_has_a_line(rng):
    from calibration_cell import Cell, Data, run
    from calibration_evidence import exactly

    class Slow:
        def __init__(self, random_state):
            pass

        def fit(self, X, y):
            for _ in product(range(10), repeat=9):
                pass

    class Refusing(Slow):
        def fit(self, X, y):
            raise ValueError("these rows cannot be")

    for estimator, words in ((Slow, "stopped after 0.2 s"), (Refusing, "ValueError: these rows cannot be")):
        make = lambda rng: Data(rng.standard_normal((3, 1)))  # noqa: E731
        record = run(Cell("made up", 1, 3, make, estimator, lambda *_: exactly(0.0, "none")), 1, 0.2)
        assert record["failure"] == words and "z" not in record
        assert verdict([record]) == "refused"


def test_page_and_picture(suite, tmp_path, run_script, capsys, rng):
    good, bad, weak = "linear, d=1, n=5", "linear, d=5, n=20", "Poisson, d=1, n=5"
    records = lines(quantiles(20, rng), good) + lines(2.5 * quantiles(20, rng), bad)
    records += lines([9.0, 7.0], weak, warnings=["uncertain by 1.5 nats: more"])
    file, page = tmp_path / "runs.jsonl", tmp_path / "trust.md"
    file.write_text("".join(json.dumps(r) + "\n" for r in records))
    run_script(suite["main"], "--output", file, "--page", page)
    text = page.read_text()
    with page.with_name("calibration.csv").open(encoding="utf-8") as file:
        verdicts = {(row["model"], row["d"]): row["verdict"] for row in csv.DictReader(file)}
    assert verdicts == {("linear", "1"): "🟢 ok", ("linear", "5"): "🔴 wrong", ("Poisson", "1"): "⚪ warned"}
    assert re.search(r"linear +\| +2 \| +1 🟢 ok, 1 🔴 wrong", text)
    assert "1 of 2, 50%" in text and "2 of 2" in text and "❌ missed" in text
    assert page.with_name("calibration.png").stat().st_size > 10_000
    capsys.readouterr()


# -- a small run ---------------------------------------------------------------------------------------------

#: Closed forms, whose error bar is 0.
EXACT = [
    "linear, d=5, n=20",
    "linear, d=15, n=100",
    "linear, d=10, n=200, collinear",
    "linear, d=5, n=500, calls of 7",
    "linear, known noise, d=5, n=1000",
    "mixture K=1, d=30, n=100",
]
SMALL = [
    "softmax K=2, d=5, n=100",
    "softmax K=4, d=3, n=100, separable",
    "Poisson, d=5, n=200",
    "mixture K=2, d=2, n=200, overlapping",
    "mixture K=3, d=1, n=8, few rows",
    "mixture K=3, d=4, n=120, iris",
    "custom: N(θ², 1), d=1, n=50, two modes",
    "custom: logistic, d=2, n=100",
]
#: Cells of one to four seconds a seed, beside tenths.
COSTLY = {
    "softmax K=4, d=3, n=100, separable",
    "mixture K=2, d=2, n=200, overlapping",
    "mixture K=3, d=4, n=120, iris",
}


def within_bars(by_cell, chance=1e-4):
    """Whether chance may explain what mean and spread of z, and |z| > 3, exceed a spread of 1.15 by."""
    fair = True
    for z in by_cell.values():
        fair &= chi2.sf(np.sum((z - z.mean()) ** 2) / 1.15**2, len(z) - 1) > chance
        fair &= 2 * norm.sf(abs(z.mean()) * np.sqrt(len(z)) / 1.15) > chance
    together = np.concatenate(list(by_cell.values()))
    fair &= chi2.sf(np.sum(together**2) / 1.15**2, len(together)) > chance
    fair &= binom.sf(np.sum(abs(together) > 3) - 1, len(together), 2 * norm.sf(3 / 1.15)) > chance
    return bool(fair)


@pytest.mark.slow
def test_a_small_run_is_within_the_bars(suite, seed):
    """Eight cells, two or ten seeds; with half the error bar it is not."""
    first = 1000 + 10 * seed  # not those of the page
    seeds = {name: range(first, first + (2 if name in COSTLY else 10)) for name in SMALL}
    records = [suite["run_named"](name, one, 60.0) for name in SMALL for one in seeds[name]]
    assert all(r.get("reference_sound") for r in records), [
        r for r in records if not r.get("reference_sound")
    ]
    by_cell = {name: np.array([r["z"] for r in records if r["cell"] == name]) for name in SMALL}
    assert within_bars(by_cell), by_cell
    halved = {
        name: np.array(
            [r["error"] / np.hypot(r["std"] / 2, r["reference_std"]) for r in records if r["cell"] == name]
        )
        for name in SMALL
    }
    assert not within_bars(halved)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_closed_forms_are_those_of_other_code(suite, seed, name):
    for one in (1000 + 2 * seed, 1001 + 2 * seed):
        record = suite["run_named"](name, one, 60.0)
        assert record["std"] == 0.0 and record["z"] == 0.0


def test_the_reference_of_an_earlier_line_will_do():
    """The same rows and another engine: the error is that of this fit."""
    from calibration_cell import Cell, Data, run
    from calibration_evidence import exactly

    class Fitted:
        log_evidence_, log_evidence_std_ = -3.0, 0.3

        def fit(self, X, y):
            return self

    asked = []

    def reference(data, rng):
        asked.append(data)
        return exactly(-2.0, "none")

    cell = Cell("made up", 1, 3, lambda rng: Data(np.zeros((3, 1))), lambda random_state: Fitted(), reference)
    first = run(cell, 1, 5.0)
    again = run(cell, 1, 5.0, first | {"reference": -3.3, "log_evidence": 7.0, "error": 9.0})
    assert len(asked) == 1 and first["error"] == -1.0 and first["z"] == pytest.approx(-1.0 / 0.3)
    assert again["error"] == pytest.approx(0.3) and again["z"] == pytest.approx(1.0)
    assert again["reference_method"] == "none" and again["log_evidence"] == -3.0


def test_lines_may_be_compressed(tmp_path):
    from calibration_summary import read_lines

    lines = [{"cell": "é", "seed": s, "z": z} for s, z in ((1, 0.5), (2, 1.0), (1, 0.25))]
    plain, packed = tmp_path / "some.jsonl", tmp_path / "some.jsonl.gz"
    plain.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_lines(packed) == read_lines(plain) == [lines[2], lines[1]]


def test_the_page_is_that_of_the_lines_that_are_kept():
    from calibration_summary import read_lines

    kept = read_lines(BENCHMARKS / "calibration.jsonl.gz")
    page = (BENCHMARKS.parents[1] / "docs" / "trust.md").read_text(encoding="utf-8")
    assert f"in {len(kept)} fits" in page
