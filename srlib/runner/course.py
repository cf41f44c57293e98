"""Students' copies of the notebooks: stubs in the place of solutions, and checks that keep quiet.

An exercise is a markdown cell headed ``### Exercise 1: ...`` with the cells tagged ``solution``
behind it. Its answers are the names that the solution assigns and then asserts to be a literal or
a closed form, which the executed notebook has found to be true:

    assert round(epsilon, 3) == 0.714      # a number, to the digits that are written
    assert np.isclose(epsilon, np.log(2))  # a number, to three significant digits
    assert releases == [2, 5]              # whole numbers, texts, lists, sets: exactly
    assert private                         # or: assert not private

The question names each of them in backticks, and nothing else that the solution assigns.

An open question, headed ``### Open question: ...``, has no answer to check: the cells behind it say
what a good one contains.

A copy holds hashes of the answers only. They keep an answer from being read, not from being
searched for.
"""

import ast
import hashlib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from srlib.runner.files import write_whole
from srlib.runner.parameters import UsageError

if TYPE_CHECKING:
    from nbformat import NotebookNode

SOLUTION = "solution"
RIGHT, WRONG, OPEN = "right", "wrong", "not answered yet"
_HEADING = re.compile(r"### (Exercise (\d+)|Open question)\b")
_ROUNDS = 20_000  # of the key derivation: some ten milliseconds for each answer that is tried


@dataclass(frozen=True)
class Exercise:
    """One exercise of a notebook.

    Attributes
    ----------
    label : str
        ``"Exercise 1"``, or ``"Open question"``.
    cells : range
        Positions of the solution's cells.
    answers : dict of str to str
        The seal of each answer by its name, as `seal` returns it; none for an open question.
    """

    label: str
    cells: range
    answers: dict[str, str]


def exercises(notebook: "NotebookNode") -> list[Exercise]:
    """Return the exercises of a notebook in their order.

    Raises
    ------
    ValueError
        If they are not numbered 1, 2, ...; if one has no solution, or a solution that asserts no
        answer that can be checked; if a question does not ask for what is checked, or asks for
        what is not; if a solution follows no exercise.
    """
    found: list[Exercise] = []
    cells, at = notebook.cells, 0
    while at < len(cells):
        heading = _HEADING.match(cells[at].source) if cells[at].cell_type == "markdown" else None
        if _is_solution(cells[at]):
            raise ValueError(f"cell {at + 1} is tagged {SOLUTION!r} and follows no exercise")
        at += 1
        if not heading:
            continue
        label, first = heading[1], at
        numbered = sum(bool(exercise.answers) for exercise in found)
        if heading[2] and int(heading[2]) != numbered + 1:
            raise ValueError(f"{label} must be number {numbered + 1}")
        while at < len(cells) and _is_solution(cells[at]):
            at += 1
        code = [cell.source for cell in cells[first:at] if cell.cell_type == "code"]
        asserted = _asserted(code)
        answers = {name: seal(f"{label} {name}", values) for name, values in asserted.items()}
        if at == first or (heading[2] and not answers):
            raise ValueError(
                f"{label} has no answer to check: a code cell tagged {SOLUTION!r} behind it must "
                "assign one and assert it, as in 'assert round(answer, 3) == 0.714' or "
                "'assert np.isclose(answer, np.log(2))'; behind an open question a Markdown cell "
                f"tagged {SOLUTION!r} says what a good answer contains"
            )
        if heading[2]:
            _check_asked(label, cells[first - 1].source, set(answers), _assigned(code))
        found.append(Exercise(label, range(first, at), answers))
    return found


def _check_asked(label: str, question: str, checked: set[str], assigned: set[str]) -> None:
    """Raise a ValueError unless a question asks for the names that are checked, and no others."""
    named = set(re.findall(r"`([A-Za-z_]\w*)`", question))
    if unasked := checked - named:
        raise ValueError(f"{label} checks {', '.join(sorted(unasked))}, which it does not ask for")
    if unchecked := (named & assigned) - checked:
        raise ValueError(f"{label} asks for {', '.join(sorted(unchecked))}, which nothing checks")


