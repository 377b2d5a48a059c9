"""The exact posterior of a linear regression, against quadratures and arithmetic of 120 digits."""

from functools import partial
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, interpolate, stats
from scipy.special import gammaln

from sgevidence import SGAIS, BayesianLinearRegression, DivergenceError, EvidenceWarning
from sgevidence.history import Rows
from sgevidence.models import LinearModel


def design_matrix(X, fit_intercept):
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept else X


def problem(n, d, scale=1.0, noise=1.0, collinear=False, weighted=False, seed=0, **prior):
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d))
    if collinear:
        X[:, -1] = X[:, 0]
    y = scale * X @ rng.standard_normal(d) + noise * rng.standard_normal(n)
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    return LinearModel(d, **dict(noise_prior=(1.0, 1.0)) | prior), Rows.of(X, y, weight)


def bimodal():
    """The coefficient is ten prior widths away, or the noise is ten: one is about as likely as the other."""
    return LinearModel(1, False, noise_prior=(1.0, 1e-6)), Rows.of(
        np.ones((4, 1)), 10 + 1e-4 * np.linspace(-1, 1, 4)
    )


CASES = {
    "one row": problem(1, 2),
    "n < d": problem(6, 30),
    "n < d, 150 columns": problem(40, 150),
    "d = 150": problem(200, 150),
    "collinear": problem(30, 4, collinear=True),
    "a thousand widths off": problem(25, 3, 1000.0),
    "hardly any noise": problem(25, 3, noise=1e-4, noise_prior=(0.01, 1e-8)),
    "vague": problem(5, 2, noise_prior=(0.01, 0.01), coef_scale=100.0),
    "informed": problem(20, 2, noise_prior=(40.0, 3.0), intercept_scale=0.2),
    "weights": problem(20, 3, weighted=True),
    "no intercept": problem(20, 3, fit_intercept=False),
    "two modes": bimodal(),
}


def by_quadrature(model, rows):
    """log p(y) and the distribution function of log σ², from the n × n covariance of y and Simpson's rule."""
    rows = rows.take(np.repeat(np.arange(len(rows)), rows.weight.astype(int)))
    Phi = design_matrix(rows.X, model.fit_intercept)
    e, V = np.linalg.eigh((Phi * model.scales**2) @ Phi.T)
    e, g = np.maximum(e, 0.0), V.T @ rows.y
    a, b = model.noise_prior

    def log_p(s):
        v = np.exp(s)
        out = stats.invgamma.logpdf(v, a, scale=b) + s
        for e_i, g_i in zip(e, g):
            out -= 0.5 * (g_i**2 / (e_i + v) + np.log(2 * np.pi * (e_i + v)))
        return out

    wide = np.linspace(-40, 80, 12_001)
    high = wide[log_p(wide) > log_p(wide).max() - 60]
    s = np.linspace(high[0] - 0.1, high[-1] + 0.1, 40_001)
    value = log_p(s)
    mass = integrate.cumulative_simpson(np.exp(value - value.max()), x=s, initial=0)
    return value.max() + np.log(mass[-1]), interpolate.CubicSpline(s, mass / mass[-1])


