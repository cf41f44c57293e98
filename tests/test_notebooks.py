"""The committed notebooks are those of their texts, executed, and of readable size."""

import dis
import re
import statistics

import jupytext
import nbformat
import pandas as pd
import pytest
from test_package import SIZE, tokens_by_line
from toy import ROOT

from srlib.outputs import Outputs
from srlib.runner.parameters import FILE_PARAMETERS, read_parameters

NOTEBOOKS = sorted(ROOT.glob("notebooks/*.py"))
NOTEBOOKS_PAGE = (ROOT / "docs/notebooks.md").read_text("utf-8")
pytestmark = pytest.mark.parametrize("text", NOTEBOOKS, ids=lambda path: path.stem)


def executed(text):
    return nbformat.read(text.with_suffix(".ipynb"), as_version=4)


def code_cells(text):
    return [cell for cell in executed(text).cells if cell.cell_type == "code"]


def tags(cell):
    return set(cell.metadata.get("tags", []))


def test_text_and_notebook_agree(text):
    pairs = zip(executed(text).cells, jupytext.read(text).cells, strict=True)
    for cell, written in pairs:
        assert cell.cell_type == written.cell_type
        assert cell.source == written.source
        assert tags(cell) == tags(written)
    assert executed(text).metadata.jupytext.formats == "ipynb,py:percent"


def test_saving_in_jupyterlab_leaves_the_text_as_it_is(text):
    saved = jupytext.writes(jupytext.read(text), "py:percent")
    assert saved == text.read_text("utf-8")


def test_hints_and_solutions_are_folded(text):
    for cell in executed(text).cells:
        is_details = re.fullmatch("(?s)<details><summary>.*</details>", cell.source)
        if {"hint", "solution"} & tags(cell) and not is_details:
            assert cell.metadata.jupyter.source_hidden
            assert "# Solution\n" in cell.source


def test_what_only_lays_out_is_folded_and_what_computes_is_not(text):
    """But for assess, whose readers want to know about their release."""
    for cell in code_cells(text):
        is_folded = "jupyter" in cell.metadata
        assert is_folded == bool({"solution", "hide-input"} & tags(cell))
        if "hide-input" in tags(cell) and text.stem != "assess":
            shows = r"\b(show|figure|check|ledger|callout|Claims|Markdown)\("
            assert re.search(rf"^import |^from |{shows}", cell.source)


def test_every_code_cell_was_executed_in_order(text):
    for number, cell in enumerate(code_cells(text), 1):
        assert cell.execution_count == number


def test_no_error_and_no_warning_is_stored(text):
    for cell in code_cells(text):
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"


def test_a_notebook_is_one_sitting_and_a_cell_one_thought(text):
    """A tenth of the tokens counts as words. Reading leaves out the exercises."""
    cells = executed(text).cells
    prose = [cell.source for cell in cells if cell.cell_type == "markdown"]
    code = [c.source for c in code_cells(text) if "solution" not in tags(c)]
    tokens = [tokens_by_line(source).total() for source in code]
    words_to_read = len(argument(text).split()) + sum(tokens) / 10
    size: dict[str, float] = {
        "words": len(" ".join(prose).split()),
        "minutes": words_to_read / SIZE["words_a_minute"],
        "lines": max(len(source.splitlines()) for source in code),
        "median_tokens": statistics.median(tokens),
    }
    limits = SIZE["notebook"] | SIZE.get(text.stem, {})
    for name, limit in limits.items():
        assert size[name] <= limit, name
    stated = re.search(rf"\[`{text.stem}`\].*\| (\d+), \w+ \|", NOTEBOOKS_PAGE)
    assert stated
    assert abs(int(stated[1]) - size["minutes"]) <= 3, size["minutes"]


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


def argument(text):
    """The prose without exercises, which have their own settings, and references."""
    cells = [c for c in jupytext.read(text).cells if c.cell_type == "markdown"]
    source = "\n".join(
        cell.source for cell in cells if not {"hint", "solution"} & tags(cell)
    )
    return re.sub(r"(?ms)^#+ (?:Exercise|References).*?(?=^#|\Z)", "", source)


def without_code(source):
    """Prose without places in papers, code and the targets of links."""
    source = re.sub(r"[Ss]ections? \d[\d.]*(?:,? (?:and|to) \d[\d.]*)*", "", source)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", source)


def test_typed_numbers_are_exact_or_printed(text):
    """What a run decides is printed by a cell: no profile contradicts its text."""
    code = "\n".join(cell.source for cell in code_cells(text))
    literals = re.findall(r"(?<![\w.])(?:\d[\d_]*\.?\d*|\.\d+)", code)
    sourced = {*map(float, literals)}
    of_paper = text.with_suffix(".csv")
    if of_paper.exists():
        sourced |= {*pd.read_csv(of_paper)["printed"].astype(float)}
    typed = {*NUMBER.findall(without_code(argument(text)))}
    for number in typed - EXACT.get(text.stem, set()):
        value = float(number.replace(",", ""))
        assert {value, value / 100, round(1 - value, 12)} & sourced, number


def test_cells_that_record_public_files_are_tagged(text):
    for cell in code_cells(text):
        if re.search(r"\bpublic=", cell.source):
            assert "public" in tags(cell)


def test_what_is_public_rests_on_neither_the_file_nor_the_seed(text):
    """Cells marked public run without both, except those with words on the file."""
    declared = read_parameters(text)
    if declared.keys().isdisjoint(FILE_PARAMETERS):
        return
    names = declared.keys() - {*FILE_PARAMETERS, "seed"}
    given = {name: declared[name].default for name in names}
    given |= {"outputs": Outputs(""), "output_dir": "", "display": str}
    for cell in jupytext.read(text).cells:
        imports = tags(cell) <= {"hide-input"} and cell.source.startswith(
            ("import ", "from ")
        )
        has_words = re.search(r"\.(verdicts|public_table)\(", cell.source)
        is_public = "public" in tags(cell) and not has_words
        if imports or is_public:
            exec(cell.source, given)


def test_a_cell_that_needs_something_names_a_parameter(text):
    declared = read_parameters(text)
    for cell in jupytext.read(text).cells:
        for tag in tags(cell):
            if tag.startswith("needs-"):
                assert {*tag.removeprefix("needs-").split("-or-")} <= declared.keys()


def test_solutions_leave_the_names_of_the_notebook_alone(text):
    """So that a cell above can be run again after an exercise."""
    of_solutions: set[str] = set()
    of_notebook: set[str] = set()
    for cell in code_cells(text):
        names = of_solutions if "solution" in tags(cell) else of_notebook
        for step in dis.get_instructions(cell.source):
            if step.opname == "STORE_NAME":
                names.add(step.argval)
    assert of_solutions.isdisjoint(of_notebook)
