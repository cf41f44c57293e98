"""The picture of several tools: what each risks against what it loses."""

from collections.abc import Iterator, Sequence

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.charts.style import (
    NEUTRAL,
    REFERENCE,
    WIDTH,
    Chart,
    colors,
    compact,
    short,
    significant,
    span_of,
    told,
    tooltip,
)

_SIZE = (WIDTH - 60, 300)  # pixels
_LETTER, _LINE, _GAP = 6.8, 15.0, 7.0  # pixels of a letter, a line, and around a point
# Places of a label around its point, those between the bars first.
_PLACES = ((1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0))


def side_by_side(frame: pd.DataFrame) -> Chart:
    """Risk of each tool beyond what others' records tell, against its loss, with errors.

    Parameters
    ----------
    frame : DataFrame
        label; risk and loss, shares, with the ends of their bars, risk_low, risk_high, loss_low and
        loss_high: a row a tool, and the reference in the last.

    Returns
    -------
    altair chart
        A labeled point with two bars for each tool; dotted rules through the reference. Labels lie
        where they cover neither points nor each other, where there is such a place.
    """
    names = short(frame["label"])
    domains = [span_of(frame[[f"{name}_low", f"{name}_high"]].stack()) for name in ("loss", "risk")]
    points = _pixels(frame[["loss", "risk"]].to_numpy(), domains)
    lines = [_pixels(frame[[f"loss_{a}", f"risk_{b}"]].to_numpy(), domains)
             for a, b in (("low", "low"), ("high", "high"))]  # fmt: skip
    boxes = _apart(points, [_LETTER * len(name) for name in names], *lines)
    data = frame.assign(label=names)
    data[["text_x", "text_y"]] = _values(boxes[:, :2] + [0, _LINE / 2], domains)
    x, y = (
        channel(
            f"{name}:Q",
            title=title,
            scale=alt.Scale(domain=domain, nice=False),
            axis=alt.Axis(format=".1%" if np.ptp(domain) < 0.05 else ".0%", tickCount=6),
        )
        for channel, name, title, domain in (
            (alt.X, "loss", "Loss beyond a fresh sample's", domains[0]),
            (alt.Y, "risk", "Largest risk beyond others' records", domains[1]),
        )
    )
    color = alt.Color(
        "label:N",
        scale=alt.Scale(domain=names, range=[*colors(names[:-1]).values(), NEUTRAL]),
        legend=None,
    )
    base = alt.Chart(compact(data[::-1])).encode(color=color)  # the reference behind the tools
    reference = alt.Chart(compact(data.tail(1)[["loss", "risk"]]))
    layers = [
        reference.mark_rule(**REFERENCE).encode(x=x),
        reference.mark_rule(**REFERENCE).encode(y=y),
        base.mark_rule(strokeWidth=2).encode(x="loss_low:Q", x2="loss_high:Q", y="risk:Q"),
        base.mark_rule(strokeWidth=2).encode(x="loss:Q", y="risk_low:Q", y2="risk_high:Q"),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            x="loss:Q",
            y="risk:Q",
            tooltip=tooltip(
                "label",
                risk=("risk", ".1%"),
                loss=("loss", ".1%"),
                risk_low=("risk from", ".1%"),
                risk_high=("risk to", ".1%"),
            ),
        ),
        alt.Chart(compact(data[["label", "text_x", "text_y"]]))
        .mark_text(align="left", baseline="middle")
        .encode(x="text_x:Q", y="text_y:Q", text="label:N"),
    ]
    every = "; ".join(
        f"{row.label}: risk {_told(row.risk)} ({_told(row.risk_low)} to {_told(row.risk_high)}), "
        f"loss {_told(row.loss)} ({_told(row.loss_low)} to {_told(row.loss_high)})"
        for row in data.itertuples()
    )
    least, most = (data.loc[at, "label"] for at in (data["risk"].idxmin(), data["risk"].idxmax()))
    return alt.layer(*layers).properties(
        width=_SIZE[0],
        height=_SIZE[1],
        usermeta={"scales": True},
        description=(
            "Points with bars, largest risk against loss, in percent. The minimum of the risk is "
            f"{told(100 * data['risk'].min())} for {least}, the maximum "
            f"{told(100 * data['risk'].max())} for {most}. {every}."
        ),
    )


def _told(share: float) -> str:
    return f"{significant(100 * share):.1f}"


def _pixels(values: NDArray[np.float64], domains: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return pixels from the left and from the top, (n, 2)."""
    low, high = np.transpose(domains)
    at = (values - low) / (high - low)
    return np.column_stack([at[:, 0], 1 - at[:, 1]]) * _SIZE


def _values(pixels: NDArray[np.float64], domains: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    low, high = np.transpose(domains)
    at = pixels / _SIZE
    return low + np.column_stack([at[:, 0], 1 - at[:, 1]]) * (high - low)


def _apart(
    points: NDArray[np.float64],
    widths: Sequence[float],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Place a label beside each point, as near as others leave room: left, top, right, bottom.

    The ends of bars, lower and upper, are in pixels as the points; dotted rules cross at the last.
    """
    taken: list[tuple[float, ...]] = [(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    for (left, bottom), (right, top), (x, y) in zip(lower, upper, points, strict=True):
        taken += [(left, y - 1, right, y + 1), (x - 1, top, x + 1, bottom)]
    x, y = points[-1]
    taken += [(0.0, y - 1, _SIZE[0], y + 1), (x - 1, 0.0, x + 1, _SIZE[1])]
    boxes: list[tuple[float, ...]] = []
    for (x, y), width in zip(points, widths, strict=True):
        places = list(_around(x, y, width))
        covered = [
            sum(_common(box, other) for other in taken) + 1e3 * (_outside(box) > 0)
            for box in places
        ]
        boxes.append(places[int(np.argmin(covered))])  # the first where several cover nothing
        taken.append(boxes[-1])
    return np.array(boxes)


def _around(x: float, y: float, width: float) -> Iterator[tuple[float, ...]]:
    for ring in range(6):
        for across, down in _PLACES:
            gap = _GAP + ring * _LINE * (down != 0)
            left = x + across * (_GAP + ring * _LINE * (down == 0)) - width * (1 - across) / 2
            top = y + down * gap - _LINE * (1 - down) / 2
            yield left, top, left + width, top + _LINE


def _common(box: Sequence[float], other: Sequence[float]) -> float:
    """Return the area that two boxes share."""
    across = min(box[2], other[2]) - max(box[0], other[0])
    down = min(box[3], other[3]) - max(box[1], other[1])
    return max(across, 0.0) * max(down, 0.0)


def _outside(box: Sequence[float]) -> float:
    return max(-box[0], -box[1], box[2] - _SIZE[0], box[3] - _SIZE[1], 0.0)
