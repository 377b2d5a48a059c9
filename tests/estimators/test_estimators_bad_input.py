"""Faults: a clear error, and an estimator that is as if the call had never happened (DESIGN §7)."""

import copy
import functools
import itertools
import warnings
from collections.abc import Callable
from typing import NamedTuple

import autograd.numpy as anp
import joblib
import numpy as np
import pandas as pd
import pytest
from estimator_cases import (
    KINDS,
    WITH_TARGETS,
    data,
    estimator,
    first_call,
    noisy,
    part,
    same_fit,
    slope_log_likelihood,
    slope_model,
)
from scipy import sparse
from scipy.stats import norm

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    DivergenceError,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    EvidenceWarning,
)
from sgevidence.effects import Factor, Smooth
from sgevidence.models import Model
from sgevidence.samplers import AIS, Laplace

N = 40
SECOND = slice(45, 45 + N)


def spoilt(array, value, at=3):
    out = np.array(array, dtype=float)
    out[at] = value
    return out


def call(kind, **changes):
    """Keyword arguments of a second call, some of them spoilt."""
    X, y = data(kind)
    good = {"X": X[SECOND], "y": None if y is None else y[SECOND]}
    return good | {name: change(good) for name, change in changes.items()}


EVERY_KIND = {
    "nan in X": ("X contains NaN", dict(X=lambda d: spoilt(d["X"], np.nan))),
    "inf in X": ("X contains infinity", dict(X=lambda d: spoilt(d["X"], np.inf))),
    "empty chunk": (r"Found array with 0 sample\(s\)", dict(X=lambda d: d["X"][:0])),
    "no columns": (r"0 feature\(s\)", dict(X=lambda d: d["X"][:, :0])),
    "one dimension": ("Reshape your data", dict(X=lambda d: d["X"][:, 0])),
    "words": ("could not convert string to float", dict(X=lambda d: np.full((N, 2), "word"))),
    "negative weights": (
        "Negative values in data passed to `sample_weight`",
        dict(sample_weight=lambda d: -np.ones(N)),
    ),
    "nan weights": ("sample_weight contains NaN", dict(sample_weight=lambda d: np.full(N, np.nan))),
    "all weights zero": ("weight.*zero", dict(sample_weight=lambda d: np.zeros(N))),
    "too few weights": ("sample_weight.shape ==", dict(sample_weight=lambda d: np.ones(N - 1))),
}
OF_TARGETS = {
    "nan in y": ("y contains NaN", dict(y=lambda d: spoilt(d["y"], np.nan))),
    "inf in y": ("y contains infinity", dict(y=lambda d: spoilt(d["y"], np.inf))),
    "too few targets": ("inconsistent numbers of samples", dict(y=lambda d: d["y"][1:])),
}
#: Mixtures take cells that are missing.
TAKES_GAPS = {"gmm"}
CASES = [
    (kind, *case)
    for kind in KINDS
    for name, case in EVERY_KIND.items()
    if not (kind in TAKES_GAPS and name == "nan in X")
] + [(kind, *case) for kind in WITH_TARGETS for case in OF_TARGETS.values()]
CASE_IDS = [
    f"{kind}-{name}"
    for kind in KINDS
    for name in EVERY_KIND
    if not (kind in TAKES_GAPS and name == "nan in X")
] + [f"{kind}-{name}" for kind in WITH_TARGETS for name in OF_TARGETS]


@functools.cache
def fitted(kind):
    """A fitted estimator that no test changes, as :func:`refused` sees."""
    return estimator(kind).partial_fit(*part(kind, 0, 45), **first_call(kind))


def refused(est, error, match, method="partial_fit", **arguments):
    """The call fails with this message, and nothing that the estimator holds has changed."""
    before = joblib.hash(vars(est))
    with pytest.raises(error, match=match):
        getattr(est, method)(**arguments)
    assert joblib.hash(vars(est)) == before


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("make", [estimator, fitted], ids=["unfitted", "fitted"])
@pytest.mark.parametrize("kind, message, changes", CASES, ids=CASE_IDS)
def test_bad_rows(kind, make, message, changes, method):
    if method == "partial_fit" and "weight.*zero" in message:
        pytest.skip("a call of weight zero adds nothing to a stream")
    refused(make(kind), ValueError, message, method, **call(kind, **changes))


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows(kind):
    for est in (estimator(kind), fitted(kind)):
        refused(est, TypeError, "[Ss]parse", **call(kind, X=lambda d: sparse.csr_array(d["X"])))


