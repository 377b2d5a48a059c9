"""Price of the evidence, kind by kind, in prices of the point estimate that others would run.

    pip install statsmodels hmmlearn dynesty       # peers; a line whose peer is missing has no ratio
    OMP_NUM_THREADS=1 python examples/benchmarks/ten_times.py [--seed 1] [--only WORD]

Both sides run in the same process by turns, on the same rows; seconds are processor time, the median of three
runs where a run takes less than a second.  Fits by R (lme4, mgcv) are numbers of another day on an idle
machine: their ratios say the order only.  One run takes less than ten minutes; it prints the table of
docs/benchmarks.md as it stands there, and says on stderr how far it is.
"""

import argparse
import os
import platform
import sys
import warnings
from collections.abc import Callable
from datetime import date
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import BayesianRidge, LogisticRegressionCV
from sklearn.mixture import GaussianMixture

import sgevidence as sge

#: Seconds of lmer and glmer (lme4) and gam (mgcv), 2026-11-28, one thread, on other rows of these sizes;
#: how many rows the crossed ones had is not known.
R_SECONDS = {
    "100 groups of 20": 0.03,
    "1000 groups of 20": 0.29,
    "crossed 300 x 100, Gaussian": 0.13,
    "crossed 60 x 40, Bernoulli": 0.45,
    "curve, Bernoulli, 2000 rows": 0.25,
}
#: Runs of a fit of less than SHORT_SECONDS.
N_RUNS, SHORT_SECONDS = 3, 1.0

CASES: dict[str, tuple[str, Callable]] = {}


class Job(NamedTuple):
    """A fit that returns an estimator, or several, and the peer that is timed beside it."""

    evidence: Callable[[], Any]
    peer: Callable[[], Any] | float | None  #: seconds of R, or none


def case(name: str, peer: str) -> Callable:
    """Enter a maker of a job under its name, with the name of its peer."""

    def entered(maker: Callable) -> Callable:
        CASES[name] = peer, maker
        return maker

    return entered


# -- families ------------------------------------------------------------------------------------------------


def regression(rng: np.random.Generator, n: int = 1000, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, d))
    return X, 0.5 + X @ (0.4 * rng.standard_normal(d))


#: y of η, by family.
LAWS: dict[str, Callable] = {
    "poisson": lambda eta, rng: rng.poisson(np.exp(eta)),
    "bernoulli": lambda eta, rng: rng.binomial(1, expit(eta)),
    "negative_binomial": lambda eta, rng: rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, len(eta))),
    "zero_inflated_poisson": lambda eta, rng: rng.poisson(np.exp(eta)) * (rng.random(len(eta)) > 0.3),
    "zero_inflated_negative_binomial": lambda eta, rng: (
        rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, len(eta))) * (rng.random(len(eta)) > 0.3)
    ),
    "gamma": lambda eta, rng: np.exp(eta) * rng.gamma(2.0, 0.5, len(eta)),
    "beta": lambda eta, rng: np.clip(rng.beta(8 * expit(eta), 8 * expit(-eta)), 1e-9, 1 - 1e-9),
    "ordinal": lambda eta, rng: np.digitize(eta + rng.logistic(size=len(eta)), [-1.0, 0.5, 2.0]),
    "student_t": lambda eta, rng: eta + 0.5 * rng.standard_t(4, len(eta)),
    "weibull": lambda eta, rng: np.exp(eta) * rng.weibull(1.5, len(eta)),
    "lognormal": lambda eta, rng: np.exp(eta + 0.7 * rng.standard_normal(len(eta))),
}


def by_statsmodels(family: str, X: np.ndarray, y: np.ndarray) -> Any:
    """Maximum likelihood; None for families that it does not have."""
    import statsmodels.api as sm
    from statsmodels.discrete.count_model import ZeroInflatedNegativeBinomialP, ZeroInflatedPoisson
    from statsmodels.miscmodels.ordinal_model import OrderedModel
    from statsmodels.othermod.betareg import BetaModel

    A = sm.add_constant(X)
    if family == "ordinal":
        return OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=0)
    if family == "beta":
        return BetaModel(y, A).fit(disp=0)
    if family == "gamma":
        return sm.GLM(y, A, family=sm.families.Gamma(sm.families.links.Log())).fit()
    models = {
        "poisson": sm.Poisson,
        "bernoulli": sm.Logit,
        "negative_binomial": sm.NegativeBinomial,
        "zero_inflated_poisson": ZeroInflatedPoisson,
        "zero_inflated_negative_binomial": ZeroInflatedNegativeBinomialP,
    }
    options = {"method": "bfgs", "maxiter": 500} if family.startswith("zero") else {}
    return models[family](y, A).fit(disp=0, **options) if family in models else None


def _family(family: str) -> None:
    has_peer = family not in ("student_t", "weibull", "lognormal")

    @case(f"{family}, 1000 x 4", "statsmodels" if has_peer else "")
    def maker(rng: np.random.Generator) -> Job:
        X, eta = regression(rng)
        y = LAWS[family](eta, rng)
        model = sge.BayesianGLM(family=family, random_state=0)
        return Job(lambda: model.fit(X, y), (lambda: by_statsmodels(family, X, y)) if has_peer else None)