def _is_solution(cell: "NotebookNode") -> bool:
    return SOLUTION in cell.metadata.get("tags", [])


def _asserted(cells: Iterable[str]) -> dict[str, list[tuple[Any, int | None]]]:
    """Return, for each answer, its elements and the digits behind the point of those with any."""
    cells, answers = list(cells), {}
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


def _answer(test: ast.expr, source: str) -> tuple[str, list[tuple[Any, int | None]]] | None:
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
                elements.sort(key=lambda element: _order(element[0]))
            return name, elements
        case ast.Call(ast.Attribute(ast.Name("np"), "isclose"), [ast.Name(name), value, *_]):
            if {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} <= {"np"}:
                number = float(eval(ast.unparse(value), {"np": np}))
                return name, [(number, max(0, 2 - math.floor(math.log10(abs(number) or 1))))]
    return None


def _order(element: object) -> str:
    """Return what the elements of a set are sorted by."""
    return str(element).casefold()


def _element(node: ast.expr, source: str) -> tuple[Any, int | None]:
    value = ast.literal_eval(node)
    if not isinstance(value, bool | int | float | str):
        raise ValueError
    if not isinstance(value, float):
        return value, None
    exponent = Decimal(ast.get_source_segment(source, node) or "").as_tuple().exponent
    return value, max(0, -int(exponent))


def seal(salt: str, elements: Iterable[tuple[Any, int | None]]) -> str:
    """Return an answer's seal, from which only a check can tell whether another one equals it.

    Parameters
    ----------
    salt : str
        What the answer belongs to.
    elements : iterable of (bool, int, float or str, int or None)
        The answer's elements, one for a scalar; beside each the digits behind the decimal point
        to which it counts, or None where it counts exactly.

    Returns
    -------
    str
        For each element its digits and a salted hash of it.
    """
    return " ".join(
        f"{'' if digits is None else digits}:{_hash(f'{salt} {i}', _text(value, digits))}"
        for i, (value, digits) in enumerate(elements)
    )


def _hash(salt: str, text: str) -> str:
    return hashlib.pbkdf2_hmac("sha256", text.encode(), salt.encode(), _ROUNDS)[:8].hex()


