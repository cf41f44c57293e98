"""How figures look: colors, theme, renderer, and what all charts share.

Every chart carries a description for readers who cannot see it, its numbers have four
significant digits, and what has many records is counted before it is drawn, so that a chart
stays small. Charts are at most 640 px wide.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from html import escape
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

# The palette of Okabe and Ito, which survives the common color deficiencies. A method has the
# same color in every figure of every notebook.
COLORS = {
    "original": "#0072B2",
    "synthetic": "#D55E00",
    "importance_sampling": "#CC79A7",
    "predictive_ratio": "#009E73",
}
OTHER_COLORS = ("#56B4E9", "#E69F00", "#7A5195", "#5C5C5C", "#8C564B", "#BCBD22")
TRUTH, NEUTRAL, INK = "#D55E00", "#9AA5B1", "#222222"
# A printed value is this rule everywhere; a prior or what chance alone would give is dotted.
PRINTED: dict[str, Any] = {"strokeDash": [4, 3], "strokeWidth": 2}
REFERENCE: dict[str, Any] = {"strokeDash": [1, 3], "strokeWidth": 2, "color": INK}

MIME_TYPE = "application/vnd.vegalite.v5+json"
# JupyterLab 4 draws with Vega-Lite 5; altair 6 writes version 6 but nothing that 5 lacks here.
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
VEGA_LITE = "5.8"

WIDTH, LABEL_LIMIT = 560, 240
_IDENTIFIER = re.compile(r'(?<=[#"])(?:clip|gradient_)\d+(?=[")])')
Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart


def use() -> None:
    """Show charts from now on in this style, as every reader of notebooks takes them.

    Altair's theme and renderer are switched for the whole process: JupyterLab draws the charts
    interactively, and every other reader shows the SVG that lies beside them.
    """
    _register()
    alt.theme.enable("srlib")
    alt.renderers.enable("srlib")


@cache
def _register() -> None:
    """Make theme and renderer known to Altair by name."""
    alt.theme.register("srlib", enable=False)(_theme)
    alt.renderers.register("srlib", _renderer)


def _theme() -> alt.theme.ThemeConfig:
    # Every color of text and lines is stated: JupyterLab's dark theme would make what is not
    # white, on the white ground that makes a figure look the same everywhere.
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 13}
    lines = {"domainColor": "#888888", "tickColor": "#888888", "gridColor": "#E4E7EB"}
    config = {
        "background": "white",
        "font": "Arial, Helvetica, sans-serif",
        "padding": 8,
        "axis": {**text, **lines, "labelLimit": LABEL_LIMIT, "titleFontWeight": "normal"},
        "legend": {
            **text,
            "orient": "top",
            "labelLimit": WIDTH,
            "titleLimit": WIDTH,
            "titleFontWeight": "normal",
        },
        "header": {**text, "labelLimit": WIDTH, "labelFontSize": 13, "labelFontWeight": "bold"},
        "title": {
            "color": INK,
            "fontSize": 13,
            "anchor": "start",
            "frame": "group",
            "limit": WIDTH,
        },
        "style": {"guide-label": {"fill": INK}, "guide-title": {"fill": INK}},
        # The description speaks for the chart; a name for every mark would triple its size.
        "mark": {"aria": False},
        "text": {"fontSize": 12, "color": INK},
        "view": {"stroke": None},
        "concat": {"spacing": 14},
        "facet": {"spacing": 14},
    }
    return {"config": config}  # type: ignore[typeddict-item]


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Vega-Lite specification of a chart in this style, data included, as JupyterLab 4 takes it."""
    _register()
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

    drawing = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
    # Vega numbers gradients through all drawings of a process, so they are numbered anew.
    prefix = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    numbers = {name: i for i, name in enumerate(dict.fromkeys(_IDENTIFIER.findall(drawing)))}
    drawing = _IDENTIFIER.sub(lambda found: f"c{prefix}-{numbers[found[0]]}", drawing)
    name = escape(spec.get("description", "chart"))
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)


