"""What holds for every kind of estimator: the stream, the seeds, the weights, the reports."""

import copy
import functools
import pickle
from functools import partial
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from estimator_cases import CASES, KINDS, data, estimator, first_call, noisy, part, same_fit
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sgevidence import EvidenceFeatureSelector, EvidenceModelAverager, FullData, evidence_scorer

pytestmark = pytest.mark.parametrize("kind", KINDS)


def through_pickle(est):
    return pickle.loads(pickle.dumps(est))


def streamed(est, kind, *cuts):
    for start, stop in pairwise(cuts):
        est.partial_fit(*part(kind, start, stop), **(first_call(kind) if start == 0 else {}))
    return est


@functools.cache
def stream(kind, *cuts):
    """A fitted estimator that tests compare with or read, and none changes."""
    return streamed(estimator(kind), kind, *cuts)


def test_fit_is_one_partial_fit_bit_for_bit(kind):
    fitted = estimator(kind).fit(*data(kind))
    same_fit(fitted, estimator(kind).partial_fit(*data(kind)))
    same_fit(fitted, streamed(estimator(kind), kind, 0, 60).fit(*data(kind)))  # fit forgets


def test_copies_taken_mid_stream_continue_bit_for_bit(kind):
    original, whole = streamed(estimator(kind), kind, 0, 30, 60), stream(kind, 0, 30, 60, 90)
    branches = [copied(original) for copied in (through_pickle, copy.copy, copy.deepcopy)]
    for branch in branches:
        same_fit(streamed(branch, kind, 60, 90), whole)
        assert original.n_samples_seen_ == 60
    same_fit(streamed(original, kind, 60, 90), whole)


def test_a_memory_mapped_estimator_continues_bit_for_bit(kind, tmp_path):
    joblib.dump(stream(kind, 0, 60), tmp_path / "est")
    mapped = joblib.load(tmp_path / "est", mmap_mode="r")
    same_fit(streamed(mapped, kind, 60, 90), stream(kind, 0, 60, 90))


def test_fingerprint_is_the_same_however_the_rows_are_cut(kind):
    a, b = stream(kind, 0, 60), streamed(estimator(kind), kind, 0, 20, 21, 60)
    assert (a.n_samples_seen_, a.data_fingerprint_) == (b.n_samples_seen_, b.data_fingerprint_)
    assert a.data_fingerprint_ != streamed(estimator(kind), kind, 0, 59).data_fingerprint_


def test_clone_is_unfitted_and_set_params_reaches_the_sampler(kind):
    est = clone(stream(kind, 0, 60))
    with pytest.raises(NotFittedError):
        check_is_fitted(est)
    assert (
        len(est.set_params(sampler__n_particles=7, sampler__max_particles=7).fit(*data(kind)).particles_) == 7
    )


def test_parameters_of_the_default_sampler_can_be_set_and_searched(kind):
    small = dict(sampler__n_particles=7, sampler__max_particles=7)
    default = estimator(kind, sampler=None)
    assert len(clone(default).set_params(**small).fit(*part(kind, 0, 10)).particles_) == 7
    assert default.sampler is None
    search = GridSearchCV(default, {"sampler__max_particles": [5, 6]}, scoring=evidence_scorer, cv=FullData())
    search.set_params(error_score="raise", estimator__sampler__n_particles=5).fit(*part(kind, 0, 10))
    assert len(search.best_estimator_.particles_) == search.best_params_["sampler__max_particles"]
    default = estimator(kind, sampler=None)
    with pytest.raises(ValueError, match="Invalid parameter 'speed' for estimator SGAIS"):
        default.set_params(sampler__speed=1)
    assert default.set_params(sampler__n_particles=9, sampler=None).sampler.n_particles == 9


