"""Figures: a theme, a renderer and one function for each kind of figure.

DataFrames in, altair charts out. Importing the module enables the theme and the renderer, whose
output JupyterLab draws interactively and every other reader shows as the SVG beside it.

Every chart carries a description for readers who cannot see it, its numbers have four
significant digits, and what has many records is counted before it is drawn, so that a chart
stays small. Charts are at most 640 px wide.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from scipy import stats

# The palette of Okabe and Ito, which survives the common colour deficiencies. A method has the
# same colour in every figure of every notebook.
COLOURS = {
    "original": "#0072B2",
    "synthetic": "#D55E00",
    "importance_sampling": "#CC79A7",
    "predictive_ratio": "#009E73",
}
OTHER_COLOURS = ("#56B4E9", "#E69F00", "#7A5195", "#5C5C5C", "#8C564B", "#BCBD22")
TRUTH, NEUTRAL, INK = "#D55E00", "#9AA5B1", "#222222"
# A printed value is this rule everywhere; a prior or what chance alone would give is dotted.
PRINTED: dict[str, Any] = {"strokeDash": [4, 3], "strokeWidth": 2}
REFERENCE: dict[str, Any] = {"strokeDash": [1, 3], "strokeWidth": 2, "color": INK}

MIME_TYPE = "application/vnd.vegalite.v5+json"
# JupyterLab 4 draws with Vega-Lite 5; altair 6 writes version 6 but nothing that 5 lacks here.
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
VEGA_LITE = "5.8"

_WIDTH, _LABEL_LIMIT, _TRACE_POINTS = 560, 240, 2400
_IDENTIFIER = re.compile(r'(?<=[#"])(?:clip|gradient_)\d+(?=[")])')
Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart


@alt.theme.register("srlib", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    # Every colour of text and lines is stated: JupyterLab's dark theme would make what is not
    # white, on the white ground that makes a figure look the same everywhere.
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 13}
    lines = {"domainColor": "#888888", "tickColor": "#888888", "gridColor": "#E4E7EB"}
    config = {
        "background": "white",
        "font": "Arial, Helvetica, sans-serif",
        "padding": 8,
        "axis": {**text, **lines, "labelLimit": _LABEL_LIMIT, "titleFontWeight": "normal"},
        "legend": {
            **text,
            "orient": "top",
            "labelLimit": _WIDTH,
            "titleLimit": _WIDTH,
            "titleFontWeight": "normal",
        },
        "header": {**text, "labelLimit": _WIDTH, "labelFontSize": 13, "labelFontWeight": "bold"},
        "title": {
            "color": INK,
            "fontSize": 13,
            "anchor": "start",
            "frame": "group",
            "limit": _WIDTH,
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
    """Vega-Lite specification of a chart, data included, as JupyterLab 4 takes it."""
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


alt.renderers.register("srlib", _renderer)
alt.renderers.enable("srlib")


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
        panel=[f"{variable_a}: {level}" for level in _short(frame["level_a"])],
        level_b=_short(frame["level_b"]),
        low=(frame["proportion"] - 1.96 * frame["se"]).clip(lower=0),
        high=frame["proportion"] + 1.96 * frame["se"],
    )
    sources = _in_order(frame["source"])
    levels_a, levels_b = _in_order(data["panel"]), _in_order(data["level_b"])
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
        color=_colour("source", sources),
    )
    whiskers = base.mark_rule(strokeWidth=1, color=INK).encode(x="low:Q", x2="high:Q")
    # A band holds at least one line of text.
    band = max(11 * len(sources) if len(levels_a) * len(levels_b) <= 48 else 0, 16)
    chart = (
        alt.layer(bars, whiskers, data=_compact(data.drop(columns=["level_a", "se"])))
        .properties(width=_width(levels_b), height=band * len(levels_b))
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
            f"{_and(sources)} data. The largest difference between them in one combination is "
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
    terms, sources = _short(frame["term"]), ["original", "synthetic"]
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
    domain = [_significant(min(map(min, drawn))), _significant(max(map(max, drawn)))]
    base = alt.Chart(_compact(data)).encode(
        y=alt.Y("term:N", sort=terms, title=None),
        yOffset=alt.YOffset("source:N", sort=sources),
        color=_colour("source", sources),
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
                alt.Chart(_compact(values))
                .mark_rule(**PRINTED)
                .encode(
                    x="value:Q",
                    y=alt.Y("term:N", sort=terms, bandPosition=top),
                    y2=alt.Y2("term:N", bandPosition=top + 0.5),
                    color=_colour("source", sources),
                )
            )
    inside = frame["original"].between(frame["low"], frame["high"])
    dashed = " Dashed rules mark the estimates printed in the paper." if printed is not None else ""
    return alt.layer(*layers).properties(
        width=_width(terms),
        height=34 * len(terms),
        description=(
            f"Estimates and intervals of {len(terms)} coefficients from the original and the "
            f"synthetic data. The interval from the synthetic data holds the original estimate "
            f"for {inside.sum()} of {len(terms)}.{dashed}"
        ),
    )


def rank_histogram(frame: pd.DataFrame, n_candidates: int) -> Chart:
    """How the true combination ranks among the candidates (Figure 3).

    Parameters
    ----------
    frame : DataFrame
        rank (1 is the most probable; halves where ties share a mean rank) and estimator.
    n_candidates : int
        Candidates in the support.

    Returns
    -------
    altair chart
        A panel for each estimator. The dotted rule is the count of each rank if the data told
        nothing.
    """
    estimators = _in_order(frame["estimator"])
    panels, sentences = [], []
    for estimator, rows in frame.groupby("estimator", sort=False):
        # A mean rank of 2.5 counts as 2.
        rank = np.ceil(rows["rank"] - 0.5).astype(int)
        count = rank.value_counts().reindex(range(1, n_candidates + 1), fill_value=0)
        bars = pd.DataFrame({"rank": count.index, "count": count.to_numpy()})
        last = estimator == estimators[-1]
        drawn = (
            alt.Chart(bars)
            .mark_bar(tooltip=True, color=_colours(estimators)[estimator])
            .encode(
                x=alt.X(
                    "rank:O",
                    title="Rank of the true combination (1: most probable)" if last else None,
                    axis=alt.Axis(labelAngle=0, labelOverlap=True, labelSeparation=6, grid=False),
                ),
                y=alt.Y("count:Q", title="Combinations"),
            )
        )
        panels.append(
            alt.layer(drawn, _reference_y(len(rows) / n_candidates)).properties(
                title=_label(estimator), width=_WIDTH - 60, height=150
            )
        )
        sentences.append(
            f"{_label(estimator)}: rank 1 for {count[1]} of {len(rows)}, ranks 1 to 3 for "
            f"{count.loc[:3].sum()}, median rank {rows['rank'].median():g}."
        )
    return alt.vconcat(*panels).properties(
        description=(
            f"Histogram of the rank of the true combination among {n_candidates} candidates. "
            + " ".join(sentences)
            + f" If the data told nothing, each rank would have 1 in {n_candidates}."
        )
    )


def risk_histogram(frame: pd.DataFrame, prior: float) -> Chart:
    """Posterior probabilities of the true combinations (Figure 4).

    Parameters
    ----------
    frame : DataFrame
        probability and estimator.
    prior : float
        The prior probability, drawn as a dotted rule.

    Returns
    -------
    altair chart
        A panel for each estimator on the same bins; counts on a square-root scale, so that
        single combinations show.
    """
    estimators = _in_order(frame["estimator"])
    edges = np.linspace(0, max(frame["probability"].max(), prior) * 1.0001, 41)
    panels, sentences = [], []
    for estimator, rows in frame.groupby("estimator", sort=False):
        count = np.histogram(rows["probability"], edges)[0]
        bars = pd.DataFrame({"low": edges[:-1], "high": edges[1:], "count": count})
        last = estimator == estimators[-1]
        drawn = (
            alt.Chart(_compact(bars[count > 0]))
            .mark_bar(tooltip=True, binSpacing=0.5, color=_colours(estimators)[estimator])
            .encode(
                x=alt.X(
                    "low:Q",
                    bin="binned",
                    title="Posterior probability of the true combination" if last else None,
                    scale=alt.Scale(domain=[0, _significant(edges[-1])]),
                    axis=alt.Axis(grid=False, tickCount=8),
                ),
                x2="high:Q",
                y=alt.Y(
                    "count:Q",
                    title="Combinations (√ scale)",
                    scale=alt.Scale(type="sqrt"),
                    axis=alt.Axis(values=_square_root_ticks(count.max())),
                ),
            )
        )
        rule = alt.Chart(pd.DataFrame({"prior": [_significant(prior)]}))
        panels.append(
            alt.layer(drawn, rule.mark_rule(**REFERENCE).encode(x="prior:Q")).properties(
                title=_label(estimator), width=_WIDTH - 60, height=150
            )
        )
        sentences.append(
            f"{_label(estimator)}: median {rows['probability'].median():.2g}, largest "
            f"{rows['probability'].max():.2g}."
        )
    return alt.vconcat(*panels).properties(
        description=(
            "Histogram of the posterior probability of the true combination. "
            + " ".join(sentences)
            + f" A dotted rule marks the prior probability, {prior:.2g}."
        )
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
        Squares coloured by the number of combinations in them, and the line of equality.

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
    ends = [_significant(10**low), _significant(10**high)]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    axis = alt.Axis(tickCount=6, format="~g", labelOverlap=True)
    marks = (
        alt.Chart(_compact(squares))
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


def importance_weights(frame: pd.DataFrame) -> Chart:
    """The share of the total importance weight that one draw carries.

    Parameters
    ----------
    frame : DataFrame
        As `diagnostics.importance_summary` returns: synthetic_set, draws, ess, largest_share.
        With a column case, such as whether the draws that generated the data are among them,
        there is a panel for each.

    Returns
    -------
    altair chart
        A bar for each synthetic data set, its effective sample size written beside it.
    """
    data = frame.assign(case=frame.get("case", ""))
    data["effective"] = [
        f"{ess:.1f} of {draws} draws effective"
        for ess, draws in zip(data["ess"], data["draws"], strict=True)
    ]
    cases = _in_order(data["case"])
    panels = []
    for case, rows in data.groupby("case", sort=False):
        last = case == cases[-1]
        base = alt.Chart(_compact(rows[["synthetic_set", "largest_share", "effective"]])).encode(
            y=alt.Y("synthetic_set:O", title="Synthetic data set")
        )
        bars = base.mark_bar(tooltip=True, color=COLOURS["importance_sampling"]).encode(
            x=alt.X(
                "largest_share:Q",
                title="Share of the total weight that the draw with most weight carries"
                if last
                else None,
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", tickCount=5),
            )
        )
        text = base.mark_text(align="left", dx=6, baseline="middle").encode(
            x=alt.datum(1), text="effective:N"
        )
        panels.append(
            alt.layer(bars, text).properties(
                title=str(case), width=360, height=max(22 * len(rows), 60)
            )
        )
    share, ess = data["largest_share"], data["ess"]
    return alt.vconcat(*panels).properties(
        description=(
            "Bars of the share of the total importance weight that one draw carries, for "
            f"{len(data)} synthetic data sets: {share.min():.0%} to {share.max():.0%}. The "
            f"effective sample sizes are {ess.min():.1f} to {ess.max():.1f} of "
            f"{data['draws'].max()} draws."
        )
    )


def trace(frame: pd.DataFrame) -> Chart:
    """Draws in the order in which the chains made them.

    Parameters
    ----------
    frame : DataFrame
        chain, draw, value, quantity. Of long chains every k-th draw is shown.

    Returns
    -------
    altair chart
        A panel for each quantity, a line for each chain.
    """
    quantities, chains = _in_order(frame["quantity"]), _in_order(frame["chain"])
    every = math.ceil(len(frame) / _TRACE_POINTS)
    shown = frame[frame["draw"] % every == frame["draw"].min() % every]
    panels = []
    for quantity, rows in shown.groupby("quantity", sort=False):
        last = quantity == quantities[-1]
        panels.append(
            alt.Chart(_compact(rows[["chain", "draw", "value"]]))
            .mark_line(strokeWidth=1, opacity=0.8)
            .encode(
                x=alt.X(
                    "draw:Q",
                    title="Draw" if last else None,
                    scale=alt.Scale(nice=False),
                    axis=alt.Axis(grid=False),
                ),
                y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
                color=_chain_colour(chains),
            )
            .properties(title=_label(quantity), width=_WIDTH - 60, height=110)
        )
    thinned = f" One draw in {every} is shown." if every > 1 else ""
    return alt.vconcat(*panels).properties(
        description=(
            f"Trace of {_and(map(_label, quantities))} in {len(chains)} chains; chains that have "
            f"mixed lie on top of each other.{thinned}"
        )
    )


def rank_plot(frame: pd.DataFrame) -> Chart:
    """Where each chain's draws rank among the draws of all chains.

    Parameters
    ----------
    frame : DataFrame
        chain, draw, value, quantity; all chains of one length.

    Returns
    -------
    altair chart
        A panel for each quantity, a row for each chain: the count in each of 20 equal ranges of
        rank over the count that mixed chains would have. White throughout is ideal (Vehtari and
        others 2021).
    """
    quantities, chains = _in_order(frame["quantity"]), _in_order(frame["chain"])
    n_bins = 20
    panels, farthest = [], 1.0
    for quantity, rows in frame.groupby("quantity", sort=False):
        # Ties of a discrete quantity are shared out over the chains, in the order of the draws.
        rows = rows.sort_values(["draw", "chain"])
        share = (stats.rankdata(rows["value"], method="ordinal") - 0.5) / len(rows)
        counts = pd.crosstab(rows["chain"].to_numpy(), (share * n_bins).astype(int))
        counts = counts.reindex(index=chains, columns=range(n_bins), fill_value=0)
        ratio = counts * n_bins * len(chains) / len(rows)
        farthest = max(farthest, float(ratio.to_numpy().max()))
        cells = ratio.rename_axis(index="chain", columns="bin").stack().rename("ratio")
        data = cells.reset_index()
        data["low"] = data["bin"] * (100 // n_bins)
        data["high"] = data["low"] + 100 // n_bins
        last = quantity == quantities[-1]
        panels.append(
            alt.Chart(_compact(data[["chain", "low", "high", "ratio"]]))
            .mark_rect(tooltip=True, stroke="white", strokeWidth=0.5)
            .encode(
                x=alt.X(
                    "low:Q",
                    bin="binned",
                    title="Rank among the draws of all chains (percent)" if last else None,
                    scale=alt.Scale(domain=[0, 100]),
                    axis=alt.Axis(grid=False),
                ),
                x2="high:Q",
                y=alt.Y("chain:N", sort=[str(c) for c in chains], title="Chain"),
                color=alt.Color(
                    "ratio:Q",
                    title="Draws, relative to chains that have mixed",
                    scale=alt.Scale(
                        domain=[0, 1, 2], range=["#2166AC", "#F7F7F7", "#B2182B"], clamp=True
                    ),
                    legend=alt.Legend(values=[0, 1, 2], gradientLength=160),
                ),
            )
            .properties(title=_label(quantity), width=_WIDTH - 60, height=max(16 * len(chains), 60))
        )
    return alt.vconcat(*panels).properties(
        description=(
            f"Ranks of the draws of {len(chains)} chains among the draws of all, for "
            f"{_and(map(_label, quantities))}. Chains that have mixed fill each twentieth of the "
            f"ranks alike; here the fullest has {farthest:.1f} times its share."
        )
    )


def subset_risk(frame: pd.DataFrame, prior: float) -> Chart:
    """Posterior probability of each value of the unknown variables (equation 16).

    Parameters
    ----------
    frame : DataFrame
        value (text), probability and truth (bool).
    prior : float
        The prior probability, drawn as a dotted rule.

    Returns
    -------
    altair chart
        Bars from the most to the least probable value, the true one in another colour.

    Raises
    ------
    ValueError
        Unless exactly one value is the true one.
    """
    if frame["truth"].sum() != 1:
        raise ValueError(f"frame marks {frame['truth'].sum()} values as the truth; it must be one")
    truth = float(frame.loc[frame["truth"].to_numpy(dtype=bool), "probability"].iloc[0])
    data = frame.sort_values("probability", ascending=False, kind="stable")
    values = _short(data["value"])
    data = data.assign(value=values, which=np.where(data["truth"], "true value", "other value"))
    bars = (
        alt.Chart(_compact(data[["value", "probability", "which"]]))
        .mark_bar(tooltip=True)
        .encode(
            x=alt.X("probability:Q", title="Posterior probability"),
            y=alt.Y("value:N", sort=values, title=None),
            color=alt.Color(
                "which:N",
                title=None,
                scale=alt.Scale(domain=["true value", "other value"], range=[TRUTH, NEUTRAL]),
            ),
        )
    )
    rule = alt.Chart(pd.DataFrame({"prior": [_significant(prior)]}))
    position = int((data["probability"] > truth).sum()) + 1
    return alt.layer(bars, rule.mark_rule(**REFERENCE).encode(x="prior:Q")).properties(
        width=_width(values),
        height=15 * len(values),
        description=(
            f"Bars of the posterior probability of {len(values)} values of the unknown variables. "
            f"The true value has probability {truth:.2g}, number {position} from the top; "
            f"a dotted rule marks the prior probability, {prior:.2g}."
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
        label=_short(frame.loc[frame["mean"].notna(), "label"]),
        low=frame["mean"] - 2 * frame["se"],
        high=frame["mean"] + 2 * frame["se"],
    )
    data["high"] = data["high"].clip(upper=1) if percent else data["high"]
    names, labels = _in_order(data["panel"]), _in_order(data["label"])
    ends = [_significant(value) for value in (data[["low", "mean", "baseline"]].min().min(), 0)]
    top = _significant(data[["high", "mean", "baseline"]].max().max() * 1.02)
    scale = alt.Scale(domain=[min(ends), min(top, 1.0) if percent else top], nice=not percent)
    panels = []
    for name, rows in data.groupby("panel", sort=False):
        last = name == names[-1]
        base = alt.Chart(_compact(rows.drop(columns=["panel", "se"]))).encode(
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
        colour = _colours(names)[name]
        layers = [
            known.mark_tick(color=INK, thickness=2, size=14).encode(x="baseline:Q"),
            spread.mark_rule(color=colour, strokeWidth=2).encode(x="low:Q", x2="high:Q"),
            base.mark_point(filled=True, size=60, opacity=1, color=colour, tooltip=True).encode(
                x=x
            ),
        ]
        heading = {"title": _label(name)} if len(names) > 1 else {}
        panels.append(
            alt.layer(*layers).properties(
                width=_width(labels), height=22 * rows["label"].nunique(), **heading
            )
        )
    over = (data["mean"] - data["baseline"]).groupby(data["panel"], sort=False)
    sentences = [
        f"{_label(name)}: {(gap > 0).sum()} of {gap.notna().sum()} above their baselines."
        for name, gap in over
    ]
    return alt.vconcat(*panels).properties(
        description=(
            f"Points with error bars, {title}, each with a tick for its baseline, of "
            f"{len(labels)} quantities. {' '.join(sentences)}"
        )
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
        Whether the curves have an order, which their colours show from dark to light.

    Returns
    -------
    altair chart
        Hovering shows a point's values; a click in the legend leaves one curve.
    """
    shown = frame.rename_axis("x").reset_index().melt("x", var_name="curve", value_name="y")
    shown = shown[shown["y"].notna() & ((shown["x"] > 0) | (not log_x))]
    shown = shown[(shown["y"] > 0) | (not log_y)]
    curves = _in_order(shown["curve"])
    pick = alt.selection_point(name="pick", fields=["curve"], bind="legend")
    colour = _ordered("curve", curves, None) if ordered else _colour("curve", curves)
    base = alt.Chart(_compact(shown[["x", "y", "curve"]])).encode(
        x=_axis("x", x_title, log_x, zero=False, channel=alt.X),
        y=_axis("y", y_title, log_y, zero=zero, channel=alt.Y),
        color=colour.legend(columns=max(1, 80 // (6 + max(map(len, curves))))),
        opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12)),
    )
    # Points in a layer of their own: JupyterLab's Vega-Lite cannot have a line's own points picked.
    marks = [
        base.mark_line(strokeWidth=2).add_params(pick),
        base.mark_point(filled=True, size=16, tooltip=True),
    ]
    layers = marks if reference is None else [_reference_y(reference), *marks]
    ends = "; ".join(
        f"{name}: {rows['y'].iloc[0]:.3g} at {rows['x'].iloc[0]:.3g}, "
        f"{rows['y'].iloc[-1]:.3g} at {rows['x'].iloc[-1]:.3g}"
        for name, rows in shown.groupby("curve", sort=False)
    )
    return alt.layer(*layers).properties(
        width=_WIDTH - 60,
        height=260,
        description=f"Lines of {y_title} against {x_title}. {ends}.",
    )


