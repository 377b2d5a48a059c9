"""Log prior of a mixture with diagonal covariances, written out for autograd: a form to compare with."""

from math import lgamma

import numpy as np
from autograd import numpy as anp

from sgevidence.mixture.models import MixtureModel


def plain_log_prior(model, theta):
    """log p(θ), (M,); of other models by their own method."""
    if not isinstance(model, MixtureModel):
        return model.log_prior(theta)
    z, mu, s = model._split(theta)
    a, tau = model.weight_concentration, model.mean_scale
    log_p_z = a * z - anp.exp(z) - lgamma(a)
    shape, rate = model.variance_prior  # of 1/σ², with the Jacobian of s = log σ²
    log_p_s = shape * np.log(rate) - lgamma(shape) - shape * s - rate * anp.exp(-s)
    log_p_mu = -0.5 * (mu**2 * anp.exp(-s) / tau**2 + s + np.log(2 * np.pi * tau**2))
    return anp.sum(log_p_z, axis=1) + anp.sum(log_p_s + log_p_mu, axis=(1, 2))
