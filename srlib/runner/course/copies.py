"""Students' copies: stubs and checks in the place of solutions, and nothing that gives them away.

A copy holds of each answer a seal only. Hints are folded. Of the cells tagged ``spoiler-3`` the
text is left out and, with that of the model solution, shown by the check once Exercise 3 is right;
code stays, since later cells may need what it makes, and what it shows is kept back. Where the tag
names no exercise, text is folded.
"""

import json
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from srlib.runner.course.exercises import Exercise, exercises, spoils
from srlib.runner.course.seals import lock, right_texts, seal
from srlib.runner.files import write_whole
from srlib.runner.parameters import UsageError

if TYPE_CHECKING:
    from nbformat import NotebookNode

IMPORT = "from srlib.runner.course import check"
_LATER = "*What belongs here comes with the right answer to Exercise {}.*"
AFTERWARDS = "This gives answers away: for after the exercises"
_CAPTURED = (
    "%%capture\n# What it shows gives an answer away. Once you have that, delete these lines."
)


def student_copy(notebook: "NotebookNode") -> "NotebookNode":
    """Return a notebook with a stub and a check in the place of each solution, and no outputs.

    Raises
    ------
    ValueError
        As `exercises`, and if there is none.
    """
    from srlib.runner.run import normalized

    found = exercises(notebook)
    if not found:
        raise ValueError("no cell is headed '### Exercise 1'")
    instead = {at: _told_later(notebook, at) for at in range(len(notebook.cells))}
    for exercise in found:
        for n, at in enumerate(exercise.hints, 1):
            instead[at] = [_markdown(_folded(f"Hint {n}", notebook.cells[at].source))]
        instead |= {at: [] for at in exercise.cells}
        instead[exercise.cells[0]] = _answering(notebook, exercise)
    cells = [cell for at in instead for cell in instead[at]]
    copy = normalized(type(notebook)({**notebook, "cells": cells}))
    for cell in copy.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return copy


def _markdown(text: str) -> "NotebookNode":
    from nbformat.v4 import new_markdown_cell

    return new_markdown_cell(text)


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"


def _told_later(notebook: "NotebookNode", at: int) -> list["NotebookNode"]:
    """Return what stands in a copy for a cell that belongs to no exercise."""
    from nbformat.v4 import new_code_cell

    cell = notebook.cells[at]
    number = spoils(cell)
    if number is None:
        return [cell]
    if cell.cell_type == "code":
        return [new_code_cell(f"{_CAPTURED}\n{cell.source}")]
    heading, text = _split(cell.source)
    if number:
        return [_markdown(f"{heading}{_LATER.format(number)}")] if heading else []
    return [_markdown(heading + _folded(AFTERWARDS, text))]


def _split(text: str) -> tuple[str, str]:
    """Return the headings that a text begins with, and the rest."""
    found = re.match(r"(?:#+ [^\n]*\n+)*", text)
    heading = found[0] if found else ""
    return heading, text[len(heading) :]


def _answering(notebook: "NotebookNode", exercise: Exercise) -> list["NotebookNode"]:
    """Return the cells in which an exercise is answered and checked."""
    from nbformat.v4 import new_code_cell

    words = [_markdown("*Your answer in words.*")]
    if not exercise.answers:
        return words
    stub = "\n".join(f"{name} = ..." for name in exercise.answers)
    given = "".join(
        f'    {name}=({name}, "{seal(f"{exercise.label} {name}", elements)}"),\n'
        for name, elements in exercise.answers.items()
    )
    message = _message(notebook, exercise)
    locked = lock(message, [right_texts(elements) for elements in exercise.answers.values()])
    lines = "\n".join(f'        "{line}"' for line in textwrap.wrap(locked if message else "", 88))
    shown = f"(\n{lines}\n    )" if lines else '""'
    label = json.dumps(exercise.label, ensure_ascii=False)
    call = f"check(\n    {label},\n    {len(exercise.hints)},\n    {shown},\n{given})"
    return [
        *(words if exercise.written else []),
        new_code_cell(f"# Your work; at its end, the answer in the place of the dots.\n{stub}"),
        new_code_cell(f"{IMPORT}\n\n{call}"),
    ]


def _message(notebook: "NotebookNode", exercise: Exercise) -> str:
    """Return what a right answer brings: the solution's text, and what was left out for it."""
    solution = [notebook.cells[at] for at in exercise.cells]
    left_out = [
        cell for cell in notebook.cells if exercise.number and spoils(cell) == exercise.number
    ]
    parts = [cell.source for cell in solution if cell.cell_type == "markdown"]
    parts += [cell.source for cell in left_out if cell.cell_type == "markdown"]
    if any(cell.cell_type == "code" for cell in left_out):
        parts.append(
            "A code cell that kept back what it shows can be run again without its first line, "
            "`%%capture`."
        )
    return "\n\n".join(parts)


def find(root: Path) -> list[str]:
    """Return the papers whose text notebooks have exercises, sorted."""
    files = sorted((root / "notebooks").glob("*.py"))
    return [file.stem for file in files if "\n# ### Exercise 1" in file.read_text(encoding="utf-8")]


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
        if not any(IMPORT in source for source in sources):
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
