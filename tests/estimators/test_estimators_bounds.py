"""Doors of bounds, R's survreg, evidence by quadrature: left, right and interval censoring, late entries."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, log_ndtr, logsumexp, stdtr

from sgevidence import BayesianGLM, EvidenceSearch, EvidenceWarning, Factor, Group, RowSource, compare
from sgevidence.history import Rows
from sgevidence.models import Bounded, Gaussian, GLMModel, LogLogistic, LogNormal, Weibull

DATA, INF = Path(__file__).parents[1] / "data", np.inf
RNG = np.random.default_rng(8)
X = RNG.standard_normal((60, 2))
T = np.exp(X @ [0.6, -0.3] + 1.0) * RNG.exponential(size=60) ** 0.7
CLOCK, START = 6.0 * RNG.exponential(size=60), 0.3 * RNG.random(60)
DEAD = T < CLOCK
TIME = np.minimum(T, CLOCK) + 0.3
UPPER = np.where(DEAD, TIME, INF)


def glm(family="weibull", **params):
    return BayesianGLM(**{"family": family, "random_state": 0} | params)


def read(name):
    return np.genfromtxt(DATA / name, delimiter=",", names=True, dtype=None, encoding="utf-8")


def bounds(lower, upper, entry=-INF):
    return np.column_stack([lower, upper, np.broadcast_to(entry, np.shape(lower))])


# -- published estimates ------------------------------------------------------------------------------


def lung():
    rows = read("lung.csv")
    X = np.column_stack([rows[name] for name in ("age", "sex", "phecog")])
    return X, bounds(rows["time"], np.where(rows["status"] == 2, rows["time"], INF)), rows["time"]


def veteran():
    rows = read("veteran.csv")
    names = np.char.strip(rows["celltype"], '"')
    cells = [names == cell for cell in ("smallcell", "adeno", "large")]
    X = np.column_stack([rows["trt"], rows["karno"], rows["age"], *cells]).astype(float)
    return X, bounds(rows["time"], np.where(rows["status"] == 1, rows["time"], INF)), rows["time"]


def kidney():
    rows = read("kidney.csv")
    X = np.column_stack([rows[name] for name in ("age", "sex", "frail")])
    return X, bounds(rows["time"], np.where(rows["status"] == 1, rows["time"], INF)), rows["time"]


def breasts():
    """Cosmetic deterioration, known to have come between two visits (Finkelstein and Wolfe 1985)."""
    rows = read("bcos.csv")
    lower = np.where(rows["lower"] == 0, -INF, rows["lower"])
    return rows["chemo"][:, None].astype(float), bounds(lower, rows["upper"]), np.ones(len(rows))


def channing():
    """Ages, in months, of residents who came late (Hyde 1980; R's boot::channing)."""
    rows = read("channing.csv")
    upper = np.where(rows["cens"] == 1, rows["exit"], INF)
    return rows["male"][:, None].astype(float), bounds(rows["exit"], upper, rows["entry"]), rows["exit"]


def tobin():
    """Durable goods, of which there are none or some (Tobin 1958)."""
    rows = read("tobin.csv")
    X, y = np.column_stack([rows["age"], rows["quant"]]), rows["durable"]
    return X, bounds(np.where(y > 0, 0.0, -INF), np.zeros(len(y))), y


#: survreg of R's survival 3.5.3: coefficients with the intercept last, their standard errors, log σ, and log
#: likelihood; of late entries optim of the Weibull likelihood.
SURVREG = [
    (lung, Weibull, [-0.007475439, 0.401090541, -0.339638098, 6.273435252], -0.313192730, -1132.439),
    (lung, LogNormal, [-0.01918187, 0.52195288, -0.35556667, 6.49478673], 0.02823227, -1146.882),
    (lung, LogLogistic, [-0.008079919, 0.486623571, -0.404615512, 5.936686921], -0.623357152, -1137.490),
    (
        veteran,
        Weibull,
        [-0.236169426, 0.030013675, 0.006300981, -0.822985179, -1.119551074, -0.396844640, 3.472736655],
        -0.074521071,
        -715.5862,
    ),
    (
        veteran,
        LogLogistic,
        [-0.082119127, 0.036173236, 0.008794075, -0.698596098, -0.737581390, 0.007025401, 2.068440600],
        -0.545551108,
        -712.0601,
    ),
    (kidney, Weibull, [0.000948464, 1.168506637, -0.943820937, 3.751426212], -0.159329848, None),
    (kidney, LogLogistic, [-0.005992352, 1.243016255, -1.019563856, 3.613343879], -0.608475557, None),
    (breasts, Weibull, [-0.5234447, 3.9103496], -0.4449379, -143.0369),
    (breasts, LogNormal, [-0.38766996, 3.55912719], -0.09803986, -145.6302),
    (breasts, LogLogistic, [-0.4530974, 3.6159908], -0.6632623, -144.7306),
    (channing, Weibull, [-0.03998681, 6.96072243], -2.18459621, -1077.493521),
    (tobin, Gaussian, [-0.12905928, -0.04554166, 15.14486636], 1.71785092, -28.94013),
]


@pytest.mark.parametrize("data, family, coef, log_scale, log_likelihood", SURVREG)
def test_maximum_likelihood_is_survregs(data, family, coef, log_scale, log_likelihood):
    """The likelihood is theirs to its last digit, and a Newton step from theirs is 0.01 standard errors."""
    X, known, y = data()
    model = GLMModel(X.shape[1], Bounded(family()))
    z = -stats.norm.isf(2 * stats.t(3).cdf(np.exp(log_scale)) - 1)
    theta = np.r_[coef, z]
    y = np.array(y, dtype=float)
    rows = Rows.of(np.column_stack([X, known]), y)
    value, grad, H = model.derivatives(theta, rows)
    if log_likelihood is not None:
        assert value == pytest.approx(log_likelihood, abs=1e-3)
    step, sd = np.linalg.solve(-H, grad), np.sqrt(np.diag(np.linalg.inv(-H)))
    assert np.all(abs(step) < 0.01 * sd)


def test_posteriors_of_published_data_have_survregs_conclusions():
    X, known, _ = lung()
    est = glm().fit(X, known[:, :2])
    ml, se = np.array([-0.007475439, 0.401090541, -0.339638098]), [0.006763508, 0.123732567, 0.083478415]
    assert np.all(abs(est.coef_ - ml) < 0.25 * np.array(se))
    np.testing.assert_allclose(est.coef_std_, se, rtol=0.12)
    X, known, _ = breasts()
    chemo, nothing = glm().fit(X, known[:, :2]), glm(columns=[]).fit(X, known[:, :2])
    assert abs(chemo.coef_[0] + 0.523) < 0.05 and chemo.log_evidence_ > nothing.log_evidence_ + 1.5


# -- doors ----------------------------------------------------------------------------------------------


def test_doors_open_to_one_room():
    """One evidence, to the last digit, of every way to say what is known."""
    pd = pytest.importorskip("pandas")
    expected = glm().fit(X, TIME, event=DEAD, entry=START)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "time": TIME, "dead": DEAD, "start": START})
    frame["status"], frame["vital"] = 1 + DEAD, np.where(DEAD, "dead", "alive")
    structured = np.array(list(zip(DEAD, TIME)), dtype=[("event", bool), ("time", float)])
    two = np.column_stack([TIME, np.where(DEAD, TIME, np.nan)])
    objects = np.array([[t, t if d else None] for t, d in zip(TIME, DEAD)], dtype=object)
    named = frame[["a", "b", "dead", "start"]]
    fits = [
        glm().fit(X, two, entry=START),
        glm().fit(X, objects, entry=START),
        glm().fit(X, structured, entry=START),
        glm().fit(X, pd.DataFrame(two), entry=START),
        glm().fit(named, TIME, event="dead", entry="start"),
        glm(formula="time ~ a + b").fit(frame, event="dead", entry="start"),
        glm(formula="Surv(start, time, dead) ~ a + b").fit(frame),
        glm(formula="Surv(time, status == 2) ~ a + b").fit(frame, entry="start"),
        glm(formula="Surv(time, vital == 'dead') ~ a + b").fit(frame, frame["time"], entry="start"),
    ]
    for fit in fits:
        assert fit.log_evidence_ == expected.log_evidence_
        assert fit.data_fingerprint_ == expected.data_fingerprint_
    predicted = expected.predict(X)
    np.testing.assert_array_equal(fits[4].predict(named), predicted)
    np.testing.assert_array_equal(fits[4].predict(frame[["a", "b"]]), predicted)
    np.testing.assert_array_equal(fits[6].predict(frame), predicted)
    assert fits[6].score(frame) == expected.score(X, TIME, event=DEAD)
    assert fits[0].score(X, two) == expected.score(X, TIME, event=DEAD)
    scores = expected.score_samples(X, TIME, event=DEAD, entry=START)
    np.testing.assert_array_equal(expected.score_samples(X, two, entry=START), scores)


