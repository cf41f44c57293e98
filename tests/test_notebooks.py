"""The committed notebooks are those of their texts, executed, and of readable size."""

import dis
import re
import statistics
import tomllib
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pandas as pd
import pytest

from srlib.outputs import Outputs
from srlib.runner.parameters import FILE_PARAMETERS, read_parameters

NOTEBOOKS = sorted(Path(__file__).parents[1].glob("notebooks/*.py"))
pytestmark = pytest.mark.parametrize("text", NOTEBOOKS, ids=lambda path: path.stem)


def executed(text: Path) -> Any:
    return nbformat.read(text.with_suffix(".ipynb"), as_version=4)


def code_cells(text: Path) -> list[Any]:
    return [cell for cell in executed(text).cells if cell.cell_type == "code"]


def tags(cell: Any) -> set[str]:
    return set(cell.metadata.get("tags", []))


def test_text_and_notebook_agree(text: Path) -> None:
    pairs = zip(executed(text).cells, jupytext.read(text).cells, strict=True)
    for cell, written in pairs:
        assert cell.cell_type == written.cell_type
        assert cell.source == written.source
        assert tags(cell) == tags(written)
    assert executed(text).metadata.jupytext.formats == "ipynb,py:percent"


def test_saving_in_jupyterlab_leaves_the_text_as_it_is(text: Path) -> None:
    saved = jupytext.writes(jupytext.read(text), "py:percent")
    assert saved == text.read_text("utf-8")


def test_hints_and_solutions_are_folded(text: Path) -> None:
    for cell in executed(text).cells:
        is_details = re.fullmatch("(?s)<details><summary>.*</details>", cell.source)
        if {"hint", "solution"} & tags(cell) and not is_details:
            assert cell.metadata.jupyter.source_hidden
            assert "# Solution\n" in cell.source


def test_every_code_cell_was_executed_in_order(text: Path) -> None:
    for number, cell in enumerate(code_cells(text), 1):
        assert cell.execution_count == number


def test_no_error_and_no_warning_is_stored(text: Path) -> None:
    for cell in code_cells(text):
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"


def test_a_notebook_is_one_sitting(text: Path) -> None:
    """Exercises included. Cells show the computation."""
    project = tomllib.loads((text.parents[1] / "pyproject.toml").read_text("utf-8"))
    cells = executed(text).cells
    n_lines = [len(cell.source.splitlines()) for cell in code_cells(text)]
    proses = [cell.source for cell in cells if cell.cell_type == "markdown"]
    size: dict[str, float] = {
        "cells": len(cells),
        "words": len(" ".join(proses).split()),
        "lines": max(n_lines),
        "median_lines": statistics.median(n_lines),
    }
    limits = project["tool"]["size"]["notebook"]
    for name, limit in limits.items():
        assert size[name] <= limit, name


NUMBER = re.compile(r"(?<![\w.,/(−-])(?:\d{1,3}(?:,\d{3})+|\d*\.\d+|\d+(?=\s?%))")
# Exact numbers in prose that neither a paper prints nor a cell holds, by notebook:
# results of arithmetic beside them, conventions, and places such as sections.
EXACT = {
    "charest": {"1.78", "3.93"},
    "hu_reiter_wang": {"0.62", "8.7", "0.7", "1.01", "13.3", "6.7"},
    "mcclure_reiter": {"7.4", "1.5", ".4055"},
    "one_table_two_readings": {
        "45",
        "0.003",
        "0.964",
        "0.077",
        "0.02",
        "0.14",
        "0.08",
        "1.42",
    },
    "privacy_loss": {"0.5", "0.147"},
    "sequential_trees": {".35", ".26", ".08", ".64"},
    "what_a_risk_means": {".036"},
}


def prose(text: Path) -> str:
    """The argument: no exercises, with their own settings, no references, no code."""
    source = ""
    for cell in jupytext.read(text).cells:
        if cell.cell_type == "markdown" and "solution" not in tags(cell):
            source += f"{cell.source}\n"
    source = re.sub(r"(?ms)^#+ (?:Exercise|References).*?(?=^#|\Z)", "", source)
    source = re.sub(r"[Ss]ections? \d[\d.]*(?:,? (?:and|to) \d[\d.]*)*", "", source)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", source)


def test_typed_numbers_are_exact_or_printed(text: Path) -> None:
    """What a run decides is printed by a cell: no profile contradicts its text."""
    code = "\n".join(cell.source for cell in code_cells(text))
    literals = re.findall(r"(?<![\w.])(?:\d[\d_]*\.?\d*|\.\d+)", code)
    sourced = {*map(float, literals)}
    of_paper = text.with_suffix(".csv")
    if of_paper.exists():
        sourced |= {*pd.read_csv(of_paper)["printed"].astype(float)}
    typed = {*NUMBER.findall(prose(text))}
    for number in typed - EXACT.get(text.stem, set()):
        value = float(number.replace(",", ""))
        assert {value, value / 100, round(1 - value, 12)} & sourced, number


def test_cells_that_record_public_files_are_tagged(text: Path) -> None:
    for cell in code_cells(text):
        if re.search(r"\bpublic=", cell.source):
            assert "public" in tags(cell)


def test_what_is_public_rests_on_neither_the_file_nor_the_seed(text: Path) -> None:
    """Cells marked public run without both, except those with words on the file."""
    declared = read_parameters(text)
    if declared.keys().isdisjoint(FILE_PARAMETERS):
        return
    names = declared.keys() - {*FILE_PARAMETERS, "seed"}
    given = {name: declared[name].default for name in names}
    given |= {"outputs": Outputs(""), "output_dir": "", "display": str}
    for cell in jupytext.read(text).cells:
        imports = not tags(cell) and cell.source.startswith(("import ", "from "))
        has_words = re.search(r"\.(verdicts|public_table)\(", cell.source)
        is_public = "public" in tags(cell) and not has_words
        if imports or is_public:
            exec(cell.source, given)


def test_a_cell_that_needs_something_names_a_parameter(text: Path) -> None:
    declared = read_parameters(text)
    for cell in jupytext.read(text).cells:
        for tag in tags(cell):
            if tag.startswith("needs-"):
                assert {*tag.removeprefix("needs-").split("-or-")} <= declared.keys()


def test_solutions_leave_the_names_of_the_notebook_alone(text: Path) -> None:
    """So that a cell above can be run again after an exercise."""
    of_solutions: set[str] = set()
    of_notebook: set[str] = set()
    for cell in code_cells(text):
        names = of_solutions if "solution" in tags(cell) else of_notebook
        for step in dis.get_instructions(cell.source):
            if step.opname == "STORE_NAME":
                names.add(step.argval)
    assert of_solutions.isdisjoint(of_notebook)
