"""Figures; the only part of the library that imports Altair.

DataFrames in, Altair charts out. Importing it switches nothing on: `use` does.
"""

import srlib.charts.altair_quickly  # noqa: F401, before any module imports Altair itself
from srlib.charts.chains import trace
from srlib.charts.generic import (
    against_baseline,
    agreement,
    joint_distribution,
    lines,
    points,
    sweep,
)
from srlib.charts.privacy_loss import privacy_loss
from srlib.charts.risk import (
    acceptable_region,
    rank_histogram,
    reliability,
    risk_histogram,
    risk_utility,
)
from srlib.charts.style import (
    COLORS,
    DARK,
    GROUND,
    INK,
    MIME_TYPE,
    NEUTRAL,
    OTHER_COLORS,
    PRINTED,
    REFERENCE,
    SCHEMA,
    TRUTH,
    VEGA_LITE,
    Chart,
    specification,
    svg,
    use,
)
from srlib.charts.two_readings import two_readings

__all__ = [
    "COLORS",
    "DARK",
    "GROUND",
    "INK",
    "MIME_TYPE",
    "NEUTRAL",
    "OTHER_COLORS",
    "PRINTED",
    "REFERENCE",
    "SCHEMA",
    "TRUTH",
    "VEGA_LITE",
    "Chart",
    "acceptable_region",
    "against_baseline",
    "agreement",
    "joint_distribution",
    "lines",
    "points",
    "privacy_loss",
    "rank_histogram",
    "reliability",
    "risk_histogram",
    "risk_utility",
    "specification",
    "svg",
    "sweep",
    "trace",
    "two_readings",
    "use",
]