def sweep(
    frame: pd.DataFrame,
    x: str,
    y: str,
    colour: str,
    *,
    where: Mapping[str, object] | None = None,
    log_x: bool = False,
    log_y: bool = False,
) -> Chart:
    """A result of a sweep against one swept parameter, coloured by another.

    Parameters
    ----------
    frame : DataFrame
        As `srlib.runner.sweep.load` returns.
    x, y, colour : str
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
        If the frame lacks a column, or no row has the values, or x or y are no numbers, or colour
        is one of them.
    """
    where = where or {}
    if lacking := [name for name in (x, y, colour, *where) if name not in frame]:
        has = ", ".join(map(str, frame.columns))
        raise ValueError(f"a column is {lacking[0]!r}; it must be one of {has}")
    if texts := [name for name in (x, y) if not pd.api.types.is_numeric_dtype(frame[name])]:
        raise ValueError(f"column {texts[0]!r} holds no numbers; only numbers have an axis")
    if len({x, y, colour}) < 3:
        raise ValueError(f"x is {x!r}, y {y!r} and colour {colour!r}; they must be three columns")
    for name, value in where.items():
        if not (frame[name] == value).any():
            raise ValueError(f"no row has {name} = {value!r} beside the other values")
        frame = frame[frame[name] == value]
    grouped = frame.groupby([colour, x], sort=True)[y].agg(["mean", "min", "max"]).reset_index()
    grouped = grouped.set_axis(["curve", "x", "y", "low", "high"], axis=1)
    grouped["curve"] = [
        _label(value) if isinstance(value, str) else f"{_label(colour)} = {value}"
        for value in grouped["curve"]
    ]
    curves = _in_order(grouped["curve"])
    base = alt.Chart(_compact(grouped)).encode(
        x=_axis("x", _label(x), log_x, zero=False, channel=alt.X),
        color=_ordered("curve", curves, None).legend(
            columns=max(1, 80 // (6 + max(map(len, curves)))), symbolOpacity=1
        ),
    )
    low, mean = (_axis(of, _label(y), log_y, zero=False, channel=alt.Y) for of in ("low", "y"))
    band = base.mark_area(opacity=0.2).encode(y=low, y2="high:Q")
    lines = base.mark_line(point=alt.OverlayMarkDef(size=20), tooltip=True).encode(y=mean)
    ends = "; ".join(
        f"{name}: {rows['y'].iloc[0]:.3g} to {rows['y'].iloc[-1]:.3g}"
        for name, rows in grouped.groupby("curve", sort=False)
    )
    return alt.layer(lines, band).properties(
        width=_WIDTH - 60,
        height=280,
        description=f"Lines of {_label(y)} against {_label(x)} over a sweep. {ends}.",
    )


def risk_utility(frame: pd.DataFrame) -> Chart:
    """Risk of pairs of data and release against what the release costs in precision.

    McClure and Reiter (2012), Figures 1 and 2.

    Parameters
    ----------
    frame : DataFrame
        panel (text), epsilon, utility, risk, all_zeros (bool: D has no record with Y = 1).

    Returns
    -------
    altair chart
        A panel below the other on the same scales; circles, and squares where all of D are zeros.
        A click in the legend leaves one epsilon.
    """
    names = ["D has ones", "D is all zeros"]
    data = frame.assign(
        epsilon=[_number(e) for e in frame["epsilon"]],
        data=np.where(frame["all_zeros"], names[1], names[0]),
    )
    epsilons, panels = _in_order(data["epsilon"]), _in_order(data["panel"])
    pick = alt.selection_point(name="pick", fields=["epsilon"], bind="legend")
    spans = [_span(frame["utility"]), _span(frame["risk"])]
    drawn: list[alt.Chart] = []
    sentences = []
    for panel, rows in data.groupby("panel", sort=False):
        points = (
            alt.Chart(_compact(rows[["utility", "risk", "epsilon", "data"]]))
            .mark_point(size=55, strokeWidth=1.6, tooltip=True)
            .encode(
                x=alt.X(
                    "utility:Q",
                    title="Loss of precision U (log10, larger is worse)"
                    if panel == panels[-1]
                    else None,
                    scale=alt.Scale(domain=spans[0], nice=False),
                ),
                y=alt.Y("risk:Q", title="Risk R", scale=alt.Scale(domain=spans[1], nice=False)),
                color=_ordered("epsilon", epsilons, "ε"),
                shape=alt.Shape(
                    "data:N",
                    title=None,
                    scale=alt.Scale(domain=names, range=["circle", "square"]),
                ),
                opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.1)),
            )
        )
        # A selection belongs to one panel and holds in all.
        points = points if drawn else points.add_params(pick).properties(name="first")
        drawn.append(points.properties(title=str(panel), width=_WIDTH - 60, height=210))
        by_epsilon = rows.groupby("epsilon", sort=False)
        ranges = "; ".join(
            f"epsilon {e}: R {g['risk'].min():.3g} to {g['risk'].max():.3g}, U "
            f"{g['utility'].min():.2f} to {g['utility'].max():.2f}"
            for e, g in by_epsilon
        )
        sentences.append(f"{panel}: {ranges}.")
    return alt.vconcat(*drawn).properties(
        description="Scatter of risk R against loss of precision U. " + " ".join(sentences)
    )


