"""Bars move with the clock where cells were measured, and guess no time where none were."""

import io
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from srlib import yamls
from srlib.runner.watching import Bar, cell_seconds

CELLS = [
    new_markdown_cell("# Title\n\n## Short section"),
    new_code_cell("a = 1"),
    new_markdown_cell("## A section with a heading that is longer than a bar has room for"),
    new_code_cell("b = 2"),
]


def earlier(folder: Path, **values: int) -> Path:
    """Write the folder of a run whose cells took 10 and 30 s."""
    injected = new_code_cell("n = 1", metadata={"tags": ["injected-parameters"]})
    cells = [CELLS[0], CELLS[1], injected, CELLS[2], CELLS[3]]
    ran = nbformat.from_dict(new_notebook(cells=[dict(cell) for cell in cells]))
    for cell, seconds in zip(ran.cells, (0, 10.0, 1.0, 0, 30.0), strict=True):
        cell.metadata = {**cell.metadata, "papermill": {"duration": seconds}}
    nbformat.write(ran, folder / "notebook.ipynb")
    (folder / "parameters.yaml").write_text(yamls.dump(values), encoding="utf-8")
    return folder


class Clock:
    time = 0.0

    def __call__(self) -> float:
        return self.time


def drawn(bar: Bar, file: io.StringIO) -> str:
    bar.draw()
    return file.getvalue().split("\r")[-1]


def test_seconds_of_the_same_question(tmp_path: Path) -> None:
    folder, notebook = earlier(tmp_path, n=1), new_notebook(cells=CELLS)
    assert cell_seconds(folder, notebook, {"n": 1}) == {"a = 1": 10.0, "b = 2": 30.0}


@pytest.mark.parametrize(("value", "cells"), [(2, CELLS), (1, CELLS[:3])])
def test_no_seconds_of_another_question(value: int, cells: list[object], tmp_path: Path) -> None:
    assert cell_seconds(earlier(tmp_path, n=1), new_notebook(cells=cells), {"n": value}) == {}


def test_no_seconds_without_a_run(tmp_path: Path) -> None:
    assert cell_seconds(tmp_path / "none", new_notebook(cells=CELLS), {}) == {}


def test_measured_cells_tell_what_is_left_and_move_within_a_cell() -> None:
    file, clock = io.StringIO(), Clock()
    bar = Bar("toy", new_notebook(cells=CELLS), {"a = 1": 10, "b = 2": 30}, file=file, now=clock)
    bar.start_cell(cell=CELLS[0])
    bar.start_cell(cell=CELLS[1])
    clock.time = 4.0
    assert drawn(bar, file).startswith("toy:  10% ")
    assert "about 00:36 left, Short section" in drawn(bar, file)
    clock.time = 60.0  # slower than it was: the bar waits where the cell should have ended
    assert "about 00:30 left" in drawn(bar, file)
    bar.complete_cell(cell=CELLS[1])
    bar.start_cell(cell=CELLS[2])
    bar.start_cell(cell=CELLS[3])
    assert drawn(bar, file).startswith("toy:  25% ")
    assert "A section with a heading that is lo…" in drawn(bar, file)
    bar.complete_cell(cell=CELLS[3])
    bar.end(True)
    assert "100%" in file.getvalue()


def test_cells_are_counted_where_none_was_measured() -> None:
    file = io.StringIO()
    bar = Bar("toy", new_notebook(cells=CELLS), {}, file=file)
    bar.start_cell(cell=CELLS[1])
    assert drawn(bar, file).startswith("toy: 0 of 2 cells ")
    bar.complete_cell(cell=CELLS[1])
    told = drawn(bar, file)
    assert told.startswith("toy: 1 of 2 cells ")
    assert "left" not in told
    bar.end(False)
    assert "2 of 2" not in file.getvalue()
