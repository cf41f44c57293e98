"""General figures: lines, points, intervals, histograms, agreement, traces.

Arguments with the same name are documented in `lines`.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from srlib.charts.style import (
    REFERENCE,
    WIDTH,
    Chart,
    compact,
    method_color,
    ordered_color,
    significant,
    tips,
)

_TRACE_VALUES = 3000
_SIDE = 230  # pixels of a panel of `agreement`
_N_SQUARES = 40  # along a side


def lines(
    frame: pd.DataFrame,
    x_title: str,
    y_title: str,
    *,
    description: str,
    log_x: bool = False,
    log_y: bool = False,
    zero: bool = False,
    reference: float | None = None,
    ordered: bool = False,
    errors: pd.DataFrame | None = None,
) -> Chart:
    """Draw one quantity against another, with one line per curve.

    Parameters
    ----------
    frame : DataFrame
        One column per curve, with its name in the legend, over an index of x. Missing
        values, and values without a logarithm on a logarithmic axis, are omitted.
    x_title, y_title : str
        Titles of the axes, with units.
    description : str
        Description of the figure, for readers who cannot see it.
    log_x, log_y : bool
        Whether an axis is logarithmic.
    zero : bool
        Whether a linear y axis starts at zero.
    reference : float, optional
        Value of y for a dotted line, such as the expectation by chance.
    ordered : bool
        Whether the curves are ordered; their colors then run from dark to light.
    errors : DataFrame, optional
        Standard errors, in the layout of `frame`, drawn as two errors to each side of a
        point. On a logarithmic axis a lower end below zero is set to a tenth of the
        value.

    Returns
    -------
    altair chart
        Hovering shows the values of a point; a click in the legend highlights one
        curve.
    """
    base, pick = _picked(
        _curves(frame, errors, log_x, log_y),
        "curve",
        map(str, frame),
        ordered_color if ordered else method_color,
        x=alt.X("x:Q", title=x_title, scale=_scale(log_x, zero=False, nice=False)),
        y=alt.Y("y:Q", title=y_title, scale=_scale(log_y, zero=zero)),
    )
    # Points are a separate layer: JupyterLab's Vega-Lite has no selection on points of
    # a line.
    point = base.mark_point(filled=True, size=16 if len(frame) <= 25 else 4)
    return alt.layer(
        *_rules("reference", y=reference),
        base.mark_line(strokeWidth=2).add_params(pick),
        point.encode(tooltip=tips("curve", x=x_title, y=y_title)),
        *_error_bars(base, errors, y_title),
        width=WIDTH - 40,
        height=260,
        description=description,
    )


def _curves(
    frame: pd.DataFrame,
    errors: pd.DataFrame | None,
    log_x: bool,
    log_y: bool,
) -> pd.DataFrame:
    """Return the points of curves, with the ends of their errors if those are given."""
    shown = _long(frame)
    if errors is not None:
        error = _long(errors.reindex_like(frame))["y"].fillna(0)
        shown["low"] = shown["y"] - 2 * error
        shown["high"] = shown["y"] + 2 * error
        if log_y:
            shown["low"] = shown["low"].clip(lower=shown["y"] / 10)
    shown = shown.dropna(subset="y")
    if log_x:
        shown = shown[shown["x"] > 0]
    if log_y:
        shown = shown[shown["y"] > 0]
    return shown


def _long(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame in long format, with columns x, curve and y."""
    named = frame.rename_axis("x").rename(columns=str).reset_index()
    return named.melt("x", var_name="curve", value_name="y")


def _error_bars(
    base: alt.Chart,
    errors: pd.DataFrame | None,
    y_title: str,
) -> list[alt.Chart]:
    """Draw the errors of curves, if they are given."""
    if errors is None:
        return []
    low = alt.Y("low:Q", title=y_title)
    return [base.mark_rule().encode(y=low, y2="high:Q")]