def relative_risk(frame: pd.DataFrame) -> Chart:
    """Relative risk against risk over all priors, a line for each release.

    McClure and Reiter (2012), Figures 3 and 4.

    Parameters
    ----------
    frame : DataFrame
        release (a name for each line), epsilon, all_zeros, risk, relative_risk: points along the
        lines.

    Returns
    -------
    altair chart
        Dotted lines where all of D are zeros; a logarithmic scale where relative risks differ by
        more than a factor of ten. A click in the legend leaves one epsilon.
    """
    names = ["D has ones", "D is all zeros"]
    data = frame.assign(
        epsilon=[_number(e) for e in frame["epsilon"]],
        data=np.where(frame["all_zeros"], names[1], names[0]),
    )
    pick = alt.selection_point(name="pick", fields=["epsilon"], bind="legend")
    wide = data["relative_risk"].max() > 10 * data["relative_risk"].min()
    title = "Relative risk RR (log scale)" if wide else "Relative risk RR"
    marks = (
        alt.Chart(_compact(data[["release", "epsilon", "data", "risk", "relative_risk"]]))
        .mark_line(strokeWidth=1.3)
        .encode(
            x=alt.X("risk:Q", title="Risk R", scale=alt.Scale(domain=[0, 1])),
            y=_axis("relative_risk", title, wide, zero=False, channel=alt.Y),
            detail="release:N",
            color=_ordered("epsilon", _in_order(data["epsilon"]), "ε"),
            strokeDash=alt.StrokeDash(
                "data:N", title=None, scale=alt.Scale(domain=names, range=[[1, 0], [2, 3]])
            ),
            opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.08)),
        )
        .add_params(pick)
    )
    largest = "; ".join(
        f"epsilon {e}: {rows['relative_risk'].max():.3g}"
        for e, rows in data.groupby("epsilon", sort=False)
    )
    return alt.layer(_reference_y(1.0), marks).properties(
        width=_WIDTH - 60,
        height=300,
        description=(
            f"Lines of relative risk against risk for {data['release'].nunique()} "
            f"releases, all of which end at R = 1, RR = 1. Largest relative risk, {largest}."
        ),
    )


