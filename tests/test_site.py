"""The site: Sphinx builds it without a warning, links lead somewhere, reports are public."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
import toy

ROOT = Path(__file__).parents[1]


def run_of(runs: Path, notebook: str) -> Path:
    published = (ROOT / f"params/{notebook}/published.yaml").exists()
    return runs / notebook / ("published" if published else "default")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with the committed notebooks in the place of runs."""
    runs, built = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("site")
    for notebook in ROOT.glob("notebooks/*.ipynb"):
        run = run_of(runs, notebook.stem)
        run.mkdir(parents=True)
        shutil.copy(notebook, run / "notebook.ipynb")
        (run / "parameters.yaml").write_text("n: 5\n", encoding="utf-8")
        (run / "provenance.json").write_text('{"status": "complete"}', encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", f"{runs}/doctrees"]
    command += ["-D", f"runs={runs}", str(ROOT / "docs"), str(built)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built


class Links(HTMLParser):
    """What a page leads to and loads, and what of it a link can lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.targets = {"", "top"}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = {name: value or "" for name, value in attrs}
        self.addresses += [about[name] for name in ("href", "src") if name in about]
        self.targets.add(about.get("id", ""))


def test_links_lead_to_what_is_there(site: Path) -> None:
    pages = {page.resolve(): Links(page) for page in site.rglob("*.html")}
    dead = []
    for page, links in pages.items():
        for address in links.addresses:
            file, _, target = (unquote(part) for part in address.partition("#"))
            to = (page.parent / file.partition("?")[0]).resolve() if file else page
            local = not re.match(r"https?:|mailto:|data:", address)
            if local and (not to.exists() or (to in pages and target not in pages[to].targets)):
                dead.append((page.name, address))
    assert dead == []
    between = (site / "reports/what_a_risk_means.html").read_text(encoding="utf-8")
    assert 'href="hu_reiter_wang.html' in between
    assert 'href="../index.html"' in between


def test_the_search_leads_to_sections_of_reports(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    names = re.findall(r'"docnames":(\[.+?\]),"\w+":', index)
    sections = [name.split("#", 1) for name in json.loads(names[0]) if "#" in name]
    assert {page for page, _ in sections} == {
        f"reports/{p.stem}" for p in ROOT.glob("notebooks/*.py")
    }
    targets = {page: Links(site / f"{page}.html").targets for page, _ in sections}
    assert [part for page, part in sections if part not in targets[page]] == []
    assert ["reports/charest", "References"] not in sections


def test_the_front_page_leads_agencies_teachers_and_researchers(site: Path) -> None:
    html = (site / "index.html").read_text(encoding="utf-8")
    assert html.count('<img alt="') == html.count('class="vega-lite"') == 3
    assert "home a year ago" in html.partition("This is you")[2].partition("</table>")[0]
    front = Links(site / "index.html").addresses
    assert {"guide/assess.html", "guide/teaching.html", "notebooks.html"} <= {*front}
    reports = {f"reports/{path.stem}.html" for path in ROOT.glob("notebooks/*.py")}
    assert reports <= {*Links(site / "notebooks.html").addresses}


def test_the_reference_has_each_name_once_and_all_of_the_front_door(site: Path) -> None:
    import srlib

    pages = [(site / f"{name}.html").read_text(encoding="utf-8") for name in ("api", "packages")]
    at_the_door, further = (re.findall(r'<dt class="sig[^>]* id="([\w.]+)">', p) for p in pages)
    described = [*at_the_door, *further]
    assert not [name for name in described if "srlib.srlib" in name]
    last = [name.rpartition(".")[2] for name in described if name.count(".") > 1]
    shown = {name for name in srlib.__all__ if callable(getattr(srlib, name))}
    assert {f"srlib.{name}" for name in shown} <= {*at_the_door}
    assert len(described) == len({*described})
    assert not shown & {*last}


def test_the_site_shows_of_a_users_file_what_is_public_and_names_what_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = run_of(tmp_path, "assess")
    shutil.copytree(toy.finished(tmp_path / "made", "people.csv"), run)
    assert "record 12" in (run / "notebook.ipynb").read_text(encoding="utf-8")
    app = SimpleNamespace(confdir=ROOT / "docs", outdir=tmp_path, config=SimpleNamespace())
    app.config.runs, indexed = tmp_path, list[str]()
    app.env = SimpleNamespace(all_docs={}, titles={})
    app.builder = SimpleNamespace(index_page=lambda *about: indexed.append(about[1].astext()))
    runpy.run_path(str(ROOT / "docs/conf.py"))["write_reports"](app)
    (page,) = (tmp_path / "reports").iterdir()
    html = page.read_text(encoding="utf-8")
    assert indexed
    assert not re.search("record 12|people|secret in years", html + "".join(indexed))
    assert "first in years" in html
    assert "first 'srlib run charest --profile published'" in caplog.text
