"""Students' copies: what they hold, and what they say to right, wrong and missing answers."""

from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import toy
from click.testing import CliRunner, Result

from srlib.runner import course
from srlib.runner.cli import main

# A notebook that imports little: what is tested are its copies.
TEXT = (
    toy.TEXT[: toy.TEXT.index("# %%")]
    + """# %% tags=["parameters"]
share: float = 0.5  # (0, 1] of something
output_dir: str = ""  # folder

# %%
import numpy as np

# %% [markdown]
# ## Exercises
#
# Two.

# %% [markdown]
# ### Exercise 1: half of a third
#
# To three digits (`sixth`).

# %% tags=["solution"]
secret_step = share / 3

# %% tags=["solution"]
sixth = secret_step
assert round(sixth, 3) == 0.167

# %% [markdown] tags=["solution"]
# The secret is to divide.

# %% [markdown]
# ### Exercise 2: several answers
#
# They are `half`, `releases`, `name`, `private` and the set `suspects`.

# %% tags=["solution"]
releases, name, private, half = [2, 5], "Beta Binomial", sixth > 1, 3 * sixth
suspects = {"smith", "cook"}
assert np.isclose(half, np.exp(-np.log(2)))
assert np.all([sixth])
assert releases == [2, 5]
assert name == "Beta Binomial"
assert not private
assert suspects == {"smith", "cook"}

# %% [markdown]
# ### Open question: what would you do?

# %% [markdown] tags=["solution"]
# A good answer is secret.

# %% [markdown]
# ## Afterwards

# %%
print("the end")
"""
)
SECRETS = ["secret", "0.167", "share / 3", "5]", "Beta", "not private", "np.log", "0.5)"]


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
    return "".join(output.text for cell in checks for output in cell.outputs).splitlines()


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
    assert cells[at + 1].endswith("\nsixth = ...")
    assert cells[at + 2].startswith(
        'from srlib.runner.course import check\n\ncheck(\n    "Exercise 1",'
    )
    stub = "\nhalf = ...\nreleases = ...\nname = ...\nprivate = ...\nsuspects = ..."
    assert cells[at + 4].endswith(stub)
    code = [cell for cell in copy.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert copy.metadata.jupytext.formats == "ipynb,py:percent"


def test_text_beside_the_copy_is_the_copy(built: Path) -> None:
    import jupytext

    text = jupytext.read(built / "outputs/course/toy.py")
    assert [c.source for c in text.cells] == [c.source for c in copy_of(built).cells]


@pytest.mark.parametrize(
    ("answers", "verdicts"),
    [
        ({}, ["not answered yet"] * 6),
        (
            {
                "sixth": "1 / 6",
                "half": "0.4999",
                "releases": "np.array([2, 5])",
                "name": "' beta  binomial'",
                "private": "np.False_",
                "suspects": "{'cook', 'Smith'}",
            },
            ["right"] * 6,
        ),
        (
            {
                "half": "0.6",
                "sixth": "0.169",
                "releases": "[2, 5, 7]",
                "name": "'plug-in'",
                "private": "True",
                "suspects": "{'cook'}",
            },
            ["wrong"] * 6,
        ),
    ],
)
def test_copy_says_right_wrong_or_not_yet(
    built: Path, answers: dict[str, str], verdicts: list[str]
) -> None:
    names = [
        "Exercise 1, sixth",
        *(f"Exercise 2, {n}" for n in ("half", "releases", "name", "private", "suspects")),
    ]
    expected = [f"{name}: {verdict}" for name, verdict in zip(names, verdicts, strict=True)]
    assert said(copy_of(built), answers, built) == expected


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
    assert course.verdict(answer, sealed, "salt") == (course.RIGHT if right else course.WRONG)
    assert course.verdict(answer, sealed, "other salt") == course.WRONG


@pytest.mark.parametrize(
    ("right", "same", "other"),
    [(3, 3.0, 4), (-2, np.int64(-2), 2), (True, np.True_, False), ("log P", "LOG  p", "logP")],
)
def test_the_rest_counts_exactly(right: Any, same: object, other: object) -> None:
    sealed = course.seal("salt", [(right, None)])
    assert course.verdict(same, sealed, "salt") == course.RIGHT
    assert course.verdict(other, sealed, "salt") == course.WRONG
    assert course.verdict(..., sealed, "salt") == course.OPEN


def test_order_of_a_list_counts() -> None:
    sealed = course.seal("salt", [("a", None), (0.5, 1)])
    assert course.verdict(("a", 0.5), sealed, "salt") == course.RIGHT
    assert course.verdict((0.5, "a"), sealed, "salt") == course.WRONG


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("### Exercise 2", "### Exercise 3", "Exercise 3 must be number 2"),
        ("assert round(sixth, 3) == 0.167", "assert sixth < 1", "Exercise 1 has no answer"),
        ("# ### Exercise 1: half", "# ### A half", "follows no exercise"),
        ("# ### Exercise", "# Exercise", "no cell is headed '### Exercise 1'"),
        ('tags=["solution"]', "", "Exercise 1 has no answer"),
        ("# ### Open question", "# ### Exercise 3", "Exercise 3 has no answer"),
        ("(`sixth`)", "", "Exercise 1 checks sixth, which it does not ask for"),
        ("(`sixth`)", "(`sixth`, `secret_step`)", "asks for secret_step, which nothing checks"),
    ],
)
def test_exercises_that_make_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    import jupytext

    text = TEXT.replace(old, new)
    if message.startswith("no cell"):
        text = text.replace("# ### Open question", "# Open question")
        text = text.replace(', tags=["solution"]', "").replace(' tags=["solution"]', "")
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
