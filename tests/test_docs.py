"""The guide: its links lead somewhere, names exist, and numbers are the notebooks'.

Each term of the glossary has a source and is found in the software. References are well
formed, and each of the papers has one title wherever it is cited.
"""

import inspect
import itertools
import pydoc
import re
import runpy
import shlex
import sys

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from toy import ROOT

import srlib
from srlib.runner.cli import main


def paths(*patterns):
    """Return the files of the project that match a pattern, sorted."""
    return sorted(itertools.chain(*map(ROOT.glob, patterns)))


PAGES = paths("*.md", "docs/*.md", "docs/guide/*.md")
NOTEBOOKS = paths("notebooks/*.md", "notebooks/*.ipynb")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def text(page):
    """Return a page's text, of a notebook that of its text cells."""
    if page.suffix != ".ipynb":
        return page.read_text("utf-8")
    cells = nbformat.read(page, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def blocks(page, *languages):
    fenced = re.findall(r"(?ms)^```(\w*)\n(.*?)^```", text(page))
    return [body for language, body in fenced if language in languages]


def anchors(page):
    headings = "\n".join(re.findall(r"(?m)^#+ (.+)$", text(page)))
    if page.suffix != ".ipynb":
        headings = re.sub(r"[^\w\n -]", "", headings).lower()
    return {*headings.replace(" ", "-").split("\n")}


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    """On GitHub; those of the site are followed in its own test."""
    for link in re.findall(r"\]\((?!https?:)((?:[^()\s]|\([^()\s]*\))+)\)", text(page)):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_file() or target.with_suffix(".rst").is_file(), link
        assert not anchor or anchor in anchors(target), link


def options_of(command):
    parameters = main.commands[command].params
    return set[str]().union(*(parameter.opts for parameter in parameters))


@every_page
def test_commands_and_targets_exist_and_take_their_options(page):
    examples = [command.epilog or "" for command in main.commands.values()]
    typed = "\n".join([*blocks(page, "", "bash"), *examples]).replace("\\\n", " ")
    for line in re.findall(r"(?m)^(?:\.venv/bin/|Example: )?srlib (.*)", typed):
        name, *words = shlex.split(line, comments=True)
        for file in filter(re.compile("params/").match, words):
            assert (ROOT / file).is_file(), line
        typed_options = {*filter(re.compile("--?[a-z]").match, words)}
        assert typed_options <= options_of(name), line
    targets = re.findall(r"(?m)^(\w+):", text(ROOT / "Makefile"))
    assert {*re.findall(r"(?m)(?:^|`)make (\w+)", text(page))} <= {*targets}


@every_page
def test_code_and_text_name_what_the_library_has(page):
    names = set(re.findall(r"\bsrlib(?:\.[A-Za-z]\w*)+", text(page)))
    for module, imported in re.findall(r"from (srlib[\w.]*) import (.+)", text(page)):
        names |= {f"{module}.{name}" for name in imported.split(", ")}
    if page.name != "CHANGELOG.md":  # of what was
        for name in names:
            assert pydoc.locate(name) is not None, name


# ----------------------------------------------------------------------------- glossary

GLOSSARY = ROOT / "docs/guide/glossary.md"
SOURCES = [*paths("notebooks/*.py", "notebooks/*.md"), *PAGES]
SOURCE = r"\*Source:\* (none; .+|.*(https://doi\.org/10\.|\((?:19|20)\d\d\), \w).*)"
NAMES = r"((?:`[^`]+`(?: \([^)]+\))?(?:, | and )?)+)"


def terms():
    """Return the text of each term of the glossary, by its heading."""
    return dict(re.findall(r"(?ms)^### (.+?)\n(.*?)(?=^###? |\Z)", text(GLOSSARY)))


def named(kind):
    """Return names of a kind, as columns, with their owner: a name of srlib or ""."""
    owned = []
    listed = rf"\b{kind}s? {NAMES}(?: of `(srlib[\w.]+)`)?"
    for names, owner in re.findall(listed, text(GLOSSARY)):
        owned += [(name, owner) for name in re.findall(r"`([^`]+)`", names)]
    return owned


def test_every_term_that_is_linked_to_is_in_the_glossary():
    """In the sources of notebooks as well, also of those that are not built yet."""
    sources = "\n".join(map(text, SOURCES))
    linked = {*re.findall(r"glossary\.(?:md|html)#([\w-]+)", sources)}
    assert len(linked) > 20
    assert linked - anchors(GLOSSARY) == set()


def test_every_term_is_named_in_the_software_and_has_a_source_or_a_reason():
    entries = terms()
    assert len(entries) > 50
    for term, entry in entries.items():
        line = entry.replace("\n", " ")
        assert re.search(r"\*In srlib:\* [`\w]", line), term
        assert re.search(SOURCE, line), term


def owner_of(name, owner):
    """Return the function or class of srlib that the glossary gives as owner."""
    assert pydoc.locate(owner), f"{owner} of {name}"
    return pydoc.locate(owner)


def test_options_arguments_and_attributes_of_the_glossary_exist():
    options = set().union(*map(options_of, main.commands))
    assert {*re.findall(r"`(--[a-z-]+)`", text(GLOSSARY))} <= options
    for name, owner in named("argument"):
        parameters = inspect.signature(owner_of(name, owner)).parameters
        assert name in parameters, owner
    for name, owner in named("attribute"):
        of_class = owner_of(name, owner)
        assert name in {*dir(of_class), *of_class.__dataclass_fields__}, owner


def test_columns_and_rows_of_the_glossary_exist():
    """Columns without an owner, and rows, are those of the table of an assessment."""
    columns = {"job": ["cook", "smith"] * 30, "sick": ["no"] * 45 + ["yes"] * 15}
    people = pd.DataFrame(columns)
    table = srlib.assess(people, [people], rng=np.random.default_rng(1)).table
    for name, owner in named("column"):
        if owner:
            module = sys.modules[owner_of(name, owner).__module__]
            assert f'"{name}"' in inspect.getsource(module), owner
        else:
            assert name in table
    source = "\n".join(map(text, ROOT.glob("srlib/assessment/*.py")))
    for name, _ in named("row"):
        assert f'"{name}"' in source


def test_the_tests_of_the_promises_exist():
    promised = re.findall(r"`(tests/\w+\.py)::(\w+)`", text(ROOT / "CONTRIBUTING.md"))
    assert len(promised) > 20
    for module, test in promised:
        assert f"\ndef {test}(" in text(ROOT / module)


def test_jupyterlab_opens_with_a_page_that_leads_to_every_notebook():
    linked = re.findall(r"\]\((.+?)\)", text(ROOT / "notebooks/START_HERE.md"))
    notebooks = [path.name for path in ROOT.glob("notebooks/*.ipynb")]
    assert sorted(linked) == sorted(notebooks)


def shown(notebook):
    """Return what a committed notebook shows, without bold type."""
    texts = []
    for cell in nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", 4).cells:
        for output in cell.get("outputs", []):
            if data := output.get("data"):
                texts.append(data.get("text/markdown", data["text/plain"]))
    return "\n".join(texts).replace("**", "").replace("\N{NO-BREAK SPACE}", " ")


RUNS = r"0.01 +\(c\) runs, others known"
EXACT = r"0.01 +\(d\) likelihood ratio"
FIRST = r"{} +(\S+) ± (\S+)"  # number of a row, and its error
SECOND = r"{} +\S+ ± \S+ +(\S+) ± (\S+)"
# Of the table by leaf size: a row, and the number of cells before the one that is read.
LEAF = r"minimum leaf size +power(?s:.*?)\n +{}(?: +\S+){{{}}} +(\S+) +(\S+)"
RULE = (
    r"Median probability of the true record, of(?s:.*?)\n{}(?: +\S+){{2}} +(\S+) +(\S+)"
)
CELLS = [
    FIRST.format(RUNS),
    SECOND.format(RUNS),
    FIRST.format(EXACT),
    SECOND.format(EXACT),
    LEAF.format(2, 0),
    LEAF.format(1, 0),
    LEAF.format(2, 2),
    LEAF.format(1, 2),
    RULE.format("unpruned trees"),
    RULE.format("pruned as rpart"),
]
SCORE = r"(?m)^{} +as printed .*?(\S+)$"
SCORES = [SCORE.format("distance"), SCORE.format("P"), SCORE.format("log P")]
PARAGRAPHS = [
    ("docs/notebooks.md", "400 simulated adults", "sequential_trees", CELLS),
    ("docs/notebooks.md", "advertised at an epsilon", "charest", SCORES),
    ("README.md", "400 simulated adults", "sequential_trees", [CELLS[1], CELLS[3]]),
]


@pytest.mark.parametrize(("page", "words", "notebook", "computed"), PARAGRAPHS)
def test_numbers_are_those_of_the_notebook(page, words, notebook, computed):
    """Decimals of the paragraph that has the words, in their order."""
    paragraphs = text(ROOT / page).split("\n\n")
    (paragraph,) = filter(re.compile(words).search, paragraphs)
    typed = re.findall(r"\d*\.\d+", paragraph)
    found: list[str] = []
    for pattern in computed:
        (groups,) = {match.groups() for match in re.finditer(pattern, shown(notebook))}
        found += groups
    for number, exact in zip(typed, found, strict=True):
        unit = 10.0 ** -len(number.partition(".")[2])
        # .14 and .15 are both roundings of .145.
        assert float(number) == pytest.approx(float(exact), abs=0.51 * unit, rel=0)


@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "docs/guide/assess.md"])
def test_examples_are_what_the_notebook_shows(page):
    (example,) = blocks(ROOT / page, "text")
    output = shown("assess")
    for line in example.splitlines():
        assert line.removesuffix("...").strip() in output