for _name in LAWS:
    _family(_name)


# -- effects -------------------------------------------------------------------------------------------------


def _groups(n_groups: int) -> None:
    @case(f"{n_groups} groups of 20", "lmer (R)")
    def maker(rng: np.random.Generator) -> Job:
        g = np.repeat(np.arange(n_groups), 20)
        x = rng.standard_normal(len(g))
        b = rng.standard_normal((2, n_groups))
        y = 0.5 * x + b[0, g] + 0.5 * b[1, g] * x + rng.standard_normal(len(g))
        table = pd.DataFrame({"x": x, "g": g, "y": y})
        model = sge.BayesianLinearRegression(formula="y ~ x + (1 + x | g)", random_state=0)
        return Job(lambda: model.fit(table), R_SECONDS[f"{n_groups} groups of 20"])


for _n in (100, 1000):
    _groups(_n)


def _crossed(n_rows: int, n_a: int, n_b: int, kind: str) -> None:
    name = f"crossed {n_a} x {n_b}, {kind}"

    @case(name, "lmer (R)" if kind == "Gaussian" else "glmer (R)")
    def maker(rng: np.random.Generator) -> Job:
        a, b, x = rng.integers(n_a, size=n_rows), rng.integers(n_b, size=n_rows), rng.standard_normal(n_rows)
        eta = 0.5 * x + rng.standard_normal(n_a)[a] + 0.7 * rng.standard_normal(n_b)[b]
        is_gaussian = kind == "Gaussian"
        y = eta + rng.standard_normal(n_rows) if is_gaussian else rng.binomial(1, expit(eta))
        table, formula = pd.DataFrame({"x": x, "a": a, "b": b, "y": y}), "y ~ x + (1 | a) + (1 | b)"
        model = sge.BayesianLinearRegression(formula=formula, random_state=0)
        if not is_gaussian:
            model = sge.BayesianGLM("bernoulli", formula=formula, random_state=0)
        return Job(lambda: model.fit(table), R_SECONDS[name])


_crossed(10_000, 300, 100, "Gaussian")
_crossed(2400, 60, 40, "Bernoulli")


@case("curve, Bernoulli, 2000 rows", "gam (R)")
def curve(rng: np.random.Generator) -> Job:
    x = rng.uniform(-3, 3, 2000)
    table = pd.DataFrame({"x": x, "y": rng.binomial(1, expit(np.sin(2 * x)))})
    model = sge.BayesianGLM("bernoulli", formula="y ~ s(x)", random_state=0)
    return Job(lambda: model.fit(table), R_SECONDS["curve, Bernoulli, 2000 rows"])


# -- columns -------------------------------------------------------------------------------------------------


def _wide(n: int, d: int) -> None:
    @case(f"linear, {n} x {d}", "BayesianRidge")
    def maker(rng: np.random.Generator) -> Job:
        X = rng.standard_normal((n, d))
        y = X[:, :3] @ np.ones(3) + rng.standard_normal(n)
        model = sge.BayesianLinearRegression(random_state=0)
        return Job(lambda: model.fit(X, y), lambda: BayesianRidge().fit(X, y))


for _size in ((1000, 4), (200, 200), (500, 500), (200, 3000)):
    _wide(*_size)


def _subsets(d: int) -> None:
    @case(f"subsets of {d} columns, breast cancer", "logistic regression, L1, CV")
    def maker(rng: np.random.Generator) -> Job:
        X, y = load_breast_cancer(return_X_y=True)
        X = ((X - X.mean(axis=0)) / X.std(axis=0))[:, :d]
        selector = sge.EvidenceFeatureSelector(sge.BayesianGLM("bernoulli"), random_state=0)
        lasso = LogisticRegressionCV(l1_ratios=(1.0,), solver="saga", Cs=10, cv=5, max_iter=2000)
        return Job(lambda: selector.fit(X, y), lambda: lasso.fit(X, y))


for _d in (10, 30):
    _subsets(_d)


# -- mixtures and hidden states ------------------------------------------------------------------------------


def _mixtures(n: int, distance: float, word: str) -> None:
    @case(f"mixtures K = 1 ... 7, {word}, {n} x 4", "EM and BIC, ten starts")
    def maker(rng: np.random.Generator) -> Job:
        centres = distance * rng.standard_normal((3, 4))
        X = centres[rng.integers(3, size=n)] + rng.standard_normal((n, 4))

        def evidence() -> Any:
            search = sge.EvidenceSearch(sge.BayesianGMM(random_state=0), {"n_components": range(1, 8)})
            return search.fit(X)

        def bic() -> Any:
            kinds = dict(covariance_type="diag", n_init=10, random_state=0)
            return min(GaussianMixture(K, **kinds).fit(X).bic(X) for K in range(1, 8))

        return Job(evidence, bic)


