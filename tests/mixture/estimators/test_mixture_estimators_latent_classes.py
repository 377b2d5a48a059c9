"""Latent classes: levels of any kind as codes, evidences against enumeration, and the estimator's face."""

import numpy as np
import pandas as pd
import pytest
from enumeration import enumerated
from sklearn.base import clone

from sgevidence import (
    SGAIS,
    BayesianCategoricalMixture,
    BayesianGMM,
    EvidenceModelAverager,
    EvidenceSearch,
    EvidenceWarning,
    compare,
    load,
    merge,
    save,
)
from sgevidence.history import Rows
from sgevidence.mixture.models import CategoricalMixtureModel

QUICK = SGAIS(n_particles=100, max_particles=100)


def fitted(X, K=1, sample_weight=None, **params):
    return BayesianCategoricalMixture(K, **{"random_state": 0} | params).fit(X, sample_weight=sample_weight)


def two_groups(rng, n=80, p=4):
    """Answers of two groups of people, who agree in nine of ten, as strings."""
    group = rng.random(n) < 0.4
    yes = rng.random((n, p)) < np.where(group, 0.9, 0.1)[:, None]
    return np.where(yes, "yes", "no"), group


# -- levels -------------------------------------------------------------------------------------


FORMS = {
    "strings": lambda X: X,
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "integers": lambda X: (X == "yes").astype(int),
    "booleans": lambda X: X == "yes",
    "floats": lambda X: np.where(X == "yes", 2.5, -1.0),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "pandas categories": lambda X: pd.DataFrame(X, columns=list("abcd")).astype("category"),
    "columns of several types": lambda X: pd.DataFrame(
        {"a": X[:, 0], "b": X[:, 1] == "yes", "c": np.where(X[:, 2] == "yes", 7, 3), "d": X[:, 3]}
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_evidence_is_that_of_the_levels_however_they_are_given(form, rng):
    """K = 1: 80 rows; labels, types and the order of levels mean nothing."""
    X, _ = two_groups(rng)
    model = fitted(FORMS[form](X))
    assert model.log_evidence_ == pytest.approx(fitted(X).log_evidence_, abs=1e-10)
    assert model.log_evidence_std_ == 0.0
    drawn, labels = model.sample(5)
    assert drawn.shape == (5, 4) and not labels.any()
    assert np.all(np.isfinite(model.score_samples(FORMS[form](X)))), "levels are known again"
    assert np.all(np.isfinite(model.score_samples(drawn))), "draws are levels"


def test_polars_frames(rng):
    polars = pytest.importorskip("polars")
    X, _ = two_groups(rng)
    frame = polars.DataFrame(X, schema=list("abcd"))
    assert fitted(frame).log_evidence_ == fitted(X).log_evidence_
    declared = frame.cast(polars.Enum(["no", "perhaps", "yes"]))
    model = fitted(declared, categories="auto")
    assert [len(levels) for levels in model.categories_] == [3, 3, 3, 3]
    assert model.log_evidence_ == fitted(X, categories=[["perhaps", "yes", "no"]] * 4).log_evidence_


MISSING = [None, np.nan, float("nan"), pd.NA, pd.NaT]


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing_values_are_a_level_or_are_left_out(value, rng):
    X, _ = two_groups(rng, n=30)
    X = X.astype(object)
    X[:4, 1] = value
    level = fitted(X)
    assert [len(levels) for levels in level.categories_] == [2, 3, 2, 2]
    named = X.copy()
    named[:4, 1] = "not said"
    assert level.log_evidence_ == pytest.approx(fitted(named).log_evidence_, abs=1e-10)
    ignored = fitted(X, missing="ignore")
    columns = [fitted(X[:, [j]]).log_evidence_ for j in (0, 2, 3)] + [fitted(X[4:, [1]]).log_evidence_]
    assert ignored.log_evidence_ == pytest.approx(sum(columns), abs=1e-10)
    assert ignored.score_samples([[value] * 4]) == pytest.approx(0.0, abs=1e-12)


def test_missing_numbers(rng):
    X = rng.integers(3, size=(30, 2)).astype(float)
    X[3, 0] = np.nan
    model = fitted(X)
    np.testing.assert_array_equal(model.categories_[0], [0, 1, 2, np.nan])
    frame = pd.DataFrame(X).astype("Int64")
    frame.columns = ["a", "b"]
    assert fitted(frame).log_evidence_ == model.log_evidence_


def test_a_level_that_is_first_seen_later_is_refused_by_name():
    frame = pd.DataFrame({"colour": ["red", "blue"], "size": [1, 2]})
    model = fitted(frame)
    before = model.log_evidence_
    late = pd.DataFrame({"colour": ["red", "green"], "size": [1, 2]})
    for call in (model.partial_fit, model.predict, model.score_samples):
        with pytest.raises(ValueError, match=r"column 'colour' of X has the level 'green'.*'blue', 'red'"):
            call(late)
    assert model.log_evidence_ == before and model.n_samples_seen_ == 2
    with pytest.raises(ValueError, match="column 1 of X has the level '3'"):
        fitted([["a", "1"], ["b", "2"]]).partial_fit([["a", "3"]])
    with pytest.raises(ValueError, match="column 'size' of X has a missing value"):
        model.predict(pd.DataFrame({"colour": ["red"], "size": [None]}))
    assert fitted(frame, categories=[["red", "green", "blue"], [1, 2]]).partial_fit(late).n_samples_seen_ == 4


@pytest.mark.parametrize(
    "params, X, message",
    [
        (dict(categories=[["a"]]), [["a", "b"]], "1 lists of levels, and X 2 columns"),
        (dict(categories=[["a", "a"]]), [["a"]], "a level twice"),
        (dict(categories=[[1, 1.0]]), [[1]], "a level twice"),
        (dict(categories=[[]]), [["a"]], "is empty"),
        (dict(categories=[0]), [["a"]], r"categories\[0\] must be a list of levels"),
        (dict(categories=[["b"]]), [["a"]], "column 0 of X has the level 'a'"),
        (dict(categories=[["a", None]], missing="ignore"), [["a"]], "missing value as a level"),
        (dict(missing="ignore"), [[None, "a"], [None, "b"]], "column 0 of X is all missing"),
        (dict(missing="drop"), [["a"]], "missing"),
        (dict(), np.array([[1j]]), "Complex"),
    ],
)
def test_what_cannot_be_right_is_refused(params, X, message):
    with pytest.raises(ValueError, match=message):
        fitted(X, **params)


def test_entries_that_are_no_levels_are_refused():
    with pytest.raises(TypeError, match="column 1 of X has entries that are no levels"):
        fitted(pd.DataFrame({"a": ["x", "y"], "b": [["list"], ["list"]]}))


def test_declared_categories_count_with_auto(rng):
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y", "x"], categories=["z", "y", "x"]), "b": [1, 2, 2]})
    assert [levels.tolist() for levels in fitted(frame).categories_] == [["x", "y"], [1, 2]]
    auto = fitted(frame, categories="auto")
    assert [levels.tolist() for levels in auto.categories_] == [["x", "y", "z"], [1, 2]]
    assert auto.log_evidence_ < fitted(frame).log_evidence_, "a level that may come has its prior probability"


# -- evidence -----------------------------------------------------------------------------------


def tiny(name, rng):
    """X of integers, weights, and parameters; nine rows at most by weight."""
    if name == "binary":
        return rng.integers(2, size=(8, 3)), None, {}
    if name == "levels":
        return np.column_stack([rng.integers(3, size=7), rng.integers(4, size=7)]), None, {}
    if name == "weighted":
        return rng.integers(2, size=(4, 4)), np.array([3.0, 1.0, 2.0, 2.0]), {}
    if name == "concentrations":
        X = rng.integers(3, size=(8, 3))
        return X, None, dict(weight_concentration=0.5, category_concentration=0.3)
    X = rng.integers(3, size=(8, 4)).astype(float)  # missing
    X[rng.random(X.shape) < 0.25] = np.nan
    return X, None, dict(missing="ignore", categories=[[0, 1, 2]] * 4)


def by_enumeration(model, X, weight):
    """The sum over all allocations, of the estimator's own levels."""
    index = [{level: k for k, level in enumerate(levels.tolist())} for levels in model.categories_]
    codes = [[-1 if np.isnan(v) else index[j][v] for j, v in enumerate(row)] for row in X.tolist()]
    plain = CategoricalMixtureModel(
        model.n_components,
        tuple(map(len, model.categories_)),
        model.weight_concentration,
        model.category_concentration,
    )
    return enumerated(plain, Rows.of(codes, weight=weight))


def off_by(name, K, rng, seed, **more):
    """The error of the evidence, and what is allowed."""
    X, weight, params = tiny(name, rng)
    model = fitted(X, K, sample_weight=weight, random_state=seed, **params, **more)
    return abs(model.log_evidence_ - by_enumeration(model, X, weight)), 4 * model.log_evidence_std_


@pytest.mark.parametrize(
    "name, K", [("binary", 2), ("levels", 3), ("weighted", 2), ("concentrations", 2), ("missing", 3)]
)
def test_the_evidence_of_a_few_rows_is_the_sum_over_all_allocations(name, K, rng, seed):
    error, allowed = off_by(name, K, rng, seed)
    assert error < 0.01 and allowed < 0.1


@pytest.mark.parametrize("name, K", [("levels", 2), ("missing", 3)])
def test_particles_alone_find_the_sum_over_all_allocations(name, K, rng, seed):
    """Gradients in unconstrained coordinates, on which streams beyond the reservoir rest."""
    error, allowed = off_by(name, K, rng, seed, sampler=SGAIS(proposal=None))
    assert error < allowed < 0.6


def test_one_fit_has_the_evidence_of_every_number_of_classes(rng):
    X, _ = two_groups(rng, n=12)
    model = fitted(X, 3, sampler=QUICK)
    found = model.component_evidence_
    assert found["log_evidence"][0] == pytest.approx(fitted(X).log_evidence_, abs=1e-8)
    assert found["log_evidence"][2] == model.log_evidence_
    assert model.n_components_in_use_proba_.sum() == pytest.approx(1.0)


def test_what_only_particles_can_answer_is_doubted(rng):
    X, _ = two_groups(rng, n=8, p=2)
    with pytest.warns(EvidenceWarning, match="comes from particles"):
        fitted(X, 11, sampler=QUICK)


def test_a_constant_column_and_the_names_of_levels_say_nothing(rng):
    X, _ = two_groups(rng, n=12, p=3)
    one, two = fitted(X, 2, sampler=QUICK), fitted(np.where(X == "yes", "no", "yes"), 2, sampler=QUICK)
    three = fitted(np.column_stack([X, np.full(12, "same")]), 2, sampler=QUICK, random_state=1)
    for other in (two, three):
        std = np.hypot(one.log_evidence_std_, other.log_evidence_std_)
        assert other.log_evidence_ == pytest.approx(one.log_evidence_, abs=4 * std + 0.01)


def test_weights_are_repetitions(rng):
    X, _ = two_groups(rng, n=20)
    weight = rng.integers(0, 4, size=20)
    weighted = fitted(X, 2, sample_weight=weight, sampler=QUICK)
    repeated = fitted(np.repeat(X, weight, axis=0), 2, sampler=QUICK)
    std = np.hypot(weighted.log_evidence_std_, repeated.log_evidence_std_)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=4 * std + 0.01)


def test_classes_are_found(rng):
    X, group = two_groups(rng, n=120, p=5)
    model = fitted(X, 2, sampler=QUICK)
    assert model.log_evidence_ > fitted(X).log_evidence_ + 10
    labels = model.predict(X)
    assert max(np.mean(labels == group), np.mean(labels != group)) > 0.9
    k = int(np.argmin(model.weights_))  # four in ten
    assert model.weights_[k] == pytest.approx(0.4, abs=0.15)
    yes = model.category_probabilities_[0][:, 1]
    assert yes[k] == pytest.approx(0.9, abs=0.15) and yes[1 - k] == pytest.approx(0.1, abs=0.15)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert [p.shape for p in model.category_probabilities_] == [(2, 2)] * 5


def test_a_summary_names_columns_and_levels(rng):
    X, _ = two_groups(rng, p=2)
    names = list(fitted(pd.DataFrame(X, columns=["a", "b"])).summary().index)
    levels = ("a=no", "a=yes", "b=no", "b=yes")
    assert names[1:] == [f"category_probabilities[0, {level}]" for level in levels]


def test_scores_are_probabilities_that_sum_to_one(rng):
    X, _ = two_groups(rng, p=3)
    model = fitted(X, 2, sampler=QUICK)
    cells = np.array(np.meshgrid(*[["no", "yes"]] * 3)).reshape(3, -1).T
    assert np.exp(model.score_samples(cells)).sum() == pytest.approx(1.0, abs=1e-9)
    assert model.score(X) == pytest.approx(np.mean(model.score_samples(X)))


# -- in company ---------------------------------------------------------------------------------


def test_evidences_compare_only_where_the_levels_are_the_same(rng):
    X, _ = two_groups(rng)
    one, two = fitted(X), fitted(X, 2, sampler=QUICK)
    assert compare({"one": one, "two": two}).index[0] == "two"
    more = fitted(X, categories=[["no", "yes"]] * 3 + [["no", "yes", "perhaps"]])
    with pytest.raises(ValueError, match="other data"):
        compare({"one": one, "more": more})
    same = fitted(X, categories=[["yes", "no"]] * 4)
    assert same.data_fingerprint_ == one.data_fingerprint_


def test_parts_of_one_class_are_merged(rng):
    X, _ = two_groups(rng)
    whole, parts = fitted(X), [fitted(X[:50]), fitted(X[50:])]
    together = merge(*parts)
    assert together.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-10)
    assert together.data_fingerprint_ == whole.data_fingerprint_
    with pytest.raises(ValueError, match="levels differ"):
        merge(fitted([["a"], ["b"]]), fitted([["a"], ["c"]]))


