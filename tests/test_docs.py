"""The guide: links lead somewhere, commands and names exist, and numbers are the notebooks'."""

import pydoc
import re
import shlex
from pathlib import Path

import nbformat
import pytest

from srlib.runner.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")])
NOTEBOOKS = sorted([*ROOT.glob("notebooks/*.md"), *ROOT.glob("notebooks/*.ipynb")])
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


def text(page: Path) -> str:
    """Return a page's text, of a notebook that of its text cells."""
    if page.suffix != ".ipynb":
        return page.read_text(encoding="utf-8")
    cells = nbformat.read(page, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def blocks(page: Path, *languages: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)
    return [body for language, body in fenced if language in languages]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    if page.suffix == ".ipynb":
        return {heading.replace(" ", "-") for heading in headings}
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    """On GitHub; those of the site are followed in its own test."""
    for link in re.findall(r"\]\((?!https?:)((?:[^()\s]|\([^()\s]*\))+)\)", text(page)):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if link == "../../deployments/github-pages":  # of the repository, with the site's address
            continue
        assert target.is_file() or target.with_suffix(".rst").is_file(), link
        assert not anchor or anchor in anchors(target), link


@every_page
def test_commands_and_targets_exist_and_take_their_options(page: Path) -> None:
    examples = [command.epilog or "" for command in main.commands.values()]
    typed = "\n".join([*blocks(page, "", "bash"), *examples]).replace("\\\n", " ")
    for line in re.findall(r"^(?:\.venv/bin/|Example: )?srlib (.*)", typed, re.MULTILINE):
        name, *words = shlex.split(line, comments=True)
        assert all((ROOT / word).is_file() for word in words if word.startswith("params/"))
        options = {option for param in main.commands[name].params for option in param.opts}
        assert {word for word in words if re.match(r"--?[a-z]", word)} <= options, line
    used = set(re.findall(r"(?:^|`)make (\w+)", text(page), re.MULTILINE))
    assert used <= set(re.findall(r"^(\w+):", text(ROOT / "Makefile"), re.MULTILINE))


@every_page
def test_code_and_text_name_what_the_library_has(page: Path) -> None:
    names = set(re.findall(r"\bsrlib(?:\.[A-Za-z]\w*)+", text(page)))
    for module, imported in re.findall(r"from (srlib[\w.]*) import (.+)", text(page)):
        names |= {f"{module}.{name}" for name in imported.split(", ")}
    missing = [name for name in names if pydoc.locate(name) is None]
    assert missing == [] or page.name == "CHANGELOG.md"  # of what was


def test_the_tests_of_the_promises_exist() -> None:
    promised = re.findall(r"`tests/(\w+)\.py::(\w+)`", text(ROOT / "CONTRIBUTING.md"))
    assert len(promised) > 20
    for module, test in promised:
        assert f"\ndef {test}(" in text(ROOT / f"tests/{module}.py")


def test_jupyterlab_opens_with_a_page_that_leads_to_every_notebook() -> None:
    linked = re.findall(r"\]\((.+?)\)", text(ROOT / "notebooks/START_HERE.md"))
    assert sorted(linked) == sorted(path.name for path in ROOT.glob("notebooks/*.ipynb"))


def shown(notebook: str) -> str:
    """Return what a committed notebook shows, without bold type."""
    cells = nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4).cells
    found = [output.data for c in cells for output in c.get("outputs", []) if "data" in output]
    both = "\n".join(data.get("text/markdown", data["text/plain"]) for data in found)
    return both.replace("**", "").replace("\N{NO-BREAK SPACE}", " ")


TREES = r"Risk and loss; rules by(?s:.*?)\n{}(?:  +\S+){{{}}}  +(\S+)"  # row, cells before
IMPURE, PRUNED, LARGE = "grown to impurity, 5", "pruned as rpart, 5", "grown to impurity, 50"
CELLS = [(IMPURE, 3), (PRUNED, 3), (LARGE, 3), (LARGE, 5), (PRUNED, 5)]
SCORES = [rf"(?m)^{score} +as printed .*?(\S+)$" for score in ("distance", "P", "log P")]
PARAGRAPHS = [
    ("400 simulated adults", "sequential_trees", [TREES.format(*cell) for cell in CELLS]),
    ("advertised at an epsilon", "charest", SCORES),
]


@pytest.mark.parametrize(("words", "notebook", "computed"), PARAGRAPHS)
def test_numbers_are_those_of_the_notebook(words: str, notebook: str, computed: list[str]) -> None:
    """Decimals of the paragraph that has the words, in their order."""
    paragraphs = text(ROOT / "docs/notebooks.md").split("\n\n")
    (said,) = [paragraph for paragraph in paragraphs if words in paragraph]
    for number, one in zip(re.findall(r"\d*\.\d+", said), computed, strict=True):
        (exact,) = set(re.findall(one, shown(notebook)))
        unit = 10.0 ** -len(number.partition(".")[2])  # .14 and .15 are both roundings of .145
        assert float(number) == pytest.approx(float(exact), abs=0.51 * unit, rel=0)


@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "docs/guide/assess.md"])
def test_examples_are_what_the_notebook_shows(page: str) -> None:
    (example,) = blocks(ROOT / page, "text")
    lines = [line.removesuffix("...").strip() for line in example.splitlines()]
    assert [line for line in lines if line not in shown("assess")] == []
