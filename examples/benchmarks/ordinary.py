"""Ordinary fits: how many are warned of, and how far are the others from references by other means?

    python ordinary.py --first 1000 --count 300                     # regressions, families, mixtures, custom
    python ordinary.py --first 1000 --count 60 --kinds hierarchy    # by hand and by priors

A case is drawn from its number alone: rows that its model could have made, twenty to three hundred of them,
at default settings.  A line of JSON per case; at the end, for each kind, fits, those warned of, and those
that are *silent and wrong*: without a warning, beyond four errors of both and 0.01 nats.

References: importance sampling from a Student t at the mode in coordinates in which the prior is a unit
Gaussian (families, custom), the sum over all allocations (mixtures of a few rows), and quadrature over the
parameters of the population, given which the groups have closed forms (hierarchies).
"""

import argparse
import json
import time
import warnings
from collections import Counter

import autograd.numpy as anp
import numpy as np
from families import LAWS, OWN, draw
from hostile import mixture_reference
from scipy import stats
from scipy.optimize import minimize
from scipy.special import betaln, gammaln, logsumexp, ndtr

from sgevidence import BayesianGLM, BayesianGMM, BayesianModel, BayesianSoftmaxRegression, EvidenceWarning

#: Errors and nats beyond which an answer without a warning counts as wrong.
BEYOND, NATS = 4.0, 0.01
#: Importance draws; the t of them is wider than the Gaussian at the mode by this factor.
DRAWS, WIDER = 40_000, 1.2
#: Error of a reference in nats from which it says nothing.
VAGUE = 0.05
LOG_2PI = np.log(2 * np.pi)


# -- references -------------------------------------------------------------------------------------------


def by_importance(log_joint, d, rng):
    """Log of ∫ p over R^d and its standard error; ``log_joint`` takes (M, d)."""
    starts = np.vstack([np.zeros(d), 0.5 * rng.standard_normal((4, d))])
    ends = [minimize(lambda t: -np.clip(log_joint(t[None])[0], -1e10, None), start).x for start in starts]
    mode = max(ends, key=lambda t: log_joint(t[None])[0])
    steps = 1e-3 * np.eye(d)
    pairs = np.array([[a + b, a - b, b - a, -a - b] for a in steps for b in steps]).reshape(-1, d)
    curvature = log_joint(mode + pairs).reshape(d, d, 4) @ [-1, 1, 1, -1] / 4e-6
    proposal = stats.multivariate_t(mode, WIDER * np.linalg.inv(curvature), df=5)
    theta = proposal.rvs(DRAWS, random_state=rng).reshape(DRAWS, d)
    log_w = log_joint(theta) - proposal.logpdf(theta)
    log_z = logsumexp(log_w) - np.log(DRAWS)
    return log_z, np.std(np.exp(log_w - log_z)) / np.sqrt(DRAWS)


def normal(x, mean=0.0, std=1.0):
    return -0.5 * ((x - mean) / std) ** 2 - np.log(std) - 0.5 * LOG_2PI


def nodes(low, high, n):
    """Gauss–Legendre: places and log weights."""
    x, w = np.polynomial.legendre.leggauss(n)
    return low + (high - low) * (x + 1) / 2, np.log(w * (high - low) / 2)


# -- cases: (fitted estimator, log evidence and its error or None) ------------------------------------------


def some_rows(rng):
    n, p = int(rng.choice([20, 40, 80, 150, 300])), int(rng.integers(1, 6))
    X = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-2, 2, p) + 10.0 ** rng.uniform(-2, 2, p)
    return X, rng.normal(0, 0.5, p), (X - X.mean(0)) / X.std(0)


def family(rng, seed):
    """A regression at default settings: the reference takes the units that the estimator reports."""
    X, w, Z = some_rows(rng)
    name = str(rng.choice(list(LAWS)))
    y = draw(name, Z @ w + rng.normal(0, 0.5), rng)
    known = {"trials": 5} if name == "binomial" else {}
    model = BayesianGLM(name, intercept_scale=1.0, random_state=seed).fit(X, y, **known)
    own, u = OWN.get(name, []), model.units_
    Phi, q = np.column_stack([(X - u.center) / u.scale, np.ones(len(X))]), X.shape[1] + 1

    def log_joint(theta):
        log_own = [theta[:, q + k : q + k + 1] for k in range(len(own))]
        if name == "zero_inflated_poisson":  # a probability: its logit, with the Jacobian
            p = 1 / (1 + np.exp(-log_own[0]))
            log_own, jacobian = [np.log(p)], np.log(p) + np.log1p(-p)
            prior = jacobian[:, 0]
        else:
            prior = sum((f(np.exp(t)) + c + t)[:, 0] for t, (f, c) in zip(log_own, own))
        eta = theta[:, :q] @ Phi.T + u.intercept_center
        with np.errstate(all="ignore"):
            fit = LAWS[name]((y - u.y_center) / u.y_scale, eta, *map(np.exp, log_own)).sum(axis=1)
        return np.nan_to_num(prior + normal(theta[:, :q]).sum(axis=1) + fit, nan=-1e10, neginf=-1e10)

    def reference():
        log_z, std = by_importance(log_joint, q + len(own), rng)
        return log_z - len(X) * u.log_unit, std

    return model, reference


