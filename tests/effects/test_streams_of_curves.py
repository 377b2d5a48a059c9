"""A stream whose knots are those of its first call says so: it is another model than a fit of all rows."""

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianLinearRegression, EvidenceWarning, compare

pytest.importorskip("formulae")
FORMULA = "y ~ poly(x, 2) + s(z)"


def frame_of(seed, n=100):
    rng = np.random.default_rng([63, seed])
    frame = pd.DataFrame({"x": rng.normal(5, 2, n), "z": rng.uniform(0, 10, n)})
    return frame.assign(y=np.sin(frame["z"]) + 0.2 * frame["x"] + 0.4 * rng.standard_normal(n))


def stream_of(frame):
    stream = BayesianLinearRegression(formula=FORMULA, random_state=0)
    for k in range(0, len(frame), 50):
        stream.partial_fit(frame[k : k + 50])
    return stream


def test_rows_beyond_the_knots_are_told():
    frame = frame_of(1).sort_values("z")
    with pytest.warns(EvidenceWarning, match="another model, with another evidence"):
        stream = stream_of(frame)
    table = compare({"stream": stream, "fit": BayesianLinearRegression(formula=FORMULA).fit(frame)})
    assert "range of the first call" in table["warnings"]["stream"] and not table["warnings"]["fit"]


def test_rows_within_the_knots_are_not():
    frame = frame_of(2)
    frame.loc[:1, "z"] = [0.0, 10.0]
    stream = stream_of(frame)
    assert not any("first call" in words for words in stream.warnings_)
    assert "polynomials of the first 50 rows" in " ".join(str(stream.summary()).split())
    whole = BayesianLinearRegression(formula=FORMULA, random_state=0).fit(frame)
    assert "polynomials of" not in str(whole.summary())
    other = (
        BayesianLinearRegression(formula="y ~ x + z", random_state=0).fit(frame[:50]).partial_fit(frame[50:])
    )
    assert "polynomials of" not in str(other.summary())