def test_bounds_of_formulas():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("formulae")
    lower, upper = TIME.copy(), UPPER.copy()
    lower[:10], upper[10:20] = np.nan, TIME[10:20] + 1.0
    frame = pd.DataFrame({"a": X[:, 0], "lo": lower, "hi": upper, "t": TIME, "dead": DEAD})
    by_formula = glm(formula='Surv(lo, hi, type="interval2") ~ a').fit(frame)
    two = glm().fit(X[:, :1], np.column_stack([lower, upper]))
    assert by_formula.log_evidence_ == two.log_evidence_
    left = glm(formula='Surv(t, dead, type="left") ~ a').fit(frame)
    lower = np.where(DEAD, TIME, -INF)
    assert left.log_evidence_ == glm().fit(X[:, :1], np.column_stack([lower, TIME])).log_evidence_
    search = EvidenceSearch(glm(), {"formula": ["Surv(t, dead) ~ a", "Surv(t, dead) ~ 1"]})
    found = search.fit(frame, frame["t"])
    assert found.best_estimator_.log_evidence_ == glm().fit(X[:, :1], TIME, event=DEAD).log_evidence_


@pytest.mark.parametrize(
    "formula, words",
    [
        ("Surv(t, dead + 1) ~ a", "no column and no comparison"),
        ("Surv(t, dead, hi, lo) ~ a", "type 'right' has time, event, and no hi"),
        ("Surv(t, dead, type='mstate') ~ a", "type= of Surv"),
        ("Surv(t, type='interval2') ~ a", "lacks time2"),
        ("Surv(t, dead, origin=3) ~ a", "is no column|no comparison|has time, time2, event, and no origin"),
        ("Surv(t == 2, dead) ~ a", "'t == 2' in Surv"),
        ("Surv(t, dead) + 1 ~ a", "write Surv"),
        ("Surv(t, nobody) ~ a", "no column 'nobody'"),
        (
            "Surv(t, vital) ~ a",
            "labels 'alive' and 'dead': if .* give .* Surv\\(time, status == 'alive'\\)",
        ),
        ("Surv(t, status) ~ a", "as in R, give status == 2"),
    ],
)
def test_formulas_that_say_nothing_clear_are_refused(formula, words):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("formulae")
    frame = pd.DataFrame({"a": X[:, 0], "t": TIME, "dead": DEAD, "status": 1 + DEAD, "lo": TIME, "hi": TIME})
    frame["vital"] = np.where(DEAD, "dead", "alive")
    frame.loc[0, "vital"] = "alive"
    with pytest.raises(ValueError, match=words):
        glm(formula=formula).fit(frame)


