"""Rows in parts: whatever cuts them, and wherever they are, the answer is that of the array."""

import warnings
from functools import partial

import autograd.numpy as anp
import numpy as np
import pytest
from scipy.special import gammaln

from sgevidence import (
    SGAIS,
    BayesianAutoregression,
    BayesianCategoricalMixture,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianModel,
    BayesianSoftmaxRegression,
    EvidenceModelAverager,
    EvidenceSearch,
    EvidenceWarning,
    RowSource,
    compare,
)
from sgevidence.estimators import _folding
from sgevidence.rows import _collections
from sgevidence.samplers import Laplace

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")

SAMPLER = SGAIS(reservoir_size=2000)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def softmax_rows(seed, n=4000, p=3, K=3):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((n, p)), rng.standard_normal((K, p))
    return X, np.argmax(X @ W.T + rng.gumbel(size=(n, K)), axis=1)


def cut(a, lengths):
    return da.from_array(a, chunks=(tuple(lengths), *a.shape[1:]))


def framed(X, y, **columns):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y, **columns)


class Listed:
    """Parts of arrays, here."""

    can_be_read = False

    def __init__(self, arrays, lengths):
        stops = np.cumsum(lengths)
        self._parts = [
            _collections.Part(*(None if a is None else a[stop - n : stop] for a in arrays))
            for n, stop in zip(lengths, stops)
        ]

    def parts(self):
        return iter(self._parts)

    def each(self, function):
        return [function(k, part) for k, part in enumerate(self._parts)]

    def fold(self, function):
        return _collections.add_in_order(self.each(function))


def assert_agree(one, other, errors=4.0, extra=1e-9):
    gap = abs(one.log_evidence_ - other.log_evidence_)
    bar = np.hypot(one.log_evidence_std_, other.log_evidence_std_)
    assert gap < errors * bar + extra * abs(one.log_evidence_)
    assert one.n_samples_seen_ == other.n_samples_seen_
    assert one.data_fingerprint_ == other.data_fingerprint_


def test_any_cut_gives_the_answer_of_the_array():
    X, y = softmax_rows(11)
    y = np.array(["red", "green", "blue"])[y]
    order = np.argsort(y, kind="stable")  # parts of one class each
    X, y = X[order], y[order]
    array = BayesianSoftmaxRegression(random_state=3, standardize=False).fit(X, y)
    answers = []
    for lengths in ([4000], [1, 0, 1499, 0, 1500, 1000], [200] * 20):
        model = BayesianSoftmaxRegression(sampler=SAMPLER, random_state=3, standardize=False)
        model.fit(cut(X, lengths), cut(y, lengths))
        assert_agree(model, array)
        answers.append(model.log_evidence_)
    assert np.ptp(answers) < 1e-6
    assert np.allclose(model.coef_, array.coef_, atol=0.5 * array.coef_std_.max())
    assert np.mean(model.predict(X) == array.predict(X)) > 0.995
    assert model.posterior_samples()["coef"].shape[1:] == (3, 3)


def test_the_bits_are_those_of_the_array_in_the_same_parts():
    X, y = softmax_rows(12)
    lengths = [500, 0, 1500, 2000]
    by_list = BayesianSoftmaxRegression(sampler=SAMPLER, random_state=1, standardize=False)
    _folding.learn_by_sums(by_list, Listed((X, y, None, None, None), lengths), X, y)
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            model = BayesianSoftmaxRegression(sampler=SAMPLER, random_state=1, standardize=False)
            model.fit(cut(X, lengths), cut(y, lengths))
        assert model.log_evidence_ == by_list.log_evidence_
        assert np.array_equal(model.particles_, by_list.particles_)


