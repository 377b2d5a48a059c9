"""``covariance_type``: shapes of scikit-learn, correlated groups are one, streams and units do not matter."""

import copy
import re
import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV

from sgevidence import (
    SGAIS,
    BayesianGMM,
    EvidenceModelAverager,
    EvidenceWarning,
    compare,
    evidence_scorer,
    load,
    merge,
    prior_sensitivity,
    save,
)
from sgevidence.displays import MixtureDisplay

pytestmark = pytest.mark.filterwarnings("ignore:prior and data contradict")
KINDS = pytest.mark.parametrize("kind", ["diag", "full", "spherical"])
OTHERS = pytest.mark.parametrize("kind", ["full", "spherical"])


def correlated(rng, rho, n=400):
    return rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=n)


def pair(rng, rho, n):
    """Two such groups, four apart."""
    groups = [correlated(rng, rho, n) + shift for shift in ([-2, 0], [2, 0])]
    return rng.permutation(np.concatenate(groups))


@KINDS
@pytest.mark.parametrize("standardize", [False, True])
def test_shapes_are_those_of_scikit_learn(kind, standardize, rng):
    X = rng.normal(size=(40, 3)) * [1, 2, 0.5]
    model = BayesianGMM(covariance_type=kind, standardize=standardize, random_state=0).fit(X)
    theirs = GaussianMixture(covariance_type=kind).fit(X)
    assert model.means_.shape == theirs.means_.shape
    assert model.covariances_.shape == theirs.covariances_.shape


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.95])
def test_a_correlation_is_not_a_group(rho, rng):
    X = correlated(rng, rho)
    full, diag = (BayesianGMM(covariance_type=kind, standardize=False).fit(X) for kind in ("full", "diag"))
    assert full.log_evidence_std_ == 0.0
    assert full.log_evidence_ - diag.log_evidence_ > {0.3: 5, 0.7: 100, 0.95: 80}[rho]
    np.testing.assert_allclose(full.covariances_[0], np.cov(X.T), atol=0.1)


@OTHERS
@pytest.mark.parametrize("n_rows", [7, 50])
def test_a_stream_in_any_pieces_has_the_evidence_of_one_fit(kind, n_rows, rng):
    X = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 3)) + [3e5, 0, 0]
    weight = rng.integers(1, 4, 120).astype(float)
    whole, stream = (
        BayesianGMM(covariance_type=kind, mean_scale=1e6, random_state=0, standardize=False) for _ in range(2)
    )
    whole.fit(X, sample_weight=weight)
    buffer = np.empty((n_rows, 3))  # the caller's own, which is used again
    for start in range(0, len(X), n_rows):
        part = buffer[: len(X[start : start + n_rows])]
        part[:] = X[start : start + n_rows]
        stream.partial_fit(part, sample_weight=weight[start : start + n_rows])
        part[:] = np.nan
    expected = pytest.approx(whole.log_evidence_, abs=1e-9)
    assert stream.log_evidence_ == expected
    repeated = BayesianGMM(covariance_type=kind, mean_scale=1e6, random_state=0, standardize=False)
    assert repeated.fit(np.repeat(X, weight.astype(int), axis=0)).log_evidence_ == expected
    halves = [
        BayesianGMM(covariance_type=kind, mean_scale=1e6, standardize=False).fit(
            X[h], sample_weight=weight[h]
        )
        for h in (slice(60), slice(60, None))
    ]
    assert merge(*halves).log_evidence_ == expected


@OTHERS
def test_units_and_offsets_change_the_evidence_by_their_jacobian_only(kind, rng):
    X = np.rint(20 * rng.normal(size=(60, 2))) @ [[1, 1], [0, 1]]
    factor = np.array([4, 4] if kind == "spherical" else [8, 2])  # one unit, or one for each column
    near, far = (
        BayesianGMM(covariance_type=kind, standardize=True, random_state=0).fit(Y)
        for Y in (X, 1e6 + factor * X)
    )
    assert far.log_evidence_ == pytest.approx(near.log_evidence_ - 60 * np.log(16), abs=1e-6)
    np.testing.assert_allclose(far.means_, 1e6 + factor * near.means_, rtol=1e-9)
    squares = {"full": np.outer(factor, factor), "spherical": 16}
    cov = near.covariances_ * squares.get(kind, factor**2)
    np.testing.assert_allclose(far.covariances_, cov, rtol=1e-6)
    np.testing.assert_allclose(
        far.score_samples(1e6 + factor * X), near.score_samples(X) - np.log(16), atol=1e-6
    )


