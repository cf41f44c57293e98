"""Figures; the only part of the library that imports Altair.

Functions take DataFrames and return Altair charts. `use` enables the style; an import
alone does not. A figure that only one notebook needs is written there in plain Altair,
with these colors.
"""

import srlib.charts.altair_quickly  # before any module imports Altair itself
from srlib.charts.general import (
    agreement,
    histograms,
    intervals,
    lines,
    points,
    reliability,
    trace,
)
from srlib.charts.privacy_loss import privacy_loss
from srlib.charts.style import (
    COLORS,
    DARK,
    MIME_TYPE,
    PRINTED,
    REFERENCE,
    Chart,
    compact,
    method_color,
    ordered_color,
    specification,
    svg,
    use,
)
from srlib.charts.two_readings import two_readings
