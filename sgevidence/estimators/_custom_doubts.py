"""A user's functions while a sampler asks them: where they fail, and where a prior is not resolved."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..exceptions import ImpossibleRowsError
from ..models import CustomModel
from ._conditional import ConditionalEstimator
from ._documentation import described

#: Share of all θ at which a function may fail without a word: those that trajectories reach far out.
MAX_FAILED_SHARE = 0.01
#: Weight of particles whose parameters are not those of their place in the prior: nats that are in doubt.
MAX_UNRESOLVED_SHARE = 0.01


class WatchedFunctions(ConditionalEstimator):
    """Base of the estimator of a user's model, which says where its functions cannot be relied on."""

    _model: CustomModel
    max_calls: int | None

    @property
    @described
    def diagnostics_(self) -> dict[str, float]:
        """``n_failed`` counts θ where functions failed, ``n_calls`` evaluations of ``log_likelihood``."""
        failures = self._model.failures
        return super().diagnostics_ | {"n_failed": failures.n_failed, "n_calls": failures.n_likelihoods}

    def _run(self, *arguments: Any) -> None:
        with self._counted():
            super()._run(*arguments)
        self._doubt_failures()
        self._doubt_unresolved()

    def _update(self, *arguments: Any) -> None:
        with self._counted():
            super()._update(*arguments)
        self._doubt_failures()
        self._doubt_unresolved()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Failures of a call are counted in a model of its own: a call that is refused leaves no trace."""
        self._model = self._model.counted()
        failures = self._model.failures
        before = failures.n_likelihoods if failures.n_calls else 0  # those of the check are of the first
        failures.max_likelihoods = np.inf if self.max_calls is None else before + self.max_calls
        with _failures_named(self._model):
            yield

    def _doubt_failures(self) -> None:
        """Warn where functions fail so often that the posterior may be there."""
        failures = self._model.failures
        if failures.share > MAX_FAILED_SHARE:
            self._doubt(
                f"a function failed at {failures.share:.0%} of all θ, which count as impossible: "
                f"{failures.example}",
            )

    def _doubt_unresolved(self) -> None:
        """Warn where the posterior is at values of a prior that are not those of their place in it."""
        prior, W = self._model.prior, self.particle_weights_
        with np.errstate(all="ignore"):
            unresolved = {} if prior is None else prior.unresolved(self.particles_[W > 0])
        for name, where in unresolved.items():
            if (share := float(W[W > 0] @ where)) > MAX_UNRESOLVED_SHARE:
                self._doubt(
                    f"{share:.0%} of the posterior of {name!r} is so far out in its prior that the quantiles "
                    "there are rounded: the log evidence is that of another prior; state one that "
                    "contains what the data say, or another parameter",
                )


@contextmanager
def _failures_named(model: CustomModel) -> Iterator[None]:
    """Rows that are impossible because a function fails are an error of the function, not of the rows."""
    before = model.failures.n_failed
    try:
        yield
    except ImpossibleRowsError as error:
        if model.failures.n_failed == before:
            raise
        raise ValueError(f"{model.failures.example}; no particle is left that explains the rows") from error