def test_the_page_of_comparison_shows_its_table():
    page = text(ROOT / "docs/guide/compare.md")
    table = pd.read_csv(ROOT / "docs/guide/compare.csv", keep_default_na=False)
    script = runpy.run_path(str(ROOT / "tools/compare_tools.py"))
    assert script["fill_page"](page, table) == page


def test_the_readme_has_rows_of_the_comparison_and_fits_on_a_page() -> None:
    readme = text(ROOT / "README.md")
    assert len(readme.splitlines()) <= 80
    rows = re.findall(r"(?m)^\|.+ \d of \d .+", readme)
    assert rows
    page = text(ROOT / "docs/guide/compare.md").splitlines()
    assert {*rows} <= {*page}


# --------------------------------------------------------------------------- references

TEXTS = paths("*.md", "docs/*.*", "docs/guide/*.md", "srlib/**/*.py", "notebooks/*.py")
DOI = r"10\.\d{4,9}/[\w.()/:;-]*\w"
ADDRESS = f"https://doi\\.org/{DOI}"
SITE = r"https://(?!(?:\w+\.)?arxiv\.org|[^/]*doi\.org)[\w-]+(\.[\w-]+)+(/\S*\w/?)?"
# arXiv has DOIs, too; an f-string is completed elsewhere.
WELL_FORMED = rf"{SITE}|{ADDRESS}|.*\{{.*"
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


