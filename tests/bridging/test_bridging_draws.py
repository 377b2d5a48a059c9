"""What may be given as draws and as a density, and what is refused in words."""

import numpy as np
import pytest
from scipy.stats import norm

from sgevidence import bridge_evidence


def log_density(theta):
    return norm.logpdf(theta).sum(axis=1)


@pytest.fixture
def draws(rng):
    return rng.standard_normal((4, 250, 3))


def test_one_chain_is_a_chain(draws):
    one = draws.reshape(-1, 3)
    assert bridge_evidence(one, log_density, random_state=0) == bridge_evidence(
        one[None].tolist(), log_density, random_state=0
    )


def test_arviz_is_flattened(draws):
    """Variables in their order, whatever the order of dimensions; and a part of them."""
    xarray, arviz = pytest.importorskip("xarray"), pytest.importorskip("arviz")
    scales = np.array([1.0, 2.0, 3.0])
    w = (("draw", "chain", "k"), (draws[:, :, :2] * scales[:2]).transpose(1, 0, 2))
    data = xarray.Dataset({"w": w, "mu": (("chain", "draw"), draws[:, :, 2] * 3), "twice": w})

    def scaled(theta):
        return norm.logpdf(theta, scale=scales).sum(axis=1)

    expected = bridge_evidence(draws * scales, scaled, random_state=0)
    assert bridge_evidence(data[["w", "mu"]], scaled, random_state=0) == expected
    tree = xarray.DataTree.from_dict({"posterior": data[["w", "mu"]]})
    assert bridge_evidence(tree, scaled, random_state=0) == expected
    if "InferenceData" in vars(arviz):
        whole = arviz.InferenceData(posterior=data[["w", "mu"]])
        assert bridge_evidence(whole, scaled, random_state=0) == expected
    with pytest.raises(ValueError, match="linearly dependent"):
        bridge_evidence(data, scaled)
    with pytest.raises(ValueError, match=r"w\[1\]: all draws of a half are equal"):
        bridge_evidence(data.assign(w=data.w * [1, 0]), scaled)
    with pytest.raises(ValueError, match="not chain and draw"):
        bridge_evidence(data.isel(chain=0), scaled)


def test_buffers_are_not_shared(draws):
    """A density that writes into what it is given and returns the same array each time; draws stay."""
    buffer, before = np.empty(5000), draws.copy()

    def reuses(theta):
        buffer[: len(theta)] = log_density(theta)
        theta[:] = np.nan
        return buffer[: len(theta)]

    assert bridge_evidence(draws, reuses, random_state=1) == bridge_evidence(
        draws, log_density, random_state=1
    )
    assert (draws == before).all()


def test_the_seed_decides(draws):
    found = [bridge_evidence(draws, log_density, random_state=k).log_evidence for k in (0, 0, 1)]
    assert found[0] == found[1] != found[2]


def test_walls(rng):
    """A density of zero in half of the space is no reason to refuse."""
    draws = np.abs(rng.standard_normal((4, 1000, 2)))

    def half_normal(theta):
        return np.where((theta > 0).all(axis=1), log_density(theta), -np.inf)

    found = bridge_evidence(draws, half_normal, random_state=0)
    assert abs(found.log_evidence - np.log(0.25)) < 4 * found.log_evidence_std < 0.2


def test_a_large_constant_costs_no_digits(draws):
    low = bridge_evidence(draws, log_density, random_state=0)
    high = bridge_evidence(draws, lambda theta: log_density(theta) + 2.0**33, random_state=0)
    assert high.log_evidence - 2.0**33 == pytest.approx(low.log_evidence, abs=1e-5)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda x: x[0, 0], r"draws must be \(n, d\)"),
        (lambda x: x[:, :, :0], "not empty"),
        (lambda x: 1.0, "draws must be"),
        (lambda x: x[:, :10], "too short"),
        (lambda x: x[0, :40].repeat(4, axis=1), "40 draws are too few for 12 columns"),
        (lambda x: np.where(x == x[1, 2, 0], np.nan, x), "nan or infinity"),
        (lambda x: x * [1, 0, 1], "column 1: all draws of a half are equal"),
        (lambda x: x[..., [0, 1, 1]], "linearly dependent"),
        (lambda x: x[[0, 1, 1, 2, 0]], "2 of the 5 chains are copies"),
        (lambda x: np.dstack([x, 1e6 - x.sum(axis=2)]), "linearly dependent"),
    ],
)
def test_draws_that_are_refused(draws, change, words):
    with pytest.raises(ValueError, match=words):
        bridge_evidence(change(draws), log_density)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda theta: norm.logpdf(theta).sum(), r"the shape \(\) for 1000 draws of 3 columns"),
        (norm.logpdf, r"the shape \(1000, 3\)"),
        (lambda theta: log_density(theta)[:, None], "needs vectorized=False"),
        (lambda theta: np.where(theta[:, 0] > 2, np.nan, log_density(theta)), "nan or infinite at"),
        (lambda theta: np.where(theta[:, 0] > 2, np.inf, log_density(theta)), "nan or infinite at"),
        (lambda theta: np.where(theta[:, 0] > 2, -np.inf, log_density(theta)), "−inf at draws"),
    ],
)
def test_densities_that_are_refused(draws, wrong, words):
    with pytest.raises(ValueError, match=words):
        bridge_evidence(draws, wrong)


def test_a_density_on_nothing_but_the_draws_is_refused(draws):
    known = {tuple(row) for row in draws.reshape(-1, 3)}

    def only_there(theta):
        return np.array([0.0 if tuple(row) in known else -np.inf for row in theta])

    with pytest.raises(ValueError, match="at all draws of a Gaussian"):
        bridge_evidence(draws, only_there)


def test_masked_numbers_are_no_numbers(draws):
    """Neither in the draws nor in what the density answers is the number under the mask used."""
    with pytest.raises(ValueError, match="draws is a masked array"):
        bridge_evidence(np.ma.masked_greater(draws, 3.0), log_density)
    with pytest.raises(ValueError, match="log_density is a masked array"):
        bridge_evidence(draws, lambda theta: np.ma.masked_less(log_density(theta), -6.0))
