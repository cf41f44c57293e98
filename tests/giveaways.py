"""Numeric answers that stand in the text of a students' copy."""

import re
from collections.abc import Iterator
from typing import Any

from srlib.runner.course import Exercise, exercises
from srlib.runner.course.copies import AFTERWARDS, IMPORT

# Where an answer's number may stand in the copy, and why: by notebook, exercise and name.
CHANCE = {
    "what_a_risk_means": {
        ("Exercise 1", "claimed_no"): "75/300 = .25, another share of the same example",
    },
    "hu_reiter_wang": {
        ("Exercise 4", "exceeding"): "as many candidates in another exercise",
    },
}


def spellings(value: float, digits: int | None) -> Iterator[str]:
    """Yield patterns of a number as a text may print it; none for one digit, or a round number."""
    size = abs(value)
    plain = f"{size:.{digits}f}" if digits is not None else f"{size}"
    figures = re.sub(r"\D", "", plain).strip("0" if digits is None else "").lstrip("0")
    if len(figures) < 2:
        return
    yield re.escape(plain)
    if plain.startswith("0."):
        yield re.escape(plain[1:])
    if size >= 1000:
        grouped = re.escape(f"{size:,.{digits or 0}f}")
        yield from (grouped.replace(",", mark) for mark in (",", r"\{,\}", r"\\,", "[ \u202f]"))
    if digits is not None and digits >= 2 and size <= 1:
        yield re.escape(f"{100 * size:.{digits - 2}f}") + r"(?= ?\\?(?:%|,\\%|per ?cent))"


def found(notebook: Any, copy: Any) -> list[tuple[str, str, str, str]]:
    """Return exercise, name, passage and whole text where the copy has an answer's number.

    The body of the exercise's own question is its data; its heading counts. What is folded for
    after the exercises does not.
    """
    sources = [cell.source for cell in copy.cells]
    texts = [text for text in sources if IMPORT not in text and AFTERWARDS not in text]
    return [
        (exercise.label, name, passage, source)
        for exercise in exercises(notebook)
        for name, pattern in _patterns(exercise)
        for source in texts
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