@pytest.mark.parametrize("standardize", [False, True])
def test_sums_without_rounding_have_the_digits_of_the_array(standardize):
    rng = np.random.default_rng(5)
    X = 1e9 * np.array([1.0, 0.0]) + rng.standard_normal((5000, 2))
    y, weight = X[:, 1] + rng.standard_normal(5000), rng.integers(0, 3, 5000) / 2
    weight[:700] = 0.0  # a part of which no row counts
    lengths = [700, 0, 4300]
    for kind, target in ((BayesianLinearRegression, y), (BayesianGMM, None)):
        arrays = (X, weight) if target is None else (X, target, weight)
        array = kind(standardize=standardize, random_state=0).fit(X, target, sample_weight=weight)
        model = kind(standardize=standardize, random_state=0, sampler=SAMPLER)
        parts = [cut(a, lengths) for a in arrays]
        model.fit(parts[0], *parts[1:-1], sample_weight=parts[-1])
        assert model.log_evidence_ == pytest.approx(array.log_evidence_, rel=1e-10)
        assert model.log_evidence_std_ == 0.0 and model.data_fingerprint_ == array.data_fingerprint_
        more = X[:100], *([] if target is None else [target[:100]])
        after = model.partial_fit(*more).log_evidence_
        assert after == pytest.approx(array.partial_fit(*more).log_evidence_, rel=1e-10)


def test_offsets_trials_labels_and_weights_come_with_their_rows():
    rng = np.random.default_rng(6)
    X, offset = rng.standard_normal((6000, 2)), 0.3 * rng.standard_normal(6000)
    eta, weight = X @ [0.5, -0.5] + offset, rng.integers(0, 3, 6000).astype(float)
    trials = rng.integers(1, 6, 6000)
    families = {
        "poisson": (rng.poisson(np.exp(eta)), {"offset": offset}),
        "binomial": (rng.binomial(trials, 1 / (1 + np.exp(-eta))), {"offset": offset, "trials": trials}),
        "bernoulli": (np.sort(rng.choice(["no", "yes"], 6000)), {"offset": 0.25}),  # parts of one label
    }
    lengths = [2500, 3000, 500]
    for family, (y, known) in families.items():
        array = BayesianGLM(family, random_state=0, standardize=False).fit(X, y, weight, **known)
        parts = {k: v if np.ndim(v) == 0 else cut(v, lengths) for k, v in known.items()}
        model = BayesianGLM(family, random_state=0, sampler=SAMPLER, standardize=False)
        model.fit(cut(X, lengths), cut(y, lengths), weight, **parts)
        assert_agree(model, array)


def test_a_few_rows_that_alone_have_a_column_are_not_missed():
    X, y = softmax_rows(13, n=6000)
    rare = np.zeros((len(X), 1))
    where = np.random.default_rng(1).choice(len(X), 6, replace=False)
    rare[where] = 3.0
    X, y[where] = np.hstack([X, rare]), [0, 0, 0, 0, 0, 1]
    array = BayesianSoftmaxRegression(random_state=0, standardize=False).fit(X, y)
    parts = cut(X, [1500] * 4), cut(y, [1500] * 4)
    for seed in range(2):
        assert_agree(
            BayesianSoftmaxRegression(random_state=seed, sampler=SAMPLER, standardize=False).fit(*parts),
            array,
        )


def test_dataframes_and_files_and_a_stream_that_goes_on(tmp_path):
    X, y = softmax_rows(14, n=12_000)
    (X, new_X), (y, new_y) = np.split(X, [9000]), np.split(y, [9000])
    frame = framed(X, y)
    array = BayesianSoftmaxRegression(random_state=0, standardize=False).fit(frame[["x0", "x1", "x2"]], y)
    parts = dd.from_pandas(frame, npartitions=7)
    model = BayesianSoftmaxRegression(random_state=0, sampler=SAMPLER, standardize=False)
    model.fit(parts[["x0", "x1", "x2"]], parts["y"])
    assert_agree(model, array)
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    unknown = parts[["x0", "x1", "x2"]].to_dask_array(), parts["y"].to_dask_array()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = BayesianSoftmaxRegression(random_state=0, sampler=SAMPLER, standardize=False).fit(*unknown)
    assert again.log_evidence_ == model.log_evidence_
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1000)
    source = RowSource(tmp_path / "rows.parquet", target="y")
    assert_agree(
        BayesianSoftmaxRegression(random_state=0, sampler=SAMPLER, standardize=False).fit(source), array
    )
    for one in (model, array):
        one.partial_fit(framed(new_X, new_y)[["x0", "x1", "x2"]], new_y)
    assert_agree(model, array)
    assert model.log_evidence_std_ < 0.5 and not model.warnings_


