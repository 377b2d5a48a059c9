"""Thesis Figure 5.13: published SGAIS on the mixture, by the learning rate per observation."""

from common import sensitivity

settings = {f"lr = {lr:g}": {"move__learning_rate": lr} for lr in (0.01, 0.03, 0.1, 0.3, 1.0)}

if __name__ == "__main__":
    sensitivity(__doc__, settings)
