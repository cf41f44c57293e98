"""What a course is taught with: minutes that are counted, pages made of them, and slides."""

import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
import toy
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from srlib.runner.cli import main
from srlib.runner.course import kit, minutes, slides

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
PAPERS = sorted({plan.paper for plan in kit.PLANS} | {kit.PROJECT})


def shows(source: str, tags: tuple[str, ...] = (), **data: str) -> Any:
    kinds = {"svg": "image/svg+xml", "html": "text/html", "md": "text/markdown"}
    output = new_output("display_data", data={kinds[kind]: data[kind] for kind in data})
    return new_code_cell(source, outputs=[output], metadata={"tags": list(tags)})


def text(source: str, *tags: str) -> Any:
    return new_markdown_cell(source, metadata={"tags": list(tags)})


TITLE = """# A finding in $x$

**A. Author (2000).** A paper.

Its question.

| claim | |
|---|---|
| **C1** | It holds. |"""
SOLUTION = "one, two = 1, 2\nassert one == 1\nassert two == 2"
NOTEBOOK = new_notebook(
    cells=[
        text(TITLE),
        text("# Part one: easy\n\n## First\n\nFive words are in here. Not this.\n\n$$a = b$$"),
        shows("draw()", svg=SVG),
        text("**A line goes up.** It starts at zero. It ends at one.\n\nFurther down."),
        shows("say()", md="> **C1 holds.** By 3 %."),
        shows("tell()", tags=("spoiler-1",), svg=SVG, md="> **C2 fails.** A secret."),
        text("**A secret.** Nobody sees it.", "spoiler-1"),
        text("# Part two: hard\n\n## Second\n\nSeven."),
        shows("show()", html="<table></table>"),
        text("### Exercise 1: one\n\nWhat is `one`, and `two`?", "written"),
        text("Count.", "hint"),
        new_code_cell(SOLUTION, metadata={"tags": ["solution"]}),
        text("By counting.", "solution"),
    ]
)


def test_minutes_are_counted_by_section() -> None:
    opening, _, first, _, second = minutes.sections(NOTEBOOK)
    assert (opening.part, first.part, second.part) == ("", "Part one: easy", "Part two: hard")
    assert (opening.heading, opening.tables) == ("A finding in $x$", 1)
    assert (first.words, first.equations, first.pictures, first.tables) == (26, 1, 2, 0)
    assert first.reading == pytest.approx(26 / 200 + 0.5 + 2 * 1.5 + 3 * 0.25)
    assert (second.words, second.tables, second.working) == (1, 1, 2 + 2 + 2 * 2 + 5)
    assert [task.label for task in second.tasks] == ["Exercise 1"]


def test_slides_have_claims_pictures_verdicts_and_questions_and_no_answers() -> None:
    found = slides.slides(NOTEBOOK)
    assert [(slide.kind, slide.heading) for slide in found] == [
        ("title", "A finding in $x$"),
        ("text", "What is tested"),
        ("text", "First"),
        ("picture", "A line goes up."),
        ("verdict", "First"),
        ("text", "Second"),
        ("task", "Exercise 1: one"),
    ]
    assert found[2].text == "Five words are in here.\n\n$$a = b$$"
    assert (found[3].text, found[3].pictures) == ("It starts at zero.", ((SVG, ""),))
    assert found[4].text == "> **C1 holds.** By 3 %."
    assert "secret" not in str(found)
    page = slides.deck(NOTEBOOK)
    assert page.count('<section class="slide') == len(found)
    assert "data:image/svg+xml" in page
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", page)


def test_a_part_is_that_of_its_heading_or_an_equal_one() -> None:
    sections = minutes.sections(NOTEBOOK)
    assert [s.heading for s in kit._part(sections, 2, 2)] == ["Part two: hard", "Second"]
    plain = [minutes.Section("", str(i), 0, 0, 0, 0, 2.0, ()) for i in range(4)]
    halves = [[s.heading for s in kit._part(plain, part, 2)] for part in (1, 2)]
    assert halves == [["0", "1"], ["2", "3"]]


def test_a_session_takes_in_class_what_fits() -> None:
    plan = kit.Plan("title", "toy", 2, 2, "Before.", "why")
    session = kit.session(2, plan, NOTEBOOK, None)
    assert [task.label for task in session.together] == ["Exercise 1"]
    assert session.at_home == []
    long = minutes.Section("", "a", 0, 0, 0, 0, 1.0, tuple(session.tasks * 9))
    assert len(kit.Session(2, plan, "", [long], [], "", None).together) == 45 // 13


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = toy.make(tmp_path_factory.mktemp("kit"), toy.EXERCISES)
    for name in PAPERS:
        (folder / f"notebooks/{name}.py").write_text(toy.EXERCISES, encoding="utf-8")
        notebook = jupytext.reads(toy.EXERCISES, "py:percent")
        jupytext.write(notebook, folder / f"notebooks/{name}.ipynb")
    jupytext.write(notebook, folder / "notebooks/toy.ipynb")
    return folder


def test_kit_is_written_the_same_each_time_and_over_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    result = CliRunner().invoke(main, ["course", "toy", "--kit"])
    assert result.exit_code == 0, result.output
    folder = project / "outputs/course"
    written = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}
    pages = [f"for_teachers/{name}.html" for name in ("install", "notes", "solutions", "syllabus")]
    decks = [f"for_teachers/slides_{paper}.html" for paper in PAPERS]
    assert sorted(written) == sorted(["START_HERE.md", "toy.ipynb", "toy.py", *pages, *decks])
    start = written["START_HERE.md"].decode()
    assert "- [hu_reiter_wang](hu_reiter_wang.ipynb): sessions 5 and 6\n" in start
    assert "Divide" not in start
    assert "The secret is to divide" in written["for_teachers/solutions.html"].decode()
    assert "Exercise 1" in written["for_teachers/syllabus.html"].decode()
    last = folder / f"for_teachers/slides_{kit.PROJECT}.html"
    last.write_text("mine")  # all before it is as it was, or would be named
    result = CliRunner().invoke(main, ["course", "toy", "--kit"])
    assert result.exit_code == 2
    told = " ".join(result.output.split())
    assert f"{last.name} is not as it is written now" in told
    assert last.read_text() == "mine"


def test_kit_needs_the_notebooks_of_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(toy.make(tmp_path))
    result = CliRunner().invoke(main, ["course", "--kit"])
    assert result.exit_code == 2
    assert "the course's plan has assess, charest" in result.output


def test_pages_of_the_course_load_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = nbformat.read(project / "notebooks/assess.ipynb", as_version=4)
    pages = dict(kit._pages(dict.fromkeys(PAPERS, names), dict.fromkeys(PAPERS, 12.3)))
    linked = set()
    for name, page in pages.items():
        if name.endswith(".html"):
            linked |= set(re.findall(r'href="([^"#]+)"', page))
            assert not re.search(r'src="(?!data:)', page)
    assert {f"for_teachers/{link}" for link in linked} <= set(pages)
    assert "12 s" in pages["for_teachers/install.html"]
