"""Figures of disclosure risk, and of what it costs in usefulness."""

import math

import altair as alt
import numpy as np
import pandas as pd

from srlib.charts.style import (
    REFERENCE,
    WIDTH,
    Chart,
    colors,
    compact,
    in_order,
    in_rows,
    in_words,
    listing,
    method_color,
    number_axis,
    ordered_color,
    panels,
    reference_rule,
    significant,
    told,
    tooltip,
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
    estimators = in_order(frame["estimator"])
    sentences = []
    # A mean rank of 2.5 counts as 2.
    ranks = np.ceil(frame["rank"] - 0.5).astype(int).groupby(frame["estimator"].to_numpy())
    most = [*ranks.value_counts(), *ranks.size() / n_candidates]
    y = number_axis("count", "Combinations", most, False, alt.Y, zero=True, most=5)

    def panel(estimator: str, rows: pd.DataFrame, last: bool) -> Chart:
        count = ranks.get_group(estimator).value_counts()
        count = count.reindex(range(1, n_candidates + 1), fill_value=0)
        bars = pd.DataFrame({"rank": count.index, "count": count.to_numpy()})
        drawn = (
            alt.Chart(bars)
            .mark_bar(color=colors(estimators)[estimator])
            .encode(
                x=alt.X(
                    "rank:O",
                    title="Rank of the true combination (1: most probable)" if last else None,
                    axis=alt.Axis(labelAngle=0, labelOverlap=True, labelSeparation=6, grid=False),
                ),
                y=y,
                tooltip=[
                    alt.Tooltip("rank:O", title="rank"),
                    alt.Tooltip("count:Q", title="combinations", format=",d"),
                ],
            )
        )
        sentences.append(
            f"{in_words(estimator)}: rank 1 for {count[1]} of {len(rows)}, ranks 1 to 3 for "
            f"{count.loc[:3].sum()}, median rank {rows['rank'].median():g}, minimum "
            f"{count.min()} at rank {count.idxmin()}, maximum {count.max()} at rank "
            f"{count.idxmax()}."
        )
        return alt.layer(drawn, reference_rule(len(rows) / n_candidates)).properties(
            title=in_words(estimator), width=WIDTH - 20, height=150
        )

    return panels(frame, "estimator", panel).properties(
        description=(
            f"Histogram of the rank of the true combination among {n_candidates} candidates. "
            + " ".join(sentences)
            + f" If the data told nothing, each rank would have 1 in {n_candidates}."
        )
    )


def risk_histogram(frame: pd.DataFrame, prior: float, ticks: int = 8) -> Chart:
    """Posterior probabilities of the true combinations (Figure 4).

    Parameters
    ----------
    frame : DataFrame
        probability and estimator.
    prior : float
        The prior probability, drawn as a dotted rule.
    ticks : int
        About how many labels the axis of probabilities has.

    Returns
    -------
    altair chart
        A panel for each estimator on the same bins; counts on a square-root scale, so that
        single combinations show.
    """
    estimators = in_order(frame["estimator"])
    edges = np.linspace(0, max(frame["probability"].max(), prior) * 1.0001, 41)
    sentences = []
    counts = {
        name: np.histogram(rows, edges)[0]
        for name, rows in frame.groupby("estimator", sort=False)["probability"]
    }
    most = max(int(count.max()) for count in counts.values())

    def panel(estimator: str, rows: pd.DataFrame, last: bool) -> Chart:
        count = counts[estimator]
        bars = pd.DataFrame({"low": edges[:-1], "high": edges[1:], "count": count})
        drawn = (
            alt.Chart(compact(bars[count > 0]))
            .mark_bar(binSpacing=0.5, color=colors(estimators)[estimator])
            .encode(
                x=alt.X(
                    "low:Q",
                    bin="binned",
                    title="Posterior probability of the true combination" if last else None,
                    scale=alt.Scale(domain=[0, significant(edges[-1])]),
                    axis=alt.Axis(grid=False, tickCount=ticks),
                ),
                x2="high:Q",
                y=alt.Y(
                    "count:Q",
                    title="Combinations (√ scale)",
                    scale=alt.Scale(type="sqrt", domain=[0, most], nice=False),
                    axis=alt.Axis(values=_square_root_ticks(most)),
                ),
                tooltip=[
                    alt.Tooltip("low:Q", title="from", format=",.3~r"),
                    alt.Tooltip("high:Q", title="to", format=",.3~r"),
                    alt.Tooltip("count:Q", title="combinations", format=",d"),
                ],
            )
        )
        rule = alt.Chart(pd.DataFrame({"prior": [significant(prior)]}))
        sentences.append(
            f"{in_words(estimator)}: minimum {told(rows['probability'].min())}, median "
            f"{told(rows['probability'].median())}, maximum {told(rows['probability'].max())}."
        )
        return alt.layer(drawn, rule.mark_rule(**REFERENCE).encode(x="prior:Q")).properties(
            title=in_words(estimator), width=WIDTH - 20, height=150
        )

    return panels(frame, "estimator", panel).properties(
        description=(
            "Histogram of the posterior probability of the true combination. "
            + " ".join(sentences)
            + f" A dotted rule marks the prior probability, {told(prior)}."
        )
    )


def reliability(frame: pd.DataFrame) -> Chart:
    """Share of candidates that are true against the probability that they got.

    Parameters
    ----------
    frame : DataFrame
        curve (text), claimed, found, found_low and found_high, all in [0, 1]: a row for each curve
        and bin.

    Returns
    -------
    altair chart
        A point for each bin with its interval, and the dotted diagonal of calibrated beliefs: below
        it more is claimed than found. A click in the legend leaves one curve.
    """
    names = in_order(frame["curve"])
    pick = alt.selection_point(name="pick", fields=["curve"], bind="legend")
    base = alt.Chart(compact(frame)).encode(
        x=alt.X("claimed:Q", title="Probability claimed", scale=alt.Scale(domain=[0, 1])),
        color=method_color("curve", names),
        opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.1)),
    )
    if len(names) > 1:
        base.encoding.color["legend"] = alt.Legend(columns=in_rows(names))
    y = alt.Y("found:Q", title="Share found", scale=alt.Scale(domain=[0, 1]))
    said = {"claimed": "claimed", "found": "found", "found_low": "from", "found_high": "to"}
    layers = [
        alt.Chart(pd.DataFrame({"x": [0, 1]})).mark_line(**REFERENCE).encode(x="x:Q", y="x:Q"),
        base.mark_rule(strokeWidth=2).encode(
            y=alt.Y("found_low:Q", title="Share found"), y2="found_high:Q"
        ),
        base.mark_point(filled=True, size=45)
        .encode(y=y, tooltip=tooltip("curve", **said))
        .add_params(pick),
    ]
    inside = frame["claimed"].between(frame["found_low"], frame["found_high"])
    sentences = "; ".join(
        f"{name}: {inside[rows.index].sum()} of {len(rows)} bins, largest difference "
        f"{(rows['claimed'] - rows['found']).abs().max():.2f}, found minimum "
        f"{told(rows['found'].min())}, maximum {told(rows['found'].max())}"
        for name, rows in frame.groupby("curve", sort=False)
    )
    return alt.layer(*layers).properties(
        width=380,
        height=380,
        description=(
            "Points with intervals of the share found against the probability claimed, beside the "
            f"diagonal. The interval contains the claimed probability in: {sentences}."
        ),
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
        epsilon=[f"{e:g}" for e in frame["epsilon"]],
        data=np.where(frame["all_zeros"], names[1], names[0]),
    )
    epsilons = in_order(data["epsilon"])
    pick = alt.selection_point(name="pick", fields=["epsilon"], bind="legend")
    title = "Loss of precision U (log10, larger is worse)"
    x = number_axis("utility", title, frame["utility"], False, alt.X, most=9)
    y = number_axis("risk", "Risk R", frame["risk"], False, alt.Y)
    sentences: list[str] = []

    def panel(name: str, rows: pd.DataFrame, last: bool) -> Chart:
        points = (
            alt.Chart(compact(rows[["utility", "risk", "epsilon", "data"]]))
            .mark_point(size=55, strokeWidth=1.6)
            .encode(
                x=x if last else x.title(None),
                y=y,
                tooltip=tooltip("data", epsilon=("ε", ""), utility="loss U", risk="risk R"),
                color=ordered_color("epsilon", epsilons, "ε"),
                shape=alt.Shape(
                    "data:N",
                    title=None,
                    scale=alt.Scale(domain=names, range=["circle", "square"]),
                ),
                opacity=alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.1)),
            )
        )
        # A selection belongs to one panel and holds in all.
        points = points if sentences else points.add_params(pick).properties(name="first")
        by_epsilon = rows.groupby("epsilon", sort=False)
        ranges = "; ".join(
            f"epsilon {e}: R from minimum {told(g['risk'].min())} to maximum "
            f"{told(g['risk'].max())}, U from {told(g['utility'].min())} to "
            f"{told(g['utility'].max())}"
            for e, g in by_epsilon
        )
        sentences.append(f"{name}: {ranges}.")
        return points.properties(title=str(name), width=WIDTH - 20, height=210)

    return panels(data, "panel", panel).properties(
        description="Scatter of risk R against loss of precision U. " + " ".join(sentences)
    )


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
    y = number_axis("relative_risk", "Relative risk RR (log scale)", [low, top], True, alt.Y)
    x = alt.X("risk:Q", title="Risk R", scale=alt.Scale(domain=[0, 1]))
    region = (
        alt.Chart(compact(rules.assign(top=y["scale"]["domain"][1])))
        .mark_rect(color="#D43D51", opacity=0.22)
        .encode(x=alt.X("r_at_least:Q"), x2="r_at_most:Q", y=alt.Y("rr_at_most:Q"), y2="top:Q")
    )
    names = in_order(curves["curve"])
    thin = (
        alt.Chart(compact(curves[["curve", "risk", "relative_risk"]]))
        .mark_line(strokeWidth=1.6)
        .encode(
            x=x,
            y=y,
            color=ordered_color("curve", names, None),
            tooltip=[alt.Tooltip("curve:N", title="title")],
        )
    )
    thick = (
        alt.Chart(compact(stretches[["curve", "stretch", "risk", "relative_risk"]]))
        .mark_line(strokeWidth=5, opacity=0.8)
        .encode(x=x, y=y, detail="stretch:N", color=ordered_color("curve", names, None))
    )
    broken = in_order(stretches["curve"])
    return alt.layer(region, thin, thick).properties(
        width=WIDTH - 20,
        height=320,
        description=(
            f"Relative risk against risk over all priors for {len(names)} releases: "
            f"{listing(names)}. The minimum is {told(curves['relative_risk'].min())}, the maximum "
            f"{told(curves['relative_risk'].max())}. Shaded is what the rules do not accept. "
            + (f"It is entered by: {listing(broken)}." if broken else "No curve enters it.")
        ),
    )


def _square_root_ticks(largest: float) -> list[int]:
    """Round counts, at least an eighth of the axis apart on a square-root scale."""
    ticks = [0]
    for count in (digit * 10**power for power in range(9) for digit in (1, 2, 5)):
        if count <= largest and math.sqrt(count) - math.sqrt(ticks[-1]) > math.sqrt(largest) / 8:
            ticks.append(count)
    return ticks
