"""Kills of a streaming run and damaged files: does every restart end with the uninterrupted digits?

    python restarts.py --kills 50 --files 1000

A child process learns from a stream and saves after each chunk; it is killed (SIGKILL) at a random moment,
also in the middle of ``save``, and started again until it comes to the end.  Then copies of its file are cut
off, changed in one byte, or replaced by something else: each has to be refused by a ``SavedFileError``.
"""

import argparse
import json
import multiprocessing
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sgevidence import BayesianSoftmaxRegression, load, save
from sgevidence.exceptions import SavedFileError

N_CHUNKS, ROWS = 30, 40
#: Mean time to a kill, some chunks of the stream.
SECONDS = 0.3


def chunk(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one chunk of the stream."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((ROWS, 2))
    return X, np.digitize(X[:, 0] + rng.logistic(size=ROWS), [-1, 1])


def stream(path: Path, watch: Callable = lambda model: None) -> None:
    """Resume where the file ends, as a user's script does."""
    model = load(path) if path.exists() else BayesianSoftmaxRegression(random_state=0)
    for number in range(getattr(model, "n_samples_seen_", 0) // ROWS, N_CHUNKS):
        model.partial_fit(*chunk(number), classes=[0, 1, 2])
        save(model, path)
        watch(model)


def digits(model: BayesianSoftmaxRegression) -> list[str]:
    """All that the stream has come to."""
    return [float(model.log_evidence_).hex(), model.particles_.tobytes().hex(), str(model.data_fingerprint_)]


def kills(number: int, seed: int = 0) -> dict[str, int]:
    """Kill a child this many times at random moments, and compare what each restart finds."""
    rng, counts = np.random.default_rng(seed), dict(kills=0, restarts=0, same=0, ends=0, left_over=0)
    with tempfile.TemporaryDirectory() as folder:
        expected = {}  # of the uninterrupted stream, by the rows seen
        stream(
            Path(folder) / "alone.sge", lambda model: expected.update({model.n_samples_seen_: digits(model)})
        )
        path = Path(folder) / "killed.sge"
        while counts["kills"] < number:
            child = multiprocessing.get_context("fork").Process(target=stream, args=(path,))
            child.start()
            child.join(rng.exponential(SECONDS))
            if child.is_alive():
                child.kill()
                counts["kills"] += 1
            child.join()
            if path.exists():
                model = load(path)
                counts["restarts"] += 1
                counts["same"] += digits(model) == expected[model.n_samples_seen_]
                if model.n_samples_seen_ == ROWS * N_CHUNKS:
                    counts["ends"] += 1
                    path.unlink()
        counts["left_over"] = len(list(Path(folder).glob(".*.part")))
    return counts


def damaged(whole: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """One way in which a file is not what was saved."""
    kind = rng.choice(["cut", "flipped", "foreign"])
    if kind == "cut":
        return kind, whole[: rng.integers(len(whole))]
    if kind == "flipped":
        place = rng.integers(len(whole))
        return kind, whole[:place] + bytes([whole[place] ^ (1 << rng.integers(8))]) + whole[place + 1 :]
    foreign = [
        pickle.dumps({"a": 1}),
        b"PK\x03\x04" + rng.bytes(100),
        json.dumps({"a": 1}).encode(),
        rng.bytes(rng.integers(1, 2000)),
        whole[rng.integers(1, len(whole)) :],
    ]
    return kind, foreign[rng.integers(len(foreign))]


def damages(number: int, seed: int = 0) -> dict[str, int]:
    """Damaged files that are refused in words, of each kind; anything else is ``wrong``."""
    rng, counts = np.random.default_rng(seed), dict(cut=0, flipped=0, foreign=0, wrong=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sge"
        save(BayesianSoftmaxRegression(random_state=0).partial_fit(*chunk(0), classes=[0, 1, 2]), path)
        whole = path.read_bytes()
        for _ in range(number):
            kind, data = damaged(whole, rng)
            path.write_bytes(data)
            try:
                load(path)
            except SavedFileError as error:
                counts[kind if str(path) in str(error) else "wrong"] += 1
            except Exception as error:  # what this script is there to find
                print(f"{kind}: {type(error).__name__}: {error}")
                counts["wrong"] += 1
            else:
                counts["wrong"] += 1
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--files", type=int, default=1000)
    given = parser.parse_args()
    print(damages(given.files))
    print(kills(given.kills))
