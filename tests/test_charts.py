"""Figures: what they show, how they are drawn, and what they are embedded as."""

import copy
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert
from refusals import value_error

from srlib import charts, diagnostics, mechanism
from srlib.charts import style

DESCRIBED: Any = {"description": "Says what is seen."}
RNG = np.random.default_rng(0)

# Figures of the committed notebooks by kind, which nbval compares with those made anew.
FIGURES: dict[str, dict[str, Any]] = {}
for path in sorted(Path(__file__).parents[1].glob("notebooks/*.ipynb")):
    figures = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        shown = [output.get("data", {}) for output in cell.get("outputs", [])]
        figures += [data for data in shown if charts.MIME_TYPE in data]
    FIGURES |= {f"{path.stem}-{i}": data for i, data in enumerate(figures)}
SPECS = {name: data[charts.MIME_TYPE] for name, data in FIGURES.items()}


@pytest.fixture(scope="module", params=FIGURES)
def drawn(request):
    spec = SPECS[request.param]
    return spec, charts.svg(spec)


def svg_of(chart):
    return charts.svg(charts.specification(chart))


def data_of(chart):
    """The rows of each data set of a chart, in the order of its panels and layers."""
    datasets = charts.specification(chart)["datasets"]
    return list(map(pd.DataFrame, datasets.values()))


def identifiers(svg):
    return set(re.findall(r'\bid="([^"]+)"', svg))


def test_drawing_is_readable_and_accessible(drawn):
    spec, svg = drawn

    root = ElementTree.fromstring(svg)

    assert float(root.attrib["width"]) <= 640
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == spec["description"]
    assert not re.search(r"NaN|undefined|null", svg)
    assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= identifiers(svg)
    chosen = re.findall(r'"labelFontSize": (\d+)', json.dumps({**spec, "config": {}}))
    sizes = {*re.findall(r'font-size="([\d.]+)px"', svg)} - {*chosen}
    assert min(map(float, sizes)) >= 12


def test_drawing_is_the_same_again_and_in_the_newest_vega_lite(drawn):
    spec, svg = drawn
    newest = vl_convert.get_vegalite_versions()[-1]

    latest = vl_convert.vegalite_to_svg(spec, vl_version=newest)

    assert charts.svg(spec) == svg
    marks = re.compile("<(?:path|text|line)")
    n_latest = len(marks.findall(latest))
    assert len(marks.findall(svg)) == pytest.approx(n_latest, rel=0.02)


def test_every_figure_of_a_notebook_is_described_by_its_author():
    descriptions = [spec["description"] for spec in SPECS.values()]
    assert len(descriptions) == len(set(descriptions)) > 0
    assert min(map(len, descriptions)) > 80


def test_identifiers_differ_between_drawings():
    """Else gradients of two drawings in one page would take each other's place."""
    frame = pd.DataFrame({"x": [0.1, 0.2], "y": [0.1, 0.3]})
    one = charts.agreement(frame, "one", "y", **DESCRIBED)
    other = charts.agreement(frame, "other", "y", **DESCRIBED)
    first = identifiers(svg_of(one))
    assert first
    assert first.isdisjoint(identifiers(svg_of(other)))


def test_labels_and_descriptions_are_text():
    hostile = "<script>alert('&')</script>"
    frame = pd.DataFrame({hostile: [1.0, 2.0], "b": [2.0, 1.0]})

    svg = svg_of(charts.lines(frame, hostile, "y", description=hostile))

    root = ElementTree.fromstring(svg)
    texts = [element.text for element in root.iter()]
    assert root.attrib["aria-label"] == hostile
    assert texts.count(hostile) == 2
    assert "<script" not in svg


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_small_and_embedded_for_every_reader(name):
    data = FIGURES[name]
    spec = SPECS[name]
    assert set(data) == {
        "application/vnd.vegalite.v5+json",
        "text/plain",
        "image/svg+xml",
        "image/png",  # without a PNG JupyterLab would add one
    }
    assert "".join(data["text/plain"]) == f"Chart: {spec['description']}"
    assert spec["$schema"].endswith("/vega-lite/v5.json")
    text = json.dumps(spec, allow_nan=False)
    assert len(text) < 64_000
    # JupyterLab's Vega-Lite, 5.6, draws nothing where a line with points of its own is
    # picked.
    assert '"point": ' not in text