def test_an_int_repeats_and_a_random_state_advances(kind):
    rows = part(kind, 0, 60)
    est = estimator(kind).fit(*rows)
    same_fit(stream(kind, 0, 60), est.fit(*rows))
    rows, est = part(kind, 0, 30), noisy(kind, random_state=np.random.RandomState(3))
    first, second = (est.fit(*rows).log_evidence_ for _ in range(2))
    assert first != second
    assert first == noisy(kind, random_state=np.random.RandomState(3)).fit(*rows).log_evidence_


@pytest.mark.parametrize("form", [np.asfortranarray, np.ndarray.tolist, pd.DataFrame, "read only", "reused"])
def test_the_form_of_X_does_not_matter(kind, form, tmp_path):
    X, y = data(kind)
    if form == "read only":
        joblib.dump(X, tmp_path / "X")
        X = joblib.load(tmp_path / "X", mmap_mode="r")
    elif form != "reused":
        X = form(X)
    reused, est = np.empty((45, 2)), estimator(kind)
    for half in (slice(0, 45), slice(45, 90)):
        part_X = X.iloc[half] if hasattr(X, "iloc") else X[half]
        if form == "reused":  # one buffer that the caller fills again and again
            reused[:] = part_X
            part_X = reused
        est.partial_fit(part_X, None if y is None else y[half], **first_call(kind))
    same_fit(est, stream(kind, 0, 45, 90))


def test_float32_is_accepted_and_column_names_are_kept(kind):
    X, y = part(kind, 0, 40)
    low = X.astype(np.float32)
    same_fit(estimator(kind).fit(low, y), estimator(kind).fit(low.astype(float), y))
    named = estimator(kind).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    assert named.feature_names_in_.tolist() == ["a", "b"]
    assert named.n_features_in_ == 2


def test_weights_are_repetitions_and_zero_is_no_row(kind, rng):
    X, y = (
        None if a is None else a[:30] for a in data(kind)
    )  # one chunk: more are cut by weight, not by row
    weight = rng.integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    rep = [None if a is None else a[repeated] for a in (X, y)]
    weighted = estimator(kind).fit(X, y, sample_weight=weight)
    plain = estimator(kind).fit(*rep)
    assert weighted.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-7)
    np.testing.assert_allclose(weighted.particles_, plain.particles_, rtol=1e-6, atol=1e-7)
    kept = weight > 0
    same_fit(weighted, estimator(kind).fit(X[kept], None if y is None else y[kept], weight[kept]))
    assert weighted.n_samples_seen_ == kept.sum()


def streams(kind):
    """Learners of a stream, and the keywords of the first call that has rows."""
    known = first_call(kind)
    yield lambda: estimator(kind), known
    for method in ("bma", "dynamic", "stacking"):
        models = [("one", estimator(kind)), ("other", estimator(kind, **CASES[kind].other))]
        yield partial(EvidenceModelAverager, models, method=method), known
    if kind == "linear":
        yield EvidenceFeatureSelector, {}


def test_a_call_whose_weights_are_all_zero_adds_nothing_to_a_stream(kind):
    """Averages by each method where a fit is cheap, by one elsewhere."""
    X, y = data(kind)
    X_0, y_0 = X[:3] + 1e3, None if y is None else y[:3]  # rows that would count
    each = list(streams(kind))
    for make, known in each if kind == "linear" else each[:2]:
        streamed, plain = make(), make()
        for call, start in enumerate((0, 4, 50)):  # in front, among rows that are held, and later
            for weight in (np.zeros(3), np.zeros(3, dtype=int), [0, 0, 0]):
                streamed.partial_fit(X_0, y_0, sample_weight=weight)
            rows = slice(start, (4, 50, 90)[call])
            for model in (streamed, plain):
                model.partial_fit(X[rows], None if y is None else y[rows], **({} if call else known))
        assert streamed.log_evidence_ == plain.log_evidence_
        assert streamed.data_fingerprint_ == plain.data_fingerprint_
        with pytest.raises(ValueError, match="at least one non-zero"):
            make().fit(X_0, y_0, sample_weight=np.zeros(3))


