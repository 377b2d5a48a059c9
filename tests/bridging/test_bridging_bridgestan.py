"""Models of BridgeStan by a stand-in with its documented methods: draws of files and of ArviZ."""

import numpy as np
import pytest

from sgevidence.bridging import bridge_evidence, from_bridgestan


class StanModel:
    """``real<lower=0> s; vector[2] m; s ~ gamma(3, 2); m ~ normal(0, 2);``: the scale is log s, m."""

    def param_names(self, *, include_tp=False, include_gq=False):
        return ["s", "m.1", "m.2"] + ["twice.1"] * include_tp

    def param_unconstrain(self, theta, *, out=None):
        return np.array([np.log(theta[0]), *theta[1:]])

    def log_density(self, theta_unc, *, propto=True, jacobian=True):
        s, m = np.exp(theta_unc[0]), theta_unc[1:]
        if s > 20:
            raise RuntimeError("rejected")
        constants = 3 * np.log(2.0) - np.log(2.0) - 2 * np.log(2.0) - np.log(2 * np.pi)
        kernel = 2 * np.log(s) - 2 * s - m @ m / 8
        return kernel + (0 if propto else constants) + (theta_unc[0] if jacobian else 0)


@pytest.fixture
def draws(rng):
    return np.concatenate([rng.gamma(3.0, 0.5, (4, 500, 1)), rng.normal(0, 2, (4, 500, 2))], axis=2)


def files(draws, folder):
    """As CmdStan writes them: comments, columns of its own, transformed parameters behind."""
    paths = []
    for k, chain in enumerate(draws):
        paths.append(folder / f"chain-{k}.csv")
        lines = [
            "# stan_version_major = 2",
            "lp__,accept_stat__,s,m.1,m.2,twice.1",
            "# Adaptation terminated",
        ]
        lines += [",".join(repr(float(x)) for x in [-1.0, 0.9, *row, 2 * row[1]]) for row in chain]
        paths[-1].write_text("\n".join([*lines, "#", "#  Elapsed Time: 1 seconds", ""]))
    return paths


def check_evidence(given):
    found = bridge_evidence(*from_bridgestan(StanModel(), given), random_state=0)
    assert abs(found.log_evidence) < 4 * found.log_evidence_std < 0.1 and not found.doubts  # a prior alone


def test_files_of_cmdstan(draws, tmp_path):
    unconstrained, _ = from_bridgestan(StanModel(), files(draws, tmp_path))
    np.testing.assert_allclose(unconstrained[..., 0], np.log(draws[..., 0]))
    np.testing.assert_allclose(unconstrained[..., 1:], draws[..., 1:])
    check_evidence(files(draws, tmp_path))


def test_draws_of_arviz(draws):
    xarray = pytest.importorskip("xarray")
    m = (("draw", "chain", "k"), draws[..., 1:].transpose(1, 0, 2))
    check_evidence(xarray.Dataset({"m": m, "s": (("chain", "draw"), draws[..., 0])}))


def test_what_is_refused(draws, tmp_path):
    paths = files(draws, tmp_path)
    paths[1].write_text(paths[1].read_text().replace("m.2", "n.2"))
    with pytest.raises(ValueError, match=r"chain-1.csv has no column 'm.2'"):
        from_bridgestan(StanModel(), paths)
    with pytest.raises(ValueError, match="CSV files, or a posterior"):
        from_bridgestan(StanModel(), draws)
    short = files(draws[:, :300], tmp_path)[:1] + files(draws, tmp_path)[1:]
    short[0].write_text("\n".join(short[0].read_text().split("\n")[:200]))
    with pytest.raises(ValueError, match="chains of one length"):
        from_bridgestan(StanModel(), short)
    xarray = pytest.importorskip("xarray")
    variables = {"m": (("chain", "draw", "k"), draws), "s": (("chain", "draw"), draws[..., 0])}
    with pytest.raises(ValueError, match=r"draws of 'm' have the shape \(3,\), and the model has \(2,\)"):
        from_bridgestan(StanModel(), xarray.Dataset(variables))
    with pytest.raises(ValueError, match="no variable 'm' of the model"):
        from_bridgestan(StanModel(), xarray.Dataset({"s": variables["s"]}))
