"""Figures: what they show, how they are drawn, and what they are embedded as."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import altair as alt
import nbformat
import numpy as np
import pandas as pd
import pytest
import vl_convert

from srlib import charts, diagnostics, mechanism
from srlib.charts import risk, style
from srlib.mechanism import acceptance

HOSTILE = "<script>alert('&')</script>"


def joint(levels_a, levels_b):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [(a, b, s) for a in levels_a for b in levels_b for s in ("original", "synthetic")],
        columns=["level_a", "level_b", "source"],
    )
    return frame.assign(proportion=rng.dirichlet(np.ones(len(frame))) * 2, se=0.01)


def risks(n=500):
    rng = np.random.default_rng(1)
    frames = [
        pd.DataFrame({"rank": rng.integers(1, 36, n), "probability": rng.gamma(10, s, n)})
        for s in (0.003, 0.004)
    ]
    estimators = ("importance_sampling", "predictive_ratio")
    return pd.concat(f.assign(estimator=e) for f, e in zip(frames, estimators, strict=True))


def pairs(n=3500):
    x = np.exp(np.random.default_rng(2).normal(-3.5, 0.5, n))
    return pd.DataFrame({"x": x, "y": x * 1.1})


def chains(n_chains=4, n_draws=1000, shift=0.0):
    draws = np.random.default_rng(4).normal(size=(n_chains, n_draws))
    draws[-1] += shift
    return diagnostics.long_format({"log_likelihood": draws, "alpha": draws**2})


def curves(n=2):
    x = np.array([0.01, 1.0, 1000.0])
    return pd.DataFrame({f"{HOSTILE} {i}": x**0.5 + i for i in range(n)}, index=x)


def swept():
    rows = [
        (n, p0, p0 / n * (1 + seed / 10), seed)
        for n in (10, 100)
        for p0 in (0.1, 0.5)
        for seed in (0, 1)
    ]
    return pd.DataFrame(rows, columns=["n", "p0", "expected_increase", "seed"])


def simulated():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"epsilon": np.repeat([1000.0, 2.0, 0.01], 10)})
    frame["utility"], frame["risk"] = rng.normal(1, 1, 30), rng.uniform(0.4, 0.9, 30)
    return frame.assign(all_zeros=frame.index % 7 == 0)


RULES = pd.DataFrame(
    {"rr_at_most": [10.0, 1.05], "r_at_least": [0.0, 0.9], "r_at_most": [0.1, 1.0]}
)


def offending(*log_ratios):
    rules = [acceptance.Rule(*row) for row in RULES.itertuples(index=False)]
    return acceptance.offending_lines({f"L = {a}": a for a in log_ratios}, rules)


def tables(n):
    """Every entry of three tables of counts, and what both readings make of it."""
    frames = []
    for epsilon in (1.0, 2.0, 3.0):
        table = mechanism.private_plugin(epsilon, n, n)
        x, release = (at.ravel() for at in np.indices((n + 1, n + 1)))
        log_prob = np.array([table.row(k) for k in range(n + 1)])
        columns = {
            "x": x,
            "release": release,
            "log_prob": log_prob.ravel(),
            "log_ratio": (log_prob - log_prob[[1, *range(n)]]).ravel(),
            "attains": ((x == 0) & (release == n)) | ((x == n - 1) & (release == 0)),
            "conditional_epsilon": mechanism.conditional_epsilon(table)[x],
        }
        frames.append(pd.DataFrame(columns).assign(exact_epsilon=epsilon, epsilon=epsilon))
    return pd.concat(frames)


LONG = [f"level {i} of a variable whose labels go on and on, {HOSTILE}" for i in range(12)]


def points():
    """A setting without errors, and one whose error reaches below zero."""
    rows = [(0.7, 0.1, 0.9, 0.3, "a", ""), (1.1, np.nan, 0.03, 0.02, HOSTILE, "20")]
    return pd.DataFrame(rows, columns=["x", "x_error", "y", "y_error", "case", "label"])


def measured():
    rows = [
        ("a release", label, 0.2 + i / 10, 0.02, 0.3) for i, label in enumerate(("UiO", HOSTILE))
    ]
    rows += [(HOSTILE, "UiO", 0.1, np.nan, np.nan), (HOSTILE, "TCAP", np.nan, np.nan, 0.1)]
    return pd.DataFrame(rows, columns=["panel", "label", "mean", "se", "baseline"])


def losses_of_counts():
    """Losses of six releases from X = 1 against both neighbors, and some of bins."""
    table = mechanism.private_plugin(2.0, 5, 5)
    releases = [
        pd.DataFrame(
            {
                "neighbor": f"X = {k}",
                "release": range(6),
                "loss": mechanism.privacy_loss(table, 1, k),
                "probability": np.exp(table.row(1)),
            }
        )
        for k in (0, 2)
    ]
    bins = pd.DataFrame({"neighbor": ["X = 0", "X = 2"] * 5, "loss": np.linspace(-1.2, 1.9, 10)})
    return pd.concat(releases), bins


def reliable():
    claimed = np.array([0.01, 0.2, 0.9])
    frame = pd.DataFrame({"claimed": claimed, "found": [0.0, 0.3, 0.7]})
    frame = frame.assign(found_low=[0.0, 0.15, 0.5], found_high=[0.05, 0.4, 0.85])
    return pd.concat([frame.assign(curve="trees"), frame.assign(curve=HOSTILE)], ignore_index=True)


EXAMPLES: dict[str, Callable[[], charts.Chart]] = {
    "joint": lambda: charts.joint_distribution(joint("ab", "cd"), "A", HOSTILE),
    "joint long": lambda: charts.joint_distribution(joint(LONG, LONG), "A", "B"),
    "ranks": lambda: charts.rank_histogram(risks(), 35),
    "risk": lambda: charts.risk_histogram(risks(), 1 / 35),
    "agreement": lambda: charts.agreement(pairs(), "one run", "another run"),
    "agreement of two": lambda: charts.agreement(
        pd.concat([pairs().assign(panel="importance sampling"), pairs(50).assign(panel=HOSTILE)]),
        "probability of the truth, run 1",
        "probability of the truth, run 2",
    ),
    "trace": lambda: charts.trace(chains()),
    "trace of many": lambda: charts.trace(chains(12)),
    "lines": lambda: charts.lines(curves(), HOSTILE, "y", log_x=True, log_y=True, reference=0.5),
    "lines with errors": lambda: charts.lines(
        curves(), "x", "y", log_x=True, log_y=True, errors=curves() / 2
    ),
    "lines in order": lambda: charts.lines(curves(9), "x", "y", ordered=True, zero=True),
    "points": lambda: charts.points(points(), "x", HOSTILE, log_y=True, reference=0.03),
    "risk utility": lambda: charts.risk_utility(
        pd.concat([simulated().assign(panel="exact"), simulated().assign(panel=HOSTILE)])
    ),
    "sweep": lambda: charts.sweep(swept(), "n", "expected_increase", "p0", log_x=True, log_y=True),
    "region": lambda: charts.acceptable_region(RULES, offending(0.1, 3.0)),
    "region without": lambda: charts.acceptable_region(RULES, offending(0.1)),
    "baselines": lambda: charts.against_baseline(measured(), "Share of records"),
    "baselines of one": lambda: charts.against_baseline(
        measured().tail(2), "Share of records", percent=False
    ),
    "two readings": lambda: charts.two_readings(tables(1), epsilon=2, prior=0.1, x=1),
    "two readings of many": lambda: charts.two_readings(tables(8), epsilon=2, prior=0.01, x=0),
    "losses": lambda: charts.privacy_loss(*losses_of_counts(), epsilon=2, prior=0.1, relative=True),
    "reliability": lambda: charts.reliability(reliable()),
}


@pytest.fixture(scope="module", params=EXAMPLES)
def drawn(request):
    spec = charts.specification(EXAMPLES[request.param]())
    return spec, charts.svg(spec)


def datasets(chart):
    """The rows of each data set of a chart, in the order of its panels and layers."""
    return [pd.DataFrame(rows) for rows in charts.specification(chart)["datasets"].values()]


def test_drawing_is_readable_accessible_and_harmless(drawn):
    spec, svg = drawn
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) <= 640
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == spec["description"]
    assert len(spec["description"]) > 60
    assert "script" not in {element.tag.split("}")[1] for element in root.iter()}
    sizes = [
        float(size.removesuffix("px"))
        for element in root.iter()
        if (size := element.attrib.get("font-size"))
    ]
    assert sizes
    assert min(sizes) >= 12
    assert not re.search(r"NaN|undefined|null", svg)


def texts(chart):
    """The words of the drawing, in order."""
    drawing = charts.svg(charts.specification(chart))
    return [word.replace("−", "-") for word in re.findall(r"<text[^>]*>([^<]+)</text>", drawing)]


@pytest.mark.parametrize(("epsilon", "prior", "x"), [(2.0, 0.1, 1), (3.0, 0.35, 0), (1.0, 0.8, 3)])
def test_what_vega_computes_is_what_the_library_computes(epsilon, prior, x):
    table = mechanism.private_plugin(epsilon, 3, 3)
    posterior = mechanism.risk(table, x, x - 1 if x else 1, prior)
    words = texts(charts.two_readings(tables(3), epsilon=epsilon, prior=prior, x=x))
    # Bars carry their posteriors, those of the releases follow.
    numbers = [float(f"{p:.2g}") for p in [*posterior, *np.exp(table.row(x))]]
    plotted = [float(word) for word in words if re.fullmatch(r"-?[\d.]+(?:e-\d+)?", word)]
    for number in numbers:
        assert any(number == pytest.approx(value, rel=1e-9) for value in plotted)
    told = next(word for word in words if word.startswith("One column"))
    best = int(posterior.argmax())
    assert f"X* = {best} turns {prior:.2f} into {posterior[best]:.2f}" in told
    assert any(word.endswith(f"at most × {np.exp(epsilon):.2f}") for word in words)
    assert {f"{value:.2f}" for k in range(4) for value in table.row(k)} <= set(words)


def test_sliders_cover_the_tables():
    spec = charts.specification(charts.two_readings(tables(3), epsilon=2.2, prior=0.1, x=1))
    bound = {p["name"]: p for p in spec["params"] if "bind" in p}
    assert set(bound) == {"epsilon", "prior", "data", "release"}
    assert bound["epsilon"]["value"] == 2
    assert (bound["epsilon"]["bind"]["min"], bound["epsilon"]["bind"]["max"]) == (1, 3)
    assert bound["data"]["bind"]["max"] == bound["release"]["bind"]["max"] == 3


def test_picture_of_the_loss_has_every_release_and_bin():
    releases, bins = losses_of_counts()
    chart = charts.privacy_loss(releases, bins, epsilon=2.0, prior=0.1)
    words = texts(chart)
    for k in range(6):
        assert words.count(str(k)) >= 2
    assert {"X = 0", "X = 2", "Delta", "Posterior of truth"} <= set(words)
    assert "the largest 1.9 in" in chart.description


def test_specification_stays_small_and_is_plain_json(drawn):
    spec, _ = drawn
    assert spec["$schema"].endswith("/vega-lite/v5.json")
    assert len(json.dumps(spec, allow_nan=False)) < 64_000


def units(spec):
    """All parts of a specification that have a mark."""
    inner = [part for key in ("layer", "concat", "vconcat") for part in spec.get(key, [])]
    return [spec] * ("mark" in spec) + [unit for part in inner for unit in units(part)]


def test_no_line_with_points_of_its_own_is_picked(drawn):
    """JupyterLab's Vega-Lite, 5.6, names the selection's signals twice and draws nothing."""
    spec, _ = drawn
    picked = {view for param in spec.get("params", []) for view in param.get("views", [])}
    for unit in units(spec):
        assert isinstance(unit["mark"], str) or "point" not in unit["mark"] or (
            unit.get("name") not in picked and "params" not in unit
        )  # fmt: skip


def test_drawing_does_not_depend_on_what_was_drawn_before(drawn):
    spec, svg = drawn
    assert charts.svg(spec) == svg


def test_drawing_is_the_same_in_the_newest_vega_lite(drawn):
    spec, svg = drawn
    latest = vl_convert.vegalite_to_svg(spec, vl_version=vl_convert.get_vegalite_versions()[-1])
    count = [len(re.findall("<(?:path|text|line)", text)) for text in (svg, latest)]
    assert count[0] == pytest.approx(count[1], rel=0.02)


@pytest.mark.parametrize("name", ["ranks", "trace", "risk utility"])
def test_charts_are_deterministic(name):
    first, second = (charts.specification(EXAMPLES[name]()) for _ in range(2))
    assert json.dumps(first) == json.dumps(second)


def test_identifiers_differ_between_drawings():
    drawings = [charts.svg(charts.specification(EXAMPLES[k]())) for k in ("agreement", "losses")]
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in drawings]
    assert all(ids)
    assert not ids[0] & ids[1]
    for svg, known in zip(drawings, ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= known


@pytest.fixture
def in_use():
    active = alt.theme.active, alt.renderers.active
    charts.use()
    yield
    alt.theme.enable(active[0])
    alt.renderers.enable(active[1])


def test_renderer_gives_what_notebooks_and_jupyterlab_take(in_use):
    assert alt.renderers.active == alt.theme.active == "srlib"
    chart: Any = EXAMPLES["ranks"]()
    bundle, metadata = chart._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == charts.specification(chart)
    pictures = {"image/svg+xml", "image/png"}  # without a PNG JupyterLab would add one
    assert set(bundle) == {"application/vnd.vegalite.v5+json", "text/plain", *pictures}
    assert bundle["application/vnd.vegalite.v5+json"]["$schema"].endswith("/vega-lite/v5.json")
    assert bundle["text/plain"].startswith("Chart: Histogram of the rank")
    output = nbformat.v4.new_output("display_data", bundle, metadata=metadata)
    cell = nbformat.v4.new_code_cell("chart", outputs=[output])
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))


def test_importing_and_drawing_switch_nothing_on():
    script = """
