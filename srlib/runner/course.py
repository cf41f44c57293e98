"""The course: nbgrader assignments from all notebooks with exercises.

An exercise is a Markdown cell headed ``### Exercise 1: ...`` that names its answers in
backticks. It is followed by Markdown cells tagged ``hint``, folded as HTML's details,
then by the cells tagged ``solution``, which assign the answers and assert them. A
question tagged ``written`` asks for words as well. A cell elsewhere tagged
``spoiler-3`` reveals the solution of Exercise 3.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from srlib.runner.parameters import UsageError

_EXERCISE = re.compile(r"### Exercise (\d+)\b")


def assignment_source(notebook: NotebookNode) -> NotebookNode:
    """Return an assignment's source, from which nbgrader generates student versions."""
    checks = _cell("checks", _template("checks.py"), locked=True)
    cells = [new_markdown_cell(_template("how.md"), id="how"), checks]
    for at, cell in enumerate(notebook.cells, 1):
        if found := _EXERCISE.match(cell.source):
            behind = list(
                takewhile(
                    lambda c: _tags(c) & {"hint", "solution"}, notebook.cells[at:]
                )
            )
            cells += [cell, *_exercise_cells(f"exercise-{found[1]}", cell, behind)]
        elif not _tags(cell) & {"hint", "solution"}:
            cells.append(_without_spoiler(cell))
    for (
        cell
    ) in cells:  # each assignment has its own folder, and the guide is not beside it
        cell.source = re.sub(r"\]\((\w+)\.ipynb", r"](../\1/\1.ipynb", cell.source)
        cell.source = re.sub(r"\[([^]]+)\]\(\.\./docs/[^)]*\)", r"\1", cell.source)
    kernel = {"kernelspec": notebook.metadata.kernelspec}
    return nbformat.v4.new_notebook(cells=cells, metadata=kernel)


def _template(name: str) -> str:
    file = Path(__file__).with_name("templates") / f"{name}.txt"
    return file.read_text(encoding="utf-8").rstrip("\n")


def _tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def _cell(name: str, text: str, points: int = 0, **role: bool) -> NotebookNode:
    """Return a cell that nbgrader knows by name; hidden unless students write in it."""
    known: dict[str, Any] = {"schema_version": 3, "grade_id": name, "task": False}
    known |= {
        "points": points,
        "grade": points > 0,
        "solution": False,
        "locked": False,
    } | role
    metadata = {"nbgrader": known, "jupyter": {"source_hidden": not known["solution"]}}
    make = new_markdown_cell if name.endswith("-words") else new_code_cell
    return make(text, id=name, metadata=metadata)


def _exercise_cells(
    key: str, question: NotebookNode, behind: list[NotebookNode]
) -> Iterator[NotebookNode]:
    """Yield the cells of an exercise: hints, an answer in words, answers, and their checks."""
    yield from (cell for cell in behind if "hint" in _tags(cell))
    solution = [cell for cell in behind if "solution" in _tags(cell)]
    code = "\n".join(cell.source for cell in solution if cell.cell_type == "code")
    names = dict.fromkeys(re.findall(r"`(\w+)`", question.source))
    lines = {
        name: re.findall(rf"^assert .*\b{name}\b.*", code, re.MULTILINE)
        for name in names
    }
    answers = {name: "\n".join(found) for name, found in lines.items() if found}
    if not answers:
        raise UsageError(
            f"{key}: the solution asserts none of the names in the question"
        )
    if "written" in _tags(question):
        words = "\n\n".join(
            cell.source for cell in solution if cell.cell_type == "markdown"
        )
        yield _cell(f"{key}-words", words, points=1, solution=True)
    stubs = "\n".join(f"{name} = ..." for name in answers)
    text = f"{stubs}\n### BEGIN SOLUTION\n{code}\n### END SOLUTION"
    yield _cell(f"{key}-answers", text, solution=True)
    for name, assertion in answers.items():
        decimals = re.search(r"== \[?-?\d*\.(\d+)", assertion)
        digits = len(decimals[1]) if decimals else 3
        test = f"# Is {name} right?\n### HASHED AUTOTEST as_text({name}, {digits})"
        yield _cell(f"{key}-{name}", test, points=1, locked=True)


def _without_spoiler(cell: NotebookNode) -> NotebookNode:
    """Return a cell without spoilers: without its text, or without the output of its code."""
    spoiled = [
        tag.removeprefix("spoiler-")
        for tag in _tags(cell)
        if tag.startswith("spoiler-")
    ]
    if not spoiled:
        return cell
    if cell.cell_type == "code":
        kept_back = _template("kept_back.py").format(spoiled[0])
        return new_code_cell(f"{kept_back}\n{cell.source}", id=cell.id)
    headings = "".join(
        f"{line}\n\n" for line in cell.source.split("\n") if line.startswith("#")
    )
    return new_markdown_cell(
        headings + _template("left_out.md").format(spoiled[0]), id=cell.id
    )


def find_assignments(root: Path) -> list[str]:
    """Return the papers with exercises, sorted."""
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        for path in root.glob("notebooks/*.py")
    }
    return sorted(
        paper for paper, text in texts.items() if "\n# ### Exercise 1" in text
    )


def write_assignment(root: Path, paper: str, folder: Path) -> None:
    """Write the source of a paper's assignment and nbgrader's configuration to a folder."""
    notebook = nbformat.read(root / "notebooks" / f"{paper}.ipynb", as_version=4)
    contents = {
        name: _template(name) for name in ("nbgrader_config.py", "autotests.yml")
    }
    contents[f"source/{paper}/{paper}.ipynb"] = nbformat.writes(
        assignment_source(notebook)
    )
    for name, content in contents.items():
        path, content = folder / name, f"{content}\n"
        if path.exists() and path.read_text(encoding="utf-8") != content:
            raise UsageError(f"{path} exists with other contents; move it away")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
