"""The table of log p(release | data set) with both readings of it, to be moved by sliders."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from srlib.charts.style import (
    INK,
    NEUTRAL,
    PRINTED,
    REFERENCE,
    TRUTH,
    WIDTH,
    Chart,
    compact,
    significant,
)

_UNIT = alt.Scale(domain=[0, 1])


def two_readings(
    frame: pd.DataFrame, *, epsilon: float, prior: float, x: int, description: str
) -> Chart:
    """The table of log p(release | data set) with both readings of it, to be moved by sliders.

    Parameters
    ----------
    frame : DataFrame
        One row for each entry of the tables of one mechanism: epsilon, evenly spaced; x and
        release, positions of the row and the column; log_prob; log_ratio, log_prob less that of
        the data with the record at risk changed; attains, whether this row and the next one attain
        the exact epsilon in this column; conditional_epsilon, of the row; exact_epsilon.
    epsilon, prior : float
        Where the first two sliders start: the budget, at the nearest one that there is, and the
        intruder's prior probability of the truth, in [0.01, 0.99].
    x : int
        Row of the data where the third slider starts. The fourth, the release, starts where the
        posterior is largest.
    description : str
        What the figure shows, for readers who cannot see it.

    Returns
    -------
    altair chart
        Above, the table: black frames around the neighbors and columns that attain the exact
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
    of_data = frame[(frame["epsilon"] == start) & (frame["x"] == x)]
    release = int(of_data.loc[of_data["log_ratio"].idxmax(), "release"])
    sliders = [
        _slider("epsilon", "epsilon", start, budgets[0], budgets[-1], step),
        _slider("prior", "prior probability of the truth", prior, 0.01, 0.99, 0.01),
        _slider("data", "ones in the data, X", x, 0, n, 1),
        _slider("release", "release, X*", release, 0, last, 1),
    ]
    kept = f"abs(datum.epsilon - epsilon) < {significant(step / 2)}"
    base = alt.Chart(_packed(frame)).transform_filter(kept).transform_flatten(list(_PACKED))
    # Posterior odds are prior odds times the ratio of the two entries.
    base = base.transform_calculate(
        truth="datum.x == data",
        other="datum.x == (data == 0 ? 1 : data - 1)",
        posterior="1 / (1 + exp(-datum.log_ratio) * (1 - prior) / prior)",
    )
    width = min(WIDTH - 90, 110 * (last + 1))
    panels = [
        _sentences(base).properties(height=78, width=width),
        _entries(base, n, last).properties(height=34 * (n + 1), width=width),
        _posteriors(base, last).properties(height=130, width=width),
        _release_probabilities(base, last).properties(height=60, width=width),
    ]
    presets = {"a coin flip": {"prior": 0.5}, "a rare disease": {"prior": 0.01}}
    drawn = alt.vconcat(*panels).add_params(*sliders)
    return drawn.properties(usermeta={"presets": presets}, description=description)


def _slider(name: str, label: str, value: float, low: float, high: float, step: float) -> Any:
    start, low, high, step = (significant(float(number)) for number in (value, low, high, step))
    bind = alt.binding_range(min=low, max=high, step=step, name=f"{label} ")
    return alt.param(name=name, value=start, bind=bind)


# What changes within a row of the table, and so is packed into a list of it.
_PACKED = ("release", "log_prob", "log_ratio", "attains")


