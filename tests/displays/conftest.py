"""Pictures are drawn on a canvas without a screen."""

import matplotlib

matplotlib.use("Agg")
