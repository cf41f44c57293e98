"""How figures look: colors, theme, renderer, and what all charts share.

Every chart carries a description for readers who cannot see it, its numbers have four
significant digits, and what has many records is counted before it is drawn, so that a chart
stays small. Charts are at most 640 px wide.

What a page may do with a specification:

- In a dark theme, merge `DARK` over its `config`. Every color of data has a contrast of three to
  one on white and on a page of `GROUND`; text, rules of style "ink" and axes have the config's.
- Where there is less room than a chart takes, set `columns` of a `concat` to 1 and lower every
  `width` by what is too much (and `height` with it, where a plot is as high as it is wide). Where
  `usermeta` has `scales`, labels stand beside points: scale the whole drawing instead.
- Marks of views named "said..." are words that follow the sliders, for a live region; texts of
  "labels..." can be clicked, as a legend's.
- `usermeta` may have `presets`, from a few words to values of parameters.
"""

import base64
import hashlib
import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from html import escape
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

# A method has the same color in every figure of every notebook, by the names that they use.
COLORS = {
    name: color
    for color, names in {
        "#0072B2": ("original",),
        "#D55E00": ("synthetic",),
        "#CC79A7": ("importance_sampling", "importance sampling"),
        "#009E73": ("predictive_ratio", "predictive ratio"),
        "#A0623A": ("Bernoulli plug-in", "plug-in"),
        "#8E5BC8": ("exponential, log P", "log P"),
        "#4C6FD8": ("exponential, distance", "-|d - r|", "−|d − r|", "distance"),
        "#B07D00": ("exponential, P", "P"),
        "#0F919C": ("beta-binomial", "Dirichlet-multinomial"),
        "#D1407F": ("DPMPM", "mixture", "mixture, own prior"),
        "#6F7B8A": ("bound from ε", "chance"),
        "#1E9E5A": ("trees", "trees, leaf of 5", "trees, leaves of 5", "records in a leaf"),
        "#7C8F12": ("trees, leaf of 20", "trees, leaves of 20"),
        "#2E86C1": ("trees, smoothed", "smoothing"),
        "#D07A00": ("independent margins", "margins"),
        "#D43D51": ("private margins",),
    }.items()
    for name in names
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

WIDTH, LABEL_LIMIT = 560, 240
_IDENTIFIER = re.compile(r'(?<=[#"])(?:clip|gradient_)\d+(?=[")])')
Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart | alt.VConcatChart


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


def _theme() -> alt.theme.ThemeConfig:
    sizes = {"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal"}
    config = {
        "font": FONT,
        "padding": 8,
        "axis": {**sizes, "labelLimit": LABEL_LIMIT, "labelFlush": False, "labelSeparation": 6},
        # The title of the y axis is a subtitle: it lies above the plot.
        "axisY": {
            "titleAngle": 0,
            "titleAlign": "left",
            "titleAnchor": "end",
            "titleBaseline": "bottom",
            "titleX": 0,
            "titleY": -9,
        },
        # Above the subtitle.
        "legend": {
            **sizes,
            "orient": "top",
            "offset": 30,
            "labelLimit": WIDTH,
            "titleLimit": WIDTH,
        },
        "header": {**sizes, "labelLimit": WIDTH, "labelFontSize": 13, "labelFontWeight": "bold"},
        "title": {"fontSize": 13, "anchor": "start", "frame": "group", "limit": WIDTH},
        # The description speaks for the chart; a name for every mark would triple its size.
        "mark": {"aria": False},
        "text": {"fontSize": 12},
        "view": {"stroke": None},
        "concat": {"spacing": 18},
        "facet": {"spacing": 14},
    }
    for part, colors in LIGHT.items():
        config[part] = {**config.get(part, {}), **colors} if isinstance(colors, dict) else colors  # type: ignore[dict-item]
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
    own = {name: COLORS[name] for name in names if name in COLORS}
    spare = [color for color in OTHER_COLORS if not any(_alike(color, o) for o in own.values())]
    spare = spare or list(OTHER_COLORS)
    others = [name for name in names if name not in own]
    return {
        name: own.get(name) or spare[others.index(name) % len(spare)] for name in in_order(names)
    }


def _alike(one: str, other: str) -> bool:
    """Say whether two colors are hard to tell apart side by side."""
    a, b = ([int(color[at : at + 2], 16) for at in (1, 3, 5)] for color in (one, other))
    return math.dist(a, b) < 60


def method_color(field: str, names: Sequence[str]) -> alt.Color:
    """Color by names, see `colors`, with a legend where there is more than one."""
    scale = alt.Scale(domain=list(names), range=list(colors(names).values()))
    legend = alt.Undefined if len(names) > 1 else None
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=legend)


