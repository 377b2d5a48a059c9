"""Predictions of a fitted hidden Markov model: states, densities of rows, and sequences of its own."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..estimators import DensityEstimator
from ..exceptions import warn_caller
from ..history import Rows
from ..mixture.estimators import unclear_labels
from ..particles import log_sum_exp
from ..rows import at_once, check_count, generator, last_time, places_in_time, refuse_unreadable
from ._model import HiddenMarkovModel


class StatePredictions(DensityEstimator):
    """Methods of hidden Markov models that take sequences, each of which starts anew."""

    _model: HiddenMarkovModel
    _is_series = True
    _last_time: Any = None  #: time of the last row, where rows come with times

    _draws_tell_priors = False

    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Probabilities of the states given all rows of their sequence.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sequences, one after the other.
        lengths : array-like of int, optional
            Rows of each sequence; None: one.

        Returns
        -------
        ndarray of shape (n_samples, n_states)
            The mean over the posterior of the smoothed probabilities, states relabelled to common slots.
        """
        rows = self._sequences(X, lengths)
        return self._average_of(rows, self._model.smoothed)

    def filter(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Probabilities of the states given the rows up to each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lengths : array-like of int, optional
            Rows of each sequence; None: one.

        Returns
        -------
        ndarray of shape (n_samples, n_states)
        """
        rows = self._sequences(X, lengths)
        return self._average_of(rows, lambda theta, rows: self._model.filtered(theta, rows)[0])

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The most probable state of each row, given all rows of its sequence.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lengths : array-like of int, optional
            Rows of each sequence; None: one.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.argmax(self.predict_proba(X, lengths), axis=1)

    def decode(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The most probable path of states (Viterbi).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lengths : array-like of int, optional
            Rows of each sequence; None: one.

        Returns
        -------
        ndarray of shape (n_samples,)
            The path that maximises the posterior mean of log p(X, path | parameters).  :meth:`predict`
            maximises each row for itself, which may give a path that is impossible.
        """
        rows = self._sequences(X, lengths)
        theta = self._model.canonicalize(self.particles_)
        return self._model.path((self.particle_weights_ @ theta)[None], rows)

    def score_samples(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Log predictive density of each row given the rows before it in its sequence, nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lengths : array-like of int, optional
            Rows of each sequence; None: one.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 of rows without an observation.  Parameters are those of the rows seen.
        """
        rows = self._sequences(X, lengths)
        log_W, found = self._log_weights(), np.full(len(rows), -np.inf)
        for part in self._model.parts(len(log_W), len(rows)):
            _, log_p = self._model.filtered(self.particles_[part], rows)
            found = np.logaddexp(found, log_sum_exp(log_p + log_W[part], axis=1))
        return found - self._log_unit * rows.weight

    def score(self, X: Any, y: None = None, lengths: Any = None) -> float:
        """Mean of :meth:`score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.
        lengths : array-like of int, optional
            Rows of each sequence; None: one.

        Returns
        -------
        float
        """
        refuse_misplaced(X, y)
        return float(np.mean(self.score_samples(X, lengths)))

    def log_predictive(self, X: Any, y: None = None) -> float:
        """Joint log predictive density of the rows that follow those seen, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that continue the last sequence.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        rows = self._sequences(X, None, follows=True)
        assert self._stream is not None
        _, log_p = self._model.filtered(self.particles_, rows, self._stream.state.alpha)
        joint = log_sum_exp(log_p.sum(axis=0) + self._log_weights())
        return float(joint) - self._log_unit * rows.total_weight

    def sample(self, n_samples: int = 1, X: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """One sequence from the posterior predictive distribution, all rows from one draw of the parameters.

        Parameters
        ----------
        n_samples : int, default=1
            Rows of the sequence; with X there are as many as there.
        X : array-like of shape (n_samples, n_features), optional
            Rows whose columns move the transitions, as in ``fit``; all other columns are ignored.  Needed
            where columns move transitions, and only there.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Columns that states explain.
        states : ndarray of shape (n_samples,)
            State of each row, in the slots of ``transition_matrix_``.

        Raises
        ------
        ValueError
            If columns move the transitions and X is missing, or X is given and no column moves them.
        """
        self._must_be_fitted()
        moving = self._column_names()[self._model.emission.n_features :]
        if moving and X is None:
            raise ValueError(
                f"transitions depend on columns, which have no distribution: sample(X=frame) takes {moving}"
            )
        if X is not None and not moving:
            raise ValueError("no columns move transitions: give n_samples=, the rows of a sequence, and no X")
        U = np.empty((check_count(n_samples, "n_samples"), 0))
        if X is not None:
            U = self._model.moving(self._sequences(X, None).X)
        rng = generator(self.random_state)
        chosen = rng.choice(len(self.particles_), p=self.particle_weights_)
        X, z = self._model.sample_rows(self._model.canonicalize(self.particles_)[chosen], U, rng)
        return self._as_given(np.column_stack([X, U]))[:, : X.shape[1]], z

    def _sequences(self, X: Any, lengths: Any, follows: bool = False) -> Rows:
        """Validated rows in the units of the model, with their starts; rows that follow have none."""
        self._must_be_fitted()
        X, *_ = at_once(self, X, None)
        refuse_unreadable(takes_missing=True, X=X)
        given, X = X, self._encode_X(self._validate(X, None, False)[0], False)
        place = positions(len(X), lengths, int(follows))
        refuse_disorder(given, place, self._last_time, warn_caller)
        starts = place == 0
        rows = Rows(X, starts.astype(float), self._model.observed(X).astype(float))
        return rows if self._units is None else self._units.rows(rows)

    def _rows_to_score(self, X: Any, y: Any = None) -> Rows:
        return self._sequences(X, None)

    def _average_of(self, rows: Rows, function: Any) -> np.ndarray:
        """Posterior mean of probabilities (n, K, M) that a function of θ and rows gives, (n, K)."""
        theta = self._model.canonicalize(self.particles_)
        out = np.zeros((len(rows), self._model.n_states))
        for part in self._model.parts(len(theta), len(rows)):
            out = out + function(theta[part], rows) @ self.particle_weights_[part]
        return out

    def _replicated(self, theta: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The observed rows of a sequence as long as X, from one θ (d,), in the data's units or as codes."""
        if self._model.n_moving:
            raise ValueError("no rows are drawn: transitions depend on columns, which have no distribution")
        new, _ = self._model.sample_rows(theta, self._model.moving(X), rng)
        known = self._model.observed(X)
        new = np.where(X[known] < 0, X[known], new[known]) if hasattr(self, "categories_") else new[known]
        return new if self._units is None else self._units.restored_X(new)

    def _summary_notes(self) -> list[str]:
        theta = self._model.canonicalize(self.particles_)
        return unclear_labels(self._model.label_confusion(theta, self.particle_weights_), "states")


def refuse_misplaced(X: Any, y: Any) -> None:
    """ValueError where sequences are a list of arrays, or their lengths are in the place of y.

    A y of one value per row is ignored: pipelines and scikit-learn's checks give one.
    """
    parts = X if isinstance(X, (list, tuple)) else []
    n_dims = {np.ndim(one) if hasattr(one, "shape") else _depth(one) for one in parts}
    sizes = {len(one) for one in parts if hasattr(one, "__len__") and not isinstance(one, str)}
    if max(n_dims, default=0) > 1 or len(sizes) > 1 or getattr(X, "ndim", 2) > 2:
        raise ValueError(
            "X is no array of two dimensions, but several sequences: join them, and give the rows of each as "
            "lengths=, fit(np.concatenate(X), lengths=[len(one) for one in X])"
        )
    n = X.shape[0] if getattr(X, "shape", ()) else len(parts)
    if y is not None and (len(y) if hasattr(y, "__len__") else None) != n:
        raise ValueError(
            f"y is ignored, and has to have one value per row or to be None, and not {y!r}: rows of each "
            "sequence are given by name, lengths="
        )


def _depth(x: Any) -> int:
    """How deep lists are nested in this one."""
    is_list = isinstance(x, (list, tuple))
    return 1 + max(map(_depth, x[:1]), default=0) if is_list else 0


def refuse_disorder(X: Any, place: np.ndarray, latest: Any, doubt: Callable[[str], None]) -> Any:
    """The time of the last row, where rows come with times; ``latest`` is that of the rows before these.

    ValueError for a row that is earlier than one before it in its sequence, a ``doubt`` for times that
    are left out.
    """
    if not hasattr(X, "iloc"):
        return None
    for first, end in pairwise([0, *np.flatnonzero(place[1:] == 0) + 1, len(place)]):
        sequence = X.iloc[first:end]
        latest = last_time(latest if place[first] else None, X=sequence)
        if (places := places_in_time(sequence)) is not None:
            doubt(
                f"the index lacks times ({int(places[-1]) + 1 - len(places)}), and rows count as following "
                "one another: a row of nan is a step without observation, X.asfreq(...)"
            )
    return latest


def positions(n_rows: int, lengths: Any, before: int) -> np.ndarray:
    """The place of each row in its sequence, from 0; the first sequence has ``before`` rows already, (n,).

    ValueError in words for lengths that do not add up, or are no lengths.
    """
    if lengths is None:
        return before + np.arange(n_rows)
    given = np.asarray(lengths)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise ValueError(f"lengths must be a list of whole numbers, the rows of each sequence: {lengths!r}")
    if given.sum() != n_rows:
        raise ValueError(f"lengths add up to {given.sum()}, and X has {n_rows} rows")
    if (short := np.flatnonzero(given < 2)).size:
        which = int(short[0])
        raise ValueError(
            f"sequence {which} has {given[which]} row{'s' * int(given[which] != 1)}, which says nothing of "
            "transitions: a sequence has two rows or more, and independent rows are those of a mixture"
        )
    starts = np.repeat(np.cumsum(given) - given, given)
    place = np.arange(n_rows) - starts
    return np.where(starts == 0, place + before, place)
