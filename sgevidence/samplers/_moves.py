"""How a cloud follows its tempered posterior: exactly, or by stochastic gradients.

Symbols: ``eps`` = step size in posterior widths, ``L`` = leapfrog steps, ``rho`` = correlation
with the start.
"""

import numpy as np

from ..exceptions import DivergenceError
from ..history import Anchor, Reservoir, Rows
from ..kernels import Coordinates, MoveInfo, baoab, hmc, sghmc, sgnht
from ._monitor import surrogate_spread
from ._target import Likelihood, Target, of_history, sampled

TARGET_ACCEPTANCE = 0.8
#: The first trajectory is 1.5 widths long, a quarter turn on a Gaussian; while the cloud remembers its
#: start the next is twice as long, for directions wider than the coordinates know.
LENGTH, GROWTH, MAX_LEAPFROG = 1.5, 2.0, 16
REPEATS = (2, 5)
FORGOTTEN = 0.3
#: Rows of a guide, and the acceptance below which it is not followed: then it, not the step, is to blame.
GUIDE_ROWS, GUIDED = 5000, 0.5


def move_hmc(theta, target, coordinates, log_eps, rng, canonical=lambda theta: theta, guide=None):
    """HMC with Metropolis test (Alg. 2) in given coordinates: theta, log_eps, MoveInfo.

    The step is jittered per particle, so that no period of the target is met for ever, and adapted
    between trajectories, when all particles have used it.  A ``guide`` is a target of fewer rows, whose
    gradients the trajectories follow while enough of them pass the test on the target itself.
    """
    phi, start = coordinates.whiten(theta), canonical(theta)
    n_gradients = n_refused = 0
    here = None

    def value_and_grad(phi):
        value, grad = (guide or target).value_and_grad(coordinates.unwhiten(phi))
        return value, grad @ coordinates.L

    def log_target(phi):
        return target.value(coordinates.unwhiten(phi))

    for repeat in range(1, REPEATS[1] + 1):
        eps = np.exp(log_eps)
        L = int(np.clip(round(LENGTH * GROWTH ** (repeat - 1) / eps), 1, MAX_LEAPFROG))
        test = None if guide is None else log_target
        jitter = rng.uniform(0.5, 1.2, len(phi))
        phi, info = hmc(phi, value_and_grad, rng, eps=eps * jitter, L=L, here=here, log_target=test)
        here = info.here
        if guide is not None and info.acceptance < GUIDED:
            guide = here = None
        n_gradients += info.n_gradients
        n_refused += info.n_refused
        log_eps = float(np.clip(log_eps + (info.acceptance - TARGET_ACCEPTANCE), np.log(1e-3), np.log(1.8)))
        if repeat >= REPEATS[0] and correlation(start, canonical(coordinates.unwhiten(phi))) < FORGOTTEN:
            break
    return coordinates.unwhiten(phi), log_eps, MoveInfo(n_gradients, info.acceptance, n_refused, 1.0)


