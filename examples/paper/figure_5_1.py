"""Thesis Figure 5.1: histograms of data whose 3 clusters become 5 after 1000 rows and 7 after 10 000."""

import numpy as np
from common import PHASES, arguments, plt, save_figure, shift_data

args = arguments(__doc__, sizes=(100_000,), full=(100_000,))
X = shift_data(args.n[-1])
parts = {
    "(a) rows 1 to 1000": X[:1000],
    "(b) to 10 000": X[1000:10_000],
    "(c) the rest": X[10_000:],
    "(d) all": X,
}
fig, axes = plt.subplots(1, 4, figsize=(16, 4), sharex=True, sharey=True)
for axis, (title, part) in zip(axes, parts.items()):
    axis.hist2d(*part.T, bins=60, range=[(-10, 10), (-4, 10)])
    axis.set(title=title, xlabel="$y_1$")
axes[0].set_ylabel("$y_2$")
save_figure(fig, args)
np.savetxt(args.out / f"{args.name}.csv", X, delimiter=",", header="y1,y2", comments="", fmt="%.4f")
print(f"{args.name} {len(X)} rows; clusters and their rows: {PHASES}")
