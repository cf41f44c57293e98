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

TOLD: Any = {"description": "Says what is seen."}
RNG = np.random.default_rng(0)


# Figures of the committed notebooks by kind, which nbval compares with those made anew.
FIGURES: dict[str, dict[str, Any]] = {}
for path in sorted(Path(__file__).parents[1].glob("notebooks/*.ipynb")):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = [
        output.get("data", {}) for cell in cells for output in cell.get("outputs", [])
    ]
    figures = [data for data in shown if charts.MIME_TYPE in data]
    FIGURES |= {f"{path.stem}-{i}": data for i, data in enumerate(figures)}
SPECS = [data[charts.MIME_TYPE] for data in FIGURES.values()]


@pytest.fixture(scope="module", params=FIGURES)
def drawn(request):
    spec = FIGURES[request.param][charts.MIME_TYPE]
    return spec, charts.svg(spec)


def data_of(chart):
    """The rows of each data set of a chart, in the order of its panels and layers."""
    return [
        pd.DataFrame(rows) for rows in charts.specification(chart)["datasets"].values()
    ]


def test_drawing_is_readable_and_accessible(drawn):
    spec, svg = drawn
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) <= 640
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == spec["description"]
    sizes = [
        float(s.removesuffix("px"))
        for e in root.iter()
        if (s := e.attrib.get("font-size"))
    ]
    chosen = re.findall(r'"labelFontSize": (\d+)', json.dumps({**spec, "config": {}}))
    assert min(size for size in sizes if f"{size:g}" not in chosen) >= 12
    assert not re.search(r"NaN|undefined|null", svg)
    assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= set(
        re.findall(r'\bid="([^"]+)"', svg)
    )


def test_specification_is_small_and_drawn_by_jupyterlab(drawn):
    spec, _ = drawn
    assert spec["$schema"].endswith("/vega-lite/v5.json")
    assert len(text := json.dumps(spec, allow_nan=False)) < 64_000
    # JupyterLab's Vega-Lite, 5.6, draws nothing where a line with points of its own is
    # picked.
    assert '"point": ' not in text


def test_drawing_is_the_same_again_and_in_the_newest_vega_lite(drawn):
    spec, svg = drawn
    assert charts.svg(spec) == svg
    latest = vl_convert.vegalite_to_svg(
        spec, vl_version=vl_convert.get_vegalite_versions()[-1]
    )
    count = [len(re.findall("<(?:path|text|line)", text)) for text in (svg, latest)]
    assert count[0] == pytest.approx(count[1], rel=0.02)


def test_every_figure_of_a_notebook_is_described_by_its_author():
    told = [spec["description"] for spec in SPECS]
    assert len(told) == len(set(told)) > 0
    assert min(map(len, told)) > 80


def test_identifiers_differ_between_drawings():
    """Else gradients of two drawings in one page would take each other's place."""
    frame = pd.DataFrame({"x": [0.1, 0.2], "y": [0.1, 0.3]})
    made = [charts.agreement(frame, title, "y", **TOLD) for title in ("one", "other")]
    drawings = [charts.svg(charts.specification(chart)) for chart in made]
    one, other = (set(re.findall(r'\bid="([^"]+)"', drawing)) for drawing in drawings)
    assert one > one & other == set()


def test_labels_and_descriptions_are_text():
    hostile = "<script>alert('&')</script>"
    frame = pd.DataFrame({hostile: [1.0, 2.0], "b": [2.0, 1.0]})
    made = charts.lines(frame, hostile, "y", description=hostile)
    root = ElementTree.fromstring(charts.svg(charts.specification(made)))
    assert root.attrib["aria-label"] == hostile
    assert [element.text for element in root.iter()].count(hostile) == 2
    assert "script" not in {element.tag.split("}")[1] for element in root.iter()}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_embedded_for_every_reader(name):
    data = FIGURES[name]
    pictures = {"image/svg+xml", "image/png"}  # without a PNG JupyterLab would add one
    assert set(data) == {"application/vnd.vegalite.v5+json", "text/plain", *pictures}
    assert (
        "".join(data["text/plain"]) == f"Chart: {data[charts.MIME_TYPE]['description']}"
    )