@pytest.mark.parametrize("case", CASES)
def test_evidence_is_the_integral_over_the_noise(case):
    model, rows = CASES[case]
    assert model.exact_log_evidence(rows) == pytest.approx(by_quadrature(model, rows)[0], abs=1e-6, rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_nodes_have_the_means_of_draws(case, rng):
    model, rows = CASES[case]
    posterior = model.posterior(model.sums(rows))
    theta, W = posterior.nodes
    draws = posterior.sample(rng, 4000)
    assert np.all(np.abs(W @ theta - draws.mean(axis=0)) < 5 * draws.std(axis=0) / 4000**0.5 + 1e-12)


def test_evidence_is_the_sum_over_a_grid_of_all_parameters():
    """Prior times likelihood as the model states them, no integration by hand."""
    model, rows = problem(7, 1, weighted=True, noise_prior=(2.5, 1.5), coef_scale=1.3)
    w, b, s = np.linspace(-7, 7, 141), np.linspace(-6, 6, 121), np.linspace(-4, 8, 121)
    theta = np.stack(np.meshgrid(w, b, s, indexing="ij"), axis=-1).reshape(-1, 3)
    log_p = model.log_joint(theta, rows)
    cell = (w[1] - w[0]) * (b[1] - b[0]) * (s[1] - s[0])
    expected = log_p.max() + np.log(np.exp(log_p - log_p.max()).sum() * cell)
    assert model.exact_log_evidence(rows) == pytest.approx(expected, abs=1e-6)


def test_many_rows_are_a_sharp_peak_that_the_coarse_grid_must_not_miss():
    """No coefficient worth the name: then σ² is conjugate, at 10⁴, 10⁶ and 10⁸ rows."""
    for n in (1e4, 1e6, 1e8):
        model = LinearModel(1, coef_scale=1e-12, intercept_scale=1e-12, noise_prior=(1.0, 1.0))
        rows = Rows.of([[1.0], [1.0]], [1.0, -2.0], [n / 2, n / 2])
        a, b = 1 + n / 2, 1 + 0.5 * n / 2 * 5
        expected = gammaln(a) - a * np.log(b) - n / 2 * np.log(2 * np.pi)
        assert model.exact_log_evidence(rows) == pytest.approx(expected, abs=1e-6, rel=1e-12)


def test_weights_are_repetitions_and_blocks_do_not_matter(monkeypatch):
    model, rows = problem(500, 3, weighted=True)
    repeated = rows.take(np.repeat(np.arange(len(rows)), rows.weight.astype(int)))
    evidence = model.exact_log_evidence(rows)
    assert model.exact_log_evidence(Rows.of(repeated.X, repeated.y)) == pytest.approx(evidence, abs=1e-9)
    monkeypatch.setattr("sgevidence.models._qr_sums.ROWS_OF_BLOCK", 64)
    assert model.exact_log_evidence(rows) == pytest.approx(evidence, abs=1e-10)


def test_rows_without_weight_leave_the_prior(rng):
    model = LinearModel(2, noise_prior=(2.5, 1.5))
    posterior = model.posterior(model.sums(Rows.of(np.ones((3, 2)), np.ones(3), np.zeros(3))))
    assert posterior.log_evidence == pytest.approx(0.0, abs=1e-9)
    v = np.exp(posterior.sample(rng, 20_000)[:, -1])
    assert stats.kstest(v, stats.invgamma(2.5, scale=1.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("case", ["one row", "n < d", "informed", "two modes"])
def test_draws_of_the_noise_have_its_distribution(rng, case):
    model, rows = CASES[case]
    _, cdf = by_quadrature(model, rows)
    s = model.exact_posterior(rows, rng, 20_000)[:, -1]
    assert stats.kstest(s, cdf).pvalue > 1e-3


@pytest.mark.parametrize("case", ["one row", "informed", "two modes", "a thousand widths off"])
def test_the_inverse_distribution_function_is_right_to_a_hundred_thousandth(case):
    """At given numbers in the place of uniform ones."""

    class Given:
        def random(self, size):
            return np.linspace(1e-4, 1 - 1e-4, size)

        def standard_normal(self, size):
            return np.zeros(size)

    model, rows = CASES[case]
    _, cdf = by_quadrature(model, rows)
    s = model.exact_posterior(rows, Given(), 1001)[:, -1]
    np.testing.assert_allclose(cdf(s), Given().random(1001), rtol=0, atol=1e-5)


def standard_normals(model, rows, rng, size=40_000):
    """Draws of w whitened by Bayes' rule at the drawn noise."""
    theta = model.exact_posterior(rows, rng, size)
    Phi, v = design_matrix(rows.X, model.fit_intercept), np.exp(theta[:, -1])
    G, c = (Phi.T * rows.weight) @ Phi, Phi.T @ (rows.weight * rows.y)
    A = G / v[:, None, None] + np.diag(model.scales**-2.0)
    deviation = theta[:, :-1] - np.linalg.solve(A, (c / v[:, None])[:, :, None])[:, :, 0]
    return np.einsum("mij,mi->mj", np.linalg.cholesky(A), deviation)


@pytest.mark.parametrize("case", ["n < d", "collinear", "weights", "informed"])
def test_coefficients_given_the_noise_obey_bayes_rule(rng, case):
    z = standard_normals(*CASES[case], rng, 4000)
    d = z.shape[1]
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-4
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(d), atol=6 * np.sqrt(2 / len(z)))


@pytest.mark.parametrize("case", ["one row", "n < d", "collinear", "weights"])
def test_draws_are_the_same_however_a_processor_rounds(case):
    """Directions of which rows say nothing have equal singular values, whose vectors are arbitrary."""
    model, rows = CASES[case]
    rounded = Rows.of(rows.X * (1 + 1e-15), rows.y, rows.weight)
    one, other = (model.exact_posterior(r, np.random.default_rng(3), 100) for r in (rows, rounded))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_annealing_agrees(rng):
    model, rows = problem(30, 2)
    result = SGAIS(proposal=None).run(model, rows, rng)
    assert abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std


def test_an_integral_that_does_not_converge_is_an_error(monkeypatch):
    monkeypatch.setattr("sgevidence.models._linear_posterior.NODES_TOLERANCE_NATS", -1.0)
    with pytest.raises(ArithmeticError, match="does not converge"):
        CASES["one row"][0].exact_log_evidence(CASES["one row"][1])


# ----------------------------------------------------------------------------- far columns


def hostile(rng, name):
    """Columns, y and priors that plain arithmetic loses: stored doubles are taken as they are."""
    X, y, kw = rng.standard_normal((14, 2)), rng.standard_normal(14), {}
    seconds = 1.7e18 + 3e13 * np.sort(rng.random(14))
    match name:
        case "timestamps":
            X[:, 0] = seconds
        case "a slope in time":
            X[:, 0], y, kw = seconds, (seconds - 1.7e18) / 1e13 + y, dict(coef_scale=1e-10)
        case "constant columns":
            X = np.column_stack([np.full(14, 1e9), np.full(14, 3.0), X[:, 0]])
        case "twice the same":
            X[:, 1] = X[:, 0]
        case "few rows":
            X, y = rng.standard_normal((3, 4)), y[:3]
        case "wide prior":
            kw = dict(coef_scale=1e20, intercept_scale=1e-5)
        case "y far":
            y = y + 1e9
        case "y large":
            y = 1e30 * y
        case "one y large":
            y[5] = 1e30
        case "rounding noise":
            y = X @ [1.1, 2.3] + 0.7
        case "nearly the same":
            X[:, 1] = X[:, 0] + 1e-9 * X[:, 1]
        case _:
            X = X + float(name)
    return X, y, kw


FAR = [
    "0", "1e4", "1e8", "1e12", "1e18", "timestamps", "a slope in time", "constant columns", "twice the same",
    "few rows", "wide prior", "y far", "y large", "one y large", "rounding noise", "nearly the same",
]  # fmt: skip


def in_many_digits(model, rows, digits=120):
    """log p(y | v) as a function of v, from the eigenvalues of the normal equations in mpmath."""
    columns = design_matrix(rows.X, model.fit_intercept)
    A = [[mp.mpf(float(x)) * mp.mpf(float(s)) for x, s in zip(row, model.scales)] for row in columns]
    y, w = ([mp.mpf(float(value)) for value in values] for values in (rows.y, rows.weight))
    d, n = len(model.scales), mp.fsum(w)
    K = mp.matrix(d, d)
    for i in range(d):
        for j in range(d):
            K[i, j] = mp.fsum(w_r * a[i] * a[j] for w_r, a in zip(w, A))
    g = mp.matrix([mp.fsum(w_r * a[i] * y_r for w_r, a, y_r in zip(w, A, y)) for i in range(d)])
    q, (e, Q) = mp.fsum(w_r * y_r**2 for w_r, y_r in zip(w, y)), mp.eigsy(K)
    h = Q.T * g

    def log_likelihood(v):
        explained = mp.fsum(h[i] ** 2 / (e[i] + v) for i in range(d))
        log_det = mp.fsum(mp.log(e[i] + v) for i in range(d)) - d * mp.log(v)
        return -(n * mp.log(2 * mp.pi * v) + log_det + (q - explained) / v) / 2

    return log_likelihood


def check_exact(value, expected):
    assert abs(float(mp.mpf(value) - expected)) <= 1e-8 + 1e-12 * abs(float(expected))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", FAR)
def test_known_noise_in_many_digits(rng, name, fit_intercept):
    X, y, kw = hostile(rng, name)
    model = LinearModel(X.shape[1], fit_intercept, noise_std=0.7, **kw)
    rows = Rows.of(X, y, rng.uniform(0.5, 3.0, len(y)))
    with mp.workdps(120):
        check_exact(model.exact_log_evidence(rows), in_many_digits(model, rows)(mp.mpf(0.7) ** 2))


@pytest.mark.parametrize(
    "name", ["1e18", "timestamps", "twice the same", "few rows", "one y large", "nearly the same"]
)
def test_unknown_noise_against_quadrature_in_many_digits(rng, name):
    """Half-Student-t: the trapezoid rule over the peak, found on a grid that is refined."""
    X, y, kw = hostile(rng, name)
    model, rows = LinearModel(X.shape[1], noise_scale=2.0, **kw), Rows.of(X, y)
    with mp.workdps(120):
        likelihood = in_many_digits(model, rows)

        def log_joint(s):
            u = mp.exp(s) / 4
            return (
                mp.log(2 / (mp.pi * mp.sqrt(3))) + mp.log(u) / 2 - 2 * mp.log1p(u / 3) + likelihood(mp.exp(s))
            )

        s = [mp.mpf(x) for x in range(-130, 175, 2)]
        for _ in range(6):
            value = [log_joint(x) for x in s]
            high = [i for i, v in enumerate(value) if v > max(value) - 60]
            lo, hi = s[max(high[0] - 1, 0)], s[min(high[-1] + 1, len(s) - 1)]
            if len(high) > 40:
                break
            s = [lo + (hi - lo) * k / 120 for k in range(121)]
        value = [log_joint(lo + (hi - lo) * k / 400) for k in range(401)]
        p, total = [mp.exp(v - max(value)) for v in value], {}
        for cells, points in ((200, p[::2]), (400, p)):
            total[cells] = max(value) + mp.log(mp.fsum(points) * (hi - lo) / cells)
        assert abs(total[200] - total[400]) < 1e-9 + 1e-13 * abs(total[400])
        check_exact(model.exact_log_evidence(rows), total[400])


@pytest.mark.parametrize("name", ["0", "1e18", "timestamps", "one y large", "nearly the same"])
@pytest.mark.parametrize("noise_std", [None, 0.7])
def test_streams_agree_however_they_are_cut(rng, name, noise_std):
    X, y, kw = hostile(rng, name)
    make = partial(BayesianLinearRegression, noise_std, random_state=0, standardize=False, **kw)
    whole = make().fit(X, y)
    for cuts in ([1], [7, 8], sorted(rng.choice(np.arange(1, 14), 6, replace=False))):
        stream = make()
        for start, stop in pairwise([0, *cuts, 14]):
            stream.partial_fit(X[start:stop], y[start:stop])
        assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12, abs=1e-10)
        assert stream.log_evidence_std_ == 0.0


def test_predictions_of_far_columns_are_those_of_centred_ones(rng):
    """A wide intercept: then an offset of the columns hardly matters."""
    X = rng.standard_normal((60, 2))
    y = X @ [1.0, -1.0] + 0.1 * rng.standard_normal(60)
    for noise_std in (None, 0.1):
        near, far = (
            BayesianLinearRegression(noise_std, intercept_scale=1e9, random_state=0, standardize=False)
            .fit(Z, y)
            .predict(Z)
            for Z in (X, X + np.array([2.0**20, 2.0**21]))
        )
        np.testing.assert_allclose(far, near, atol=0.02)


def on_a_plane(rng):
    """Rows that fewer columns than rows explain, in whole numbers, to rounding, and twice the same."""
    X, whole = rng.standard_normal((30, 3)), rng.integers(-9, 9, (30, 3)).astype(float)
    twice, wide = np.repeat(np.arange(15), 2), rng.standard_normal((15, 40))
    return {
        "whole": (whole, whole @ [1.0, -2.0, 3.0] + 5.0),
        "rounded": (X, X @ [1.1, 2.3, -0.4] + 0.7),
        "rows twice": (wide[twice], rng.standard_normal(15)[twice]),
    }


def check_plane(X, y, rng):
    """y has no more digits than numbers have, whatever the order of rows, cuts and units; and it is said."""
    found = []
    for order in (np.arange(len(y)), rng.permutation(len(y)), np.argsort(y)):
        with pytest.warns(EvidenceWarning, match="linear function of the columns"):
            one = BayesianLinearRegression(standardize=False, random_state=0).fit(X[order], y[order])
        found.append(one.log_evidence_)
        model = one._model
        halves = [model.sums(Rows.of(X[part], y[part])) for part in np.array_split(order, 3)]
        found.append(model.posterior(halves[0].plus(halves[1]).plus(halves[2])).log_evidence)
    assert np.ptp(found) < 0.1
    size = one.noise_std_ / y.std()
    assert 1e-17 < size < 1e-13
    return found[0]


@pytest.mark.parametrize("name", ["whole", "rounded", pytest.param("rows twice", marks=pytest.mark.slow)])
def test_rows_on_a_plane_have_the_digits_of_numbers(rng, name):
    """Residuals of rounding told of a noise of rounding, by which the log evidence was nats off a row."""
    X, y = on_a_plane(rng)[name]
    check_plane(X, y, rng)
    known = LinearModel(X.shape[1], noise_std=0.3)
    with mp.workdps(60):
        rows = Rows.of(X, y)
        check_exact(known.exact_log_evidence(rows), in_many_digits(known, rows)(mp.mpf(0.3) ** 2))


def test_directions_that_rounding_alone_tells_of_have_no_say(rng):
    """Weights and repeated rows, fewer than columns: other rows are predicted alike."""
    X, y, weight = rng.random((15, 30)), rng.integers(0, 3, 15).astype(float), np.arange(15) % 4
    one = BayesianLinearRegression(random_state=0).fit(X, y, weight)
    other = BayesianLinearRegression(random_state=0).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-11)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=0.1)