def faults(text):
    """Links and DOIs in a text that are not of the form that resolves."""
    links = re.findall(r"https?:/*[^\s<>\"'`\])}]+", text)
    bad = [link for link in links if not re.fullmatch(WELL_FORMED, link)]
    for label, link in re.findall(r"\[([^\]]+)\]\((https:[^)\s]+)\)", text):
        is_address = re.match(r"10\.|http", label)
        if is_address and link.removeprefix("https://doi.org/") != label:
            bad.append(label)
    unlinked = re.sub(rf"{ADDRESS}|\[{DOI}\]", "", text)
    return bad + re.findall(r"\b10\.\d{4,9}/\S+", unlinked)


def test_links_are_well_formed():
    for path in TEXTS:
        assert faults(text(path)) == [], path
    for malformed in MALFORMED:
        assert faults(malformed), malformed


def test_the_papers_have_one_title_wherever_they_are_cited():
    def plain(text):
        """Letters and figures, small, without addresses and the marks between them."""
        return re.sub(r"(<\S+>|[\W_])+", " ", text.lower()).strip()

    texts = [plain(text(path)) for path in TEXTS]
    for work in yaml.safe_load(text(ROOT / "CITATION.cff"))["references"]:
        title = plain(work["title"])
        beginning = " ".join(title.split()[:4])
        n_citations = [text.count(title) for text in texts]
        assert sum(n_citations) > 1
        assert n_citations == [text.count(beginning) for text in texts], title


def test_files_that_a_notebook_names_exist():
    sources = "\n".join(map(text, ROOT.glob("notebooks/*.py")))
    files = re.findall(r"`((?:docs|params|srlib|tests|notebooks)/[\w./-]+)`", sources)
    for file in files:
        assert (ROOT / file).exists(), file