def masked(array, at):
    return np.ma.masked_array(array, mask=np.isin(np.arange(np.size(array)).reshape(np.shape(array)), at))


@pytest.mark.parametrize("kind", KINDS)
def test_masked_entries(kind):
    """scikit-learn would read what is under the mask."""
    spoilt_weight = dict(sample_weight=lambda d: masked(np.ones(N), 3))
    for est in (estimator(kind), fitted(kind)):
        refused(est, ValueError, "X is a masked array", **call(kind, X=lambda d: masked(d["X"], 3)))
        refused(est, ValueError, "sample_weight is a masked array", **call(kind, **spoilt_weight))
        if kind in WITH_TARGETS:
            refused(est, ValueError, "y is a masked array", **call(kind, y=lambda d: masked(d["y"], 3)))
    X = data(kind)[0]
    for method in ("predict", "score_samples"):
        if hasattr(est, method) and (kind != "custom"):
            with pytest.raises(ValueError, match="X is a masked array with masked entries"):
                getattr(est, method)(masked(X, 3))
    unmasked = call(kind, X=lambda d: masked(d["X"], []))
    assert est.partial_fit(**unmasked).n_samples_seen_ == 45 + N


@pytest.mark.parametrize("value", [None, pd.NA, pd.NaT, float("nan")], ids=["None", "NA", "NaT", "nan"])
@pytest.mark.parametrize("kind", KINDS)
def test_missing_entries_among_objects(kind, value):
    """scikit-learn looks for nan first and makes nan of None afterwards: sums then had no end."""

    def holed(array):
        out = np.asarray(array).astype(object)
        out[3] = value
        return out

    message = "{} contains NaN or another missing value, .* in row 3"
    names = ["X"] * (kind not in TAKES_GAPS) + ["sample_weight"] + ["y"] * (kind in WITH_TARGETS)
    for name, est in itertools.product(names, (estimator(kind), fitted(kind))):
        spoil = lambda d, name=name: holed(d.get(name, np.ones(N)))  # noqa: E731
        refused(est, ValueError, message.format(name), **call(kind, **{name: spoil}))
    X, y = data(kind)
    if kind in WITH_TARGETS:
        for forms in (holed(y), holed(y).tolist(), pd.Series(holed(y))):
            with pytest.raises(ValueError, match="y contains NaN"):
                est.score_samples(X, forms)
    if kind == "linear":
        for other in (EvidenceFeatureSelector(), EvidenceModelAverager([("one", estimator(kind))])):
            with pytest.raises(ValueError, match=message.format("y")):
                other.fit(X, holed(y))


def test_missing_text_says_which_columns_are_read():
    """Also where columns= names others: the frame is read as a whole."""
    frame = pd.DataFrame({"city": ["a", None, "b"] * 5, "x": np.arange(15.0)})
    with pytest.raises(ValueError, match=r"row 1 of column 'city'.*with columns= all columns of X are read"):
        BayesianLinearRegression(columns=["x"]).fit(frame, np.arange(15.0))


def test_columns_of_one_name_are_refused():
    X, y = data("linear")
    twice = pd.DataFrame(X, columns=["a"] * X.shape[1])
    for other in (
        BayesianLinearRegression(),
        BayesianLinearRegression(formula="y ~ a"),
        EvidenceFeatureSelector(),
    ):
        with pytest.raises(ValueError, match="several columns named 'a'"):
            other.fit(twice, y)


def test_dates_in_a_formula_are_no_factor():
    """Each row had a level of its own, without a word."""
    frame = pd.DataFrame({"y": np.arange(15.0), "day": pd.date_range("2020-01-01", periods=15)})
    with pytest.raises(TypeError, match="column 'day' has dates or durations"):
        BayesianLinearRegression(formula="y ~ day").fit(frame)


