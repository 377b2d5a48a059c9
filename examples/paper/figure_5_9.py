"""Thesis Figure 5.9: published SGAIS on the mixture, by the number of particles M."""

from common import sensitivity

sensitivity(__doc__, {f"M = {M}": {"n_particles": M, "max_particles": M} for M in (5, 10, 20, 50)})
