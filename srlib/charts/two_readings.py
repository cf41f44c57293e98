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
)

_UNIT = alt.Scale(domain=[0, 1])


def two_readings(
    frame: pd.DataFrame, *, epsilon: float, prior: float, x: int, description: str
) -> Chart:
    """Draw the table of log p(release | data set) and both of its readings, with sliders.

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
    frame = frame.reset_index(drop=True)
    n, last = (int(frame[name].max()) for name in ("x", "release"))
    budgets = np.unique(frame["epsilon"])
    step = float(np.diff(budgets).mean()) if len(budgets) > 1 else 1.0
    start = float(budgets[np.abs(budgets - epsilon).argmin()])
    of_data = frame[(frame["epsilon"] == start) & (frame["x"] == x)]
    release = int(of_data.loc[of_data["log_ratio"].idxmax(), "release"])
    of_epsilon = _range("epsilon", float(budgets[0]), float(budgets[-1]), step)
    of_prior = _range("prior probability of the true value", 0.01, 0.99, 0.01)
    kept = f"abs(datum.epsilon - epsilon) < {significant(step / 2)}"
    base = (
        alt.Chart(_packed(frame))
        .transform_filter(kept)
        .transform_flatten(list(_PACKED))
    )
    # Posterior odds are prior odds times the ratio of the two entries.
    base = base.transform_calculate(
        truth="datum.x == data_x",
        other="datum.x == (data_x == 0 ? 1 : data_x - 1)",
        posterior="1 / (1 + exp(-datum.log_ratio) * (1 - prior) / prior)",
    )
    width = min(WIDTH - 90, 110 * (last + 1))
    panels = [
        _sentences(base).properties(height=64, width=width),
        _entries(base, n, last, x, release).properties(
            height=23 * (n + 2), width=width
        ),
        _posteriors(base, last).properties(height=74, width=width),
        _release_probabilities(base, last).properties(height=30, width=width),
    ]
    presets = {"a coin flip": {"prior": 0.5}, "a rare disease": {"prior": 0.01}}
    drawn = alt.vconcat(*panels, spacing=6).add_params(  # all of it on one screen
        alt.param(name="epsilon", value=significant(start), bind=of_epsilon),
        alt.param(name="prior", value=significant(prior), bind=of_prior),
    )
    return drawn.properties(usermeta={"presets": presets}, description=description)


def _range(label: str, low: float, high: float, step: float) -> Any:
    low, high, step = (significant(number) for number in (low, high, step))
    return alt.binding_range(min=low, max=high, step=step, name=f"{label} ")


def _picked(name: str, field: str, value: int, label: str, last: int) -> Any:
    """Return a slider that clicks also move, by the row and column of the clicked mark."""
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


# Axes whose labels are drawn as marks.
_NAMED: dict[str, Any] = {"labels": False, "ticks": False, "domain": False}
# Columns that change within a row of the table and are packed into lists.
_PACKED = ("release", "log_prob", "log_ratio", "attains")


def _packed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per row of each table: a fifth of the size, and flattened when drawn."""
    whole = compact(frame).assign(attains=frame["attains"].astype(int))
    rows = whole.groupby(["epsilon", "x"], sort=False)
    packed = rows[list(_PACKED)].agg(list)
    return packed.join(
        rows[["exact_epsilon", "conditional_epsilon"]].first()
    ).reset_index()


def _sentences(base: alt.Chart) -> Chart:
    """Draw sentences with the results at the sliders, in lines short enough for a phone."""
    lines = (
        "'Pairs of rows (black): exact epsilon ' + format(datum.exact_epsilon, '.2f')",
        "'… conditional epsilon of X = ' + data_x + ': ' + "
        "format(datum.conditional_epsilon, '.2f')",
        "'One column (orange): X* = ' + chosen_release + ', prior ' + format(prior, '.2f') + "
        "', posterior ' + format(datum.posterior, '.2f')",
        "'… odds multiplied by ' + format(exp(datum.log_ratio), '.2f') + ', at most by ' + "
        "format(exp(datum.exact_epsilon), '.2f')",
    )
    chosen = base.transform_filter("datum.truth && datum.release == chosen_release")
    return alt.layer(
        *(
            chosen.transform_calculate(sentence=line)
            .mark_text(align="left", baseline="top", fontSize=13)
            .encode(x=alt.value(0), y=alt.value(17 * i), text="sentence:N")
            for i, line in enumerate(lines)
        )
    )


