"""The committed notebooks are those of their texts, executed in order, and of readable size."""

import ast
import statistics
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


def test_every_code_cell_was_executed_in_order(text: Path) -> None:
    assert [cell.execution_count for cell in code_cells(text)] == list(
        range(1, len(code_cells(text)) + 1)
    )


def test_no_error_and_no_warning_is_stored(text: Path) -> None:
    outputs = [output for cell in code_cells(text) for output in cell.outputs]
    assert outputs
    assert [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"] == []


def test_cells_are_short(text: Path) -> None:
    lines = sorted(len(cell.source.splitlines()) for cell in code_cells(text))
    assert len(lines) <= 40
    assert statistics.median(lines) <= 6
    assert lines[-1] <= 30
    assert sum(n <= 15 for n in lines) >= 0.9 * len(lines)


def test_cells_that_record_confidential_tables_are_tagged(text: Path) -> None:
    for cell in code_cells(text):
        calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
        confidential = any(k.arg == "confidential" for call in calls for k in call.keywords)
        assert not confidential or "confidential" in cell.metadata.get("tags", [])
