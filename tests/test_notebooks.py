"""The committed notebooks are those of their texts, executed in order, and of readable size."""

import ast
import csv
import json
import re
import statistics
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted(Path(__file__).parents[1].glob("notebooks/*.py"))
pytestmark = pytest.mark.parametrize("text", NOTEBOOKS, ids=lambda path: path.stem)


def executed(text: Path) -> Any:
    import nbformat

    return nbformat.read(text.with_suffix(".ipynb"), as_version=4)


def code_cells(text: Path) -> list[Any]:
    return [cell for cell in executed(text).cells if cell.cell_type == "code"]


def test_text_and_notebook_agree(text: Path) -> None:
    import jupytext

    def told(notebook: Any) -> list[tuple[str, str, list[str]]]:
        return [(c.cell_type, c.source, c.metadata.get("tags", [])) for c in notebook.cells]

    assert told(executed(text)) == told(jupytext.read(text))
    assert executed(text).metadata.jupytext.formats == "ipynb,py:percent"


def test_saving_in_jupyterlab_leaves_the_text_as_it_is(text: Path) -> None:
    import jupytext

    saved = jupytext.writes(jupytext.read(text), "py:percent")
    assert saved == text.read_text(encoding="utf-8")


def test_saving_in_jupyterlab_leaves_the_notebook_as_it_is(text: Path) -> None:
    """What it reads becomes JavaScript's, which writes whole floats as integers."""
    import nbformat

    def of_javascript(number: str) -> float:
        value = float(number)
        return int(value) if value.is_integer() and abs(value) < 1e21 else value

    committed = text.with_suffix(".ipynb").read_text(encoding="utf-8")
    saved = nbformat.from_dict(json.loads(committed, parse_float=of_javascript))
    assert nbformat.writes(saved) + "\n" == committed
    language = saved.metadata.language_info
    assert {"codemirror_mode", "file_extension", "mimetype", "version"} <= language.keys()


def test_hints_and_solutions_are_folded(text: Path) -> None:
    for cell in executed(text).cells:
        if {"hint", "solution"} & set(cell.metadata.get("tags", [])):
            words = cell.source.startswith("<details><summary>") and cell.source.endswith(
                "details>"
            )
            assert words or (cell.metadata.jupyter.source_hidden and "# Solution\n" in cell.source)


def test_every_code_cell_was_executed_in_order(text: Path) -> None:
    assert [cell.execution_count for cell in code_cells(text)] == list(
        range(1, len(code_cells(text)) + 1)
    )