import sys
import altair as alt
before = alt.theme.active, alt.renderers.active, alt.theme.names(), alt.renderers.names()
from srlib import charts
assert before == (alt.theme.active, alt.renderers.active, alt.theme.names(), alt.renderers.names())
import pandas as pd
made = charts.lines(pd.DataFrame({"a": [1.0, 2.0]}), "x", "y")
assert charts.specification(made)["config"]["background"] == "white"
assert before[:2] == (alt.theme.active, alt.renderers.active)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_importing_takes_no_grammar_in_and_blocks_none():
    script = """
import sys
import srlib.charts
assert "rfc3987_syntax" not in sys.modules
assert "altair" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_theme_states_colors_that_a_dark_theme_would_replace():
    config = charts.specification(EXAMPLES["ranks"]())["config"]
    assert config["background"] == "white"
    for part in ("axis", "legend", "header"):
        assert {config[part]["labelColor"], config[part]["titleColor"]} == {charts.INK}


def test_a_method_has_one_color_everywhere():
    for name in ("ranks", "risk"):
        spec = json.dumps(charts.specification(EXAMPLES[name]()))
        for method in ("importance_sampling", "predictive_ratio"):
            assert charts.COLORS[method] in spec
    joint_spec = json.dumps(charts.specification(EXAMPLES["joint"]()))
    wanted = [charts.COLORS["original"], charts.COLORS["synthetic"]]
    assert f'"range": {json.dumps(wanted)}' in joint_spec
    others = charts.rank_histogram(pd.DataFrame({"rank": [1, 2], "estimator": ["x", "y"]}), 2)
    used = {panel["layer"][0]["mark"]["color"] for panel in charts.specification(others)["concat"]}
    assert len(used) == 2


def test_joint_distribution_draws_each_proportion_and_interval():
    frame = joint("ab", "cd")
    (data,) = datasets(charts.joint_distribution(frame, "A", "B"))
    assert data["proportion"].to_numpy() == pytest.approx(frame["proportion"], rel=1e-3)
    low = (frame["proportion"] - 0.0196).clip(lower=0)
    assert data["low"].to_numpy() == pytest.approx(low, rel=1e-3, abs=1e-9)
    assert data["panel"].unique().tolist() == ["A: a", "A: b"]


def test_rank_histogram_counts_ties_at_the_better_rank():
    frame = pd.DataFrame({"rank": [1, 1.5, 2.5, 3, 4], "estimator": "predictive_ratio"})
    chart = charts.rank_histogram(frame, 4)
    bars = next(data for data in datasets(chart) if "rank" in data)
    assert bars["count"].tolist() == [2, 1, 1, 1]
    expected = next(data for data in datasets(chart) if "expected" in data)
    assert expected["expected"].tolist() == [1.25]
    assert "rank 1 for 2 of 5, ranks 1 to 3 for 4, median rank 2.5" in chart.description


def test_risk_histogram_counts_every_combination():
    frame = risks()
    bars = [data for data in datasets(charts.risk_histogram(frame, 1 / 35)) if "count" in data]
    assert [data["count"].sum() for data in bars] == [500, 500]
    first = frame.query("estimator == 'importance_sampling'")["probability"]
    for _, bar in bars[0].iterrows():
        inside = first.between(bar["low"] * 0.999, bar["high"] * 1.001).sum()
        assert inside >= bar["count"] > 0


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [(1, [0, 1]), (30, [0, 1, 5, 10, 20]), (1000, [0, 20, 100, 200, 500, 1000])],
)
def test_square_root_ticks(largest, ticks):
    assert risk._square_root_ticks(largest) == ticks


def test_agreement_counts_every_pair_and_refuses_what_has_no_logarithm():
    chart = charts.agreement(pairs(), "one run", "another run")
    squares = next(data for data in datasets(chart) if "combinations" in data)
    assert squares["combinations"].sum() == 3500
    assert len(squares) < 500
    # y is 1.1 x throughout.
    assert "logarithms is 0.10 and their correlation 1.00" in chart.description
    with pytest.raises(ValueError, match="not positive"):
        charts.agreement(pd.DataFrame({"x": [0.1, 0.0], "y": [0.1, 0.2]}), "x", "y")


def test_agreement_of_identical_points():
    frame = pd.DataFrame({"x": [0.1, 0.1], "y": [0.1, 0.1]})
    chart = charts.agreement(frame, "x", "y")
    assert "correlation" not in chart.description
    assert "NaN" not in charts.svg(charts.specification(chart))


def test_trace_thins_long_chains_alike():
    data = datasets(charts.trace(chains(4, 5000)))
    assert len(data) == 2
    assert sum(4 * len(d) for d in data) <= 3000
    assert not pd.concat(data).isna().any(axis=None)
    short = datasets(charts.trace(chains(4, 50)))
    assert [(len(d), list(d)) for d in short] == [(50, ["draw", "1", "2", "3", "4"])] * 2


def test_an_axis_of_values_that_are_nearly_alike_has_numbers() -> None:
    spec = charts.specification(
        charts.agreement(pd.DataFrame({"x": [0.31, 0.32], "y": [0.31, 0.33]}), "one", "other")
    )
    assert '"values": [0.' in json.dumps(spec)


def test_long_labels_are_cut_unless_they_would_coincide():
    short = style.short([*LONG[:2], "brief"])
    assert [len(label) <= 36 for label in short] == [True] * 3
    assert short[0].startswith("level 0 of a variable")
    assert short[2] == "brief"
    alike = ["x" * 40 + "a", "x" * 40 + "b"]
    assert style.short(alike) == alike


def test_lines_leave_out_what_has_no_logarithm():
    frame = curves().rename(index={0.01: 0.0})
    frame.iloc[1, 1] = np.nan
    data, labels = datasets(charts.lines(frame, "x", "y", log_x=True))
    assert len(labels) == 2
    assert data.groupby("curve", sort=False).size().tolist() == [2, 1]
    assert len(datasets(charts.lines(curves(), "x", "y"))[0]) == 6


def _scale(*names: str) -> Any:
    color: Any = style.ordered_color("x", names, None).to_dict()
    return color["scale"]


def test_sweep_has_the_mean_and_the_range_of_replicates():
    data = datasets(charts.sweep(swept(), "n", "expected_increase", "p0"))[0]
    first = data[(data["curve"] == "p0 = 0.1") & (data["x"] == 10)].iloc[0]
    assert first[["low", "y", "high"]].tolist() == pytest.approx([0.01, 0.0105, 0.011])
    assert len(data) == 4
    some = datasets(charts.sweep(swept(), "n", "expected_increase", "p0", where={"n": 10}))[0]
    assert set(some["x"]) == {10}
    with pytest.raises(ValueError, match="a column is 'm'; it must be one of"):
        charts.sweep(swept(), "m", "expected_increase", "p0")
    with pytest.raises(ValueError, match="no row has n = 3"):
        charts.sweep(swept(), "n", "expected_increase", "p0", where={"n": 3})
    for x, y, color in [
        ("n", "text", "p0"),
        ("text", "p0", "n"),
        ("n", "n", "p0"),
        ("n", "p0", "n"),
    ]:
        with pytest.raises(ValueError, match=r"holds no numbers|must be three columns"):
            charts.sweep(swept().assign(text="a"), x, y, color, log_x=True)


def luminance(color):
    """Relative luminance, as the Web Content Accessibility Guidelines define it."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (value / 255 for value in bytes.fromhex(color[1:]))
    ]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def contrast(*two):
    low, high = sorted(map(luminance, two))
    return (high + 0.05) / (low + 0.05)