def points(
    frame: pd.DataFrame,
    x_title: str,
    y_title: str,
    *,
    description: str,
    log_y: bool = False,
    reference: float | None = None,
) -> Chart:
    """Draw two quantities against each other: a point with intervals per setting.

    Parameters
    ----------
    frame : DataFrame
        Columns x and y; x_low, x_high, y_low and y_high, the ends of their intervals
        (NaN for no interval); case (text) for the color; and label (text, may be empty)
        above the point.
    """
    base, pick = _picked(
        frame,
        "case",
        frame["case"],
        x=alt.X("x:Q", title=x_title).scale(padding=25, zero=False),
        y=alt.Y("y:Q", title=y_title, scale=_scale(log_y, padding=22, zero=False)),
    )
    case, *values = tips("case", x=x_title, y=y_title)
    setting = alt.Tooltip("label:N", title="setting")
    point = base.mark_point(filled=True, size=50)
    return alt.layer(
        *_rules("reference", y=reference),
        *_crosses(base, x_title, y_title),
        point.encode(tooltip=[case, setting, *values]).add_params(pick),
        base.mark_text(align="left", dx=5, dy=-7).encode(text="label:N"),
        width=WIDTH - 20,
        height=300,
        description=description,
        usermeta={"scales": True},
    )


def _crosses(
    base: alt.Chart,
    x_title: str,
    y_title: str,
) -> list[alt.Chart]:
    """Draw the intervals of points that have them."""
    has_x = base.transform_filter("isValid(datum.x_low)").mark_rule()
    has_y = base.transform_filter("isValid(datum.y_low)").mark_rule()
    x = alt.X("x_low:Q", title=x_title)
    y = alt.Y("y_low:Q", title=y_title)
    return [has_x.encode(x=x, x2="x_high:Q"), has_y.encode(y=y, y2="y_high:Q")]


def intervals(
    frame: pd.DataFrame,
    title: str,
    *,
    description: str,
    percent: bool = False,
) -> Chart:
    """Draw estimates with intervals, one row per label, beside their baselines.

    Parameters
    ----------
    frame : DataFrame
        Columns label (text), value, low and high, in the order of the rows. Optional
        columns: panel (text) for separate panels, case (text) for adjacent points in
        different colors, and baseline for a tick. All numbers may be NaN.
    title : str
        Title of the shared axis.
    percent : bool
        Whether the numbers are shares, with the axis in percent.
    """
    data = compact(frame.assign(panel=frame.get("panel", "")))
    data["case"] = data.get("case", data["panel"])
    cases = list(dict.fromkeys(data["case"]))
    color = method_color("case", cases).legend(offset=12)
    if "case" not in frame:
        cases = []
        color = color.legend(None)
    numbers = data.filter(["low", "high", "value", "baseline"])
    ends = [min(0.0, numbers.min(axis=None)), numbers.max(axis=None)]
    form = "%" if percent else ",.4~r"
    x = alt.X("value:Q", title=title).axis(format=form, tickCount=6)
    heads = tips(
        "label",
        form=".1%" if percent else form,
        value="value",
        low="from",
        high="to",
    )
    longest = max(map(len, data["label"]), default=0)
    drawn = _Intervals(cases, color, heads, WIDTH - 7 * min(30, longest))
    return _panels(
        data,
        x.scale(domain=ends),
        drawn.panel,
        description,
    )


@dataclass(frozen=True)
class _Intervals:
    """What the panels of `intervals` share; without cases points are in a line."""

    cases: list[str]
    color: alt.Color
    tips: list[alt.Tooltip]
    width: int

    def panel(self, rows: pd.DataFrame, x: alt.X) -> Chart:
        """Draw a panel: ticks of the baselines, intervals and points."""
        y = alt.Y("label:N", sort=list(rows["label"]), title=None).axis(labelLimit=210)
        base = alt.Chart(rows).encode(y=y)
        if self.cases:
            base = base.encode(yOffset=alt.YOffset("case:N", sort=self.cases))
        drawn = base.encode(color=self.color)
        layers = []
        if "baseline" in rows:
            tick = base.transform_filter("isValid(datum.baseline)").mark_tick(
                style="ink",
                thickness=2,
                size=14,
            )
            layers.append(tick.encode(x="baseline:Q"))
        rule = drawn.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2)
        point = drawn.transform_filter("isValid(datum.value)").mark_point(
            filled=True,
            size=60,
            opacity=1,
        )
        layers += [
            rule.encode(x="low:Q", x2="high:Q"),
            point.encode(x=x, tooltip=self.tips),
        ]
        height = max(22, 14 * len(self.cases)) * rows["label"].nunique()
        return alt.layer(*layers, width=self.width, height=height)