def _entries(base: alt.Chart, n: int, last: int, x: int, release: int) -> Chart:
    """Draw the table with clickable names, and frames around the compared entries."""
    columns = _release_axis(
        last,
        "Release X* (entries: log probabilities)",
        orient="top",
        titlePadding=20,
        **_NAMED,
    )
    y = alt.Y(
        "top:Q",
        title="Data set X",
        scale=alt.Scale(domain=[n + 1.5, -0.5], nice=False),
        # The title is above the names of the rows.
        axis=alt.Axis(grid=False, titleX=-22, titleY=-24, **_NAMED),
    )
    ends = {"x": columns, "x2": "right:Q", "y": y, "y2": "bottom:Q"}

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

    shade = alt.Scale(
        domain=[-7, 0], range=["#FFFFFF", "#56B4E9"], clamp=True, interpolate="rgb"
    )
    pairs = base.transform_filter("datum.attains")
    compared = base.transform_filter(
        "datum.release == chosen_release && (datum.truth || datum.other)"
    )
    frame = {"filled": False, "strokeWidth": 3}
    middle = base.transform_calculate(left="datum.release", top="datum.x")
    of_row = middle.transform_filter("datum.release == chosen_release")
    of_column = middle.transform_filter("datum.truth")
    loss = of_column.transform_calculate(top=f"{n + 1}")
    edge = loss.transform_filter(f"datum.release == {last}")
    beside: Any = {"at": alt.value("width"), "align": "left", "dx": 5}

    def words(
        rows: alt.Chart, of: Any, at: Any = columns, y: Any = y, **mark: Any
    ) -> alt.Chart:
        return rows.mark_text(**mark).encode(x=at, y=y, text=of)

    picked = (  # Vega shows the last slider first
        _picked("chosen", "release", release, "release, X*", last),
        _picked("data", "x", x, "ones in the data, X", n),
    )
    return alt.layer(
        boxes(base, 0, stroke="white", cursor="pointer")
        .encode(
            color=alt.Color("log_prob:Q", legend=None, scale=shade),
            tooltip=[
                alt.Tooltip("x:Q", title="data set X"),
                alt.Tooltip("release:Q", title="release X*"),
                alt.Tooltip("log_prob:Q", title="log probability", format=".2f"),
            ],
        )
        .add_params(*picked),
        boxes(pairs, 0.03, 2, stroke=INK, **frame),
        boxes(compared, 0.1, stroke=TRUTH, **frame),
        words(middle, alt.Text("log_prob:Q", format=".2f"), fontSize=13, color=INK),
        words(loss, alt.Text("log_ratio:Q", format="+.2f"), fontSize=13),
        words(of_row, "x:Q", alt.value(-8), align="right", cursor="pointer").encode(
            tooltip=alt.value("Click to choose this data set")
        ),
        words(of_column, "release:Q", y=alt.value(-10), cursor="pointer").encode(
            tooltip=alt.value("Click to choose this release")
        ),
        words(
            edge,
            alt.value("◀ true X"),
            y="x:Q",
            color=TRUTH,
            fontWeight="bold",
            **beside,
        ),
        words(edge, alt.value("privacy loss"), **beside),
    )


def _posteriors(base: alt.Chart, last: int) -> Chart:
    """Draw the posterior probability of the true value for each release, and its bounds."""
    rows = base.transform_filter("datum.truth")
    once = rows.transform_filter("datum.release == chosen_release").transform_calculate(
        prior="prior",
        least="1 / (1 + exp(datum.exact_epsilon) * (1 - prior) / prior)",
        most="1 / (1 + exp(-datum.exact_epsilon) * (1 - prior) / prior)",
    )
    # The title is above the numbers of the bars.
    title = "Posterior probability of the true value"
    y = alt.Y("posterior:Q", title=title, scale=_UNIT, axis=alt.Axis(titleY=-22))
    bars, numbers = _bars(
        rows, last, y, None, **_NAMED
    )  # below the names of the columns
    rules = [
        once.mark_rule(**PRINTED, style="ink").encode(y=f"{name}:Q")
        for name in ("least", "most")
    ]
    return alt.layer(
        bars,
        *rules,
        once.mark_rule(**REFERENCE).encode(y="prior:Q"),
        numbers,
    )


def _release_probabilities(base: alt.Chart, last: int) -> Chart:
    """Draw the probability of each release given the data."""
    rows = base.transform_filter("datum.truth").transform_calculate(
        p="exp(datum.log_prob)"
    )
    y = alt.Y(
        "p:Q", title="p(X* | X)", scale=_UNIT, axis=alt.Axis(tickCount=2, titleY=-22)
    )
    return alt.layer(*_bars(rows, last, y, "Release X*"))


def _bars(
    rows: alt.Chart, last: int, y: alt.Y, title: str | None, **axis: Any
) -> tuple[alt.Chart, alt.Chart]:
    """Return bars of the releases, the chosen one highlighted, and the numbers above them."""
    x = _release_axis(last, title, **axis)
    color = (
        alt.when("datum.release == chosen_release")
        .then(alt.value(TRUTH))
        .otherwise(alt.value(NEUTRAL))
    )
    placed = rows.transform_calculate(
        left="datum.release - 0.3", right="datum.release + 0.3"
    )
    middle = rows.transform_calculate(left="datum.release")
    bars = placed.mark_rect().encode(
        x=x, x2="right:Q", y=y, y2=alt.datum(0), color=color
    )
    # Above the panel, to avoid the lines in it.
    text = alt.Text(y.shorthand, format=".2~g")
    return bars, middle.mark_text().encode(x=x, y=alt.value(-8), text=text)


def _release_axis(last: int, title: str | None, **axis: Any) -> alt.X:
    scale = alt.Scale(domain=[-0.5, last + 0.5], nice=False)
    ticks = alt.Axis(values=list(range(last + 1)), format="d", grid=False, **axis)
    return alt.X("left:Q", title=title, scale=scale, axis=ticks)
