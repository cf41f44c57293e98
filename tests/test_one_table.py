"""The notebook of a course's first hour."""

from pathlib import Path

import jupytext

from srlib.runner.course import exercises


def test_exercises_end_in_a_solution_in_words(root: Path) -> None:
    notebook = jupytext.read(root / "notebooks/one_table_two_readings.py")
    found = exercises(notebook)
    assert len(found) == 5
    assert {notebook.cells[exercise.cells[-1]].cell_type for exercise in found} == {"markdown"}