def histograms(
    values: Mapping[str, np.ndarray],
    edges: np.ndarray,
    x_title: str,
    y_title: str,
    *,
    description: str,
    square_root: bool = False,
    **reference: float,
) -> Chart:
    """Draw histograms, one panel per case.

    Parameters
    ----------
    values : mapping of str to array
        The numbers of each case.
    edges : (n_bins + 1,) array of float
        Edges of the bins, as in `numpy.histogram`.
    x_title, y_title : str
        Titles of the axes: the binned quantity and the count.
    square_root : bool
        Whether the counts have a square-root scale, which makes small ones visible.
    **reference : float
        x or y of a dotted line in every panel, such as the expectation by chance.
    """
    binned = pd.concat(
        pd.DataFrame(
            {
                "panel": name,
                "low": edges[:-1],
                "high": edges[1:],
                "count": np.histogram(x, edges)[0],
            }
        )
        for name, x in values.items()
    )
    x = (
        alt.X("low:Q", bin="binned", title=x_title)
        .scale(domain=_ends(edges), nice=False)
        .axis(grid=False, tickCount=10)
    )
    bars = _bars(binned, y_title, square_root)

    def panel(rows: pd.DataFrame, x: alt.X) -> Chart:
        filled = bars.encode(x=x).properties(data=rows[rows["count"] > 0])
        return alt.layer(
            filled,
            *_rules(None, **reference),
            width=WIDTH - 20,
            height=150,
        )

    return _panels(
        compact(binned),
        x,
        panel,
        description,
    )


def _bars(
    binned: pd.DataFrame,
    y_title: str,
    square_root: bool,
) -> alt.Chart:
    """Return bars of all cases, without their data and their axis of x."""
    most = int(binned["count"].max())
    y = alt.Y("count:Q", title=y_title).scale(
        domain=[0, most], type="sqrt" if square_root else "linear"
    )
    color = method_color("panel", list(dict.fromkeys(binned["panel"])))
    bars = alt.Chart().mark_bar(binSpacing=0.5)
    return bars.encode(
        x2="high:Q",
        y=y.axis(tickCount=5),
        color=color.legend(None),
        tooltip=tips(
            "panel",
            low="from",
            high="to",
            count=y_title,
        ),
    )


def agreement(
    frame: pd.DataFrame,
    x_title: str,
    y_title: str,
    *,
    description: str,
) -> Chart:
    """Draw two estimates of the same probabilities on logarithmic scales.

    Parameters
    ----------
    frame : DataFrame
        Columns x and y: positive probabilities of the same combinations by two runs or
        estimators. An optional column panel (text) makes separate panels with the same
        scale.
    x_title, y_title : str
        Titles of the axes.

    Returns
    -------
    altair chart
        Squares colored by their number of combinations, the line of equality, and the
        correlation r of the logarithms.

    Raises
    ------
    ValueError
        If a probability is not positive and finite.
    """
    edges = _grid(frame)
    ends = _ends(edges)
    scale = alt.Scale(type="log", domain=ends, nice=False)
    x = alt.X("x:Q", title=x_title, scale=scale).axis(tickCount=4)
    y = alt.Y("y:Q", title=y_title, scale=scale).axis(tickCount=4)
    diagonal = alt.Chart(pd.DataFrame({"x": ends, "y": ends})).mark_line(
        style="ink",
        strokeWidth=1,
    )
    color = _count_color(len(frame))

    def panel(rows: pd.DataFrame, x: alt.X) -> Chart:
        logs = np.log(rows[["x", "y"]].to_numpy(float))
        return alt.layer(
            _squares(logs, edges).encode(
                x=x,
                y=y,
                color=color,
            ),
            diagonal.encode(x=x, y=y),
            _correlation(logs),
            width=_SIDE,
            height=_SIDE,
        )

    return _panels(
        frame,
        x,
        panel,
        description,
        columns=2,
    )


