"""The guide: links lead somewhere, commands and names exist, and the floors are those that hold."""

import ast
import importlib
import inspect
import io
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import docutils.core
import pytest
from numpydoc.docscrape_sphinx import get_doc_object

from srlib.runner.cli import main

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
api = importlib.import_module("api")

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")])
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)
    return [body for language, body in fenced if language in languages]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}


def test_readme_is_short() -> None:
    assert len(text(ROOT / "README.md").splitlines()) <= 130


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", text(page))
    for link in links:
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_file() or target.with_suffix(".rst").is_file(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_contents() -> None:
    index = text(ROOT / "docs/index.md")
    trees = re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL)
    entries = {
        re.sub(r".*<(.*)>", r"\1", line)
        for tree in trees
        for line in tree.splitlines()
        if line and not line.startswith(":")
    }
    pages = {
        p.relative_to(ROOT / "docs").with_suffix("").as_posix() for p in PAGES if "docs" in p.parts
    }
    assert entries == pages - {"index"} | {"api"}


def commands(page: Path) -> Iterator[list[str]]:
    """Go through the calls of srlib in a page's shell blocks, as lists of words."""
    for block in blocks(page, "", "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\.venv/bin/)?srlib (.*)", line)
            if found:
                yield shlex.split(found[1], comments=True)


@every_page
def test_commands_take_their_options(page: Path) -> None:
    for name, *words in commands(page):
        command = main.commands[name]
        options = {o for p in command.params if isinstance(p, click.Option) for o in p.opts}
        used = {word for word in words if re.match(r"--?[a-z]", word)}
        assert used <= options, (name, used - options)


def test_what_is_installed_from_the_clone_is_there() -> None:
    extras = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    command = re.compile(r"pip (?:install|wheel)\b[^`\n]*?[\s\"'](\.[\w./]*)(?:\[(\w+)\])?")
    for page in (ROOT / "README.md", ROOT / "docs/start.md", ROOT / "docs/guide/teaching.md"):
        found = command.findall(text(page))
        assert found
        for folder, extra in found:
            assert (ROOT / folder / "pyproject.toml").is_file(), folder
            assert not extra or extra in extras


@every_page
def test_make_has_its_targets(page: Path) -> None:
    used = set(re.findall(r"(?:^|`)make (\w+)", text(page), re.MULTILINE))
    targets = set(re.findall(r"^(\w+):", text(ROOT / "Makefile"), re.MULTILINE))
    assert used <= targets


def resolve(name: str) -> object:
    """Return what a dotted name stands for."""
    first, *rest = name.split(".")
    value, path = importlib.import_module(first), first
    for part in rest:
        path = f"{path}.{part}"
        if not hasattr(value, part):
            importlib.import_module(path)
        value = getattr(value, part)
    return value


