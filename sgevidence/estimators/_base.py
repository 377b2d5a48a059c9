"""The face that all estimators share: fit, partial_fit, and the sampler's state between them.

There is no mathematics of sampling here.  An update is computed from immutable states and a copy
of the random generator, and stored only when it is complete: an exception or a keyboard interrupt
leaves the estimator as it was before the call.
"""

import copy
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin

from .._compat import HasMethods, check_sample_weight
from ..exceptions import DivergenceError, ImpossibleRowsError, warn_caller
from ..history import FoldedRows, Rows, workers
from ..rows import (
    arrays_of,
    at_once,
    collection_in,
    fingerprint,
    generator,
    looks_normalised,
    refuse_extreme,
    refuse_unreadable,
    validated,
    weighs_nothing,
)
from ..samplers import SGAIS, EvidenceResult, Progress, thinned
from ..transitions import State
from ..units import UnitWatch, sum_of_slopes
from ._calls import (
    Stream,
    all_or_nothing,
    default_sampler,
    fit_tasks,
    is_online,
    one_blas_thread,
    refuse_changes,
    settings,
)
from ._folding import learn_by_sums
from ._prior_conflict import CONFLICT
from ._reporting import PosteriorReports


class EvidenceEstimator(CallbackSupportMixin, PosteriorReports):
    """Base of the estimators; a concrete one makes its model and reads its own attributes off the cloud.

    :class:`ConditionalEstimator` and :class:`DensityEstimator` add ``fit`` and ``partial_fit``.
    """

    n_jobs: int | None = None  #: of those that have the parameter
    _takes_known = False  # an offset, or trials
    _takes_missing = False  # levels of X, or cells
    _settings: dict[str, Any]  #: parameters of the first call
    _named: str  #: by an average, for the lines of progress

    _copies_are_branches = True  # of a stream: states are values, so that a shallow copy goes on by itself

    _parameter_constraints: dict = {
        "sampler": [HasMethods(["run"]), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
    }

    def set_params(self, **params: Any) -> Self:
        """Set parameters, of the sampler as ``sampler__name``; then None, the default, becomes ``SGAIS()``.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self : estimator
        """
        of_sampler = any(name.startswith("sampler__") for name in params)
        if of_sampler and params.get("sampler", self.sampler) is None:
            params = params | {"sampler": SGAIS()}
        return super().set_params(**params)

    # -- what a concrete estimator defines ------------------------------------------------------

    _make_model: Any  #: (X, y) -> Model of validated rows

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        """Validated X and y (None for densities), labels as they came."""
        X = validated(self, X, reset=reset, order="C", ensure_all_finite=self._finite)
        self._refuse_extreme(X=X)
        return X, None

    @property
    def _reads(self) -> dict[str, bool]:
        """Options of :func:`refuse_unreadable`."""
        return {"takes_missing": self._takes_missing}

    @property
    def _finite(self) -> Any:
        """``ensure_all_finite`` of scikit-learn's checks."""
        return "allow-nan" if self._takes_missing else True

    def _encode_X(self, X: np.ndarray, reset: bool) -> np.ndarray:
        """Rows as the model wants them, those of weight zero left out; levels become codes here."""
        return X

    def _identity(self, rows: Rows) -> np.ndarray:
        """The numbers of the rows by which evidences of other data are told: those that are random."""
        return rows.X if rows.y is None else rows.y

    def _counts(self, rows: Rows) -> np.ndarray:
        """How often each row counts, (n,)."""
        return rows.weight

    def _encode(self, y: Any, reset: bool, classes: Any) -> Any:
        """Targets as the model wants them; the classifier stores its classes here."""
        return y

    # -- learning -------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, classes: Any = None) -> Self:
        """Forget everything if ``reset``, then absorb the rows: at once, or of a collection in parts."""
        with all_or_nothing(self), workers(self.n_jobs):
            if (collection := collection_in(self, X, y, sample_weight)) is None:
                self._absorb(X, y, sample_weight, reset, classes)
            elif reset:
                learn_by_sums(self, collection, X, y)
            else:
                for batch in collection.parts():
                    self._absorb(*arrays_of(batch), False, classes)
        return self

    def _absorb(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> None:
        """One update, or rows that are held until there are enough to know their units."""
        if not reset and weighs_nothing(sample_weight):
            return  # a row of weight zero is no row
        self._unjudged = None  # these rows say more, or are all that counts
        sampler, parameters, is_fit = self._sampler(), settings(self), reset
        reset = reset or self._is_first_call()
        if reset:
            self._doubts, self._held, self._settings, self.data_fingerprint_ = [], None, parameters, 0
        else:
            refuse_changes(self._settings, parameters)
        given = self._rows(X, y, sample_weight, reset, classes)
        counts = self._counts(given)
        self.data_fingerprint_ = fingerprint(self._identity(given), counts, self.data_fingerprint_)
        starts = reset or self._held is not None
        if (rows := self._in_units(given, starts, may_wait=not is_fit)) is None:
            return
        if starts:
            self._model = self._make_model(rows.X, rows.y)
            self.n_samples_seen_, self._weight_seen, self._watch = 0, 0.0, UnitWatch.none()
        try:
            self._add(sampler, rows, rows.total_weight, starts, X, y)
        except ImpossibleRowsError as error:
            found = error.among(rows, sample_weight if len(rows) == len(given) else None)
            found.rows = error.rows if self._units is None else self._units.restored_rows(error.rows)
            raise found from None
        self._held = None
        self._watch_units(rows, starts)
        if self._waits:
            self._unjudged = rows
        else:
            self._judge(rows, starts)

    def _add(self, sampler: Any, rows: Any, weight: float, reset: bool, X: Any, y: Any) -> None:
        """Run the sampler on rows in the units of the model; ``weight`` is their total one."""
        self._weight_seen += weight
        self._see_slopes(rows, reset)
        if reset and (words := looks_normalised(len(rows), weight)):
            self._doubt(words)
        call = "fit" if reset else "partial_fit"
        with fit_tasks(self, call, X, y) as tasks:
            name, total = getattr(self, "_named", type(self).__name__), self.n_samples_seen_ + len(rows)
            progress = Progress(name, self.verbose, n_rows=total, watcher=tasks, log_unit=self._log_unit)
            try:
                # samplers judge what leaves the finite numbers
                with progress.beating(), np.errstate(all="ignore"), one_blas_thread(self._model, rows):
                    if is_online(self):
                        self._update(sampler, rows, reset, progress)
                    else:
                        self._run(sampler, rows, progress)
            except np.linalg.LinAlgError as error:
                raise DivergenceError(
                    f"linear algebra failed ({error}): look for extreme values, standardise the columns, "
                    "or state priors in the units of the data"
                ) from error
            self.n_samples_seen_ += len(rows)

    def _see_slopes(self, rows: Any, reset: bool) -> None:
        """Add what log densities of rows in units have beside those of the model."""
        if (sums := self._beside_model) is None:
            self._slopes_seen = ((0.0, 0.0),)
            return
        seen = ((0.0, 0.0),) if reset else self._slopes_seen
        new = rows.fold(sums) if isinstance(rows, FoldedRows) else sums(rows)
        self._slopes_seen = (*seen, (self._weight_seen, seen[-1][1] + new))

    @property
    def _beside_model(self) -> Callable[[Rows], float] | None:
        """Σ log |g'(y)| of rows in units, where the model is one of g(y)."""
        if self._response is None or getattr(self, "evidence_is_relative_", False):
            return None
        return partial(sum_of_slopes, self._units)

    def _judge(self, rows: Rows, starts: bool) -> None:
        """Doubts of the answer to these rows, which are in the units of the model."""
        self._doubt(None if self._is_proposed else self._model.unresolved(rows))
        if not any(words.startswith(CONFLICT) for words in self._doubts):
            self._doubt(self._prior_conflict(rows))

    def _prior_conflict(self, rows: Rows) -> str | None:
        """Parts of the posterior, or of these rows, that contradict the prior: kinds of models test it.

        Latent classes do not, under whose prior every table is possible, and hidden states, of which some may
        consist of their prior.
        """
        return None

    @property
    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and weights that have the posterior's means, (m, d) and (m,)."""
        state = None if self._stream is None else self._stream.state
        return state.nodes if isinstance(state, State) else (self.particles_, self.particle_weights_)

    @property
    def _is_proposed(self) -> bool:
        """The evidence comes from a closed form or from a proposal, which centre and scale columns."""
        records = [] if self._stream is None else self._stream.records
        known = (one.n_proposals > 0 for one in reversed(records) if one.n_proposals or one.n_moves)
        return next(known, False) or self.log_evidence_std_ == 0.0

    def _sampler(self) -> Any:
        if isinstance(self.sampler, type):
            raise TypeError(f"sampler must be an object, such as {self.sampler.__name__}(), got a class")
        return default_sampler() if self.sampler is None else self.sampler

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        """Validated rows of positive weight, in the caller's arrays: samplers copy what they keep."""
        refuse_unreadable(**self._reads, X=X, y=y, sample_weight=sample_weight)
        X, y = self._validate(X, y, reset)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        refuse_extreme(sample_weight=weight)
        kept = weight > 0
        if not kept.all():  # a row of weight zero is no row: it must not even use up random numbers
            X, y, weight = X[kept], None if y is None else y[kept], weight[kept]
        X, y = self._encode_X(X, reset), self._encode(y, reset, classes)
        return Rows(X, None if y is None else np.ascontiguousarray(y), np.ascontiguousarray(weight))

    def _first_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """The rows of a first call in the units of the model; nothing is learnt."""
        self._doubts = []
        rows = self._rows(X, y, sample_weight, True, None)
        self._take_units(rows, may_wait=False)
        return rows if self._units is None else self._units.rows(rows)

    def _doubt_of(self, rows: Rows) -> str | None:
        """A doubt of rows that are not wrong; None if there is none."""
        return None

    def _run(self, sampler: Any, rows: Rows, progress: Progress) -> None:
        """All rows at once."""
        result: EvidenceResult = sampler.run(self._model, rows, generator(self.random_state), progress)
        self._stream, self._result = None, result
        self._report(result)
        progress.done(
            f"{len(rows)} rows, log evidence {self.log_evidence_:.2f} "
            f"± {result.log_evidence_std:.2f} nats, {result.wall_time:.1f} s"
        )

    def _update(self, sampler: Any, rows: Rows, reset: bool, progress: Progress) -> None:
        """The sampler's state goes from one call to the next."""
        if reset:
            rng, records = generator(self.random_state), []
            state = sampler.init(self._model, rng)
        else:
            assert self._stream is not None  # the settings are those of an online sampler
            rng, state, records = copy.deepcopy(self._stream.rng), self._stream.state, self._stream.records
        state, new = sampler.update(state, self._model, rows, rng, progress)
        records = thinned(records + new)
        self._stream, self._result = Stream(rng, state, records), None
        # of fewer rows than parameters an answer costs more than learning from them
        if not reset and len(rows) < self._model.n_params and getattr(state, "waits", False):
            self._wait()
        else:
            self._report(state)
            self._warn_of_sampling(new)

    def _warn_of_sampling(self, records: list[Any]) -> None:
        """Doubts that the sampler has of what these records say."""
        assert self._stream is not None
        warn_caller(*self._sampler().doubts(self._stream.state, self._model, records))

    def _warn_belatedly(self) -> None:
        rows, self._unjudged = self._unjudged, None
        if rows is not None:
            assert self._stream is not None
            self._warn_of_sampling(self._stream.records[-1:])
            self._judge(rows, starts=False)

    def _rows_to_score(self, X: Any, y: Any = None) -> Rows:
        """Validated rows in the form that the model was fitted on."""
        self._must_be_fitted()
        X, y, _ = at_once(self, X, y)
        refuse_unreadable(**self._reads, X=X, y=y)
        X, y = self._validate(X, y, False)
        rows = Rows.of(self._encode_X(X, False), self._encode(y, False, None))
        return rows if self._units is None else self._units.rows(rows)

    def _validate_X(self, X: Any) -> np.ndarray:
        """Rows to predict, in the units of the model."""
        self._must_be_fitted()
        X, *_ = at_once(self, X, only_X=True)
        X = self._columns_of(X)
        return X if self._units is None else self._units.X(X)

    def _columns_of(self, X: Any) -> np.ndarray:
        """Validated columns that the model uses."""
        refuse_unreadable(**self._reads, X=X)
        X = validated(self, X, reset=False, ensure_all_finite=self._finite)
        self._refuse_extreme(X=X)
        return X
