"""Both readings of a table of counts, the chart that moves them, and the notebook on them."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from srlib import charts, mechanism
from srlib.mechanism import edp
from srlib.papers import one_table
from srlib.papers.claims import FAILS, HOLDS, PROVED
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


# ----------------------------------------------------------------------------------- privacy loss


def test_loss_with_a_pencil():
    coin = mechanism.private_plugin(np.log(3), 1, 1)
    loss = one_table.losses(coin, 1)
    assert loss["neighbor"].unique().tolist() == ["X = 0"]
    np.testing.assert_allclose(loss["loss"], [-np.log(3), np.log(3)])
    np.testing.assert_allclose(loss["probability"], [1 / 4, 3 / 4])
    assert one_table.neighbors(0, 3) == [1]
    assert one_table.neighbors(2, 3) == [1, 3]
    assert one_table.neighbors(3, 3) == [2]


@pytest.mark.parametrize("x", [0, 2, 4])
def test_numbers_are_summaries_of_the_loss(x):
    table = mechanism.private_plugin(1.5, 4, 4)
    model = one_table.models(1.5, 4, 1)["Bernoulli plug-in"]
    found = one_table.summaries(table, model, x, 0.2, 0.5, 10)
    np.testing.assert_allclose(found["of_the_loss"], found["otherwise"], rtol=1e-9)
    assert len(found) == 7
    assert one_table.is_summary(found).word == PROVED
    off = found.assign(otherwise=found["otherwise"] + 0.1 * (found["number"] == "information"))
    verdict = one_table.is_summary(off)
    assert verdict.word == FAILS
    assert verdict.because.endswith("that of information.")


def test_edp_of_a_changed_and_of_a_deleted_record():
    model = one_table.models(2.0, 5, 2)
    assert list(model) == [one_table.PLUG_IN, one_table.LOG_P, "beta-binomial", "DPMPM"]
    levels = one_table.edp_by_bins({"b": model["beta-binomial"]}, 1, 5, (20,))
    alpha = 5 / np.expm1(2)
    for kind, value in zip(levels["one_record"], levels["b"], strict=True):
        others = edp.beta_neighbors(1, 5, alpha, kind)
        known = edp.exact(edp.beta_posterior(1, 5, alpha), others, 20).value
        assert value == pytest.approx(known)
    with pytest.raises(ValueError, match="kind is 'added'"):
        one_table.exact_edp(model["beta-binomial"], 1, 5, 20, "added")
    assert "DPMPM" not in one_table.models(3.5, 3, 2)


def test_all_mechanisms_have_the_same_exact_epsilon():
    made = one_table.mechanisms(1.0, 3, 2)
    columns = one_table.columns(made, 1, 0.1, 0.2)
    assert columns["mechanism"].tolist() == list(made)
    np.testing.assert_allclose(columns["exact_epsilon"], 1.0, rtol=1e-9)
    assert one_table.apart(made["DPMPM"], made["DPMPM"]) == 0
    assert one_table.apart(made["DPMPM"], made["beta-binomial"]) > 0.001


# --------------------------------------------------------------------------------------- verdicts


def test_epsilon_is_the_largest_change_of_log_odds():
    assert one_table.attains([1.0, np.exp(2)], 2.0).word == PROVED
    assert one_table.attains([1.0, 7.0], 2.0).word == FAILS
    assert one_table.attains([1.0, 7.5], 2.0).word == FAILS


def test_beliefs_within_and_beyond_epsilon():
    assert one_table.bounds_odds(np.exp(0.5), 0.5, 5).word == HOLDS
    verdict = one_table.bounds_odds(8.27, 0.5, 5)
    assert verdict.word == FAILS
    assert "factor of 8.27; exp(ε) is 1.65 and exp(5ε) 12.18" in verdict.because


@pytest.mark.parametrize(("second", "word"), [(0.2, HOLDS), (0.191, HOLDS), (0.189, FAILS)])
def test_risks_within_a_tenth_are_alike(second, word):
    columns = pd.DataFrame({"mechanism": ["a", "b"], "expected_posterior": [0.2, second]})
    assert one_table.equal_risk(columns.assign(exact_epsilon=1.0), 0.1).word == word


@pytest.mark.parametrize(
    ("loss", "word"),
    [
        ([2.0, 1.0, 0.0], HOLDS),
        ([0.0, 1.0, 2.0], FAILS),
        ([1.0, 0.0, 2.0], "depends on the mechanism and the loss"),
    ],
)
def test_what_the_intruder_and_the_analyst_are_told(loss, word):
    over = pd.DataFrame({"epsilon": 1.0, "expected_posterior": [0.1, 0.2, 0.3], "loss": loss})
    verdict = one_table.tells_both(over, {"loss": "the loss"})
    assert verdict.word == word
    assert verdict.because.startswith("Of 3 pairs")


def test_edp_against_epsilon():
    assert one_table.bounds_epsilon({"a": 2.0, "b": 3.0}, 2.0).word == HOLDS
    assert one_table.bounds_epsilon({"a": 1.9, "b": 3.0}, 2.0).word == FAILS


def test_ranks_of_edp_by_bins():
    edps = pd.DataFrame({"one_record": "changed", "bins": [2, 5], "a": [1.0, 2.0], "b": [2.0, 1.0]})
    verdict = one_table.ranks_alike(edps, {"a": 0.1, "b": 0.2, "c": 0.3})
    assert verdict.word == "depends on the bins and the neighbors"
    assert verdict.because.endswith("They differ with one record changed: 5 bins.")
    assert one_table.ranks_alike(edps[:1], {"a": 0.1, "b": 0.2}).word == HOLDS
    assert one_table.ranks_alike(edps[1:], {"a": 0.1, "b": 0.2}).word == FAILS
    assert one_table.ranks_alike(edps[:1], {"a": 0.2, "b": 0.2 + 1e-12}).word == FAILS


def test_estimates_within_their_errors():
    def judged(given_all, given_others):
        column = {"exact": 1.0, "given_all": np.exp(given_all), "error_given_all": 0.1}
        column |= {"given_others": np.exp(given_others), "error_given_others": 0.1}
        return one_table.by_simulation(pd.DataFrame(column), 4)

    assert judged([0.31, -0.1], [0.1, -0.1]).word == HOLDS  # t, 3 degrees
    assert judged([0.33, -0.33], [0.33, -0.33]).word == FAILS
    # Neither kind of draws is left out.
    found = judged([-0.33, -0.33], [0.1, -0.1])
    assert found.word == judged([0.1, -0.1], [0.33, 0.33]).word == "depends on the draws"
    assert "2 of 2 estimates from draws given the other records" in found.because
    assert "0 of 2 estimates from draws given all records" in found.because


def test_picture_of_the_loss_has_every_release_and_bin():
    table = mechanism.private_plugin(2.0, 3, 3)
    model = one_table.models(2.0, 3, 1)["Bernoulli plug-in"]
    loss, bins = one_table.losses(table, 1), one_table.bin_losses(model, 1, 3, 5)
    chart = charts.privacy_loss(loss, bins, epsilon=2.0, prior=0.1)
    words = texts(chart)
    for k in range(4):
        assert words.count(str(k)) >= 2
    assert {"X = 0", "X = 2", "Delta", "Posterior of truth"} <= set(words)
    assert f"the largest {bins['loss'].abs().max():.3g}" in chart.description


# ------------------------------------------------------------------------------------------ chart


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
    assert any(word.endswith(f"at most × {np.exp(epsilon):.2f}") for word in words)
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
    [("n", "3", "[4, 8]"), ("epsilon", "4", "[0.1, 3.0]"), ("prior", "0", "[0.01, 0.99]")],
)
def test_bad_parameters_are_found_before_a_kernel_starts(root, name, value, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        resolve(root, NOTEBOOK, overrides=[(name, value)])


def test_exercises_end_in_a_solution_in_words(root: Path) -> None:
    cells = json.loads((root / f"notebooks/{NOTEBOOK}.ipynb").read_text(encoding="utf-8"))["cells"]
    exercises = [i for i, c in enumerate(cells) if "".join(c["source"]).startswith("### Exercise ")]
    assert 6 <= len(exercises) <= 8
    for i in exercises:
        own = itertools.takewhile(lambda c: {"hint", "solution"} & {*tags(c)}, cells[i + 1 :])
        *_, last = own
        assert (last["cell_type"], tags(last)) == ("markdown", ["solution"])


def tags(cell: dict[str, Any]) -> list[str]:
    return cell["metadata"].get("tags", [])


def test_notebook_runs_at_other_settings(root: Path, tmp_path: Path) -> None:
    parameters = resolve(root, NOTEBOOK).parameters
    settings = {"n": 4, "x": 0, "epsilon": 3.0, "n_draws": 100}
    folder = run(root, Request(NOTEBOOK, "other", {**parameters, **settings}, {}), tmp_path)
    columns = pd.read_csv(folder / "tables/columns.csv")
    np.testing.assert_allclose(columns["exact_epsilon"], 3.0, rtol=1e-9)
    column = pd.read_csv(folder / "tables/by_monte_carlo.csv")
    off = np.abs(np.log(column["given_others"] / column["exact"])) / column["error_given_others"]
    assert off.max() < 6
    assert '"stderr"' not in (folder / "notebook.ipynb").read_text(encoding="utf-8")