def frontier(frame: pd.DataFrame) -> Chart:
    """What a smaller epsilon buys in risk and costs in precision, for several proportions.

    Parameters
    ----------
    frame : DataFrame
        p0, epsilon, and low, median and high of risk and utility: risk_low and so on. The
        same epsilons for every p0, evenly spaced in their logarithm.

    Returns
    -------
    altair chart
        The upper end of the risk against the median loss of precision along epsilon. A slider
        chooses an epsilon, at which bars show the ranges of both; a click in the legend leaves one
        proportion.
    """
    values = [_number(p) for p in frame["p0"]]
    names, labels = _in_order(values), [f"ε = {e:.3g}" for e in frame["epsilon"]]
    data = _compact(frame.assign(p0=values, step=np.log10(frame["epsilon"]), label=labels))
    steps = np.unique(np.log10(frame["epsilon"]))
    width = float(np.diff(steps).mean()) if len(steps) > 1 else 1.0
    start = float(steps[np.abs(steps - math.log10(2)).argmin()])
    slider = alt.param(
        name="log_epsilon",
        value=_significant(start),
        bind=alt.binding_range(
            min=_significant(steps[0]),
            max=_significant(steps[-1]),
            step=_significant(width),
            name="log10 of epsilon ",
        ),
    )
    pick = alt.selection_point(name="pick", fields=["p0"], bind="legend")
    visible = alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.08))
    base = alt.Chart(data).encode(
        # Fixed axes: what the slider leaves must not move what it does not.
        x=alt.X(
            "utility_median:Q",
            title="Loss of precision U (log10): median and 90 % range",
            scale=alt.Scale(domain=_span(frame[["utility_low", "utility_high"]].stack())),
        ),
        y=alt.Y(
            "risk_high:Q",
            title="Risk R: 95 % quantile and 90 % range",
            scale=alt.Scale(domain=_span(frame[["risk_low", "risk_high"]].stack())),
        ),
        color=_ordered("p0", names, "p0"),
        opacity=visible,
    )
    path = base.mark_line(strokeWidth=1.5).encode(order="epsilon:Q")
    dots = base.mark_point(filled=True, size=22, tooltip=alt.TooltipContent("data"))
    chosen = base.transform_filter(f"abs(datum.step - log_epsilon) < {_significant(width / 2)}")
    bars = [
        chosen.mark_rule(strokeWidth=2).encode(x="utility_low:Q", x2="utility_high:Q"),
        chosen.mark_rule(strokeWidth=2).encode(y="risk_low:Q", y2="risk_high:Q"),
        chosen.mark_point(filled=True, size=110),
        chosen.transform_filter(alt.datum.p0 == names[0])
        .mark_text(align="right", fontSize=13, fontWeight="bold")
        .encode(
            x=alt.value(_WIDTH - 66),
            y=alt.value(10),
            text="label:N",
            color=alt.value(INK),
            opacity=alt.value(1),
        ),
    ]
    sentences = "; ".join(
        f"p0 = {name}: R {rows['risk_high'].iloc[0]:.3g} and "
        f"U {rows['utility_median'].iloc[0]:.2f} at epsilon {rows['epsilon'].iloc[0]:.3g}, "
        f"R {rows['risk_high'].iloc[-1]:.3g} and U {rows['utility_median'].iloc[-1]:.2f} at "
        f"{rows['epsilon'].iloc[-1]:.3g}"
        for name, rows in data.groupby("p0", sort=False)
    )
    return (
        alt.layer(path, dots, *bars)
        .add_params(slider, pick)
        .properties(
            width=_WIDTH - 60,
            height=320,
            description=(
                "Paths of the 95 % quantile of the risk against the median loss of precision as "
                f"epsilon changes. {sentences}."
            ),
        )
    )


