"""Reference log evidences that owe nothing to the sampler: closed form, Laplace, importance sampling, bridge.

Mixtures have K! equal labellings: importance and bridge sampling integrate over one of them only, the region
A = {θ : model.is_canonical(θ)} around a mode, and add log K!.  A is fixed and an exact fundamental domain, so
that is exact however the components overlap.

``check_references.py`` compares all of them with the gold values.
"""

import json
import zlib
from math import lgamma
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import make_case
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from starts import start_for

CACHE = Path(__file__).with_name("references.json")
BRIDGE_ROWS = 20_000  #: up to here ``auto`` goes over to bridge sampling where importance sampling fails
BATCH = 100  #: points evaluated at a time: blocks of 2000 rows


class Reference(NamedTuple):
    """A log evidence and how far to believe it."""

    log_evidence: float
    std: float
    ess: float  #: of importance sampling, or of the proposals in bridge sampling, as a fraction
    method: str
    r_hat: float = 1.0  #: of the chains of bridge sampling

    @property
    def sound(self) -> bool:
        few = self.method.startswith("t imp") and self.ess < 0.05  # it would be low by more than its std says
        return bool(np.isfinite(self.log_evidence) and self.std < 0.2 and self.r_hat < 1.2 and not few)


class Region(NamedTuple):
    """One labelling of a mixture around a mode; everything for other models."""

    model: object
    slots: tuple | None

    @classmethod
    def around(cls, model, mode, precision) -> "Region":
        if model.slots is None:
            return cls(model, None)
        variance = np.diag(np.linalg.inv(precision))
        return cls(model, (mode[model.slots], variance[model.slots]))

    def holds(self, theta):
        return np.ones(len(theta), bool) if self.slots is None else self.model.is_canonical(theta, self.slots)

    @property
    def log_copies(self) -> float:
        return 0.0 if self.slots is None else lgamma(len(self.slots[0]) + 1)

    def log_joint(self, theta, rows):
        """log joint, −∞ outside, in batches whose blocks fit the cache."""
        inside = self.holds(theta) & np.isfinite(theta).all(axis=1)
        out = np.full(len(theta), -np.inf)
        for part in np.array_split(np.flatnonzero(inside), max(1, inside.sum() // BATCH)):
            out[part] = self.model.log_joint(theta[part], rows)
        return out


class Student(NamedTuple):
    """Multivariate t; df = inf is a Gaussian."""

    mean: np.ndarray
    L: np.ndarray
    df: float

    def draw(self, rng, size):
        z = rng.standard_normal((size, len(self.mean)))
        if np.isfinite(self.df):
            z /= np.sqrt(rng.chisquare(self.df, size) / self.df)[:, None]
        return self.mean + z @ self.L.T

    def log_density(self, theta):
        d, df = len(self.mean), self.df
        r2 = np.sum(solve_triangular(self.L, (theta - self.mean).T, lower=True) ** 2, axis=0)
        log_det = np.sum(np.log(np.diag(self.L)))
        if not np.isfinite(df):
            return -0.5 * (r2 + d * np.log(2 * np.pi)) - log_det
        constant = lgamma((df + d) / 2) - lgamma(df / 2) - 0.5 * d * np.log(df * np.pi)
        return constant - log_det - 0.5 * (df + d) * np.log1p(r2 / df)


# -- mode and Laplace ---------------------------------------------------------------------------------------


def find_mode(model, rows, start, tolerance=1e-9, max_iterations=100):
    """Damped Newton from ``start``: mode, precision, log joint there."""
    theta = np.array(start, float)
    for _ in range(max_iterations):
        parts = [model.derivatives(theta, rows), model.prior_derivatives(theta)]
        value, grad, H = (sum(p) for p in zip(*parts))
        width, V = np.linalg.eigh(-H)
        step = V @ ((V.T @ grad) / np.maximum(np.abs(width), 1e-6 * np.abs(width).max()))
        if 0.5 * grad @ step < tolerance:
            break
        trials = theta + 0.5 ** np.arange(20)[:, None] * step
        values = model.log_joint(trials, rows) if len(rows) <= 20_000 else None
        for i, trial in enumerate(trials):
            v = values[i] if values is not None else model.log_joint(trial[None], rows)[0]
            if v > value:
                theta = trial
                break
        else:
            break  # rounding: no step climbs
    if width.min() <= 0:
        raise ValueError("the search for a mode ended at a point that is not a maximum")
    return theta, -H, value


def laplace(model, rows, start) -> Reference:
    """Gaussian integral at the mode: exact as n → ∞."""
    mode, P, value = find_mode(model, rows, start)
    log_Z = value + 0.5 * len(mode) * np.log(2 * np.pi) - np.sum(np.log(np.diag(np.linalg.cholesky(P))))
    region = Region.around(model, mode, P)
    return Reference(float(log_Z + region.log_copies), 0.0, 1.0, "Laplace")


# -- importance sampling ------------------------------------------------------------------------------------


def importance(model, rows, start, rng, draws=None, df=12.0, max_rounds=6) -> Reference:
    """t importance sampling from the Laplace fit; pilot draws refit its moments until the ESS settles."""
    mode, P, _ = find_mode(model, rows, start)
    region, d = Region.around(model, mode, P), len(mode)
    draws = int(np.clip(4e8 / len(rows), 1000, 40_000)) if draws is None else draws
    q = before = Student(mode, np.linalg.cholesky(np.linalg.inv(P)), df)
    ess_before = 0.0
    for i in range(max_rounds):  # pilots choose q; the answer comes from fresh draws
        theta = q.draw(rng, (20 if i == 0 else 100) * d)
        w, ess = _weights(region.log_joint(theta, rows) - q.log_density(theta))
        if i > 1 and ess < 1.1 * ess_before:
            q = q if ess > ess_before else before
            break
        if ess > 0.4:
            break
        if i > 0:  # the first pilot is too small to refit from
            mean, shrink = w @ theta, min(1.0, 0.5 * d / (ess * len(theta)))
            C = (1 - shrink) * (w[:, None] * (theta - mean)).T @ (theta - mean) + shrink * q.L @ q.L.T
            ess_before, before, q = ess, q, Student(mean, np.linalg.cholesky(C), df)
    theta = q.draw(rng, draws)
    log_w = region.log_joint(theta, rows) - q.log_density(theta)
    _, ess = _weights(log_w)
    log_Z = logsumexp(log_w) - np.log(draws) + region.log_copies
    return Reference(float(log_Z), float(np.sqrt((1 / ess - 1) / draws)), float(ess), "t importance sampling")


def effective_fraction(log_w) -> float:
    """ESS of importance weights over their number."""
    return _weights(log_w)[1]


def _weights(log_w):
    """Normalised weights and effective sample size as a fraction."""
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    return w, 1 / np.sum(w**2) / len(w)


# -- choice -------------------------------------------------------------------------------------------------


def gold(case) -> Reference | None:
    """The value of tests/data/gold.json for the same data, if there is one."""
    names = {"linear": "SIM_L_{n}", "softmax": "SIM_S_{n}", "mixture K=5": "SIM_G_{n}"}
    name = names.get(case.name, "OVER_{n}_" + case.name[-3:].replace("=", "")).format(n=len(case.rows))
    entry = json.loads((Path(__file__).parents[2] / "tests/data/gold.json").read_text())["cases"].get(name)
    if case.seed != 1 or entry is None:
        return None
    if _fingerprint(make_case(case.name.split()[0], len(case.rows), 1).rows) != _fingerprint(case.rows):
        return None  # the first rows of a longer stream are other rows
    return Reference(entry["logZ"], entry["se"], 1.0, f"gold: {entry['method']}")


def compute(case, method="auto") -> Reference | None:
    """The reference of a case; None where there is none (more components than made the data)."""
    model, rows = case.model, case.rows
    rng = np.random.default_rng([case.seed, len(rows), 99])
    if method == "none":
        return None
    if case.name == "linear" and method == "auto":
        return Reference(model.exact_log_evidence(rows), 0.0, 1.0, "closed form")
    if method in ("auto", "gold"):
        known = gold(case)
        if known is not None or method == "gold":
            return known
    start = start_for(case)
    if start is None:
        return None
    if method == "laplace" or (method == "auto" and case.name == "softmax" and len(rows) >= 300_000):
        return laplace(model, rows, start)
    if method != "bridge":
        answer = importance(model, rows, start, rng)
        if answer.sound or method == "importance" or len(rows) > BRIDGE_ROWS:
            return answer
    from bridge import bridge

    return bridge(model, rows, start, rng)


def reference(case, method="auto", cache=CACHE) -> Reference | None:
    """As :func:`compute`, remembered in a file of JSON."""
    known = json.loads(cache.read_text()) if cache and cache.exists() else {}
    key = f"{case.name} n={len(case.rows)} seed={case.seed} {method} crc={_fingerprint(case.rows)}"
    if key not in known:
        answer = compute(case, method)
        if answer is None or case.name == "linear":
            return answer
        known[key] = list(answer)
        if cache:
            cache.write_text(json.dumps(known, indent=1))
    return Reference(*known[key])


def _fingerprint(rows) -> str:
    """Data of one name may come from another place: the first rows of a longer stream, another version."""
    y = b"" if rows.y is None else np.ascontiguousarray(rows.y).tobytes()
    return f"{zlib.crc32(y, zlib.crc32(np.ascontiguousarray(rows.X).tobytes())):08x}"