def test_evidence_path_tells_the_whole_story(kind):
    est = stream(kind, 0, 30, 60, 90)
    path = est.evidence_path_
    assert len({len(values) for values in path.values()}) == 1
    assert path["n_samples"][-1] == est.n_samples_seen_ == 90
    assert np.all(np.diff(path["n_samples"]) > 0)
    assert path["log_evidence"][-1] == est.log_evidence_
    assert path["log_evidence_std"][-1] == est.log_evidence_std_
    assert np.sum(path["log_predictive"]) == pytest.approx(est.log_evidence_, abs=1e-9)
    assert np.all(path["ess"] <= path["n_particles"].max() + 1e-9)
    for steps, lambdas in zip(path["n_annealing_steps"], path["lambdas"]):
        assert len(lambdas) == steps
        assert steps == 0 or lambdas[-1] == 1.0


def test_score_samples_averages_densities_and_log_predictive_averages_their_product(kind):
    est = stream(kind, 0, 60)
    X, y = part(kind, 60, 90)
    rows = est._rows_to_score(X, y)
    ell = est._log_likelihood(est.particles_, rows) + np.log(est.particle_weights_)[:, None]
    args = (X,) if y is None else (X, y)
    np.testing.assert_allclose(est.score_samples(*args), logsumexp(ell, axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(est.score_samples(*args), est.score_samples(*args))  # no randomness
    joint = logsumexp(ell.sum(axis=1) - (len(X) - 1) * np.log(est.particle_weights_))
    assert est.log_predictive(X, y) == pytest.approx(joint, rel=1e-9)


def test_log_predictive_is_the_gain_in_evidence(kind):
    est = streamed(estimator(kind, n_particles=200), kind, 0, 60)
    X, y = part(kind, 60, 70)
    predicted, before = est.log_predictive(X, y), est.log_evidence_
    gain = est.partial_fit(X, y).log_evidence_ - before
    assert abs(predicted - gain) < 4 * est.log_evidence_std_ + 1


def test_posterior_samples_are_named_and_equally_weighted(kind):
    est = stream(kind, 0, 60)
    shapes = {name: value.shape for name, value in est.posterior_samples().items()}
    assert shapes == {name: (30, *shape) for name, shape in CASES[kind].posterior.items()}


def test_nothing_is_reported_before_fit(kind):
    est, (X, y) = estimator(kind), data(kind)
    for name in (
        "log_evidence_",
        "evidence_path_",
        "coef_",
        "intercept_",
        "noise_std_",
        "means_",
        "weights_",
    ):
        assert not hasattr(est, name)
    for call in ("posterior_samples", "sample", "score_samples", "log_predictive", "predict", "score"):
        if hasattr(est, call):
            args = {"posterior_samples": (), "sample": (), "predict": (X,), "score": (X, y)}.get(call, (X,))
            with pytest.raises(NotFittedError):
                getattr(est, call)(*args)


def test_verbose_prints_a_line_a_chunk(kind, capsys):
    est = streamed(estimator(kind), kind, 0, 60)
    assert capsys.readouterr().out == ""
    streamed(est.set_params(verbose=True), kind, 60, 90)
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(f"[{type(est).__name__}] 90 rows, log evidence {est.log_evidence_:.2f} ±")


def test_sample_weight_is_routed_through_pipeline_and_search(kind, rng):
    X, y = part(kind, 0, 40)
    weight = rng.uniform(0.5, 2, size=len(X))
    expected = estimator(kind).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        search = GridSearchCV(
            make_pipeline(scaler, estimator(kind).set_fit_request(sample_weight=True)),
            {"standardscaler__with_std": [True]},
            scoring=evidence_scorer,
            cv=FullData(),
        )
        search.fit(X, y, sample_weight=weight)
        with pytest.raises(UnsetMetadataPassedError):
            make_pipeline(scaler, estimator(kind)).fit(X, y, sample_weight=weight)
    same_fit(search.best_estimator_[-1], expected)
    assert search.best_score_ == expected.log_evidence_