def _grid(frame: pd.DataFrame) -> np.ndarray:
    """Return the edges of a grid over the probabilities, on both axes."""
    values = frame[["x", "y"]].to_numpy(float)
    if not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(
            "frame has values of x or y that are not positive and finite; all must be"
        )
    return np.geomspace(values.min() / 1.05, values.max() * 1.05, _N_SQUARES + 1)


def _ends(edges: np.ndarray) -> list[float]:
    return list(map(significant, edges[[0, -1]]))


def _count_color(n: int) -> alt.Color:
    """Return a color encoding by number, with ends visible on white and on black."""
    color = alt.Color("count:Q", title="Combinations")
    return color.scale(
        clamp=True,
        domain=[1, max(2, n // 20)],
        range=["#3B8FD0", "#7D5BC4", "#C2366B"],
        type="log",
    )


def _squares(logs: np.ndarray, edges: np.ndarray) -> alt.Chart:
    """Draw the occupied squares of a grid at their middles, with their counts."""
    log_edges = np.log(edges)
    x, y = logs.T
    counts, *_ = np.histogram2d(x, y, bins=log_edges)
    middle = np.sqrt(edges[1:] * edges[:-1])
    i, j = np.nonzero(counts)
    columns = {"x": middle[i], "y": middle[j], "count": counts[i, j]}
    occupied = alt.Chart(compact(pd.DataFrame(columns)))
    size = (_SIDE / _N_SQUARES) ** 2
    marks = occupied.mark_square(size=size, opacity=1)
    return marks.encode(tooltip=tips(count="combinations", x="x", y="y"))


def _correlation(logs: np.ndarray) -> alt.Chart:
    """Write the correlation of the logarithms, if none is constant, into a corner."""
    text = ""
    if logs.std(axis=0).all():
        r = np.corrcoef(logs.T)[0, 1]
        text = f"correlation r = {r:.2f}".replace("-", "−")
    mark = alt.Chart(pd.DataFrame({"r": [text]})).mark_text(
        align="left",
        baseline="top",
        fontSize=13,
        fontWeight="bold",
    )
    return mark.encode(
        x=alt.value(8),
        y=alt.value(8),
        text="r:N",
    )


def trace(frame: pd.DataFrame, *, description: str) -> Chart:
    """Draw trace plots of Markov chains.

    Parameters
    ----------
    frame : DataFrame
        Columns chain, draw, value and quantity. Long chains are thinned.

    Returns
    -------
    altair chart
        One panel per quantity, one line per chain.
    """
    chains: list[Any] = list(map(str, dict.fromkeys(frame["chain"])))
    thin = math.ceil(len(frame) / _TRACE_VALUES)
    shown = frame[frame["draw"] % thin == frame["draw"].min() % thin]
    color = method_color("chain", chains).title("Chain").legend(columns=8)
    x = alt.X("draw:Q", title="Draw").axis(grid=False, tickCount=5)
    y = alt.Y("value:Q", title=None).scale(zero=False).axis(tickCount=4)

    def panel(rows: pd.DataFrame, x: alt.X) -> Chart:
        line = _draws(rows).mark_line(strokeWidth=1, opacity=0.8)
        drawn = line.encode(
            x=x,
            y=y,
            color=color,
        )
        return drawn.properties(width=250, height=90)

    named = shown.assign(panel=shown["quantity"].str.replace("_", " "))
    return _panels(
        named,
        x.scale(nice=False),
        panel,
        description,
        columns=2,
    )


def _draws(rows: pd.DataFrame) -> alt.Chart:
    """Return the draws of one quantity, kept small by one row for all its chains."""
    wide = rows.pivot_table(index="draw", columns="chain", values="value")
    chains = wide.columns.astype(str)
    wide = compact(wide.set_axis(chains, axis=1)).reset_index()
    return alt.Chart(wide).transform_fold([*chains], as_=["chain", "value"])


def reliability(frame: pd.DataFrame, *, description: str) -> Chart:
    """Draw a reliability diagram: observed shares against predicted probabilities.

    Parameters
    ----------
    frame : DataFrame
        One row per curve and bin of candidates: curve (text), the mean predicted
        probability, the observed share of true records, and low and high, the ends of
        its interval.

    Returns
    -------
    altair chart
        One point with its interval per bin, and the dotted diagonal of calibrated
        probabilities. Points below it are overconfident. A click in the legend
        highlights one curve.
    """
    unit = alt.Scale(domain=[0, 1])
    base, pick = _picked(
        frame,
        "curve",
        frame["curve"],
        x=alt.X("predicted:Q", title="Predicted probability", scale=unit),
    )
    diagonal = alt.Chart(pd.DataFrame({"x": [0, 1]})).mark_line(**REFERENCE)
    low = alt.Y("low:Q", title="Observed share", scale=unit)
    heads = tips(
        "curve",
        predicted="predicted",
        observed="observed",
        low="from",
        high="to",
    )
    point = base.mark_point(filled=True, size=45)
    return alt.layer(
        diagonal.encode(x="x:Q", y="x:Q"),
        base.mark_rule(strokeWidth=2).encode(y=low, y2="high:Q"),
        point.encode(y="observed:Q", tooltip=heads).add_params(pick),
        width=380,
        height=380,
        description=description,
    )


def _panels(
    frame: pd.DataFrame,
    x: alt.X,
    draw: Callable[[pd.DataFrame, alt.X], Chart],
    description: str,
    columns: int = 1,
) -> alt.ConcatChart:
    """Draw one chart per panel, in order; the lowest have the title of the x axis."""
    panels = frame.get("panel", pd.Series("", frame.index))
    groups = frame.groupby(panels, sort=False)
    drawn = []
    for i, (name, rows) in enumerate(groups):
        is_lowest = i + min(columns, len(groups)) >= len(groups)
        chart = draw(rows, x if is_lowest else x.title(None))
        drawn.append(chart.properties(title=name) if name else chart)
    return alt.concat(*drawn, columns=columns, description=description)


def _scale(log: bool, padding: int = 5, **linear: Any) -> alt.Scale:
    """Return a linear or logarithmic scale whose ends are close to the data."""
    if log:
        return alt.Scale(type="log", nice=False, padding=padding)
    return alt.Scale(**linear)


def _rules(field: str | None, /, **values: float | None) -> list[alt.Chart]:
    """Return dotted lines at values of x or y, if they are given."""
    rules = []
    for channel, value in values.items():
        if value is not None:
            name = field or channel
            frame = pd.DataFrame({name: [significant(value)]})
            encoding = {channel: f"{name}:Q"}
            rules.append(alt.Chart(frame).mark_rule(**REFERENCE).encode(**encoding))
    return rules


def _picked(
    rows: pd.DataFrame,
    field: str,
    names: Iterable[str],
    palette: Callable[[str, list[str]], alt.Color] = method_color,
    **axes: Any,
) -> tuple[alt.Chart, alt.Parameter]:
    """Return a chart whose legend is clicked to highlight rows, and the selection."""
    pick = alt.selection_point(
        name="pick",
        fields=[field],
        bind="legend",
    )
    chart = alt.Chart(compact(rows)).encode(
        **axes,
        color=palette(field, list(dict.fromkeys(names))),
        opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12)),
    )
    return chart, pick
