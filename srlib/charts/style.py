"""Style of figures: palette, theme, renderer, and the SVG beside each chart.

Every chart has a description for readers who cannot see it, passed by the caller. To
keep charts small, numbers have four significant digits, and large sets of records are
aggregated before they are drawn. Charts are at most 640 px wide.

A page may change a specification as follows:

- In a dark theme, merge `DARK` into its `config`. Every color of data has a contrast of
  three to one on white and on a page of `GROUND`; text, lines of style "ink" and axes
  take the config's.
- If a chart is too wide, set `columns` of a `concat` to 1 and reduce every `width` by
  the excess (and `height` as well, for square plots). If `usermeta` has `scales`, the
  chart has labels beside points: scale the whole drawing instead.
- `usermeta` may have `presets`, which map a few words to values of parameters.
"""

import base64
import hashlib
import json
import re
from html import escape
from importlib.util import find_spec
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

# A method has the same color in all figures of all notebooks.
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
    "#2D7DB9",
    "#C46A00",
    "#8A51C4",
    "#28926A",
    "#C4527F",
    "#8A7A20",
    "#66758A",
    "#A0623A",
)
TRUTH = "#D55E00"
NEUTRAL = "#7A8694"
INK = "#222222"
GROUND = "#15191E"  # of pages in a dark theme
ORDERED = ("#8250BE", "#535EC6", "#2D7DB9", "#0F919C", "#28A16D", "#7D9F32", "#D48007")
# Wider than our font, so that text which fits in it fits in both.
FALLBACK = "Arial, Helvetica, sans-serif"
FONT = f'"Source Sans 3", {FALLBACK}'
# Printed values and bounds are dashed; priors and expectations by chance are dotted.
PRINTED: dict[str, Any] = {"strokeDash": [4, 3], "strokeWidth": 2}
REFERENCE: dict[str, Any] = {"strokeDash": [1, 3], "strokeWidth": 2, "style": "ink"}

MIME_TYPE = "application/vnd.vegalite.v5+json"
# JupyterLab 4 has Vega-Lite 5. Altair 6 writes version 6, without features that 5 lacks
# here.
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
VEGA_LITE = "5.8"

WIDTH = 560
_IDENTIFIER = re.compile(r'(?<=[#"])(?:clip|gradient_)\d+(?=[")])')
Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart | alt.VConcatChart


def use() -> None:
    """Enable this style and its renderer for all charts from now on.

    Altair's theme and renderer change for the whole process. JupyterLab draws the
    charts interactively; other notebook viewers show the SVG beside them.
    """
    alt.theme.enable("srlib")
    alt.renderers.enable("srlib")


def _colors(
    ground: str,
    ink: str,
    axis: str,
    grid: str,
) -> dict[str, Any]:
    """Return the colors of text and lines, which depend on the theme."""
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


# State all colors: JupyterLab's dark theme recolors the others, on a white background.
LIGHT = _colors("white", INK, "#767676", "#E4E7EB")
DARK = _colors(GROUND, "#E6E8EB", "#8A929C", "#2C333B")


@alt.theme.register("srlib", enable=False)
def _theme() -> alt.theme.ThemeConfig:
    sizes = {"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal"}
    config: Any = {
        "font": FONT,
        "padding": 8,
        "numberFormat": ",.4~r",
        "axis": {**sizes, "labelLimit": 240, "labelFlush": False, "labelSeparation": 6},
        # The title of the y axis is a subtitle: it lies above the plot, and a legend
        # above it.
        "axisY": {
            "titleAngle": 0,
            "titleAlign": "left",
            "titleAnchor": "end",
            "titleBaseline": "bottom",
            "titleX": 0,
            "titleY": -9,
        },
        "legend": {**sizes, "orient": "top", "offset": 30, "labelLimit": WIDTH},
        "header": {
            **sizes,
            "labelAnchor": "start",
            "labelFontWeight": "bold",
            "labelPadding": 26,
        },
        "title": {"fontSize": 13, "anchor": "start", "frame": "group", "limit": WIDTH},
        # Screen readers get the description; a name for each mark would triple the
        # size.
        "mark": {"aria": False},
        "text": {"fontSize": 12},
        "view": {"stroke": None},
        "concat": {"spacing": 18},
    }
    for part, colors in LIGHT.items():
        config[part] = {**config[part], **colors} if part in config else colors
    return {"config": config}


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return a chart's Vega-Lite specification in this style, for JupyterLab 4."""
    with alt.theme.enable("srlib"):
        return chart.to_dict() | {"$schema": SCHEMA}


