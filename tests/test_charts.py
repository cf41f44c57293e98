"""Figures: what they show, how they are drawn, and what they are embedded as."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
import vl_convert

from srlib import charts, diagnostics, mechanism
from srlib.charts import style

HOSTILE = "<script>alert('&')</script>"
TOLD: Any = {"description": f"Says what is seen, and quotes {HOSTILE} as text."}
RNG = np.random.default_rng(0)


def rows(columns: str, *values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, columns=columns.split())


def pairs(n=3500):
    x = np.exp(RNG.normal(-3.5, 0.5, n))
    return pd.DataFrame({"x": x, "y": x * 1.1})


def chains(n_chains=4, n_draws=1000):
    draws = RNG.normal(size=(n_chains, n_draws))
    return diagnostics.long_format({"log_likelihood": draws, HOSTILE: draws**2})


def curves(n=2):
    x = np.array([0.01, 1.0, 1000.0])
    return pd.DataFrame({f"{HOSTILE} {i}": x**0.5 + i for i in range(n)}, index=x)


def tables(n):
    """Every entry of three tables of counts, and what both readings make of it."""
    frames = []
    x, release = np.indices((n + 1, n + 1)).reshape(2, -1)
    for epsilon in (1.0, 2.0, 3.0):
        table = mechanism.private_plugin(epsilon, n, n)
        log_prob = table.block(np.arange(n + 1), np.arange(n + 1))
        columns = {"x": x, "release": release, "log_prob": log_prob.ravel()}
        columns["log_ratio"] = (log_prob - log_prob[[1, *range(n)]]).ravel()
        columns["conditional_epsilon"] = mechanism.conditional_epsilon(table)[x]
        columns["attains"] = (x == 0) & (release == n)
        frames.append(pd.DataFrame(columns).assign(exact_epsilon=epsilon, epsilon=epsilon))
    return pd.concat(frames)


def losses():
    """Losses of six releases from X = 1 against both neighbors, and some of bins."""
    table, frames = mechanism.private_plugin(2.0, 5, 5), []
    for k in (0, 2):
        loss = mechanism.privacy_loss(table, 1, k)
        columns = {"release": range(6), "loss": loss, "probability": np.exp(table.row(1))}
        frames.append(pd.DataFrame(columns).assign(neighbor=f"X = {k}"))
    bins = pd.DataFrame({"neighbor": ["X = 0", "X = 2"] * 5, "loss": np.linspace(-1.2, 1.9, 10)})
    return pd.concat(frames), bins


SETTINGS = rows(  # one without intervals, and one with
    "x x_low x_high y y_low y_high case label",
    (0.7, None, None, 0.9, None, None, "a", ""), (1, 0.9, 2, 0.3, 0.2, 1, HOSTILE, "5"),
)  # fmt: skip
MEASURED = rows(
    "panel label value low high baseline",
    *(("a", label, 0.2, 0.1, 0.3, 0.3) for label in ("UiO", HOSTILE)),
    (HOSTILE, "UiO", 0.1, None, None, None), ("a", "none", None, None, None, 0.1),
)  # fmt: skip
RELIABLE = rows(
    "claimed found low high curve",
    (0.01, 0.0, 0.0, 0.05, "trees"), (0.9, 0.7, 0.5, 0.9, "trees"), (0.9, 0.7, 0.5, 0.9, HOSTILE),
)  # fmt: skip
LOG: Any = {"log_x": True, "log_y": True, **TOLD}
TITLES: Any = ("what is given", HOSTILE)
EXAMPLES: dict[str, charts.Chart] = {
    "lines": charts.lines(curves(), "x", HOSTILE, reference=0.5, errors=curves() / 2, **LOG),
    "ordered": charts.lines(curves(9), *TITLES, ordered=True, zero=True, **TOLD),
    "points": charts.points(SETTINGS, *TITLES, log_y=True, reference=0.03, **TOLD),
    "intervals": charts.intervals(MEASURED, HOSTILE, percent=True, **TOLD),
    "cases": charts.intervals(MEASURED.rename(columns={"panel": "case"}), "x", **TOLD),
    "bars": charts.bars(
        {"predictive ratio": RNG.gamma(10, 0.1, 500), HOSTILE: RNG.gamma(9, 0.1, 500)},
        np.linspace(0, 4, 41), *TITLES, square_root=True, x=0.5, **TOLD,
    ),
    "agreement": charts.agreement(
        pd.concat([pairs().assign(panel=HOSTILE), pairs(50).assign(panel="few")]), *TITLES, **TOLD
    ),
    "trace": charts.trace(chains(12), **TOLD),
    "reliability": charts.reliability(RELIABLE, **TOLD),
    "two readings": charts.two_readings(tables(8), epsilon=2, prior=0.1, x=1, **TOLD),
    "losses": charts.privacy_loss(*losses(), epsilon=2, prior=0.1, **TOLD),
}  # fmt: skip


@pytest.fixture(scope="module", params=EXAMPLES)
def drawn(request):
    spec = charts.specification(EXAMPLES[request.param])
    return spec, charts.svg(spec)


def data_of(chart):
    """The rows of each data set of a chart, in the order of its panels and layers."""
    return [pd.DataFrame(rows) for rows in charts.specification(chart)["datasets"].values()]


def test_drawing_is_readable_accessible_and_harmless(drawn):
    spec, svg = drawn
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) <= 640
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == spec["description"] == TOLD["description"]
    assert "<script" not in svg
    assert set(re.findall(r"url\(#([^)]+)", svg)) <= set(re.findall(r'\bid="([^"]+)"', svg))
    sizes = [float(s.removesuffix("px")) for e in root.iter() if (s := e.attrib.get("font-size"))]
    assert min(sizes) >= 12
    assert not re.search(r"NaN|undefined|null", svg)
    assert spec["$schema"].endswith("/vega-lite/v5.json")
    assert len(text := json.dumps(spec, allow_nan=False)) < 64_000
    # JupyterLab's Vega-Lite, 5.6, draws nothing where a line with points of its own is picked.
    assert '"point": ' not in text


def test_drawing_is_the_same_again_and_in_the_newest_vega_lite(drawn):
    spec, svg = drawn
    assert charts.svg(spec) == svg
    latest = vl_convert.vegalite_to_svg(spec, vl_version=vl_convert.get_vegalite_versions()[-1])
    count = [len(re.findall("<(?:path|text|line)", text)) for text in (svg, latest)]
    assert count[0] == pytest.approx(count[1], rel=0.02)


def test_identifiers_differ_between_drawings():
    """Else clip paths and gradients of drawings in one page would take each other's place."""
    both = EXAMPLES["agreement"], charts.agreement(pairs(), *TITLES, **TOLD)
    drawings = [charts.svg(charts.specification(chart)) for chart in both]
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in drawings]
    assert all(ids)
    assert ids[0].isdisjoint(ids[1])