def two_readings(frame: pd.DataFrame, *, epsilon: float, prior: float, x: int) -> Chart:
    """The table of log p(release | data set) with both readings of it, to be moved by sliders.

    Parameters
    ----------
    frame : DataFrame
        Tables of counts as `readings.entries` returns them, with a column epsilon, evenly spaced,
        and, for more than one mechanism, a column mechanism (text) with the same epsilons for each.
    epsilon, prior : float
        Where the first two sliders start: the budget, at the nearest one that there is, and the
        intruder's prior probability of the truth, in [0.01, 0.99].
    x : int
        Row of the data where the third slider starts. The fourth, the release, starts where the
        posterior is largest.

    Returns
    -------
    altair chart
        Above, the table: black frames around the neighbours and columns that attain the exact
        epsilon, orange frames around the two entries that the intruder compares in the column of
        the release. In the middle the posterior probability of the truth for each release, with
        the prior as a dotted rule and what epsilon allows as dashed ones. Below, the probability
        of each release given the data.
    """
    frame = frame.reset_index(drop=True)
    n, last = (int(frame[name].max()) for name in ("x", "release"))
    budgets = np.unique(frame["epsilon"])
    step = float(np.diff(budgets).mean()) if len(budgets) > 1 else 1.0
    start = float(budgets[np.abs(budgets - epsilon).argmin()])
    names = _in_order(frame["mechanism"]) if "mechanism" in frame else []
    shown = frame[(frame["epsilon"] == start) & (frame.get("mechanism", "") == (names or [""])[0])]
    corner = shown[shown["attains"]].iloc[0]
    of_data = shown[shown["x"] == x]
    release = int(of_data.loc[of_data["log_ratio"].idxmax(), "release"])
    sliders = [
        _slider("epsilon", "epsilon", start, budgets[0], budgets[-1], step),
        _slider("prior", "prior probability of the truth", prior, 0.01, 0.99, 0.01),
        _slider("data", "ones in the data, X", x, 0, n, 1),
        _slider("release", "release, X*", release, 0, last, 1),
    ]
    kept = f"abs(datum.epsilon - epsilon) < {_significant(step / 2)}"
    if len(names) > 1:
        menu = alt.binding_select(options=names, name="mechanism ")
        sliders = [alt.param(name="chosen", value=names[0], bind=menu), *sliders]
        kept += " && datum.mechanism == chosen"
    base = alt.Chart(_compact(frame)).transform_filter(kept)
    # Posterior odds are prior odds times the ratio of the two entries.
    base = base.transform_calculate(
        truth="datum.x == data",
        other="datum.x == (data == 0 ? 1 : data - 1)",
        posterior="1 / (1 + exp(-datum.log_ratio) * (1 - prior) / prior)",
    )
    width = min(_WIDTH - 110, 110 * (last + 1))
    panels = [
        _two_sentences(base).properties(height=38, width=_WIDTH - 40),
        _entries(base, n, last).properties(height=34 * (n + 1), width=width),
        _posteriors(base, last).properties(height=130, width=width),
        _release_probabilities(base, last).properties(height=60, width=width),
    ]
    ends = of_data["log_ratio"].agg(["min", "max"])
    low, high = 1 / (1 + np.exp(-ends) * (1 - prior) / prior)
    return (
        alt.vconcat(*panels)
        .add_params(*sliders)
        .properties(
            description=(
                f"Table of log probabilities of releases 0 to {last} given data sets 0 to {n}, "
                "with sliders for epsilon, the prior, the data set and the release. At epsilon "
                f"{start:g} the exact epsilon is {corner['exact_epsilon']:.3g}, attained at "
                f"release {corner['release']} by data sets {corner['x']} and {corner['x'] + 1}. "
                f"Bars of the posterior probability of the truth for each release, from {low:.2g} "
                f"to {high:.2g} at X = {x} and prior {prior:g}."
            )
        )
    )


