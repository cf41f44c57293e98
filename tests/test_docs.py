"""The guide: links lead somewhere, what it names exists, and numbers are the notebooks'.

Each term of the glossary has a source and is found in the software. References are well
formed, and each of the papers has one title wherever it is cited.
"""

import inspect
import pydoc
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml

import srlib
from srlib.runner.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")]
)
NOTEBOOKS = sorted([*ROOT.glob("notebooks/*.md"), *ROOT.glob("notebooks/*.ipynb")])
every_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix()
)


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
    return {
        re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        for heading in headings
    }


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    """On GitHub; those of the site are followed in its own test."""
    for link in re.findall(r"\]\((?!https?:)((?:[^()\s]|\([^()\s]*\))+)\)", text(page)):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_file() or target.with_suffix(".rst").is_file(), link
        assert not anchor or anchor in anchors(target), link


@every_page
def test_commands_and_targets_exist_and_take_their_options(page: Path) -> None:
    examples = [command.epilog or "" for command in main.commands.values()]
    typed = "\n".join([*blocks(page, "", "bash"), *examples]).replace("\\\n", " ")
    for line in re.findall(
        r"^(?:\.venv/bin/|Example: )?srlib (.*)", typed, re.MULTILINE
    ):
        name, *words = shlex.split(line, comments=True)
        assert all(
            (ROOT / word).is_file() for word in words if word.startswith("params/")
        )
        options = {
            option for param in main.commands[name].params for option in param.opts
        }
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


# ----------------------------------------------------------------------------- glossary

GLOSSARY = ROOT / "docs/guide/glossary.md"
SOURCES = sorted([*ROOT.glob("notebooks/*.py"), *ROOT.glob("notebooks/*.md"), *PAGES])
SOURCE = r"\*Source:\* (none; .+|.*(https://doi\.org/10\.|\((?:19|20)\d\d\), \w).*)"
NAMES = r"((?:`[^`]+`(?: \([^)]+\))?(?:, | and )?)+)"


def terms() -> dict[str, str]:
    """Return the text of each term of the glossary, by its heading."""
    parts = re.split(r"^### (.+)\n", text(GLOSSARY), flags=re.MULTILINE)
    return {
        heading: body.partition("\n## ")[0]
        for heading, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def named(kind: str) -> list[tuple[str, str]]:
    """Return the names of a kind, as columns, with what they belong to: a name of srlib or ""."""
    found = re.findall(rf"\b{kind}s? {NAMES}(?: of `(srlib[\w.]+)`)?", text(GLOSSARY))
    return [
        (name, owner)
        for names, owner in found
        for name in re.findall(r"`([^`]+)`", names)
    ]


def test_every_term_that_is_linked_to_is_in_the_glossary() -> None:
    """In the sources of notebooks as well: those that are not built yet have the links, too."""
    linked = {
        slug
        for page in SOURCES
        for slug in re.findall(
            r"glossary\.(?:md|html)#([\w-]+)", page.read_text(encoding="utf-8")
        )
    }
    assert len(linked) > 20
    assert linked - anchors(GLOSSARY) == set()


def test_every_term_is_named_in_the_software_and_has_a_source_or_a_reason() -> None:
    found = terms()
    assert len(found) > 50
    for term, body in found.items():
        line = body.replace("\n", " ")
        assert re.search(r"\*In srlib:\* [`\w]", line), term
        assert re.search(SOURCE, line), term


def owner_of(name: str, owner: str) -> Any:
    """Return the function or class of srlib that the glossary gives as a name's owner."""
    found = pydoc.locate(owner)
    assert found is not None, f"{owner} of {name}"
    return found


def test_options_arguments_and_attributes_of_the_glossary_exist() -> None:
    options = {o for c in main.commands.values() for p in c.params for o in p.opts}
    assert {*re.findall(r"`(--[a-z-]+)`", text(GLOSSARY))} <= options
    for name, owner in named("argument"):
        assert name in inspect.signature(owner_of(name, owner)).parameters, (
            name,
            owner,
        )
    for name, owner in named("attribute"):
        known = owner_of(name, owner)
        assert name in {*dir(known), *known.__dataclass_fields__}, (name, owner)


def test_columns_and_rows_of_the_glossary_exist() -> None:
    """Columns without an owner, and rows, are those of the table of an assessment."""
    people = pd.DataFrame(
        {"job": ["cook", "smith"] * 30, "sick": ["no"] * 45 + ["yes"] * 15}
    )
    table = srlib.assess(people, [people], rng=np.random.default_rng(1)).table
    for name, owner in named("column"):
        if owner:
            module = sys.modules[owner_of(name, owner).__module__]
            assert f'"{name}"' in inspect.getsource(module), (name, owner)
        else:
            assert name in table, name
    modules = ROOT.glob("srlib/assessment/*.py")
    source = "\n".join(module.read_text(encoding="utf-8") for module in modules)
    assert [name for name, _ in named("row") if f'"{name}"' not in source] == []


def test_the_tests_of_the_promises_exist() -> None:
    promised = re.findall(r"`tests/(\w+)\.py::(\w+)`", text(ROOT / "CONTRIBUTING.md"))
    assert len(promised) > 20
    for module, test in promised:
        assert f"\ndef {test}(" in text(ROOT / f"tests/{module}.py")


def test_jupyterlab_opens_with_a_page_that_leads_to_every_notebook() -> None:
    linked = re.findall(r"\]\((.+?)\)", text(ROOT / "notebooks/START_HERE.md"))
    assert sorted(linked) == sorted(
        path.name for path in ROOT.glob("notebooks/*.ipynb")
    )


def shown(notebook: str) -> str:
    """Return what a committed notebook shows, without bold type."""
    cells = nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4).cells
    found = [
        output.data
        for c in cells
        for output in c.get("outputs", [])
        if "data" in output
    ]
    both = "\n".join(data.get("text/markdown", data["text/plain"]) for data in found)
    return both.replace("**", "").replace("\N{NO-BREAK SPACE}", " ")