def test_order_runs_from_dark_to_light():
    scale: Any = _scale("a", "b", "c")
    assert scale["domain"] == ["a", "b", "c"]
    brightness = [luminance(color) for color in scale["range"]]
    assert brightness == sorted(brightness)
    assert _scale("a")["range"] == [style.ORDERED[0]]


def test_colors_of_data_are_seen_on_white_and_on_a_dark_page():
    ramps = {color for n in range(1, 10) for color in style.ramp(n)}
    ours = {charts.TRUTH, charts.NEUTRAL, *charts.COLORS.values(), *charts.OTHER_COLORS, *ramps}
    dim = {color for color in ours for ground in ("#FFFFFF", style.GROUND)
           if contrast(color, ground) < 3}  # fmt: skip
    assert not dim


def test_no_light_color_is_left_in_any_chart(drawn):
    """Beside those of heat maps, whose cells have a ground of their own."""
    spec, _ = drawn
    cells = {"#FFFFFF", "#56B4E9", "#2166AC", "#F7F7F7", "#B2182B", charts.INK}
    found = set(re.findall(r"#[0-9A-Fa-f]{6}", json.dumps({**spec, "config": {}, "datasets": {}})))
    assert not {color for color in found - cells if contrast(color, "#FFFFFF") < 3}
    assert not {color for color in found - cells if contrast(color, style.GROUND) < 3}


