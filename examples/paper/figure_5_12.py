"""Thesis Figure 5.12: published SGAIS on the mixture, by the target effective sample size."""

from common import sensitivity

settings = {f"ESS* = {a:g} M": {"target_ess": a} for a in (0.1, 0.3, 0.5, 0.7, 0.9)}

if __name__ == "__main__":
    sensitivity(__doc__, settings)
