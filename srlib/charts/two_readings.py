"""Interactive table of log p(release | data set): exact epsilon, and the posterior."""

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
    tips,
)

_UNIT = alt.Scale(domain=[0, 1])


def two_readings(
    frame: pd.DataFrame,
    *,
    epsilon: float,
    prior: float,
    x: int,
    description: str,
) -> Chart:
    """Draw the table of log p(release | data set) and its two readings, with sliders.

    Parameters
    ----------
    frame : DataFrame
        One row per entry of the tables of a mechanism at several budgets: epsilon,
        evenly spaced; x and release, positions of the row and the column; log_prob;
        log_ratio, log_prob minus that of the data with the record at risk replaced;
        attains, whether this row and the next attain the exact epsilon in this column;
        conditional_epsilon of the row; exact_epsilon.
    epsilon, prior : float
        Initial values of the first two sliders: the budget, rounded to one in the
        frame, and the intruder's prior probability of the true value, in [0.01, 0.99].
    x : int
        Row of the data at which the third slider starts. The fourth, the release,
        starts at the largest posterior. Clicks on the names of rows and columns, and on
        entries, move them too.
    description : str
        Description of the figure, for readers who cannot see it.

    Returns
    -------
    altair chart
        At the top the table. Black frames mark the neighbors and columns that attain
        the exact epsilon. Orange frames mark the two entries that the intruder compares
        in the column of the release. Below the table are the privacy losses of the
        data's row. In the middle is the posterior probability of the true value for
        each release, with a dotted line at the prior and dashed lines at the bounds
        from epsilon. At the bottom is the probability of each release given the data.
    """
    n = int(frame["x"].max())
    last = int(frame["release"].max())
    budgets = np.unique(frame["epsilon"])
    step = np.diff(budgets).mean() if len(budgets) > 1 else 1.0
    start = budgets[np.abs(budgets - epsilon).argmin()]
    clicked = [  # Vega shows the last slider first
        _clicked(
            "chosen", "release", _best_release(frame, start, x), "release, X*", last
        ),
        _clicked("data", "x", x, "ones in the data, X", n),
    ]
    drawn = _panels(_chosen_table(frame, step), n, last, clicked).add_params(
        alt.param(
            name="epsilon",
            value=significant(start),
            bind=_range("epsilon", budgets[0], budgets[-1], step),
        ),
        alt.param(
            name="prior",
            value=significant(prior),
            bind=_range("prior probability of the true value", 0.01, 0.99, 0.01),
        ),
    )
    presets = {"a coin flip": {"prior": 0.5}, "a rare disease": {"prior": 0.01}}
    return drawn.properties(usermeta={"presets": presets}, description=description)


def _best_release(frame: pd.DataFrame, epsilon: float, x: int) -> int:
    """Return the release with the largest posterior."""
    row = frame[(frame["epsilon"] == epsilon) & (frame["x"] == x)]
    return int(row["release"].iloc[row["log_ratio"].argmax()])


def _clicked(
    name: str,
    field: str,
    value: int,
    label: str,
    last: int,
) -> alt.Parameter:
    """Return a slider that clicks on rows and columns also move."""
    bind: Any = {field: _range(label, 0, last, 1)}
    click = "click[event.item && event.item.datum && event.item.datum.release >= 0]"
    return alt.selection_point(
        name=name,
        fields=[field],
        value=[{field: value}],
        bind=bind,
        on=click,
        clear=False,
    )


def _range(
    label: str,
    low: float,
    high: float,
    step: float,
) -> Any:
    return alt.binding_range(
        min=significant(low),
        max=significant(high),
        step=significant(step),
        name=f"{label} ",
    )


def _chosen_table(frame: pd.DataFrame, step: float) -> alt.Chart:
    """Return the entries at the chosen budget, with what the intruder compares."""
    is_chosen = f"abs(datum.epsilon - epsilon) < {significant(step / 2)}"
    # One row per row of each table: a fifth of the size.
    whole = compact(frame).assign(attains=frame["attains"].astype(int))
    row_columns = ["epsilon", "x", "exact_epsilon", "conditional_epsilon"]
    packed = whole.groupby(row_columns, sort=False)[list(_PACKED)].agg(list)
    table = alt.Chart(packed.reset_index()).transform_filter(is_chosen)
    # Posterior odds are prior odds times the ratio of the two entries.
    return table.transform_flatten(list(_PACKED)).transform_calculate(
        truth="datum.x == data_x",
        other="datum.x == (data_x == 0 ? 1 : data_x - 1)",
        posterior="1 / (1 + exp(-datum.log_ratio) * (1 - prior) / prior)",
    )


