"""Thesis Figure 5.8: mixtures of 3, 5 and 7 on the data of Figure 5.1, in order and shuffled."""

import numpy as np
from common import arguments, online, plt, save_figure, save_table, shift_data

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel

args = arguments(__doc__, sizes=(20_000,), full=(100_000,), max_seconds=60.0)
X = shift_data(args.n[-1])
orders = {"in order": (X, "-"), "shuffled": (np.random.default_rng(1).permutation(X), "--")}
fig, (a, b) = plt.subplots(1, 2, figsize=(12, 4.5))
lines, notes = [], []
for order, (rows, style) in orders.items():
    for K, color in {3: "C0", 5: "C1", 7: "C2"}.items():
        label = f"K = {K}, {order}"
        lines += online(label, SGAIS.paper(), MixtureModel(K, 2), Rows.of(rows), args)
        save_table(lines, args)
        run = [s for s in lines if s.algorithm == label and not s.extrapolated]
        n, steps = [s.n for s in run], [s.n_annealing_steps for s in run]
        a.plot(n, [s.log_evidence / s.n for s in run], style, color=color, label=label)
        notes.append(f"{label}: N={n[-1]} log evidence {run[-1].log_evidence:.0f} in {run[-1].seconds:.0f} s")
        if order == "in order":
            b.plot(n, steps, color=color, label=label)
            per_row = np.diff([s.log_evidence for s in run]) / np.diff(n)
            falls = sorted(n[i + 2] for i in np.argsort(np.diff(per_row))[:2])
            notes[-1] += f", log predictive falls most in the chunks that end at {falls}"
a.set(xscale="log", xlabel="N", ylabel="log evidence / N (nats)", title="(a) log evidence")
b.set(xscale="log", yscale="log", xlabel="N", title="(b) annealing steps a chunk, in order")
for axis in (a, b):
    for change in (1000, 10_000):
        axis.axvline(change, color="grey", linewidth=0.5)
    axis.legend(fontsize="small")
save_figure(fig, args)
print(f"{args.name} " + "; ".join(notes))