def svg(spec: dict[str, Any]) -> str:
    """Return the SVG of a specification, for an HTML page with other drawings.

    Parameters
    ----------
    spec : dict
        A specification, as from `specification`.

    Returns
    -------
    str
        The SVG, with the description as its accessible name. Identifiers of clip paths
        and gradients are unique, so that several drawings in a page do not share them.
    """
    import vl_convert

    # vl-convert lacks our font and would measure text far too wide with it.
    drawn = spec | {"config": spec.get("config", {}) | {"font": FALLBACK}}
    drawing = vl_convert.vegalite_to_svg(
        drawn, vl_version=VEGA_LITE, allowed_base_urls=[]
    )
    # Vega numbers gradients across all drawings of a process, so number them again.
    prefix = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    identifiers = list(dict.fromkeys(_IDENTIFIER.findall(drawing)))
    drawing = _IDENTIFIER.sub(
        lambda match: f"c{prefix}-{identifiers.index(match[0])}", drawing
    )
    name = escape(spec.get("description", "chart"))
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)


def _renderer(
    spec: dict[str, Any], **metadata: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    spec = spec | {"$schema": SCHEMA}
    bundle = {
        MIME_TYPE: spec,
        "text/plain": f"Chart: {spec.get('description', 'no description')}",
    }
    if find_spec("vl_convert"):  # has no wheel for Python in a browser
        bundle |= _pictures(spec)
    return bundle, {MIME_TYPE: {"embed_options": {"renderer": "svg"}}}


def _pictures(spec: dict[str, Any]) -> dict[str, str]:
    import vl_convert

    # JupyterLab adds a large PNG to a notebook unless there is one.
    small = vl_convert.vegalite_to_png(
        spec, vl_version=VEGA_LITE, scale=0.3, ppi=72, allowed_base_urls=[]
    )
    return {
        "image/svg+xml": svg(spec),
        "image/png": base64.b64encode(small).decode(),
    }


alt.renderers.register("srlib", _renderer)


def method_color(field: str, names: list[str]) -> alt.Color:
    """Return a color encoding by name, from `COLORS` or else `OTHER_COLORS`.

    The legend keeps the order of the names; a single name has no legend.
    """
    others = iter(OTHER_COLORS * len(names))
    return _by_name(field, names, [COLORS.get(name) or next(others) for name in names])


def ordered_color(field: str, names: list[str]) -> alt.Color:
    """Return a color encoding by ordered names, dark to light; see `method_color`."""
    return _by_name(field, names, ramp(len(names)))


def _by_name(
    field: str,
    names: list[str],
    colors: list[str],
) -> alt.Color:
    longest = max(map(len, names), default=0)
    columns = max(1, 88 // (6 + longest))  # rows of 88 characters
    color = alt.Color(f"{field}:N", title=None).scale(domain=names, range=colors)
    if len(names) < 2:
        return color.legend(None)
    return color.legend(columns=columns, symbolOpacity=1)


def ramp(n: int) -> list[str]:
    """Return n colors from dark to light, with contrast on white and on black."""
    anchors = np.array([list(bytes.fromhex(color[1:])) for color in ORDERED])
    positions = np.linspace(0, len(anchors) - 1, n)
    known = range(len(anchors))
    channels = [np.interp(positions, known, channel) for channel in anchors.T]
    return [f"#{bytes(map(round, rgb)).hex().upper()}" for rgb in np.c_[*channels]]


def significant(value: float) -> float:
    """Return the number rounded to four significant digits."""
    return float(f"{value:.4g}")


def compact(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with numbers rounded to four significant digits."""
    return frame.assign(**frame.select_dtypes("floating").map(significant))


def tips(*headings: str, form: Any = alt.Undefined, **fields: str) -> list[alt.Tooltip]:
    """Return tooltips: headings, and fields under their titles, in a number format."""
    heads = [alt.Tooltip(f"{heading}:N", title="title") for heading in headings]
    return heads + [
        alt.Tooltip(f"{field}:Q", title=title, format=form)
        for field, title in fields.items()
    ]