def test_importing_and_drawing_switch_nothing_on():
    script = "import altair, pandas; from srlib import charts; "
    script += "charts.specification(charts.lines(pandas.DataFrame(), 'x', 'y', description='')); "
    script += "assert (altair.theme.active, altair.renderers.active) == ('default', 'default')"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("epsilon", "prior", "x"), [(2.0, 0.1, 1), (3.0, 0.35, 0), (1.0, 0.8, 3)]
)
def test_what_vega_computes_is_what_the_library_computes(epsilon, prior, x):
    spec = copy.deepcopy(FIGURES["one_table_two_readings-0"][charts.MIME_TYPE])
    sliders = {slider["name"]: slider for slider in spec["params"]}
    n = sliders["data"]["bind"]["x"]["max"]
    table = mechanism.private_plugin(epsilon, n, n)
    posterior = mechanism.risk(table, x, x - 1 if x else 1, prior)
    best = int(posterior.argmax())
    sliders["epsilon"]["value"], sliders["prior"]["value"] = epsilon, prior
    sliders["data"]["value"], sliders["chosen"]["value"] = (
        [{"x": x}],
        [{"release": best}],
    )
    words = re.findall(r"<text[^>]*>([^<]+)</text>", charts.svg(spec).replace("−", "-"))
    plotted = [
        float(word) for word in words if re.fullmatch(r"-?[\d.]+(?:e-\d+)?", word)
    ]
    for probability in [*posterior, *np.exp(table.row(x))]:  # of bars, then of releases
        assert float(f"{probability:.2g}") in plotted
    sentence = next(word for word in words if word.startswith("One column"))
    assert sentence.endswith(
        f"X* = {best}, prior {prior:.2f}, posterior {posterior[best]:.2f}"
    )
    assert any(word.endswith(f"at most by {np.exp(epsilon):.2f}") for word in words)
    entries = table.block(np.arange(n + 1), np.arange(n + 1)).reshape(-1, 1)
    assert (
        np.abs(entries - plotted).min(axis=1).max() < 0.0055
    )  # two decimals of four digits


def test_every_value_is_counted():
    values = {"a": RNG.gamma(10, 0.1, 500), "b": RNG.gamma(9, 0.1, 500)}
    bars = charts.histograms(values, np.linspace(0, 4, 41), "x", "y", **TOLD)
    x = np.exp(RNG.normal(-3.5, 0.5, 3500))
    agreement = charts.agreement(pd.DataFrame({"x": x, "y": 1.1 * x}), "x", "y", **TOLD)
    counts = [
        d["count"].sum() for c in (bars, agreement) for d in data_of(c) if "count" in d
    ]
    assert counts == [500, 500, 3500]


def test_agreement_takes_equal_probabilities_and_no_zero():
    frame = pd.DataFrame({"x": [0.1, 0.1], "y": [0.1, 0.1]})
    assert "NaN" not in charts.svg(
        charts.specification(charts.agreement(frame, "x", "y", **TOLD))
    )
    frame.loc[1, "x"] = 0.0
    with pytest.raises(ValueError, match="not positive and finite"):
        charts.agreement(frame, "x", "y", **TOLD)


@pytest.mark.parametrize(("n_draws", "shown"), [(5000, 715), (50, 50)])
def test_long_chains_are_thinned_and_short_ones_are_whole(n_draws, shown):
    frame = diagnostics.long_format({"log_likelihood": RNG.normal(size=(4, n_draws))})
    assert [len(data) for data in data_of(charts.trace(frame, **TOLD))] == [shown]


def test_lines_leave_out_what_has_no_logarithm():
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, 3.0], "b": [1.0, np.nan, 3.0]}, index=[0.0, 1.0, 1000.0]
    )
    (data,) = data_of(charts.lines(frame, "x", "y", log_x=True, **TOLD))
    assert data.groupby("curve", sort=False).size().tolist() == [2, 1]


def contrast(*two):
    """Contrast ratio, as the Web Content Accessibility Guidelines define it."""
    shares = [np.array([*bytes.fromhex(color[1:])]) / 255 for color in two]
    linear = [
        np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in shares
    ]
    low, high = sorted(np.array(linear) @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


THEMES = {"#FFFFFF": style.LIGHT, style.GROUND: style.DARK}


@pytest.mark.parametrize(("ground", "theme"), THEMES.items())
def test_colors_are_seen_on_white_and_on_a_dark_page(ground, theme):
    specs = [spec | {"config": {}, "datasets": {}} for spec in SPECS]
    colors = {*charts.COLORS.values(), *style.OTHER_COLORS, *style.ramp(9)}
    colors |= {*re.findall(r"#[0-9A-Fa-f]{6}", json.dumps(specs))}
    colors -= {
        "#FFFFFF",
        "#56B4E9",
        style.INK,
    }  # of a table, whose cells have their own ground
    assert {color for color in colors if contrast(color, ground) < 3} == set()
    for part in ("axis", "legend", "header"):
        assert contrast(theme[part]["labelColor"], ground) > 7


def test_a_method_has_one_color_and_others_take_turns():
    color: Any = charts.method_color("x", ["synthetic", "one", "another"]).to_dict()
    assert color["scale"]["range"] == [
        charts.COLORS["synthetic"],
        *style.OTHER_COLORS[:2],
    ]
