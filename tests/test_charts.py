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

from srlib import charts, diagnostics, mechanism
from srlib.charts import style

DESCRIBED: Any = {"description": "Says what is seen."}
RNG = np.random.default_rng(0)

# Figures of the committed notebooks by kind, which nbval compares with those made anew.
FIGURES: dict[str, dict[str, Any]] = {}
for path in sorted(Path(__file__).parents[1].glob("notebooks/*.ipynb")):
    figures = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
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
    return [pd.DataFrame(rows) for rows in datasets.values()]


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
    sizes = {element.attrib.get("font-size") for element in root.iter()}
    sizes -= {None, *(f"{size}px" for size in chosen)}
    assert min(float(str(size).removesuffix("px")) for size in sizes) >= 12


def test_specification_is_small_and_drawn_by_jupyterlab(drawn):
    spec, _ = drawn
    assert spec["$schema"].endswith("/vega-lite/v5.json")
    text = json.dumps(spec, allow_nan=False)
    assert len(text) < 64_000
    # JupyterLab's Vega-Lite, 5.6, draws nothing where a line with points of its own is
    # picked.
    assert '"point": ' not in text


def test_drawing_is_the_same_again_and_in_the_newest_vega_lite(drawn):
    spec, svg = drawn
    newest = vl_convert.get_vegalite_versions()[-1]

    latest = vl_convert.vegalite_to_svg(spec, vl_version=newest)

    assert charts.svg(spec) == svg
    n_marks, n_latest = (
        len(re.findall("<(?:path|text|line)", drawing)) for drawing in (svg, latest)
    )
    assert n_marks == pytest.approx(n_latest, rel=0.02)


def test_every_figure_of_a_notebook_is_described_by_its_author():
    descriptions = [spec["description"] for spec in SPECS.values()]
    assert len(descriptions) == len(set(descriptions)) > 0
    assert min(map(len, descriptions)) > 80


def test_identifiers_differ_between_drawings():
    """Else gradients of two drawings in one page would take each other's place."""
    frame = pd.DataFrame({"x": [0.1, 0.2], "y": [0.1, 0.3]})
    first, second = (
        identifiers(svg_of(charts.agreement(frame, title, "y", **DESCRIBED)))
        for title in ("one", "other")
    )
    assert first
    assert first.isdisjoint(second)


def test_labels_and_descriptions_are_text():
    hostile = "<script>alert('&')</script>"
    frame = pd.DataFrame({hostile: [1.0, 2.0], "b": [2.0, 1.0]})

    svg = svg_of(charts.lines(frame, hostile, "y", description=hostile))

    root = ElementTree.fromstring(svg)
    assert root.attrib["aria-label"] == hostile
    assert [element.text for element in root.iter()].count(hostile) == 2
    assert "script" not in {element.tag.split("}")[1] for element in root.iter()}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_embedded_for_every_reader(name):
    data = FIGURES[name]
    pictures = {"image/svg+xml", "image/png"}  # without a PNG JupyterLab would add one
    assert set(data) == {"application/vnd.vegalite.v5+json", "text/plain", *pictures}
    assert "".join(data["text/plain"]) == f"Chart: {SPECS[name]['description']}"


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
    posterior = mechanism.risk(table, x, x - 1 if x else 1, prior)
    best = int(posterior.argmax())
    sliders["epsilon"]["value"] = epsilon
    sliders["prior"]["value"] = prior
    sliders["data"]["value"] = [{"x": x}]
    sliders["chosen"]["value"] = [{"release": best}]

    svg = charts.svg(spec).replace("−", "-")

    words = re.findall(r"<text[^>]*>([^<]+)</text>", svg)
    number = re.compile(r"-?[\d.]+(?:e-\d+)?")
    plotted = [float(word) for word in words if number.fullmatch(word)]
    for probability in [*posterior, *np.exp(table.row(x))]:  # of bars, then of releases
        assert float(f"{probability:.2g}") in plotted
    sentence = next(word for word in words if word.startswith("One column"))
    reading = f"X* = {best}, prior {prior:.2f}, posterior {posterior[best]:.2f}"
    assert sentence.endswith(reading)
    assert any(word.endswith(f"at most by {np.exp(epsilon):.2f}") for word in words)
    entries = table.block(np.arange(n + 1), np.arange(n + 1)).reshape(-1, 1)
    distances = np.abs(entries - plotted).min(axis=1)
    assert distances.max() < 0.0055  # two decimals of four digits


def test_every_value_is_counted():
    values = {"a": RNG.gamma(10, 0.1, 500), "b": RNG.gamma(9, 0.1, 500)}
    x = np.exp(RNG.normal(-3.5, 0.5, 3500))
    frame = pd.DataFrame({"x": x, "y": 1.1 * x})

    bars = charts.histograms(values, np.linspace(0, 4, 41), "x", "y", **DESCRIBED)
    agreement = charts.agreement(frame, "x", "y", **DESCRIBED)

    datasets = [*data_of(bars), *data_of(agreement)]
    counts = [data["count"].sum() for data in datasets if "count" in data]
    assert counts == [500, 500, 3500]


def test_agreement_takes_equal_probabilities_and_no_zero():
    frame = pd.DataFrame({"x": [0.1, 0.1], "y": [0.1, 0.1]})
    assert "NaN" not in svg_of(charts.agreement(frame, "x", "y", **DESCRIBED))
    frame.loc[1, "x"] = 0.0
    with pytest.raises(ValueError, match="not positive and finite"):
        charts.agreement(frame, "x", "y", **DESCRIBED)


@pytest.mark.parametrize(("n_draws", "n_shown"), [(5000, 715), (50, 50)])
def test_long_chains_are_thinned_and_short_ones_are_whole(n_draws, n_shown):
    frame = diagnostics.long_format({"log_likelihood": RNG.normal(size=(4, n_draws))})
    (data,) = data_of(charts.trace(frame, **DESCRIBED))
    assert len(data) == n_shown


def test_lines_leave_out_what_has_no_logarithm():
    columns = {"a": [1.0, 2.0, 3.0], "b": [1.0, np.nan, 3.0]}
    frame = pd.DataFrame(columns, index=[0.0, 1.0, 1000.0])
    (data,) = data_of(charts.lines(frame, "x", "y", log_x=True, **DESCRIBED))
    assert data.groupby("curve", sort=False).size().tolist() == [2, 1]


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
    colors = {*re.findall(r"#[0-9A-Fa-f]{6}", json.dumps(specs))}
    colors |= {*charts.COLORS.values(), *style.OTHER_COLORS, *style.ramp(9)}
    for color in colors - OF_A_TABLE:
        assert contrast(color, ground) >= 3, color
    for part in ("axis", "legend", "header"):
        assert contrast(theme[part]["labelColor"], ground) > 7


def test_a_method_has_one_color_and_others_take_turns():
    color: Any = charts.method_color("x", ["synthetic", "one", "another"]).to_dict()
    first, *others = color["scale"]["range"]
    assert first == charts.COLORS["synthetic"]
    assert tuple(others) == style.OTHER_COLORS[:2]