def correlation(a, b) -> float:
    """Mean over coordinates of the correlation between two clouds, particle by particle."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    norm = np.sqrt(np.sum(a**2, axis=0) * np.sum(b**2, axis=0))
    return float(np.mean(np.sum(a * b, axis=0) / np.maximum(norm, 1e-300)))


class ExactMoves:
    """HMC with a Metropolis test (Alg. 2) on all rows, or on a fixed sample of them with their anchor."""

    advice = ": check the model and the data for extreme values"

    def __init__(self, state, model, chunk, rng):
        size = state.history.capacity or len(state.history) + len(chunk)
        self.model, self.rng, self.size = model, rng, size
        self.past = of_history(model, state.history, state.anchor, size, rng.rows)
        self.new = Likelihood(chunk)  # its rows are at hand: without an anchor all are used
        if len(chunk) > size and state.anchor is not None:
            self.new = sampled(model, chunk, Anchor.of(model, state.anchor.a, chunk), size, rng.rows)
        self.guide = None
        if state.anchor is not None and len(state.history) + len(chunk) > 4 * GUIDE_ROWS:
            anchored = Anchor.of(model, state.anchor.a, chunk)
            past = of_history(model, state.history, state.anchor, GUIDE_ROWS, rng.rows)
            self.guide = past, sampled(model, chunk, anchored, GUIDE_ROWS, rng.rows)

    def target(self, lam) -> Target:
        return Target(self.model, self.new.scaled(lam).plus(self.past))

    def guide_at(self, lam) -> Target | None:
        """The same from fewer rows."""
        if self.guide is None:
            return None
        past, new = self.guide
        return Target(self.model, new.scaled(lam).plus(past))

    def __call__(self, state, lam, coordinates, tally):
        target = self.target(lam)
        if coordinates is None:
            coordinates = Coordinates(np.eye(state.theta.shape[1]))
        theta, log_eps, info = move_hmc(
            state.theta,
            target,
            coordinates,
            state.log_eps,
            self.rng.noise,
            self.model.canonicalize,
            self.guide_at(lam),
        )
        tally.moved(info, len(theta), len(target.likelihood.rows))
        if self.past is not None and self.past.correction is not None and np.isnan(tally.sample_noise):
            tally.sample_noise = surrogate_spread(
                self.model, theta, state.history, state.anchor, self.size, self.rng.rows
            )
        return state._replace(theta=theta, log_eps=log_eps)


class StochasticGradientMoves:
    """SGHMC (Alg. 4) on Û (Eq. 4.14), a new mini-batch at each step, as published.

    In coordinates of unit width the learning rate is lr, otherwise lr/n.  Or the same with a thermostat.
    """

    def __init__(self, state, model, chunk, sampler, rng):
        self.history, self.model, self.chunk = state.history, model, chunk
        self.sampler, self.rng = sampler, rng
        self.advice = ": lower learning_rate, or check the model and the data for extreme values"
        if sampler.preconditioner is None:
            self.advice = (
                ": the step is too long for the scale of the data. Standardise the columns, "
                "lower learning_rate, or use preconditioner='curvature'"
            )

    def target(self, lam) -> Target:
        rows = energy_rows(self.history, self.chunk, lam, self.sampler.batch_size, self.rng.rows)
        return Target(self.model, Likelihood(rows))

    def __call__(self, state, lam, coordinates, tally):
        def grad_log_target(theta):
            return self.target(lam).value_and_grad(theta)[1]

        sampler = self.sampler
        if coordinates is None:
            eta = sampler.learning_rate / (self.history.n + self.chunk.total_weight)
            theta, info = self._run(state.theta, grad_log_target, eta)
        else:
            phi = coordinates.whiten(state.theta)
            phi, info = self._run(phi, coordinates.gradient(grad_log_target), sampler.learning_rate)
            theta = coordinates.unwhiten(phi)
        if info.n_refused > (0 if coordinates is None else len(theta) // 2):
            raise DivergenceError(
                f"SGHMC diverged for {info.n_refused} of {len(theta)} particles "
                f"after {self.history.n_rows} rows{self.advice}"
            )
        tally.moved(info, len(theta), len(self.chunk) + min(sampler.batch_size, len(self.history)))
        return state._replace(theta=theta)

    def _run(self, theta, grad_log_target, eta):
        s = self.sampler
        if s.kernel == "sgnht":
            kernel = dict(eps=eta**0.5, c=1 - s.momentum_decay, n_steps=s.n_steps)
            return sgnht(theta, grad_log_target, self.rng.noise, **kernel)
        kernel = dict(alpha=s.momentum_decay, beta_hat=s.gradient_noise, n_steps=s.n_steps)
        return sghmc(theta, grad_log_target, self.rng.noise, eta=eta, **kernel)


class AnchoredGradientMoves(StochasticGradientMoves):
    """The same dynamics with control variates: the mini-batch sees only what the anchor leaves out.

    The sums about the anchor are those of all rows, λ times the chunk's included, so that mini-batches
    are drawn from history and chunk alike.  What noise is left is measured and taken off the injected
    one (``gradient_noise`` is not used), in a splitting that does not inflate the width; the thermostat
    makes up for it unmeasured.  Where particles are far from the anchor, as in another mode, the noise may
    exceed what is injected: then mini-batches grow until it is half of it.
    """

    #: Mini-batches from which the variance of the gradient is estimated.
    N_DRAWS = 6
    #: Most gradient noise, as a part of the injected one.
    TOLERATED = 0.5

    def __init__(self, state, model, chunk, sampler, rng):
        super().__init__(state, model, chunk, sampler, rng)
        self.anchor, self.batch_size = state.anchor, sampler.batch_size
        small = len(state.history) + len(chunk) <= sampler.batch_size and state.history.complete
        self.exact = small or self.anchor is None
        if not self.exact:
            self.chunk_anchor = Anchor.of(model, self.anchor.a, chunk)
            self.chunk_reservoir = Reservoir(None).absorb(chunk, rng.rows)

    def target(self, lam) -> Target:
        if self.exact:
            past = None if self.history.rows is None else Likelihood(self.history.rows)
            return Target(self.model, Likelihood(self.chunk.scaled(lam)).plus(past))
        batch_size, rng = self.batch_size, self.rng.rows
        rows = self.chunk_reservoir.draw(batch_size, rng).scaled(lam).join(self.history.draw(batch_size, rng))
        sums = self.anchor.plus(self.chunk_anchor, lam)
        correction = sums.plus(Anchor.of(self.model, self.anchor.a, rows), -1.0)
        return Target(self.model, Likelihood(rows, correction))

    def __call__(self, state, lam, coordinates, tally):
        if coordinates is None:  # η = lr/n
            n = self.history.n + self.chunk.total_weight
            coordinates = Coordinates(np.eye(state.theta.shape[1]) / np.sqrt(n))
        grad = coordinates.gradient(lambda theta: self.target(lam).value_and_grad(theta)[1])
        phi, eps, c = (
            coordinates.whiten(state.theta),
            self.sampler.learning_rate**0.5,
            1 - self.sampler.momentum_decay,
        )
        kernel, V = dict(eps=eps, c=c, n_steps=self.sampler.n_steps), 0.0
        if self.sampler.kernel == "sgnht":
            return self._moved(state, coordinates, tally, *sgnht(phi, grad, self.rng.noise, **kernel))
        at_hand = len(self.history) + len(self.chunk)
        while not self.exact:
            V = np.mean(np.var([grad(phi) for _ in range(self.N_DRAWS)], axis=0, ddof=1), axis=0)
            excess = np.max(eps**2 * V / (1 - c**2)) / self.TOLERATED
            if not excess > 1 or self.batch_size >= at_hand:
                break
            self.batch_size = int(min(1.5 * excess * self.batch_size, at_hand)) + 1
            self.exact = self.batch_size >= at_hand and self.history.complete
        if self.exact:
            V = 0.0
        else:
            tally.noise_to_injection = float(np.mean(eps**2 * V / (1 - c**2)))
        try:
            moved = baoab(phi, grad, self.rng.noise, **kernel, V=V)
        except ValueError as error:
            raise DivergenceError(f"after {self.history.n_rows} rows {error}") from error
        return self._moved(state, coordinates, tally, *moved)

    def _moved(self, state, coordinates, tally, phi, info):
        if info.n_refused > len(phi) // 2:
            raise DivergenceError(
                f"SGHMC diverged for {info.n_refused} of {len(phi)} particles "
                f"after {self.history.n_rows} rows{self.advice}"
            )
        tally.moved(info, len(phi), min(2 * self.batch_size, self.history.n_rows + len(self.chunk)))
        return state._replace(theta=coordinates.unwhiten(phi))


def energy_rows(history: Reservoir, chunk: Rows, lam: float, batch_size: int, rng) -> Rows:
    """The rows of Û (Eq. 4.14) as one weighted set: λ times the chunk, n/|B| times a fresh mini-batch."""
    if len(history) == 0:
        return chunk.scaled(lam)
    return chunk.scaled(lam).join(history.draw(batch_size, rng))