def test_dark_replaces_every_color_of_text_and_lines():
    def leaves(part):
        return {k: leaves(v) for k, v in part.items()} if isinstance(part, dict) else None

    assert leaves(style.DARK) == leaves(style.LIGHT)
    assert contrast(style.DARK["text"]["color"], style.GROUND) > 7
    assert contrast(style.DARK["axis"]["domainColor"], style.GROUND) > 3


def test_tooltips_are_written_by_hand(drawn):
    spec, _ = drawn
    assert '"tooltip": true' not in json.dumps(spec)
    assert '"content": "data"' not in json.dumps(spec)
    for unit in units(spec):
        shown = unit["encoding"].get("tooltip", [])
        assert len(shown) <= 6
        assert not any("_" in field.get("title", "_") for field in shown)


def test_descriptions_name_the_least_and_the_largest(drawn):
    spec, _ = drawn
    assert re.search("minimum", spec["description"])
    assert re.search("maximum", spec["description"])
    assert not re.search(r"\de[-+]\d", spec["description"])


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (1000, "1,000"), (-0.00204, "minus 0.00204"), (1234567, "1.23 million"),
     (2e-6, "2 times 10 to the minus 6"), (0.99999, "1"), (np.inf, "infinity")],
)  # fmt: skip
def test_numbers_for_the_ear(value, words):
    assert style.told(value) == words


