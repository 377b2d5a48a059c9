"""z of every fit, one line a cell."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from calibration_summary import Summary

#: z beyond which a point is drawn at the edge, as an arrow.
EDGE = 6.0
#: Colours that differ in lightness, too (Okabe and Ito 2008).
COLOURS = {
    "true": "#009e73",
    "chance": "#e0b000",
    "false": "#d55e00",
    "silent": "#a00000",
    "warned": "#999999",
    "refused": "#222222",
    "unknown": "#56b4e9",
}


def draw(path: Path, summaries: dict[str, Summary], records: list[dict]) -> None:
    """Silent fits as discs, warned ones as crosses, beyond EDGE as triangles; bands to ±1 and ±3."""
    names = list(summaries)
    half = (len(names) + 1) // 2
    fig, axes = plt.subplots(1, 2, figsize=(15, 0.165 * half + 0.9), layout="constrained")
    for ax, part in zip(axes, (names[:half], names[half:])):
        ax.axvspan(-3, 3, color="0.95", zorder=0)
        ax.axvspan(-1, 1, color="0.88", zorder=0)
        for i, name in enumerate(part):
            own = [r for r in records if r["cell"] == name and r.get("reference_sound")]
            _line(ax, i, own, COLOURS[summaries[name].verdict])
        labels = [f"{name}" + (f"  [{k} refused]" if (k := summaries[name].refused) else "") for name in part]
        ax.set_yticks(range(len(part)), labels, fontsize=7)
        for tick, name in zip(ax.get_yticklabels(), part):
            tick.set_color(COLOURS[summaries[name].verdict])
        ax.set(xlim=(-EDGE - 0.4, EDGE + 0.4), ylim=(half - 0.5, -0.7), xlabel="z = error / error bar")
        ax.tick_params(length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
    fig.savefig(path, dpi=110)
    plt.close(fig)


def _line(ax, i: int, records: list[dict], colour: str) -> None:
    ax.axhline(i, color="white", lw=0.8, zorder=1)
    z = np.array([r["z"] for r in records])
    warned = np.array([bool(r["warnings"]) for r in records], dtype=bool)
    inside = abs(z) <= EDGE
    y = np.full(len(z), float(i))
    ax.scatter(z[inside & ~warned], y[inside & ~warned], s=11, color=colour, alpha=0.75, lw=0, zorder=3)
    ax.scatter(z[inside & warned], y[inside & warned], s=14, color=colour, marker="x", lw=0.9, zorder=3)
    for sign, marker in ((1, ">"), (-1, "<")):
        for who, face in ((~warned, colour), (warned, "none")):
            k = int(np.sum((sign * z > EDGE) & who))
            if k:
                ax.scatter(
                    sign * (EDGE + 0.1), i, s=22, marker=marker, color=colour, facecolor=face, zorder=3
                )