def test_a_search_over_the_number_of_classes(rng):
    X, _ = two_groups(rng, n=40)
    model = BayesianCategoricalMixture(sampler=QUICK, random_state=0)
    search = EvidenceSearch(model, {"n_components": [1, 2]}).fit(X)
    assert search.best_estimator_.n_components == 2
    averager = EvidenceModelAverager([(f"K={K}", clone(model).set_params(n_components=K)) for K in (1, 2)])
    assert averager.fit(X).weights_[1] > 0.99
    assert averager.score_samples(X).shape == (40,)


def test_a_stream_is_the_whole_fit(rng):
    X, _ = two_groups(rng, n=12)
    for K in (1, 2):
        known = [["no", "yes"]] * 4
        model = BayesianCategoricalMixture(K, categories=known, sampler=QUICK, random_state=0)
        for start in range(0, 12, 6):
            model.partial_fit(X[start : start + 6])
        whole = fitted(X, K, categories=known, sampler=QUICK)
        std = np.hypot(model.log_evidence_std_, whole.log_evidence_std_)
        assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=4 * std + 1e-10)


def test_a_saved_stream_goes_on(rng, tmp_path):
    pytest.importorskip("skops")
    X, _ = two_groups(rng, n=12, p=2)
    X = X.astype(object)
    X[0, 0], known = None, [["no", "yes", None], ["no", "yes"]]
    for K in (1, 2):
        model = BayesianCategoricalMixture(K, categories=known, sampler=QUICK, random_state=0)
        model.partial_fit(X[:6])
        save(model, tmp_path / "model.sge")
        again = load(tmp_path / "model.sge")
        assert again.partial_fit(X[6:]).log_evidence_ == model.partial_fit(X[6:]).log_evidence_
        assert again.categories_[1].tolist() == ["no", "yes"]


