"""How figures look: palette, theme, renderer, and the drawing that stands beside each chart.

Every chart carries a description for readers who cannot see it, written by whoever calls; it has
four significant digits, and many records are counted before they are drawn, so that it stays
small. Charts are at most 640 px wide.

What a page may do with a specification:

- In a dark theme, merge `DARK` over its `config`. Every color of data has a contrast of three to
  one on white and on a page of `GROUND`; text, rules of style "ink" and axes have the config's.
- Where there is less room than a chart takes, set `columns` of a `concat` to 1 and lower every
  `width` by what is too much (and `height` with it, where a plot is as high as it is wide). Where
  `usermeta` has `scales`, labels stand beside points: scale the whole drawing instead.
- `usermeta` may have `presets`, from a few words to values of parameters.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

# A method has the same color in every figure of every notebook, by the names that they use.
COLORS = {
    "original": "#0072B2",
    "synthetic": "#D55E00",
    "importance sampling": "#CC79A7",
    "predictive ratio": "#009E73",
    "Bernoulli plug-in": "#A0623A",
    "beta-binomial": "#0F919C",
    "exponential, distance": "#4C6FD8",
    "exponential, log P": "#8E5BC8",
    "exponential, P": "#B07D00",
    "bound from ε": "#6F7B8A",
    "mixture": "#D1407F",
    "DPMPM": "#D1407F",
    "independent margins": "#D07A00",
}
OTHER_COLORS = (
    *("#2D7DB9", "#C46A00", "#8A51C4", "#28926A", "#C4527F", "#8A7A20", "#66758A", "#A0623A"),
)
TRUTH, NEUTRAL, INK = "#D55E00", "#7A8694", "#222222"
GROUND = "#15191E"  # of pages in a dark theme
ORDERED = ("#8250BE", "#535EC6", "#2D7DB9", "#0F919C", "#28A16D", "#7D9F32", "#D48007")
FALLBACK = "Arial, Helvetica, sans-serif"  # wider than ours: what fits in it fits in both
FONT = f'"Source Sans 3", {FALLBACK}'
# A printed value is this rule everywhere; a prior or what chance alone would give is dotted.
PRINTED: dict[str, Any] = {"strokeDash": [4, 3], "strokeWidth": 2}
REFERENCE: dict[str, Any] = {"strokeDash": [1, 3], "strokeWidth": 2, "style": "ink"}

MIME_TYPE = "application/vnd.vegalite.v5+json"
# JupyterLab 4 draws with Vega-Lite 5; altair 6 writes version 6 but nothing that 5 lacks here.
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
VEGA_LITE = "5.8"

WIDTH = 560
_IDENTIFIER = re.compile(r'(?<=[#"])(?:clip|gradient_)\d+(?=[")])')
Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart | alt.VConcatChart


def use() -> None:
    """Show charts from now on in this style, as every reader of notebooks takes them.

    Altair's theme and renderer are switched for the whole process: JupyterLab draws the charts
    interactively, and every other reader shows the SVG that lies beside them.
    """
    alt.theme.enable("srlib")
    alt.renderers.enable("srlib")


def _colors(ground: str, ink: str, axis: str, grid: str) -> dict[str, Any]:
    """Return the part of the configuration that a theme changes, every color of text and lines."""
    text = {"labelColor": ink, "titleColor": ink}
    return {
        "background": ground,
        "axis": {**text, "domainColor": axis, "tickColor": axis, "gridColor": grid},
        "legend": text,
        "header": text,
        "title": {"color": ink},
        "text": {"color": ink},
        "style": {
            "guide-label": {"fill": ink},
            "guide-title": {"fill": ink},
            "ink": {"color": ink},
        },
    }


# JupyterLab's dark theme would recolor what is not stated, on a ground that stays white.
LIGHT = _colors("white", INK, "#767676", "#E4E7EB")
DARK = _colors(GROUND, "#E6E8EB", "#8A929C", "#2C333B")


@alt.theme.register("srlib", enable=False)
def _theme() -> alt.theme.ThemeConfig:
    sizes = {"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal"}
    config = {
        "font": FONT,
        "padding": 8,
        "numberFormat": ",.4~r",
        "axis": {**sizes, "labelLimit": 240, "labelFlush": False, "labelSeparation": 6},
        # The title of the y axis is a subtitle: it lies above the plot, and a legend above it.
        "axisY": {
            "titleAngle": 0,
            "titleAlign": "left",
            "titleAnchor": "end",
            "titleBaseline": "bottom",
            "titleX": 0,
            "titleY": -9,
        },
        "legend": {**sizes, "orient": "top", "offset": 30, "labelLimit": WIDTH},
        "header": {**sizes, "labelAnchor": "start", "labelFontWeight": "bold", "labelPadding": 26},
        "title": {"fontSize": 13, "anchor": "start", "frame": "group", "limit": WIDTH},
        # The description speaks for the chart; a name for every mark would triple its size.
        "mark": {"aria": False},
        "text": {"fontSize": 12},
        "view": {"stroke": None},
        "concat": {"spacing": 18},
    }
    for part, colors in LIGHT.items():
        config[part] = {**config.get(part, {}), **colors} if isinstance(colors, dict) else colors  # type: ignore[dict-item]
    return {"config": config}  # type: ignore[typeddict-item]


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Vega-Lite specification of a chart in this style, data included, as JupyterLab 4 takes it."""
    with alt.theme.enable("srlib"):
        return {**chart.to_dict(), "$schema": SCHEMA}


