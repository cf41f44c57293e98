"""References: links are well formed, and a work has the same title and DOI wherever it is cited."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(ROOT.glob("notebooks/*.py"))
PLACES = ("*.md", "docs/*.*", "docs/guide/*.md", "srlib/**/*.py", "notebooks/*.py")
TEXTS = [path for place in PLACES for path in ROOT.glob(place)]
CITATION = ROOT / "CITATION.cff"
DOI = r"10\.\d{4,9}/[\w.()/:;-]*\w"
ADDRESS = f"https://doi\\.org/{DOI}"

# Who, when, and then what: "Good, I. J. (1953). The population ...", in bold above a notebook.
REFERENCE = re.compile(
    r"(?:- |A companion to )?\**[A-Z][\w-]+, [A-Z]\..{0,140}?(?:\(\d{4}\)\.|Han, Y\.)\** (.+)"
)


def faults(text: str) -> list[str]:
    """Links and DOIs in a text that are not of the form that resolves."""
    found = [link for link in re.findall(r"https?:/*[^\s<>\"'`\])}]+", text) if "{" not in link]
    form = rf"https://(?!(?:\w+\.)?arxiv\.org|[^/]*doi\.org)[\w-]+(\.[\w-]+)+(/\S*\w/?)?|{ADDRESS}"
    bad = [link for link in found if not re.fullmatch(form, link)]  # arXiv has DOIs, too
    for said, link in re.findall(r"\[([^\]]+)\]\((https:[^)\s]+)\)", text):
        if re.match(r"10\.|http", said) and link.removeprefix("https://doi.org/") != said:
            bad.append(said)
    return bad + re.findall(r"\b10\.\d{4,9}/\S+", re.sub(rf"{ADDRESS}|\[{DOI}\]", "", text))


def plain(title: str) -> str:
    """Letters and figures of a title, small, without the marks around them."""
    return " ".join(re.findall(r"\w+", title.lower()))


def works(text: str) -> Iterator[tuple[str, str | None]]:
    """Title and DOI of each work that a text refers to by authors, year and title."""
    lines = re.sub(r"^#+ ?", "", text, flags=re.MULTILINE)
    for passage in re.split(r"\n\s*\n|\n(?=- )", lines):
        if match := REFERENCE.match(" ".join(passage.split())):
            linked = re.match(r"\[(.+?)\]\(", match[1])
            title = linked[1] if linked else re.split(r"(?<=[.?!])\*? ", match[1])[0]
            doi = re.search(ADDRESS, match[1])
            yield plain(title), doi and doi[0].removeprefix("https://doi.org/")


def test_links_are_well_formed() -> None:
    bad = {path.name: faults(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert {name: links for name, links in bad.items() if links} == {}
    for malformed in (
        "<https://doi.org/10.1007/11681878_14.>",
        "<http://doi.org/10.1007/11681878_14>",
        "https://dx.doi.org/10.1007/11681878_14",
        "[A title](https://doi.org/1007/11681878_14)",
        "[10.1007/1](https://doi.org/10.1007/11681878_14)",
        "https://arxiv.org/abs/2406.16826",
        "doi 10.1007/11681878_14",
        "<https:/doi.org/10.1007/11681878_14>",
    ):
        assert faults(malformed), malformed


def test_a_work_has_one_title_and_one_doi() -> None:
    cited = [(p, *work) for p in TEXTS for work in works(p.read_text(encoding="utf-8"))]
    for work in yaml.safe_load(CITATION.read_text(encoding="utf-8"))["references"]:
        cited.append((CITATION, plain(work["title"]), work.get("doi")))
    assert {path for path, *_ in cited} >= {CITATION, *NOTEBOOKS}
    dois, titles, quoted = defaultdict(set), defaultdict(set), defaultdict(set)
    for path, title, doi in cited:
        quoted[tuple(title.split()[:8])].add(title)  # the same beginning is the same work
        if doi:
            titles[doi].add(title)
        if doi or ROOT / "srlib" not in path.parents:  # docstrings may leave the DOI out
            dois[title].add(doi)
    for found in (dois, titles, quoted):
        assert {of: what for of, what in found.items() if len(what) > 1} == {}


def test_files_that_a_notebook_names_exist() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in NOTEBOOKS)
    named = re.findall(r"`((?:docs|params|srlib|tests|notebooks)/[\w./-]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
