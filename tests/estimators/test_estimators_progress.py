"""A fit as it is watched: callbacks see chunks and steps; an interrupt leaves what was there."""

import warnings

import joblib
import numpy as np
import pytest
from estimator_cases import CASES, data, estimator, first_call, noisy, part, same_fit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgevidence import EvidenceModelAverager, FullData, evidence_scorer
from sgevidence.models import Model

#: A mixture takes the longest and has nothing of its own here.
EVERY_KIND = pytest.mark.parametrize("kind", [kind for kind in CASES if kind != "gmm"])


class Recorder:
    """A callback that is handed on to every depth."""

    max_propagation_depth = None

    def __init__(self, fails_after=10**9):
        self.log, self.open, self.scores, self.fails_after = [], [], [], fails_after

    def setup(self, estimator, context):
        self.log.append("setup")

    def teardown(self, estimator, context):
        self.log.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.open.append(context)
        self.log.append((context.estimator_name, context.task_name))
        if len(self.log) > self.fails_after:
            raise KeyboardInterrupt

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        assert self.open.pop() is context
        if hasattr(fitted_estimator, "log_evidence_"):
            self.scores.append(fitted_estimator.log_evidence_)


def names(recorder):
    return [entry for entry in recorder.log if isinstance(entry, tuple)]


@EVERY_KIND
def test_callbacks_see_the_call_its_chunks_and_their_steps(kind):
    recorder = Recorder()
    model = estimator(kind).set_callbacks(recorder)
    model.partial_fit(*part(kind, 0, 60), **first_call(kind))
    name = type(model).__name__
    path = model.evidence_path_
    assert recorder.log[0] == "setup" and recorder.log[-1] == "teardown" and not recorder.open
    assert names(recorder)[0] == (name, "fit")
    assert names(recorder).count((name, "chunk")) == len(path["n_samples"])
    assert names(recorder).count((name, "step")) <= sum(path["n_moves"])
    assert recorder.scores == [model.log_evidence_]
    recorder.log.clear()
    model.partial_fit(*part(kind, 60, 90))
    assert names(recorder)[0] == (name, "partial_fit")
    same_fit(
        model,
        estimator(kind).partial_fit(*part(kind, 0, 60), **first_call(kind)).partial_fit(*part(kind, 60, 90)),
    )
    assert not {"_callback_fit_ctx", "_skl_callbacks_to_teardown"} & set(vars(model))


def test_more_chunks_than_announced_do_no_harm():
    from sgevidence.estimators import FitTasks

    model = estimator("linear").set_callbacks(recorder := Recorder())
    tasks = FitTasks(model, "fit", None, None)
    tasks.expect(1)
    for _ in range(3):
        tasks.step()
        tasks.part()
    tasks.end()
    assert names(recorder).count((type(model).__name__, "chunk")) == 1 and not recorder.open


def test_through_a_pipeline_and_a_search():
    X, y = data("linear")
    search = GridSearchCV(
        make_pipeline(StandardScaler(), estimator("linear")),
        {"bayesianlinearregression__noise_std": [0.5, 1.0]},
        scoring=evidence_scorer,
        cv=FullData(),
    ).set_callbacks(recorder := Recorder())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(X, y)
    assert names(recorder).count(("BayesianLinearRegression", "fit")) == 3 and not recorder.open
    assert "_skl_callbacks" not in vars(search.best_estimator_[-1])


@pytest.mark.parametrize("method, n_chunks", [("bma", 1), ("dynamic", 5)])
def test_an_average_hands_them_on_to_its_models(method, n_chunks):
    X, y = data("linear")
    models = [
        ("a", estimator("linear")),
        ("deep", make_pipeline(StandardScaler(), estimator("linear"))),
        ("inner", EvidenceModelAverager([("b", estimator("linear"))])),
    ]
    if method == "bma":
        models.append(("frozen", FrozenEstimator(estimator("linear").fit(X, y))))
    average = EvidenceModelAverager(models, method=method).set_callbacks(recorder := Recorder()).fit(X, y)
    assert recorder.log[0] == "setup" and recorder.log[-1] == "teardown" and not recorder.open
    seen = names(recorder)
    calls = [name for name, task in seen if task in ("fit", "partial_fit")]
    assert calls.count("EvidenceModelAverager") == 1 + n_chunks  # itself, and the inner one
    assert calls.count("BayesianLinearRegression") == 3 * n_chunks
    assert seen.count(("EvidenceModelAverager", "chunk")) == 2 * n_chunks
    for name, child in average.named_estimators_.items():
        if name != "frozen":
            assert not {"_skl_callbacks", "_parent_callback_ctx"} & set(vars(child))
    plain = EvidenceModelAverager(models, method=method).fit(X, y)
    np.testing.assert_array_equal(plain.log_evidences_, average.log_evidences_)
    with joblib.parallel_config("threading"):
        side_by_side = clone(average).set_params(n_jobs=2).set_callbacks(Quiet()).fit(X, y)
    np.testing.assert_array_equal(plain.log_evidences_, side_by_side.log_evidences_)


