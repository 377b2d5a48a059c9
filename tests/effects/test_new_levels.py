"""Levels that come in later calls of a stream whose rows are kept: the answer is that of all rows at once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianLinearRegression,
    Factor,
    Group,
    Interaction,
    Smooth,
    load,
    merge,
    save,
)


@pytest.fixture(scope="module")
def litters():
    rng = np.random.default_rng(1)
    site = np.repeat(np.arange(12), 5)
    x = rng.standard_normal(60)
    eta = 0.3 + 0.5 * x + rng.standard_normal(12)[site]
    found = {"site": [f"no. {k}" for k in site], "pen": rng.integers(0, 3, 60), "x": x}
    return pd.DataFrame(found | {"alive": rng.poisson(np.exp(eta)), "ill": rng.random(60) < 0.5})


@pytest.mark.parametrize(
    "family, y, terms",
    [
        ("poisson", "alive", [Group("site")]),
        pytest.param("bernoulli", "ill", [Group("site", by="x"), Group("pen")], marks=pytest.mark.slow),
        pytest.param("negative_binomial", "alive", [Group("site")], marks=pytest.mark.slow),
    ],
)
def test_a_stream_with_new_levels_is_a_fit_of_all_rows(litters, tmp_path, family, y, terms):
    """Saved and loaded between the calls, and units are given; four sites come with each call."""
    rows, columns = litters, ["x", "site", "pen"][: 1 + len(terms)]
    whole = BayesianGLM(family, terms=terms, random_state=0).fit(rows[columns], rows[y])
    stream = clone(whole).set_params(units=whole.units_)
    for k, part in enumerate(np.array_split(np.arange(60), 3)):
        stream.partial_fit(rows[columns].iloc[part], rows[y].iloc[part])
        save(stream, tmp_path / f"{k}.zip")
        stream = load(tmp_path / f"{k}.zip")
    std = np.hypot(whole.log_evidence_std_, stream.log_evidence_std_)
    assert abs(stream.log_evidence_ - whole.log_evidence_) < 4 * std < 0.3
    assert stream.n_samples_seen_ == 60 and stream.data_fingerprint_ == whole.data_fingerprint_
    assert set(stream.effects_["level"]) == set(whole.effects_["level"])
    assert stream.evidence_path_["n_samples"][-1] == 60
    effects = [model.effects_.sort_index()["mean"] for model in (whole, stream)]
    assert np.allclose(*effects, atol=0.4 * whole.effects_["sd"].max())


def stream_of(litters, **parameters):
    model = BayesianGLM("poisson", terms=[Group("site")], random_state=0, **parameters)
    return model.partial_fit(litters[["x", "site"]][:30], litters["alive"][:30])


def test_a_call_that_fails_leaves_all_as_it_was(litters):
    model, again = stream_of(litters), stream_of(litters)
    bad = litters["alive"][30:].to_numpy().copy()
    bad[3] = -1
    with pytest.raises(ValueError):
        model.partial_fit(litters[["x", "site"]][30:], bad)
    assert len(model.effects_) == 6 and model.log_evidence_ == again.log_evidence_
    for one in (model, again):
        one.partial_fit(litters[["x", "site"]][30:], litters["alive"][30:])
    assert len(model.effects_) == 12 and model.log_evidence_ == again.log_evidence_


def test_copies_are_branches(litters):
    import copy

    model = stream_of(litters)
    branch, before = copy.copy(model), model.log_evidence_
    branch.partial_fit(litters[["x", "site"]][30:], litters["alive"][30:])
    assert len(model.effects_) == 6 and model.log_evidence_ == before
    model.partial_fit(litters[["x", "site"]][:30], litters["alive"][:30])
    assert model.n_samples_seen_ == 60 and len(model.effects_) == 6


@pytest.mark.parametrize("sampler", [SGAIS(reservoir_size=16, n_particles=20)])
def test_streams_that_do_not_keep_all_rows_refuse(litters, sampler):
    model = stream_of(litters, sampler=sampler)
    before = model.log_evidence_
    with pytest.raises(ValueError, match="keep all rows"):
        model.partial_fit(litters[["x", "site"]][30:], litters["alive"][30:])
    assert model.log_evidence_ == before


def test_a_number_that_has_become_a_text_is_no_new_level(litters):
    model = BayesianLinearRegression(terms=[Group("pen")]).partial_fit(litters[["pen"]], litters["x"])
    texts = litters[["pen"]].astype(str)
    for call in (lambda: model.predict(texts), lambda: model.partial_fit(texts, litters["x"])):
        with pytest.raises(ValueError, match="'2', and the first call had 2"):
            call()
    assert model.predict(litters[["pen"]].astype(float)).shape == (60,)


CROSSED = [
    [Group("site"), Group("pen")],
    [Group("site"), Group("pen", by="x")],
    [Group(("site", "pen")), Group("site", by="x", correlated=False)],
]


@pytest.fixture(scope="module")
def pens():
    """Rows in the order of their pens, of which there are more than sites in the end and fewer at first."""
    rng = np.random.default_rng(5)
    site, pen, x = rng.integers(0, 12, 120), np.sort(rng.integers(0, 20, 120)), rng.normal(3.0, 2.0, 120)
    y = x + rng.standard_normal(12)[site] + 0.5 * rng.standard_normal(20)[pen] * x + rng.standard_normal(120)
    return pd.DataFrame({"x": x, "site": [f"s{k}" for k in site], "pen": pen, "y": y})


def in_parts(whole, frame, parts):
    stream = clone(whole).set_params(units=whole.units_)
    for part in parts:
        stream.partial_fit(frame[["x", "site", "pen"]].iloc[part], frame["y"].iloc[part])
    return stream


@pytest.mark.parametrize("terms", CROSSED, ids=["intercepts", "slopes", "nested"])
def test_gaussian_sums_of_crossed_groups_grow(pens, terms):
    """Any cutting gives the answer of a fit, also where another group comes to have most levels."""
    whole = BayesianLinearRegression(terms=terms, random_state=0).fit(pens[["x", "site", "pen"]], pens["y"])
    stream = in_parts(whole, pens, np.split(np.arange(120), [1, 2, 60]))
    assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
    means = [model.effects_.sort_index()["mean"] for model in (whole, stream)]
    assert np.allclose(*means, atol=0.2 * whole.effects_["sd"].max())


def merged_and_whole(frame, terms, cut=50, **parameters):
    """The merged model, a fit of all rows, and a stream, in the units of the first rows."""
    model = BayesianLinearRegression(terms=terms, random_state=0, **parameters)
    columns = [name for name in ("x", "site", "pen", "dose") if name == "x" or name in str(terms)]
    X, y = frame[columns], frame["y"]
    parts = [clone(model).fit(X[:cut], y[:cut]), clone(model).fit(X[cut:], y[cut:])]
    units = {} if parameters else {"units": parts[0].units_}
    stream = clone(model).set_params(**units).partial_fit(X[:cut], y[:cut]).partial_fit(X[cut:], y[cut:])
    return merge(*parts), clone(model).set_params(**units).fit(X, y), stream


@pytest.mark.parametrize(
    "terms",
    [pytest.param([Group("site", by="x")], marks=pytest.mark.slow), *CROSSED[:2]],
    ids=["one", "crossed", "slopes"],
)
def test_models_of_other_rows_are_merged(pens, terms):
    """Each in the units of its own rows and with levels that the other does not have."""
    merged, whole, _ = merged_and_whole(pens.assign(y=50.0 + 3 * pens["y"]), terms)
    assert merged.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
    assert merged.n_samples_seen_ == 120 and set(merged.effects_["level"]) == set(whole.effects_["level"])
    X = pens[["x", "site", "pen"]].iloc[::40]
    X = X if terms[-1].column == "pen" else X[["x", "site"]]
    assert np.allclose(merged.predict(X), whole.predict(X), atol=0.3)


def test_factors_and_products_are_merged_as_a_stream_learns_them(pens):
    terms = [Factor("dose"), Interaction("x", Factor("dose")), Group("pen", by="x")]
    frame = pens.assign(dose=np.tile(["low", "mid", "high"], 40))
    merged, _, stream = merged_and_whole(frame, terms)
    assert merged.log_evidence_ == pytest.approx(stream.log_evidence_, abs=1e-6)
    assert np.allclose(merged._watch.squares, stream._watch.squares)


@pytest.mark.parametrize(
    "terms, parameters, words",
    [
        ([Group("site"), Smooth("x", 5)], {}, "curves"),
        ([Factor("site")], {}, "a term is a Group"),
        ([Group("site")], {"prior": "jzs"}, "jzs"),
        ([Group("site", by="x", intercept=False)], {}, "same units="),
    ],
)
def test_terms_without_sums_that_add_up_are_not_merged(pens, terms, parameters, words):
    model = BayesianLinearRegression(terms=terms, random_state=0, **parameters)
    parts = [clone(model).fit(part[["x", "site"]], part["y"]) for part in (pens[::2], pens[1::2])]
    with pytest.raises(ValueError, match=words):
        merge(*parts)


def test_counts_are_not_merged(litters):
    with pytest.raises(ValueError, match="partial_fit"):
        merge(stream_of(litters), stream_of(litters))
