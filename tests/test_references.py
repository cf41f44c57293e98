"""References: links are well formed, and a work has the same title and DOI wherever it is cited."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(ROOT.glob("notebooks/*.py"))
TEXTS = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.*"),
    *ROOT.glob("docs/guide/*.md"),
    *ROOT.glob("srlib/**/*.py"),
    *NOTEBOOKS,
]
CITATION = ROOT / "CITATION.cff"
DOI = r"10\.\d{4,9}/[\w.()/:;-]*\w"

# Who, when, and then what: "Good, I. J. (1953). The population ...", in bold above a notebook.
REFERENCE = re.compile(
    r"(?:- |A companion to )?\**[A-Z][\w-]+, [A-Z]\..{0,140}?(?:\(\d{4}\)\.|Han, Y\.)\** (.+)"
)


def faults(text: str) -> list[str]:
    """Links and DOIs in a text that are not of the form that resolves."""
    found = [link for link in re.findall(r"https?:/*[^\s<>\"'`\])}]+", text) if "{" not in link]
    bad = [
        link for link in found if not re.fullmatch(r"https://[\w-]+(\.[\w-]+)+(/\S*\w/?)?", link)
    ]
    bad += [
        link
        for link in found
        if "doi.org" in link and not re.fullmatch(f"https://doi.org/{DOI}", link)
    ]
    bad += [link for link in found if "arxiv.org" in link]  # arXiv has a DOI for each of its papers
    bad += [
        said
        for said, link in re.findall(r"\[([^\]]+)\]\((https:[^)\s]+)\)", text)
        if re.match(r"10\.|http", said) and link.removeprefix("https://doi.org/") != said
    ]
    bare = re.sub(rf"https://doi\.org/{DOI}|\[{DOI}\]", "", text)
    return bad + re.findall(r"\b10\.\d{4,9}/\S+", bare)


def plain(title: str) -> str:
    """Letters and figures of a title, small, without the marks around them."""
    return " ".join(re.findall(r"\w+", title.lower()))


def works(text: str) -> list[tuple[str, str | None]]:
    """Title and DOI of each work that a text refers to by authors, year and title."""
    lines = re.sub(r"^#+ ?", "", text, flags=re.MULTILINE)
    passages = re.split(r"\n\s*\n|\n(?=- )", lines)
    found = [REFERENCE.match(" ".join(passage.split())) for passage in passages]
    told = []
    for rest in (match[1] for match in found if match):
        linked = re.match(r"\[(.+?)\]\(", rest)
        title = linked[1] if linked else re.split(r"(?<=[.?!])\*? ", rest)[0]
        doi = re.search(rf"https://doi\.org/({DOI})", rest)
        told.append((plain(title), doi[1] if doi else None))
    return told


def test_links_are_well_formed() -> None:
    bad = {path.name: faults(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert {name: links for name, links in bad.items() if links} == {}


def citations() -> Iterator[tuple[Path, str, str | None]]:
    """File, title and DOI of all references in texts and in the citation file."""
    for path in TEXTS:
        yield from ((path, *work) for work in works(path.read_text(encoding="utf-8")))
    for work in yaml.safe_load(CITATION.read_text(encoding="utf-8"))["references"]:
        yield CITATION, plain(work["title"]), work.get("doi")


def test_a_work_has_one_title_and_one_doi() -> None:
    cited = list(citations())
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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_files_that_a_notebook_names_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"`((?:docs|params|srlib|tests|notebooks)/[\w./-]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "text",
    [
        "<https://doi.org/10.1007/11681878_14.>",
        "<http://doi.org/10.1007/11681878_14>",
        "https://dx.doi.org/10.1007/11681878_14",
        "[A title](https://doi.org/1007/11681878_14)",
        "[10.1007/1](https://doi.org/10.1007/11681878_14)",
        "https://arxiv.org/abs/2406.16826",
        "doi 10.1007/11681878_14",
        "<https:/doi.org/10.1007/11681878_14>",
    ],
)
def test_a_malformed_link_is_found(text: str) -> None:
    assert faults(text)


def test_works_are_read() -> None:
    text = """
# **Charest, A.-S. and Han, Y.** On the meaning. *JPC* 7(3). <https://doi.org/10.29012/jpc.v7i3.406>
#
# - Abowd, J. and Vilhuber, L. (2008). How protective are
#   synthetic data? *PSD*, 239. <https://doi.org/10.1007/978-3-540-87471-3_20>
# - Ding, Z. (2018). [Detecting
#   violations](https://doi.org/10.1145/3243734.3243818). *CCS*, 475.
# - Taub, J. (2019). The challenge. *Work session*.
# - Breiman, L. (1984). *Trees*. Wadsworth.
"""
    assert works(text) == [
        ("on the meaning", "10.29012/jpc.v7i3.406"),
        ("how protective are synthetic data", "10.1007/978-3-540-87471-3_20"),
        ("detecting violations", "10.1145/3243734.3243818"),
        ("the challenge", None),
        ("trees", None),
    ]
    assert not faults(text)
