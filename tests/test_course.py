"""Students' copies: what they hold, and what they say to right, wrong and missing answers."""

import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import toy
from click.testing import CliRunner, Result

from srlib.runner import course
from srlib.runner.cli import main
from srlib.runner.course import seals

TEXT = toy.EXERCISES
SECRETS = [
    "A good answer is",
    "Known to be",
    "Another secret",
    "to divide",
    "0.167",
    "share / 3",
    "5]",
    "Beta",
    "not private",
    "np.log",
    "0.5)",
]


def srlib(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = toy.make(tmp_path_factory.mktemp("course"), TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        assert srlib("build", "toy").output == "toy: notebooks/toy.ipynb\n"
        assert srlib("course").output == "toy: outputs/course/toy.ipynb\n"
    return project


@pytest.fixture
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sealed and checked within a test need not be slow to guess."""
    monkeypatch.setattr(seals, "_ROUNDS", 1)


def copy_of(project: Path) -> Any:
    return nbformat.read(project / "outputs/course/toy.ipynb", as_version=4)


def said(notebook: Any, answers: dict[str, str], folder: Path) -> list[str]:
    """Work through a copy: put answers for the dots, run all, and read what the checks say."""
    from nbclient import NotebookClient

    for cell in notebook.cells:
        for name, answer in answers.items():
            cell.source = cell.source.replace(f"{name} = ...", f"{name} = {answer}")
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute()
    checks = [cell for cell in notebook.cells if cell.source.startswith("from srlib.runner.course")]
    outputs = [output for cell in checks for output in cell.outputs]
    told = [o.text if "text" in o else o.data["text/markdown"] for o in outputs]
    return "\n".join(told).splitlines()


def test_copy_has_stubs_and_checks_and_no_answers(built: Path) -> None:
    folder = built / "outputs/course"
    copy = copy_of(built)
    nbformat.validate(copy)
    for file in ("toy.ipynb", "toy.py"):
        text = (folder / file).read_text(encoding="utf-8")
        assert [secret for secret in SECRETS if secret in text] == []
        assert "the end" in text
        assert "### Exercise 2: several answers" in text
    cells = [cell.source for cell in copy.cells]
    at = cells.index("### Exercise 1: half of a third\n\nTo three digits (`sixth`).")
    assert cells[at + 1] == (
        "<details><summary>Hint 1</summary>\n\nHalf is a factor.\n\n</details>"
    )
    assert "<summary>Hint 2</summary>" in cells[at + 2]
    assert cells[at + 3].endswith("\nsixth = ...")
    assert cells[at + 4].startswith(
        'from srlib.runner.course import check\n\ncheck(\n    "Exercise 1",\n    2,\n'
    )
    assert cells[at + 6] == "*Your answer in words.*"
    stub = "\nhalf = ...\nreleases = ...\nname = ...\nprivate = ...\nsuspects = ..."
    assert cells[at + 7].endswith(stub)
    code = [cell for cell in copy.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert copy.metadata.jupytext.formats == "ipynb,py:percent"


def test_what_gives_answers_away_is_kept_back(built: Path) -> None:
    cells = copy_of(built).cells
    (heading,) = [cell.source for cell in cells if cell.source.startswith("## A part")]
    assert heading.endswith("\n\n*What belongs here comes with the right answer to Exercise 1.*")
    (code,) = [cell.source for cell in cells if "needed_below = share" in cell.source]
    assert code.startswith("%%capture\n")
    (folded,) = [cell.source for cell in cells if "A hint at everything" in cell.source]
    assert folded.startswith("<details><summary>This gives answers away")
    assert not any("Another secret" in cell.source for cell in cells)


@pytest.mark.usefixtures("few_rounds")
def test_locked_text_opens_with_the_right_answers_only() -> None:
    locked = seals.lock("Because π.", [["167"], ["a", "b"]])
    assert seals.unlock(locked, [["167"], ["a", "b"]]) == "Because π."
    assert locked == seals.lock("Because π.", [["167"], ["a", "b"]])
    for wrong in ([["166"], ["a", "b"]], [["167"], ["ab"]], [["167", "a", "b"]], []):
        with pytest.raises(ValueError, match="do not open"):
            seals.unlock(locked, wrong)


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize(
    ("second", "remark"),
    [
        (71.4, ". It is off by a power of ten"),
        (np.float64(-0.714), ". Look at the sign"),
        (0.714 / np.log(2), ". Look at the base of the logarithm"),
        (0.72, ""),
        ("0.72", ""),
        ([7.14, 7.14], ""),
        ({"a": 1}, ""),
    ],
)
def test_second_wrong_answer_gets_a_remark_and_a_hint(
    capsys: pytest.CaptureFixture[str], second: object, remark: str
) -> None:
    seals._tried.clear()
    sealed = course.seal("Exercise 1 a", [(0.714, 3)])
    for answer in (0.2, 0.2, ..., second, None):
        course.check("Exercise 1", 2, "", a=(answer, sealed))
    lines = capsys.readouterr().out.replace("Exercise 1, a: ", "").splitlines()
    assert lines == [
        "wrong",
        "wrong",
        "not answered yet",
        f"wrong{remark}. Hint 1 under the question may help",
        "wrong. Hint 2 under the question may help",
    ]


@pytest.mark.usefixtures("few_rounds")
def test_remarks_tell_nothing_of_whole_numbers_and_truth_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seals._tried.clear()
    for right, answers in {10: (7, 1, 100, -10), True: (1, False, 0)}.items():
        sealed = course.seal("Exercise 1 a", [(right, None)])
        for answer in answers:
            course.check("Exercise 1", a=(answer, sealed))
    assert set(capsys.readouterr().out.splitlines()) == {"Exercise 1, a: wrong"}


class Odd:
    """An answer that fails wherever it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


@pytest.mark.usefixtures("few_rounds")
def test_an_answer_that_cannot_be_looked_at_is_wrong() -> None:
    for answer in (Odd(), [Odd()], {Odd()}, {1, "a"}, 10**5000):
        assert seals.matched(answer, course.seal("s", [(0.5, 1)]), "s") is None


def test_text_beside_the_copy_is_the_copy(built: Path) -> None:
    import jupytext

    text = jupytext.read(built / "outputs/course/toy.py")
    assert [c.source for c in text.cells] == [c.source for c in copy_of(built).cells]


@pytest.mark.parametrize(
    ("answers", "verdicts"),
    [
        ({}, ["not answered yet"] * 7),
        (
            {
                "doubled": "1",
                "sixth": "1 / 6",
                "half": "0.4999",
                "releases": "np.array([2, 5])",
                "name": "' beta  binomial'",
                "private": "np.False_",
                "suspects": "{'cook', 'Smith'}",
            },
            ["right"] * 7,
        ),
        (
            {
                "doubled": "'two'",
                "half": "0.6",
                "sixth": "0.169",
                "releases": "[2, 5, 7]",
                "name": "'plug-in'",
                "private": "True",
                "suspects": "{'cook'}",
            },
            ["wrong"] * 7,
        ),
    ],
)
def test_copy_says_right_wrong_or_not_yet(
    built: Path, answers: dict[str, str], verdicts: list[str]
) -> None:
    names = [
        "Try it: predict `doubled`, doubled",
        "Exercise 1, sixth",
        *(f"Exercise 2, {n}" for n in ("half", "releases", "name", "private", "suspects")),
    ]
    expected = [f"{name}: {verdict}" for name, verdict in zip(names, verdicts, strict=True)]
    copy = copy_of(built)
    told = said(copy, answers, built)
    assert [cell.outputs for cell in copy.cells if cell.source.startswith("%%capture")] == [[]]
    assert [line for line in told if re.search(", .*: ", line)] == expected
    unlocked = [secret for secret in ("to divide", "Known to be", "Another") if secret in str(told)]
    assert len(unlocked) == (3 if "right" in verdicts else 0)


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (0.714, True), (0.7135, True), (np.float64(0.7149), True), (0.716, False), (1, False),
        ([0.714], True), ([0.714, 0.714], False), ([], False), (None, False), ("0.714", False),
        (float("nan"), False), (float("inf"), False), (True, False), (object(), False),
    ],
)  # fmt: skip
def test_numbers_count_to_the_digits_stated(answer: object, right: bool) -> None:
    sealed = course.seal("salt", [(0.714, 3)])
    assert (seals.matched(answer, sealed, "salt") is not None) == right
    assert seals.matched(answer, sealed, "other salt") is None


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize(
    ("right", "same", "other"),
    [(3, 3.0, 4), (-2, np.int64(-2), 2), (True, np.True_, False), ("log P", "LOG  p", "logP")],
)
def test_the_rest_counts_exactly(right: Any, same: object, other: object) -> None:
    sealed = course.seal("salt", [(right, None)])
    assert seals.matched(same, sealed, "salt") is not None
    assert seals.matched(other, sealed, "salt") is None


