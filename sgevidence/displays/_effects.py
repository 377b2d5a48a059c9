"""Effects of levels with posterior intervals, sorted."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..estimators import level_effects
from ._drawn import drawn
from ._style import GREY, axes, intervals, marker_style, name_rows

#: Levels that are drawn at most: the lowest and the highest.
MAX_LEVELS = 40


class EffectsDisplay:
    """Effect of each level of a group or a factor: posterior mean, 50 % and 90 % interval, sorted.

    Parameters
    ----------
    draws : ndarray of shape (M, n_levels)
        Posterior draws.
    levels : sequence of str
    term : str
        Name of the term, as ``effects_`` has it.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression, Group
    >>> from sgevidence.displays import EffectsDisplay
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(0, 5, 100)
    >>> y = 2.0 * group + rng.standard_normal(100)
    >>> model = BayesianLinearRegression(terms=[Group(0)], random_state=0).fit(group[:, None], y)
    >>> display = EffectsDisplay.from_estimator(model)
    >>> display.ax_.get_yticklabels()[0].get_text()
    '4'
    """

    def __init__(self, *, draws: np.ndarray, levels: Sequence[str], term: str):
        self.draws, self.levels, self.term = draws, levels, term

    @classmethod
    def from_estimator(cls, estimator: Any, *, term: str | None = None, ax: Any = None) -> "EffectsDisplay":
        """Draw one term of a fitted regression.

        Parameters
        ----------
        estimator : fitted estimator
            With ``terms`` or a ``formula``, alone, frozen or at the end of a pipeline.
        term : str, optional
            Such as ``"days | subject"``; by default the first of ``effects_``.
        ax : matplotlib Axes, optional

        Returns
        -------
        EffectsDisplay

        Raises
        ------
        ValueError
            If there is no such term; the message has those that there are.
        """
        model = drawn(cls, estimator, "effects_")
        effects = (
            level_effects(model, model.posterior_samples()) if getattr(model, "_has_terms", False) else []
        )
        terms = list(dict.fromkeys(effect.term for effect, _ in effects))
        if not terms or term not in {None, *terms}:
            raise ValueError(f"{type(model).__name__} has no term {term!r}: its terms of levels are {terms}")
        term = terms[0] if term is None else term
        chosen = [(effect.level, draws) for effect, draws in effects if effect.term == term]
        levels, draws = zip(*chosen)
        return cls(draws=np.column_stack(draws), levels=levels, term=term).plot(ax)

    def plot(self, ax: Any = None) -> "EffectsDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default of a new figure.

        Returns
        -------
        EffectsDisplay
        """
        order = np.argsort(-self.draws.mean(axis=0))
        if len(order) > MAX_LEVELS:
            order = np.concatenate([order[: MAX_LEVELS // 2], order[-MAX_LEVELS // 2 :]])
        ax = axes(self, ax, figsize=(6.0, 1.0 + 0.3 * len(order)))
        ax.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
        intervals(ax, self.draws[:, order], np.arange(len(order)), None, **marker_style(0))
        name_rows(ax, [str(self.levels[k]) for k in order])
        left_out = len(self.levels) - len(order)
        middle = f"; {left_out} levels between are left out" if left_out else ""
        ax.set_xlabel(f"{self.term} (mean, 50 % and 90 % interval{middle})")
        return self
