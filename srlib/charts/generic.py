"""Figures of any subject: lines, baselines, agreement, comparisons with the original, sweeps."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from srlib.charts.style import (
    INK,
    PRINTED,
    REFERENCE,
    WIDTH,
    Chart,
    colors,
    compact,
    in_order,
    in_words,
    listing,
    method_color,
    number_axis,
    ordered_color,
    panels,
    reference_rule,
    short,
    significant,
    width_beside,
)


def lines(
    frame: pd.DataFrame,
    x_title: str,
    y_title: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    reference: float | None = None,
    zero: bool = False,
    ordered: bool = False,
    errors: pd.DataFrame | None = None,
) -> Chart:
    """One quantity against another, a line for each case.

    Parameters
    ----------
    frame : DataFrame
        A column for each curve, named as the legend says, over an index of x. Values that are
        missing, or whose logarithm does not exist, are left out.
    x_title, y_title : str
        What the quantities are, with units.
    log_x, log_y : bool
        Whether an axis is logarithmic.
    reference : float, optional
        A value of y to draw as a dotted rule: what chance alone would give.
    zero : bool
        Whether a y axis that is not logarithmic starts at zero.
    ordered : bool
        Whether the curves have an order, which their colors show from dark to light.
    errors : DataFrame, optional
        Standard errors, as `frame`: a rule reaches two to each side of a point. On a logarithmic
        axis what reaches below zero ends at a tenth of the value.

    Returns
    -------
    altair chart
        Hovering shows a point's values; a click in the legend leaves one curve.
    """
    shown = frame.rename_axis("x").reset_index().melt("x", var_name="curve", value_name="y")
    shown = shown[shown["y"].notna() & ((shown["x"] > 0) | (not log_x))]
    shown = shown[(shown["y"] > 0) | (not log_y)]
    columns = ["x", "y", "curve"]
    if errors is not None:
        each = errors.rename_axis("x").reset_index().melt("x", var_name="curve", value_name="error")
        shown = shown.merge(each, on=["x", "curve"])
        shown["low"] = shown["y"] - 2 * shown["error"].fillna(0)
        shown["high"] = shown["y"] + 2 * shown["error"].fillna(0)
        if log_y:
            shown["low"] = shown["low"].clip(lower=shown["y"] / 10)
        columns += ["low", "high"]
    curves = in_order(shown["curve"])
    pick = alt.selection_point(name="pick", fields=["curve"], bind="legend")
    color = ordered_color("curve", curves, None) if ordered else method_color("curve", curves)
    base = alt.Chart(compact(shown[columns])).encode(
        x=number_axis("x", x_title, log_x, zero=False, channel=alt.X),
        y=number_axis("y", y_title, log_y, zero=zero, channel=alt.Y),
        color=color.legend(columns=max(1, 80 // (6 + max(map(len, curves))))),
        opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12)),
    )
    # Points in a layer of their own: JupyterLab's Vega-Lite cannot have a line's own points picked.
    marks = [
        base.mark_line(strokeWidth=2).add_params(pick),
        base.mark_point(filled=True, size=16, tooltip=True),
    ]
    if errors is not None:
        low = number_axis("low", y_title, log_y, zero=zero, channel=alt.Y)
        marks.append(base.mark_rule().encode(y=low, y2="high:Q"))
    layers = marks if reference is None else [reference_rule(reference), *marks]
    ends = "; ".join(
        f"{name}: {rows['y'].iloc[0]:.3g} at {rows['x'].iloc[0]:.3g}, "
        f"{rows['y'].iloc[-1]:.3g} at {rows['x'].iloc[-1]:.3g}"
        for name, rows in shown.groupby("curve", sort=False)
    )
    return alt.layer(*layers).properties(
        width=WIDTH - 60,
        height=260,
        description=f"Lines of {y_title} against {x_title}. {ends}.",
    )


def points(
    frame: pd.DataFrame,
    x_title: str,
    y_title: str,
    *,
    log_y: bool = False,
    reference: float | None = None,
) -> Chart:
    """Two quantities against each other, a point with its errors for each setting.

    Parameters
    ----------
    frame : DataFrame
        x and y, positive where their axis is logarithmic; x_error and y_error, standard errors
        (NaN: none is drawn); case (text), which colors the point; and label (text, may be empty),
        which stands above it to the right for the first case, else below it to the left.
    x_title, y_title : str
        What the quantities are, with units.
    log_y : bool
        Whether the y axis is logarithmic.
    reference : float, optional
        A value of y to draw as a dotted rule.

    Returns
    -------
    altair chart
        Lines reach two standard errors to each side, and a point of one case stands for each
        setting. A click in the legend leaves one case.
    """
    cases = in_order(frame["case"])
    ends = {f"{of}_{end}": frame[of] + sign * frame[f"{of}_error"].fillna(0)
            for of in "xy" for end, sign in (("low", -2), ("high", 2))}  # fmt: skip
    data = frame[["x", "y", "case", "label"]].assign(**ends)
    if log_y:  # what reaches below zero ends at a tenth of the value
        data["y_low"] = data["y_low"].clip(lower=data["y"] / 10)
    pick = alt.selection_point(name="pick", fields=["case"], bind="legend")
    room = alt.Scale(zero=False, padding=40)  # for labels beside the first points
    base = alt.Chart(compact(data)).encode(
        x=alt.X("x:Q", title=x_title, scale=room),
        y=number_axis("y", y_title, log_y, zero=False, channel=alt.Y),
        color=method_color("case", cases),
        opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12)),
    )
    marks = [
        base.mark_rule().encode(x=alt.X("x_low:Q", title=x_title, scale=room), x2="x_high:Q"),
        base.mark_rule().encode(
            y=number_axis("y_low", y_title, log_y, zero=False, channel=alt.Y), y2="y_high:Q"
        ),
        base.mark_point(filled=True, size=50, tooltip=True).add_params(pick),
        base.transform_filter(alt.datum.case == cases[0])
        .mark_text(align="left", dx=5, dy=-7)
        .encode(text="label:N"),
        base.transform_filter(alt.datum.case != cases[0])
        .mark_text(align="right", dx=-5, dy=12)
        .encode(text="label:N"),
    ]
    layers = marks if reference is None else [reference_rule(reference), *marks]
    told = "; ".join(
        f"{row.case} {row.label}: {row.y:.3g} at {row.x:.3g}" for row in data.itertuples()
    )
    return alt.layer(*layers).properties(
        width=WIDTH - 60,
        height=300,
        description=f"Points of {y_title} against {x_title}. {told}.",
    )


def agreement(frame: pd.DataFrame, x_title: str, y_title: str) -> Chart:
    """Two estimates of the same risks against each other, on logarithmic scales.

    Parameters
    ----------
    frame : DataFrame
        x and y, positive: probabilities of the same combinations by two runs or estimators.
    x_title, y_title : str
        What they are.

    Returns
    -------
    altair chart
        Squares colored by the number of combinations in them, and the line of equality.

    Raises
    ------
    ValueError
        If a probability is not positive and finite.
    """
    points = frame[["x", "y"]].to_numpy(dtype=float)
    if not (np.isfinite(points) & (points > 0)).all():
        raise ValueError("frame has probabilities that are not positive; their logs do not exist")
    log = np.log10(points)
    low, high = log.min() - 0.02, log.max() + 0.02
    n_bins, side = 50, 420
    count, edges, _ = np.histogram2d(
        log[:, 0], log[:, 1], bins=n_bins, range=[[low, high], [low, high]]
    )
    middle = 10 ** ((edges[:-1] + edges[1:]) / 2)
    i, j = np.nonzero(count)
    squares = pd.DataFrame({"x": middle[i], "y": middle[j], "combinations": count[i, j]})
    ends = [significant(10**low), significant(10**high)]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    axis = alt.Axis(tickCount=6, format="~g", labelOverlap=True)
    marks = (
        alt.Chart(compact(squares))
        .mark_square(size=(side / n_bins) ** 2, opacity=1, tooltip=True)
        .encode(
            x=alt.X("x:Q", title=x_title, scale=scale, axis=axis),
            y=alt.Y("y:Q", title=y_title, scale=scale, axis=axis),
            color=alt.Color(
                "combinations:Q",
                title="Combinations",
                # From a mid blue: a square with a single combination has to show on white.
                scale=alt.Scale(
                    type="log", domain=[1, max(count.max(), 10)], range=["#9ECAE1", "#08306B"]
                ),
                legend=alt.Legend(tickCount=4, format="~s", gradientLength=160),
            ),
        )
    )
    line = (
        alt.Chart(pd.DataFrame({"x": ends, "y": ends}))
        .mark_line(color=INK, strokeWidth=1)
        .encode(x="x:Q", y="y:Q")
    )
    difference = np.abs(np.log(points[:, 0] / points[:, 1]))
    correlation = (
        f" and their correlation {np.corrcoef(log.T)[0, 1]:.2f}"
        if np.ptp(log, axis=0).all()
        else ""
    )
    return alt.layer(marks, line).properties(
        width=side,
        height=side,
        description=(
            f"Scatter of {len(points)} combinations, {y_title} against {x_title}, on logarithmic "
            f"scales with the line of equality. The median absolute difference of the natural "
            f"logarithms is {np.median(difference):.2f}{correlation}."
        ),
    )


def against_baseline(frame: pd.DataFrame, title: str, percent: bool = True) -> Chart:
    """Numbers with their errors beside what each would be without what it is to show.

    Parameters
    ----------
    frame : DataFrame
        panel, label, mean, se and baseline; labels appear in the order of the rows. Rows without
        a mean are left out; se and baseline may be NaN.
    title : str
        Title of the axis that all panels share.
    percent : bool
        Whether the numbers are shares, and the axis in percent.

    Returns
    -------
    altair chart
        One panel for each panel, a line a label: the mean as a point, two standard errors to
        both sides as a line, and the baseline as a dark tick.
    """
    data = frame[frame["mean"].notna()].assign(
        label=short(frame.loc[frame["mean"].notna(), "label"]),
        low=frame["mean"] - 2 * frame["se"],
        high=frame["mean"] + 2 * frame["se"],
    )
    data["high"] = data["high"].clip(upper=1) if percent else data["high"]
    names, labels = in_order(data["panel"]), in_order(data["label"])
    ends = [significant(value) for value in (data[["low", "mean", "baseline"]].min().min(), 0)]
    top = significant(data[["high", "mean", "baseline"]].max().max() * 1.02)
    scale = alt.Scale(domain=[min(ends), min(top, 1.0) if percent else top], nice=not percent)

    def panel(name: str, rows: pd.DataFrame, last: bool) -> Chart:
        base = alt.Chart(compact(rows.drop(columns=["panel", "se"]))).encode(
            y=alt.Y("label:N", sort=labels, title=None)
        )
        x = alt.X(
            "mean:Q",
            title=title if last else None,
            scale=scale,
            axis=alt.Axis(format="%" if percent else "g", tickCount=8),
        )
        spread = base.transform_filter("isValid(datum.low)")
        known = base.transform_filter("isValid(datum.baseline)")
        color = colors(names)[name]
        layers = [
            known.mark_tick(color=INK, thickness=2, size=14).encode(x="baseline:Q"),
            spread.mark_rule(color=color, strokeWidth=2).encode(x="low:Q", x2="high:Q"),
            base.mark_point(filled=True, size=60, opacity=1, color=color, tooltip=True).encode(x=x),
        ]
        heading = {"title": in_words(name)} if len(names) > 1 else {}
        return alt.layer(*layers).properties(
            width=width_beside(labels), height=22 * rows["label"].nunique(), **heading
        )

    over = (data["mean"] - data["baseline"]).groupby(data["panel"], sort=False)
    sentences = [
        f"{in_words(name)}: {(gap > 0).sum()} of {gap.notna().sum()} above their baselines."
        for name, gap in over
    ]
    return panels(data, "panel", panel).properties(
        description=(
            f"Points with error bars, {title}, each with a tick for its baseline, of "
            f"{len(labels)} quantities. {' '.join(sentences)}"
        )
    )


def joint_distribution(frame: pd.DataFrame, variable_a: str, variable_b: str) -> Chart:
    """Proportions of the combinations of two variables, one bar a source (Figures 1 and 2).

    Parameters
    ----------
    frame : DataFrame
        level_a, level_b, source, proportion, se, as `inference.compare_joint` returns; levels
        appear in the order of the rows.
    variable_a, variable_b : str
        Names of the variables.

    Returns
    -------
    altair chart
        A panel for each level of a; whiskers are 95 % intervals.
    """
    data = frame.assign(
        panel=[f"{variable_a}: {level}" for level in short(frame["level_a"])],
        level_b=short(frame["level_b"]),
        low=(frame["proportion"] - 1.96 * frame["se"]).clip(lower=0),
        high=frame["proportion"] + 1.96 * frame["se"],
    )
    sources = in_order(frame["source"])
    levels_a, levels_b = in_order(data["panel"]), in_order(data["level_b"])
    base = alt.Chart().encode(
        y=alt.Y("level_b:N", sort=levels_b, title=None),
        yOffset=alt.YOffset("source:N", sort=sources),
    )
    bars = base.mark_bar(tooltip=True).encode(
        x=alt.X(
            "proportion:Q",
            title=f"Share of records by {variable_b}, with 95 % interval",
            axis=alt.Axis(format="%"),
        ),
        color=method_color("source", sources),
    )
    whiskers = base.mark_rule(strokeWidth=1, color=INK).encode(x="low:Q", x2="high:Q")
    # A band holds at least one line of text.
    band = max(11 * len(sources) if len(levels_a) * len(levels_b) <= 48 else 0, 16)
    chart = (
        alt.layer(bars, whiskers, data=compact(data.drop(columns=["level_a", "se"])))
        .properties(width=width_beside(levels_b), height=band * len(levels_b))
        .facet(
            alt.Facet(
                "panel:N",
                sort=levels_a,
                title=None,
                header=alt.Header(labelAnchor="start"),
            ),
            columns=1,
        )
    )
    wide = frame.pivot_table(
        index=["level_a", "level_b"], columns="source", values="proportion", sort=False
    )
    gap = float((wide.max(axis=1) - wide.min(axis=1)).max())
    return chart.properties(
        description=(
            f"Bars of the share of records in each combination of {variable_a} "
            f"({len(levels_a)} levels) and {variable_b} ({len(levels_b)} levels), for "
            f"{listing(sources)} data. The largest difference between them in one combination is "
            f"{100 * gap:.1f} percentage points."
        )
    )


def coefficients(frame: pd.DataFrame, printed: pd.DataFrame | None = None) -> Chart:
    """Coefficients of one regression on the original and on the synthetic data (Table 2).

    Parameters
    ----------
    frame : DataFrame
        term, original, original_low, original_high, synthetic, low, high, as
        `inference.coefficients` returns.
    printed : DataFrame, optional
        term, source (``"original"`` or ``"synthetic"``) and value: the estimates that the paper
        prints, drawn as dashed rules.

    Returns
    -------
    altair chart
        Estimates as points, confidence intervals as lines. Intervals with t quantiles may be of
        any length; what reaches beyond the original data's intervals by more than their range is
        cut at the edge of the plot.
    """
    terms, sources = short(frame["term"]), ["original", "synthetic"]
    names = {"original": ("original_low", "original_high"), "synthetic": ("low", "high")}
    data = pd.concat(
        pd.DataFrame(
            {
                "term": terms,
                "source": source,
                "estimate": frame[source],
                "low": frame[low],
                "high": frame[high],
            }
        )
        for source, (low, high) in names.items()
    )
    left, right = frame["original_low"].min(), frame["original_high"].max()
    reach = right - left
    data["low"] = data["low"].clip(lower=left - reach)
    data["high"] = data["high"].clip(upper=right + reach)
    drawn = [data["low"], data["high"], *([printed["value"]] if printed is not None else [])]
    domain = [significant(min(map(min, drawn))), significant(max(map(max, drawn)))]
    base = alt.Chart(compact(data)).encode(
        y=alt.Y("term:N", sort=terms, title=None),
        yOffset=alt.YOffset("source:N", sort=sources),
        color=method_color("source", sources),
    )
    scale = alt.Scale(domain=domain, nice=False)
    x = alt.X("estimate:Q", title="Coefficient (log odds), with 95 % interval", scale=scale)
    layers = [
        alt.Chart(pd.DataFrame({"x": [0]})).mark_rule(**REFERENCE).encode(x="x:Q"),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1, tooltip=True).encode(x=x),
    ]
    if printed is not None:
        # Each source's rule lies in its own half of the term's band.
        for source, top in (("original", 0.0), ("synthetic", 0.5)):
            values = printed.loc[printed["source"] == source, ["term", "source", "value"]]
            values = values.assign(
                term=values["term"].map(dict(zip(frame["term"], terms, strict=True)))
            )
            layers.append(
                alt.Chart(compact(values))
                .mark_rule(**PRINTED)
                .encode(
                    x="value:Q",
                    y=alt.Y("term:N", sort=terms, bandPosition=top),
                    y2=alt.Y2("term:N", bandPosition=top + 0.5),
                    color=method_color("source", sources),
                )
            )
    inside = frame["original"].between(frame["low"], frame["high"])
    dashed = " Dashed rules mark the estimates printed in the paper." if printed is not None else ""
    return alt.layer(*layers).properties(
        width=width_beside(terms),
        height=34 * len(terms),
        description=(
            f"Estimates and intervals of {len(terms)} coefficients from the original and the "
            f"synthetic data. The interval from the synthetic data holds the original estimate "
            f"for {inside.sum()} of {len(terms)}.{dashed}"
        ),
    )


def sweep(
    frame: pd.DataFrame,
    x: str,
    y: str,
    color: str,
    *,
    where: Mapping[str, object] | None = None,
    log_x: bool = False,
    log_y: bool = False,
) -> Chart:
    """A result of a sweep against one swept parameter, colored by another.

    Parameters
    ----------
    frame : DataFrame
        As `srlib.runner.sweep.load` returns.
    x, y, color : str
        Columns: a swept number, a result, and what tells the lines apart.
    where : mapping, optional
        Columns and the value that rows must have in them to be drawn.
    log_x, log_y : bool
        Whether an axis is logarithmic.

    Returns
    -------
    altair chart
        The mean over rows that agree in both, such as replicates, and their range as a band.

    Raises
    ------
    ValueError
        If the frame lacks a column, or no row has the values, or x or y are no numbers, or color
        is one of them.
    """
    where = where or {}
    if lacking := [name for name in (x, y, color, *where) if name not in frame]:
        has = ", ".join(map(str, frame.columns))
        raise ValueError(f"a column is {lacking[0]!r}; it must be one of {has}")
    if texts := [name for name in (x, y) if not pd.api.types.is_numeric_dtype(frame[name])]:
        raise ValueError(f"column {texts[0]!r} holds no numbers; only numbers have an axis")
    if len({x, y, color}) < 3:
        raise ValueError(f"x is {x!r}, y {y!r} and color {color!r}; they must be three columns")
    for name, value in where.items():
        if not (frame[name] == value).any():
            raise ValueError(f"no row has {name} = {value!r} beside the other values")
        frame = frame[frame[name] == value]
    grouped = frame.groupby([color, x], sort=True)[y].agg(["mean", "min", "max"]).reset_index()
    grouped = grouped.set_axis(["curve", "x", "y", "low", "high"], axis=1)
    grouped["curve"] = [
        in_words(value) if isinstance(value, str) else f"{in_words(color)} = {value}"
        for value in grouped["curve"]
    ]
    curves = in_order(grouped["curve"])
    base = alt.Chart(compact(grouped)).encode(
        x=number_axis("x", in_words(x), log_x, zero=False, channel=alt.X),
        color=ordered_color("curve", curves, None).legend(
            columns=max(1, 80 // (6 + max(map(len, curves)))), symbolOpacity=1
        ),
    )
    low, mean = (
        number_axis(of, in_words(y), log_y, zero=False, channel=alt.Y) for of in ("low", "y")
    )
    band = base.mark_area(opacity=0.2).encode(y=low, y2="high:Q")
    lines = base.mark_line(point=alt.OverlayMarkDef(size=20), tooltip=True).encode(y=mean)
    ends = "; ".join(
        f"{name}: {rows['y'].iloc[0]:.3g} to {rows['y'].iloc[-1]:.3g}"
        for name, rows in grouped.groupby("curve", sort=False)
    )
    return alt.layer(lines, band).properties(
        width=WIDTH - 60,
        height=280,
        description=f"Lines of {in_words(y)} against {in_words(x)} over a sweep. {ends}.",
    )
