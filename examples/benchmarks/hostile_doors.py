"""Hostile inputs of hypothesis tests, terms, units, mixtures by K, the selector and the command line.

    python hostile_doors.py --first 1000 --count 400          # one JSON line per case, a summary at the end
    python hostile_doors.py --first 1000 --count 50 --kinds terms command

A case is drawn from its number alone, as in ``hostile.py``, whose words for the verdicts are used.

References:

    test       the density of t integrated over g, or sums over the counts
    terms,     the same rows in other units, by factors and shifts that are powers of two, without a
    units,     rounding: the evidence changes by the Jacobian and by nothing else
    selector
    by_k       the sum over all allocations of at most six rows, for every K that one fit answers
    argument   a wrong value of one argument: it is named, whatever the value
    command    a table that is broken in one way: an exit code, no traceback
"""

import inspect
import signal
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import mpmath as mp
import numpy as np
import pandas as pd
from hostile import BEYOND, NATS, PATIENCE, TookTooLong, _stop, mixture_reference, report
from scipy.special import logsumexp
from typer.testing import CliRunner

from sgevidence import (
    BayesianAutoregression,
    BayesianCategoricalMixture,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    DivergenceError,
    EvidenceFeatureSelector,
    EvidenceMonitor,
    EvidenceWarning,
    Factor,
    Group,
    Interaction,
    Smooth,
    hypothesis_tests,
)
from sgevidence.cli._app import app

#: Nats by which two fits of the same rows may differ in silence where the answer is a closed form: sums of
#: numbers far from zero keep fewer digits.
ROUNDING = 1e-4


# -- tests --------------------------------------------------------------------------------------------------


def jzs(t, df, N, r):
    """Log Bayes factor of a Cauchy prior of the effect against none: g ~ IG(1/2, r²/2) on a grid."""
    u = np.linspace(-40, 440, 96_001)
    N, square = float(N), float(t * t / df)
    like = (df + 1) / 2 * (np.log1p(square) - np.log1p(square / (1 + N * np.exp(u))))
    prior = np.log(r) - 0.5 * np.log(2 * np.pi) - 0.5 * u - r * r / 2 * np.exp(-u)
    return float(logsumexp(like - 0.5 * np.log1p(N * np.exp(u)) + prior) + np.log(u[1] - u[0]))


def far(rng, x):
    """Other units and zeros, repeated values, a value that is far off."""
    kind = rng.integers(6)
    if kind == 0:
        x = x + 10.0 ** rng.integers(2, 13)
    elif kind == 1:
        x = x * 10.0 ** rng.integers(-150, 90)
    elif kind == 2:
        x = np.round(x)
    elif kind == 3:
        x[0] = 10.0 ** rng.integers(2, 12)
    return x


def test(rng):
    """t tests of one and two samples, and counts in a table of two rows."""
    n, m = rng.integers(2, 40, 2)
    kind = rng.integers(4)
    if kind == 3:
        table = rng.poisson(10.0 ** rng.uniform(-1, 5), (2, int(rng.integers(2, 4))))

        def total(cells):
            cells = [mp.mpf(int(c)) for c in np.ravel(cells)]
            k = len(cells)
            return (
                mp.fsum(mp.loggamma(c + 1) for c in cells) - mp.loggamma(mp.fsum(cells) + k) + mp.loggamma(k)
            )

        def known():
            """All cells with a flat Dirichlet against independent rows and columns with one each."""
            return float(total(table) - total(table.sum(0)) - total(table.sum(1)))

        return lambda: _of_test(hypothesis_tests.contingency(table)), known
    r = float(rng.choice([0.2, 0.5**0.5, 1.0, 5.0]))
    x = far(rng, rng.standard_normal(n) + rng.choice([0.0, 1.0, 30.0]))
    if kind == 0:
        t = exact_t(x)
        return lambda: _of_test(hypothesis_tests.ttest(x, rscale=r)), t and (
            lambda: jzs(t, int(n) - 1, int(n), r)
        )
    y = x[rng.integers(n, size=m)] + rng.standard_normal(m) * x.std() * rng.choice([0.0, 1.0])
    t = exact_t(x, y)
    size = mp.mpf(int(n) * int(m)) / int(n + m)
    if kind == 1:
        return (
            lambda: _of_test(hypothesis_tests.ttest(x, y, rscale=r)),
            t and (lambda: jzs(t, int(n + m) - 2, size, r)),
        )
    y, g = np.concatenate([x, y]), np.repeat(["a", "b"], [n, m])
    return lambda: _of_anova(hypothesis_tests.anova(y, {"g": g}, rscale=r)), t and (
        lambda: jzs(t, int(n + m) - 2, size, r * 2**0.5)
    )