def classes(rng, seed):
    X, _, Z = some_rows(rng)
    K, X, Z = int(rng.integers(2, 4)), X[:, :2], Z[:, :2]
    eta = Z @ rng.normal(0, 1, (X.shape[1], K))
    y = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
    y[:K] = np.arange(K)
    model = BayesianSoftmaxRegression(intercept_scale=1.0, random_state=seed).fit(X, y)
    u, q = model.units_, X.shape[1] + 1
    Phi = np.column_stack([(X - u.center) / u.scale, np.ones(len(X))])

    def log_joint(theta):
        eta = np.einsum("mkq,nq->mnk", theta.reshape(-1, K, q), Phi) + np.asarray(u.intercept_center)
        return (eta[:, np.arange(len(y)), y] - logsumexp(eta, axis=2)).sum(1) + normal(theta).sum(axis=1)

    return model, lambda: by_importance(log_joint, K * q, rng)


def mixture(rng, seed):
    """Groups of their own, and as many components or one more; few rows in a third of the cases."""
    K, p, few = int(rng.integers(1, 5)), int(rng.integers(1, 4)), rng.random() < 1 / 3
    n = 8 if few else int(rng.choice([40, 80, 200]))
    groups = rng.normal(0, 3, (K, p))[rng.integers(K, size=n)]
    kind = "diag" if few else str(rng.choice(["diag", "full", "spherical"]))
    X = groups + rng.standard_normal((n, p))
    if kind != "spherical":  # which has one unit for all columns
        X *= 10.0 ** rng.uniform(-1, 1, p)
    if few:
        X, K = X / X.std(0), min(K, 3)
    K = min(K + int(rng.integers(2)), 3 if few else 5)
    model = BayesianGMM(K, covariance_type=kind, standardize=not few, random_state=seed).fit(X)
    return model, (lambda: mixture_reference(X, K)) if few else None


def decay(p, X, y):
    return normal(y, p["a"] * anp.exp(-X[:, 0] / p["tau"]), 0.3)


def lifetimes(p, X, y):
    t = X[:, 0] / p["scale"]
    return anp.log(p["shape"] / p["scale"]) + (p["shape"] - 1) * anp.log(t) - t ** p["shape"]


def line(p, X, y):
    """A straight line with the errors of a Student t with four degrees of freedom."""
    z = (y - p["b"] - p["a"] * X[:, 0]) / p["s"]
    return gammaln(2.5) - gammaln(2.0) - 0.5 * np.log(4 * np.pi) - anp.log(p["s"]) - 2.5 * anp.log1p(z**2 / 4)


def place(p, X, y):
    return -0.5 * ((X[:, 0] - p["m"]) / p["s"]) ** 2 - anp.log(p["s"]) - 0.5 * LOG_2PI


def saturation(p, X, y):
    return normal(y, p["top"] * X[:, 0] / (p["half"] + X[:, 0]), 0.2)


POSITIVE = stats.gamma(2)
CUSTOM = {
    decay: ({"a": stats.norm(0, 3), "tau": POSITIVE}, lambda x, g: 2 * np.exp(-x / 1.5) + 0.3 * g),
    lifetimes: ({"shape": POSITIVE, "scale": stats.gamma(2, scale=2)}, lambda x, g: None),
    line: (
        {"a": stats.norm(0, 2), "b": stats.norm(0, 2), "s": stats.halfnorm()},
        lambda x, g: 1 - 0.5 * x + 0.4 * g,
    ),
    place: ({"m": stats.norm(0, 5), "s": stats.halfcauchy(0, 2)}, lambda x, g: None),
    saturation: ({"top": POSITIVE, "half": POSITIVE}, lambda x, g: 2 * x / (1 + x) + 0.2 * g),
}