def _panels(
    table: alt.Chart,
    n: int,
    last: int,
    clicked: list[alt.Parameter],
) -> alt.VConcatChart:
    """Draw the panels, so that all of them fit on one screen."""
    width = min(WIDTH - 90, 110 * (last + 1))
    panels = [
        (_sentences(table), 64),
        (_entries(table, n, last, clicked), 23 * (n + 2)),
        (_posteriors(table, last), 74),
        (_release_probabilities(table, last), 30),
    ]
    sized = [panel.properties(height=size, width=width) for panel, size in panels]
    return alt.vconcat(*sized, spacing=6)


# Axes whose labels are drawn as marks.
_NAMED: dict[str, Any] = {"labels": False, "ticks": False, "domain": False}
# Columns that change within a row of the table and are packed into lists.
_PACKED = ("release", "log_prob", "log_ratio", "attains")


def _sentences(base: alt.Chart) -> Chart:
    """Draw sentences with the results, in lines short enough for a phone."""
    lines = (
        "'Pairs of rows (black): exact epsilon ' + format(datum.exact_epsilon, '.2f')",
        "'… conditional epsilon of X = ' + data_x + ': ' + "
        "format(datum.conditional_epsilon, '.2f')",
        "'One column (orange): X* = ' + chosen_release + ', prior ' + "
        "format(prior, '.2f') + ', posterior ' + format(datum.posterior, '.2f')",
        "'… odds multiplied by ' + format(exp(datum.log_ratio), '.2f') + "
        "', at most by ' + format(exp(datum.exact_epsilon), '.2f')",
    )
    chosen = base.transform_filter("datum.truth && datum.release == chosen_release")
    drawn = []
    for i, line in enumerate(lines):
        sentence = chosen.transform_calculate(sentence=line)
        text = sentence.mark_text(align="left", baseline="top", fontSize=13)
        placed = text.encode(
            x=alt.value(0),
            y=alt.value(17 * i),
            text="sentence:N",
        )
        drawn.append(placed)
    return alt.layer(*drawn)


def _entries(
    base: alt.Chart,
    n: int,
    last: int,
    clicked: list[alt.Parameter],
) -> Chart:
    """Draw the table with clickable names, and frames around the compared entries."""
    x, y = _table_axes(n, last)
    ends: dict[str, Any] = {"x": x, "x2": "right:Q", "y": y, "y2": "bottom:Q"}
    compared = "datum.release == chosen_release && (datum.truth || datum.other)"
    pairs = _boxes(base.transform_filter("datum.attains"), 0.03, height=2)
    entries = _boxes(base.transform_filter(compared), 0.1)
    texts = base.transform_calculate(left="datum.release", top="datum.x")
    texts = texts.encode(x=x, y=y)
    numbers = texts.mark_text(fontSize=13, color=INK)
    losses, *beside = _losses(texts, n, last)
    return alt.layer(
        _cells(base).add_params(*clicked).encode(**ends),
        pairs.mark_rect(filled=False, stroke=INK, strokeWidth=3).encode(**ends),
        entries.mark_rect(filled=False, stroke=TRUTH, strokeWidth=3).encode(**ends),
        numbers.encode(text=alt.Text("log_prob:Q", format=".2f")),
        losses,
        *_names(texts),
        *beside,
    )


def _table_axes(n: int, last: int) -> tuple[alt.X, alt.Y]:
    """Return the axes of columns and rows, without the names of either."""
    title = "Release X* (entries: log probabilities)"
    columns = _release_axis(last, title, orient="top", titlePadding=20, **_NAMED)
    rows = alt.Y("top:Q", title="Data set X").scale(domain=[n + 1.5, -0.5], nice=False)
    # The title is above the names of the rows.
    return columns, rows.axis(grid=False, titleX=-22, titleY=-24, **_NAMED)


def _boxes(
    rows: alt.Chart,
    inset: float,
    height: int = 1,
) -> alt.Chart:
    """Add the ends of boxes around entries, or around `height` of them."""
    half = 0.5 - inset
    return rows.transform_calculate(
        left=f"datum.release - {half}",
        right=f"datum.release + {half}",
        top=f"datum.x - {half}",
        bottom=f"datum.x + {height - 1 + half}",
    )


