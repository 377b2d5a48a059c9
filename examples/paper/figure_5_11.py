"""Thesis Figure 5.11: published SGAIS on the mixture, by the size of mini-batches and chunks."""

from common import sensitivity

settings = {f"|B| = {B}": {"move__batch_size": B, "chunk_size": B} for B in (100, 200, 500, 1000)}

if __name__ == "__main__":
    sensitivity(__doc__, settings)