def test_numbers_are_another_model_than_a_density(rng):
    """Evidences of probabilities and of densities do not compare."""
    X = rng.integers(3, size=(40, 2))
    with pytest.raises(ValueError, match="other data"):
        compare({"levels": fitted(X), "numbers": BayesianGMM(random_state=0).fit(X)})


@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize("form", [np.asarray, lambda X: pd.DataFrame(X, columns=["yes", "id"])])
def test_identifiers_are_refused_before_they_cost(rng, form, K):
    """A level for each row, or two rows: 160 kB took 1.8 GB and minutes."""
    ids = np.char.add("id", rng.permutation(np.arange(300) // 3 * 2 + np.arange(300) % 2).astype(str))
    X = form(np.column_stack([rng.choice(["a", "b"], 300), ids]).astype(object))
    with pytest.raises(ValueError, match=r"column (1|'id') of X has 200 levels in 300 rows"):
        fitted(X, K)
    one = fitted(X)  # in closed form
    assert np.isfinite(one.log_evidence_)
    with pytest.raises(ValueError, match="200 levels in 300 rows"):
        BayesianCategoricalMixture(K).partial_fit(X)


class Interrupted(SGAIS):
    def update(self, *args):
        raise KeyboardInterrupt


def test_what_many_levels_cost_is_said_before(rng):
    """Also of levels that are declared for later rows, which are no identifiers."""
    X = rng.integers(0, 600, (400, 2))
    model = BayesianCategoricalMixture(2, categories=[range(600)] * 2, sampler=Interrupted())
    with pytest.warns(EvidenceWarning, match="2400 probabilities of levels take some 0.8 GB"):
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)


def answers_of(rng, kind, n=160, p=6):
    """Questionnaires: some do not answer ("silence"), or are of another opinion, or both go together."""
    some = rng.permutation(n) < 0.4 * n
    yes = np.where(some, 0.85, 0.2) if kind != "silence" else np.full(n, 0.4)
    X = np.where(rng.random((n, p)) < yes[:, None], "yes", "no").astype(object)
    gaps = {
        "silence": np.where(some, 0.6, 0.03),
        "opinion": np.full(n, 0.1),
        "both": np.where(some, 0.4, 0.03),
    }
    X[rng.random((n, p)) < gaps[kind][:, None]] = rng.choice([None, np.nan, pd.NA])
    return X


def silent_words(model):
    return [words for words in model.warnings_ if words.startswith("missing answers alone")]


@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("kind", ["silence", pytest.param("opinion", marks=pytest.mark.slow), "both"])
def test_classes_that_differ_in_missing_answers_alone_are_warned_of(kind, rng):
    X = answers_of(rng, kind)
    found = silent_words(BayesianCategoricalMixture(2, random_state=0).fit(X))
    assert bool(found) == (kind == "silence")
    if found:
        assert "classes 0 and 1: " in found[0] and 'missing="ignore"' in found[0]
    frame = pd.DataFrame(X).astype("category")
    search = EvidenceSearch(
        BayesianCategoricalMixture(categories="auto", random_state=0), {"n_components": [1, 2]}
    )
    assert bool(silent_words(search.fit(frame).best_estimator_)) == (kind == "silence")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["silence", "opinion", "both"])
def test_a_class_too_many_is_not_called_silent(kind, seed):
    X = answers_of(np.random.default_rng(seed + 700), kind)
    for K in (3, 4):
        model = BayesianCategoricalMixture(K, random_state=seed).fit(X)
        assert bool(silent_words(model)) == (kind == "silence")
    ignoring = BayesianCategoricalMixture(2, missing="ignore", random_state=seed).fit(X)
    assert not silent_words(ignoring)


def test_a_stream_is_warned_of_silent_classes_once():
    X = answers_of(np.random.default_rng(9), "silence")
    model = BayesianCategoricalMixture(2, categories=[["no", "yes", None]] * X.shape[1], random_state=0)
    with pytest.warns(EvidenceWarning) as caught:
        for start in range(0, len(X), 40):
            model.partial_fit(X[start : start + 40])
    assert sum("missing answers alone" in str(one.message) for one in caught) == 1
