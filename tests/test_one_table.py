"""Both readings of a table of counts, the chart that moves them, and the notebook on them."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from srlib import charts, mechanism
from srlib.papers import one_table
from srlib.runner.parameters import Request, UsageError, resolve
from srlib.runner.run import run

NOTEBOOK = "one_table_two_readings"


def test_entries_are_the_table_and_both_readings_of_it():
    table = mechanism.beta_binomial(4, 3, 0.7, 1.3)
    frame = one_table.entries(table)
    assert len(frame) == 5 * 4
    for row in frame.itertuples():
        log_prob = table.row(row.x)[row.release]
        other = table.row(row.x - 1 if row.x else 1)[row.release]
        assert row.log_prob == pytest.approx(log_prob)
        assert row.log_ratio == pytest.approx(log_prob - other)
    found = mechanism.exact_epsilon(table)
    assert (frame["exact_epsilon"] == found.value).all()
    marked = frame[frame["attains"]]
    assert [(row.x, row.release) for row in marked.itertuples()] == [
        (min(found.pair), found.output)
    ]
    by_row = frame.groupby("x")["conditional_epsilon"].first()
    np.testing.assert_allclose(by_row, mechanism.conditional_epsilon(table))


def test_all_places_that_attain_epsilon_are_marked():
    marked = one_table.entries(mechanism.private_plugin(2.0, 5, 5)).query("attains")
    assert list(zip(marked["x"], marked["release"], strict=True)) == [(0, 5), (4, 0)]


def test_both_readings_with_a_pencil():
    """Randomised response that tells the truth with probability 3/4."""
    table = mechanism.private_plugin(np.log(3), 1, 1)
    found = one_table.both(table, 1, 0.1)
    assert found["exact_epsilon"] == pytest.approx(np.log(3))
    assert found["conditional_epsilon"] == pytest.approx(np.log(3))
    assert found["largest_posterior"] == pytest.approx(1 / 4)
    # 3/4 of the time 1/4, else 1/28.
    assert found["expected_posterior"] == pytest.approx(3 / 16 + 1 / 112)
    assert found["expected_increase"] == pytest.approx(3 / 4 * 3 / 20)
    assert one_table.both(table, 0, 0.1) == pytest.approx(found)


@pytest.mark.parametrize(("x", "prior", "message"), [(4, 0.5, "x is 4"), (1, 1.5, "prior is 1.5")])
def test_there_is_no_such_reading(x, prior, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        one_table.both(mechanism.private_plugin(1.0, 3, 3), x, prior)


def frame(n=3, budgets=(1.0, 2.0, 3.0)):
    return pd.concat(
        one_table.entries(mechanism.private_plugin(e, n, n)).assign(epsilon=e) for e in budgets
    )


def texts(chart):
    """The words of the drawing, in order."""
    drawing = charts.svg(charts.specification(chart))
    return [word.replace("−", "-") for word in re.findall(r"<text[^>]*>([^<]+)</text>", drawing)]


@pytest.mark.parametrize(("epsilon", "prior", "x"), [(2.0, 0.1, 1), (3.0, 0.35, 0), (1.0, 0.8, 3)])
def test_what_vega_computes_is_what_the_library_computes(epsilon, prior, x):
    table = mechanism.private_plugin(epsilon, 3, 3)
    risk = mechanism.risk(table, x, x - 1 if x else 1, prior)
    words = texts(charts.two_readings(frame(), epsilon=epsilon, prior=prior, x=x))
    # Bars carry their posteriors, those of the releases follow.
    numbers = [float(f"{p:.2g}") for p in [*risk, *np.exp(table.row(x))]]
    drawn = [float(word) for word in words if re.fullmatch(r"-?[\d.]+(?:e-\d+)?", word)]
    for number in numbers:
        assert any(number == pytest.approx(value, rel=1e-9) for value in drawn)
    told = next(word for word in words if word.startswith("One column"))
    best = int(risk.argmax())
    assert f"X* = {best} turns {prior:.2f} into {risk[best]:.2f}" in told
    assert f"at most × {np.exp(epsilon):.2f}" in told
    entries = [f"{value:.2f}" for k in range(4) for value in table.row(k)]
    assert set(entries) <= set(words)


def test_sliders_cover_the_tables_and_one_mechanism_has_no_menu():
    spec = charts.specification(charts.two_readings(frame(), epsilon=2.2, prior=0.1, x=1))
    bound = {p["name"]: p for p in spec["params"] if "bind" in p}
    assert set(bound) == {"epsilon", "prior", "data", "release"}
    assert bound["epsilon"]["value"] == 2
    assert (bound["epsilon"]["bind"]["min"], bound["epsilon"]["bind"]["max"]) == (1, 3)
    assert bound["data"]["bind"]["max"] == bound["release"]["bind"]["max"] == 3


def test_the_menu_chooses_one_of_several_mechanisms():
    other = pd.concat(
        one_table.entries(
            mechanism.beta_binomial(3, 3, mechanism.dirichlet_multinomial_alpha(e, 3))
        ).assign(epsilon=e, mechanism="other")
        for e in (1.0, 2.0, 3.0)
    )
    both = pd.concat([other, frame().assign(mechanism="plug-in")])
    chart = charts.two_readings(both, epsilon=2.0, prior=0.1, x=2)
    menu = next(p for p in charts.specification(chart)["params"] if p["name"] == "chosen")
    assert menu["bind"]["options"] == ["other", "plug-in"]
    alone = charts.two_readings(other.drop(columns="mechanism"), epsilon=2.0, prior=0.1, x=2)
    assert texts(chart) == texts(alone)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("n", "2", "[3, 8]"), ("epsilon", "4", "[0.1, 3.5]"), ("prior", "0", "[0.01, 0.99]")],
)
def test_bad_parameters_are_found_before_a_kernel_starts(root, name, value, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        resolve(root, NOTEBOOK, overrides=[(name, value)])


def test_exercises_are_followed_by_their_solutions(root: Path) -> None:
    cells = json.loads((root / f"notebooks/{NOTEBOOK}.ipynb").read_text(encoding="utf-8"))["cells"]
    exercises = [i for i, c in enumerate(cells) if "".join(c["source"]).startswith("### Exercise ")]
    assert 3 <= len(exercises) <= 6
    for i in exercises:
        assert cells[i + 1]["metadata"]["tags"] == ["solution"]
        assert "".join(cells[i + 1]["source"]).splitlines()[-1].startswith("assert ")


def test_notebook_runs_at_other_settings(root: Path, tmp_path: Path) -> None:
    parameters = resolve(root, NOTEBOOK).parameters
    settings = {"n": 3, "x": 0, "epsilon": 3.0, "n_draws": 250}
    folder = run(root, Request(NOTEBOOK, "other", {**parameters, **settings}, {}), tmp_path)
    columns = pd.read_csv(folder / "tables/columns.csv")
    np.testing.assert_allclose(columns["exact_epsilon"], 3.0, rtol=1e-9)
    column = pd.read_csv(folder / "tables/by_monte_carlo.csv")
    off = np.abs(np.log(column["estimate"] / column["exact"])) / column["log_mcse"]
    assert off.max() < 5
    assert "Warning" not in (folder / "notebook.ipynb").read_text(encoding="utf-8")
