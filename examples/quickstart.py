"""
Three questions about real data
===============================

Which model do the data support?  Answered while the rows arrive.

    python examples/quickstart.py [picture.png]

Each question has several models.  An averager streams the rows through all of them in chunks; after every
chunk each model's log evidence log p(rows so far) is known, with its standard error.
"""

import sys
from time import perf_counter

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.pipeline import Pipeline, make_pipeline

from sgevidence import (
    SGAIS,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceModelAverager,
    compare,
)
from sgevidence.displays import EvidenceDisplay

# More particles than by default once there are some hundred rows, for a smaller standard error.
SAMPLER = SGAIS(n_particles=400)
CHUNK = 25
COLUMNS = ["log_evidence", "log_evidence_std", "probability", "probability_low", "probability_high"]
rng = np.random.default_rng(0)


def prepare(X, y):
    """Rows in random order."""
    order = rng.permutation(len(X))
    return X[order], y[order]


def on_columns(columns, model):
    """The model on some of the columns only."""
    return make_pipeline(ColumnTransformer([("keep", "passthrough", columns)]), model)


def stream(models, X, y=None, **first_call):
    """One pass over the rows in chunks."""
    averager = EvidenceModelAverager(models, n_jobs=2, random_state=0)
    for start in range(0, len(X), CHUNK):
        rows = slice(start, start + CHUNK)
        averager.partial_fit(X[rows], None if y is None else y[rows], **first_call)
        first_call = {}
    return averager


def report(question, averager):
    """Log evidence ± standard error, posterior probability, and the range that the errors leave it."""
    table = compare(averager)
    print(f"\n{question}\n{'-' * 79}")
    print(f"{'model':<38}{'log evidence':>15}{'probability':>13}   (90 % by the errors)")
    for name, *row in zip(table.index, *(table[column] for column in COLUMNS)):
        print("{:<38}{:>8.2f} ± {:.2f}{:>10.3f}   ({:.3f} to {:.3f})".format(name, *row))


def report_held_out(averager, X, y):
    """Mean log predictive density of rows not learned from, by each model and by the average."""
    print(f"\nHeld out: {len(X)} patients                   log predictive density a row")
    for name, model in averager.named_estimators_.items():
        X_in, last = (model[:-1].transform(X), model[-1]) if isinstance(model, Pipeline) else (X, model)
        print(f"{name:<38}{np.mean(last.score_samples(X_in, y)):>8.3f}")
    print(f"{'the average':<38}{np.mean(averager.score_samples(X, y)):>8.3f}")


def picture(panels, path):
    """Log evidence against rows seen, minus that of the model which is best in the end, ± 2 errors."""
    try:
        import matplotlib
    except ImportError:
        print("\nPicture skipped: matplotlib is not installed")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 4.8), layout="constrained", sharey=True)
    for ax, (title, averager) in zip(axes, panels.items()):
        EvidenceDisplay.from_estimators(averager, relative=True, ax=ax)
        ax.set(title=title, ylabel="", ylim=(-12, 9))
        beside = dict(loc="upper left", bbox_to_anchor=(0, -0.16), title="model (nats at the end)")
        ax.legend(frameon=False, fontsize=9, **beside)
    axes[0].set_ylabel(
        "log evidence minus the best model's (nats)\n± 2 standard errors, mostly thinner than lines"
    )
    figure.savefig(path, dpi=110)
    print(f"\nPicture saved to {path}")


def main(path="quickstart.png"):
    start = perf_counter()

    X, _ = prepare(load_iris().data[:, 2:], load_iris().target)
    iris = stream([(f"K = {K}", BayesianGMM(K, sampler=SAMPLER)) for K in range(1, 6)], X)
    report("How many components have the iris petals?", iris)

    X, y = prepare(*load_wine(return_X_y=True))
    softmax = BayesianSoftmaxRegression(sampler=SAMPLER)
    models = [
        ("all 13 measurements", softmax),
        ("alcohol, flavanoids, colour, proline", on_columns([0, 6, 9, 12], softmax)),
        ("alcohol, flavanoids, colour", on_columns([0, 6, 9], softmax)),
    ]
    wine = stream(models, X, y, classes=np.unique(y))
    report("Which measurements tell three wines apart?", wine)

    X, y = prepare(*load_diabetes(return_X_y=True))
    X, X_test, y, y_test = X[:342], X[342:], y[:342], y[342:]
    linear = BayesianLinearRegression(sampler=SAMPLER)
    models = [("all 10 features", linear), ("age, sex, bmi", on_columns([0, 1, 2], linear))]
    diabetes = stream(models, X, y)
    report("Which features predict the course of diabetes?", diabetes)
    report_held_out(diabetes, X_test, y_test)

    panels = {"Mixtures of the iris petals": iris, "Softmax, wine": wine, "Linear, diabetes": diabetes}
    picture(panels, path)
    print(f"{perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    main(*sys.argv[1:])