TWO = np.column_stack([TIME, UPPER])


def changed(column, value, row=3):
    out = TWO.copy()
    out[row, column] = value
    return out


@pytest.mark.parametrize(
    "family, given, words",
    [
        ("weibull", dict(y=TWO, event=DEAD), "y has two columns.*and event= is given"),
        ("weibull", dict(y=TIME, event="dead"), "event='dead' names a column, and X has none"),
        ("weibull", dict(y=TIME, event=np.where(DEAD, "dead", "alive")), "has the label"),
        ("weibull", dict(y=TIME, event=1 + DEAD), "as in R, give status == 2"),
        (
            "weibull",
            dict(y=changed(0, 99.0, 2)[:, ::-1]),
            "lower bound above the upper one|lower bound of inf",
        ),
        ("weibull", dict(y=changed(0, -1.0)), "a negative lower bound"),
        ("weibull", dict(y=np.column_stack([0 * TIME, 0 * TIME])), "a value that is not positive in row 0"),
        ("weibull", dict(y=np.column_stack([0 * TIME, TIME + INF])), "no row of y has a bound"),
        ("poisson", dict(y=np.column_stack([TIME * 0 + 1.2, TIME * 0 + 1.7])), "no whole number between"),
        ("weibull", dict(y=TIME, entry=TIME), "row 0 enters at .* and ends at"),
        ("weibull", dict(y=TIME, entry=np.where(X[:, 0] > 0, np.nan, 0.0)), "NaN|one number for each row"),
        ("weibull", dict(y=TIME, entry=["a"] * 60), "entry must be numbers"),
        ("weibull", dict(y=TIME, entry=START[:5]), "inconsistent numbers of samples"),
        ("beta", dict(y=TIME / 99, event=DEAD), "Beta has neither event nor entry"),
        ("hurdle_poisson", dict(y=TWO), "HurdlePoisson takes no bounds"),
        (None, dict(y=np.round(TIME), event=DEAD), "no family is named"),
        ("bernoulli", dict(y=np.column_stack([DEAD, ~DEAD])), "should be a 1d array"),
        ("weibull", dict(y=TWO.astype(str)), "two columns has a lower and an upper bound, which are numbers"),
        ("weibull", dict(y=np.ma.masked_less(TWO, 1.0)), "masked array"),
        (
            "weibull",
            dict(y=np.array([(1, 2, 3)] * 60, dtype=[(n, float) for n in "abc"])),
            "y has the fields",
        ),
    ],
)
def test_bounds_that_nothing_can_have_are_refused(family, given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        glm(family).fit(X, **given)


def test_dates_are_no_bounds():
    dates = np.full((60, 2), np.datetime64("2020-01-01"))
    with pytest.raises((TypeError, ValueError), match="date"):
        glm().fit(X, dates)


def test_files_have_entries(tmp_path):
    pytest.importorskip("pyarrow")
    table = np.column_stack([X, TIME, DEAD, START])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,t,dead,start", comments="", fmt="%.17g")
    source = RowSource(tmp_path / "t.csv", target="t", event="dead", entry="start")
    assert glm().fit(source).log_evidence_ == glm().fit(X, TIME, event=DEAD, entry=START).log_evidence_


# -- evidence -------------------------------------------------------------------------------------------


def test_rows_without_bounds_say_nothing():
    nothing = np.array([[-INF, INF], [np.nan, np.nan], [0.0, INF]])
    more = glm().fit(np.vstack([X, RNG.standard_normal((3, 2))]), np.vstack([TWO, nothing]))
    alone = glm().fit(X, TWO)
    assert more.log_evidence_ == alone.log_evidence_ and more.n_samples_seen_ == 60
    np.testing.assert_allclose(alone.score_samples(X[:3], nothing), 0.0, atol=1e-12)
    compare({"one": more, "other": alone})
    with pytest.raises(ValueError, match="has seen other data"):
        compare({"one": alone, "other": glm().fit(X, np.column_stack([TIME, UPPER + 0.5]))})


def test_counts_have_both_ends():
    counts = np.array([0.0, 1, 2, 5, 3, 2, 0, 1, 4, 2, 1, 0])
    x = np.linspace(-1, 1, 12)[:, None]
    exact = glm("poisson").fit(x, counts)
    log_p = exact.score_samples(x, counts)
    for low, high in ((0, 2), (1, 3), (2, np.inf), (-INF, 1), (0, INF)):
        found = exact_of_bounds = glm("poisson").fit(x, np.column_stack([counts, counts]))
        assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=0.01)
        last = 60 if high == INF else int(high)
        each = [
            exact_of_bounds.score_samples(x, np.full(12, k))
            for k in range(max(int(max(low, 0)), 0), last + 1)
        ]
        within = exact_of_bounds.score_samples(x, np.tile([low, high], (12, 1)))
        np.testing.assert_allclose(within, logsumexp(each, axis=0), atol=1e-9)
    assert np.all(log_p < 0)
    censored = exact_of_bounds.score_samples(x, np.full(12, 2.0), event=False)
    np.testing.assert_allclose(censored, exact_of_bounds.score_samples(x, np.tile([2, INF], (12, 1))))
    seen = exact_of_bounds.score_samples(x, np.full(12, 2.0), entry=0)  # of those that are not zero
    zero = exact_of_bounds.score_samples(x, np.zeros(12))
    assert np.all(seen > exact_of_bounds.score_samples(x, np.full(12, 2.0))) and np.all(zero < 0)