def custom(rng, seed):
    """A model of one mode in the user's own words."""
    log_likelihood, (priors, make) = list(CUSTOM.items())[rng.integers(len(CUSTOM))]
    n = int(rng.choice([20, 50, 150]))
    x = rng.gamma(2.0, size=n)
    y = make(x, rng.standard_normal(n))
    model = BayesianModel(log_likelihood, priors, random_state=seed).fit(x[:, None], y)

    def log_joint(z):
        u = np.clip(ndtr(z), 1e-300, 1 - 1e-16)
        p = {name: prior.ppf(u[:, [j]]) for j, (name, prior) in enumerate(priors.items())}
        return normal(z).sum(axis=1) + log_likelihood(p, x[:, None], y).sum(axis=1)

    return model, lambda: by_importance(log_joint, len(priors), rng)


# -- hierarchies --------------------------------------------------------------------------------------------


def effects(rng, way, se_of_tau):
    """y_j ~ N(θ_j, se_j), θ_j ~ N(μ, τ): in the likelihood, as μ + τ z, or by priors."""
    J, tau = int(rng.integers(5, 16)), rng.uniform(0.5, 3)
    se = tau * se_of_tau * rng.uniform(0.7, 1.4, J)
    y = rng.normal(3, np.hypot(se, tau))

    def of_rows(theta):
        return -0.5 * ((y - theta) / se) ** 2 - np.log(se) - 0.5 * LOG_2PI

    population = {"mu": stats.norm(0, 5), "tau": stats.halfcauchy(0, 3)}
    mu, w = nodes(-30, 30, 400)
    t, w_t = nodes(-16, 7, 700)
    joint = population["tau"].logpdf(np.exp(t)) + t + w_t
    joint = joint[:, None] + population["mu"].logpdf(mu) + w
    joint = joint + sum(normal(y[j], mu, np.hypot(se[j], np.exp(t))[:, None]) for j in range(J))
    exact = logsumexp(joint)
    if way == "by hand":
        flat = {"th": (stats.uniform(-100, 200), J)}

        def ll(p):
            u = (p["th"] - p["mu"]) / p["tau"]
            return anp.sum(of_rows(p["th"]) - 0.5 * u**2 - anp.log(p["tau"]) - 0.5 * LOG_2PI, axis=1)

        return BayesianModel(ll, population | flat), (), exact - J * np.log(200)
    if way == "deviations":
        return (
            BayesianModel(
                lambda p: anp.sum(of_rows(p["mu"] + p["tau"] * p["z"]), axis=1),
                population | {"z": (stats.norm(), J)},
            ),
            (),
            exact,
        )
    grouped = {"th": (lambda p: stats.norm(p["mu"], p["tau"]), J)}
    return BayesianModel(lambda p: anp.sum(of_rows(p["th"]), axis=1), population | grouped), (), exact


def intercepts(rng, way, se_of_tau):
    """Five rows of each group with an unknown noise σ; μ, σ and τ are integrated by quadrature."""
    J, m, tau = int(rng.integers(5, 13)), 5, 1.0
    sigma = tau * se_of_tau * m**0.5
    g = np.repeat(np.arange(J), m)
    y = 1 + rng.normal(0, tau, J)[g] + sigma * rng.standard_normal(J * m)
    scale = {"sigma": stats.halfnorm(0, 5), "tau": stats.halfnorm(0, 5)}
    population = {"mu": stats.norm(0, 5)} | scale
    means, within = y.reshape(J, m).mean(1), np.sum((y.reshape(J, m) - y.reshape(J, m).mean(1)[:, None]) ** 2)
    (t, w_t), (s, w_s), (mu, w) = nodes(-14, 3.5, 220), nodes(-6, 3.5, 160), nodes(-12, 14, 160)
    log_s = J * (m - 1) * (-s - 0.5 * LOG_2PI) - 0.5 * within * np.exp(-2 * s) - 0.5 * J * np.log(m)
    log_s = log_s + scale["sigma"].logpdf(np.exp(s)) + s + w_s
    spread = np.sqrt(np.exp(2 * t)[:, None] + np.exp(2 * s) / m)[:, :, None]
    joint = sum(normal(mean, mu, spread) for mean in means) + population["mu"].logpdf(mu) + w
    joint = logsumexp(joint, axis=2) + log_s + (scale["tau"].logpdf(np.exp(t)) + t + w_t)[:, None]
    exact = logsumexp(joint)

    def of_rows(p, theta, y):
        return -0.5 * ((y - theta[:, g]) / p["sigma"]) ** 2 - anp.log(p["sigma"]) - 0.5 * LOG_2PI

    if way == "deviations":

        def ll(p, X, y):
            return of_rows(p, p["mu"] + p["tau"] * p["z"], y)

        model = BayesianModel(ll, population | {"z": (stats.norm(), J)})
    else:

        def ll(p, X, y):
            return of_rows(p, p["th"], y)

        model = BayesianModel(ll, population | {"th": (lambda p: stats.norm(p["mu"], p["tau"]), J)})
    return model, (g[:, None].astype(float), y), exact