def test_a_column_of_a_density_that_does_not_vary(rng):
    X = np.column_stack([rng.standard_normal(30), np.ones(30)])
    with pytest.warns(EvidenceWarning, match="does not vary, and nothing tells its unit"):
        BayesianGMM(2, random_state=0).fit(X)


class Query:
    """As polars.LazyFrame: rows only after ``collect``."""

    def collect(self):
        return data("linear")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_not_computed_yet(kind):
    message = r"X is a Query, whose rows are not computed yet: give X.collect\(\)"
    averager = EvidenceModelAverager([("one", estimator(kind))])
    for est in (estimator(kind), fitted(kind), averager):
        with pytest.raises(TypeError, match=message):
            est.fit(**call(kind, X=lambda d: Query()))
    with pytest.raises(TypeError, match=message):
        fitted(kind).score_samples(Query())


DATES = np.arange(N).astype("datetime64[D]")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "form",
    [
        lambda X: X.astype("timedelta64[s]"),
        lambda X: X.astype("datetime64[s]"),
        lambda X: pd.DataFrame({"day": DATES, "x": X[:, 1]}),
    ],
    ids=["durations", "dates", "frame"],
)
def test_dates_are_no_numbers(kind, form):
    """They would be nanoseconds or days, as the container has it."""
    message = r"X has dates or durations, .* in row 0 of column (0|'day'), whose numbers depend on their unit"
    refused(estimator(kind), TypeError, message, **call(kind, X=lambda d: form(d["X"])))
    if kind in WITH_TARGETS:
        message = "y has dates or durations, 1970-01-01.* in row 0, whose numbers depend on their unit"
        refused(estimator(kind), TypeError, message, **call(kind, y=lambda d: pd.Series(DATES)))


@pytest.mark.parametrize("word", ["few", "1"])
@pytest.mark.parametrize("kind", ["linear", "glm"])
def test_words_are_no_targets(kind, word):
    arguments = call(kind, y=lambda d: np.array([word] * N))
    refused(estimator(kind), ValueError, "y must be numbers, got str", **arguments)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("sampler", [SGAIS, AIS])
def test_a_class_is_no_sampler(sampler, method):
    message = rf"sampler must be an object, such as {sampler.__name__}\(\), got a class"
    refused(estimator("linear", sampler=sampler), TypeError, message, method, **call("linear"))
    refused(
        copy.copy(fitted("linear")).set_params(sampler=sampler), TypeError, message, method, **call("linear")
    )


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_width(kind):
    X = np.ones((N, 3))
    refused(fitted(kind), ValueError, "X has 3 features, but .* expecting 2", **call(kind, X=lambda d: X))
    with pytest.raises(ValueError, match="X has 3 features"):
        fitted(kind).score_samples(X)


@pytest.mark.parametrize("kind", ["linear", "softmax"])
def test_missing_targets(kind):
    for est in (estimator(kind), fitted(kind)):
        refused(est, ValueError, "requires y to be passed", **call(kind, y=lambda d: None))


@pytest.mark.parametrize(
    "message, changes",
    [
        (r"labels \[7\] that are not among the classes", dict(y=lambda d: np.r_[7, d["y"][1:]])),
        (r"labels \[-1\] that are not among the classes", dict(y=lambda d: np.r_[-1, d["y"][1:]])),
        ("not the same as on the first call", dict(classes=lambda d: [0, 1])),
        ("Unknown label type", dict(y=lambda d: d["y"] + 0.5)),
    ],
    ids=["above", "below", "other classes", "fractions"],
)
def test_unknown_classes(message, changes):
    refused(fitted("softmax"), ValueError, message, **call("softmax", **changes))


@pytest.mark.parametrize(
    "classes, message",
    [
        ([], "classes is empty: give all labels that may ever come"),
        ([0, 1, np.nan], "Input classes contains NaN"),
        ([[0, 1], [1, 2]], "should be a 1d array"),
    ],
)
def test_classes_that_are_no_list_of_labels(classes, message):
    refused(estimator("softmax"), ValueError, message, **call("softmax", classes=lambda d: classes))