def _slider(name: str, label: str, value: float, low: float, high: float, step: float) -> Any:
    start, low, high, step = (_significant(float(number)) for number in (value, low, high, step))
    bind = alt.binding_range(min=low, max=high, step=step, name=f"{label} ")
    return alt.param(name=name, value=start, bind=bind)


def _two_sentences(base: alt.Chart) -> Chart:
    """What each reading says, in words that follow the sliders."""
    chosen = base.transform_filter("datum.truth && datum.release == release").transform_calculate(
        down="'Pairs of rows (black): exact epsilon ' + format(datum.exact_epsilon, '.2f') + "
        "', from X = ' + data + ' alone ' + format(datum.conditional_epsilon, '.2f')",
        across="'One column (orange): X* = ' + release + ' turns ' + format(prior, '.2f') + "
        "' into ' + format(datum.posterior, '.2f') + ', odds × ' + "
        "format(exp(datum.log_ratio), '.2f') + ', at most × ' + "
        "format(exp(datum.exact_epsilon), '.2f')",
    )
    left = chosen.encode(x=alt.value(0)).mark_text(align="left", baseline="top", fontSize=13)
    first, second = left.encode(y=alt.value(0)), left.encode(y=alt.value(20))
    return alt.layer(first.encode(text="down:N"), second.encode(text="across:N"))


