"""The front page and the reports: what they say of runs, what they leave out, what is missing."""

import itertools
import json
import re
import shutil
import zipfile
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat
import pytest
import toy
from click.testing import CliRunner

from srlib import yamls
from srlib.runner import report, site
from srlib.runner.cli import main
from srlib.runner.parameters import find_papers


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = toy.make(tmp_path_factory.mktemp("project"))
    (root / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    toy.finished(root / "outputs")
    return root


@pytest.fixture
def built(project: Path) -> Path:
    return site.write(project, project / "outputs")[0].parent


@pytest.fixture
def reports(built: Path) -> Path:
    return built / site.REPORTS


def text(html: str) -> str:
    """What a reader sees of a page, in one line."""
    shown = re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def test_front_page_tells_finding_ledger_and_what_is_missing(built: Path) -> None:
    told = text((built / "index.html").read_text(encoding="utf-8"))
    assert "A finding A. Author (2000). A paper. Its question." in told
    assert "4 printed numbers: 2 as printed, 1 different for a stated reason, 1 skipped" in told
    assert "skipped (other data)." in told
    assert "Reading: an hour. Run time: 2 s." in told
    assert "Not run yet: srlib run other --profile default" in told
    assert "Not run yet: other." in told


def test_cards_are_of_notebooks_and_their_figures() -> None:
    root = Path(__file__).parents[1]
    assert set(site.CARDS) == set(find_papers(root))
    for name, card in site.CARDS.items():
        source = (root / f"notebooks/{name}.py").read_text(encoding="utf-8")
        assert f'outputs.figure("{card["figure"]}"' in source or f'"{card["figure"][:-1]}' in source
        assert set(card) == {"group", "of", "heading", "text", "figure", "caption"}
    assert all((root / f"docs/pictures/{name}.svg").is_file() for name in site.PAIR)


def test_a_card_has_the_figure_of_its_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(site.CARDS, "toy", {"figure": "first", "caption": "What it shows."})
    page = site.write(project, project / "outputs")[0].read_text(encoding="utf-8")
    assert page.count('<img src="data:image/svg+xml') == 1
    assert "<figcaption>What it shows.</figcaption>" in page


def test_reports_share_the_library_and_name_it(reports: Path) -> None:
    page = (reports / "toy.html").read_text(encoding="utf-8")
    alone = report.render(*report.read(reports.parents[1] / "toy" / site.PROFILE), public=True)
    assert len(page) < len(alone) - 500_000
    assert (reports / site.LIBRARY).stat().st_size > 500_000
    assert f'<link rel="stylesheet" href="{site.FONTS}">' in page
    assert "data:font" not in page
    assert "data:font" in (reports / site.FONTS).read_text(encoding="utf-8")
    [nonce] = re.findall(r"script-src 'sha256-\S+' 'nonce-(\S+)'\">", page)
    assert f'<script src="{site.LIBRARY}" nonce="{nonce}"></script>' in page
    other = report.page("page.html.j2", "", beside=["a.js"], title="Other")
    assert nonce not in other
    assert "nonce" not in alone[: alone.index("<style>")]


def test_reports_lead_to_those_before_and_after(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, Any]] = []

    def render(*_: Any, **about: Any) -> str:
        told.append(about)
        return ""

    monkeypatch.setattr(report, "render", render)
    for run in ("toy/published", "other/default"):
        shutil.copytree(project / "outputs/toy/published", tmp_path / run)
    site.write(project, tmp_path)
    links = [(about["previous"], about["next"]) for about in told]
    assert links == [
        (None, ("toy.html", "A finding")),
        (("other.html", "A finding"), None),
    ]


def test_search_knows_sections_of_reports_and_guide(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "outputs/toy", tmp_path / "toy")
    guide = tmp_path / "site/start.html"
    guide.parent.mkdir()
    guide.write_text(
        "<title>T</title><nav>left out</nav><article><section id='a-b'><h1>A b<a>¶</a></h1>"
        "<p>The <b>text</b>.</p><pre>code</pre><dl><dt id='srlib.f'>f()</dt><dd>It does.</dd></dl>"
        "</section></article>",
        encoding="utf-8",
    )
    built = site.write(project, tmp_path)[0].parent
    script = (built / site.REPORTS / site.PLACES).read_text(encoding="utf-8")
    found = json.loads(script.removeprefix("const PLACES = ").removesuffix(";"))
    assert ["reports/toy.html#A-part", "A finding", "A part"] in [place[:3] for place in found]
    assert found[-2:] == [
        ["start.html#a-b", "A b", "A b", "The text."],
        ["start.html#srlib.f", "A b", "srlib.f", "f()It does."],
    ]
    front = (built / "index.html").read_text(encoding="utf-8")
    assert 'href="guide/numbers.html"' in front


def test_nothing_confidential_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(site.CARDS, "toy", {"figure": "first", "caption": "What it shows."})
    project = toy.make(tmp_path)
    run = toy.finished(project / "outputs", "people.csv")
    built = site.write(project, project / "outputs")[0].parent
    reports = built / site.REPORTS
    front = (built / "index.html").read_text(encoding="utf-8")
    assert not re.search("What it shows|<img|printed numbers", front)
    assert "record 12" in report.render(*report.read(run))
    with zipfile.ZipFile(reports / "toy.zip") as download:
        assert download.namelist() == [
            "toy.ipynb", "parameters.yaml", "tables/values.csv",
        ]  # fmt: skip
        held = [download.read(name).decode() for name in download.namelist()]
    pages = [page.read_text(encoding="utf-8") for page in built.rglob("*.html")]
    pages.append((reports / site.PLACES).read_text(encoding="utf-8"))
    for content in [*held, *pages]:
        assert "record 12" not in content
        assert "people" not in content
        assert "secret in years" not in content