@pytest.mark.usefixtures("few_rounds")
def test_order_of_a_list_counts() -> None:
    sealed = course.seal("salt", [("a", None), (0.5, 1)])
    assert seals.matched(("a", 0.5), sealed, "salt") is not None
    assert seals.matched((0.5, "a"), sealed, "salt") is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("### Exercise 2", "### Exercise 3", "Exercise 3 must be number 2"),
        ("assert round(sixth, 3) == 0.167", "assert sixth < 1", "Exercise 1 has no answer"),
        ("# ### Exercise 1: half", "# ### A half", "follows no exercise"),
        ("# ### Exercise 1: half", "# ### Try it: half", "Exercise 2 must be number 1"),
        ("# ### Exercise", "# Exercise", "no cell is headed '### Exercise 1'"),
        ('tags=["solution"]', "", "predict `doubled` has no answer"),
        ("# ### Open question", "# ### Exercise 3", "Exercise 3 has no answer"),
        ("(`sixth`)", "", "Exercise 1 checks sixth, which it does not ask for"),
        ("(`sixth`)", "(`sixth`, `secret_step`)", "asks for secret_step, which nothing checks"),
        ("spoiler-2", "spoiler-3", "is tagged spoiler-3, which is no exercise"),
        ("spoiler-2", "spoiler-two", "a number belongs behind the hyphen"),
        ("spoiler-2", "hint", "is tagged 'hint' and follows no exercise"),
        ("spoiler-2", "written", "is tagged 'written' and is no exercise's question"),
        ("# The other factor", "#\n# %% [markdown] tags=['hint']\n# O", "Exercise 1 has 3 hints"),
        ('[markdown] tags=["hint"]\n# The', 'tags=["hint"]\n# The', "a hint that is code"),
        ('["hint"]', '["hint", "spoiler-2"]', "Exercise 1 has a cell tagged 'spoiler'"),
        ('["written"]\n# ###', '["spoiler"]\n# ###', "Exercise 2 has a cell tagged 'spoiler'"),
        ("Open question: what would", "Try it: predict `doubled`", "has no answer to check"),
    ],
)
def test_exercises_that_make_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    import jupytext

    text = TEXT.replace(old, new)
    if message.startswith("no cell"):
        text = text.replace("# ### ", "# ")
        text = re.sub(r' tags=\["(?!par)[^]]*\]', "", text)
    monkeypatch.chdir(toy.make(tmp_path, text))
    jupytext.write(jupytext.reads(text, "py:percent"), tmp_path / "notebooks/toy.ipynb")
    result = srlib("course", "toy")
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "outputs").exists()


