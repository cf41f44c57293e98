"""General figures: lines, points, intervals, histograms, agreement, traces.

Arguments with the same name are documented in `lines`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from srlib.charts.style import (
    OTHER_COLORS,
    REFERENCE,
    WIDTH,
    Chart,
    compact,
    method_color,
    ordered_color,
    significant,
)

_TRACE_VALUES = 3000


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
    shown = _long(frame, "y")
    if errors is not None:
        error = _long(errors.reindex_like(frame), "error")["error"].fillna(0)
        shown["low"] = shown["y"] - 2 * error
        shown["high"] = shown["y"] + 2 * error
        if log_y:
            shown["low"] = shown["low"].clip(lower=shown["y"] / 10)
    shown = shown[shown["y"].notna()]
    if log_x:
        shown = shown[shown["x"] > 0]
    if log_y:
        shown = shown[shown["y"] > 0]
    pick, opacity = _picked("curve")
    color = ordered_color if ordered else method_color
    base = alt.Chart(compact(shown)).encode(
        x=alt.X(
            "x:Q",
            title=x_title,
            scale=_scale(log_x, zero=False, nice=False),
        ),
        y=alt.Y(
            "y:Q",
            title=y_title,
            scale=_scale(log_y, zero=zero),
        ),
        color=color("curve", [str(name) for name in frame]),
        opacity=opacity,
    )
    # Points are a separate layer: JupyterLab's Vega-Lite has no selection on points of
    # a line.
    point = base.mark_point(filled=True, size=16 if len(frame) <= 25 else 4)
    layers = [
        *_rule(reference),
        base.mark_line(strokeWidth=2).add_params(pick),
        point.encode(tooltip=_tips("curve", x=x_title, y=y_title)),
    ]
    if errors is not None:
        low = alt.Y("low:Q", title=y_title)
        layers.append(base.mark_rule().encode(y=low, y2="high:Q"))
    return alt.layer(*layers).properties(
        width=WIDTH - 40, height=260, description=description
    )


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
    pick, opacity = _picked("case")
    base = alt.Chart(compact(frame)).encode(
        x=alt.X(
            "x:Q",
            title=x_title,
            scale=alt.Scale(zero=False, padding=25),
        ),
        y=alt.Y(
            "y:Q",
            title=y_title,
            scale=_scale(log_y, padding=22, zero=False),
        ),
        color=method_color("case", list(dict.fromkeys(frame["case"]))),
        opacity=opacity,
    )
    has_x = base.transform_filter("isValid(datum.x_low)").mark_rule()
    has_y = base.transform_filter("isValid(datum.y_low)").mark_rule()
    tips = [
        alt.Tooltip("case:N", title="title"),
        alt.Tooltip("label:N", title="setting"),
        *_tips(None, x=x_title, y=y_title),
    ]
    drawn = alt.layer(
        *_rule(reference),
        has_x.encode(x=alt.X("x_low:Q", title=x_title), x2="x_high:Q"),
        has_y.encode(y=alt.Y("y_low:Q", title=y_title), y2="y_high:Q"),
        base.mark_point(filled=True, size=50).encode(tooltip=tips).add_params(pick),
        base.mark_text(align="left", dx=5, dy=-7).encode(text="label:N"),
    )
    return drawn.properties(
        width=WIDTH - 20,
        height=300,
        description=description,
        usermeta={"scales": True},
    )


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
    color = method_color("case", cases)
    numbers = data.filter(["low", "high", "value", "baseline"])
    low = min(0.0, float(numbers.min(axis=None)))
    high = float(numbers.max(axis=None))
    longest = max(map(len, data["label"]), default=0)
    drawn = _Intervals(
        cases=cases if "case" in frame else [],
        color=color.legend(offset=12) if "case" in frame else color.legend(None),
        ends=[low, high],
        percent=percent,
        width=WIDTH - 7 * min(30, longest),
    )
    return _panels(data, title, drawn.panel).properties(description=description)


@dataclass(frozen=True)
class _Intervals:
    """What the panels of `intervals` share; without cases points are in a line."""

    cases: list[str]
    color: alt.Color
    ends: list[float]
    percent: bool
    width: int

    def panel(
        self,
        name: str,
        rows: pd.DataFrame,
        x_title: str | None,
    ) -> Chart:
        """Draw a panel: ticks of the baselines, intervals and points."""
        base = self._rows(rows)
        drawn = base.encode(color=self.color)
        layers = []
        if "baseline" in rows:
            has_baseline = base.transform_filter("isValid(datum.baseline)")
            tick = has_baseline.mark_tick(style="ink", thickness=2, size=14)
            layers.append(tick.encode(x="baseline:Q"))
        rule = drawn.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2)
        has_value = drawn.transform_filter("isValid(datum.value)")
        point = has_value.mark_point(filled=True, size=60, opacity=1)
        layers += [
            rule.encode(x="low:Q", x2="high:Q"),
            point.encode(x=self._x(x_title), tooltip=self._tips()),
        ]
        height = max(22, 14 * len(self.cases)) * rows["label"].nunique()
        return alt.layer(*layers).properties(width=self.width, height=height)

    def _rows(self, rows: pd.DataFrame) -> alt.Chart:
        y = alt.Y(
            "label:N",
            sort=list(rows["label"]),
            title=None,
            axis=alt.Axis(labelLimit=210),
        )
        base = alt.Chart(rows).encode(y=y)
        if not self.cases:
            return base
        return base.encode(yOffset=alt.YOffset("case:N", sort=self.cases))

    def _x(self, title: str | None) -> alt.X:
        form = "%" if self.percent else ",.4~r"
        return alt.X(
            "value:Q",
            title=title,
            scale=alt.Scale(domain=self.ends),
            axis=alt.Axis(format=form, tickCount=6),
        )

    def _tips(self) -> list[alt.Tooltip]:
        form = ".1%" if self.percent else ",.4~r"
        return [
            alt.Tooltip("label:N", title="title"),
            alt.Tooltip("value:Q", title="value", format=form),
            alt.Tooltip("low:Q", title="from", format=form),
            alt.Tooltip("high:Q", title="to", format=form),
        ]


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
        pd.DataFrame({"panel": name, "low": edges[:-1], "high": edges[1:]}).assign(
            count=np.histogram(x, edges)[0]
        )
        for name, x in values.items()
    )
    ends = [significant(edges[0]), significant(edges[-1])]
    kind: Any = "sqrt" if square_root else "linear"
    counts = alt.Scale(type=kind, domain=[0, int(binned["count"].max())])
    y = alt.Y(
        "count:Q",
        title=y_title,
        scale=counts,
        axis=alt.Axis(tickCount=5),
    )
    color = method_color("panel", list(values)).legend(None)
    tips = _tips("panel", low="from", high="to", count=y_title)
    rule = alt.Chart(pd.DataFrame([reference]).map(significant)).mark_rule(**REFERENCE)
    rule = rule.encode(**{name: f"{name}:Q" for name in reference})

    def panel(
        name: str,
        rows: pd.DataFrame,
        x_title: str | None,
    ) -> Chart:
        bars = alt.Chart(rows[rows["count"] > 0]).mark_bar(binSpacing=0.5)
        x = alt.X(
            "low:Q",
            bin="binned",
            title=x_title,
            scale=alt.Scale(domain=ends, nice=False),
            axis=alt.Axis(grid=False, tickCount=10),
        )
        drawn = bars.encode(
            x=x,
            x2="high:Q",
            y=y,
            color=color,
            tooltip=tips,
        )
        layers = [drawn, rule] if reference else [drawn]
        return alt.layer(*layers).properties(width=WIDTH - 20, height=150)

    return _panels(compact(binned), x_title, panel).properties(description=description)


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
    values = frame[["x", "y"]].to_numpy(dtype=float)
    if not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(
            "frame has values of x or y that are not positive and finite; all must be"
        )
    side = 230
    n_bins = 40
    edges = np.geomspace(values.min() / 1.05, values.max() * 1.05, n_bins + 1)
    ends = [significant(edges[0]), significant(edges[-1])]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    axis = alt.Axis(tickCount=4)
    y = alt.Y("y:Q", title=y_title, scale=scale, axis=axis)
    diagonal = alt.Chart(pd.DataFrame({"x": ends, "y": ends}))
    diagonal = diagonal.mark_line(style="ink", strokeWidth=1)
    color = _count_color(max(2, len(frame) // 20))
    tips = _tips(None, count="combinations", x="x", y="y")

    def panel(
        name: str,
        rows: pd.DataFrame,
        x_title: str | None,
    ) -> Chart:
        x = alt.X("x:Q", title=x_title, scale=scale, axis=axis)
        squares = alt.Chart(compact(_squares(rows, edges)))
        marks = squares.mark_square(size=(side / n_bins) ** 2, opacity=1)
        layers = [
            marks.encode(
                x=x,
                y=y,
                color=color,
                tooltip=tips,
            ),
            diagonal.encode(x=x, y=y),
            _corner_text(_correlation(rows)),
        ]
        return alt.layer(*layers).properties(width=side, height=side)

    named = frame.assign(panel=frame.get("panel", ""))
    return _panels(named, x_title, panel, columns=2).properties(description=description)


def _count_color(most: int) -> alt.Color:
    """Return a color encoding by number, with ends visible on white and on black."""
    hues = ["#3B8FD0", "#7D5BC4", "#C2366B"]
    shade = alt.Scale(
        type="log",
        domain=[1, most],
        clamp=True,
        range=hues,
    )
    return alt.Color("count:Q", title="Combinations", scale=shade)


def _corner_text(text: str) -> alt.Chart:
    """Draw a text in the upper left corner."""
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


def _squares(rows: pd.DataFrame, edges: np.ndarray) -> pd.DataFrame:
    """Return the occupied squares of a grid, with their middles and their counts."""
    log_edges = np.log(edges)
    log_x = np.log(rows["x"].to_numpy(dtype=float))
    log_y = np.log(rows["y"].to_numpy(dtype=float))
    counts, *_ = np.histogram2d(log_x, log_y, bins=[log_edges, log_edges])
    middle = np.sqrt(edges[1:] * edges[:-1])
    i, j = np.nonzero(counts)
    return pd.DataFrame({"x": middle[i], "y": middle[j], "count": counts[i, j]})


def _correlation(rows: pd.DataFrame) -> str:
    """Say the correlation of the logarithms; nothing where one of them is constant."""
    logs = np.log(rows[["x", "y"]].to_numpy(dtype=float))
    if not logs.std(axis=0).all():
        return ""
    return f"correlation r = {np.corrcoef(logs.T)[0, 1]:.2f}".replace("-", "−")


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
    chains: list[Any] = [str(chain) for chain in dict.fromkeys(frame["chain"])]
    thin = math.ceil(len(frame) / _TRACE_VALUES)
    shown = frame[frame["draw"] % thin == frame["draw"].min() % thin]
    hues = [OTHER_COLORS[i % len(OTHER_COLORS)] for i in range(len(chains))]
    scale = alt.Scale(domain=chains, range=hues)
    color = alt.Color("chain:N", title="Chain", scale=scale).legend(columns=8)

    def panel(
        name: str,
        rows: pd.DataFrame,
        x_title: str | None,
    ) -> Chart:
        wide = rows.pivot_table(index="draw", columns="chain", values="value")
        wide = compact(wide.set_axis(chains, axis=1)).reset_index()
        folded = alt.Chart(wide).transform_fold(chains, as_=["chain", "value"])
        line = folded.mark_line(strokeWidth=1, opacity=0.8)
        draw, value = _trace_axes(x_title)
        drawn = line.encode(x=draw, y=value, color=color)
        return drawn.properties(width=250, height=90)

    named = shown.assign(panel=shown["quantity"].str.replace("_", " "))
    return _panels(named, "Draw", panel, columns=2).properties(description=description)


def _trace_axes(x_title: str | None) -> tuple[alt.X, alt.Y]:
    """Return the axes of a trace plot: draws and values."""
    draw = alt.X(
        "draw:Q",
        title=x_title,
        scale=alt.Scale(nice=False),
        axis=alt.Axis(grid=False, tickCount=5),
    )
    value = alt.Y(
        "value:Q",
        title=None,
        scale=alt.Scale(zero=False),
        axis=alt.Axis(tickCount=4),
    )
    return draw, value


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
    pick, opacity = _picked("curve")
    unit = alt.Scale(domain=[0, 1])
    base = alt.Chart(compact(frame)).encode(
        x=alt.X("predicted:Q", title="Predicted probability", scale=unit),
        color=method_color("curve", list(dict.fromkeys(frame["curve"]))),
        opacity=opacity,
    )
    diagonal = alt.Chart(pd.DataFrame({"x": [0, 1]})).mark_line(**REFERENCE)
    low = alt.Y("low:Q", title="Observed share", scale=unit)
    tips = _tips(
        "curve", predicted="predicted", observed="observed", low="from", high="to"
    )
    point = base.mark_point(filled=True, size=45)
    layers = [
        diagonal.encode(x="x:Q", y="x:Q"),
        base.mark_rule(strokeWidth=2).encode(y=low, y2="high:Q"),
        point.encode(y="observed:Q", tooltip=tips).add_params(pick),
    ]
    return alt.layer(*layers).properties(
        width=380,
        height=380,
        description=description,
    )


def _panels(
    frame: pd.DataFrame,
    x_title: str,
    draw: Callable[[str, pd.DataFrame, str | None], Chart],
    columns: int = 1,
) -> alt.ConcatChart:
    """Draw one chart per panel, in order; the lowest have the title of the x axis."""
    names = list(dict.fromkeys(frame["panel"]))
    drawn = []
    for i, name in enumerate(names):
        last = i + min(columns, len(names)) >= len(names)
        chart = draw(name, frame[frame["panel"] == name], x_title if last else None)
        drawn.append(chart.properties(title=name) if name else chart)
    return alt.concat(*drawn, columns=columns)


def _long(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the frame in long format, with columns x, curve and the value."""
    named = frame.rename_axis("x").rename(columns=str).reset_index()
    return named.melt("x", var_name="curve", value_name=value)


def _scale(log: bool, padding: int = 5, **linear: Any) -> alt.Scale:
    """Return a linear or logarithmic scale whose ends are close to the data."""
    if log:
        return alt.Scale(type="log", nice=False, padding=padding)
    return alt.Scale(**linear)


def _rule(value: float | None) -> list[alt.Chart]:
    """Return a dotted line at a value of y, if one is given."""
    if value is None:
        return []
    frame = pd.DataFrame({"reference": [significant(value)]})
    return [alt.Chart(frame).mark_rule(**REFERENCE).encode(y="reference:Q")]


def _picked(field: str) -> tuple[alt.Parameter, Any]:
    """Return a selection by clicks in the legend, and the opacity it leads to."""
    pick = alt.selection_point(
        name="pick",
        fields=[field],
        bind="legend",
    )
    return pick, alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12))


def _tips(heading: str | None, **fields: str) -> list[alt.Tooltip]:
    """Return tooltips: a heading, and each field under its title."""
    tips = [alt.Tooltip(f"{field}:Q", title=title) for field, title in fields.items()]
    return [alt.Tooltip(f"{heading}:N", title="title"), *tips] if heading else tips