def in_rows(names: Sequence[str]) -> int:
    """Columns of a legend whose rows are at most some 80 characters long."""
    return max(1, 80 // (6 + max(map(len, names))))


def ramp(n: int) -> list[str]:
    """Colors from dark to light, as far as they keep their contrast on white and on black."""
    anchors = np.array([list(bytes.fromhex(color[1:])) for color in ORDERED], dtype=float)
    at = np.linspace(0, len(anchors) - 1, n)
    channels = [np.interp(at, np.arange(len(anchors)), channel) for channel in anchors.T]
    return ["#" + "".join(f"{round(c):02X}" for c in rgb) for rgb in zip(*channels, strict=True)]


def ordered_color(field: str, names: Sequence[str], title: str | None) -> alt.Color:
    """Colors from dark to light for names that have an order."""
    scale = alt.Scale(domain=list(names), range=ramp(len(names)))
    legend = alt.Undefined if len(names) > 1 else None
    return alt.Color(f"{field}:N", title=title, scale=scale, sort=list(names), legend=legend)


def round_numbers(low: float, high: float, *, log: bool = False, most: int = 7) -> list[float]:
    """Return round numbers from the last below `low` to the first above `high`, for an axis.

    Parameters
    ----------
    low, high : float
        What the axis has to reach, positive on a logarithmic axis.
    log : bool
        Whether the axis is logarithmic: its numbers are 1, 2 and 5 in each decade, or, where these
        would be more than `most` and three, powers of ten.
    most : int
        About how many numbers there may be.
    """
    if not log:
        if high <= low:
            low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
        power = math.floor(math.log10((high - low) / most))
        for step in (float(f"{digit}e{power + k}") for k in (0, 1) for digit in (1, 2, 5)):
            first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
            if last - first <= most:
                break
        return [float(f"{i * step:.12g}") for i in range(first, last + 1)]
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    every = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    first = max(i for i, value in enumerate(every) if value <= low * (1 + 1e-9))
    last = min(i for i, value in enumerate(every) if value >= high * (1 - 1e-9))
    if last == first:
        first, last = first - 1, last + 1
    if last - first < most + 3:
        return every[first : last + 1]
    down, up = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    step = math.ceil((up - down) / max(most, 7))
    return [float(f"1e{power}") for power in range(up - step * ((up - down) // step), up + 1, step)]


def pixels(values: Any, ends: Sequence[float], size: float, *, log: bool) -> Any:
    """Return pixels from the first of the two ends of an axis that is `size` pixels long."""
    of = np.log if log else np.asarray
    low, high = of(ends[0]), of(ends[-1])
    return (of(values) - low) / (high - low) * size


def number_axis(
    field: str,
    title: str | None,
    values: Iterable[float],
    log: bool,
    channel: Any,
    *,
    zero: bool = False,
    tight: bool = False,
    most: int = 7,
) -> Any:
    """Encode numbers along an axis with round numbers at its ticks.

    Parameters
    ----------
    field : str
        What is encoded.
    title : str, optional
        Wrapped where it is long.
    values : iterable of float
        What the axis has to reach.
    log : bool
        Whether it is logarithmic.
    channel : type
        `alt.X` or `alt.Y`.
    zero : bool
        Whether an axis that is not logarithmic has zero.
    tight : bool
        Whether it ends at the values, and not at round numbers.
    most : int
        As in `round_numbers`.
    """
    reach = [float(v) for v in values if np.isfinite(v) and (v > 0 or not log)]
    reach = [*reach, *([0.0] if zero and not log else [])] or [1.0]
    low, high = min(reach), max(reach)
    ticks = round_numbers(low, high, log=log, most=most)
    ends = [ticks[0], ticks[-1]]
    if tight and low < high:
        ends = [significant(low), significant(high)]
        ticks = [tick for tick in ticks if low <= tick * (1 + 1e-9) and tick <= high * (1 + 1e-9)]
        if log:  # the data's round ends, where they are not beside a number
            at = pixels(np.array(ticks), ends, 1.0, log=True)
            far = [np.abs(at - place).min(initial=1) > 0.09 for place in (0, 1)]
            ticks += [e for e, is_far in zip(ends, far, strict=True) if is_far and _is_round(e)]
            ticks.sort()
        ticks = ticks or ends  # no round number lies between values that are nearly alike
    scale = alt.Scale(type="log" if log else "linear", domain=ends, nice=False, zero=False)
    overlap: Any = ("greedy" if log else "parity") if channel is alt.X else False
    # Vega leaves every other one of our numbers out where they are more than it would choose.
    axis = alt.Axis(values=ticks, tickCount=len(ticks), format=",.6~g", labelOverlap=overlap)
    if log and (ticks[0] < 1e-4 or ticks[-1] >= 1e6):
        axis["labelExpr"] = (
            f"{json.dumps([_power(tick) for tick in ticks])}[indexof({ticks}, datum.value)]"
        )
    return channel(f"{field}:Q", title=wrapped(title), scale=scale, axis=axis)


def _is_round(value: float) -> bool:
    return value == float(f"{value:.2g}")


def _power(value: float) -> str:
    """Write a number, as a power of ten where it is far from one."""
    digit, power = f"{value:.0e}".split("e")
    if 1e-3 <= value < 1e5:
        return f"{value:,g}"
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{'' if digit == '1' else digit + '·'}10{raised}"


def wrapped(title: str | None, width: int = 52) -> Any:
    """Break a title into lines that fit a telephone."""
    lines = textwrap.wrap(
        (title or "").replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"), width
    )
    return lines if len(lines) > 1 else title


def spread(
    wanted: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Place labels along a line, each as near to where it is wanted as the others leave room.

    Parameters
    ----------
    wanted : sequence of float
        Middles that the labels should have.
    heights : sequence of float
        Their heights.
    low, high : float
        Ends of the line.

    Returns
    -------
    list of float
        Middles, in the order of `wanted`: labels keep that order, do not overlap, and lie within
        the ends where there is room for all of them.
    """
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    blocks: list[tuple[float, float, list[int]]] = []  # top, height, labels
    for i in order:
        block = (wanted[i] - heights[i] / 2, heights[i], [i])
        while True:
            top = max(low, min(block[0], high - block[1]))
            if not blocks or blocks[-1][0] + blocks[-1][1] <= top:
                break
            above = blocks.pop()
            weight = len(above[2]) / (len(above[2]) + len(block[2]))
            # Where the mean of the labels' shifts is zero.
            start = weight * above[0] + (1 - weight) * (block[0] - above[1])
            block = (start, above[1] + block[1], above[2] + block[2])
        blocks.append((top, block[1], block[2]))
    placed = [0.0] * len(wanted)
    for top, _, labels in blocks:
        for i in labels:
            placed[i] = top + heights[i] / 2
            top += heights[i]
    return placed


def told(value: float) -> str:
    """Write a number for the ear: three significant digits, no exponent, no sign."""
    size = abs(float(f"{value:.3g}"))
    if not np.isfinite(size):
        word = "infinity" if np.isinf(size) else "unknown"
    elif size >= 1e6:
        word = f"{size / 1e6:,.6g} million"
    elif 0 < size < 1e-4:
        digits, power = f"{size:.2e}".split("e-")
        word = f"{float(digits):g} times 10 to the minus {int(power)}"
    else:
        word = f"{size:,.8f}".rstrip("0").rstrip(".")
    return f"minus {word}" if value < 0 and word != "0" else word


def course(x: Iterable[float], y: Iterable[float]) -> str:
    """Say where a line begins, where it is lowest and highest, and where it ends."""
    frame = pd.DataFrame({"x": list(x), "y": list(y)}, dtype=float)
    at = [f"{told(row.y)} at {told(row.x)}" for row in frame.itertuples()]
    low, high, last = int(frame["y"].argmin()), int(frame["y"].argmax()), len(frame) - 1
    if frame["y"].nunique() == 1:
        return f"{told(frame['y'].iloc[0])}, minimum and maximum, throughout"
    if {low, high} == {0, last}:
        return f"from its {'minimum' if low == 0 else 'maximum'} {at[0]} to its " + (
            f"{'maximum' if low == 0 else 'minimum'} {at[last]}"
        )
    return f"from {at[0]} to {at[last]}, minimum {at[low]}, maximum {at[high]}"


def tooltip(title: str, **fields: str | tuple[str, str]) -> list[alt.Tooltip]:
    """Return what hovering shows: a heading, and a line for each field.

    Parameters
    ----------
    title : str
        The field that is the heading.
    **fields : str or (str, str)
        The field's name, in words, or name and format.
    """
    lines = []
    for field, said in fields.items():
        name, form = said if isinstance(said, tuple) else (said, ",.4~r")
        one = {"title": name, "format": form} if form else {"title": name}
        lines.append(
            alt.Tooltip.from_dict(
                {"field": field, "type": "quantitative" if form else "nominal", **one}
            )
        )
    return [alt.Tooltip(f"{title}:N", title="title"), *lines]


def plain(title: str) -> str:
    """Return an axis' title without what it says of its scale."""
    return title.replace(" (log scale)", "")


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
    frame: pd.DataFrame,
    by: str,
    draw: Callable[[Any, pd.DataFrame, bool], Chart],
    columns: int = 1,
) -> alt.ConcatChart:
    """Draw the rows of each group in a panel of its own.

    Parameters
    ----------
    frame : DataFrame
        Groups appear in the order of their first rows.
    by : str
        The column that has the groups.
    draw : callable
        From a group, its rows and whether it is the last of its column, which has the title of the
        shared axis, to a panel.
    columns : int
        Panels side by side.
    """
    names = in_order(frame[by])
    lowest = names[-columns:]
    groups = frame.groupby(by, sort=False)
    drawn = [draw(name, rows, name in lowest) for name, rows in groups]
    return alt.concat(*drawn, columns=columns)
