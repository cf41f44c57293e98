"""The guide: links lead somewhere, commands and names exist, and numbers are the notebooks'."""

import ast
import importlib
import json
import re
import shlex
from pathlib import Path

import click
import pytest

from srlib.runner.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")])
NOTEBOOKS = sorted([*ROOT.glob("notebooks/*.md"), *ROOT.glob("notebooks/*.ipynb")])
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


def text(page: Path) -> str:
    """Return a page's text, of a notebook that of its text cells."""
    whole = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return whole
    cells = (cell for cell in json.loads(whole)["cells"] if cell["cell_type"] == "markdown")
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def blocks(page: Path, *languages: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)
    return [body for language, body in fenced if language in languages]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    if page.suffix == ".ipynb":
        return {heading.strip().replace(" ", "-") for heading in headings}
    return {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}


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
    examples = [(c.epilog or "").removeprefix("Example: ") for c in main.commands.values()]
    for line in "\n".join([*blocks(page, "", "bash"), *examples]).replace("\\\n", " ").splitlines():
        if found := re.match(r"(?:\.venv/bin/)?srlib (.*)", line):
            name, *words = shlex.split(found[1], comments=True)
            assert all((ROOT / word).is_file() for word in words if word.startswith("params/"))
            params = main.commands[name].params
            options = {o for p in params if isinstance(p, click.Option) for o in p.opts}
            assert {word for word in words if re.match(r"--?[a-z]", word)} <= options, line
    used = set(re.findall(r"(?:^|`)make (\w+)", text(page), re.MULTILINE))
    assert used <= set(re.findall(r"^(\w+):", text(ROOT / "Makefile"), re.MULTILINE))


@every_page
def test_code_and_text_name_what_the_library_has(page: Path) -> None:
    names = set(re.findall(r"\{py:obj\}`(?:[^`]*<)?([\w.]+)>?`", text(page)))
    for node in ast.walk(ast.parse("\n".join(blocks(page, "python")))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("srlib"):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith("srlib."):
            names.add(ast.unparse(node))
    for name in (name for name in names if re.fullmatch(r"[\w.]+", name)):
        first, *rest = name.split(".")
        value, path = importlib.import_module(first), first
        for part in rest:
            path = f"{path}.{part}"
            value = getattr(value, part, None) or importlib.import_module(path)


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
    import nbformat

    cells = nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4).cells
    found = [output.data for c in cells for output in c.get("outputs", []) if "data" in output]
    both = "\n".join(data.get("text/markdown", data["text/plain"]) for data in found)
    return both.replace("**", "").replace("\N{NO-BREAK SPACE}", " ")


TREES = r"Risk and loss; rules by(?s:.*?)\n{}(?:  +\S+){{{}}}  +(\S+)"  # row, cells before
IMPURE, PRUNED, LARGE = "grown to impurity, 5", "pruned as rpart, 5", "grown to impurity, 50"
MEDIANS = [TREES.format(rule, 3) for rule in (IMPURE, PRUNED, LARGE)]
PAIRS = {rule: TREES.format(rule, 5) for rule in (IMPURE, PRUNED, LARGE)}
SCORES = [rf"(?m)^{score} +as printed .*?(\S+)$" for score in ("distance", "P", "log P")]
QUOTED = [  # page, words of a paragraph, notebook, what it shows of the paragraph's decimals
    ("docs/notebooks.md", "400 simulated adults", "sequential_trees",
     [*MEDIANS, PAIRS[LARGE], PAIRS[PRUNED]]),
    ("docs/notebooks.md", "advertised at an epsilon", "charest", SCORES),
]  # fmt: skip


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
