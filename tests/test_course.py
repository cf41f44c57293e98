"""The course: student versions, the answers that checks accept, and the grades."""

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
    "0.167",
    "5]",
    "Beta",
    "smith",
    "not private",
    "SOLUTION",
    "AUTOTEST",
]
RESULTS = ["right", "wrong", "not answered yet"]
ANSWERS = {
    "sixth": ("' 1/6'", "0.168", "..."),
    "half": ("[0.5]", "0.501", "..."),
    "private": ("np.False_", "True", "..."),
    "name": ("' beta  binomial'", "'Beta'", "..."),
    "releases": ("np.array([2.0, 5])", "[2, 6]", "..."),
    "suspects": ("{'cook', 'Smith'}", "{'cook'}", "..."),
}
NOTEBOOKS = {
    paper: jupytext.read(toy.ROOT / f"notebooks/{paper}.py")
    for paper in course.find_assignments(toy.ROOT)
}
CHANCE = {("what_a_risk_means", "0.25")}  # another share of the same example


def nbgrader(folder, *arguments):
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "nbgrader", *arguments]
    # The path is that of alembic.
    subprocess.run(command, cwd=folder, check=True, env=os.environ | {"PATH": programs})


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Return the folder of a course with one assignment, released."""
    project = toy.make(tmp_path_factory.mktemp("course"), toy.EXERCISES)
    notebook = jupytext.reads(toy.EXERCISES, "py:percent")
    jupytext.write(notebook, project / "notebooks/toy.ipynb")
    with contextlib.chdir(project):
        assert toy.call("course").exit_code == 0
    nbgrader(project / "outputs/course", "generate_assignment", "toy")
    return project / "outputs/course"


@pytest.fixture
def version(released):
    return nbformat.read(released / "release/toy/toy.ipynb", as_version=4)


def check(version, name, answer):
    """Return the points of an answer by the check of its name."""
    (cell,) = [c for c in version.cells if c.source.startswith(f"# Is {name} right?")]
    *statements, points = cell.source.rstrip().splitlines()
    names: dict[str, Any] = {}
    exec(f"import numpy as np\n{name} = {answer}", names)
    exec("\n".join(statements), names)
    return int(eval(points, names))


def test_a_student_version_has_no_solution(version):
    text = "\n".join(cell.source for cell in version.cells)
    for secret in SECRETS:
        assert secret not in text
    kept = [
        "To three digits (`sixth`).\n<details><summary>Hint 1</summary>\n\nHalf is",
        "## A part with a spoiler\n\n*This text reveals the solution of Exercise 1.",
        "%%capture\n# The output reveals",
        "on a release.",
        "# Your answer: replace",
        "*Your answer in words.*",
        "](../other/other.ipynb#part)",
    ]
    for words in kept:
        assert words in text


@pytest.mark.parametrize("result", RESULTS)
def test_a_check_accepts_the_answer_and_no_other(version, capsys, result):
    """In a Python that has the standard library only, except for the answers."""
    position = RESULTS.index(result)
    given = {name: answers[position] for name, answers in ANSWERS.items()}
    points = {name: check(version, name, answer) for name, answer in given.items()}
    assert points == dict.fromkeys(ANSWERS, int(result == "right"))
    messages = capsys.readouterr().out.splitlines()
    assert messages == [f"{name}: {result}" for name in ANSWERS]


NUMBERS = {
    ".17": "wrong, or too short: 3 decimal places count",
    "'17 %'": "wrong, or too short: 3 decimal places count",
    "'16.67 %'": "right",
    "'0,1667'": "right",
    "0,1667": "wrong; (0, 1667) is 2 numbers, and a decimal point makes one",
    "'1/0'": "wrong",
    "1": "wrong",
}


@pytest.mark.parametrize(("answer", "message"), NUMBERS.items())
def test_a_number_may_be_written_as_on_paper_or_the_check_says_why_not(
    version, capsys, answer, message
):
    points = check(version, "sixth", answer)
    assert capsys.readouterr().out == f"sixth: {message}\n"
    assert points == int(message == "right")


@pytest.mark.parametrize(
    "name", ["as_text", "as_number", "remark", "sha256", "is_right", "points_for"]
)
def test_a_name_defined_again_earns_no_point(version, name):
    assert check(version, "sixth", f"0; {name} = lambda *_, **__: True") == 0


def test_each_right_name_is_a_point(released, version):
    for i, (name, answers) in enumerate(ANSWERS.items()):
        answer = f"{name} = {answers[i % 3]}"
        for cell in version.cells:
            cell.source = cell.source.replace(f"{name} = ...", answer)
    submitted = released / "submitted/anna/toy/toy.ipynb"
    submitted.parent.mkdir(parents=True)
    nbformat.write(version, submitted)
    nbgrader(released, "autograde", "toy")
    nbgrader(released, "export")
    grades = (released / "grades.csv").read_text("utf-8")
    (row,) = csv.DictReader(grades.splitlines())
    assert float(row["raw_score"]) == 2
    assert float(row["max_score"]) == 7  # words are still to read


def student_sources(paper):
    return [
        cell.source
        for cell in course.assignment_source(NOTEBOOKS[paper]).cells
        if not cell.metadata.get("nbgrader", {}).get("solution")
    ]


def solutions(paper):
    return [
        cell.source
        for cell in NOTEBOOKS[paper].cells
        if "solution" in cell.metadata.get("tags", [])
    ]


def test_no_student_version_has_an_answer():
    """Neither a solution's code nor its number, to three digits in other ones."""
    versions = {paper: "\n".join(student_sources(paper)) for paper in NOTEBOOKS}
    revealed = set()
    for paper in NOTEBOOKS:
        for solution in solutions(paper):
            assert solution not in versions[paper]
        code = "\n".join(solutions(paper))
        for number in re.findall(r"(?m)^assert .*== \[?-?([\d.]+)", code):
            digits = len(number.replace(".", "").strip("0"))
            spelled = {number, number.removeprefix("0"), f"{100 * float(number):g} %"}
            pattern = rf"(?<![\d.,])({'|'.join(map(re.escape, spelled))})(?!\d|[.,]\d)"
            for other, text in versions.items():
                if digits >= (2 if other == paper else 3) and re.search(pattern, text):
                    revealed.add((other, number))
    assert revealed == CHANCE


@pytest.mark.parametrize("paper", NOTEBOOKS)
def test_what_a_question_asks_for_is_checked(paper):
    version = student_sources(paper)
    solution = "\n".join(solutions(paper))
    questions = [text for text in version if text.startswith("### Exercise ")]
    assert 3 <= len(questions) <= 5
    asked = set(re.findall(r"`(\w+)`", "\n".join(questions)))
    targets = str(re.findall(r"(?m)^([\w, ]+) = ", solution))
    assigned = set(re.findall(r"\w+", targets))
    checked = set(re.findall(r"AUTOTEST as_text\((\w+), \d\)", "\n".join(version)))
    assert asked & assigned == checked
    text = "\n".join(cell.source for cell in NOTEBOOKS[paper].cells)
    taken = r"^(def )?(as_number|as_text|remark|is_right|sha256)\b"
    assert not re.search(taken, text, re.MULTILINE)


@pytest.mark.usefixtures("project")
def test_notebooks_must_have_been_built():
    assert "No such file" in toy.call("course", "toy").output


def test_an_exercise_without_an_answer_to_check_is_refused():
    unasked = toy.EXERCISES.replace("`sixth`", "a number")
    message = "exercise-1: the solution asserts none of the names"
    with pytest.raises(UsageError, match=message):
        course.assignment_source(jupytext.reads(unasked, "py:percent"))