def _renderer(spec: dict[str, Any], **metadata: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    spec = {**spec, "$schema": SCHEMA}
    bundle = {
        MIME_TYPE: spec,
        "image/svg+xml": svg(spec),
        "text/plain": f"Chart: {spec.get('description', 'no description')}",
    }
    return bundle, {MIME_TYPE: {"embed_options": {"renderer": "svg"}}}


def in_order(values: Iterable[Any]) -> list[Any]:
    """List each value once, in the order of first occurrence."""
    return list(dict.fromkeys(values))


def in_words(name: object) -> str:
    """Write a name without underscores."""
    return str(name).replace("_", " ")


def listing(names: Iterable[str]) -> str:
    """Join one or more names as a sentence does: a, b and c."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def colors(names: Sequence[str]) -> dict[str, str]:
    """A color for each name: its own where it is a method, else one of the others in turn."""
    spare = [name for name in names if name not in COLORS]
    return {
        name: COLORS.get(name) or OTHER_COLORS[spare.index(name) % len(OTHER_COLORS)]
        for name in names
    }


def method_color(field: str, names: Sequence[str]) -> alt.Color:
    """Color by names, see `colors`, with a legend."""
    scale = alt.Scale(domain=list(names), range=list(colors(names).values()))
    return alt.Color(f"{field}:N", title=None, scale=scale)


def ordered_color(field: str, names: Sequence[str], title: str | None) -> alt.Color:
    """Colors from dark to light for names that have an order."""
    anchors = np.array(
        [[68, 1, 84], [59, 82, 139], [33, 144, 140], [93, 180, 70], [215, 160, 0]], dtype=float
    )
    at = np.linspace(0, len(anchors) - 1, len(names))
    ramp = [np.interp(at, np.arange(len(anchors)), channel) for channel in anchors.T]
    colors = ["#" + "".join(f"{round(c):02x}" for c in rgb) for rgb in zip(*ramp, strict=True)]
    scale = alt.Scale(domain=list(names), range=colors)
    return alt.Color(f"{field}:N", title=title, scale=scale, sort=list(names))


def number_axis(field: str, title: str, log: bool, *, zero: bool, channel: Any) -> Any:
    """Encode numbers along an axis, x or y by `channel`."""
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=zero)
    axis = alt.Axis(tickCount=6, format=",.6~g", labelOverlap=True)
    return channel(f"{field}:Q", title=title, scale=scale, axis=axis)


def span_of(values: pd.Series) -> list[float]:
    """An axis' ends that leave a little room around the values."""
    low, high = float(values.min()), float(values.max())
    room = 0.04 * (high - low) or 0.01
    return [significant(low - room), significant(high + room)]


def reference_rule(value: float) -> alt.Chart:
    """Draw a dotted rule at a value of y."""
    frame = pd.DataFrame({"expected": [significant(value)]})
    return alt.Chart(frame).mark_rule(**REFERENCE).encode(y="expected:Q")


def short(labels: Sequence[Any]) -> list[str]:
    """Labels of at most 36 characters, unless two would become the same.

    Vega could cut them too, but measures each many times to do so, seconds in all.
    """
    text = [str(label) for label in labels]
    cut = [t if len(t) <= 36 else t[:35].rstrip() + "…" for t in text]
    return cut if len(set(cut)) == len(set(text)) else text


def width_beside(labels: Sequence[str]) -> float:
    """Width of a plot that shares 620 px with its labels."""
    return WIDTH - min(LABEL_LIMIT, 7 * max(len(str(label)) for label in labels))


def significant(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")


def compact(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with four significant digits, which is more than a figure shows."""
    decimals = frame.select_dtypes("floating").columns
    return frame.assign(**{name: frame[name].map(significant) for name in decimals})


def panels(
    frame: pd.DataFrame, by: str, draw: Callable[[Any, pd.DataFrame, bool], Chart]
) -> alt.VConcatChart:
    """Draw the rows of each group one below the other.

    Parameters
    ----------
    frame : DataFrame
        Groups appear in the order of their first rows.
    by : str
        The column that has the groups.
    draw : callable
        From a group, its rows and whether it is the last, which has the title of the shared axis,
        to a panel.
    """
    names = in_order(frame[by])
    groups = frame.groupby(by, sort=False)
    return alt.vconcat(*(draw(name, rows, name == names[-1]) for name, rows in groups))
