"""Thesis Figure 5.14: published SGAIS on the mixture, by the learning rate, learning rate × steps = 2."""

from common import sensitivity

pairs = {0.01: 200, 0.02: 100, 0.1: 20, 0.2: 10, 1.0: 2}
settings = {
    f"lr = {a:g}, {n} steps": {"move__learning_rate": a, "move__n_steps": n} for a, n in pairs.items()
}

if __name__ == "__main__":
    sensitivity(__doc__, settings)