def test_true_is_no_number_of_components():
    message = "n_components must be an integer of at least 1, got True"
    refused(estimator("gmm", n_components=True), ValueError, message, "fit", **call("gmm"))


def test_what_leaves_the_finite_numbers_is_not_printed():
    """Rates of e^{100 N(0, 1)} overflow at most draws from the prior."""
    X, y = data("glm")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        est = estimator("glm", sampler=Laplace(), coef_scale=100.0, intercept_scale=100.0).fit(X, y)
    assert np.isfinite(est.log_evidence_)


def test_a_label_that_classes_does_not_have_at_the_first_call():
    arguments = call("softmax", classes=lambda d: [0, 1])
    refused(estimator("softmax"), ValueError, r"labels \[2\] that are not among", **arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_parameters(kind):
    est = estimator(kind).set_params(sampler__n_particles=1)
    refused(est, ValueError, "'n_particles' parameter of SGAIS", "fit", **call(kind))
    refused(est.set_params(sampler="fast"), ValueError, "'sampler' parameter of", "fit", **call(kind))


@pytest.mark.parametrize("prior", [(1.0,), (1.0, 0.0), (1.0, np.nan)])
def test_bad_prior_pair(prior):
    for kind, name in [("linear", "noise_prior"), ("gmm", "variance_prior")]:
        message = f"{name} must be a pair of positive numbers"
        refused(estimator(kind, **{name: prior}), ValueError, message, "fit", **call(kind))


# -- likelihoods that fail -------------------------------------------------------------------------


class SpoiltLikelihood(NamedTuple):
    """The slope model with ``value`` in place of the likelihood where ``where(theta, X)``."""

    value: float
    where: Callable

    def __call__(self, theta, X, y):
        return anp.where(self.where(theta, X), self.value, slope_log_likelihood(theta, X, y))


def steep(theta, X):
    return theta > 1.0


def far_out(theta, X):
    return (X[:, 0] > 50) & (theta < np.inf)


def test_particles_without_likelihood_get_weight_zero():
    """With slopes above one ruled out the evidence is that of the truncated posterior."""
    X, y = data("custom", n=20)
    est = slope_model(SpoiltLikelihood(-np.inf, steep), sampler=SGAIS(n_particles=1000)).fit(X, y)
    alive = est.particles_[est.particle_weights_ > 0]
    assert np.all(np.isfinite(alive)) and np.all(alive <= 1.0)
    precision = 1 + np.sum(X[:, 0] ** 2)
    b = X[:, 0] @ y
    whole = -0.5 * (len(y) * np.log(2 * np.pi) + np.log(precision) + y @ y - b**2 / precision)
    exact = whole + norm.logcdf((1.0 - b / precision) * np.sqrt(precision))
    assert abs(est.log_evidence_ - exact) < 4 * est.log_evidence_std_ + 1
    assert np.all(np.isfinite(est.score_samples(X, y)))


@pytest.mark.parametrize("value, first", [(-np.inf, 0), (-np.inf, 45), (np.nan, 45)])
def test_rows_impossible_for_all_particles_are_named(value, first):
    est = slope_model(SpoiltLikelihood(value, far_out))
    if first:
        est.partial_fit(*part("custom", 0, first))
    arguments = call("custom", X=lambda d: spoilt(d["X"], 99.0, at=[3, 7]))
    # by the sampler by their number and the first one's values, by the estimator by their places
    message = (
        r"log_likelihood is nan at a row with X = \[99\. +99"  # no row is at fault
        if np.isnan(value)
        else rf"all particles at (2 row\(s\) that follow row {first}, .* X = \[99\. +99|rows \[3, 7\] of th)"
    )
    refused(est, ValueError, message, **arguments)


# -- interruptions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function, calls, error", [("sum_log_likelihood", 0, MemoryError), ("derivatives", 2, KeyboardInterrupt)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_call_never_happened(kind, function, calls, error, monkeypatch):
    first, second = part(kind, 0, 6), part(kind, 6, 45)  # so few at first that the others need moves

    def begun():
        return as_given(noisy(kind)).partial_fit(*first, **first_call(kind))

    est = begun()
    with monkeypatch.context() as patch:
        interrupt_after(patch, function, calls, error)
        refused(est, error, "now", X=second[0], y=second[1])
        refused(est, error, "now", "fit", X=second[0], y=second[1])
        refused(as_given(noisy(kind)), error, "now", X=first[0], y=first[1], **first_call(kind))
    same_fit(est.partial_fit(*second), begun().partial_fit(*second))


def as_given(est):
    """With priors for numbers as given: so few rows would be held until their units are known."""
    return est.set_params(standardize=False) if "standardize" in est.get_params() else est


def interrupt_after(patch, function, calls, error):
    """Raise inside the sampler at the next call of a model's function after so many."""
    count = iter(range(10**6))

    def interrupting(real):
        def interrupted(*args):
            if next(count) >= calls:
                raise error("now")
            return real(*args)

        return interrupted

    for cls in family(Model):
        if function in vars(cls):
            patch.setattr(cls, function, interrupting(vars(cls)[function]))


def family(cls):
    """The class and all that inherit from it."""
    return {cls}.union(*(family(child) for child in cls.__subclasses__()))


def test_a_failed_first_call_does_not_use_up_the_random_state(monkeypatch):
    X, y = data("linear")
    est = estimator("linear", random_state=np.random.RandomState(1))
    with monkeypatch.context() as patch:
        interrupt_after(patch, "posterior", 0, KeyboardInterrupt)
        refused(est, KeyboardInterrupt, "now", X=X, y=y)
    same_fit(est.fit(X, y), estimator("linear", random_state=np.random.RandomState(1)).fit(X, y))


def test_divergence_of_the_published_settings_is_an_error_not_a_nan():
    X, y = data("linear")
    est = estimator("linear", noise_std=0.5, sampler=SGAIS.paper(), standardize=False)
    refused(est, DivergenceError, "Standardise the columns", "fit", X=1e4 * X, y=y)


@pytest.mark.slow  # it waits for a lock
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_likelihood_that_lets_its_own_estimator_learn(method):
    """It would wait for itself for ever; a clone may learn there."""
    X, y = data("custom", 20)

    def own(theta, X, y):
        getattr(models[-1], method)(X, y)
        return slope_log_likelihood(theta, X, y)

    models = [slope_model(own)]
    with pytest.raises(RuntimeError, match="this BayesianModel is learning"):
        models[0].fit(X, y)
    assert not hasattr(models[0], "log_evidence_")
    models.append(slope_model())
    models[0].fit(X, y)
    assert np.isfinite(models[0].log_evidence_)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_sum_to_one_are_one_row(kind, rng):
    """Rows may weigh little, but a sum of one is how other libraries state shares."""
    words = "weights of 40 rows sum to 1"
    w = rng.random(N)
    with pytest.warns(EvidenceWarning, match=words):
        est = estimator(kind).fit(**call(kind), sample_weight=w / w.sum())
    assert any(words in one for one in est.warnings_)
    for weight in (w, w / w.sum() * 1.0001, np.full(N, 0.5)):
        assert not any(
            words in one for one in estimator(kind).fit(**call(kind), sample_weight=weight).warnings_
        )
    if kind == "linear":
        selector = EvidenceFeatureSelector().fit(**call(kind), sample_weight=w / w.sum())
        assert any(words in one for one in selector.warnings_)


NAMED = pd.DataFrame({"size": [1.0, 2.0, 3.0], "age": [4.0, 5.0, 7.0]})
BAD_CELLS = [
    (lambda X: X.assign(age=["4", "five", "6"]), r"to float: 'five', in row 1 of column 'age' of X"),
    (
        lambda X: X.assign(age=[4.0, np.nan, np.nan]),
        r"X contains NaN in row 1 of column 'age', and in 1 more",
    ),
    (lambda X: X.assign(age=[4.0, 5.0, -np.inf]), r"X contains infinity in row 2 of column 'age'"),
    (lambda X: X.assign(age=pd.array([4, None, 6], "Int64")), r"NaN.* in row 1 of column 'age'"),
    (lambda X: X.assign(age=pd.to_datetime(["2020-01-01"] * 3)), r"2020-01-01.* in row 0 of column 'age'"),
    (
        lambda X: X.assign(age=[4, pd.Timestamp("2020-01-02"), 6]),
        r"dates.* 2020-01-02.* row 1 of column 'age'",
    ),
    (
        lambda X: X.assign(age=pd.Categorical(["a", "b", "a"])),
        r"to float: 'a', in row 0 of column 'age' of X",
    ),
    (lambda X: X.to_numpy() * [[1], [1], [np.nan]], r"X contains NaN in row 2 of column 0"),
    (lambda X: [[1.0, 2.0], [1.0, "x"], [1.0, 3.0]], r"to float: 'x', in row 1 of column 1 of X"),
]


@pytest.mark.parametrize("change, message", BAD_CELLS, ids=[words for _, words in BAD_CELLS])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_cell_is_named(kind, change, message):
    """The column and the first row, in fit, partial_fit and scores."""
    if kind in TAKES_GAPS and "NaN" in message:
        return
    y = [0.0, 1.0, 2.0] if kind in WITH_TARGETS else None
    stated = as_given(estimator(kind))
    for method in ("fit", "partial_fit"):
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(stated, method)(change(NAMED), y)


def test_columns_that_are_not_chosen_are_read():
    table = NAMED.assign(town=["a", "b", "c"])
    for more, words in (
        ({}, r"numbers; levels are .*\)\]$"),
        ({"columns": ["age"]}, "with columns= all columns of X are read"),
    ):
        with pytest.raises(ValueError, match=words):
            as_given(estimator("linear")).set_params(**more).fit(table, [0.0, 1.0, 2.0])


def test_bad_targets_are_named():
    for y, message in (
        ([1.0, np.nan, 3.0], "y contains NaN in row 1: leave"),
        ([1.0, 2.0, np.inf], "y contains infinity in row 2"),
    ):
        for est in (estimator("linear"), EvidenceFeatureSelector()):
            with pytest.raises(ValueError, match=message):
                est.fit(NAMED, np.array(y))
    labels = np.array([1.0, 0.0, np.nan]), pd.Series([True, False, None], dtype="boolean")
    for est, y in itertools.product((BayesianGLM("bernoulli"), BayesianSoftmaxRegression()), labels):
        with pytest.raises(ValueError, match="y contains NaN in row 2: leave"):
            est.fit(NAMED, y)
    with pytest.raises(ValueError, match=r"X has values of 1e\+200, in row 1 of column 1"):
        as_given(estimator("linear")).fit(NAMED.assign(age=[4.0, 1e200, 3.0]), [0.0, 1.0, 2.0])


def test_columns_that_no_term_names_may_hold_anything():
    """Columns that a term names are checked one by one."""
    more = {"day": pd.to_datetime(["2020-01-01"] * 4), "note": ["a", None, "b", "c"]}
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 5.0], "town": ["a", "b", "a", "b"], **more})
    y = [1.0, 2.0, 3.0, 3.5]
    for make in (BayesianLinearRegression, BayesianGLM):
        alone = make(terms=[Factor("town")], columns=["x"]).fit(frame[["x", "town"]], np.round(y))
        model = make(terms=[Factor("town")], columns=["x"]).fit(frame, np.round(y))
        assert abs(model.log_evidence_ - alone.log_evidence_) < 0.1
        assert np.isfinite(model.predict(frame)).all()
        for term, words in (
            (Smooth("day"), "column 'day' has dates or durations, 2020-01-01.* in row 0"),
            (Factor("note"), "column 'note' has missing values, the first in row 1"),
        ):
            with pytest.raises((TypeError, ValueError), match=words):
                make(terms=[term], columns=["x"]).fit(frame, np.round(y))
        with pytest.raises(ValueError, match=r"column 'town' is not of numbers, could not convert .* 'a'"):
            make(terms=[Factor("note")], columns=["town"]).fit(frame.fillna("c"), np.round(y))