def _entries(base: alt.Chart, n: int, last: int) -> Chart:
    """The table, with frames around what each reading compares."""
    x = _release_axis(last, "Release X* (entries are log probabilities)", orient="top")
    y = alt.Y(
        "top:Q",
        title="Data set X",
        scale=alt.Scale(domain=[n + 0.5, -0.5], nice=False),
        axis=alt.Axis(values=list(range(n + 1)), format="d", grid=False),
    )
    ends = {"x": x, "x2": "right:Q", "y": y, "y2": "bottom:Q"}

    def boxes(rows: alt.Chart, inset: float, height: int = 1, **mark: Any) -> alt.Chart:
        half = 0.5 - inset
        return (
            rows.transform_calculate(
                left=f"datum.release - {half}",
                right=f"datum.release + {half}",
                top=f"datum.x - {half}",
                bottom=f"datum.x + {height - 1 + half}",
            )
            .mark_rect(**mark)
            .encode(**ends)
        )

    shade = alt.Scale(domain=[-7, 0], range=["#FFFFFF", "#56B4E9"], clamp=True, interpolate="rgb")
    pairs = base.transform_filter("datum.attains")
    compared = base.transform_filter("datum.release == release && (datum.truth || datum.other)")
    frame = {"filled": False, "strokeWidth": 3}
    middle = base.transform_calculate(left="datum.release", top="datum.x")
    edge = base.transform_filter(f"datum.truth && datum.release == {last}").transform_calculate(
        left=f"{last} + 0.5", top="datum.x"
    )
    text = alt.Text("log_prob:Q", format=".2f")
    return alt.layer(
        boxes(base, 0, stroke="white").encode(
            color=alt.Color("log_prob:Q", legend=None, scale=shade)
        ),
        boxes(pairs, 0.03, 2, stroke=INK, **frame),
        boxes(compared, 0.1, stroke=TRUTH, **frame),
        middle.mark_text(fontSize=13).encode(x=x, y=y, text=text),
        edge.mark_text(align="left", dx=5, color=TRUTH, fontWeight="bold").encode(
            x=x, y=y, text=alt.value("◀ truth")
        ),
    )


def _posteriors(base: alt.Chart, last: int) -> Chart:
    """Posterior probability of the truth for each release, and what epsilon allows."""
    rows = base.transform_filter("datum.truth")
    once = rows.transform_filter("datum.release == release").transform_calculate(
        prior="prior",
        least="1 / (1 + exp(datum.exact_epsilon) * (1 - prior) / prior)",
        most="1 / (1 + exp(-datum.exact_epsilon) * (1 - prior) / prior)",
    )
    y = alt.Y("posterior:Q", title="Posterior of truth", scale=alt.Scale(domain=[0, 1]))
    bars, numbers = _bars(rows, last, y, None)
    rules = [
        once.mark_rule(**PRINTED, color=INK).encode(y=f"{name}:Q") for name in ("least", "most")
    ]
    return alt.layer(bars, *rules, once.mark_rule(**REFERENCE).encode(y="prior:Q"), numbers)


def _release_probabilities(base: alt.Chart, last: int) -> Chart:
    """How probable each release is, given the data."""
    rows = base.transform_filter("datum.truth").transform_calculate(p="exp(datum.log_prob)")
    y = alt.Y("p:Q", title="p(X* | X)", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=2))
    return alt.layer(*_bars(rows, last, y, "Release X*"))


def _bars(rows: alt.Chart, last: int, y: alt.Y, title: str | None) -> tuple[alt.Chart, alt.Chart]:
    """A bar for each release, the chosen one's in another colour, and their numbers above."""
    x = _release_axis(last, title)
    colour = (
        alt.when("datum.release == release").then(alt.value(TRUTH)).otherwise(alt.value(NEUTRAL))
    )
    placed = rows.transform_calculate(left="datum.release - 0.3", right="datum.release + 0.3")
    middle = rows.transform_calculate(left="datum.release")
    bars = placed.mark_rect().encode(x=x, x2="right:Q", y=y, y2=alt.datum(0), color=colour)
    # Above the panel, where no rule crosses them.
    text = alt.Text(y.shorthand, format=".2~g")
    return bars, middle.mark_text().encode(x=x, y=alt.value(-8), text=text)


def _release_axis(last: int, title: str | None, **axis: Any) -> alt.X:
    scale = alt.Scale(domain=[-0.5, last + 0.5], nice=False)
    ticks = alt.Axis(values=list(range(last + 1)), format="d", grid=False, **axis)
    return alt.X("left:Q", title=title, scale=scale, axis=ticks)


def acceptable_region(rules: pd.DataFrame, lines: pd.DataFrame) -> Chart:
    """Which part of the plane of risk and relative risk is unacceptable, and where lines enter it.

    Parameters
    ----------
    rules : DataFrame
        rr_at_most, r_at_least, r_at_most, one row a rule.
    lines : DataFrame
        curve (text), stretch, risk, relative_risk, as `acceptance.offending_lines` returns.

    Returns
    -------
    altair chart
        Shaded where a rule is broken, the offending stretches drawn thick.
    """
    curves, stretches = lines[lines["stretch"] == 0], lines[lines["stretch"] > 0]
    top = 1.3 * max(curves["relative_risk"].max(), 1.5 * rules["rr_at_most"].max())
    low = min(0.9, curves["relative_risk"].min() / 1.1)
    ends = [_significant(low), _significant(top)]
    y = alt.Y(
        "relative_risk:Q",
        title="Relative risk RR (log scale)",
        scale=alt.Scale(type="log", domain=ends, nice=False),
        axis=alt.Axis(format="~g", tickCount=6),
    )
    x = alt.X("risk:Q", title="Risk R", scale=alt.Scale(domain=[0, 1]))
    region = (
        alt.Chart(_compact(rules.assign(top=top)))
        .mark_rect(color="#E8A598", opacity=0.45)
        .encode(
            x=alt.X("r_at_least:Q", title="Risk R"),
            x2="r_at_most:Q",
            y=alt.Y("rr_at_most:Q", title="Relative risk RR (log scale)"),
            y2="top:Q",
        )
    )
    names = _in_order(curves["curve"])
    thin = (
        alt.Chart(_compact(curves[["curve", "risk", "relative_risk"]]))
        .mark_line(strokeWidth=1.6)
        .encode(x=x, y=y, color=_ordered("curve", names, None))
    )
    thick = (
        alt.Chart(_compact(stretches[["curve", "stretch", "risk", "relative_risk"]]))
        .mark_line(strokeWidth=5, opacity=0.8)
        .encode(x=x, y=y, detail="stretch:N", color=_ordered("curve", names, None))
    )
    broken = _in_order(stretches["curve"])
    return alt.layer(region, thin, thick).properties(
        width=_WIDTH - 60,
        height=320,
        description=(
            f"Relative risk against risk over all priors for {len(names)} releases: {_and(names)}. "
            "Shaded is what the rules do not accept. "
            + (f"It is entered by: {_and(broken)}." if broken else "No curve enters it.")
        ),
    )