def exact_t(x, y=None):
    """Student's t of the stored doubles; None where no spread is left."""
    parts = [[mp.mpf(float(v)) for v in part] for part in (x, y) if part is not None]
    means = [mp.fsum(part) / len(part) for part in parts]
    ss = mp.fsum((v - mean) ** 2 for part, mean in zip(parts, means) for v in part)
    df = sum(map(len, parts)) - len(parts)
    if ss == 0:
        return None
    size = mp.mpf(1) / mp.fsum(mp.mpf(1) / len(part) for part in parts)
    gap = means[0] - (means[1] if y is not None else 0)
    return gap * mp.sqrt(size * df / ss)


def _of_test(result):
    return result.log_bayes_factor, result.log_bayes_factor_std


def _of_anova(table):
    frame = table.to_frame()
    row = frame.iloc[-1]
    return float(row["log_bayes_factor"]), float(row.get("log_bayes_factor_std", 0.0))


# -- the same rows in other units ----------------------------------------------------------------------------


def few_digits(x):
    """Rounded to 2⁻¹⁰, so that shifts and factors below are without a rounding."""
    return np.round(x * 1024) / 1024


def moved(rng, x):
    """2^k x + c, exactly; and k."""
    k = int(rng.choice([0, -40, -10, 10, 40]))
    c = float(rng.choice([0.0, 0.0, 1.0, 2.0**10, 2.0**20, 2.0**30, -(2.0**33)]))
    return (x + c) * 2.0**k, k


def same(make, args, others, log_jacobian):
    """A fit, and as its reference the fit of the same rows in other units."""

    def fit(rows):
        model = make().fit(*rows)
        return float(model.log_evidence_), float(model.log_evidence_std_)

    def reference():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, std = fit(args)
        return value + log_jacobian, std

    return lambda: fit(others), reference


def table_of(rng, n, p):
    X = few_digits(rng.standard_normal((n, p)))
    kinds = rng.integers(8, size=p)
    X[:, kinds == 0] = np.round(X[:, kinds == 0])
    X[:, kinds == 1] = (X[:, kinds == 1] > 0.8) * 1.0
    if p > 1 and kinds[1] == 2:
        X[:, 1] = X[:, 0]
    if kinds[0] == 3:
        X[:, 0] = 1.0
    Z = X.copy()
    for j in range(p):
        Z[:, j] = moved(rng, X[:, j])[0]
    return X, Z


