"""Figures of Markov chains."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

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


def _chain_color(chains: Sequence[Any]) -> alt.Color:
    hues = [OTHER_COLORS[i % len(OTHER_COLORS)] for i in range(len(chains))]
    scale = alt.Scale(domain=list(chains), range=hues)
    return alt.Color("chain:N", title="Chain", scale=scale, legend=alt.Legend(columns=8))