def svg(spec: dict[str, Any]) -> str:
    """Draw a specification as SVG that may stand in an HTML page among others.

    Parameters
    ----------
    spec : dict
        As `specification` returns.

    Returns
    -------
    str
        The drawing, its description as accessible name, and identifiers of its own: clip paths
        and gradients of several drawings in one page would take each other's place.
    """
    import vl_convert

    # What draws the SVG lacks our font, and would measure words far too wide by its name.
    drawn = {**spec, "config": {**spec.get("config", {}), "font": FALLBACK}}
    drawing = vl_convert.vegalite_to_svg(drawn, vl_version=VEGA_LITE, allowed_base_urls=[])
    # Vega numbers gradients through all drawings of a process, so they are numbered anew.
    prefix = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    numbers = {name: i for i, name in enumerate(dict.fromkeys(_IDENTIFIER.findall(drawing)))}
    drawing = _IDENTIFIER.sub(lambda found: f"c{prefix}-{numbers[found[0]]}", drawing)
    name = escape(spec.get("description", "chart"))
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)


def _renderer(spec: dict[str, Any], **metadata: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    import vl_convert

    spec = {**spec, "$schema": SCHEMA}
    # JupyterLab adds a large PNG to a notebook that it shows, unless there is one.
    small = vl_convert.vegalite_to_png(
        spec, vl_version=VEGA_LITE, scale=0.3, ppi=72, allowed_base_urls=[]
    )
    bundle = {
        MIME_TYPE: spec,
        "image/svg+xml": svg(spec),
        "image/png": base64.b64encode(small).decode(),
        "text/plain": f"Chart: {spec.get('description', 'no description')}",
    }
    return bundle, {MIME_TYPE: {"embed_options": {"renderer": "svg"}}}


alt.renderers.register("srlib", _renderer)


def method_color(field: str, names: Sequence[str]) -> alt.Color:
    """Color by names, each with its own color in `COLORS`, or one of `OTHER_COLORS` in turn.

    The legend has their order; for a single name there is none.
    """
    others = iter(OTHER_COLORS * len(names))
    return _by_name(field, names, [COLORS.get(name) or next(others) for name in names])


def ordered_color(field: str, names: Sequence[str]) -> alt.Color:
    """Color by names that have an order, from dark to light, as `method_color` otherwise."""
    return _by_name(field, names, ramp(len(names)))


def _by_name(field: str, names: Sequence[str], colors: Sequence[str]) -> alt.Color:
    columns = max(1, 88 // (6 + max(map(len, names), default=0)))  # rows of 88 characters
    legend = alt.Legend(columns=columns, symbolOpacity=1) if len(names) > 1 else None
    scale = alt.Scale(domain=list(names), range=list(colors))
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=legend)


def ramp(n: int) -> list[str]:
    """Colors from dark to light, as far as they keep their contrast on white and on black."""
    anchors = np.array([list(bytes.fromhex(color[1:])) for color in ORDERED], dtype=float)
    at = np.linspace(0, len(anchors) - 1, n)
    channels = [np.interp(at, np.arange(len(anchors)), channel) for channel in anchors.T]
    return ["#" + "".join(f"{round(c):02X}" for c in rgb) for rgb in zip(*channels, strict=True)]


def significant(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")


def compact(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with four significant digits, which is more than a figure shows."""
    decimals = frame.select_dtypes("floating").columns
    return frame.assign(**{name: frame[name].map(significant) for name in decimals})
