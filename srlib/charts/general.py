"""Figures of any subject: lines, baselines, agreement, comparisons with the original, sweeps."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from srlib.charts.style import (
    WIDTH,
    Chart,
    colors,
    compact,
    course,
    in_order,
    in_rows,
    in_words,
    listing,
    method_color,
    number_axis,
    ordered_color,
    panels,
    pixels,
    plain,
    reference_rule,
    short,
    significant,
    spread,
    told,
    tooltip,
    width_beside,
    wrapped,
)

_LETTER, _LINE = 6.6, 14.0  # pixels of a letter and of a line of text
_ACROSS = {False: 7, True: 4}  # numbers along an axis of x
_DASHES = ([1, 0], [7, 5], [2, 4], [7, 3, 2, 3])


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
        Hovering shows a point's values. Names stand at the ends of the lines, where there is room
        for them, else in a legend; a click on one leaves its curve. A curve that lies on another
        for a third of its length is dashed, and one of two points among many is not joined.
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
    shown = compact(shown[columns])
    reach = shown.filter(["y", "low", "high"]).to_numpy().ravel().tolist()
    reach += [] if reference is None else [reference]
    x = number_axis("x", x_title, shown["x"], log_x, alt.X, tight=True, most=_ACROSS[log_x])
    y = number_axis("y", y_title, reach, log_y, alt.Y, zero=zero)
    return _drawn(
        shown,
        x,
        y,
        log_y=log_y,
        ordered=ordered,
        reference=reference,
        said=[plain(x_title), plain(y_title)],
        description=f"Lines of {plain(y_title)} against {plain(x_title)}.",
    )


def _drawn(
    shown: pd.DataFrame,
    x: alt.X,
    y: alt.Y,
    *,
    log_y: bool,
    ordered: bool,
    reference: float | None,
    said: Sequence[str],
    description: str,
    band: bool = False,
) -> Chart:
    """Draw curves, x, y and curve, with their names beside them, and say how they run."""
    height = 260
    curves, domain = in_order(shown["curve"]), y["scale"]["domain"]
    at = height - pixels(shown["y"], domain, height, log=log_y)
    names, room = _names(shown.assign(pixel=at), height)
    dashes = _dashes(shown.assign(pixel=at))
    pick = alt.selection_point(
        name="pick", fields=["curve"], bind=alt.Undefined if names is not None else "legend"
    )
    color = ordered_color("curve", curves, None) if ordered else method_color("curve", curves)
    many = len(curves) > 1
    beside = names is None and many
    color = (
        color.legend(columns=in_rows(curves), symbolType="stroke") if beside else color.legend(None)
    )
    opacity = alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12)) if many else alt.value(1)
    base = alt.Chart(shown).encode(x=x, y=y, color=color, opacity=opacity)
    longest = shown.groupby("curve")["x"].transform("size")
    single = in_order(shown.loc[(longest <= 2) & (longest.max() > 4), "curve"])
    line = base.transform_filter(~alt.FieldOneOfPredicate("curve", single)) if single else base
    if dashes:
        line = line.encode(
            strokeDash=alt.StrokeDash(
                "curve:N",
                legend=None,
                scale=alt.Scale(domain=curves, range=[_DASHES[dashes.get(c, 0)] for c in curves]),
            )
        )
    line = line.mark_line(strokeWidth=2)
    # Points in a layer of their own: JupyterLab's Vega-Lite cannot have a line's own points picked.
    told_there = tooltip("curve", x=said[0], y=said[1])
    small = 16 if len(shown) <= 40 * len(curves) else 4
    marks: list[Any] = [
        line.add_params(pick) if beside else line,
        base.mark_point(filled=True, size=small).encode(tooltip=told_there),
    ]
    if single:
        marks.append(
            base.transform_filter(alt.FieldOneOfPredicate("curve", single)).mark_point(
                filled=True, size=50
            )
        )
    if "low" in shown and band:
        marks.insert(
            0, base.mark_area(opacity=0.2).encode(y="low:Q", y2="high:Q", opacity=alt.value(0.2))
        )
    elif "low" in shown:
        marks.append(base.mark_rule().encode(y="low:Q", y2="high:Q"))
    if names is not None:
        to = alt.Chart(names)
        early = to.transform_filter(alt.datum.x < float(shown["x"].max()))
        marks += [
            early.mark_rule(strokeWidth=1, strokeDash=[1, 4]).encode(
                x="x:Q", x2=alt.value("width"), y=alt.Y("end:Q", scale=None, axis=None), color=color
            ),
            to.mark_rule(strokeWidth=1.5).encode(
                x=alt.value("width"), x2=alt.value({"expr": "width + 11"}), color=color,
                y=alt.Y("end:Q", scale=None, axis=None), y2="label:Q",
            ),
            to.mark_text(
                aria=True, align="left", baseline="middle", dx=15, lineBreak="\n", lineHeight=_LINE
            )
            .encode(
                x=alt.value("width"),
                y=alt.Y("first:Q", scale=None, axis=None),
                text="text:N",
                opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.4)),
            )
            .add_params(pick)
            .properties(name="labels"),
        ]  # fmt: skip
    layers = marks if reference is None else [reference_rule(reference), *marks]
    courses = "; ".join(
        f"{name}: {course(rows['x'], rows['y'])}"
        for name, rows in shown.groupby("curve", sort=False)
    )
    dotted = "" if reference is None else f" A dotted rule marks {told(reference)}."
    return alt.layer(*layers).properties(
        width=WIDTH - room, height=height, description=f"{description} {courses}.{dotted}"
    )


def _names(shown: pd.DataFrame, height: float) -> tuple[pd.DataFrame | None, float]:
    """Place the names of curves beside their ends: nothing where there is one, or no room.

    Returns
    -------
    names : DataFrame, optional
        curve, text, x of the end, and the pixels from the top of end, label and its first line.
    room : float
        Pixels that the names take.
    """
    ends = shown.sort_values("x", kind="stable").groupby("curve", sort=False)[["x", "pixel"]].last()
    texts = {name: wrapped(str(name), 20) for name in in_order(shown["curve"])}
    lines = [text if isinstance(text, list) else [text] for text in texts.values()]
    heights = [_LINE * len(each) + 2 for each in lines]
    if len(texts) < 2:
        return None, 20
    if sum(heights) > height + 20 or max(len(each) for each in lines) > 3:
        return None, 40
    end = ends["pixel"][list(texts)].tolist()
    names = pd.DataFrame({"curve": list(texts), "text": ["\n".join(each) for each in lines]})
    names["x"] = ends["x"][list(texts)].to_numpy()
    names["end"] = np.round(end, 1)
    # Curves that end at one place are named in the order in which they lie elsewhere.
    wanted = ends["pixel"] + 1e-3 * shown.groupby("curve", sort=False)["pixel"].mean()
    names["label"] = np.round(spread(wanted[list(texts)].tolist(), heights, -10, height + 10), 1)
    # Vega centers the first of several lines.
    names["first"] = names["label"] - [(len(each) - 1) * _LINE / 2 for each in lines]
    longest = max(len(line) for each in lines for line in each)
    return names, 20 + _LETTER * longest


def _dashes(shown: pd.DataFrame) -> dict[str, int]:
    """Return a pattern for each curve that lies on earlier ones, so that both are seen."""
    wide = shown.pivot_table(index="x", columns="curve", values="pixel", sort=False)
    found: dict[str, int] = {}
    for j, name in enumerate(wide):
        apart = wide.iloc[:, :j].sub(wide[name], axis=0).abs()
        alike = [other for other in apart if (apart[other] < 2).sum() > apart[other].count() / 3]
        if alike:
            found[name] = min(len(_DASHES) - 1, 1 + max(found.get(other, 0) for other in alike))
    return found


def points(
    frame: pd.DataFrame,
    x_title: str,
    y_title: str,
    *,
    log_y: bool = False,
    reference: float | None = None,
    highest: float = np.inf,
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
    highest : float
        The largest y that there can be, such as 1: no line reaches beyond it.

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
    data["y_high"] = data["y_high"].clip(upper=highest)
    pick = alt.selection_point(name="pick", fields=["case"], bind="legend")
    reach = data[["y", "y_low", "y_high"]].to_numpy().ravel().tolist()
    reach += [] if reference is None else [reference]
    x = number_axis("x", x_title, data[["x_low", "x_high"]].to_numpy().ravel(), False, alt.X)
    x["scale"]["padding"] = 25  # for labels beside the first points
    y = number_axis("y", y_title, reach, log_y, alt.Y)
    y["axis"]["titleY"] = -22  # above the labels of the highest points
    base = alt.Chart(compact(data)).encode(
        x=x,
        y=y,
        color=method_color("case", cases).legend(offset=44),
        opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12)),
    )
    marks = [
        base.mark_rule().encode(x=alt.X("x_low:Q"), x2="x_high:Q"),
        base.mark_rule().encode(y=alt.Y("y_low:Q"), y2="y_high:Q"),
        base.mark_point(filled=True, size=50)
        .encode(tooltip=tooltip("case", label=("setting", ""), x=plain(x_title), y=plain(y_title)))
        .add_params(pick),
        base.transform_filter(alt.datum.case == cases[0])
        .mark_text(align="left", dx=5, dy=-7, style="ink")
        .encode(text="label:N", color=alt.Undefined),
        base.transform_filter(alt.datum.case != cases[0])
        .mark_text(align="right", dx=-5, dy=12, style="ink")
        .encode(text="label:N", color=alt.Undefined),
    ]
    layers = marks if reference is None else [reference_rule(reference), *marks]
    every = "; ".join(
        f"{row.case} {row.label}: {told(row.y)} at {told(row.x)}" for row in data.itertuples()
    )
    least, most = (data.loc[at] for at in (data["y"].idxmin(), data["y"].idxmax()))
    return alt.layer(*layers).properties(
        width=WIDTH - 20,
        height=300,
        usermeta={"scales": True},
        description=(
            f"Points of {plain(y_title)} against {plain(x_title)}. The minimum is "
            f"{told(least.y)} at {told(least.x)}, the maximum {told(most.y)} at "
            f"{told(most.x)}. {every}."
        ),
    )


def agreement(frame: pd.DataFrame, x_title: str, y_title: str) -> Chart:
    """Two estimates of the same risks against each other, on logarithmic scales.

    Parameters
    ----------
    frame : DataFrame
        x and y, positive: probabilities of the same combinations by two runs or estimators. With a
        column panel (text) there is a panel for each, all on one scale.
    x_title, y_title : str
        What they are.

    Returns
    -------
    altair chart
        Squares colored by the number of combinations in them, the line of equality, and the
        correlation of the logarithms.

    Raises
    ------
    ValueError
        If a probability is not positive and finite.
    """
    points = frame[["x", "y"]].to_numpy(dtype=float)
    if not (np.isfinite(points) & (points > 0)).all():
        raise ValueError("frame has probabilities that are not positive; their logs do not exist")
    frame = frame.assign(panel=frame.get("panel", ""))
    names = in_order(frame["panel"])
    side, columns = (360, 1) if len(names) == 1 else (250, 2)
    n_bins = 50 if len(names) == 1 else 40
    low, high = np.log10(points.min()) - 0.02, np.log10(points.max()) + 0.02
    edges = np.linspace(low, high, n_bins + 1)
    counts = {
        name: np.histogram2d(np.log10(rows["x"]), np.log10(rows["y"]), bins=[edges, edges])[0]
        for name, rows in frame.groupby("panel", sort=False)
    }
    middle = 10 ** ((edges[:-1] + edges[1:]) / 2)
    ends, most = (
        [significant(10**low), significant(10**high)],
        max(c.max() for c in counts.values()),
    )
    x, y = (
        number_axis(of, title, ends, True, channel, tight=True)
        for of, title, channel in (("x", x_title, alt.X), ("y", y_title, alt.Y))
    )
    # Both ends are seen on white and on black.
    shade = alt.Scale(
        type="log", domain=[1, max(most, 10)], range=["#3B8FD0", "#7D5BC4", "#C2366B"]
    )
    legend = alt.Legend(tickCount=4, format="~s", gradientLength=160, symbolOpacity=1)
    line = alt.Chart(pd.DataFrame({"x": ends, "y": ends})).mark_line(style="ink", strokeWidth=1)
    sentences = []

    def panel(name: str, rows: pd.DataFrame, last: bool) -> Chart:
        i, j = np.nonzero(counts[name])
        squares = pd.DataFrame({"x": middle[i], "y": middle[j], "combinations": counts[name][i, j]})
        marks = (
            alt.Chart(compact(squares))
            .mark_square(size=(side / n_bins) ** 2, opacity=1)
            .encode(
                x=x,
                y=y,
                color=alt.Color("combinations:Q", title="Combinations", scale=shade, legend=legend),
                tooltip=[
                    alt.Tooltip("combinations:Q", title="combinations", format=",d"),
                    alt.Tooltip("x:Q", title=x_title, format=",.2~r"),
                    alt.Tooltip("y:Q", title=y_title, format=",.2~r"),
                ],
            )
        )
        log = np.log(rows[["x", "y"]].to_numpy(dtype=float))
        off = np.median(np.abs(log[:, 0] - log[:, 1]))
        r = np.corrcoef(log.T)[0, 1] if np.ptp(log, axis=0).all() else np.nan
        layers = [marks, line.encode(x="x:Q", y="y:Q")]
        sentences.append(
            f"{in_words(name)}{': ' if name else ''}{len(rows)} combinations; the median absolute "
            f"difference of the natural logarithms is {off:.2f}"
            + ("" if np.isnan(r) else f" and their correlation {r:.2f}")
            + f"; x has its minimum at {told(rows['x'].min())} and its maximum at "
            f"{told(rows['x'].max())}, y at {told(rows['y'].min())} and {told(rows['y'].max())}."
        )
        if np.isfinite(r):
            text = alt.Chart(pd.DataFrame({"r": [f"r = {r:.2f}".replace("-", "−")]}))
            layers.append(
                text.mark_text(align="left", baseline="top", fontSize=15, fontWeight="bold").encode(
                    x=alt.value(8), y=alt.value(8), text="r:N"
                )
            )
        heading = {"title": in_words(name)} if name else {}
        return alt.layer(*layers).properties(width=side, height=side, **heading)

    return panels(frame, "panel", panel, columns).properties(
        description=(
            f"Scatter of {y_title} against {x_title}, on logarithmic scales with the line of "
            f"equality. {' '.join(sentences)}"
        )
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
        both sides as a line, and the baseline as a tick in ink.
    """
    data = frame[frame["mean"].notna()].reset_index(drop=True)
    data = data.assign(
        label=short(data["label"]),
        low=data["mean"] - 2 * data["se"],
        high=data["mean"] + 2 * data["se"],
    )
    data["high"] = data["high"].clip(upper=1) if percent else data["high"]
    names, labels = in_order(data["panel"]), in_order(data["label"])
    reach = data[["low", "high", "mean", "baseline"]].to_numpy().ravel()
    x = number_axis("mean", title, reach, False, alt.X, zero=True)
    x["axis"]["format"] = "%" if percent else ",.6~g"
    form = ".1%" if percent else ",.4~r"
    said = {"mean": ("value", form), "low": ("from", form), "high": ("to", form)}
    said["baseline"] = ("baseline", form)

    def panel(name: str, rows: pd.DataFrame, last: bool) -> Chart:
        base = alt.Chart(compact(rows.drop(columns=["panel", "se"]))).encode(
            y=alt.Y("label:N", sort=labels, title=None)
        )
        errors = base.transform_filter("isValid(datum.low)")
        known = base.transform_filter("isValid(datum.baseline)")
        color = colors(names)[name]
        layers = [
            known.mark_tick(style="ink", thickness=2, size=14).encode(x="baseline:Q"),
            errors.mark_rule(color=color, strokeWidth=2).encode(x="low:Q", x2="high:Q"),
            base.mark_point(filled=True, size=60, opacity=1, color=color).encode(
                x=x if last else x.title(None), tooltip=tooltip("label", **said)
            ),
        ]
        heading = {"title": in_words(name)} if len(names) > 1 else {}
        return alt.layer(*layers).properties(
            width=width_beside(labels), height=22 * rows["label"].nunique(), **heading
        )

    def told_of(row: pd.Series) -> str:
        return (
            f"{row['label']}, {told(100 * row['mean'])} %"
            if percent
            else (f"{row['label']}, {told(row['mean'])}")
        )

    over = (data["mean"] - data["baseline"]).groupby(data["panel"], sort=False)
    sentences = [
        f"{in_words(name)}: {(gap > 0).sum()} of {gap.notna().sum()} above their baselines; "
        f"minimum {told_of(data.loc[data.loc[gap.index, 'mean'].idxmin()])}, "
        f"maximum {told_of(data.loc[data.loc[gap.index, 'mean'].idxmax()])}."
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
    bars = base.mark_bar().encode(
        tooltip=tooltip(
            "level_b",
            source=("data", ""),
            proportion=("share", ".1%"),
            low=("from", ".1%"),
            high=("to", ".1%"),
        ),
        x=alt.X(
            "proportion:Q",
            title=wrapped(f"Share of records by {variable_b}, with 95 % interval"),
            axis=alt.Axis(format="%", tickCount=6),
        ),
        color=method_color("source", sources).legend(offset=12),
    )
    whiskers = base.mark_rule(strokeWidth=1, style="ink").encode(x="low:Q", x2="high:Q")
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
    first = wide[sources[0]]
    least, most = (
        f"{100 * first[at]:.1f} % for {at[0]} and {at[1]}"
        for at in (first.idxmin(), first.idxmax())
    )
    return chart.properties(
        description=(
            f"Bars of the share of records in each combination of {variable_a} "
            f"({len(levels_a)} levels) and {variable_b} ({len(levels_b)} levels), for "
            f"{listing(sources)} data. In the {sources[0]} data the minimum is {least}, the "
            f"maximum {most}. The largest difference between them in one combination is "
            f"{100 * gap:.1f} percentage points."
        )
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
    x_title: str = "",
    y_title: str = "",
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
    x_title, y_title : str
        What x and y are, with units; the columns' names where empty.

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
    where, x_title, y_title = where or {}, x_title or in_words(x), y_title or in_words(y)
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
    grouped = compact(grouped)
    reach = grouped[["low", "high"]].to_numpy().ravel()
    return _drawn(
        grouped,
        number_axis("x", x_title, grouped["x"], log_x, alt.X, tight=True, most=_ACROSS[log_x]),
        number_axis("y", y_title, reach, log_y, alt.Y),
        log_y=log_y,
        ordered=True,
        reference=None,
        said=[x_title, y_title],
        description=f"Lines of {y_title} against {x_title} over a sweep.",
        band=True,
    )
