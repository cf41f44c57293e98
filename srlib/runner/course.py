"""The course: nbgrader assignments from all notebooks with exercises.

An exercise is a Markdown cell headed ``### Exercise 1: ...`` that names its answers in
backticks. It is followed by Markdown cells tagged ``hint``, folded as HTML's details,
then by the cells tagged ``solution``, which assign the answers and assert them. A
question tagged ``written`` asks for words as well. A cell elsewhere tagged
``spoiler-3`` reveals the solution of Exercise 3.
"""

import re
import textwrap
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from srlib.runner.parameters import UsageError

_EXERCISE = re.compile(r"### Exercise (\d+)\b")


def assignment_source(notebook: NotebookNode) -> NotebookNode:
    """Return an assignment's source, from which nbgrader generates student versions."""
    cells = [new_markdown_cell(_template("how.md"), id="how")]
    for position, cell in enumerate(notebook.cells, 1):
        if number := _EXERCISE.match(cell.source):
            parts = list(takewhile(_is_part, notebook.cells[position:]))
            cells += [cell, *_exercise_cells(f"exercise-{number[1]}", cell, parts)]
        elif not _is_part(cell):
            cells.append(_without_spoiler(cell))
    # Each assignment has its own folder, and the guide is not beside it.
    for cell in cells:
        cell.source = re.sub(r"\]\((\w+)\.ipynb", r"](../\1/\1.ipynb", cell.source)
        cell.source = re.sub(r"\[([^]]+)\]\(\.\./docs/[^)]*\)", r"\1", cell.source)
    kernel = {"kernelspec": notebook.metadata.kernelspec}
    return nbformat.v4.new_notebook(cells=cells, metadata=kernel)


def _template(name: str) -> str:
    """Return the text of a template."""
    file = Path(__file__).with_name("templates") / f"{name}.txt"
    return file.read_text("utf-8").rstrip("\n")


def _tags(cell: NotebookNode) -> set[str]:
    """Return the tags of a cell."""
    return set(cell.metadata.get("tags", []))


def _is_part(cell: NotebookNode) -> bool:
    """Return whether a cell is a part of the exercise above it."""
    return not _tags(cell).isdisjoint(("hint", "solution"))


def _cell(
    name: str, text: str, points: int = 0, solution: bool = False
) -> NotebookNode:
    """Return a cell that nbgrader knows by name; hidden unless students write in it."""
    nbgrader = {
        "schema_version": 3,
        "grade_id": name,
        "task": False,
        "points": points,
        "grade": points > 0,
        "solution": solution,
        "locked": not solution,
    }
    metadata = {"nbgrader": nbgrader, "jupyter": {"source_hidden": not solution}}
    make = new_markdown_cell if name.endswith("-words") else new_code_cell
    return make(text, id=name, metadata=metadata)


def _exercise_cells(
    key: str, question: NotebookNode, parts: list[NotebookNode]
) -> Iterator[NotebookNode]:
    """Yield an exercise's hints, the answer in words, the answers and their checks."""
    yield from (cell for cell in parts if "hint" in _tags(cell))
    solution = [cell for cell in parts if "solution" in _tags(cell)]
    code = _text(solution, "code")
    assertions = _assertions(question.source, code)
    if not assertions:
        raise UsageError(
            f"{key}: the solution asserts none of the names in the question"
        )
    if "written" in _tags(question):
        words = _text(solution, "markdown")
        yield _cell(f"{key}-words", words, points=1, solution=True)
    stubs = "\n".join(f"{name} = ..." for name in assertions)
    text = f"{stubs}\n### BEGIN SOLUTION\n{code}\n### END SOLUTION"
    yield _cell(f"{key}-answers", text, solution=True)
    for name, assertion in assertions.items():
        decimals = re.search(r"== \[?-?\d*\.(\d+)", assertion)
        digits = len(decimals[1]) if decimals else 3
        test = f"# Is {name} right?\n### HASHED AUTOTEST as_text({name}, {digits})"
        yield _cell(f"{key}-{name}", test, points=1)


def _text(cells: list[NotebookNode], kind: str) -> str:
    """Return the joined texts of the cells of one kind."""
    gap = "\n" if kind == "code" else "\n\n"
    return gap.join(cell.source for cell in cells if cell.cell_type == kind)


def _assertions(question: str, code: str) -> dict[str, str]:
    """Return a solution's assertions about each name that the question asks for."""
    assertions = {}
    for name in re.findall(r"`(\w+)`", question):
        if lines := re.findall(rf"^assert .*\b{name}\b.*", code, re.MULTILINE):
            assertions[name] = "\n".join(lines)
    return assertions


def _without_spoiler(cell: NotebookNode) -> NotebookNode:
    """Return a cell without its text, or its code's output, if it is a spoiler."""
    spoiler = re.search(r"\bspoiler-(\d+)", " ".join(_tags(cell)))
    if not spoiler:
        return cell
    if cell.cell_type == "code":
        kept_back = _template("kept_back.py").format(spoiler[1])
        return new_code_cell(f"{kept_back}\n{cell.source}", id=cell.id)
    headings = re.findall(r"^#.*", cell.source, re.MULTILINE)
    left_out = _template("left_out.md").format(spoiler[1])
    text = "\n\n".join([*headings, left_out])
    return new_markdown_cell(text, id=cell.id)


def find_assignments(root: Path) -> list[str]:
    """Return the papers with exercises, sorted."""
    return sorted(
        path.stem
        for path in root.glob("notebooks/*.py")
        if "\n# ### Exercise 1" in path.read_text("utf-8")
    )


def write_assignment(root: Path, paper: str, folder: Path) -> None:
    """Write the source of a paper's assignment and nbgrader's configuration."""
    notebook = nbformat.read(root / "notebooks" / f"{paper}.ipynb", as_version=4)
    checks = textwrap.indent(_template("checks.py"), " " * 4).lstrip()
    contents = {
        "nbgrader_config.py": _template("nbgrader_config.py"),
        "autotests.yml": _template("autotests.yml").replace("CHECKS", checks),
        f"source/{paper}/{paper}.ipynb": nbformat.writes(assignment_source(notebook)),
    }
    for name, text in contents.items():
        path = folder / name
        content = f"{text}\n"
        if path.exists() and path.read_text("utf-8") != content:
            raise UsageError(f"{path} exists with other contents; move it away")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