def _text(value: Any, digits: int | None, off: int = 0) -> str:
    """Return what is hashed of a value; of a number with digits, `off` units in the last one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float) and math.isfinite(value):
        if digits is not None:
            return str(round(value * 10**digits) + off)
        if value == int(value):
            return str(int(value))
    return " ".join(str(value).casefold().split())


def verdict(answer: Any, sealed: str, salt: str) -> str:
    """Return whether an answer is right, wrong or not there yet.

    Parameters
    ----------
    answer : object
        A number, text, truth value, or a flat list, array or set of these; ``...`` where there is
        none yet. Numbers with digits may be off by one unit in the last one, texts by case and
        spaces.
    sealed, salt : str
        What `seal` returned, and for which salt.
    """
    if answer is ...:
        return OPEN
    answer = sorted(answer, key=_order) if isinstance(answer, set | frozenset) else answer
    elements = np.asarray(answer, dtype=object).ravel().tolist()
    expected = [element.split(":") for element in sealed.split()]
    right = len(elements) == len(expected) and all(
        any(_hash(f"{salt} {i}", _text(value, *near)) == hashed for near in _near(digits))
        for i, (value, (digits, hashed)) in enumerate(zip(elements, expected, strict=True))
    )
    return RIGHT if right else WRONG


def _near(digits: str) -> list[tuple[int | None, int]]:
    return [(int(digits), off) for off in (0, -1, 1)] if digits else [(None, 0)]


def check(label: str, **answers: tuple[Any, str]) -> None:
    """Print for each answer of an exercise whether it is right, without saying what would be.

    Parameters
    ----------
    label : str
        The exercise's label.
    answers : (object, str)
        By name: the student's answer, and the seal of the right one.
    """
    for name, (answer, sealed) in answers.items():
        print(f"{label}, {name}: {verdict(answer, sealed, f'{label} {name}')}")


def student_copy(notebook: "NotebookNode") -> "NotebookNode":
    """Return a notebook with a stub and a check in the place of each solution, and no outputs.

    Raises
    ------
    ValueError
        As `exercises`, and if there is none.
    """
    from nbformat.v4 import new_code_cell, new_markdown_cell

    from srlib.runner.run import normalized

    found, stubs = exercises(notebook), {}
    if not found:
        raise ValueError("no cell is headed '### Exercise 1'")
    for exercise in found:
        if not exercise.answers:
            stubs[exercise.cells[0]] = [new_markdown_cell("*Your answer.*")]
            continue
        stub = "\n".join(f"{name} = ..." for name in exercise.answers)
        given = "".join(
            f'    {name}=({name}, "{sealed}"),\n' for name, sealed in exercise.answers.items()
        )
        check_it = f'check(\n    "{exercise.label}",\n{given})'
        stubs[exercise.cells[0]] = [
            new_code_cell(f"# Your work; at its end, the answer in the place of the dots.\n{stub}"),
            new_code_cell(f"from srlib.runner.course import check\n\n{check_it}"),
        ]
    cells = []
    for at, cell in enumerate(notebook.cells):
        cells += stubs.get(at, [] if _is_solution(cell) else [cell])
    copy = normalized(type(notebook)({**notebook, "cells": cells}))
    for cell in copy.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return copy


def find(root: Path) -> list[str]:
    """Return the papers whose text notebooks have exercises, sorted."""
    texts = sorted((root / "notebooks").glob("*.py"))
    return [text.stem for text in texts if "\n# ### Exercise 1" in text.read_text(encoding="utf-8")]


def _sources(notebook: "NotebookNode") -> list[str]:
    return [cell.source for cell in notebook.cells]


def read(root: Path, paper: str) -> "NotebookNode":
    """Return a paper's executed notebook, in which every assert has held.

    Raises
    ------
    UsageError
        If it has not been built from the text as it is now.
    """
    import jupytext
    import nbformat

    text = root / "notebooks" / f"{paper}.py"
    built = text.with_suffix(".ipynb")
    notebook = nbformat.read(built, as_version=4) if built.exists() else None
    if notebook is None or _sources(notebook) != _sources(jupytext.read(text)):
        raise UsageError(f"{paper}: {built.name} is not of its text; first 'srlib build {paper}'")
    return notebook


def write(root: Path, paper: str, folder: Path, *, replace: bool = False) -> Path:
    """Write the students' copy of a paper's notebook, and its text beside it.

    Parameters
    ----------
    root : Path
        The project's folder.
    paper : str
        Name of a text notebook without its ending.
    folder : Path
        Where ``<paper>.ipynb`` and ``<paper>.py`` go.
    replace : bool
        Whether to write over a copy that is not as it was handed out.

    Returns
    -------
    Path
        The copy.

    Raises
    ------
    UsageError
        If the notebook has not been built, has no exercises, or one that cannot be checked; if
        somebody has worked in the copy that is there; if what is there is no copy, or `folder`
        is where the notebooks themselves lie.
    """
    import jupytext
    import nbformat

    if folder.resolve() == (root / "notebooks").resolve():
        raise UsageError(f"{folder} holds the notebooks themselves; copies need another folder")

    canonical = read(root, paper)
    try:
        copy = student_copy(canonical)
    except ValueError as error:
        raise UsageError(f"{paper}: {error}") from None
    notebook = folder / f"{paper}.ipynb"
    text = notebook.with_suffix(".py")
    for path in (path for path in (notebook, text) if path.exists()):
        sources = _sources_of(path)
        if not any("from srlib.runner.course import check" in source for source in sources):
            raise UsageError(f"{path} is no copy of a notebook and stays as it is; move it away")
        if not replace and sources != _sources(copy):
            raise UsageError(f"{path} is not as it was handed out; --replace writes over it")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(notebook, nbformat.writes(copy) + "\n")
    write_whole(text, jupytext.writes(copy, fmt="py:percent").rstrip("\n") + "\n")
    return notebook


def _sources_of(path: Path) -> list[str]:
    """Return the cells' sources of a file; none where it is no notebook."""
    import jupytext

    try:
        return _sources(jupytext.read(path))
    except (ValueError, AttributeError, TypeError, KeyError):
        return []