def test_the_course_of_a_curve_that_falls_and_rises():
    assert style.course([0, 500, 1000], [1, 0.002, 1]) == (
        "from 1 at 0 to 1 at 1,000, minimum 0.002 at 500, maximum 1 at 0"
    )
    assert style.course([1, 2], [3, 4]) == "from its minimum 3 at 1 to its maximum 4 at 2"


@pytest.mark.parametrize("seed", range(20))
def test_labels_of_lines_lie_apart_near_their_ends_and_within(seed):
    rng = np.random.default_rng(seed)
    wanted, heights = rng.uniform(0, 260, 8), rng.choice([16.0, 30.0], 8)
    placed: np.ndarray = np.array(style.spread(list(wanted), list(heights), -10, 270))
    order = np.lexsort((np.arange(8), wanted))
    gaps = np.diff(placed[order]) - (heights[order][1:] + heights[order][:-1]) / 2
    assert gaps.min() > -1e-9
    assert (placed - heights / 2).min() > -10 - 1e-9
    assert (placed + heights / 2).max() < 270 + 1e-9
    assert style.spread([50, 150], [16, 16], 0, 260) == [50, 150]
    assert style.spread([100, 100], [20, 20], 0, 260) == [90, 110]


def test_round_numbers_reach_the_data():
    assert style.round_numbers(0, 1000) == [0, 200, 400, 600, 800, 1000]
    assert style.round_numbers(-0.68, -0.51) == [-0.7, -0.65, -0.6, -0.55, -0.5]
    assert style.round_numbers(5, 250, log=True) == [5, 10, 20, 50, 100, 200, 500]
    assert style.round_numbers(0.0003, 0.9, log=True) == [1e-4, 1e-3, 1e-2, 0.1, 1]
    assert style.round_numbers(3, 3)[0] < 3 < style.round_numbers(3, 3)[-1]
    assert style.round_numbers(2, 2, log=True) == [1, 2, 5]