def tails(family, u, nu):
    """log density, log survival and log distribution function of (f(y) − η)/σ, by scipy's functions."""
    with np.errstate(all="ignore"):
        if family == "weibull":
            return u - np.exp(u), -np.exp(u), np.log(-np.expm1(-np.exp(u)))
        if family == "gaussian":
            return stats.norm.logpdf(u), log_ndtr(-u), log_ndtr(u)
        if family == "loglogistic":
            return -u - 2 * np.logaddexp(0, -u), -np.logaddexp(0, u), -np.logaddexp(0, -u)
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)
        log_p = constant - (nu + 1) / 2 * np.log1p(u * u / nu)
        return log_p, np.log(stdtr(nu, -u)), np.log(stdtr(nu, u))


def log_posterior(family, x, lower, upper, entry, w, log_s, log_nu):
    """log p(bounds | w, σ, ν) p(w, log σ, log ν) on a grid."""
    s, nu = np.exp(log_s), None if log_nu is None else np.exp(log_nu)
    total = stats.norm.logpdf(w) + np.log(2) + stats.t(3).logpdf(s) + log_s
    if nu is not None:
        total = total + stats.gamma(2, scale=10).logpdf(nu) + log_nu
    is_log = family in ("weibull", "loglogistic")
    for x_i, *row in zip(x, lower, upper, entry):
        low, high, e = (-INF if is_log and y <= 0 else np.log(y) if is_log else y for y in row)

        def of(y):
            return tails(family, (y - w * x_i) / s, nu)  # noqa: B023

        with np.errstate(all="ignore"):
            if low == high:
                value = of(low)[0] - log_s - (low if is_log else 0.0)
            elif high == INF:
                value = of(low)[1]
            elif low == -INF and e == -INF:
                value = of(high)[2]
            else:  # by the smaller tails
                a, b = of(max(low, e)), of(high)
                upper_tails = a[1] + np.log1p(-np.exp(np.minimum(b[1] - a[1], 0)))
                lower_tails = b[2] + np.log1p(-np.exp(np.minimum(a[2] - b[2], 0)))
                value = np.where(a[1] < a[2], upper_tails, lower_tails)
            found = value - (of(e)[1] if e > -INF else 0.0)
        total = total + np.where(np.isfinite(found), found, -INF)
    return total


