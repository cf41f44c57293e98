"""Printed numbers of Charest (2013), and the notebook at other settings."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from srlib import mechanism
from srlib.mechanism.core import change_one
from srlib.papers import charest
from srlib.papers.ledger import ledger, printed
from srlib.runner.parameters import Request, UsageError, resolve
from srlib.runner.run import run

PRINTED = printed("charest").set_index("id")


@pytest.fixture(scope="module")
def score_functions() -> pd.DataFrame:
    """The rows as printed: no factor 2, sensitivity 1."""
    scores = charest.binary_scores(50, 1.0)
    predictive = np.exp(scores["log P"][30])
    return pd.DataFrame(
        {"score": name, "convention": "as printed"}
        | charest.row_of_table_1(mechanism.gibbs(score, 0.5, change_one(50)), 30, predictive)
        for name, score in scores.items()
    )


def test_table_1(score_functions: pd.DataFrame) -> None:
    settings = {"n": 50, "x": 30, "epsilon": 0.5, "gamma": 1.0}
    computed = charest.answers(score_functions)
    book = ledger("charest", computed, settings=settings, notes=charest.NOTES).set_index("id")
    assert set(book["verdict"]) == {"match", "differs"}
    assert set(book.index[book["verdict"] == "differs"]) == set(charest.NOTES)


def test_the_two_misprints_have_lost_one_digit(score_functions: pd.DataFrame) -> None:
    computed = charest.answers(score_functions)
    for key, digits in (("expected_outcome", 5), ("posterior", 8)):
        ours = f"{computed[f'table1_log_p_{key}']:.{digits}f}".lstrip("0")
        theirs = PRINTED.loc[f"table1_log_p_{key}", "printed"].lstrip("0")
        assert theirs in {ours[:i] + ours[i + 1 :] + "0" for i in range(len(ours))}


def test_no_mechanism_of_table_1_has_its_epsilon(score_functions: pd.DataFrame) -> None:
    found = score_functions.set_index("score")["exact_epsilon"].round(3).to_dict()
    assert found == {"-|d - r|": 0.714, "P": 0.126, "log P": 1.778}


def test_calibrated_distances() -> None:
    """Expected distances at exact epsilon one half."""
    counts = np.arange(51)
    found = {}
    for name, score in charest.binary_scores(50, 1.0).items():
        rate = mechanism.exact_rate(score, 0.5, change_one(50))
        made = mechanism.gibbs(score, rate, change_one(50))
        found[name] = round(float(np.exp(made.row(30)) @ np.abs(counts - 30)), 2)
    assert found == {"-|d - r|": 3.07, "P": 12.85, "log P": 8.15}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epsilon", "0", "[0.001, 100]"),
        ("gamma", "-1", "[0.001, 1000]"),
        ("n_table", "100", "[1, 24]"),
        ("budgets", "[1, 0]", "[0.001, 100]"),
        ("likely", "1.5", "(0, 1]"),
    ],
)
def test_bad_parameters_are_found_before_a_kernel_starts(
    root: Path, name: str, value: str, message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        resolve(root, "charest", overrides=[(name, value)])


def test_notebook_runs_at_other_settings(root: Path, tmp_path: Path) -> None:
    settings = {"n": 5, "x": 5, "epsilon": 2.0, "gamma": 0.5, "n_table": 3, "budgets": [1.5]}
    settings |= {"n_small": 2, "model_draws": [16], "audit_sizes": [50], "n_large": 12}
    parameters = resolve(root, "charest").parameters
    folder = run(root, Request("charest", "other", {**parameters, **settings}, {}), tmp_path)
    book = pd.read_csv(folder / "tables/ledger.csv")
    assert set(book["verdict"]) == {"skipped"}
    assert "Warning" not in (folder / "notebook.ipynb").read_text(encoding="utf-8")
