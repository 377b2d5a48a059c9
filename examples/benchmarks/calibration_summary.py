"""What the lines of the calibration suite say of a cell, of all cells, and of the warnings.

A fit that raised is *refused*, one that gave an ``EvidenceWarning`` is *warned*; all others are *silent*,
and only what they claim is held against the bars.  z = error / √(std² + the reference's std²).  Fits whose
reference is not believed (its own error, or too few effective draws) count in none of this, but are
counted.
"""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, norm

#: Bars of a cell: standard deviation and mean of z, and the share of silent fits with |z| > FAR.
MOST_SD, MOST_MEAN, FAR, MOST_FAR = 1.3, 0.5, 4.0, 0.02
#: Bar of the suite: the share of cells that meet the first two.
ENOUGH = 0.95
#: What a fair error bar would do by chance with this probability is no verdict against it.
CHANCE = 0.01
#: A warning was right if the fit is off by so many of its errors, or nats; and how often it should be right.
OFF_Z, OFF_NATS, RIGHT = 3.0, 1.0, 0.8


class Summary(NamedTuple):
    """Of the fits of one cell."""

    fits: int
    refused: int
    warned: int
    doubtful: int  #: without a reference that can be believed
    silent: int
    mean_z: float
    sd_z: float
    beyond_3: float  #: share of the silent fits
    far: float  #: share of all fits that are silent and beyond FAR
    rms: float  #: nats, of all fits that have an answer
    std: float
    seconds: float
    reference_std: float
    reference: str

    @property
    def meets(self) -> bool:
        """The bars as they are written, whatever chance may do to so few fits."""
        return self.fair and self.far <= MOST_FAR

    @property
    def fair(self) -> bool:
        return not (self.sd_z > MOST_SD or abs(self.mean_z) > MOST_MEAN)

    @property
    def perfect(self) -> float:
        """Probability that a true error bar, whose z are standard normal, is ``fair`` with so many fits."""
        m = self.silent
        return float((1 - 2 * norm.sf(MOST_MEAN * np.sqrt(m))) * chi2.cdf((m - 1) * MOST_SD**2, m - 1))

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        if self.far > MOST_FAR:
            return "silent"
        if self.fits - self.doubtful == 0:
            return "unknown"
        if self.silent < 2:
            return "refused" if self.refused > self.warned else "warned"
        if self.fair:
            return "true"
        spread = chi2.sf((self.silent - 1) * self.sd_z**2, self.silent - 1)
        shift = 2 * norm.sf(abs(self.mean_z) * np.sqrt(self.silent))
        return "chance" if min(spread, shift) > CHANCE else "false"


#: Verdict: mark and letter, meaning.
VERDICTS = {
    "true": ("🟢 ok", f"sd(z) ≤ {MOST_SD} and mean z within ±{MOST_MEAN}"),
    "chance": (
        "🟡 near",
        f"beyond that, but so is a true error bar, with so few fits, once in {1 / CHANCE:.0f}",
    ),
    "false": ("🟠 off", "beyond that by more than chance"),
    "silent": (
        "🔴 wrong",
        f"more than {MOST_FAR:.0%} of the fits are {FAR:.0f} errors off and nothing warned",
    ),
    "warned": ("⚪ warned", "at most one fit without a warning"),
    "refused": ("⚫ refused", "at most one fit that is not refused"),
    "unknown": ("❔ unknown", "no reference that can be believed"),
}


def read_lines(path: Path) -> list[dict]:
    """Records; the last line of a fit counts.  The file may be compressed."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file if line.strip()]
    return list({(r["cell"], r["seed"]): r for r in found}.values())


def summarise(records: list[dict]) -> Summary:
    """Of the records of one cell."""
    known = [r for r in records if r.get("reference_sound")]
    quiet = [r for r in known if not r["warnings"]]
    z = np.array([r["z"] for r in quiet])
    methods = Counter(r["reference_method"] for r in known)
    return Summary(
        fits=len(records),
        refused=sum("failure" in r for r in records),
        warned=sum(bool(r["warnings"]) and "failure" not in r for r in records),
        doubtful=sum("failure" not in r and not r.get("reference_sound") for r in records),
        silent=len(quiet),
        mean_z=float(z.mean()) if len(z) else np.nan,
        sd_z=float(z.std(ddof=1)) if len(z) > 1 else np.nan,
        beyond_3=float(np.mean(abs(z) > 3)) if len(z) else np.nan,
        far=float(np.sum(abs(z) > FAR) / len(records)) if records else 0.0,
        rms=float(np.sqrt(np.mean([r["error"] ** 2 for r in known]))) if known else np.nan,
        std=float(np.mean([r["std"] for r in known])) if known else np.nan,
        seconds=float(np.median([r["seconds"] for r in records])) if records else np.nan,
        reference_std=float(np.median([r["reference_std"] for r in known])) if known else np.nan,
        reference=" / ".join(method for method, _ in methods.most_common()),
    )


def by_cell(names: Iterable[str], records: list[dict]) -> dict[str, Summary]:
    """Cells that have lines, in the order of ``names``."""
    own: dict[str, list[dict]] = {name: [] for name in names}
    for r in records:
        if r["cell"] in own:
            own[r["cell"]].append(r)
    return {name: summarise(some) for name, some in own.items() if some}


class Kind(NamedTuple):
    """Fits that gave one kind of warning."""

    message: str
    fits: int
    cells: int
    right: int
    rms: float


def right(record: dict) -> bool:
    """Whether a warned fit is one that should not be trusted."""
    return abs(record["z"]) > OFF_Z or abs(record["error"]) > OFF_NATS


def of_warnings(records: list[dict]) -> list[Kind]:
    """All warned fits, then one kind of message after the other (a fit may have several)."""
    warned = [r for r in records if r["warnings"] and r.get("reference_sound")]
    kinds = [("any", warned)]
    for message in sorted({_kind(m) for r in warned for m in r["warnings"]}):
        kinds.append((message, [r for r in warned if any(_kind(m) == message for m in r["warnings"])]))
    return [
        Kind(
            message,
            len(some),
            len({r["cell"] for r in some}),
            sum(map(right, some)),
            float(np.sqrt(np.mean([r["error"] ** 2 for r in some]))) if some else np.nan,
        )
        for message, some in kinds
    ]


def _kind(message: str) -> str:
    """The beginning of a message without its numbers."""
    return re.sub(r"[-−]?\d+(\.\d+)?(e[+-]?\d+)?", "…", message.split(":")[0])[:90]