def test_the_support_ends_at_the_least_noise_wherever_that_is(rng):
    """Steps from the prior's noise that end just above the least noise once went on without end."""
    X, y = rng.standard_normal((3, 4)), rng.standard_normal(3)
    for scale in np.exp(np.linspace(-4.0, 0.0, 200)):  # s goes down in steps of eight
        model = LinearModel(4, noise_scale=float(scale))
        assert np.isfinite(model.exact_log_evidence(Rows.of(X, y)))


def test_rows_of_a_bounded_noise_are_right_on_a_plane(rng):
    """An inverse gamma keeps σ² from zero."""
    X, y = on_a_plane(rng)["rounded"]
    model, rows = LinearModel(3, noise_prior=(1.0, 0.01)), Rows.of(X, y)
    assert model.exact_log_evidence(rows) == pytest.approx(by_quadrature(model, rows)[0], abs=1e-7)


def test_a_y_that_does_not_vary_has_a_finite_evidence(rng):
    """Nothing is rounded: the likelihood grows without end as σ → 0, and the prior ends at 10⁻³⁰ scales."""
    X = rng.standard_normal((9, 1))
    model = LinearModel(1)
    for value in (0.0, 0.1, -3.3):
        rows = Rows.of(X, np.full(9, value))
        sums = model.sums(rows), model.sums(rows[:4]).plus(model.sums(rows[4:]))
        found = [model.posterior(one).log_evidence for one in sums]
        assert 300 < found[0] < 600 and found[1] == pytest.approx(found[0], abs=1e-9)