def terms(rng):
    """Groups of every kind of label, of one row each, of one level; curves through a few values."""
    n = int(rng.choice([6, 15, 40, 90]))
    X, Z = table_of(rng, n, 2)
    levels = int(rng.choice([1, 2, 5, n]))
    g = rng.integers(levels, size=n)
    y = few_digits(X[:, 1] + rng.standard_normal(levels)[g] + 0.5 * rng.standard_normal(n))
    names = rng.permutation(levels)  # another order of the labels
    label = rng.choice(["number", "text", "big", "space"])
    other = {
        "number": names[g],
        "text": np.array([f"ü{k}" for k in names])[g],
        "big": 2.0**53 - 2 * names[g],
        "space": np.array([" " * (k + 1) for k in names])[g],
    }[label]
    column = [
        [Group("g")],
        [Group("g", by="b")],
        [Group("g", by="b", correlated=False)],
        [Factor("g")],
        [Smooth("b"), Factor("g")],
        [Interaction("b", Factor("g"))],
        [Group("g"), Smooth("b")],
    ][rng.integers(7)]
    family = rng.choice(["linear", "linear", "bernoulli"])
    seed = int(rng.integers(2**31))
    frames = [pd.DataFrame({"a": M[:, 0], "b": M[:, 1], "g": labels}) for M, labels in ((X, g), (Z, other))]
    if family == "bernoulli":
        y = (y > np.median(y)) * 1.0
        make = lambda: BayesianGLM("bernoulli", terms=column, random_state=seed)  # noqa: E731
        return same(make, (frames[0], y), (frames[1], y), 0.0)
    new_y, k = moved(rng, y)
    make = lambda: BayesianLinearRegression(terms=column, random_state=seed)  # noqa: E731
    return same(make, (frames[0], y), (frames[1], new_y), -n * k * np.log(2))


def units(rng):
    """Estimators at default settings, rows far from zero and in units of any size."""
    n, p, seed = int(rng.choice([3, 12, 40, 200])), int(rng.integers(1, 4)), int(rng.integers(2**31))
    X, Z = table_of(rng, n, p)
    kind = rng.integers(5)
    if kind == 0:
        columns = [moved(rng, X[:, j]) for j in range(p)]
        Z, k = np.column_stack([c for c, _ in columns]), sum(k for _, k in columns)
        K = int(rng.integers(1, 4))
        cov = str(rng.choice(["diag", "full"]))
        return same(
            lambda: BayesianGMM(K, covariance_type=cov, random_state=seed), (X,), (Z,), -n * k * np.log(2)
        )
    y = few_digits(X @ rng.standard_normal(p) + rng.standard_normal(n))
    if kind == 1:
        new, k = moved(rng, y)
        return same(lambda: BayesianLinearRegression(random_state=seed), (X, y), (Z, new), -n * k * np.log(2))
    if kind == 2:
        new, k = moved(rng, y)
        make = lambda: BayesianAutoregression(1, random_state=seed)  # noqa: E731
        return same(make, (y,), (new,), -(n - 1) * k * np.log(2))
    if kind == 3:
        counts = rng.poisson(np.exp(np.clip(y, -3, 3)))
        return same(lambda: BayesianGLM("poisson", random_state=seed), (X, counts), (Z, counts), 0.0)
    labels = (y > np.median(y)).astype(int)
    return same(lambda: BayesianSoftmaxRegression(random_state=seed), (X, labels), (Z, labels), 0.0)


def selector(rng):
    """All three priors; of g-priors evidences are relative to the null model and have no Jacobian."""
    n, p = int(rng.choice([4, 12, 40])), int(rng.integers(1, 7))
    X, Z = table_of(rng, n, p)
    y = few_digits(X @ rng.standard_normal(p) * (rng.random() < 0.5) + rng.standard_normal(n))
    new, k = moved(rng, y)
    prior = str(rng.choice(["independent", "g", "hyper-g", "unit-information", "bric"]))
    make = lambda: EvidenceFeatureSelector(coef_prior=prior, random_state=0)  # noqa: E731
    jacobian = 0.0 if prior != "independent" else -n * k * np.log(2)

    def fit(X, y):
        return float(make().fit(X, y).models_["log_evidence"].max()), 0.0

    def reference():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit(X, y)[0] + jacobian, 0.0

    return lambda: fit(Z, new), reference