def by_quadrature(family, x, lower, upper, entry):
    """log ∫ by the trapezoid rule over a box that closes in on what counts, and the change by a finer one."""
    box = [(-6.0, 6.0), (-10.0, 9.0)] + [(-6.0, 6.0)] * (family == "student_t")
    sizes = (31, 45, 65) if len(box) == 3 else (120, 161, 241)

    def on_grid(n):
        axes = [np.linspace(*ends, n) for ends in box]
        grid = np.meshgrid(*axes, indexing="ij", sparse=True)
        return axes, log_posterior(family, x, lower, upper, entry, *grid, *[None] * (3 - len(box)))

    for nats in (45, 22, 22, 22):
        axes, f = on_grid(sizes[0])
        near = f > f.max() - nats
        for k, axis in enumerate(axes):
            at = np.flatnonzero(near.any(axis=tuple(j for j in range(len(axes)) if j != k)))
            box[k] = axis[max(at[0] - 1, 0)], axis[min(at[-1] + 1, len(axis) - 1)]
    found = []
    for n in sizes[1:]:
        axes, f = on_grid(n)
        found.append(logsumexp(f) + sum(np.log(axis[1] - axis[0]) for axis in axes))
    return found[1], abs(found[1] - found[0])


@pytest.mark.parametrize(
    "family", ["weibull", "gaussian", "loglogistic", pytest.param("student_t", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kind", ["right", "mixed", "late", "censored"])
def test_evidence_by_quadrature(family, kind):
    rng = np.random.default_rng([3, len(kind)])
    x = rng.standard_normal(20)
    e = rng.gumbel(size=20) * 0.6
    is_time = family in ("weibull", "loglogistic")
    y = np.exp(0.7 * x - e) if is_time else 0.7 * x - e
    lower, upper, entry = y.copy(), y.copy(), np.full(20, -INF)
    if kind == "mixed":
        upper[:5], lower[5:10] = INF, -INF
        lower[10:14] = np.maximum(y[10:14] - 0.2, 1e-3) if is_time else y[10:14] - 0.2
        upper[10:14] = y[10:14] + 0.3
    elif kind == "late":
        entry = y * rng.random(20) if is_time else y - rng.exponential(0.5, 20)
        upper[::3] = INF
    else:
        upper[(rng.random(20) < 0.4) | (kind == "censored")] = INF
    est = glm(family, standardize=False, fit_intercept=False)
    if kind == "censored":
        with pytest.warns(EvidenceWarning, match="no y is known but by a lower bound"):
            est.fit(x[:, None], np.column_stack([lower, upper]))
    else:
        est.fit(x[:, None], np.column_stack([lower, upper]), entry=entry)
    exact, change = by_quadrature(family, x, lower, upper, entry)
    assert abs(est.log_evidence_ - exact) < 4 * est.log_evidence_std_ + 0.003 and change < 0.003
    assert est.log_evidence_std_ < 0.03


def test_a_probability_has_no_unit():
    """In units a thousand times as small each exact y adds −log 1000, and no bound does."""
    y, shift = X @ [0.8, -0.5] + RNG.standard_normal(60), 5e3
    lower, upper = y.copy(), y.copy()
    lower[:15], upper[10:25] = -INF, INF
    upper[10:15] = y[10:15] + 0.4
    entry = np.where(np.arange(60) > 40, y - 1.0, -INF)
    one = glm("gaussian").fit(X, np.column_stack([lower, upper]), entry=entry)
    moved = np.where(np.isfinite(entry), entry * 1e3 + shift, entry)
    other = glm("gaussian").fit(X, np.column_stack([lower, upper]) * 1e3 + shift, entry=moved)
    n_exact = np.sum(lower == upper)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_ - n_exact * np.log(1e3), abs=1e-4)
    new = np.column_stack([lower, upper])[:20]
    here, there = one.score_samples(X[:20], new), other.score_samples(X[:20], new * 1e3 + shift)
    np.testing.assert_allclose(here, there + np.where(new[:, 0] == new[:, 1], np.log(1e3), 0.0), atol=1e-4)
    assert one.log_predictive(X[:20], new) == pytest.approx(
        other.log_predictive(X[:20], new * 1e3 + shift) + np.sum(new[:, 0] == new[:, 1]) * np.log(1e3),
        abs=1e-3,
    )


def test_terms_take_bounds():
    """A factor and a group of no spread, against the plain model."""
    group = np.column_stack([X, np.arange(60) % 12])
    plain = glm("gaussian").fit(X, np.column_stack([np.log(TIME), np.log(UPPER)]))
    terms = glm("gaussian", terms=[Group(2, scale=1e-4)]).fit(
        group, np.column_stack([np.log(TIME), np.log(UPPER)])
    )
    std = np.hypot(plain.log_evidence_std_, terms.log_evidence_std_)
    assert abs(plain.log_evidence_ - terms.log_evidence_) < 4 * std + 0.003
    levels = np.column_stack([X[:, 0], np.arange(60) % 3])
    assert glm("loglogistic", terms=[Factor(1)]).fit(levels, TWO, entry=START).effects_ is not None


def test_a_stream_keeps_its_bounds():
    units = glm().fit(X, TWO, entry=START).units_
    whole = glm(units=units).fit(X, TWO, entry=START)
    est = glm(units=units)
    for part in (slice(0, 20), slice(20, 60)):
        est.partial_fit(X[part], TWO[part], entry=START[part])
    assert abs(est.log_evidence_ - whole.log_evidence_) < 4 * est.log_evidence_std_ + 0.02
    assert est.data_fingerprint_ == whole.data_fingerprint_
    with pytest.raises(ValueError, match="the rows before came with bounds"):
        est.partial_fit(X[:5], TIME[:5])
    numbers = glm("gaussian").partial_fit(X[:30], TIME[:30])
    with pytest.raises(ValueError, match=r"fitted without bounds: give event=1\.0 in the first call"):
        numbers.partial_fit(X[30:], TWO[30:])


def test_callers_arrays_are_theirs():
    y, entry = TWO.copy(), START.copy()
    glm().fit(X, y, entry=entry)
    np.testing.assert_array_equal(y, TWO)
    np.testing.assert_array_equal(entry, START)