@every_page
def test_code_and_text_name_what_the_library_has(page: Path) -> None:
    names = set(re.findall(r"\{py:obj\}`(?:[^`]*<)?([\w.]+)>?`", text(page)))
    for block in blocks(page, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("srlib"):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith("srlib."):
                names.add(ast.unparse(node))
    names = {name for name in names if re.fullmatch(r"[\w.]+", name)}
    for name in names:
        resolve(name)


def test_floors_are_those_that_are_checked() -> None:
    rows = re.findall(r"^\| (\d) \| `(\w+)` \|", text(ROOT / "docs/architecture.md"), re.MULTILINE)
    told: dict[int, set[str]] = {}
    for floor, package in rows:
        told.setdefault(int(floor), set()).add(package)
    project = tomllib.loads(text(ROOT / "pyproject.toml"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    held = dict(enumerate((set(re.findall(r"\w+", layer)) for layer in reversed(layers)), 1))
    assert told == held


def test_tables_have_every_notebook() -> None:
    notebooks = {file.stem for file in ROOT.glob("notebooks/*.py")}
    for page in ("README.md", "docs/notebooks.md"):
        assert set(re.findall(r"^\| \[`(\w+)`\]\(", text(ROOT / page), re.MULTILINE)) >= notebooks


def documented(value: object) -> Iterator[object]:
    """Go through what the reference shows of a function or class."""
    yield value
    if inspect.isclass(value):
        members = vars(value).items()
        yield from (m for name, m in members if inspect.isfunction(m) and not name.startswith("_"))


@pytest.mark.parametrize("subject", api.SUBJECTS)
def test_docstrings_are_there_and_read_as_they_are_meant(subject: str) -> None:
    complaints, seen = io.StringIO(), set()
    settings = {"warning_stream": complaints, "report_level": 2}
    for module in api.modules(subject):
        docutils.core.publish_doctree(
            inspect.getdoc(module) or "", module.__name__, settings_overrides=settings
        )
        for name in api.public(module):
            if getattr(module, name) in seen:
                continue
            seen.add(getattr(module, name))
            for value in documented(getattr(module, name)):
                assert inspect.getdoc(value), f"{module.__name__}.{name}"
                shown = str(get_doc_object(value, config={"show_class_members": False}))
                shown = shown.replace(".. only:: latex", "")  # a directive of Sphinx
                docutils.core.publish_doctree(
                    shown, f"{module.__name__}.{name}", settings_overrides=settings
                )
    assert complaints.getvalue() == ""


@pytest.mark.parametrize("subject", api.SUBJECTS)
def test_no_name_is_described_twice(subject: str) -> None:
    """A module that is called like something that its package shows would be."""
    described = re.findall(r"^\.\. auto\w+:: (\S+)$", api.page(subject), re.MULTILINE)
    assert described
    assert len(described) == len(set(described))


def test_words_of_verdicts_are_explained() -> None:
    from srlib import ledger
    from srlib.assessment import answers

    numbers, readme = (text(ROOT / page) for page in ("docs/guide/numbers.md", "README.md"))
    for page in (numbers, readme):
        assert set(ledger.VERDICTS) <= set(re.findall(r"`(\w+)`", page))
        for word in ledger.WORDS:
            assert f"*{word}" in page
    guide = text(ROOT / "docs/guide/assess.md").replace("\n", " ")
    words = [
        answers.LEVELS,
        ("no more", "more", "far more"),
        ("as fresh", "good", "limited", "poor"),
    ]
    assert all(", ".join(of_one) in guide for of_one in words)


def test_every_package_has_a_page_in_the_reference() -> None:
    listed = re.findall(r"^   api/(\w+)$", text(ROOT / "docs/api.rst"), re.MULTILINE)
    assert listed == ["srlib", *api.SUBJECTS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_line_is_taken_for_a_comment(page: Path) -> None:
    """A line that begins with a percent sign is left out of the page."""
    assert not re.search(r"^\s*% ", text(page), re.MULTILINE)


def shown(notebook: str) -> str:
    """Return what a committed notebook shows, without bold type."""
    import nbformat

    cells = nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4).cells
    found = [output.data for c in cells for output in c.get("outputs", []) if "data" in output]
    both = "\n".join(data.get("text/markdown", data["text/plain"]) for data in found)
    return both.replace("**", "").replace("\N{NO-BREAK SPACE}", " ")


TREES = r"Risk and loss; rules by(?s:.*?)\n{}(?:  +\S+){{{}}}  +(\S+)"  # row, cells before
IMPURE, PRUNED, LARGE = "grown to impurity, 5", "pruned as rpart, 5", "grown to impurity, 50"
MEDIANS = [TREES.format(rule, 3) for rule in (IMPURE, PRUNED, LARGE)]
QUOTED = [  # page, words of a paragraph, notebook, what it shows of the paragraph's decimals
    (
        "README.md",
        "500 simulated adults",
        "sequential_trees",
        MEDIANS + [TREES.format(rule, 5) for rule in (IMPURE, PRUNED, LARGE)],
    ),
    (
        "docs/notebooks.md",
        "500 simulated adults",
        "sequential_trees",
        MEDIANS + [TREES.format(rule, 5) for rule in (LARGE, PRUNED)],
    ),
    (
        "docs/notebooks.md",
        "advertised at an epsilon",
        "charest",
        [rf"(?m)^{score} +as printed .*?(\S+)$" for score in ("distance", "P", "log P")],
    ),
]


@pytest.mark.parametrize(("page", "words", "notebook", "computed"), QUOTED)
def test_numbers_are_those_of_the_notebook(
    page: str, words: str, notebook: str, computed: list[str]
) -> None:
    (said,) = [paragraph for paragraph in text(ROOT / page).split("\n\n") if words in paragraph]
    outputs = shown(notebook)
    for number, one in zip(re.findall(r"\d*\.\d+", said), computed, strict=True):
        (exact,) = set(re.findall(one, outputs))
        unit = 10.0 ** -len(number.partition(".")[2])  # .14 and .15 are both roundings of .145
        assert float(number) == pytest.approx(float(exact), abs=0.51 * unit, rel=0)


def test_examples_are_what_the_notebook_shows() -> None:
    outputs = shown("assess")
    for page in ("README.md", "docs/start.md", "docs/guide/assess.md"):
        (example,) = blocks(ROOT / page, "text")
        for line in example.splitlines():
            assert line.removesuffix("...").strip() in outputs, (page, line)
