"""Other people's evidence on the same likelihood, rows and core: dynesty, ultranest, particles, Laplace.

    python peers.py --rows 1000 10000 100000 --seeds 3 --timeout 600 --markdown peers.md

The model is linear regression with known noise, where the answer is known.  Every peer gets the full-data
likelihood in its best numpy form for the way it asks: one θ (a matrix–vector product), or many (blocks of
rows that fit the cache).  With --moments all that can (and nothing else) also get XᵀX and Xᵀy in place of the
rows, a trick that only this model allows.  A peer that is not done after --timeout seconds is stopped and its
time extrapolated, which the table marks.  Peers that are not installed are left out:

    pip install ".[bench]"       # dynesty, ultranest
    pip install --no-deps particles      # its numpy<2 pin is out of date
"""

import argparse
import importlib.util
import logging
import warnings
from time import perf_counter
from typing import NamedTuple

import numpy as np
from bench import check_one_thread, make_case, number, report, seconds
from references import laplace
from scipy.special import ndtri

from sgevidence import SGAIS

BLOCK = 200_000  #: particles × rows at a time
NAMES = [f"w{i}" for i in range(6)]


class Answer(NamedTuple):
    log_evidence: float  #: nan if it did not finish
    std: float  #: as the peer reports it; nan if it does not
    time: float
    extrapolated: bool = False
    n_likelihoods: float = np.nan  #: evaluations over all rows


