"""Exercises of a notebook: where they stand, and what is a right answer.

An exercise is a Markdown cell headed ``### Exercise 1: ...`` with the cells tagged ``solution``
behind it. Its answers are the names that the solution assigns and then asserts to be a literal or
a closed form, which the executed notebook has found to be true:

    assert round(epsilon, 3) == 0.714      # a number, to the digits that are written
    assert np.isclose(epsilon, np.log(2))  # a number, to three significant digits
    assert releases == [2, 5]              # whole numbers, texts, lists, sets: exactly
    assert private                         # or: assert not private

The question names each of them in backticks, and nothing else that the solution assigns. Exercises
stand anywhere in the notebook and are numbered in order of appearance.

A short one that belongs to the text around it is headed ``### Try it: ...``; it has no number, and
all else holds for it, too. An open question, headed ``### Open question: ...``, has no answer to
check: the cells behind it say what a good one contains.

Tags say more. A question tagged ``written`` asks for words as well. Up to two Markdown cells tagged
``hint`` stand between a question and its solution, the milder one first. A cell tagged
``spoiler-3``, anywhere else, gives the answer of Exercise 3 away, and one tagged ``spoiler`` that
of no particular exercise.
"""

import ast
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from srlib.runner.course.seals import Elements, order

if TYPE_CHECKING:
    from nbformat import NotebookNode

SOLUTION, HINT, WRITTEN, SPOILER = "solution", "hint", "written", "spoiler"
MOST_HINTS = 2
_HEADING = re.compile(r"### ((?:Exercise (\d+)|Open question)\b|Try it: [^\n]*[^\s])")
_OPEN = "Open question"


@dataclass(frozen=True)
class Exercise:
    """One exercise of a notebook.

    Attributes
    ----------
    label : str
        ``"Exercise 1"``, ``"Open question"``, or the whole heading of a ``"Try it: ..."``.
    number : int
        Of an exercise that has one; 0 for the others.
    question : int
        Position of the question's cell.
    hints, cells : range
        Positions of the hints and of the solution's cells, which follow it in this order.
    answers : dict of str to list of (bool, int, float or str, int or None)
        By name the elements of the right answer, one for a scalar; beside each the digits behind
        the decimal point to which it counts, or None where it counts exactly. None for an open
        question.
    written : bool
        Whether the question asks for words as well.
    """

    label: str
    number: int
    question: int
    hints: range
    cells: range
    answers: dict[str, Elements]
    written: bool


def exercises(notebook: "NotebookNode") -> list[Exercise]:
    """Return the exercises of a notebook in their order.

    Raises
    ------
    ValueError
        If they are not numbered 1, 2, ...; if one has no solution, or a solution that asserts no
        answer that can be checked; if a question does not ask for what is checked, or asks for
        what is not; if two have one label; if a solution or a hint follows no question, or a
        spoiler names no exercise.
    """
    found: list[Exercise] = []
    cells, at = notebook.cells, 0
    while at < len(cells):
        heading = _HEADING.match(cells[at].source) if cells[at].cell_type == "markdown" else None
        if not heading:
            _check_outside(cells[at], at)
            at += 1
            continue
        question, at = at, at + 1
        hints = _while(cells, at, HINT)
        solution = _while(cells, hints.stop, SOLUTION)
        at = solution.stop
        number = sum(exercise.number > 0 for exercise in found) + 1
        if heading[2] and int(heading[2]) != number:
            raise ValueError(f"{heading[1]} must be number {number}")
        exercise = Exercise(
            label=heading[1],
            number=number if heading[2] else 0,
            question=question,
            hints=hints,
            cells=solution,
            answers={} if heading[1] == _OPEN else _asserted(_code(cells, solution)),
            written=WRITTEN in tags(cells[question]),
        )
        _check(exercise, cells)
        if exercise.label != _OPEN and exercise.label in [other.label for other in found]:
            raise ValueError(f"two exercises are headed '### {exercise.label}'")
        found.append(exercise)
    numbers = {0} | {exercise.number for exercise in found}
    for at, cell in enumerate(cells):
        if (spoiled := spoils(cell)) is not None and spoiled not in numbers:
            raise ValueError(f"cell {at + 1} is tagged {SPOILER}-{spoiled}, which is no exercise")
    return found


def tags(cell: "NotebookNode") -> list[str]:
    """Return a cell's tags."""
    return cell.metadata.get("tags", [])


def spoils(cell: "NotebookNode") -> int | None:
    """Return the number of the exercise whose answer a cell gives away.

    It is 0 where the tag names none, and None where the cell has no such tag.
    """
    for tag in tags(cell):
        if found := re.fullmatch(rf"{SPOILER}(?:-([1-9]\d*))?", tag):
            return int(found[1] or 0)
    return None


