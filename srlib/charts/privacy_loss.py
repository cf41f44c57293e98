"""The privacy loss of one data set, and its summaries in four papers."""

from dataclasses import dataclass, replace
from typing import Any

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
    tips,
)

NEIGHBOR_COLORS = ["#0072B2", "#C46A00"]


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
    possible = releases[releases["probability"] > 0]
    largest = max(possible["loss"].abs().max(), bins["loss"].abs().max())
    panels = _Panels(
        names,
        significant(epsilon),
        significant(1.08 * max(epsilon, largest)),
    )
    top = significant(1.3 * possible["probability"].max())
    by_neighbor = [possible[possible["neighbor"] == name] for name in names]
    sized = [(panels.releases(rows, top), 90) for rows in by_neighbor]
    sized += [
        (panels.posterior(possible, prior), 130),
        (panels.delta(by_neighbor), 80),
        (replace(panels, title="Privacy loss (for delta: epsilon)").bins(bins), 60),
    ]
    width = WIDTH - 60
    drawn = [panel.properties(width=width, height=size) for panel, size in sized]
    return alt.vconcat(*drawn, description=description)


@dataclass(frozen=True)
class _Panels:
    """Panels with the same colors and axis of the loss, from -end to end."""

    names: list[str]
    epsilon: float
    end: float
    title: str | None = None

    def at_loss(self, rows: pd.DataFrame, y: alt.Y) -> alt.Chart:
        """Return a chart of rows at their losses, in the colors of the neighbors."""
        colors = NEIGHBOR_COLORS[: len(self.names)]
        color = alt.Color("neighbor:N", title="Neighbor")
        return alt.Chart(compact(rows)).encode(
            x=self.loss,
            y=y,
            color=color.scale(domain=self.names, range=colors),
        )

    @property
    def loss(self) -> alt.X:
        """The axis of the loss, with labels in the panel that has its title."""
        x = alt.X("loss:Q", title=self.title).scale(domain=[-self.end, self.end])
        return x.axis(
            grid=False,
            labels=self.title is not None,
            tickCount=7,
        )

    def over_limits(self, *layers: alt.Chart) -> Chart:
        """Draw layers over lines at plus and minus epsilon."""
        ends = pd.DataFrame({"loss": [-self.epsilon, self.epsilon]})
        rule = alt.Chart(ends).mark_rule(**PRINTED, style="ink")
        return alt.layer(rule.encode(x=self.loss), *layers)

    def releases(
        self,
        rows: pd.DataFrame,
        top: float,
    ) -> Chart:
        """Draw the probability of each release at its loss, and the mean loss."""
        y = _y("probability:Q", "Probability of the release", domain=[0, top])
        mass = self.at_loss(rows, y)
        mean = pd.DataFrame({"neighbor": rows["neighbor"].iloc[:1], "probability": 0.0})
        mean["loss"] = rows["loss"] @ rows["probability"]
        triangle = self.at_loss(mean, y).mark_point(
            shape="triangle-up",
            filled=True,
            size=110,
        )
        heads = tips("release", loss="privacy loss", probability="probability")
        return self.over_limits(
            mass.mark_rule(strokeWidth=2).encode(y2=alt.datum(0)),
            mass.mark_point(filled=True, size=30).encode(tooltip=heads),
            mass.mark_text(dx=-5, dy=-5, align="right").encode(text="release:N"),
            triangle,
        )

    def posterior(
        self,
        releases: pd.DataFrame,
        prior: float,
    ) -> Chart:
        """Draw the posterior probability of the true value for each loss."""
        grid = np.linspace(-self.end, self.end, 81)
        curve = pd.DataFrame({"loss": grid, "posterior": _posterior(grid, prior)})
        after = _posterior(releases["loss"].to_numpy(), prior)
        shown = releases[["neighbor", "loss"]].assign(posterior=after)
        title = "Posterior probability of the true value"
        y = _y("posterior:Q", title, domain=[0, 1.0])
        start = alt.Chart(pd.DataFrame({"posterior": [significant(prior)]}))
        line = alt.Chart(compact(curve)).mark_line(style="ink", strokeWidth=1)
        return self.over_limits(
            start.mark_rule(**REFERENCE).encode(y=y),
            line.encode(x=self.loss, y=y),
            self.at_loss(shown, y).mark_point(filled=True, size=40),
        )

    def delta(self, by_neighbor: list[pd.DataFrame]) -> Chart:
        """Draw delta for each epsilon."""
        tails = pd.concat(_tail(rows, self.end) for rows in by_neighbor)
        y = _y("delta:Q", "Delta")
        return self.over_limits(self.at_loss(tails, y).mark_line(strokeWidth=2))

    def bins(self, bins: pd.DataFrame) -> Chart:
        """Draw the loss of each bin, on the lowest axis."""
        y = alt.Y("neighbor:N", title="Bins of a posterior draw", sort=self.names)
        return self.over_limits(self.at_loss(bins, y).mark_tick(thickness=2, size=16))


def _y(field: str, title: str, **scale: Any) -> alt.Y:
    """Return an axis of y."""
    return alt.Y(field, title=title).scale(**scale).axis(tickCount=3)


def _posterior(loss: np.ndarray, prior: float) -> np.ndarray:
    """Return the posterior probability of the true value for a privacy loss."""
    return 1 / (1 + np.exp(-loss) * (1 - prior) / prior)


def _tail(rows: pd.DataFrame, end: float) -> pd.DataFrame:
    """Return delta against one neighbor at values of epsilon from 0 to `end`.

    delta(epsilon) = sum_z p(z) max(1 - exp(epsilon - loss(z)), 0)
    """
    epsilon = np.linspace(0, end, 61)
    excess = np.maximum(-np.expm1(epsilon[:, None] - rows["loss"].to_numpy()), 0)
    delta = excess @ rows["probability"].to_numpy()
    neighbor = rows["neighbor"].iloc[0]
    columns = {"neighbor": neighbor, "loss": epsilon, "delta": delta}
    return pd.DataFrame(columns)