def rates(rng, way, se_of_tau):
    """Counts with rates from a gamma distribution, or shares from a beta: a and b by quadrature."""
    J, is_count = int(rng.integers(5, 13)), rng.random() < 0.5
    size = 200.0 if se_of_tau < 1 else 3.0
    population = {"a": stats.gamma(2, scale=2), "b": stats.gamma(2, scale=2)}
    (t, w), (s, w_s) = nodes(-12, 4.5, 400), nodes(-12, 4.5, 400)
    joint = (population["a"].logpdf(np.exp(t)) + t + w)[:, None] + population["b"].logpdf(np.exp(s)) + s + w_s
    a, b = np.exp(t)[:, None], np.exp(s)
    if is_count:
        y = rng.poisson(size * rng.gamma(3.0, 1 / 2.0, J))
        joint = joint + sum(
            a * np.log(b) + gammaln(a + k) - gammaln(a) - (a + k) * np.log(b + size) for k in y
        ) + np.sum(y * np.log(size) - gammaln(y + 1))  # fmt: skip

        def ll(p):
            rate = size * p["th"]
            return anp.sum(y * anp.log(rate) - rate - gammaln(y + 1), axis=1)

        grouped = lambda p: stats.gamma(p["a"], scale=1 / p["b"])  # noqa: E731
    else:
        n = int(size)
        y = rng.binomial(n, rng.beta(3.0, 5.0, J))
        choose = np.sum(gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1))
        joint = joint + sum(betaln(a + k, b + n - k) - betaln(a, b) for k in y) + choose

        def ll(p):
            return anp.sum(y * anp.log(p["th"]) + (n - y) * anp.log1p(-p["th"]), axis=1) + choose

        grouped = lambda p: stats.beta(p["a"], p["b"])  # noqa: E731
    return BayesianModel(ll, population | {"th": (grouped, J)}), (), logsumexp(joint)


def hierarchy(rng, seed):
    make = (effects, effects, intercepts, rates)[rng.integers(4)]
    way = str(rng.choice(["by hand", "deviations", "priors"]))
    measured = str(rng.choice(["well", "badly"]))
    if make is rates or (make is intercepts and way == "by hand"):
        way = "priors"
    model, rows, exact = make(rng, way, 0.2 if measured == "well" else 2.0)
    model.set_params(random_state=seed).fit(*rows)
    model.kind_ = f"{make.__name__}, {way}, {measured} measured"
    return model, lambda: (exact, 0.0)


KINDS = dict(family=family, classes=classes, mixture=mixture, custom=custom, hierarchy=hierarchy)
#: The ordinary ones, families twice.
ORDINARY = ["family", "custom", "mixture", "family", "classes"]


def run(number, kinds):
    rng = np.random.default_rng(number)
    kind = kinds[number % len(kinds)]
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, reference = KINDS[kind](rng, int(rng.integers(2**31)))
    said = [str(w.message)[:120] for w in caught if issubclass(w.category, EvidenceWarning)]
    what = getattr(model, "kind_", str(getattr(model, "family", getattr(model, "n_components", ""))))
    line = dict(
        number=number, kind=kind, what=what, seconds=round(time.process_time() - start, 2), warned=said
    )
    line |= dict(log_evidence=float(model.log_evidence_), std=float(model.log_evidence_std_))
    if reference is None:
        return line | dict(verdict="warned" if said else "no reference")
    known, std = reference()
    off, spread = line["log_evidence"] - known, float(np.hypot(line["std"], std))
    line |= dict(off=float(off), reference_std=float(std), z=float(off / max(spread, 1e-9)))
    wrong = abs(off) > BEYOND * spread + NATS
    verdict = "warned" if said else "no reference" if std > VAGUE else "SILENT" if wrong else "right"
    return line | dict(verdict=verdict)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, required=True, help="number of the first case")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--kinds", nargs="+", default=ORDINARY, choices=list(KINDS))
    args = parser.parse_args()
    counts, z = Counter(), {}
    for number in range(args.first, args.first + args.count):
        line = run(number, args.kinds)
        counts[line["kind"], line["verdict"]] += 1
        if "z" in line and line["std"] > 0 and line["verdict"] != "no reference":
            z.setdefault(line["kind"], []).append(line["z"])
        print(json.dumps(line), flush=True)
    for (kind, verdict), count in sorted(counts.items()):
        print(f"# {kind:10} {verdict:12} {count}")
    for kind, of_kind in z.items():
        mean, sd, most = np.mean(of_kind), np.std(of_kind), np.abs(of_kind).max()
        print(f"# {kind:10} z: mean {mean:+.2f}, sd {sd:.2f}, largest {most:.1f}")


if __name__ == "__main__":
    main()