@OTHERS
def test_predictions_are_the_posterior_predictive(kind, rng):
    X = correlated(rng, 0.7, 30)
    model = BayesianGMM(covariance_type=kind, random_state=0, standardize=False).fit(X)
    more = BayesianGMM(covariance_type=kind, random_state=0, standardize=False).fit(np.r_[X, [[0.3, -0.2]]])
    exact = more.log_evidence_ - model.log_evidence_
    assert model.score_samples([[0.3, -0.2]])[0] == pytest.approx(exact, abs=0.05)
    draws, labels = model.sample(4000)
    assert not labels.any()
    np.testing.assert_allclose(np.corrcoef(draws.T)[0, 1], 0.6 if kind == "full" else 0, atol=0.2)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((30, 1)))


@OTHERS
def test_fewer_rows_than_columns_and_copies_of_a_row(kind, rng):
    X = np.repeat(rng.normal(size=(2, 9)), 2, axis=0)
    model = BayesianGMM(covariance_type=kind, random_state=0, standardize=False).fit(X)
    parts = BayesianGMM(covariance_type=kind, random_state=0, standardize=False)
    for x in X:
        parts.partial_fit(x[None])
    assert np.isfinite(model.log_evidence_)
    assert parts.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-10)


def test_impossible_rows_leave_everything_as_it_was(rng):
    model = BayesianGMM(covariance_type="full", standardize=False).fit(correlated(rng, 0.5, 20))
    before = model.log_evidence_
    for bad in (np.nan, np.inf, 1e200):
        with pytest.raises(ValueError, match=r"NaN|infinity|squares leave"):
            model.partial_fit([[bad, 0.0]])
        assert model.log_evidence_ == before


def test_a_direction_thinner_than_the_prior_has_them_is_named_with_its_price(rng):
    X = correlated(rng, 0.99)
    with pytest.warns(EvidenceWarning, match=r"thin in a direction across columns 0 and 1") as caught:
        wide = BayesianGMM(covariance_type="full", variance_prior=(1.0, 1.0)).fit(X)
    third = BayesianGMM(covariance_type="full", variance_prior=(1.0, 1 / 3)).fit(X)
    told = float(re.search(r"by ([+-]\d+) nats", str(caught[0].message))[1])
    assert told == pytest.approx(third.log_evidence_ - wide.log_evidence_, rel=0.1)
    narrow = BayesianGMM(covariance_type="full").fit(X)
    assert not narrow.warnings_
    assert narrow.log_evidence_ - wide.log_evidence_ > 40


@pytest.mark.parametrize("kind", ["diag", "spherical", "full"])
@pytest.mark.parametrize("p", [1, 4, 30])
def test_the_default_prior_of_variances_has_a_thin_direction_where_covariances_are_full(kind, p, rng):
    model = BayesianGMM(covariance_type=kind).fit(rng.normal(size=(40, p)))
    scale = 0.18 if kind == "full" and p == 4 else 1.0
    assert model.variance_prior_ == pytest.approx((1.0, scale))
    assert model._model.variance_prior == model.variance_prior_
    assert any(
        f"InvGamma(1, {scale:g})" in " ".join(note.split()) for note in [" ".join(model._prior_notes())]
    )
    stated = BayesianGMM(covariance_type=kind, variance_prior=model.variance_prior_).fit(
        rng.normal(size=(40, p))
    )
    assert stated.variance_prior_ == model.variance_prior_


def test_sensitivity_varies_the_default_prior_of_variances(rng):
    table = prior_sensitivity(BayesianGMM(covariance_type="full"), correlated(rng, 0.9))
    assert "variance_prior / 3" in table.index


def test_what_the_prior_draws_is_no_conflict():
    rng, n_warned = np.random.default_rng(3), 0
    for _ in range(30):
        Sigma = np.atleast_2d(stats.invwishart.rvs(3, 2 * np.eye(2), random_state=rng))
        X = rng.multivariate_normal(rng.multivariate_normal([0, 0], 4 * Sigma), Sigma, size=50)
        n_warned += bool(BayesianGMM(covariance_type="full", standardize=False).fit(X).warnings_)
    assert n_warned <= 1