def test_a_curve_on_another_is_dashed_and_two_points_of_many_are_not_joined():
    x = np.linspace(0, 1, 9)
    frame = pd.DataFrame({"a": x, "b": x**2, "c": x, "few": np.nan}, index=x)
    frame.iloc[[0, -1], 3] = 0.5
    line, points, single, *_ = units(charts.specification(charts.lines(frame, "x", "y")))
    dashes = line["encoding"]["strokeDash"]["scale"]
    assert [dashes["range"][i] == [1, 0] for i in range(4)] == [True, True, False, True]
    assert "few" in json.dumps(line["transform"])
    assert "few" in json.dumps(single["transform"])
    assert "transform" not in points
    (one,) = (d for d in datasets(charts.lines(frame[["a"]], "x", "y")))
    assert len(one) == 9


def test_risk_utility_marks_data_without_ones_and_shares_its_scales():
    frame = simulated().assign(panel="exact")
    spec: Any = charts.specification(charts.risk_utility(frame))
    (data,) = spec["datasets"].values()
    squares = sum(row["data"] == "D is all zeros" for row in data)
    assert squares == frame["all_zeros"].sum() == 5
    domain = spec["concat"][0]["encoding"]["x"]["scale"]["domain"]
    assert domain[0] < frame["utility"].min() < frame["utility"].max() < domain[1]


def test_acceptable_region_draws_offending_stretches():
    lines = offending(0.1, 3.0)
    region, thin, thick = datasets(charts.acceptable_region(RULES, lines))
    assert len(region) == 2
    assert thin["curve"].unique().tolist() == ["L = 0.1", "L = 3.0"]
    assert thick["curve"].unique().tolist() == ["L = 3.0"]
    # exp(3) breaks both rules, with acceptable priors between them.
    assert thick["stretch"].nunique() == 2
    assert "No curve enters" in charts.acceptable_region(RULES, offending(0.1)).description


def test_no_other_color_is_like_that_of_a_method_beside_it():
    found = style.colors(["smoothing", "fewer releases", "other orders", "independent margins"])
    blue, *others, orange = found.values()
    assert not any(style._alike(other, taken) for other in others for taken in (blue, orange))
    assert others[0] != others[1]
