"""Figures of Markov chains."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
from scipy import stats

from srlib.charts.style import (
    OTHER_COLORS,
    WIDTH,
    Chart,
    compact,
    in_order,
    in_words,
    listing,
    panels,
    told,
    tooltip,
)

_TRACE_VALUES = 3000
_BESIDE = 250  # pixels of a plot that stands beside another


def _beside(quantities: Sequence[str]) -> dict[str, int]:
    """Columns of panels: two, where there are several quantities."""
    return {"columns": min(len(quantities), 2)}


def _width(quantities: Sequence[str]) -> int:
    return _BESIDE if len(quantities) > 1 else WIDTH - 20


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
    every = math.ceil(len(frame) / _TRACE_VALUES)
    shown = frame[frame["draw"] % every == frame["draw"].min() % every]
    names: list[Any] = [str(chain) for chain in chains]
    sentences = []

    def panel(quantity: str, rows: pd.DataFrame, last: bool) -> Chart:
        wide = rows.pivot_table(index="draw", columns="chain", values="value")
        wide = compact(wide.set_axis(names, axis=1)).reset_index()
        low, high = (getattr(rows["value"], end)() for end in ("min", "max"))
        sentences.append(f"{in_words(quantity)}: minimum {told(low)}, maximum {told(high)}.")
        return (
            alt.Chart(wide)
            .transform_fold(names, as_=["chain", "value"])
            .mark_line(strokeWidth=1, opacity=0.8)
            .encode(
                x=alt.X(
                    "draw:Q",
                    title="Draw" if last else None,
                    scale=alt.Scale(nice=False),
                    axis=alt.Axis(grid=False, tickCount=5),
                ),
                y=alt.Y(
                    "value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4)
                ),
                color=_chain_color(names),
            )
            .properties(title=in_words(quantity), width=_width(quantities), height=90)
        )

    thinned = f" One draw in {every} is shown." if every > 1 else ""
    drawn = panels(shown, "quantity", panel, **_beside(quantities))
    return drawn.properties(
        description=(
            f"Trace of {listing(map(in_words, quantities))} in {len(chains)} chains; chains that "
            f"have mixed lie on top of each other. {' '.join(sentences)}{thinned}"
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
    sentences = []

    def panel(quantity: str, rows: pd.DataFrame, last: bool) -> Chart:
        # Ties of a discrete quantity are shared out over the chains, in the order of the draws.
        rows = rows.sort_values(["draw", "chain"])
        share = (stats.rankdata(rows["value"], method="ordinal") - 0.5) / len(rows)
        counts = pd.crosstab(rows["chain"].to_numpy(), (share * n_bins).astype(int))
        counts = counts.reindex(index=chains, columns=range(n_bins), fill_value=0)
        ratio = counts * n_bins * len(chains) / len(rows)
        cells = ratio.rename_axis(index="chain", columns="bin").stack().rename("ratio")
        data = cells.reset_index()
        data["low"] = data["bin"] * (100 // n_bins)
        data["high"] = data["low"] + 100 // n_bins
        least, most = (data.loc[data["ratio"].idxmin()], data.loc[data["ratio"].idxmax()])
        sentences.append(
            f"{in_words(quantity)}: minimum {told(least['ratio'])} times the share, chain "
            f"{least['chain']:g} from {least['low']:g} %, maximum {told(most['ratio'])}, chain "
            f"{most['chain']:g} from {most['low']:g} %."
        )
        return (
            alt.Chart(compact(data[["chain", "low", "high", "ratio"]]))
            .mark_rect(stroke="white", strokeWidth=0.5)
            .encode(
                x=alt.X(
                    "low:Q",
                    bin="binned",
                    title="Rank among all draws (percent)" if last else None,
                    scale=alt.Scale(domain=[0, 100]),
                    axis=alt.Axis(grid=False, tickCount=5),
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
                tooltip=tooltip(
                    "chain",
                    low="from rank, percent",
                    high="to rank, percent",
                    ratio="times its share",
                ),
            )
            .properties(title=in_words(quantity), width=_width(quantities), height=14 * len(chains))
        )

    drawn = panels(frame, "quantity", panel, **_beside(quantities))
    return drawn.properties(
        description=(
            f"Ranks of the draws of {len(chains)} chains among the draws of all, for "
            f"{listing(map(in_words, quantities))}. Chains that have mixed fill each twentieth of "
            f"the ranks alike. {' '.join(sentences)}"
        )
    )


def _chain_color(chains: Sequence[Any]) -> alt.Color:
    hues = [OTHER_COLORS[i % len(OTHER_COLORS)] for i in range(len(chains))]
    scale = alt.Scale(domain=list(chains), range=hues)
    return alt.Color("chain:N", title="Chain", scale=scale, legend=alt.Legend(columns=8))
