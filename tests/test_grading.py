"""Grades of handed-in copies: values are judged, whatever a copy says and tries."""

from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import toy
from click.testing import CliRunner

from srlib.runner.cli import main
from srlib.runner.course import grading, read, sandbox, student_copy
from srlib.runner.parameters import UsageError

TRICKS = {
    # An object that equals everything, and hides behind a number's name.
    "doubled": """type("Any", (), {"__eq__": lambda *a: True, "__repr__": lambda s: "1.0"})()
Any = type(doubled)
""",
    # A check of one's own, and the right answer everywhere but where it is asked for.
    "sixth": """0.3
import json, os, sys, srlib.runner.course as course
course.check = lambda *a, **k: print("Exercise 1, sixth: right")
told = {"exercise": "Exercise 1", "values": {"sixth": {"verdict": "right"}}, "failed": ""}
print(json.dumps(told), file=sys.__stdout__, flush=True)
os.write(1, json.dumps(told).encode() + b"\\n")
""",
    "half": "0.5",
    "releases": """[2, 5]
import pathlib, socket, subprocess
tries = [
    lambda: os.fork(),
    lambda: subprocess.run(["true"]),
    lambda: os.kill(os.getppid(), 9),
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: pathlib.Path(OUTSIDE, "told").write_text("right"),
    lambda: os.rename(OUTSIDE, "taken"),
    lambda: os.remove(pathlib.Path(OUTSIDE, "precious")),
]
refused = 0
for attempt in tries:
    try:
        attempt()
    except PermissionError:
        refused += 1
pathlib.Path("mine").write_text("may be written")
""",
    "name": "'beta binomial' if refused == len(tries) else 'let through'",
    "private": "'SECRET' in os.environ or os.environ['HOME'] == HOME",
    "suspects": "['smith', 'cook'] * 10_000\n1 / 0",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import jupytext

    folder = toy.make(tmp_path_factory.mktemp("grading"), toy.EXERCISES)
    notebook = jupytext.reads(toy.EXERCISES, "py:percent")
    jupytext.write(notebook, folder / "notebooks/toy.ipynb")
    (folder / "precious").write_text("precious")
    return folder


def hand_in(project: Path, file: Path, answers: dict[str, str]) -> grading.Copy:
    copy = student_copy(read(project, "toy"))
    for cell in copy.cells:
        for name, answer in answers.items():
            cell.source = cell.source.replace(f"{name} = ...", f"{name} = {answer}")
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(copy, file)
    return grading.Copy("ada", "toy", file)


@toy.posix
def test_values_are_judged_whatever_a_copy_says_and_tries(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "token")
    places = {"OUTSIDE": repr(str(project)), "HOME)": repr(str(Path.home()))}
    tricks = {
        name: text.replace("OUTSIDE", places["OUTSIDE"]).replace("== HOME", f"== {places['HOME)']}")
        for name, text in TRICKS.items()
    }
    copy = hand_in(project, tmp_path / "toy.ipynb", tricks)
    found = {one.name: (one.verdict, one.remark) for one in grading.grade(project, [copy])}
    failed = "a cell fails: ZeroDivisionError"
    assert found == {
        "doubled": ("wrong", "no plain value: Any"),
        "sixth": ("wrong", ""),
        "half": ("right", failed),
        "releases": ("right", failed),
        "name": ("right", failed),
        "private": ("right", failed),
        "suspects": ("wrong", f"no plain value: list; {failed}"),
    }
    assert (project / "precious").read_text() == "precious"
    assert not (project / "told").exists()


def test_a_copy_that_does_not_end_is_stopped(project: Path, tmp_path: Path) -> None:
    copy = hand_in(project, tmp_path / "toy.ipynb", {"doubled": "1\nimport time\ntime.sleep(999)"})
    found = grading.grade(project, [copy], seconds=0.3)
    assert {one.remark for one in found} == {"no such name; stopped after 0.3 s"}
    assert found[0].seconds < 60


def test_grades_from_the_command_line(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    ends = {"doubled": "1", "sixth": "1 / 6", "half": "0.5\nimport os\nos._exit(1)"}
    hand_in(project, tmp_path / "=ada" / "toy.ipynb", ends)
    (tmp_path / "bob_b_toy.ipynb").write_text("no notebook")
    (tmp_path / "toy.ipynb").write_text("{}")
    (tmp_path / "cleo").mkdir()
    (tmp_path / "cleo" / "other.ipynb").write_text("{}")
    result = CliRunner().invoke(main, ["grade", str(tmp_path), "--csv", str(tmp_path / "g.csv")])
    assert result.exit_code == 0
    assert "=ada  toy  2 of 7 right, 5 not answered yet  " in result.output
    assert "its process ended before" in result.output
    assert "bob_b  toy  0 of 7 right, 7 not answered yet  0 s" in result.output
    assert "the file is no notebook" in result.output
    left_out = [line for line in result.stderr.splitlines() if "is left out" in line]
    assert [line.split("/")[-1][:11] for line in left_out] == ["other.ipynb", "toy.ipynb i"]
    lines = (tmp_path / "g.csv").read_text().splitlines()
    assert lines[0] == "student,paper,exercise,name,verdict,seconds,remark"
    assert len(lines) == 1 + 2 * 7
    assert lines[1].startswith("'=ada,toy,Try it: predict `doubled`,doubled,right,")


def test_a_folder_without_copies_and_a_file_of_others(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    result = CliRunner().invoke(main, ["grade", str(tmp_path)])
    assert result.exit_code == 2
    assert "holds no copies" in result.output
    (tmp_path / "g.csv").write_text("precious")
    with pytest.raises(UsageError, match="is no list of grades"):
        grading.write(tmp_path / "g.csv", [])
    assert (tmp_path / "g.csv").read_text() == "precious"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (..., {"open": True}),
        (np.float64(0.5), {"value": 0.5}),
        (np.array([[1, 2], [3, 4]]), {"value": [1, 2, 3, 4]}),
        ((1, np.True_, "a"), {"value": [1, True, "a"]}),
        ({3}, {"set": [3]}),
        (None, {"odd": "NoneType"}),
        ([[1]], {"odd": "list"}),
        ({"a": 1}, {"odd": "dict"}),
        (type("float", (float,), {})(0.5), {"odd": "float"}),
        ("a" * 20_000, {"odd": "str"}),
        ([0] * 2000, {"odd": "list"}),
    ],
)
def test_answers_are_taken_as_plain_data(value: object, told: dict[str, Any]) -> None:
    assert sandbox.plain(value) == told


def test_a_number_that_cannot_be_written_is_no_answer() -> None:
    assert sandbox.plain(10**20_000) == {"odd": "int"}


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({"value": 0.5}, "right"),
        ({"value": {"__eq__": True}}, "wrong"),
        ({"value": None}, "wrong"),
        ({"set": [[0.5]]}, "wrong"),
        ({"set": 0.5}, "not answered yet"),
        ({"verdict": "right"}, "not answered yet"),
        ("right", "not answered yet"),
        ({"odd": ["<script>"]}, "wrong"),
    ],
)
def test_what_a_process_tells_is_judged_and_never_believed(told: object, verdict: str) -> None:
    judged, remark = grading._judged(told, "salt", [(0.5, 1)])
    assert judged == verdict
    assert "<" not in remark


def test_lines_that_are_no_answers_are_passed_over() -> None:
    good = '{"exercise": "E", "values": {}, "failed": "<b>"}'
    lines = ["", "right", "[" * 100_000, "1" * 10_000, '{"exercise": 1}', good]
    assert dict(grading._said(lines)) == {"E": ({}, "a cell fails: b")}