def by_k(rng):
    """One fit answers for every number of components: the worst of them is held against its sum."""
    n, p, K = int(rng.integers(1, 7)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    X = rng.standard_normal((n, p)) * 10.0 ** rng.integers(-3, 4)
    kind = rng.integers(4)
    if kind == 0:
        X[:] = X[0]
    elif kind == 1:
        X = np.round(X)
    elif kind == 2:
        X[-1] *= 1e4
    seed = int(rng.integers(2**31))

    def fit():
        model = BayesianGMM(K, standardize=False, random_state=seed).fit(X)
        found, std = (model.component_evidence_[name] for name in ("log_evidence", "log_evidence_std"))
        known = np.array([mixture_reference(X, k)[0] for k in range(1, K + 1)])
        worst = int(np.argmax(np.abs(found - known) - BEYOND * std))
        return float(found[worst] - known[worst]), float(std[worst])

    return fit, lambda: (0.0, 0.0)


# -- errors -----------------------------------------------------------------------------------------------

X0 = np.random.default_rng(0).standard_normal((30, 2))
Y0 = X0[:, 0] + np.random.default_rng(1).standard_normal(30)
FRAME = pd.DataFrame({"a": X0[:, 0], "b": X0[:, 1], "g": np.arange(30) % 3})
WRONG = [
    -1,
    0,
    np.nan,
    np.inf,
    "x",
    "",
    [],
    {},
    object(),
    1.5,
    np.array([1.0, 2.0]),
    (1,),
    (0, 1),
    (1, -1),
    b"x",
    1e400,
    -0.5,
    True,
    [[1]],
]
#: An estimator or a function, and what it is called with.
CALLS = {
    BayesianLinearRegression: (FRAME, Y0),
    BayesianGLM: (FRAME, np.abs(np.round(Y0))),
    BayesianGMM: (X0,),
    BayesianCategoricalMixture: (np.round(X0),),
    EvidenceFeatureSelector: (X0, Y0),
    BayesianAutoregression: (Y0,),
    EvidenceMonitor: (Y0,),
    hypothesis_tests.ttest: {"x": Y0},
    hypothesis_tests.anova: {"y": Y0, "factors": {"g": FRAME["g"]}},
    hypothesis_tests.proportion: {"successes": 3, "trials": 9},
    hypothesis_tests.contingency: {"table": [[3, 4], [5, 6]]},
    hypothesis_tests.correlation: {"x": X0[:, 0], "y": Y0},
    Group: {"column": "g"},
    Factor: {"column": "g"},
    Smooth: {"column": "a"},
}
#: Arguments that are not tried, and other words by which one may be named.
LEFT_OUT, ALSO = (
    {"verbose", "n_jobs", "model"},
    {"by": "by=|column", "terms": "term|column", "factors": "factor"},
)


def argument(rng):
    call, given = list(CALLS.items())[rng.integers(len(CALLS))]
    names = [name for name in inspect.signature(call).parameters if name not in LEFT_OUT]
    which, value = str(rng.choice(names)), WRONG[rng.integers(len(WRONG))]

    def fit():
        with np.errstate(all="ignore"):
            if call in (Group, Factor, Smooth):
                term = call(**{**given, which: value})
                return float(BayesianLinearRegression(terms=[term]).fit(FRAME, Y0).log_evidence_), 0.0
            if isinstance(given, dict):
                found = call(**{**given, which: value})
                return _of_anova(found) if call is hypothesis_tests.anova else _of_test(found)
            model = call(**{which: value})
            model.fit(*given)
            return float(getattr(model, "log_evidence_", 0.0)), 0.0

    fit.names, fit.what = which, f"{call.__name__}({which}={value!r})"
    return fit, None


def command(rng):
    """A table that is broken in one way, read by the command line."""
    frame = FRAME.assign(y=Y0, n=np.abs(np.round(Y0)).astype(int), kind=np.where(Y0 > 0, "yes", "no"))
    text = frame.to_csv(index=False)
    lines = text.splitlines()

    def line(k, new):
        return "\n".join([*lines[:k], new(lines[k]), *lines[k + 1 :]])

    bodies = {
        "empty": "",
        "header": lines[0] + "\n",
        "bom": "\ufeff" + text,
        "semicolon": text.replace(",", ";"),
        "short": line(5, lambda one: one.split(",")[0]),
        "long": line(5, lambda one: one + ",1,2"),
        "twice": text.replace("b,", "a,", 1),
        "missing": line(3, lambda one: "," + one.split(",", 1)[1]),
        "inf": line(3, lambda one: "inf," + one.split(",", 1)[1]),
        "word": line(3, lambda one: "x," + one.split(",", 1)[1]),
        "quote": text + '"1,2\n',
        "crlf": text.replace("\n", "\r\n"),
        "nul": text[:200] + "\0" + text[200:],
        "constant": frame.assign(a=1.0, b=1.0).to_csv(index=False),
        "huge": frame.assign(a=1e200).to_csv(index=False),
        "one": "\n".join(lines[:2]),
    }
    how = str(rng.choice([*bodies, "utf16", "folder", "absent", "binary"]))
    body, target = bodies.get(how, text), rng.choice(["y", "n", "kind", "absent"])
    commands = [
        f"compare --target {target}",
        "compare --mixture 1-2 --features a,b",
        f"compare --target {target} --select",
        f"compare --target {target} --features a,zzz",
        f"compare --target {target} --features a,b --sample-weight g",
        f"compare --target {target} --features a --family poisson,linear",
        f"compare --mixture {rng.choice(['0', 'x', '3-1', '1-', '-2'])}",
        "compare --target y --features a --seed -1",
        "watch --threshold 0.5",
    ]
    words = commands[rng.integers(len(commands))].split()

    def fit():
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            if how == "folder":
                path.mkdir()
            elif how == "binary":
                path.write_bytes(bytes(range(256)) * 4)
            elif how == "utf16":
                path.write_text(body, encoding="utf-16")
            elif how != "absent":
                path.write_text(body, encoding="utf-8")
            out = CliRunner().invoke(app, [words[0], str(path), *words[1:]])
        if out.exception is not None and not isinstance(out.exception, SystemExit):
            raise out.exception
        if out.exit_code:
            raise ValueError(out.output)
        if "nan" in out.output.split():
            return np.nan, 0.0
        return 0.0, 0.0

    fit.what = f"{how}: {' '.join(words)}"
    return fit, None


KINDS = dict(
    test=test, terms=terms, units=units, selector=selector, by_k=by_k, argument=argument, command=command
)


def run(number, kinds):
    rng = np.random.default_rng(number)
    kind = kinds[number % len(kinds)]
    fit, reference = KINDS[kind](rng)
    line, start = dict(number=number, kind=kind, what=getattr(fit, "what", "")), time.process_time()
    signal.signal(signal.SIGPROF, _stop)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            value, std = fit()
            line |= dict(value=value, std=std)
        except TookTooLong:
            line["verdict"] = "not ended"
        except Exception as error:
            words, named = str(error), getattr(fit, "names", "")
            line |= dict(error=type(error).__name__, words=words[:300])
            readable = isinstance(error, (ValueError, TypeError, DivergenceError, ImportError))
            readable &= not isinstance(error, np.linalg.LinAlgError)
            is_named = any(word in words for word in ALSO.get(named, named).split("|"))
            line["verdict"] = "refused" if readable and is_named else "UNREADABLE"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
    line["seconds"] = round(time.process_time() - start, 2)
    line["warned"] = [str(v.message)[:100] for v in caught if issubclass(v.category, EvidenceWarning)]
    if "verdict" in line:
        return line
    if reference is None:
        return line | dict(verdict="right" if np.isfinite(value) else "SILENT")
    try:
        known, of_known = np.append(reference(), 0.0)[:2]
    except Exception as error:
        return line | dict(verdict="no reference", words=f"{type(error).__name__}: {error}"[:200])
    off, spread = value - known, float(np.hypot(std, of_known))
    close = abs(off) <= (BEYOND * spread + NATS if spread else ROUNDING + 1e-10 * abs(known))
    return line | dict(off=off, verdict="right" if close else "warned" if line["warned"] else "SILENT")


if __name__ == "__main__":
    report(run, KINDS, __doc__)
