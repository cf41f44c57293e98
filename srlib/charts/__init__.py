"""Figures; the only part of the library that imports Altair.

DataFrames in, Altair charts out. Importing it switches nothing on: `use` does. A figure that one
notebook needs stands there in plain Altair, with the colors and the theme from here.
"""

import srlib.charts.altair_quickly  # before any module imports Altair itself
from srlib.charts.general import agreement, histograms, intervals, lines, points, reliability, trace
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
