"""Numeric answers that stand in the text of a students' copy."""

import re
from collections.abc import Iterator
from typing import Any

from srlib.runner.course import Exercise, exercises, student_copy
from srlib.runner.course.copies import IMPORT

# Where an answer's number stands in the copy by chance: by notebook, exercise and name.
CHANCE = {
    "any_generator": {("Exercise 3", "counts"): "100 releases, 100 records: a round number"},
    "charest": {("Exercise 2", "outcome"): "50 records are the paper's and all exercises' data"},
    "mcclure_reiter": {("Exercise 5", "cut"): "10 of the paper's entries: powers, budgets, pages"},
    "one_table_two_readings": {("Exercise 5", "suspect_bins"): "100 bins, one of six settings"},
}


def spellings(value: float, digits: int | None) -> Iterator[str]:
    """Yield patterns of a number as a text may print it; none for a single digit."""
    size = abs(value)
    plain = f"{size:.{digits}f}" if digits is not None else f"{size}"
    if sum(c.isdigit() for c in plain.lstrip("0.")) < 2:
        return
    yield re.escape(plain)
    if plain.startswith("0."):
        yield re.escape(plain[1:])
    if size >= 1000:
        grouped = re.escape(f"{size:,.{digits or 0}f}")
        yield from (grouped.replace(",", mark) for mark in (",", r"\{,\}", r"\\,", "[ \u202f]"))
    if digits is not None and digits >= 2 and size <= 1:
        yield re.escape(f"{100 * size:.{digits - 2}f}") + r"(?= ?\\?(?:%|,\\%|per ?cent))"


def found(notebook: Any) -> list[tuple[str, str, str, str]]:
    """Return exercise, name, and number and passage of each answer that the copy's text has.

    The body of the exercise's own question is its data; its heading counts.
    """
    copy = [cell.source for cell in student_copy(notebook).cells if IMPORT not in cell.source]
    return [
        (exercise.label, name, passage, source)
        for exercise in exercises(notebook)
        for name, pattern in _patterns(exercise)
        for source in copy
        for passage in _passages(source, pattern, notebook.cells[exercise.question].source)
    ]


def _patterns(exercise: Exercise) -> Iterator[tuple[str, str]]:
    for name, elements in exercise.answers.items():
        for value, digits in elements:
            if isinstance(value, int | float) and not isinstance(value, bool):
                for spelling in spellings(value, digits):
                    yield name, rf"(?<![\d.,]){spelling}(?!\d|[.,]\d)"


def _passages(source: str, pattern: str, question: str) -> Iterator[str]:
    text = source.split("\n")[0] if source == question else source
    if match := re.search(pattern, text):
        yield text[max(0, match.start() - 50) : match.end() + 30].replace("\n", " ")