def _cells(base: alt.Chart) -> alt.Chart:
    """Draw the entries, shaded by their probability, which clicks choose."""
    heads = tips(x="data set X", release="release X*")
    heads += tips(log_prob="log probability", form=".2f")
    cells = _boxes(base, 0).mark_rect(stroke="white", cursor="pointer")
    shade = alt.Color("log_prob:Q", legend=None).scale(
        clamp=True, domain=[-7, 0], interpolate="rgb", range=["#FFFFFF", "#56B4E9"]
    )
    return cells.encode(color=shade, tooltip=heads)


def _names(texts: alt.Chart) -> list[alt.Chart]:
    """Draw the names of rows and columns, which clicks choose."""
    first = texts.transform_filter("datum.release == chosen_release")
    data_row = texts.transform_filter("datum.truth")
    return [
        first.mark_text(align="right", cursor="pointer").encode(
            x=alt.value(-8),
            text="x:Q",
            tooltip=alt.value("Click to choose this data set"),
        ),
        data_row.mark_text(cursor="pointer").encode(
            y=alt.value(-10),
            text="release:Q",
            tooltip=alt.value("Click to choose this release"),
        ),
    ]


def _losses(
    texts: alt.Chart,
    n: int,
    last: int,
) -> list[alt.Chart]:
    """Draw the losses of the data's row below the table, and words beside both."""
    losses = texts.transform_filter("datum.truth").transform_calculate(top=f"{n + 1}")
    edge = losses.transform_filter(f"datum.release == {last}")
    edge = edge.encode(x=alt.value("width"))
    beside: Any = {"align": "left", "dx": 5}
    true_row = edge.mark_text(color=TRUTH, fontWeight="bold", **beside)
    return [
        losses.mark_text(fontSize=13).encode(
            text=alt.Text("log_ratio:Q", format="+.2f")
        ),
        true_row.encode(y="x:Q", text=alt.value("◀ true X")),
        edge.mark_text(**beside).encode(text=alt.value("privacy loss")),
    ]


def _posteriors(base: alt.Chart, last: int) -> Chart:
    """Draw the posterior probability of the true value, and its bounds."""
    rows = base.transform_filter("datum.truth")
    once = rows.transform_filter("datum.release == chosen_release").transform_calculate(
        prior="prior",
        least="1 / (1 + exp(datum.exact_epsilon) * (1 - prior) / prior)",
        most="1 / (1 + exp(-datum.exact_epsilon) * (1 - prior) / prior)",
    )
    # The title is above the numbers of the bars.
    title = "Posterior probability of the true value"
    y = alt.Y("posterior:Q", title=title, scale=_UNIT).axis(titleY=-22)
    # The axis is below the names of the columns.
    bars, numbers = _bars(rows, last, y, None, **_NAMED)
    bound = once.mark_rule(**PRINTED, style="ink")
    return alt.layer(
        bars,
        bound.encode(y="least:Q"),
        bound.encode(y="most:Q"),
        once.mark_rule(**REFERENCE).encode(y="prior:Q"),
        numbers,
    )


def _release_probabilities(base: alt.Chart, last: int) -> Chart:
    """Draw the probability of each release given the data."""
    rows = base.transform_filter("datum.truth")
    rows = rows.transform_calculate(p="exp(datum.log_prob)")
    y = alt.Y("p:Q", title="p(X* | X)", scale=_UNIT).axis(tickCount=2, titleY=-22)
    return alt.layer(*_bars(rows, last, y, "Release X*"))


def _bars(
    rows: alt.Chart, last: int, y: alt.Y, title: str | None, **axis: Any
) -> tuple[alt.Chart, alt.Chart]:
    """Return bars of the releases, one highlighted, and the numbers above them."""
    x = _release_axis(last, title, **axis)
    is_chosen = alt.when("datum.release == chosen_release")
    color = is_chosen.then(alt.value(TRUTH)).otherwise(alt.value(NEUTRAL))
    wide = rows.transform_calculate(
        left="datum.release - 0.3", right="datum.release + 0.3"
    )
    bars = wide.mark_rect().encode(
        x=x,
        x2="right:Q",
        y=y,
        y2=alt.datum(0),
        color=color,
    )
    middle = rows.transform_calculate(left="datum.release")
    # Above the panel, to avoid the lines in it.
    text = alt.Text(y.shorthand, format=".2~g")
    return bars, middle.mark_text().encode(
        x=x,
        y=alt.value(-8),
        text=text,
    )


def _release_axis(last: int, title: str | None, **axis: Any) -> alt.X:
    x = alt.X("left:Q", title=title).scale(domain=[-0.5, last + 0.5], nice=False)
    ticks = list(range(last + 1))
    return x.axis(values=ticks, format="d", grid=False, **axis)