def chain_against_exact(frame: pd.DataFrame) -> Chart:
    """Estimates from chains against the exact values, and what the chains say about themselves.

    Parameters
    ----------
    frame : DataFrame
        utility (exact), utility_mcmc, mcse, epsilon and verdict (text).

    Returns
    -------
    altair chart
        Points with bars of two standard errors, coloured by epsilon, filled where the chains
        have converged by their own account, and the line of equality.
    """
    data = frame.assign(
        epsilon=[_number(e) for e in frame["epsilon"]],
        low=frame["utility_mcmc"] - 2 * frame["mcse"],
        high=frame["utility_mcmc"] + 2 * frame["mcse"],
    )
    verdicts = _in_order(sorted(data["verdict"]))
    span = _span(pd.concat([data["utility"], data["utility_mcmc"]]))
    scale = alt.Scale(domain=span, nice=False)
    base = alt.Chart(
        _compact(data[["utility", "utility_mcmc", "low", "high", "epsilon", "verdict"]])
    ).encode(
        x=alt.X("utility:Q", title="U, exact", scale=scale),
        color=_ordered("epsilon", _in_order(data["epsilon"]), "ε"),
    )
    y = alt.Y("utility_mcmc:Q", title="U, from the chains, ± 2 standard errors", scale=scale)
    bars = base.mark_rule(strokeWidth=1, clip=True, opacity=0.6).encode(
        y=alt.Y("low:Q", scale=scale), y2="high:Q"
    )
    points = base.mark_point(size=45, strokeWidth=1.4, tooltip=True, filled=True).encode(
        y=y,
        shape=alt.Shape(
            "verdict:N",
            title=None,
            scale=alt.Scale(domain=verdicts, range=["circle", "triangle-up", "cross"]),
            legend=alt.Legend(columns=1),
        ),
    )
    line = (
        alt.Chart(pd.DataFrame({"x": span, "y": span}))
        .mark_line(color=INK, strokeWidth=1)
        .encode(x="x:Q", y="y:Q")
    )
    off = (data["utility_mcmc"] - data["utility"]).abs()
    return alt.layer(line, bars, points).properties(
        width=420,
        height=380,
        description=(
            f"Scatter of {len(data)} utilities from chains against the exact ones, with the line "
            f"of equality. The median absolute difference is {off.median():.2f}, the largest "
            f"{off.max():.2f}."
        ),
    )


def _in_order(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _label(name: object) -> str:
    return str(name).replace("_", " ")


def _and(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name: its own where it is a method, else one of the others in turn."""
    spare = [name for name in names if name not in COLOURS]
    return {
        name: COLOURS.get(name) or OTHER_COLOURS[spare.index(name) % len(OTHER_COLOURS)]
        for name in names
    }


def _colour(field: str, names: Sequence[str]) -> alt.Color:
    scale = alt.Scale(domain=list(names), range=list(_colours(names).values()))
    return alt.Color(f"{field}:N", title=None, scale=scale)


def _ordered(field: str, names: Sequence[str], title: str | None) -> alt.Color:
    """Colours from dark to light for names that have an order."""
    anchors = np.array(
        [[68, 1, 84], [59, 82, 139], [33, 144, 140], [93, 180, 70], [215, 160, 0]], dtype=float
    )
    at = np.linspace(0, len(anchors) - 1, len(names))
    ramp = [np.interp(at, np.arange(len(anchors)), channel) for channel in anchors.T]
    colours = ["#" + "".join(f"{round(c):02x}" for c in rgb) for rgb in zip(*ramp, strict=True)]
    scale = alt.Scale(domain=list(names), range=colours)
    return alt.Color(f"{field}:N", title=title, scale=scale, sort=list(names))


def _axis(field: str, title: str, log: bool, *, zero: bool, channel: Any) -> Any:
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=zero)
    axis = alt.Axis(tickCount=6, format=",.6~g", labelOverlap=True)
    return channel(f"{field}:Q", title=title, scale=scale, axis=axis)


def _span(values: pd.Series) -> list[float]:
    """An axis' ends that leave a little room around the values."""
    low, high = float(values.min()), float(values.max())
    room = 0.04 * (high - low) or 0.01
    return [_significant(low - room), _significant(high + room)]


def _number(value: float) -> str:
    return f"{value:g}"


def _chain_colour(chains: Sequence[Any]) -> alt.Color:
    colours = [*COLOURS.values(), *OTHER_COLOURS]
    scale = alt.Scale(
        domain=list(chains), range=[colours[i % len(colours)] for i in range(len(chains))]
    )
    return alt.Color("chain:N", title="Chain", scale=scale, legend=alt.Legend(columns=8))


def _reference_y(value: float) -> alt.Chart:
    frame = pd.DataFrame({"expected": [_significant(value)]})
    return alt.Chart(frame).mark_rule(**REFERENCE).encode(y="expected:Q")


def _square_root_ticks(largest: float) -> list[int]:
    """Round counts, at least an eighth of the axis apart on a square-root scale."""
    ticks = [0]
    for count in (digit * 10**power for power in range(9) for digit in (1, 2, 5)):
        if count <= largest and math.sqrt(count) - math.sqrt(ticks[-1]) > math.sqrt(largest) / 8:
            ticks.append(count)
    return ticks


def _short(labels: Sequence[Any]) -> list[str]:
    """Labels of at most 36 characters, unless two would become the same.

    Vega could cut them too, but measures each many times to do so, seconds in all.
    """
    text = [str(label) for label in labels]
    cut = [t if len(t) <= 36 else t[:35].rstrip() + "…" for t in text]
    return cut if len(set(cut)) == len(set(text)) else text


def _width(labels: Sequence[str]) -> float:
    """Width of a plot that shares 620 px with its labels."""
    return _WIDTH - min(_LABEL_LIMIT, 7 * max(len(str(label)) for label in labels))


def _significant(value: float) -> float:
    return float(f"{value:.4g}")


def _compact(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with four significant digits, which is more than a figure shows."""
    decimals = frame.select_dtypes("floating").columns
    return frame.assign(**{name: frame[name].map(_significant) for name in decimals})
