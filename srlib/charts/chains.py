"""Figures of Markov chains and of importance weights."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
from scipy import stats

from srlib.charts.style import (
    COLORS,
    INK,
    OTHER_COLORS,
    WIDTH,
    Chart,
    compact,
    in_order,
    in_words,
    listing,
    ordered_color,
    panels,
    span_of,
)

_TRACE_POINTS = 2400


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
    quantities, chains = in_order(frame["quantity"]), in_order(frame["chain"])
    every = math.ceil(len(frame) / _TRACE_POINTS)
    shown = frame[frame["draw"] % every == frame["draw"].min() % every]

    def panel(quantity: str, rows: pd.DataFrame, last: bool) -> Chart:
        return (
            alt.Chart(compact(rows[["chain", "draw", "value"]]))
            .mark_line(strokeWidth=1, opacity=0.8)
            .encode(
                x=alt.X(
                    "draw:Q",
                    title="Draw" if last else None,
                    scale=alt.Scale(nice=False),
                    axis=alt.Axis(grid=False),
                ),
                y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
                color=_chain_color(chains),
            )
            .properties(title=in_words(quantity), width=WIDTH - 60, height=110)
        )

    thinned = f" One draw in {every} is shown." if every > 1 else ""
    return panels(shown, "quantity", panel).properties(
        description=(
            f"Trace of {listing(map(in_words, quantities))} in {len(chains)} chains; chains that "
            f"have mixed lie on top of each other.{thinned}"
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
    quantities, chains = in_order(frame["quantity"]), in_order(frame["chain"])
    n_bins = 20
    fullest = []

    def panel(quantity: str, rows: pd.DataFrame, last: bool) -> Chart:
        # Ties of a discrete quantity are shared out over the chains, in the order of the draws.
        rows = rows.sort_values(["draw", "chain"])
        share = (stats.rankdata(rows["value"], method="ordinal") - 0.5) / len(rows)
        counts = pd.crosstab(rows["chain"].to_numpy(), (share * n_bins).astype(int))
        counts = counts.reindex(index=chains, columns=range(n_bins), fill_value=0)
        ratio = counts * n_bins * len(chains) / len(rows)
        fullest.append(float(ratio.to_numpy().max()))
        cells = ratio.rename_axis(index="chain", columns="bin").stack().rename("ratio")
        data = cells.reset_index()
        data["low"] = data["bin"] * (100 // n_bins)
        data["high"] = data["low"] + 100 // n_bins
        return (
            alt.Chart(compact(data[["chain", "low", "high", "ratio"]]))
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
            .properties(
                title=in_words(quantity), width=WIDTH - 60, height=max(16 * len(chains), 60)
            )
        )

    return panels(frame, "quantity", panel).properties(
        description=(
            f"Ranks of the draws of {len(chains)} chains among the draws of all, for "
            f"{listing(map(in_words, quantities))}. Chains that have mixed fill each twentieth of "
            f"the ranks alike; here the fullest has {max(fullest):.1f} times its share."
        )
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
        Points with bars of two standard errors, colored by epsilon, filled where the chains
        have converged by their own account, and the line of equality.
    """
    data = frame.assign(
        epsilon=[f"{e:g}" for e in frame["epsilon"]],
        low=frame["utility_mcmc"] - 2 * frame["mcse"],
        high=frame["utility_mcmc"] + 2 * frame["mcse"],
    )
    verdicts = in_order(sorted(data["verdict"]))
    span = span_of(pd.concat([data["utility"], data["utility_mcmc"]]))
    scale = alt.Scale(domain=span, nice=False)
    base = alt.Chart(
        compact(data[["utility", "utility_mcmc", "low", "high", "epsilon", "verdict"]])
    ).encode(
        x=alt.X("utility:Q", title="U, exact", scale=scale),
        color=ordered_color("epsilon", in_order(data["epsilon"]), "ε"),
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

    def panel(case: str, rows: pd.DataFrame, last: bool) -> Chart:
        base = alt.Chart(compact(rows[["synthetic_set", "largest_share", "effective"]])).encode(
            y=alt.Y("synthetic_set:O", title="Synthetic data set")
        )
        bars = base.mark_bar(tooltip=True, color=COLORS["importance_sampling"]).encode(
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
        return alt.layer(bars, text).properties(
            title=str(case), width=360, height=max(22 * len(rows), 60)
        )

    share, ess = data["largest_share"], data["ess"]
    return panels(data, "case", panel).properties(
        description=(
            "Bars of the share of the total importance weight that one draw carries, for "
            f"{len(data)} synthetic data sets: {100 * share.min():.0f} to "
            f"{100 * share.max():.0f} %. The effective sample sizes are {ess.min():.1f} to "
            f"{ess.max():.1f} of {data['draws'].max()} draws."
        )
    )


def _chain_color(chains: Sequence[Any]) -> alt.Color:
    colors = [*COLORS.values(), *OTHER_COLORS]
    scale = alt.Scale(
        domain=list(chains), range=[colors[i % len(colors)] for i in range(len(chains))]
    )
    return alt.Color("chain:N", title="Chain", scale=scale, legend=alt.Legend(columns=8))