TREES = r"Risk and utility loss; trees by(?s:.*?)\n{}(?:  +\S+){{{}}}  +(\S+)"  # row, cells before
UNPRUNED, PRUNED, LARGE = (
    "unpruned trees, 5",
    "pruned as rpart, 5",
    "unpruned trees, 50",
)
CELLS = [(UNPRUNED, 3), (PRUNED, 3), (LARGE, 3), (LARGE, 5), (PRUNED, 5)]
SCORES = [
    rf"(?m)^{score} +as printed .*?(\S+)$" for score in ("distance", "P", "log P")
]
PARAGRAPHS = [
    (
        "400 simulated adults",
        "sequential_trees",
        [TREES.format(*cell) for cell in CELLS],
    ),
    ("advertised at an epsilon", "charest", SCORES),
]


@pytest.mark.parametrize(("words", "notebook", "computed"), PARAGRAPHS)
def test_numbers_are_those_of_the_notebook(
    words: str, notebook: str, computed: list[str]
) -> None:
    """Decimals of the paragraph that has the words, in their order."""
    paragraphs = text(ROOT / "docs/notebooks.md").split("\n\n")
    (said,) = [paragraph for paragraph in paragraphs if words in paragraph]
    for number, one in zip(re.findall(r"\d*\.\d+", said), computed, strict=True):
        (exact,) = set(re.findall(one, shown(notebook)))
        unit = 10.0 ** -len(
            number.partition(".")[2]
        )  # .14 and .15 are both roundings of .145
        assert float(number) == pytest.approx(float(exact), abs=0.51 * unit, rel=0)


@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "docs/guide/assess.md"])
def test_examples_are_what_the_notebook_shows(page: str) -> None:
    (example,) = blocks(ROOT / page, "text")
    lines = [line.removesuffix("...").strip() for line in example.splitlines()]
    assert [line for line in lines if line not in shown("assess")] == []


# --------------------------------------------------------------------------- references

PLACES = ("*.md", "docs/*.*", "docs/guide/*.md", "srlib/**/*.py", "notebooks/*.py")
TEXTS = [path for place in PLACES for path in ROOT.glob(place)]
DOI = r"10\.\d{4,9}/[\w.()/:;-]*\w"
ADDRESS = f"https://doi\\.org/{DOI}"
MALFORMED = [
    "<https://doi.org/10.1007/11681878_14.>",
    "<http://doi.org/10.1007/11681878_14>",
    "https://dx.doi.org/10.1007/11681878_14",
    "[A title](https://doi.org/1007/11681878_14)",
    "[10.1007/1](https://doi.org/10.1007/11681878_14)",
    "https://arxiv.org/abs/2406.16826",
    "doi 10.1007/11681878_14",
    "<https:/doi.org/10.1007/11681878_14>",
]


def faults(text: str) -> list[str]:
    """Links and DOIs in a text that are not of the form that resolves."""
    found = [
        link
        for link in re.findall(r"https?:/*[^\s<>\"'`\])}]+", text)
        if "{" not in link
    ]
    form = rf"https://(?!(?:\w+\.)?arxiv\.org|[^/]*doi\.org)[\w-]+(\.[\w-]+)+(/\S*\w/?)?|{ADDRESS}"
    bad = [
        link for link in found if not re.fullmatch(form, link)
    ]  # arXiv has DOIs, too
    for said, link in re.findall(r"\[([^\]]+)\]\((https:[^)\s]+)\)", text):
        if (
            re.match(r"10\.|http", said)
            and link.removeprefix("https://doi.org/") != said
        ):
            bad.append(said)
    return bad + re.findall(
        r"\b10\.\d{4,9}/\S+", re.sub(rf"{ADDRESS}|\[{DOI}\]", "", text)
    )


def test_links_are_well_formed() -> None:
    bad = {path.name: faults(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert {name: links for name, links in bad.items() if links} == {}
    assert [malformed for malformed in MALFORMED if not faults(malformed)] == []


def test_the_papers_have_one_title_wherever_they_are_cited() -> None:
    def plain(text: str) -> str:
        """Letters and figures, small, without the marks between them."""
        return " ".join(re.findall(r"[^\W_]+", re.sub(r"<\S+>", " ", text.lower())))

    texts = {path: plain(path.read_text(encoding="utf-8")) for path in TEXTS}
    works = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))[
        "references"
    ]
    for title in (plain(work["title"]) for work in works):
        beginning = " ".join(title.split()[:4])
        assert sum(text.count(title) for text in texts.values()) > 1
        assert [
            p for p, t in texts.items() if t.count(title) != t.count(beginning)
        ] == []


def test_files_that_a_notebook_names_exist() -> None:
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in ROOT.glob("notebooks/*.py")
    )
    named = re.findall(r"`((?:docs|params|srlib|tests|notebooks)/[\w./-]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
