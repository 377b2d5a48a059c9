"""
A change in the flow of the Nile
================================

The annual volume of the Nile at Aswan, 1871 to 1970, is known to have fallen in 1898.  A monitor that is fed
one year at a time, without any setting, finds the year; with all years at hand ``segment`` gives the
probability of a change at each of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from sgevidence import EvidenceMonitor
from sgevidence.displays import SurpriseDisplay
from sgevidence.monitoring import SeriesSegment, segment

# 10⁸ m³ a year, Cobb (1978)
FLOW = """
1120 1160  963 1210 1160 1160  813 1230 1370 1140  995  935 1110  994 1020  960 1180
 799  958 1140 1100 1210 1150 1250 1260 1220 1030 1100  774  840  874  694  940  833
 701  916  692 1020 1050  969  831  726  456  824  702 1120 1100  832  764  821  768
 845  864  862  698  845  744  796 1040  759  781  865  845  944  984  897  822 1010
 771  676  649  846  812  742  801 1040  860  874  848  890  744  749  838 1050  918
 986  797  923  975  815 1020  906  901 1170  912  746  919  718  714  740
"""
flow = np.array(FLOW.split(), dtype=float)
years = np.arange(1871, 1971)

monitor = EvidenceMonitor()
for year, volume in zip(years, flow):
    monitor.partial_fit([[volume]])
    if monitor.drift_detected:
        found = monitor.detections_[-1]
        print(
            f"In {year} a change is declared, which began in {years[found.change_row]}: "
            f"probability {found.probability:.2f}, log Bayes factor {found.log_bayes_factor:.1f} nats"
        )

# %%
# That it took so long is the price of asking whether a slow drift, or years that remember the years before,
# would explain it as well.  Who knows that only the level can change is told much earlier, of the same year:

levels = EvidenceMonitor(model=SeriesSegment(models=("level",))).fit(flow[:, None])
for found in levels.detections_:
    print(f"levels only: declared in {years[found.declared_row]}, began in {years[found.change_row]}")

# %%
# How each year was predicted by those before it, with the change that was found.  Rows given at once are
# taken one by one, too.

monitor = EvidenceMonitor().fit(flow[:, None])
SurpriseDisplay.from_estimator(monitor, series=flow)

# %%
# Looking back, with all years at hand:

found = segment(flow[:, None])
print(
    "changes:",
    years[found.change_points],
    f" log evidence of the segmented series: {found.log_evidence:.1f} nats",
)
figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
ax.bar(years, found.probability, width=1.0, color="#0072B2")
ax.set(xlabel="year", ylabel="probability that\na segment began", ylim=(0, 1))
plt.show()
