"""Errors and warnings by name."""

import sys
import warnings

import numpy as np

#: Packages whose frames are not the user's.
OURS = ("sgevidence", "sklearn", "joblib", "contextlib")


class DivergenceError(RuntimeError):
    """The particles left the region where the model can be evaluated; the message says what to change."""


class EvidenceWarning(UserWarning):
    """The answer should not be trusted as it is; the message says what to change."""


class CallLimitError(RuntimeError):
    """A fit takes more evaluations of a user's log likelihood than ``max_calls``; nothing has changed."""


class SavedFileError(ValueError):
    """A file is not what :func:`sgevidence.save` of this version writes; the message says what is wrong."""


class ImpossibleRowsError(ValueError):
    """The likelihood of rows is zero, infinite or not a number for all particles: there is no log evidence.

    Parameters
    ----------
    rows : Rows
        Rows that are impossible one by one; empty if only all together are.
    n_before : int
        Rows seen before the chunk that they came in.
    where : str, default=""
        Their place in words; by default what is known of it from the two.
    """

    def __init__(self, rows, n_before: int, where: str = ""):
        self.rows, self.n_before, self.where = rows, n_before, where
        super().__init__(
            "the likelihood is zero, infinite or not a number for all particles"
            f"{where or self._described()}: no log evidence can be given"
        )

    def __reduce__(self):
        return type(self), (self.rows, self.n_before, self.where)

    def _described(self) -> str:
        if not len(self.rows):
            return f" of the rows that follow row {self.n_before} together"
        X, y = self.rows.X[0], self.rows.y
        values = f"X = {X}" + ("" if y is None else f", y = {y[0]}")
        return f" at {len(self.rows)} row(s) that follow row {self.n_before}, the first with {values}"

    def among(self, rows, sample_weight=None) -> "ImpossibleRowsError":
        """This error with the places of the rows among those that the caller gave.

        Parameters
        ----------
        rows : Rows
            Rows of positive weight.
        sample_weight : array-like or None
            Weights of all rows that the caller gave.

        Returns
        -------
        ImpossibleRowsError
        """
        if not len(self.rows):
            return self
        same = (rows.X[:, None] == self.rows.X[None, :10]).all(axis=2)
        if rows.y is not None:
            same &= rows.y[:, None] == self.rows.y[None, :10]
        indices = np.flatnonzero(same.any(axis=1))[:10]
        if not len(indices):
            return self
        if sample_weight is not None and np.ndim(sample_weight):
            indices = np.flatnonzero(np.asarray(sample_weight) > 0)[indices]
        return type(self)(self.rows, self.n_before, f" at rows {indices.tolist()} of those given")


def warn_caller(*doubts: str) -> None:
    """Warn of each where the user called: the first frame outside of this package and of what it runs in."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    for words in doubts:
        warnings.warn(words, EvidenceWarning, stacklevel=level)
