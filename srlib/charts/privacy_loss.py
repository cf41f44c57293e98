"""The privacy loss of one data set, and its summaries in four papers."""

import altair as alt
import numpy as np
import pandas as pd

from srlib.charts.style import (
    PRINTED,
    REFERENCE,
    WIDTH,
    Chart,
    compact,
    significant,
)

NEIGHBOR_COLORS = ("#0072B2", "#C46A00")


def privacy_loss(
    releases: pd.DataFrame,
    bins: pd.DataFrame,
    *,
    epsilon: float,
    prior: float,
    description: str,
) -> Chart:
    """Draw the privacy loss of one data set against its neighbors, and its summaries.

    `releases` has one row per neighbor (text) and release (a short name), with its loss
    and its probability given the data. `bins` has one row per neighbor and bin of a
    posterior draw, with the loss. All panels share the axis of the loss. They show, for
    each neighbor, the probability of each release, with the mean loss as a triangle;
    the posterior probability of the true value at the intruder's prior; delta for each
    epsilon; and the losses of the bins, the largest of which is EDP. Dashed lines mark
    the exact epsilon of the whole table.
    """
    names = list(dict.fromkeys(releases["neighbor"]))
    drawn = releases[releases["probability"] > 0]
    largest, edp = drawn["loss"].abs().max(), bins["loss"].abs().max()
    end = significant(1.08 * max(epsilon, largest, edp))
    scale = alt.Scale(domain=names, range=list(NEIGHBOR_COLORS[: len(names)]))
    color = alt.Color("neighbor:N", title="Neighbor", scale=scale)

    def loss(title: str | None = None) -> alt.X:
        axis = alt.Axis(tickCount=7, grid=False, labels=title is not None)
        return alt.X(
            "loss:Q", title=title, scale=alt.Scale(domain=[-end, end]), axis=axis
        )

    def y(field: str, title: str, top: float | None = None) -> alt.Y:
        domain = alt.Undefined if top is None else [0, top]
        return alt.Y(
            field,
            title=title,
            scale=alt.Scale(domain=domain),
            axis=alt.Axis(tickCount=3),
        )

    def limits(title: str | None = None) -> alt.Chart:
        """Draw lines at plus and minus epsilon."""
        ends = pd.DataFrame({"loss": [-significant(epsilon), significant(epsilon)]})
        return alt.Chart(ends).mark_rule(**PRINTED, style="ink").encode(x=loss(title))

    def spread(name: str) -> Chart:
        """Draw the probability of each release at its loss, and the mean loss."""
        rows = drawn[drawn["neighbor"] == name][
            ["neighbor", "release", "loss", "probability"]
        ]
        top = significant(1.3 * drawn["probability"].max())
        height = y("probability:Q", "Probability of the release", top)
        mass = alt.Chart(compact(rows)).encode(x=loss(), y=height, color=color)
        mean = pd.DataFrame({"neighbor": [name], "probability": 0.0})
        mean["loss"] = rows["loss"] @ rows["probability"]
        triangle = alt.Chart(compact(mean)).mark_point(
            shape="triangle-up", filled=True, size=110
        )
        return alt.layer(
            limits(),
            mass.mark_rule(strokeWidth=2).encode(y2=alt.datum(0)),
            mass.mark_point(filled=True, size=30).encode(
                tooltip=[
                    alt.Tooltip("release:N", title="title"),
                    alt.Tooltip("loss:Q", title="privacy loss"),
                    alt.Tooltip("probability:Q", title="probability"),
                ]
            ),
            mass.mark_text(dx=-5, dy=-5, align="right").encode(text="release:N"),
            triangle.encode(x=loss(), y=height, color=color),
        )

    grid = np.linspace(-end, end, 81)
    curve = pd.DataFrame({"loss": grid, "posterior": _posterior(grid, prior)})
    after = drawn.assign(posterior=_posterior(drawn["loss"].to_numpy(), prior))
    height = y("posterior:Q", "Posterior probability of the true value", 1.0)
    start = alt.Chart(pd.DataFrame({"posterior": [significant(prior)]}))
    line = alt.Chart(compact(curve)).mark_line(style="ink", strokeWidth=1)
    dots = alt.Chart(compact(after[["neighbor", "loss", "posterior"]]))
    posterior = alt.layer(
        limits(),
        start.mark_rule(**REFERENCE).encode(y=height),
        line.encode(x=loss(), y=height),
        dots.mark_point(filled=True, size=40).encode(x=loss(), y=height, color=color),
    )
    tails = pd.concat(
        [
            _tail(drawn[drawn["neighbor"] == name], end).assign(neighbor=name)
            for name in names
        ]
    )[["neighbor", "loss", "delta"]]
    excess = alt.Chart(compact(tails)).mark_line(strokeWidth=2)
    tail = alt.layer(
        limits(), excess.encode(x=loss(), y=y("delta:Q", "Delta"), color=color)
    )
    ticks = alt.Chart(compact(bins[["neighbor", "loss"]])).mark_tick(
        thickness=2, size=16
    )
    row = alt.Y("neighbor:N", title="Bins of a posterior draw", sort=names)
    last = "Privacy loss (for delta: epsilon)"
    binned = alt.layer(limits(last), ticks.encode(x=loss(last), y=row, color=color))
    sized = [
        *((spread(name), 90) for name in names),
        (posterior, 130),
        (tail, 80),
        (binned, 60),
    ]
    drawn = [panel.properties(width=WIDTH - 60, height=size) for panel, size in sized]
    return alt.vconcat(*drawn).properties(description=description)


def _posterior(loss: np.ndarray, prior: float) -> np.ndarray:
    """Return the posterior probability of the true value for a privacy loss."""
    return 1 / (1 + np.exp(-loss) * (1 - prior) / prior)


def _tail(rows: pd.DataFrame, end: float, n: int = 61) -> pd.DataFrame:
    """Return delta of one pair of rows at `n` values of epsilon, from 0 to `end`."""
    grid = np.linspace(0, end, n)
    excess = np.maximum(-np.expm1(grid[:, None] - rows["loss"].to_numpy()), 0)
    delta = excess @ rows["probability"].to_numpy()
    return pd.DataFrame({"loss": grid, "delta": delta})
