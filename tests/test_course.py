"""The course: student versions, the answers that their checks accept, and nbgrader's grades."""

import contextlib
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

from srlib.runner import course
from srlib.runner.parameters import UsageError

SECRETS = [
    "A good answer",
    "Known to be",
    "Another secret",
    "to divide",
    "share / 3",
    "np.log",
]
SECRETS += ["0.167", "5]", "Beta", "smith", "not private", "SOLUTION", "AUTOTEST"]
TOLD = ["right", "wrong", "not answered yet"]
ANSWERS = {
    "sixth": ("1 / 6", "0.168", "..."),
    "half": ("[0.5]", "0.501", "..."),
    "private": ("np.False_", "True", "..."),
    "name": ("' beta  binomial'", "'Beta'", "..."),
    "releases": ("np.array([2.0, 5])", "[2, 6]", "..."),
    "suspects": ("{'cook', 'Smith'}", "{'cook'}", "..."),
}
NOTEBOOKS = {
    p: jupytext.read(toy.ROOT / f"notebooks/{p}.py")
    for p in course.find_assignments(toy.ROOT)
}
CHANCE = {("what_a_risk_means", "0.25")}  # another share of the same example


def nbgrader(folder: Path, *arguments: str) -> None:
    path = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }  # of alembic
    command = [sys.executable, "-m", "nbgrader", *arguments]
    subprocess.run(command, cwd=folder, check=True, env=os.environ | path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a course with one assignment, released."""
    project = toy.make(tmp_path_factory.mktemp("course"), toy.EXERCISES)
    jupytext.write(
        jupytext.reads(toy.EXERCISES, "py:percent"), project / "notebooks/toy.ipynb"
    )
    with contextlib.chdir(project):
        assert toy.call("course").exit_code == 0
    nbgrader(project / "outputs/course", "generate_assignment", "toy")
    return project / "outputs/course"


@pytest.fixture
def version(made: Path) -> Any:
    return nbformat.read(made / "release/toy/toy.ipynb", as_version=4)


def test_a_student_version_has_no_solution(version: Any) -> None:
    text = "\n".join(cell.source for cell in version.cells)
    assert [secret for secret in SECRETS if secret in text] == []
    kept = ["To three digits (`sixth`).\n<details><summary>Hint 1</summary>\n\nHalf is"]
    kept += [
        "## A part with a spoiler\n\n*This text reveals the solution of Exercise 1."
    ]
    kept += [
        "%%capture\n# The output reveals",
        "on a release.",
        "# Your answer: replace",
        "*Your answer in words.*",
        "](../other/other.ipynb#part)",
    ]
    assert [words for words in kept if words not in text] == []


@pytest.mark.parametrize("told", TOLD)
def test_a_check_accepts_the_answer_and_no_other(version, capsys, told):
    """In a Python that has the standard library only, except for the answers."""
    (helpers,) = [cell.source for cell in version.cells if cell.id == "checks"]
    given = [
        f"{name} = {answers[TOLD.index(told)]}" for name, answers in ANSWERS.items()
    ]
    names: dict[str, Any] = {}
    exec("\n".join([helpers, "import numpy as np", *given]), names)
    checks = re.findall(
        r"^points_for\(.*", "\n".join(cell.source for cell in version.cells), re.M
    )
    assert [eval(check, names) for check in checks] == [told == "right"] * len(ANSWERS)
    said = capsys.readouterr().out.splitlines()
    assert sorted(said) == sorted(f"{name}: {told}" for name in ANSWERS)


def test_each_right_name_is_a_point(made: Path, version: Any) -> None:
    for nth, (name, answers) in enumerate(ANSWERS.items()):
        for cell in version.cells:
            cell.source = cell.source.replace(
                f"{name} = ...", f"{name} = {answers[nth % 3]}"
            )
    submitted = made / "submitted/anna/toy/toy.ipynb"
    submitted.parent.mkdir(parents=True)
    nbformat.write(version, submitted)
    nbgrader(made, "autograde", "toy")
    nbgrader(made, "export")
    (row,) = csv.DictReader(
        (made / "grades.csv").read_text(encoding="utf-8").splitlines()
    )
    assert (float(row["raw_score"]), float(row["max_score"])) == (
        2,
        7,
    )  # words are still to read


def student_sources(notebook: Any) -> list[str]:
    cells = course.assignment_source(notebook).cells
    return [
        c.source for c in cells if not c.metadata.get("nbgrader", {}).get("solution")
    ]


def solutions(notebook: Any) -> list[str]:
    return [
        c.source for c in notebook.cells if "solution" in c.metadata.get("tags", [])
    ]


def test_no_student_version_has_an_answer() -> None:
    """Neither a solution's code nor its number; three digits in the other assignments."""
    versions = {paper: "\n".join(student_sources(n)) for paper, n in NOTEBOOKS.items()}
    found = set()
    for paper, notebook in NOTEBOOKS.items():
        assert [cell for cell in solutions(notebook) if cell in versions[paper]] == []
        answers = re.findall(
            r"(?m)^assert .*== \[?-?([\d.]+)", "\n".join(solutions(notebook))
        )
        for number in answers:
            digits = len(number.replace(".", "").strip("0"))
            spelled = {number, number.removeprefix("0"), f"{100 * float(number):g} %"}
            pattern = rf"(?<![\d.,])({'|'.join(map(re.escape, spelled))})(?!\d|[.,]\d)"
            for other, text in versions.items():
                if digits >= (2 if other == paper else 3) and re.search(pattern, text):
                    found.add((other, number))
    assert found == CHANCE


@pytest.mark.parametrize("paper", NOTEBOOKS)
def test_what_a_question_asks_for_is_checked(paper: str) -> None:
    version = student_sources(NOTEBOOKS[paper])
    solution = "\n".join(solutions(NOTEBOOKS[paper]))
    questions = [text for text in version if text.startswith("### Exercise ")]
    assert 3 <= len(questions) <= 5
    asked = set(re.findall(r"`(\w+)`", "\n".join(questions)))
    assigned = set(
        re.findall(r"\w+", str(re.findall(r"^([\w, ]+) = ", solution, re.M)))
    )
    checked = set(re.findall(r"AUTOTEST as_text\((\w+), \d\)", "\n".join(version)))
    assert asked & assigned == checked
    text = "\n".join(cell.source for cell in NOTEBOOKS[paper].cells)
    assert not re.search(r"^(def )?(as_text|points_for|sha256)\b", text, re.M)


def test_notebooks_must_have_been_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(toy.make(tmp_path, toy.EXERCISES))
    assert "No such file" in toy.call("course").output


def test_an_exercise_without_an_answer_to_check_is_refused() -> None:
    unasked = toy.EXERCISES.replace("`sixth`", "a number")
    with pytest.raises(
        UsageError, match="exercise-1: the solution asserts none of the names"
    ):
        course.assignment_source(jupytext.reads(unasked, "py:percent"))