def _packed(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each row of each table: a fifth of the size, and flattened when drawn."""
    whole = compact(frame).assign(attains=frame["attains"].astype(int))
    rows = whole.groupby(["epsilon", "x"], sort=False)
    packed = rows[list(_PACKED)].agg(list)
    return packed.join(rows[["exact_epsilon", "conditional_epsilon"]].first()).reset_index()


def _sentences(base: alt.Chart) -> Chart:
    """What each reading says, in words that follow the sliders; short lines, for a telephone."""
    lines = (
        "'Pairs of rows (black): exact epsilon ' + format(datum.exact_epsilon, '.2f')",
        "'… and from X = ' + data + ' alone ' + format(datum.conditional_epsilon, '.2f')",
        "'One column (orange): X* = ' + release + ' turns ' + format(prior, '.2f') + "
        "' into ' + format(datum.posterior, '.2f')",
        "'… odds × ' + format(exp(datum.log_ratio), '.2f') + ', at most × ' + "
        "format(exp(datum.exact_epsilon), '.2f')",
    )
    chosen = base.transform_filter("datum.truth && datum.release == release")
    return alt.layer(
        *(
            chosen.transform_calculate(said=line)
            .mark_text(align="left", baseline="top", fontSize=13)
            .encode(x=alt.value(0), y=alt.value(20 * i), text="said:N")
            .properties(name=f"said_{'abcd'[i]}")
            for i, line in enumerate(lines)
        )
    )


def _entries(base: alt.Chart, n: int, last: int) -> Chart:
    """The table, with frames around what each reading compares."""
    x = _release_axis(last, "Release X* (entries: log probabilities)", orient="top")
    y = alt.Y(
        "top:Q",
        title="Data set X",
        scale=alt.Scale(domain=[n + 0.5, -0.5], nice=False),
        # The title stands above the labels and the title of the other axis.
        axis=alt.Axis(values=list(range(n + 1)), format="d", grid=False, titleY=-42),
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
            color=alt.Color("log_prob:Q", legend=None, scale=shade),
            tooltip=[
                alt.Tooltip("x:Q", title="data set X"),
                alt.Tooltip("release:Q", title="release X*"),
                alt.Tooltip("log_prob:Q", title="log probability", format=".2f"),
            ],
        ),
        boxes(pairs, 0.03, 2, stroke=INK, **frame),
        boxes(compared, 0.1, stroke=TRUTH, **frame),
        middle.mark_text(fontSize=13, color=INK).encode(x=x, y=y, text=text),
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
    # Titles stand above the numbers of the bars.
    y = alt.Y("posterior:Q", title="Posterior of truth", scale=_UNIT, axis=alt.Axis(titleY=-22))
    bars, numbers = _bars(rows, last, y, None)
    rules = [
        once.mark_rule(**PRINTED, style="ink").encode(y=f"{name}:Q") for name in ("least", "most")
    ]
    return alt.layer(bars, *rules, once.mark_rule(**REFERENCE).encode(y="prior:Q"), numbers)


def _release_probabilities(base: alt.Chart, last: int) -> Chart:
    """How probable each release is, given the data."""
    rows = base.transform_filter("datum.truth").transform_calculate(p="exp(datum.log_prob)")
    y = alt.Y("p:Q", title="p(X* | X)", scale=_UNIT, axis=alt.Axis(tickCount=2, titleY=-22))
    return alt.layer(*_bars(rows, last, y, "Release X*"))


def _bars(rows: alt.Chart, last: int, y: alt.Y, title: str | None) -> tuple[alt.Chart, alt.Chart]:
    """A bar for each release, the chosen one's in another color, and their numbers above."""
    x = _release_axis(last, title)
    color = (
        alt.when("datum.release == release").then(alt.value(TRUTH)).otherwise(alt.value(NEUTRAL))
    )
    placed = rows.transform_calculate(left="datum.release - 0.3", right="datum.release + 0.3")
    middle = rows.transform_calculate(left="datum.release")
    bars = placed.mark_rect().encode(x=x, x2="right:Q", y=y, y2=alt.datum(0), color=color)
    # Above the panel, where no rule crosses them.
    text = alt.Text(y.shorthand, format=".2~g")
    return bars, middle.mark_text().encode(x=x, y=alt.value(-8), text=text)


def _release_axis(last: int, title: str | None, **axis: Any) -> alt.X:
    scale = alt.Scale(domain=[-0.5, last + 0.5], nice=False)
    ticks = alt.Axis(values=list(range(last + 1)), format="d", grid=False, **axis)
    return alt.X("left:Q", title=title, scale=scale, axis=ticks)