def test_an_ellipse_follows_its_component(rng):
    model = BayesianGMM(covariance_type="full", random_state=0, standardize=False).fit(
        correlated(rng, 0.9) * [2, 1]
    )
    patch = MixtureDisplay.from_estimator(model, rng.normal(size=(5, 2))).ax_.patches[0]
    variances, axes = np.linalg.eigh(model.covariances_[0])
    assert patch.width / 2 == pytest.approx(variances[1] ** 0.5)
    assert patch.height / 2 == pytest.approx(variances[0] ** 0.5)
    assert np.tan(np.radians(patch.angle)) == pytest.approx(axes[1, 1] / axes[0, 1])
    assert 0 < patch.angle < 45


def test_a_grid_over_kinds_takes_the_one_that_the_rows_have(rng):
    X, rows = correlated(rng, 0.8, 100), np.arange(100)
    search = GridSearchCV(
        BayesianGMM(random_state=0, standardize=False),
        {"covariance_type": ["diag", "full", "spherical"]},
        scoring=evidence_scorer,
        cv=[(rows, rows)],
    ).fit(X)
    assert search.best_params_ == {"covariance_type": "full"}
    kinds = {
        kind: BayesianGMM(covariance_type=kind, random_state=0, standardize=False)
        for kind in ("diag", "full")
    }
    averager = EvidenceModelAverager(list(kinds.items())).fit(X)
    assert averager.weights_[1] > 0.999
    assert "full" in str(compare({kind: model.fit(X) for kind, model in kinds.items()})).split()


def test_annealed_groups_say_that_they_were(rng):
    X = np.r_[correlated(rng, 0.9, 8) - 6, correlated(rng, 0.9, 8) + 6]
    sampler = SGAIS(n_particles=30, max_particles=30, proposal=None)
    with pytest.warns(EvidenceWarning, match="comes from particles"):
        model = BayesianGMM(
            2, covariance_type="full", sampler=sampler, random_state=0, standardize=False
        ).fit(X)
    assert model.covariances_.shape == (2, 2, 2)
    assert model.weights_.sum() == pytest.approx(1)


def test_other_names_are_refused():
    with pytest.raises(ValueError, match=r"covariance_type.*'tied'"):
        BayesianGMM(covariance_type="tied", standardize=False).fit([[0.0], [1.0]])


@pytest.fixture(scope="module")
def two_groups():
    rng = np.random.default_rng(12)
    return pair(rng, 0.95, 60)


@pytest.fixture(scope="module")
def fitted(two_groups):
    return BayesianGMM(2, covariance_type="full", random_state=0, standardize=False).fit(two_groups)


