r"""Whether plain sums over the rows of a regression can be trusted: its columns against their prior scales.

A likelihood that is summed in double precision, and coordinates that come from second moments, resolve
directions of the posterior whose precisions differ by a factor below 10¹⁶.  Columns that lie far from zero,
as timestamps do, or prior scales that are huge, ask for more: then moves, weights and evidence are wrong by
nats, and nothing in them shows it.

    κ = (1 + σ₁²) / (1 + σ_d²),    σ = singular values of √ω Φ S

is the factor between the largest and the smallest precision in units of the prior.

Symbols: ``Phi`` = Φ, ``S`` = prior scales, ``weight`` = ω.
"""

from typing import Any

import numpy as np

from ._regression import design_matrix, prior_scales

#: κ from which sums are doubted: second moments in double precision then err by 10⁻³ of the smallest
#: precision.
MAX_CONDITION = 1e13
#: Rows that are looked at, spread evenly; κ hardly depends on their number.
MAX_ROWS = 4096


def condition(model: Any, rows: Any) -> float:
    """κ of a regression's rows, infinite where it cannot be said; 1 for models without coefficients."""
    model = getattr(model, "plain", model)  # coordinates that suit far columns are as narrow along one line
    if not hasattr(model, "coef_scale") or not len(rows):
        return 1.0
    part = rows.take(np.arange(0, len(rows), -(-len(rows) // MAX_ROWS)))
    S = prior_scales(model.n_features, model.fit_intercept, model.coef_scale, model.intercept_scale)
    Phi = design_matrix(part.X[:, : model.n_features], model.fit_intercept)
    with np.errstate(all="ignore"):
        A = np.sqrt(part.weight * (len(rows) / len(part)))[:, None] * Phi * S
        if not np.all(np.isfinite(A)) or np.abs(A).max(initial=0.0) > 1e150:
            return np.inf
    squares = np.linalg.svd(A, compute_uv=False) ** 2
    if not len(squares):
        return 1.0
    return float((1.0 + squares[0]) / (1.0 + (squares[-1] if len(squares) == len(S) else 0.0)))


def far_columns(model: Any, rows: Any) -> str | None:
    """Why an answer that rests on plain sums over these rows should not be trusted; None if it may."""
    found = condition(model, rows)
    if found < MAX_CONDITION:
        return None
    return (
        f"columns of X, times their prior scales, differ by a factor of {found:.0e} in what they determine, "
        "more than sums in double precision resolve: the log evidence may be wrong by nats; centre and scale "
        "X (StandardScaler), or lower coef_scale"
    )