class Likelihood:
    """log p(y | θ) of rows, counted, for one θ or many; stops its caller when time is up."""

    def __init__(self, case, timeout, moments=False):
        X, self.y = case.rows.X, case.rows.y
        self.Phi, self.n = np.column_stack([X, np.ones(len(X))]), len(X)
        self.constant, self.count = -0.5 * len(X) * np.log(2 * np.pi), 0.0
        self.timeout, self.log_Z = timeout, case.model.exact_log_evidence(case.rows)
        self.A, self.b, self.c = (
            (self.Phi.T @ self.Phi, self.Phi.T @ self.y, self.y @ self.y) if moments else [None] * 3
        )
        self.start = perf_counter()

    @property
    def elapsed(self):
        return perf_counter() - self.start

    @property
    def late(self):
        return self.elapsed > self.timeout

    def one(self, theta):
        self.count += 1
        if self.A is not None:
            return self.constant - 0.5 * (self.c + (self.A @ theta - 2 * self.b) @ theta)
        r = self.y - self.Phi @ theta
        return self.constant - 0.5 * (r @ r)

    def many(self, theta, rows=None):
        """For particles (M, 6); of the first ``rows`` rows only, if given."""
        n = self.n if rows is None else rows
        self.count += len(theta) * n / self.n
        constant = -0.5 * n * np.log(2 * np.pi)
        if self.A is not None and n == self.n:
            return constant - 0.5 * (self.c + np.sum((theta @ self.A - 2 * self.b) * theta, axis=1))
        total, block = np.zeros(len(theta)), max(64, BLOCK // len(theta))
        for i in range(0, n, block):
            j = min(i + block, n)
            r = theta @ self.Phi[i:j].T
            r -= self.y[i:j]
            total += np.einsum("mn,mn->m", r, r)
        return constant - 0.5 * total

    def information(self):
        """Nats from prior to posterior, in closed form: how far nested sampling has to go."""
        A = self.Phi.T @ self.Phi + np.eye(6)
        C = np.linalg.inv(A)
        m = C @ (self.Phi.T @ self.y)
        r = self.y - self.Phi @ m
        mean = self.constant - 0.5 * (r @ r + np.sum((self.Phi @ C) * self.Phi))
        return mean - self.log_Z


def sgevidence(case, likelihood, rng):
    result = SGAIS().run(case.model, case.rows, rng)
    return Answer(result.log_evidence, result.log_evidence_std, likelihood.elapsed)


def laplace_fit(case, likelihood, rng):
    return Answer(laplace(case.model, case.rows, np.zeros(6)).log_evidence, np.nan, likelihood.elapsed)


def dynesty(case, likelihood, rng):
    """Static nested sampling, 500 live points, its default bounds and moves."""
    from dynesty import NestedSampler

    sampler = NestedSampler(likelihood.one, ndtri, 6, nlive=500, rstate=rng)
    for result in sampler.sample():
        if likelihood.late:
            return stopped(likelihood, -result.logvol)
    for _ in sampler.add_live_points():
        pass
    r = sampler.results
    return Answer(r.logz[-1], r.logzerr[-1], likelihood.elapsed, n_likelihoods=likelihood.count)


def stopped(likelihood, compressed):
    """Nested sampling costs the same for every nat of the prior that it shrinks, or more later."""
    share = min(
        1.0, compressed / (likelihood.information() + 6)
    )  # it ends some nats past the posterior's bulk
    time = likelihood.elapsed / share
    return Answer(np.nan, np.nan, time, True, likelihood.count / share)


def ultranest(case, likelihood, rng):
    """Reactive nested sampling, 400 live points, vectorised."""
    from ultranest import ReactiveNestedSampler

    logging.getLogger("ultranest").setLevel(logging.ERROR)
    np.random.seed(rng.integers(2**31))  # noqa: NPY002  (it has no generator of its own)
    sampler = ReactiveNestedSampler(NAMES, likelihood.many, ndtri, vectorized=True, log_dir=None)
    last = {}

    def watch(points, info, *args, **kwargs):
        last["logvol"] = info["logvol"]
        if likelihood.late:
            raise TimeoutError

    try:
        r = sampler.run(show_status=False, viz_callback=watch, dlogz=0.5)
    except TimeoutError:
        return stopped(likelihood, -last["logvol"])
    return Answer(r["logz"], r["logzerr"], likelihood.elapsed, n_likelihoods=likelihood.count)


def tempering(case, likelihood, rng):
    """Adaptive tempering, waste-free: 100 chains of 50, ESS kept at half."""
    from particles import smc_samplers as ssp

    return smc(ssp.AdaptiveTempering(particles_model(likelihood), len_chain=50), likelihood, rng)


def ibis(case, likelihood, rng):
    """IBIS, one row at a time, waste-free: 100 chains of 50."""
    from particles import smc_samplers as ssp

    return smc(ssp.IBIS(particles_model(likelihood), len_chain=50), likelihood, rng)


def smc(kind, likelihood, rng):
    from particles import SMC

    np.random.seed(rng.integers(2**31))  # noqa: NPY002  (it has no generator of its own)
    algorithm, first = SMC(kind, N=100), None
    for _ in algorithm:
        exponents = algorithm.X.shared.get("exponents")
        if exponents and first is None:
            first = np.log(exponents[-1])
        if likelihood.late:  # the exponent grows geometrically; IBIS has done t of its n steps
            done = 1 - np.log(exponents[-1]) / first if exponents else algorithm.t / likelihood.n
            if done < 1:
                done = max(done, 1e-3)
                return Answer(np.nan, np.nan, likelihood.elapsed / done, True, likelihood.count / done)
    return Answer(algorithm.logLt, np.nan, likelihood.elapsed, n_likelihoods=likelihood.count)


def particles_model(likelihood):
    """The likelihood as the package wants it, with sums over rows in one go rather than row by row."""
    from numpy.lib.recfunctions import structured_to_unstructured
    from particles import distributions, smc_samplers

    class Linear(smc_samplers.StaticModel):
        def logpyt(self, theta, t):
            r = likelihood.y[t] - structured_to_unstructured(theta) @ likelihood.Phi[t]
            likelihood.count += len(theta) / likelihood.n
            return -0.5 * (r * r + np.log(2 * np.pi))

        def loglik(self, theta, t=None):
            n = likelihood.n if t is None else t + 1
            return likelihood.many(structured_to_unstructured(theta), n) if n else np.zeros(len(theta))

    prior = distributions.StructDist({name: distributions.Normal() for name in NAMES})
    return Linear(data=likelihood.y, prior=prior)


PEERS = {"sgevidence": (sgevidence, None), "Laplace": (laplace_fit, None), "dynesty": (dynesty, "dynesty"),
         "ultranest": (ultranest, "ultranest"), "particles tempering": (tempering, "particles"),
         "particles IBIS": (ibis, "particles")}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds a run, then extrapolate")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument(
        "--moments", action="store_true", help="also with the moments trick, for the peers only"
    )
    parser.add_argument("--markdown", help="file for the table")
    args = parser.parse_args()
    check_one_thread()
    warnings.simplefilter("ignore")
    chosen = []
    for name in dict.fromkeys(["sgevidence", *args.peers]):
        run, package = PEERS[name]
        if package and importlib.util.find_spec(package) is None:
            print(f"{name}: not installed, left out")
            continue
        chosen.append((name, run, False))
        if args.moments and package and name != "particles IBIS":
            chosen.append((f"{name}, moments", run, True))
    for _, run, moments in chosen:  # imports and compilation are nobody's time
        case = make_case("linear", 100, 1)
        run(case, Likelihood(case, 2.0, moments), np.random.default_rng(0))
    body = []
    for n in args.rows:
        answers = {name: [] for name, *_ in chosen}
        for seed in range(1, args.seeds + 1):
            case = make_case("linear", n, seed)
            exact = case.model.exact_log_evidence(case.rows)
            for name, run, moments in chosen:
                a = run(case, Likelihood(case, args.timeout, moments), np.random.default_rng([seed, 7]))
                answers[name].append((a.log_evidence - exact, a.std, a.time, a.n_likelihoods, a.extrapolated))
                mark = " extrapolated" if a.extrapolated else ""
                print(f"n={n} seed={seed} {name:22} error {number(a.log_evidence - exact, 3, True)} "
                      f"std {number(a.std, 3)} {seconds(a.time)}{mark}", flush=True)  # fmt: skip
        ours = np.median([t for _, _, t, _, _ in answers["sgevidence"]])
        for name, *_ in chosen:
            errors, stds, times, counts, guessed = (np.array(column) for column in zip(*answers[name]))
            mark = " (extrapolated)" if guessed.any() else ""
            body.append([n, name, number(np.sqrt(np.mean(errors**2)), 3), number(np.mean(stds), 3),
                         number(np.median(counts), 0), seconds(np.median(times)) + mark,
                         number(np.median(times) / ours, 1)])  # fmt: skip
    header = [
        "n",
        "method",
        "RMS error",
        "reported std",
        "full-data likelihoods",
        "time",
        "time / sgevidence",
    ]
    notes = [f"Linear regression, 5 features + intercept, σ = 1; {args.seeds} seeds, medians of time."]
    report("Peers", header, body, args.markdown, notes)


if __name__ == "__main__":
    main()