def test_mixtures_are_summed_around_their_modes_and_go_on():
    rng = np.random.default_rng(21)
    label = rng.choice(2, 4200, p=[0.3, 0.7])
    X = np.array([[-1.5, 0.0], [1.5, 1.0]])[label] + [[1.0, 0.7], [0.8, 1.0]][0] * rng.standard_normal(
        (4200, 2)
    )
    X, new = np.split(X, [4000])
    lengths = [1500, 0, 500, 2000]
    array = BayesianGMM(2, standardize=True, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BayesianGMM(2, standardize=True, random_state=1, sampler=SAMPLER).fit(cut(X, lengths))
    assert_agree(model, array)
    assert model.log_evidence_std_ < 0.05 and not model.warnings_
    nearest = np.abs(model.means_[:, None] - array.means_).sum(axis=2).argmin(axis=1)
    assert np.allclose(model.means_, array.means_[nearest], atol=0.02) and set(nearest) == {0, 1}
    for one in (model, array):
        one.partial_fit(new)
    assert_agree(model, array)


def of_words(rng, label):
    """Classes whose words differ, and some that are rare."""
    X = np.array([["ja", "nein"], ["yes", "no"]])[label[:, None], rng.integers(2, size=(len(label), 4))]
    X = X.astype(object)
    X[3, 1], X[len(X) // 2, 2] = "maybe", None
    return X


def correlated(rng, label):
    return np.array([[-9.0], [9.0]])[label] + rng.standard_normal((len(label), 2)) @ [[1.0, 0.8], [0.0, 0.6]]


def log_evidence_of_groups(one, X, label):
    """2! p(x, z): allocations z are beyond doubt."""
    total = np.log(2) - np.log(len(X) + 1)
    for k in range(2):
        with warnings.catch_warnings(action="ignore"):  # of a group alone, which is not centred
            one.fit(X[label == k])
        total += one.log_evidence_ + gammaln(np.sum(label == k) + 1)
    return total - gammaln(len(X) + 1)


@pytest.mark.parametrize(
    "kind, rows",
    [
        pytest.param(BayesianCategoricalMixture, of_words, marks=pytest.mark.slow),
        (partial(BayesianGMM, covariance_type="full", standardize=False), correlated),
    ],
)
def test_mixtures_of_any_family_go_on_from_sums(kind, rows):
    """Levels of which a sample has no row are known; a stream that goes on is right, or doubts its sample."""
    rng = np.random.default_rng(23)
    label = (rng.random(1000) < 0.4).astype(int)
    X = rows(rng, label)
    few = SGAIS(reservoir_size=300)
    model = kind(2, random_state=1, sampler=few)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(cut(X[:900], [400, 500]))
        one = kind(1) if X.dtype == float else kind(1, categories=model.categories_)
        gap = model.log_evidence_ - log_evidence_of_groups(one, X[:900], label[:900])
        assert abs(gap) < 4.0 * model.log_evidence_std_ < 0.2
        with pytest.raises(AttributeError, match="strata need all rows"):
            _ = model.component_evidence_
        warnings.filterwarnings("ignore", "the reservoir is too small")
        model.partial_fit(X[900:])
        gap = model.log_evidence_ - log_evidence_of_groups(one, X, label)
        assert abs(gap) < 4.0 * model.log_evidence_std_ < 1.0
    with pytest.warns(EvidenceWarning, match="from 900 rows, the last that sums over all rows"):
        model.partial_fit(X[900:], sample_weight=np.full(100, 10.0))


def normal_prior(rng, size):
    return rng.standard_normal((size, 3))


def log_normal_prior(theta):
    return anp.sum(-0.5 * theta**2 - 0.5 * np.log(2 * np.pi), axis=1)


def log_of_saturated(theta, X, y):
    """Noise of unknown scale about tanh(X b): not log-concave, and of one mode."""
    residual = (y - anp.tanh(anp.dot(theta[:, :2], X.T))) * anp.exp(-theta[:, 2:])
    return -0.5 * residual**2 - theta[:, 2:] - 0.5 * np.log(2 * np.pi)


def log_of_squared(theta, X, y):
    """The sign of a coefficient is not known: two modes."""
    return log_of_saturated(anp.concatenate([theta[:, :1] ** 2, theta[:, 1:]], axis=1), X, y)


def test_models_with_one_mode_are_summed_around_it():
    rng = np.random.default_rng(22)
    X = rng.standard_normal((5000, 2))
    y = np.tanh(X @ [0.8, -0.4]) + 0.3 * rng.standard_normal(5000)
    parts = cut(X, [2000, 0, 3000]), cut(y, [2000, 0, 3000])
    prior = {"sample_prior": normal_prior, "log_prior": log_normal_prior, "random_state": 0}
    array = BayesianModel(log_of_saturated, **prior).fit(X, y)
    model = BayesianModel(log_of_saturated, sampler=SAMPLER, **prior).fit(*parts)
    assert_agree(model, array)
    assert model.log_evidence_std_ < 0.02 and not model.warnings_
    with pytest.raises(ValueError, match=r"several modes.*partial_fit"):
        BayesianModel(log_of_squared, sampler=SAMPLER, **prior).fit(*parts)


def test_few_rows_are_fetched_and_have_the_digits_of_the_array():
    X, y = softmax_rows(15, n=600)
    parts = cut(X, [200, 0, 400]), cut(y, [200, 0, 400])
    for sampler in (None, Laplace(n_particles=200)):
        model = BayesianSoftmaxRegression(random_state=0, sampler=sampler, standardize=False)
        assert model.fit(X, y).log_evidence_ == model.fit(*parts).log_evidence_


def test_a_stream_of_parts_is_that_of_their_arrays():
    X, y = softmax_rows(16, n=300)
    model = BayesianSoftmaxRegression(random_state=0, standardize=False).partial_fit(
        cut(X, [100, 200]), cut(y, [100, 200])
    )
    arrays = BayesianSoftmaxRegression(random_state=0, standardize=False).partial_fit(X[:100], y[:100])
    arrays.partial_fit(X[100:], y[100:])
    assert model.log_evidence_ == arrays.log_evidence_


def test_errors_name_the_part_and_change_nothing():
    X, y = softmax_rows(17, n=4000)
    lengths = [1000] * 4
    model = BayesianSoftmaxRegression(random_state=0, sampler=SAMPLER, standardize=False).fit(
        cut(X, lengths), cut(y, lengths)
    )
    before = dict(vars(model))
    with pytest.raises(ValueError, match="X has 4000 rows and y 3000"):
        model.fit(cut(X, lengths), cut(y[:3000], lengths[:3]))
    of_other_lengths = cut(y, [900, 1100, 1000, 1000])
    parts = dd.from_dask_array(cut(X, lengths))
    with pytest.raises(ValueError, match=r"part [01], counted from 0: X has 1000 rows and y (900|1100)"):
        model.fit(parts, of_other_lengths)
    with pytest.raises(ValueError, match="X has 4 parts and y 2"):
        model.fit(parts, cut(y, [2000, 2000]))
    gap = X.copy()
    gap[2345, 1] = np.nan
    with pytest.raises(ValueError, match="part 2, counted from 0: column 1 has the value nan in row 345"):
        model.fit(cut(gap, lengths), cut(y, lengths))
    weight = np.ones(4000)
    weight[3001] = -1.0
    with pytest.raises(ValueError, match=r"part 3.*negative"):
        model.fit(cut(X, lengths), cut(y, lengths), cut(weight, lengths))
    assert vars(model) == before
    with pytest.raises(ValueError, match="partial_fit"):
        BayesianSoftmaxRegression(sampler=SGAIS(reservoir_size=2000, proposal=None), standardize=False).fit(
            cut(X, lengths), cut(y, lengths)
        )


def test_a_seed_has_its_digits_and_a_generator_goes_on():
    X, y = softmax_rows(18, n=4000)
    parts = cut(X, [1000] * 4), cut(y, [1000] * 4)

    def answers(state):
        return [
            BayesianSoftmaxRegression(random_state=state, sampler=SAMPLER, standardize=False)
            .fit(*parts)
            .log_evidence_
            for _ in range(2)
        ]

    one, same = answers(4)
    assert one == same
    first, second = answers(np.random.RandomState(4))
    assert first == one and second != one


def test_predictions_stay_lazy_and_have_the_digits_of_the_array():
    X, y = softmax_rows(19, n=300)
    lengths = [100, 0, 200]
    rows, frame = cut(X, lengths), dd.from_pandas(framed(X, y), npartitions=3)
    softmax = BayesianSoftmaxRegression(random_state=0, standardize=False).fit(
        X, np.array(["a", "b", "c"])[y]
    )
    linear = BayesianLinearRegression(random_state=0, standardize=False).fit(X, X[:, 0] + y)
    glm = BayesianGLM(random_state=0, standardize=False).fit(X, y, offset=0.5)
    gmm = BayesianGMM(random_state=0, standardize=False).fit(framed(X, y)[["x0", "x1"]])
    offset = np.linspace(0.0, 1.0, 300)
    cases = [
        (softmax.predict, (X,), (rows,)),
        (softmax.predict_proba, (X,), (rows,)),
        (softmax.decision_function, (X,), (rows,)),
        (linear.score_samples, (X, X[:, 1]), (rows, rows[:, 1])),
        (glm.score_samples, (X, y, offset), (rows, cut(y, lengths), cut(offset, lengths))),
        (gmm.score_samples, (framed(X, y)[["x0", "x1"]],), (frame[["x0", "x1"]],)),
        (gmm.predict, (framed(X, y)[["x0", "x1"]],), (frame[["x0", "x1"]],)),
    ]
    for method, arrays, parts in cases:
        lazy, found = method(*parts), method(*arrays)
        assert isinstance(lazy, da.Array) and lazy.dtype == found.dtype and lazy.shape[1:] == found.shape[1:]
        assert np.array_equal(lazy.compute(), found)
    mean, std = linear.predict(rows, return_std=True)
    assert np.array_equal(std.compute(), linear.predict(X, return_std=True)[1]) and mean.shape == (300,)
    assert softmax.score(rows, cut(np.array(["a", "b", "c"])[y], lengths)) > 0.4


def test_averages_and_tables_take_the_evidences_of_collections():
    X, y = softmax_rows(20, n=3000)
    frame = framed(X, y)
    parts, names = dd.from_pandas(frame, npartitions=3), ["x0", "x1", "x2"]
    models = [
        (name, BayesianSoftmaxRegression(columns=columns, sampler=SAMPLER, standardize=False))
        for name, columns in (("all", None), ("two", ["x0", "x1"]))
    ]
    average = EvidenceModelAverager(models, random_state=0).fit(parts[names], parts["y"])
    arrays = EvidenceModelAverager(models, random_state=0).fit(frame[names], frame["y"])
    bars = np.hypot(average.log_evidences_std_, arrays.log_evidences_std_)
    assert np.all(np.abs(average.log_evidences_ - arrays.log_evidences_) < 4 * bars + 1e-6)
    assert average.data_fingerprint_ == arrays.data_fingerprint_
    assert average.feature_names_in_.tolist() == names
    assert compare(average)["n_samples"].tolist() == [3000, 3000]
    assert np.allclose(average.predict_proba(parts[names]), arrays.predict_proba(frame[names]), atol=0.02)


def test_a_series_in_parts_is_read_in_its_order():
    y = np.cumsum(np.random.default_rng(21).standard_normal(300))
    array = BayesianAutoregression(order=2, random_state=0, standardize=False).fit(y).log_evidence_
    assert (
        BayesianAutoregression(order=2, random_state=0, standardize=False)
        .fit(cut(y, [100, 200]))
        .log_evidence_
        == array
    )


def test_sizes_that_dask_does_not_know_are_named():
    """The error names the argument: a search has to count rows, and a model its columns."""
    X, y = softmax_rows(3, n=60)
    X, y = da.from_array(X, chunks=(20, X.shape[1])), da.from_array(y, chunks=20)
    some, columns = X[X[:, 0] > -9], X[:, da.from_array(np.arange(X.shape[1]) > 0)]
    search = EvidenceSearch(BayesianSoftmaxRegression(), {"fit_intercept": [True, False]})
    with pytest.raises(ValueError, match="X is a Dask array of parts with an unknown number of rows"):
        search.fit(some, y)
    for call in (BayesianSoftmaxRegression().fit, BayesianSoftmaxRegression().partial_fit):
        with pytest.raises(ValueError, match="X is a Dask array of parts with an unknown number of columns"):
            call(columns, y)