def test_two_correlated_groups_are_two_components(fitted, two_groups):
    """All numbers of components come from one walk; of one it is the closed form."""
    assert fitted.diagnostics_["n_proposals"] == 1
    found = fitted.component_evidence_
    assert found["log_evidence"][1] == fitted.log_evidence_ > found["log_evidence"][0] + 50
    one = BayesianGMM(1, covariance_type="full", standardize=False).fit(two_groups)
    assert found["log_evidence"][0] == pytest.approx(one.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(one.component_evidence_["log_evidence"], one.log_evidence_)
    assert found["log_evidence_std"].shape == (2,)
    assert fitted.component_evidence_covariance_.shape == (2, 2)
    np.testing.assert_allclose(fitted.n_components_in_use_proba_, [0, 1], atol=1e-6)
    order = np.argsort(fitted.means_[:, 0])
    np.testing.assert_allclose(fitted.means_[order], [[-2, 0], [2, 0]], atol=0.5)
    for Sigma in fitted.covariances_:
        assert Sigma[0, 1] / np.sqrt(Sigma[0, 0] * Sigma[1, 1]) > 0.85
    labels = fitted.predict(two_groups)
    assert set(labels) == {0, 1}
    np.testing.assert_array_equal(fitted.predict_proba(two_groups).argmax(axis=1), labels)


def test_what_strata_know_of_a_stream_is_of_the_rows_they_saw(fitted, two_groups):
    stream = copy.deepcopy(fitted).partial_fit(two_groups[:3])
    with pytest.raises(AttributeError, match="was last known at 120 rows, by weight, of 123"):
        stream.component_evidence_  # noqa: B018
    assert stream.log_evidence_std_ >= fitted.log_evidence_std_
    assert not hasattr(BayesianGMM(2, standardize=False), "component_evidence_")
    halves = BayesianGMM(2, random_state=0, standardize=False).fit(
        two_groups[:9].repeat(2, axis=0), sample_weight=[0.5] * 18
    )
    one, *_ = halves.component_evidence_["log_evidence"]
    assert one == pytest.approx(BayesianGMM(1, standardize=False).fit(two_groups[:9]).log_evidence_, abs=1e-8)


def test_beyond_the_reservoir_the_reason_is_said(two_groups):
    model = BayesianGMM(
        2,
        sampler=SGAIS(reservoir_size=20, n_particles=50, max_particles=50),
        random_state=0,
        standardize=False,
    )
    with warnings.catch_warnings(action="ignore"):
        model.partial_fit(two_groups[:20]).partial_fit(two_groups[20:60]).partial_fit(two_groups[60:70])
    with pytest.raises(AttributeError, match="was last known at 60 rows, by weight, of 70"):
        model.component_evidence_  # noqa: B018


@pytest.mark.parametrize("standardize", [pytest.param(False, marks=pytest.mark.slow), True])
def test_diagonal_components_know_every_number_when_asked(rng, standardize):
    """Beside fits of each number of components, in a stream and in other units."""
    X = rng.standard_normal((30, 2)) + 3.0 * rng.integers(0, 2, (30, 1))
    X = X * [1.0, 5.0] + [0.0, 2.0] if standardize else X - X.mean(axis=0)
    kinds = dict(random_state=0, standardize=standardize)
    model = BayesianGMM(3, **kinds)
    for part in np.split(X, [30] if standardize else [10, 20]):
        if len(part):
            model.partial_fit(part)
    found = model.component_evidence_
    for k in (1, 2, 3):
        one = BayesianGMM(k, **kinds).fit(X)
        error = np.hypot(one.log_evidence_std_, found["log_evidence_std"][k - 1])
        assert abs(found["log_evidence"][k - 1] - one.log_evidence_) < 4 * error + 1e-8
    assert model.n_components_in_use_proba_.sum() == pytest.approx(1)
    assert model.component_evidence_covariance_ is model.component_evidence_covariance_  # walked once


def test_strata_survive_a_file(fitted, two_groups, tmp_path):
    pytest.importorskip("skops")
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.component_evidence_["log_evidence"], fitted.component_evidence_["log_evidence"]
    )
    np.testing.assert_array_equal(again.predict_proba(two_groups), fitted.predict_proba(two_groups))


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [7, 50])
def test_a_stream_of_groups_in_any_pieces_has_the_evidence_of_one_fit(fitted, two_groups, n_rows):
    stream = BayesianGMM(2, covariance_type="full", random_state=3, standardize=False)
    for start in range(0, len(two_groups), n_rows):
        part = two_groups[start : start + n_rows].copy()
        stream.partial_fit(part)
        part[:] = np.nan
    error = np.hypot(stream.log_evidence_std_, fitted.log_evidence_std_)
    assert abs(stream.log_evidence_ - fitted.log_evidence_) < 4 * error + 1e-3


@pytest.mark.slow
def test_beyond_what_strata_answer_particles_carry_on_and_say_so(two_groups, monkeypatch, walk_numbers):
    walk_numbers(120 * 2 * 6)
    rng = np.random.default_rng(5)
    X = pair(rng, 0.9, 300)
    with pytest.warns(EvidenceWarning, match="particles carry the evidence on from"):
        carried = BayesianGMM(2, covariance_type="full", random_state=0, standardize=False).fit(X)
    monkeypatch.undo()
    whole = BayesianGMM(2, covariance_type="full", random_state=0, standardize=False).fit(X)
    error = np.hypot(carried.log_evidence_std_, whole.log_evidence_std_)
    assert abs(carried.log_evidence_ - whole.log_evidence_) < 4 * error