def test_parameters_of_a_download_are_read_as_they_were(project: Path, tmp_path: Path) -> None:
    run = shutil.copytree(project / "outputs/toy/published", tmp_path / "toy/published")
    values = {"n": 5, "names": ["1e3", "0o10", "yes"], "share": 1e-9}
    (run / "parameters.yaml").write_text(yamls.dump(values), encoding="utf-8")
    index, _ = site.write(project, tmp_path)
    with zipfile.ZipFile(index.parent / site.REPORTS / "toy.zip") as archive:
        assert yamls.load(archive.read("parameters.yaml").decode()) == values


class Links(HTMLParser):
    """What a page leads to and loads, and what of it a link can lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.targets = {""}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = {name: value or "" for name, value in attrs}
        self.addresses += [about[name] for name in ("href", "src") if name in about]
        self.targets.add(about.get("id", ""))


def dead_links(folder: Path) -> list[tuple[str, str]]:
    """Local links in a folder's pages that lead to no file or to no place in it."""
    pages = {page.resolve(): Links(page) for page in folder.rglob("*.html")}
    assert all(links.addresses for links in pages.values())
    dead = []
    for page, links in pages.items():
        for address in links.addresses:
            if re.match(r"https?:|mailto:|data:", address):
                continue
            file, _, target = (unquote(part) for part in address.partition("#"))
            to = (page.parent / file).resolve() if file else page
            if not to.exists() or (to in pages and target not in pages[to].targets):
                dead.append((page.name, address))
    return dead


def test_pages_link_to_what_is_there_and_load_nothing(built: Path) -> None:
    assert dead_links(built) == []
    for page in built.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        assert "default-src 'none'" in html
        assert "img-src data:;" in html


def test_links_between_notebooks_lead_to_reports(root: Path, tmp_path: Path) -> None:
    """In a site they do; a report alone has their words and no link."""
    words = "sequential_trees, Who is in the data"
    for notebook in root.glob("notebooks/*.ipynb"):
        profile = (
            "published" if (root / f"params/{notebook.stem}/published.yaml").exists() else "default"
        )
        run = tmp_path / notebook.stem / profile
        run.mkdir(parents=True)
        executed = nbformat.read(notebook, as_version=4)
        if notebook.stem == "assess":
            linking = f"[{words}](sequential_trees.ipynb#Who-is-in-the-data)"
            executed.cells.append(nbformat.v4.new_markdown_cell(linking))
        nbformat.write(executed, run / "notebook.ipynb")
        (run / "parameters.yaml").write_text("n: 5\n", encoding="utf-8")
        (run / "provenance.json").write_text('{"status": "complete"}', encoding="utf-8")
        report.write(run)
    built = site.write(root, tmp_path)[0].parent
    assert dead_links(tmp_path) == []
    link = f'<a href="sequential_trees.html#Who-is-in-the-data">{words}</a>'
    assert link in (built / "reports/assess.html").read_text(encoding="utf-8")
    alone = (tmp_path / "assess/default/report.html").read_text(encoding="utf-8")
    assert f"<p>{words}</p>" in alone


@pytest.mark.parametrize("name", ["index.html", "reports/toy.html"])
def test_headings_are_in_order(built: Path, name: str) -> None:
    html = (built / name).read_text(encoding="utf-8")
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", html)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_the_same_runs_make_the_same_site(built: Path, project: Path) -> None:
    def files() -> dict[str, bytes]:
        return {f.name: f.read_bytes() for f in built.rglob("*") if f.is_file()}

    before = files()
    (built / site.REPORTS / "old.html").touch()
    with (built / site.REPORTS / site.CONTENTS).open("a") as contents:
        contents.write("old.html\n")
    site.write(project, project / "outputs")
    assert files() == before


@pytest.mark.parametrize("name", ["reports/thesis.txt", "reports/index.html", "index.html"])
def test_a_folder_of_others_stays(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    file = tmp_path / "site" / name
    file.parent.mkdir(parents=True)
    file.write_text("precious")
    monkeypatch.chdir(project)
    result = CliRunner().invoke(main, ["site", "--output", str(tmp_path)])
    assert result.exit_code == 2
    assert f"holds {file.name}, which is not of a site" in " ".join(result.output.split())
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [file]
    assert file.read_text() == "precious"


def test_front_page_takes_the_place_of_the_guides(tmp_path: Path) -> None:
    root = toy.make(tmp_path)
    guide = root / "outputs/site/index.html"
    guide.parent.mkdir(parents=True)
    guide.write_text("<!-- Generated with Sphinx 9 and Furo -->")
    index, _ = site.write(root, root / "outputs")
    assert index == guide
    assert "Not run yet" in index.read_text(encoding="utf-8")


def test_binder_opens_the_notebook_of_a_repository(project: Path) -> None:
    index, _ = site.write(project, project / "outputs", "owner/name")
    link = "https://mybinder.org/v2/gh/owner/name/HEAD?urlpath=lab/tree/notebooks/toy.ipynb"
    assert f'href="{link}"' in index.read_text(encoding="utf-8")


def test_command(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    result = CliRunner().invoke(main, ["site"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [str(Path("outputs/site/index.html"))]
    assert "not run yet: other" in result.stderr