def test_notebook_must_be_built_from_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(toy.make(tmp_path, TEXT))
    result = srlib("course", "toy")
    assert result.exit_code == 2
    assert "srlib build toy" in result.output


def test_notebooks_without_exercises_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(toy.make(tmp_path))
    assert (srlib("course").exit_code, srlib("course").output) == (0, "")


def test_work_is_not_written_over(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    copy = built / "outputs/course/toy.ipynb"
    worked_in = copy_of(built)
    worked_in.cells[-1].source = "print('mine')"
    mine = built / "mine"
    mine.mkdir()
    nbformat.write(worked_in, mine / "toy.ipynb")
    result = srlib("course", "toy", "--output", "mine")
    assert result.exit_code == 2
    assert "--replace" in result.output
    assert "mine" in (mine / "toy.ipynb").read_text(encoding="utf-8")
    assert srlib("course", "toy", "--output", "mine", "--replace").exit_code == 0
    assert (mine / "toy.ipynb").read_bytes() == copy.read_bytes()
    assert srlib("course", "toy", "--output", "mine").exit_code == 0


def test_neither_notebooks_nor_files_of_others_are_written_over(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built)
    for name in ("toy.py", "toy.ipynb"):
        file = tmp_path / name.replace("toy.", "") / name
        file.parent.mkdir()
        file.write_text("precious")
        result = srlib("course", "toy", "--output", str(file.parent), "--replace")
        assert result.exit_code == 2
        assert "is no copy of a notebook" in " ".join(result.output.split())
        assert file.read_text() == "precious"
    before = (built / "notebooks/toy.py").read_bytes()
    result = srlib("course", "toy", "--output", "notebooks", "--replace")
    assert result.exit_code == 2
    assert "holds the notebooks themselves" in " ".join(result.output.split())
    assert (built / "notebooks/toy.py").read_bytes() == before