class Quiet(Recorder):
    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        pass

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass


@pytest.mark.parametrize("method", ["bma", "stacking"])
def test_models_of_an_average_print_under_their_names(method, capsys):
    X, y = data("linear")
    models = [
        ("plain", estimator("linear", verbose=1)),
        ("deep", make_pipeline(StandardScaler(), estimator("linear", verbose=1))),
        ("inner", EvidenceModelAverager([("b", estimator("linear", verbose=1))])),
    ]
    frozen = estimator("linear").fit(X, y)
    if method == "bma":
        models.append(("frozen", FrozenEstimator(frozen)))
    EvidenceModelAverager(models, method=method).fit(X, y)
    found = {line.split("]")[0] + "]" for line in capsys.readouterr().out.splitlines()}
    assert found == {"[plain]", "[deep]", "[inner, b]"}
    assert "_named" not in vars(frozen)


# -- interrupts ------------------------------------------------------------------------------------


def interrupted(call, monkeypatch, at):
    """The call, with an interrupt at that many evaluations of the likelihood."""
    real, seen = Model.sum_log_likelihood, iter(range(10**6))

    def stop(model, theta, rows):
        if next(seen) == at:
            raise KeyboardInterrupt
        return real(model, theta, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Model, "sum_log_likelihood", stop)
        with pytest.raises(KeyboardInterrupt):
            call()


@EVERY_KIND
def test_a_stream_that_is_interrupted_keeps_the_chunks_before_and_goes_on(kind, monkeypatch):
    model = noisy(kind).partial_fit(*part(kind, 0, 40), **first_call(kind))
    model.partial_fit(*part(kind, 40, 60))
    interrupted(lambda: model.partial_fit(*part(kind, 60, 90)), monkeypatch, at=0)
    assert model.n_samples_seen_ == 60 and np.isfinite(model.log_evidence_)
    X, y = data(kind)
    assert model.score_samples(X, *(() if y is None else (y,))).shape == (90,)
    through = noisy(kind).partial_fit(*part(kind, 0, 40), **first_call(kind))
    through.partial_fit(*part(kind, 40, 60)).partial_fit(*part(kind, 60, 90))
    same_fit(model.partial_fit(*part(kind, 60, 90)), through)


@EVERY_KIND
def test_a_fit_that_is_interrupted_half_way_leaves_the_fit_before(kind, monkeypatch):
    model = noisy(kind)
    if "standardize" in model.get_params():
        model.set_params(standardize=False)  # the trajectories that are interrupted
    interrupted(lambda: model.fit(*data(kind)), monkeypatch, at=0)
    assert not hasattr(model, "log_evidence_")
    model.fit(*part(kind, 0, 90))
    before = joblib.hash(vars(model))
    interrupted(lambda: model.fit(*data(kind)), monkeypatch, at=0)
    assert joblib.hash(vars(model)) == before


@pytest.mark.parametrize("after", [2, 5])
def test_an_interrupt_takes_the_bars_down(after):
    for model in (
        noisy("linear"),
        EvidenceModelAverager([("a", noisy("linear"))], method="stacking"),
    ):
        model.partial_fit(*part("linear", 0, 30))
        before = joblib.hash(vars(model))
        model.set_callbacks(recorder := Recorder(fails_after=after))
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data("linear"))
        assert recorder.log[-1] == "teardown"
        model.set_callbacks()
        assert joblib.hash(vars(model)) == before
        model.partial_fit(*part("linear", 30, 60))
        assert model.n_samples_seen_ == 60