def _while(cells: list["NotebookNode"], start: int, tag: str) -> range:
    """Return the positions from `start` on of cells that have a tag, up to the first without."""
    stop = start
    while stop < len(cells) and tag in tags(cells[stop]):
        stop += 1
    return range(start, stop)


def _code(cells: list["NotebookNode"], positions: range) -> list[str]:
    return [cells[at].source for at in positions if cells[at].cell_type == "code"]


def _check_outside(cell: "NotebookNode", at: int) -> None:
    """Raise a ValueError if a cell that is not of an exercise is tagged as if it were."""
    for tag in tags(cell):
        if tag in (SOLUTION, HINT):
            raise ValueError(f"cell {at + 1} is tagged {tag!r} and follows no exercise")
        if tag == WRITTEN:
            raise ValueError(f"cell {at + 1} is tagged {tag!r} and is no exercise's question")
        if tag.startswith(SPOILER) and spoils(cell) is None:
            raise ValueError(f"cell {at + 1} is tagged {tag!r}; a number belongs behind the hyphen")


def _check(exercise: Exercise, cells: list["NotebookNode"]) -> None:
    """Raise a ValueError unless an exercise has what it must have, and nothing else."""
    label = exercise.label
    if not exercise.cells or (label != _OPEN and not exercise.answers):
        raise ValueError(
            f"{label} has no answer to check: a code cell tagged {SOLUTION!r} behind it must "
            "assign one and assert it, as in 'assert round(answer, 3) == 0.714' or "
            "'assert np.isclose(answer, np.log(2))'; behind an open question a Markdown cell "
            f"tagged {SOLUTION!r} says what a good answer contains"
        )
    if len(exercise.hints) > MOST_HINTS:
        raise ValueError(f"{label} has {len(exercise.hints)} hints; {MOST_HINTS} are the most")
    if any(cells[at].cell_type != "markdown" for at in exercise.hints):
        raise ValueError(f"{label} has a hint that is code; hints are Markdown")
    own = [exercise.question, *exercise.hints, *exercise.cells]
    if any(spoils(cells[at]) is not None for at in own):
        raise ValueError(f"{label} has a cell tagged {SPOILER!r}, which is for cells elsewhere")
    if label == _OPEN:
        return
    named = set(re.findall(r"`([A-Za-z_]\w*)`", cells[exercise.question].source))
    checked = set(exercise.answers)
    if unasked := checked - named:
        raise ValueError(f"{label} checks {', '.join(sorted(unasked))}, which it does not ask for")
    assigned = _assigned(_code(cells, exercise.cells))
    if unchecked := (named & assigned) - checked:
        raise ValueError(f"{label} asks for {', '.join(sorted(unchecked))}, which nothing checks")


def _asserted(cells: list[str]) -> dict[str, Elements]:
    """Return, for each answer, its elements and the digits behind the point of those with any."""
    answers = {}
    for source in cells:
        for node in ast.parse(source).body:
            if isinstance(node, ast.Assert) and (found := _answer(node.test, source)):
                answers[found[0]] = found[1]
    assigned = _assigned(cells)
    return {name: elements for name, elements in answers.items() if name in assigned}


def _assigned(cells: Iterable[str]) -> set[str]:
    """Return the names that cells assign."""
    return {
        node.id
        for source in cells
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _answer(test: ast.expr, source: str) -> tuple[str, Elements] | None:
    match test:
        case ast.Name(name):
            return name, [(True, None)]
        case ast.UnaryOp(ast.Not(), ast.Name(name)):
            return name, [(False, None)]
        case ast.Compare(
            ast.Name(name) | ast.Call(ast.Name("round"), [ast.Name(name), *_]), [ast.Eq()], [value]
        ):
            parts = value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else [value]
            try:
                elements = [_element(part, source) for part in parts]
            except ValueError:
                return None
            if isinstance(value, ast.Set):
                elements.sort(key=lambda element: order(element[0]))
            return name, elements
        case ast.Call(ast.Attribute(ast.Name("np"), "isclose"), [ast.Name(name), value, *_]):
            if {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} <= {"np"}:
                number = float(eval(ast.unparse(value), {"np": np}))
                return name, [(number, max(0, 2 - math.floor(math.log10(abs(number) or 1))))]
    return None


def _element(node: ast.expr, source: str) -> tuple[Any, int | None]:
    value = ast.literal_eval(node)
    if not isinstance(value, bool | int | float | str):
        raise ValueError
    if not isinstance(value, float):
        return value, None
    exponent = Decimal(ast.get_source_segment(source, node) or "").as_tuple().exponent
    return value, max(0, -int(exponent))
