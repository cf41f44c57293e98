"""The course: what students' copies hold, what their checks accept, and what nbgrader grades."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
import toy
from click.testing import CliRunner

from srlib.runner import course
from srlib.runner.cli import main
from srlib.runner.parameters import UsageError

ROOT = Path(__file__).parents[1]
SECRETS = ["A good answer", "Known to be", "Another secret", "to divide", "share / 3", "np.log"]
SECRETS += ["0.167", "5]", "Beta", "smith", "not private", "SOLUTION", "AUTOTEST"]
ANSWERS = {  # right and wrong
    "sixth": ("1 / 6", "0.168"), "half": ("[0.5]", "0.501"), "private": ("np.False_", "True"),
    "releases": ("np.array([2.0, 5])", "[2, 6]"), "name": ("' beta  binomial'", "'Beta'"),
    "suspects": ("{'cook', 'Smith'}", "{'cook'}"),
}  # fmt: skip
NOTEBOOKS = {p: jupytext.read(ROOT / f"notebooks/{p}.py") for p in course.find(ROOT)}
CHANCE = {("what_a_risk_means", "0.25")}  # another share of the same example


def nbgrader(folder: Path, *arguments: str) -> None:
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}  # of alembic
    command = [sys.executable, "-m", "nbgrader", *arguments]
    subprocess.run(command, cwd=folder, check=True, env=os.environ | path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a course with one assignment, released."""
    project = toy.make(tmp_path_factory.mktemp("course"), toy.EXERCISES)
    jupytext.write(jupytext.reads(toy.EXERCISES, "py:percent"), project / "notebooks/toy.ipynb")
    course.write(project, "toy", project / "course")
    nbgrader(project / "course", "generate_assignment", "toy")
    return project / "course"


def released(made: Path) -> Any:
    return nbformat.read(made / "release/toy/toy.ipynb", as_version=4)


def test_a_copy_has_no_solution(made: Path) -> None:
    cells = [cell.source for cell in released(made).cells]
    text = "\n".join(cells)
    assert [secret for secret in SECRETS if secret in text] == []
    at = cells.index("### Exercise 1: half of a third\n\nTo three digits (`sixth`).")
    assert cells[at + 1].startswith("<details><summary>Hint 1</summary>\n\nHalf is")
    assert "*Your answer in words.*" in cells
    assert "## A part with a spoiler\n\n*What stands here gives Exercise 1 away." in text
    assert [cell[:10] for cell in cells if "needed_below = share" in cell] == ["%%capture\n"]
    assert "](../other/other.ipynb#part)" in text


def test_a_check_accepts_the_answer_and_no_other(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a Python that has the standard library only, but for the answers."""
    cells = released(made).cells
    (helpers,) = [cell.source for cell in cells if cell.id == "checks"]
    checks = re.findall(r"^points_for\(.*", "\n".join(cell.source for cell in cells), re.M)
    for nth, told in enumerate(("right", "wrong", "not answered yet")):
        names: dict[str, Any] = {}
        exec(helpers, names)
        given = "\n".join(f"{name} = {(*answers, '...')[nth]}" for name, answers in ANSWERS.items())
        exec(f"import numpy as np\n{given}", names)
        assert [eval(check, names) for check in checks] == [told == "right"] * len(ANSWERS)
        said = capsys.readouterr().out.splitlines()
        assert sorted(said) == sorted(f"{name}: {told}" for name in ANSWERS)


def test_each_right_name_is_a_point(made: Path) -> None:
    copy = released(made)
    for nth, (name, answers) in enumerate(ANSWERS.items()):
        answer = (*answers, "...")[nth % 3]
        for cell in copy.cells:
            cell.source = cell.source.replace(f"{name} = ...", f"{name} = {answer}")
    submitted = made / "submitted/anna/toy/toy.ipynb"
    submitted.parent.mkdir(parents=True)
    nbformat.write(copy, submitted)
    nbgrader(made, "autograde", "toy")
    nbgrader(made, "export")
    (row,) = csv.DictReader((made / "grades.csv").read_text(encoding="utf-8").splitlines())
    assert (float(row["raw_score"]), float(row["max_score"])) == (2, 7)  # words are still to read


def in_copy(notebook: Any) -> list[str]:
    cells = course.source(notebook).cells
    return [c.source for c in cells if not c.metadata.get("nbgrader", {}).get("solution")]


def solutions(notebook: Any) -> list[str]:
    return [c.source for c in notebook.cells if "solution" in c.metadata.get("tags", [])]


def test_no_answer_stands_in_any_copy() -> None:
    """Neither a solution as it is written nor its number; of three digits in the others' copies."""
    copies, found = {paper: in_copy(notebook) for paper, notebook in NOTEBOOKS.items()}, set()
    for paper, notebook in NOTEBOOKS.items():
        solution = solutions(notebook)
        assert [cell for cell in solution if cell in "\n".join(copies[paper])] == []
        for number in re.findall(r"^assert .*== \[?-?([\d.]+)", "\n".join(solution), re.M):
            digits = len(number.replace(".", "").strip("0"))
            spelled = {number, number.removeprefix("0"), f"{100 * float(number):g} %"}
            pattern = rf"(?<![\d.,])({'|'.join(map(re.escape, spelled))})(?!\d|[.,]\d)"
            for other, texts in copies.items():
                if digits >= (2 if other == paper else 3) and re.search(pattern, "\n".join(texts)):
                    found.add((other, number))
    assert found == CHANCE


@pytest.mark.parametrize("paper", NOTEBOOKS)
def test_what_a_question_asks_for_is_checked(paper: str) -> None:
    copy, solution = in_copy(NOTEBOOKS[paper]), "\n".join(solutions(NOTEBOOKS[paper]))
    questions = [text for text in copy if text.startswith("### Exercise ")]
    assert 3 <= len(questions) <= 5
    asked = set(re.findall(r"`(\w+)`", "\n".join(questions)))
    assigned = set(re.findall(r"\w+", str(re.findall(r"^([\w, ]+) = ", solution, re.M))))
    checked = set(re.findall(r"AUTOTEST as_text\((\w+), \d\)", "\n".join(copy)))
    assert asked & assigned == checked
    text = "\n".join(cell.source for cell in NOTEBOOKS[paper].cells)
    assert not re.search(r"^(def )?(as_text|points_for|sha256)\b", text, re.M)


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*options: str) -> str:
        return CliRunner().invoke(main, ["course", *options]).output

    monkeypatch.chdir(toy.make(tmp_path, toy.EXERCISES))
    assert "No such file" in said()
    jupytext.write(jupytext.read("notebooks/toy.py"), "notebooks/toy.ipynb")
    assert "course/source: toy\ncopies: cd" in said()
    changed = Path("outputs/course/nbgrader_config.py")
    changed.write_text("mine", encoding="utf-8")
    assert "--replace" in said()
    assert changed.read_text(encoding="utf-8") == "mine"
    assert "autograde, in a container" in said("--replace")
    unasked = toy.EXERCISES.replace("`sixth`", "a number")
    with pytest.raises(UsageError, match="exercise-1: the solution asserts no name"):
        course.source(jupytext.reads(unasked, "py:percent"))