def check_rounding(rng):
    """Small noise, far and nearly collinear columns: errors stay below their bound, and it is not far off."""
    ratios = []
    for size in 10.0 ** np.arange(-10, -5):
        X = 1e4 + rng.standard_normal((40, 3))
        X[:, 2] = X[:, 0] + 10 ** rng.uniform(-7, 0) * X[:, 2]
        y = X @ [1.0, -2.0, 0.5] + size * rng.standard_normal(40)
        model, rows = LinearModel(3, coef_scale=10 ** rng.uniform(0, 3)), Rows.of(X, y)
        posterior = model.posterior(model.sums(rows))
        s = posterior.nodes[0][:, -1]
        s = s[np.argmax(posterior.log_joint(s)), None]
        with mp.workdps(120):
            error = float(in_many_digits(model, rows)(mp.exp(mp.mpf(float(s[0])))))
        error -= float(posterior.spectrum.log_likelihood(s)[0])
        bound = posterior.spectrum.rounding(s)[0]
        assert abs(error) < bound + 1e-12 * (1 + abs(posterior.log_evidence))
        ratios.append(abs(error) / bound)
    assert max(ratios) > 1e-3


def test_rounding_has_a_bound(rng):
    check_rounding(rng)


def test_a_row_that_takes_the_digits_of_all_others_is_refused(rng):
    X, y = rng.standard_normal((14, 2)), rng.standard_normal(14)
    X[3] = 1e30
    for noise_std in (None, 0.7):
        with pytest.raises(DivergenceError, match="StandardScaler"):
            BayesianLinearRegression(noise_std, standardize=False).fit(X, y)
    BayesianLinearRegression().fit(X, y)


@pytest.mark.parametrize("n, d", [(20, 200), (30, 29), (30, 30), (30, 31), (40, 2)])
def test_wide_designs_against_the_covariance_of_y(rng, n, d):
    """In many digits: y about its mean is a normal with covariance K + v."""
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, d) + rng.standard_normal(d) * 1e3
    y = X[:, 0] + rng.standard_normal(n)
    model, rows = LinearModel(d, noise_std=0.5, intercept_scale=2.0), Rows.of(X, y)
    with mp.workdps(50):
        A = mp.matrix(X.tolist())
        L = mp.cholesky(A * A.T + 4 * mp.ones(n) + mp.eye(n) / 4)
        z = mp.lu_solve(L, mp.matrix(y.tolist()))
        log_det = 2 * mp.fsum(mp.log(L[i, i]) for i in range(n))
        expected = -(n * mp.log(2 * mp.pi) + log_det + mp.fsum(x**2 for x in z)) / 2
        check_exact(model.exact_log_evidence(rows), expected)