_mixtures(1000, 1.0, "overlapping")
_mixtures(1000, 4.0, "separated")


@case("hidden states K = 1 ... 4, 2000 x 2", "hmmlearn, five starts")
def hidden_states(rng: np.random.Generator) -> Job:
    z = np.zeros(2000, dtype=int)
    for t in range(1, 2000):
        z[t] = z[t - 1] if rng.random() < 0.9 else rng.integers(3)
    X = np.array([[-3.0, 0.0], [0.0, 3.0], [3.0, 0.0]])[z] + rng.standard_normal((2000, 2))

    def by_hmmlearn() -> Any:
        from hmmlearn.hmm import GaussianHMM

        fits = [GaussianHMM(K, n_iter=100, random_state=s).fit(X) for K in range(1, 5) for s in range(5)]
        return max(fit.score(X) for fit in fits)

    return Job(lambda: [sge.BayesianHMM(K, random_state=0).fit(X) for K in range(1, 5)], by_hmmlearn)


# -- a model of one's own ------------------------------------------------------------------------------------


@case("own model, 5 parameters", "dynesty")
def own_model(rng: np.random.Generator) -> Job:
    import autograd.numpy as anp

    X, eta = regression(rng, 200)
    y = eta + 0.5 * rng.standard_t(4, 200)
    names = [f"w{j}" for j in range(4)]

    def log_likelihood(p: dict, X: np.ndarray, y: np.ndarray) -> Any:
        z = y - 0.5 - sum(p[name] * X[:, j] for j, name in enumerate(names))
        return -anp.log(p["scale"]) - anp.log(anp.pi) - anp.log1p((z / p["scale"]) ** 2)

    priors = {name: stats.norm(0, 1) for name in names} | {"scale": stats.lognorm(1)}
    model = sge.BayesianModel(log_likelihood, priors, random_state=0)

    def by_dynesty() -> Any:
        from dynesty import NestedSampler

        laws = list(priors.values())

        def log_L(theta: np.ndarray) -> float:
            z = (y - 0.5 - X @ theta[:4]) / theta[4]
            return float(np.sum(-np.log(np.pi * theta[4]) - np.log1p(z**2)))

        def transform(u: np.ndarray) -> np.ndarray:
            return np.array([law.ppf(one) for law, one in zip(laws, u)])

        sampler = NestedSampler(log_L, transform, 5, nlive=500, rstate=np.random.default_rng(0))
        return sampler.run_nested(print_progress=False)

    return Job(lambda: model.fit(X, y), by_dynesty)


# -- the table -----------------------------------------------------------------------------------------------


def seconds(*functions: Callable) -> list[tuple[float, Any]]:
    """Median seconds of each, by turns, and what the last run returned."""
    took: list[list[float]] = [[] for _ in functions]
    found: list[Any] = [None] * len(functions)
    for _ in range(N_RUNS):
        for k, function in enumerate(functions):
            if took[k] and took[k][0] >= SHORT_SECONDS:
                continue
            start = process_time()
            found[k] = function()
            took[k].append(process_time() - start)
    return [(median(times), one) for times, one in zip(took, found)]


def error_bars(fitted: Any) -> str:
    """Standard errors of the log evidence, nats, the largest of several."""
    if hasattr(fitted, "cv_results_"):
        return f"{np.max(fitted.cv_results_['mean_test_log_evidence_std']):.3f}"
    several = fitted if isinstance(fitted, list) else [fitted]
    return f"{max(float(getattr(one, 'log_evidence_std_', np.nan)) for one in several):.3f}"


def row(name: str, peer: str, job: Job) -> tuple[list[str], str]:
    """Cells of a line: name, seconds, peer, its seconds, ratio; and the error bar."""
    if not callable(job.peer):
        ((ours, fitted),) = seconds(job.evidence)
        theirs = job.peer
    else:
        try:
            (ours, fitted), (theirs, _) = seconds(job.evidence, job.peer)
        except ImportError as error:
            peer, theirs = f"{peer} (not installed: {error.name})", None
            ((ours, fitted),) = seconds(job.evidence)
    cells = ["", ""] if theirs is None else [f"{theirs:.3f}", f"{ours / theirs:.1f}"]
    return [name, f"{ours:.3f}", peer, *cells], error_bars(fitted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name has this word")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    head = ["kind", "evidence, s", "point estimate", "s", "times it"]
    machine = f"{platform.machine()}, one thread, load {os.getloadavg()[0]:.1f}"
    print(f"{date.today()}, seed {options.seed}, {machine}", file=sys.stderr)
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    start = perf_counter()
    for number, (name, (peer, maker)) in enumerate(CASES.items()):
        if options.only in name:
            cells, error_bar = row(name, peer, maker(np.random.default_rng([options.seed, number])))
            print("| " + " | ".join(cells) + " |", flush=True)
            print(f"± {error_bar} nats, {perf_counter() - start:.0f} s so far", file=sys.stderr)


if __name__ == "__main__":
    main()
