"""References: links are well formed, and each of the papers has one title wherever it is cited."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(ROOT.glob("notebooks/*.py"))
PLACES = ("*.md", "docs/*.*", "docs/guide/*.md", "srlib/**/*.py", "notebooks/*.py")
TEXTS = [path for place in PLACES for path in ROOT.glob(place)]
DOI = r"10\.\d{4,9}/[\w.()/:;-]*\w"
ADDRESS = f"https://doi\\.org/{DOI}"
MALFORMED = [
    "<https://doi.org/10.1007/11681878_14.>", "<http://doi.org/10.1007/11681878_14>",
    "https://dx.doi.org/10.1007/11681878_14", "[A title](https://doi.org/1007/11681878_14)",
    "[10.1007/1](https://doi.org/10.1007/11681878_14)", "https://arxiv.org/abs/2406.16826",
    "doi 10.1007/11681878_14", "<https:/doi.org/10.1007/11681878_14>",
]  # fmt: skip


def faults(text: str) -> list[str]:
    """Links and DOIs in a text that are not of the form that resolves."""
    found = [link for link in re.findall(r"https?:/*[^\s<>\"'`\])}]+", text) if "{" not in link]
    form = rf"https://(?!(?:\w+\.)?arxiv\.org|[^/]*doi\.org)[\w-]+(\.[\w-]+)+(/\S*\w/?)?|{ADDRESS}"
    bad = [link for link in found if not re.fullmatch(form, link)]  # arXiv has DOIs, too
    for said, link in re.findall(r"\[([^\]]+)\]\((https:[^)\s]+)\)", text):
        if re.match(r"10\.|http", said) and link.removeprefix("https://doi.org/") != said:
            bad.append(said)
    return bad + re.findall(r"\b10\.\d{4,9}/\S+", re.sub(rf"{ADDRESS}|\[{DOI}\]", "", text))


def test_links_are_well_formed() -> None:
    bad = {path.name: faults(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert {name: links for name, links in bad.items() if links} == {}
    assert [malformed for malformed in MALFORMED if not faults(malformed)] == []


def test_the_papers_have_one_title_wherever_they_are_cited() -> None:
    def plain(text: str) -> str:
        """Letters and figures, small, without the marks between them."""
        return " ".join(re.findall(r"[^\W_]+", re.sub(r"<\S+>", " ", text.lower())))

    texts = {path: plain(path.read_text(encoding="utf-8")) for path in TEXTS}
    works = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    for title in (plain(work["title"]) for work in works):
        beginning = " ".join(title.split()[:4])
        assert sum(text.count(title) for text in texts.values()) > 1
        assert [p for p, t in texts.items() if t.count(title) != t.count(beginning)] == []


def test_files_that_a_notebook_names_exist() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in NOTEBOOKS)
    named = re.findall(r"`((?:docs|params|srlib|tests|notebooks)/[\w./-]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
