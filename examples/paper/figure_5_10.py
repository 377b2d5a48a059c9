"""Thesis Figure 5.10: published SGAIS on the mixture, by the number of SGHMC burn-in steps."""

from common import sensitivity

settings = {f"{n} steps": {"move__n_steps": n} for n in (5, 10, 20, 50)}

if __name__ == "__main__":
    sensitivity(__doc__, settings)
