"""Thesis Figure 5.9: published SGAIS on the mixture, by the number of particles M."""

from common import sensitivity

settings = {f"M = {M}": {"n_particles": M, "max_particles": M} for M in (5, 10, 20, 50)}

if __name__ == "__main__":
    sensitivity(__doc__, settings)