def test_importing_and_drawing_switch_nothing_on():
    script = """
import altair, pandas
from srlib import charts

charts.specification(charts.lines(pandas.DataFrame(), "x", "y", description=""))
assert (altair.theme.active, altair.renderers.active) == ("default", "default")
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("epsilon", "prior", "x"), [(2.0, 0.1, 1), (3.0, 0.35, 0), (1.0, 0.8, 3)]
)
def test_what_vega_computes_is_what_the_library_computes(epsilon, prior, x):
    spec = copy.deepcopy(SPECS["one_table_two_readings-0"])
    sliders = {slider["name"]: slider for slider in spec["params"]}
    n = sliders["data"]["bind"]["x"]["max"]
    table = mechanism.private_plugin(epsilon, n, n)
    neighbor = x - 1 if x else 1
    posterior = mechanism.risk(table, x, neighbor, prior)
    best = int(posterior.argmax())
    chosen = {
        "epsilon": epsilon,
        "prior": prior,
        "data": [{"x": x}],
        "chosen": [{"release": best}],
    }
    for name, value in chosen.items():
        sliders[name]["value"] = value

    svg = charts.svg(spec).replace("−", "-")

    texts = re.findall(r">(-?[\d.]+(?:e-\d+)?)</text>", svg)
    plotted = list(map(float, texts))
    releases = np.exp(table.row(x))
    for probability in [*posterior, *releases]:  # of the bars
        assert float(f"{probability:.2g}") in plotted
    column = f"X* = {best}, prior {prior:.2f}, posterior {posterior[best]:.2f}"
    assert f">One column (orange): {column}<" in svg
    assert f"at most by {np.exp(epsilon):.2f}<" in svg
    rows = np.arange(n + 1)
    entries = table.block(rows, rows).reshape(-1, 1)
    distances = np.abs(entries - plotted).min(axis=1)
    assert distances.max() < 0.0055  # two decimals of four digits


def test_every_value_is_counted():
    values = {"a": RNG.gamma(10, 0.1, 500), "b": RNG.gamma(9, 0.1, 500)}
    edges = np.linspace(0, 4, 41)
    x = np.exp(RNG.normal(-3.5, 0.5, 3500))
    frame = pd.DataFrame({"x": x, "y": 1.1 * x})

    bars = charts.histograms(values, edges, "x", "y", **DESCRIBED)
    agreement = charts.agreement(frame, "x", "y", **DESCRIBED)

    datasets = data_of(bars) + data_of(agreement)
    counts = [data["count"].sum() for data in datasets if "count" in data]
    assert counts == [500, 500, 3500]


def test_agreement_takes_equal_probabilities_and_no_zero():
    frame = pd.DataFrame(0.1, index=[0, 1], columns=["x", "y"])
    assert "NaN" not in svg_of(charts.agreement(frame, "x", "y", **DESCRIBED))
    frame.loc[1, "x"] = 0.0
    with value_error("not positive and finite"):
        charts.agreement(frame, "x", "y", **DESCRIBED)


@pytest.mark.parametrize(("n_draws", "n_shown"), [(5000, 715), (50, 50)])
def test_long_chains_are_thinned_and_short_ones_are_whole(n_draws, n_shown):
    draws = {"log_likelihood": RNG.normal(size=(4, n_draws))}
    chart = charts.trace(diagnostics.long_format(draws), **DESCRIBED)
    assert list(map(len, data_of(chart))) == [n_shown]


def test_lines_leave_out_what_has_no_logarithm():
    columns = {"a": [1.0, 2.0, 3.0], "b": [1.0, np.nan, 3.0]}
    frame = pd.DataFrame(columns, [0.0, 1.0, 1000.0])
    chart = charts.lines(frame, "x", "y", log_x=True, **DESCRIBED)
    (data,) = data_of(chart)
    assert data["curve"].tolist() == ["a", "a", "b"]


def luminance(color):
    """Relative luminance, as the Web Content Accessibility Guidelines define it."""
    shares = np.array([*bytes.fromhex(color[1:])]) / 255
    curved = ((shares + 0.055) / 1.055) ** 2.4
    linear = np.where(shares <= 0.04045, shares / 12.92, curved)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(color, ground):
    """Contrast ratio, as the same guidelines define it."""
    low, high = sorted([luminance(color), luminance(ground)])
    return (high + 0.05) / (low + 0.05)


THEMES = {"#FFFFFF": style.LIGHT, style.GROUND: style.DARK}
# Of a table, whose cells have their own ground.
OF_A_TABLE = {"#FFFFFF", "#56B4E9", style.INK}


@pytest.mark.parametrize(("ground", "theme"), THEMES.items())
def test_colors_are_seen_on_white_and_on_a_dark_page(ground, theme):
    specs = [spec | {"config": {}, "datasets": {}} for spec in SPECS.values()]
    colors = set(re.findall(r"#[0-9A-Fa-f]{6}", json.dumps(specs)))
    colors.update(charts.COLORS.values(), style.OTHER_COLORS, style.ramp(9))
    for color in colors - OF_A_TABLE:
        assert contrast(color, ground) >= 3, color
    for part in ("axis", "legend", "header"):
        assert contrast(theme[part]["labelColor"], ground) > 7


def test_a_method_has_one_color_and_others_take_turns():
    names = ["synthetic", "one", "another"]
    color: Any = charts.method_color("x", names).to_dict()
    first, *others = color["scale"]["range"]
    assert first == charts.COLORS["synthetic"]
    assert others == [*style.OTHER_COLORS[:2]]