def test_every_figure_of_a_notebook_is_described_by_its_author(root):
    for path in root.glob("notebooks/*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
        said = [d[charts.MIME_TYPE]["description"] for d in found if charts.MIME_TYPE in d]
        assert len(said) == len(set(said)) > 0
        assert min(map(len, said)) > 80


def test_renderer_gives_what_notebooks_and_jupyterlab_take():
    script = """if True:
        import altair, json, pandas
        from srlib import charts
        chart = charts.lines(pandas.DataFrame({"a": [1.0]}), "x", "y", description="A line.")
        assert (altair.theme.active, altair.renderers.active) == ("default", "default")
        charts.use()
        bundle, metadata = chart._repr_mimebundle_()
        assert bundle[charts.MIME_TYPE] == charts.specification(chart)
        print(json.dumps([bundle, metadata]))"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    bundle, metadata = json.loads(done.stdout)
    pictures = {"image/svg+xml", "image/png"}  # without a PNG JupyterLab would add one
    assert set(bundle) == {"application/vnd.vegalite.v5+json", "text/plain", *pictures}
    assert bundle["text/plain"] == "Chart: A line."
    output = nbformat.v4.new_output("display_data", bundle, metadata=metadata)
    cell = nbformat.v4.new_code_cell("chart", outputs=[output])
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))


@pytest.mark.parametrize(("epsilon", "prior", "x"), [(2.0, 0.1, 1), (3.0, 0.35, 0), (1.0, 0.8, 3)])
def test_what_vega_computes_is_what_the_library_computes(epsilon, prior, x):
    table = mechanism.private_plugin(epsilon, 3, 3)
    posterior = mechanism.risk(table, x, x - 1 if x else 1, prior)
    chart = charts.two_readings(tables(3), epsilon=epsilon, prior=prior, x=x, **TOLD)
    drawing = charts.svg(charts.specification(chart)).replace("−", "-")
    words = re.findall(r"<text[^>]*>([^<]+)</text>", drawing)
    plotted = [float(word) for word in words if re.fullmatch(r"-?[\d.]+(?:e-\d+)?", word)]
    for probability in [*posterior, *np.exp(table.row(x))]:  # of bars, then of releases
        assert float(f"{probability:.2g}") in plotted
    bound = {p["name"]: p["bind"] for p in charts.specification(chart)["params"]}
    assert (bound["epsilon"]["max"], bound["prior"]["max"]) == (3, 0.99)
    assert bound["data"]["x"]["max"] == bound["chosen"]["release"]["max"] == 3
    told, best = next(w for w in words if w.startswith("One column")), int(posterior.argmax())
    assert f"X* = {best} turns {prior:.2f} into {posterior[best]:.2f}" in told
    assert any(word.endswith(f"at most × {np.exp(epsilon):.2f}") for word in words)
    assert {f"{value:.2f}" for k in range(4) for value in table.row(k)} <= set(words)


@pytest.mark.parametrize(("name", "counts"), [("bars", [500, 500]), ("agreement", [3500, 50])])
def test_every_value_is_counted(name, counts):
    assert [d["count"].sum() for d in data_of(EXAMPLES[name]) if "count" in d] == counts


def test_agreement_takes_equal_probabilities_and_no_zero():
    same = charts.agreement(rows("x y", (0.1, 0.1), (0.1, 0.1)), "x", "y", **TOLD)
    assert "NaN" not in charts.svg(charts.specification(same))
    with pytest.raises(ValueError, match="not positive"):
        charts.agreement(rows("x y", (0.1, 0.1), (0.0, 0.2)), "x", "y", **TOLD)


def test_long_chains_are_thinned_and_short_ones_are_whole():
    long, short = (data_of(charts.trace(chains(4, n), **TOLD)) for n in (5000, 50))
    assert 0 < sum(4 * len(data) for data in long) <= 3000
    assert [len(data) for data in short] == [50, 50]


def test_lines_leave_out_what_has_no_logarithm():
    frame = curves().rename(index={0.01: 0.0})
    frame.iloc[1, 1] = np.nan
    (data,) = data_of(charts.lines(frame, "x", "y", log_x=True, **TOLD))
    assert data.groupby("curve", sort=False).size().tolist() == [2, 1]


def contrast(*two):
    """Contrast ratio, as the Web Content Accessibility Guidelines define it."""
    shares = [np.array([*bytes.fromhex(color[1:])]) / 255 for color in two]
    linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in shares]
    low, high = sorted(np.array(linear) @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("ground", "theme"), [("#FFFFFF", style.LIGHT), (style.GROUND, style.DARK)]
)
def test_colors_are_seen_on_white_and_on_a_dark_page(ground, theme):
    specs = [
        charts.specification(chart) | {"config": {}, "datasets": {}} for chart in EXAMPLES.values()
    ]
    colors = {*charts.COLORS.values(), *style.OTHER_COLORS, *style.ramp(9)}
    colors |= {*re.findall(r"#[0-9A-Fa-f]{6}", json.dumps(specs))}
    colors -= {"#FFFFFF", "#56B4E9", style.INK}  # of a table, whose cells have their own ground
    assert {color for color in colors if contrast(color, ground) < 3} == set()
    for part in ("axis", "legend", "header"):
        assert contrast(theme[part]["labelColor"], ground) > 7


def test_a_method_has_one_color_and_others_take_turns():
    color: Any = charts.method_color("x", ["synthetic", "one", "another"]).to_dict()
    assert color["scale"]["range"] == [charts.COLORS["synthetic"], *style.OTHER_COLORS[:2]]
