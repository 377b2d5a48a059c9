r"""A model's interface: its statements, and everything that samplers and estimators may ask of it.

A model is a prior and a likelihood over a flat vector θ in unconstrained space.
It knows no data and no sampler.  A cloud of M parameter vectors is an array
``(M, d)``, and every method works on the whole cloud at once.

Symbols
-------
========  =============  ==================================================
paper     code           meaning
========  =============  ==================================================
θ         ``theta``      cloud of parameters, (M, d)
M, d      ``M, d``       particles, parameters
W         ``W``          normalised weights of the cloud, (M,)
y, x      ``rows``       anything with ``X`` (n, p), ``y`` (n,) or None, ``weight`` (n,)
w_r       ``rows.weight`` repetition count of a row; multiplies its log-likelihood
========  =============  ==================================================
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import autograd.numpy as anp
import numpy as np

from ._evaluation import Evaluation


class Model(ABC):
    """Prior and likelihood; sums, gradients and curvature follow from them.

    A concrete model defines ``n_params``, :meth:`sample_prior`, :meth:`log_prior` and
    :meth:`log_likelihood`, the densities in ``autograd.numpy``, and as much of the rest as it can say;
    what it leaves out is refused by name, or has no effect.  A model whose gradient is the hot step also
    overrides :meth:`_block_log_likelihood` with a fused autograd primitive.
    """

    #: How sums over rows are formed (:class:`Evaluation`): blocks and precision.
    evaluation = Evaluation()

    # -- what is believed -----------------------------------------------------------------------

    @property
    @abstractmethod
    def n_params(self) -> int:
        """Length d of θ."""

    @abstractmethod
    def sample_prior(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Exact draws from the prior, (size, d)."""

    @abstractmethod
    def log_prior(self, theta: Any) -> Any:
        """Normalised log prior density of the unconstrained θ, Jacobian included, (M,)."""

    @abstractmethod
    def log_likelihood(self, theta: Any, rows: Any) -> Any:
        """Normalised log p(y_r | θ_m), unweighted, (M, n)."""

    def sample_rows(self, theta: np.ndarray, X: Any, rng: np.random.Generator) -> Any:
        """Draws from p(y_r | x_r, θ), one row of θ for each row of X or one θ for all, (n,).

        A density takes the number of rows for ``X`` and gives rows and what is latent in them.  The default
        raises ValueError: the model does not say how to simulate.
        """
        raise ValueError(f"this model cannot simulate: {type(self).__name__} does not define sample_rows")

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Named parameters in their natural space, each with leading axis M."""
        return {"theta": theta}

    def few_parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Named parameters without the effects of every level of a group."""
        return self.parameters(theta)

    def expected_score(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Expectation of log p(y_r | x_r) under the weighted cloud before y_r is seen, (n,), in nats.

        It is minus the entropy of the prediction (of a Gaussian with the predictive variance, for a
        regression): what :meth:`log_likelihood` averages to if the model is right.  The default raises
        ValueError.
        """
        raise ValueError(f"{type(self).__name__} does not define an expected score: give y")

    # -- symmetries and modes -------------------------------------------------------------------

    #: The posterior has one mode, or labellings of one that the model finds itself; others are looked for.
    has_one_mode: bool = False

    #: The log posterior is concave in θ, and Hessians are closed forms.
    is_log_concave: bool = False

    #: Columns given which the prior of the others is normal, where the prior says so.
    hyperparameters: np.ndarray | None = None

    #: Climbs from elsewhere that must all end at one mode before it counts as the only one; 0: no such model.
    n_mode_checks: int = 0

    #: Whether the prior of its coordinates is a standard normal.
    has_normal_coordinates: bool = False

    #: Draws of its prior among which modes are sought, where nothing is known of them; 0: no such model.
    n_surveyed: int = 0

    @property
    def slots(self) -> np.ndarray | None:
        """(K, q) indices of the parameters of K exchangeable components, or None (:class:`Exchangeable`)."""
        return None

    @property
    def log_gammas(self) -> Sequence[tuple[np.ndarray, float]]:
        """Groups of log Gamma(c) variates of which rows see the differences only: indices (L,), and c.

        The softmax of each group has a Dirichlet prior, and the logarithm of the sum is independent of it.
        """
        return ()

    @property
    def log_variances(self) -> Sequence[tuple[int, np.ndarray]]:
        """Indices of parameters that are log σ², and of the means whose scale is σ."""
        return ()

    def canonicalize(self, theta: np.ndarray, reference: Any = None) -> np.ndarray:
        """The points with exchangeable components in common slots; here there are none."""
        return theta

    def slot_reference(self, theta: np.ndarray) -> Any:
        """Reference with which :meth:`canonicalize` puts clouds into these slots; None without slots."""
        return None

    def is_canonical(self, theta: np.ndarray, reference: Any) -> np.ndarray:
        """Which points :meth:`canonicalize` leaves as they are, (M,)."""
        return np.ones(len(theta), dtype=bool)

    def starts(self, rows: Any, n_starts: int, rng: np.random.Generator) -> np.ndarray:
        """Points to look for modes of the posterior from, (n_starts, d).

        By default draws from the prior: where there is one mode they all lead to it, and a model that
        expects several knows better where they are.
        """
        return self.sample_prior(rng, n_starts)

    # -- closed forms ---------------------------------------------------------------------------

    def sums(self, rows: Any) -> Any:
        """Sufficient statistics of rows: a value with ``plus``, so that a stream needs nothing else.

        The default, without a closed form, raises ValueError.
        """
        raise ValueError(f"there is no closed form for {self!r}")

    def posterior(self, sums: Any) -> Any:
        """The posterior of rows with these sums, with ``log_evidence`` and ``sample(rng, size)``."""
        raise ValueError(f"there is no closed form for {self!r}")

    def exact_log_evidence(self, rows: Any) -> float:
        """log p(rows) in closed form, in nats; the default raises ValueError."""
        return float(self.posterior(self.sums(rows)).log_evidence)

    def exact_posterior(self, rows: Any, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws from p(θ | rows), (size, d); the default raises ValueError."""
        return self.posterior(self.sums(rows)).sample(rng, size)

    #: Whether :meth:`exact_posterior` is there.
    has_exact_posterior: bool = False
    #: ``(model, rows, rng, size)``: an answer for all rows at once, where no general one is there.
    own_answer: Callable[..., Any] | None = None

    def is_affordable(self, rows: Any) -> bool:
        """Whether particles should start from :attr:`own_answer` for so many rows, which has one then."""
        return False

    #: Whether rows that were left behind are a quadratic from early on: it takes d gradients of all rows.
    anchors_early: bool = True

    #: Family of the components of a mixture, whose draws the model takes (``from_components``).
    family: Any = None

    @property
    def has_components(self) -> bool:
        """Whether it is a mixture: a regression has a family, too, of its target."""
        return self.family is not None and self.slots is not None

    # -- what double precision loses --------------------------------------------------------------

    def suited(self, X: np.ndarray) -> Any:
        """This model in coordinates in which nothing cancels; :meth:`in_plain` leads back from others."""
        return self

    def in_plain(self, theta: np.ndarray) -> tuple["Model", np.ndarray]:
        """The model in the coordinates of its prior as it is stated, and the points there."""
        return self, theta

    def resolves(self, rows: Any) -> bool:
        """Whether factors of a precision that is summed over the rows have all of its directions."""
        return True

    def unresolved(self, rows: Any) -> str | None:
        """Why an answer that rests on plain sums over these rows should not be trusted; None if it may."""
        return None

    # -- sums over rows: how is the business of ``evaluation`` ------------------------------------

    def _block_log_likelihood(
        self, theta: Any, rows: Any, tape: list | None, single_below: float = 0.0
    ) -> Any:
        """Σ_r w_r log p(y_r | θ_m) over one block, (M,), differentiable by autograd.

        ``tape`` is a list that a fused primitive fills on its forward pass and reads on its
        backward pass: residuals belong to the call, so that blocks may run in threads.
        ``single_below``: see :func:`working_precision`.
        """
        return anp.dot(self.log_likelihood(theta, rows), rows.weight)

    def _fold(self, rows: Any, function: Callable[["Model", Any], Any], size: int) -> Any:
        """Σ over blocks of about ``size`` rows of ``function(model, block)``, wherever the rows are."""
        return rows.fold(partial(function, self), size)

    def sum_log_likelihood(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """ℓ_m = Σ_r w_r log p(y_r | θ_m), (M,)."""
        return self.evaluation.sum_log_likelihood(self, theta, rows)

    def log_joint(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """Σ_r w_r log p(y_r | θ_m) + log p(θ_m), (M,)."""
        return self.evaluation.log_joint(self, theta, rows)

    def value_and_grad_log_joint(self, theta: np.ndarray, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`log_joint` and its gradient by autograd, (M,) and (M, d)."""
        return self.evaluation.value_and_grad_log_joint(self, theta, rows)

    def grad_log_joint(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """∇ log joint, (M, d)."""
        return self.value_and_grad_log_joint(theta, rows)[1]

    def _value_and_grad_log_likelihood(
        self, theta: np.ndarray, rows: Any, single_below: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """ℓ_m as it comes, nan included, and its gradient, (M,) and (M, d)."""
        return self.evaluation.value_and_grad_log_likelihood(self, theta, rows, single_below)

    def derivatives(self, theta: np.ndarray, rows: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian of Σ_r w_r log p(y_r | θ) at one point (d,): (), (d,), (d, d)."""
        return self.evaluation.derivatives(self, theta, rows)

    def prior_derivatives(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian of log p(θ) at one point (d,): (), (d,), (d, d)."""
        return self.evaluation.prior_derivatives(self, theta)

    def mean_hessian_log_joint(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """Average of ∇∇ log joint over a few points (M, d), (d, d)."""
        return self.evaluation.mean_hessian_log_joint(self, theta, rows)

    def posterior_can_wait(self, sums: Any) -> bool:
        """Whether the closed form of these sums is known to be right before anybody asks for it."""
        return False

    def in_double_precision(self) -> "Model":
        """This model with all sums formed in double precision."""
        model, double = copy.copy(self), replace(self.evaluation, single_precision_total=0.0)
        object.__setattr__(model, "evaluation", double)  # a frozen dataclass, but the copy is ours
        return model