def test_no_error_and_no_warning_is_stored(text: Path) -> None:
    outputs = [output for cell in code_cells(text) for output in cell.outputs]
    assert outputs
    assert [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"] == []


def test_a_notebook_is_one_sitting(text: Path) -> None:
    """Exercises included. Cells show the computation."""
    limit = tomllib.loads((text.parents[1] / "pyproject.toml").read_text("utf-8"))["tool"]["size"]
    cells, limit = executed(text).cells, limit["notebook"]
    assert len(cells) <= limit["cells"]
    words = sum(len(c.source.split()) for c in cells if c.cell_type == "markdown")
    assert words <= limit["words"]
    lines = [len(cell.source.splitlines()) for cell in code_cells(text)]
    assert statistics.median(lines) <= limit["median_lines"]
    assert max(lines) <= limit["lines"]


NUMBER = re.compile(r"(?<![\w.,/(−-])(?:\d{1,3}(?:,\d{3})+|\d*\.\d+|\d+(?=\s?%))")
# Exact numbers in prose that neither a paper prints nor a cell holds, by notebook: results of
# arithmetic that stands beside them, conventions, and places such as sections.
EXACT = {
    "assess": {"95"},
    "charest": {"0.71", "0.13", "1.78", "3.93", ".622", ".04820252"},
    "charest_han": {"68.92", "49.51"},
    "hu_reiter_wang": {"0.62", "8.7", "0.7", "1.01", "13.3", "6.7"},
    "mcclure_reiter": {".99", "7.4", "1.5", ".4055"},
    "one_table_two_readings": {"45", "0.003", "0.964", "0.077", "0.02", "0.14", "0.08", "1.42"},
    "privacy_loss": {"0.5", "0.147"},
    "sequential_trees": {".35", ".26", ".08", ".64"},
    "what_a_risk_means": {".036"},
}  # fmt: skip


def prose(text: Path) -> Iterator[str]:
    """Parts of the argument: no exercises, which have their own settings, and no references."""
    import jupytext

    inside = True
    for cell in jupytext.read(text).cells:
        for part in re.split(r"(?m)^(?=#)", cell.source) if cell.cell_type == "markdown" else ():
            if heading := re.match(r"#+ (.*)", part):
                inside = not heading[1].startswith(("Exercise", "References"))
            if inside and "solution" not in cell.metadata.get("tags", []):
                part = re.sub(r"[Ss]ections? \d[\d.]*(?:,? (?:and|to) \d[\d.]*)*", "", part)
                yield re.sub(r"`[^`]*`|\]\([^)]*\)", "", part)


def test_typed_numbers_are_exact_or_printed(text: Path) -> None:
    """What a run decides is printed by a cell, so that no profile contradicts its text."""
    code = "\n".join(cell.source for cell in code_cells(text))
    known = {
        float(n.replace("_", "")) for n in re.findall(r"(?<![\w.])(?:\d[\d_]*\.?\d*|\.\d+)", code)
    }
    if (file := text.with_suffix(".csv")).exists():
        with file.open(encoding="utf-8") as lines:
            known |= {float(row["printed"]) for row in csv.DictReader(lines)}
    decided = [
        f"{number}: {part[max(at - 40, 0) : at + 20]!r}"
        for part in prose(text)
        for number, at in ((found[0], found.start()) for found in NUMBER.finditer(part))
        if number not in EXACT.get(text.stem, set())
        and not {value := float(number.replace(",", "")), value / 100, round(1 - value, 12)} & known
    ]
    assert decided == []


def test_cells_that_record_public_files_are_tagged(text: Path) -> None:
    for cell in code_cells(text):
        calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
        public = any(k.arg == "public" for call in calls for k in call.keywords)
        assert not public or "public" in cell.metadata.get("tags", [])


def test_what_is_public_rests_on_neither_the_file_nor_the_seed(text: Path) -> None:
    """Cells marked public run without both, but for those with the words on a user's file."""
    import jupytext

    from srlib.runner.outputs import Outputs
    from srlib.runner.parameters import FILES, read_parameters

    declared = {name: parameter.default for name, parameter in read_parameters(text).items()}
    if declared.keys().isdisjoint(FILES):
        return
    secret = (*FILES, "seed")
    given = {name: value for name, value in declared.items() if name not in secret}
    given |= {"outputs": Outputs(""), "output_dir": "", "display": str}
    for cell in jupytext.read(text).cells:
        tags = cell.metadata.get("tags", [])
        imports = not tags and cell.source.startswith(("import ", "from "))
        if imports or ("public" in tags and not re.search(r"\.(words|in_public)\(", cell.source)):
            exec(cell.source, given)


def test_a_cell_that_needs_something_names_a_parameter(text: Path) -> None:
    import jupytext

    from srlib.runner.parameters import read_parameters

    tags = {tag for cell in jupytext.read(text).cells for tag in cell.metadata.get("tags", [])}
    needed = [tag.removeprefix("needs-").split("-or-") for tag in tags if tag.startswith("needs-")]
    assert {name for names in needed for name in names} <= set(read_parameters(text))


def names_bound(source: str) -> set[str]:
    """Names that a cell leaves behind; not those within its functions and comprehensions."""
    bound, inside = set(), set()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef):
            bound.add(statement.name)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.comprehension):
                inside |= {id(name) for name in ast.walk(node.target)}
        bound |= {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and id(node) not in inside
        }
    return bound


def test_solutions_leave_the_names_of_the_notebook_alone(text: Path) -> None:
    """So that a cell above can be run again after an exercise."""
    bound: dict[bool, set[str]] = {True: set(), False: set()}
    for cell in code_cells(text):
        bound["solution" in cell.metadata.get("tags", [])] |= names_bound(cell.source)
    assert bound[True] & bound[False] == set()
