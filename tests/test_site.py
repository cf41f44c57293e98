"""The site: Sphinx builds it without a warning, links lead somewhere.

Reports on it are public ones.
"""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
import toy

import srlib

REPORTS = {f"reports/{path.stem}.html" for path in toy.ROOT.glob("notebooks/*.py")}
REPORT = "reports/what_a_risk_means.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the committed notebooks as runs, and of one run on a user's file."""
    runs = tmp_path_factory.mktemp("runs")
    built = tmp_path_factory.mktemp("site")
    for notebook in toy.ROOT.glob("notebooks/*.ipynb"):
        published = (toy.ROOT / f"params/{notebook.stem}/published.yaml").exists()
        run = runs / notebook.stem / ("published" if published else "default")
        run.mkdir(parents=True)
        shutil.copy(notebook, run / "notebook.ipynb")
        (run / "parameters.yaml").write_text("n: 5\n", encoding="utf-8")
        (run / "provenance.json").write_text('{"status": "complete"}', encoding="utf-8")
    user = runs / "assess/default"
    shutil.rmtree(user)
    toy.finished(runs, "canary9z.csv").rename(user)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", f"{runs}/doctrees"]
    command += ["-D", f"runs={runs}", str(toy.ROOT / "docs"), str(built)]
    subprocess.run(command, check=True)
    return built


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def links(page: Path) -> tuple[list[str], set[str]]:
    """Return what a page leads to and loads, and the places that links can lead to."""
    html = re.sub(r"(?s)(<script[^>]*>).*?</script>", r"\1", read(page))
    addresses = re.findall(r'<[^<>]*?\s(?:href|src)="([^"]*)"', html)
    places = re.findall(r'<[^<>]*?\sid="([^"]*)"', html)
    return [*map(unescape, addresses)], {"", "top", *map(unescape, places)}


def test_links_lead_to_what_is_there(site: Path) -> None:
    pages = {page.resolve(): links(page) for page in site.rglob("*.html")}
    dead = []
    for page, (addresses, _) in pages.items():
        for address in addresses:
            if re.match(r"https?:|mailto:|data:", address):
                continue
            file, _, place = (unquote(part) for part in address.partition("#"))
            path = file.partition("?")[0]
            target = (page.parent / path).resolve() if file else page
            is_page = target in pages
            if not target.exists() or (is_page and place not in pages[target][1]):
                dead.append((page.name, address))
    assert dead == []
    pages_linked = {address.partition("#")[0] for address in links(site / REPORT)[0]}
    assert {"hu_reiter_wang.html", "../index.html"} <= pages_linked


def test_the_search_leads_to_sections_of_reports(site: Path) -> None:
    index = read(site / "searchindex.js")
    names = json.loads(re.findall(r'"docnames":(\[.+?\]),"\w+":', index)[0])
    sections = [name.split("#", 1) for name in names if "#" in name]
    places = {page: links(site / f"{page}.html")[1] for page, _ in sections}
    assert {f"{page}.html" for page in places} == REPORTS
    assert [part for page, part in sections if part not in places[page]] == []
    assert ["reports/charest", "References"] not in sections


def test_the_front_page_leads_agencies_teachers_and_researchers(site: Path) -> None:
    html = read(site / "index.html")
    assert html.count('<img alt="') == html.count('class="vega-lite"') == 3
    front = {"guide/assess.html", "guide/teaching.html", "notebooks.html"}
    assert front <= {*links(site / "index.html")[0]}
    assert {*links(site / "notebooks.html")[0]} >= REPORTS


def test_the_reference_has_each_name_once_and_all_of_the_front_door(site: Path) -> None:
    heading = re.compile(r'<dt class="sig[^>]* id="([\w.]+)">')
    at_the_door = heading.findall(read(site / "api.html"))
    described = at_the_door + heading.findall(read(site / "packages.html"))
    assert len(described) == len({*described})
    shown = {name for name in srlib.__all__ if callable(getattr(srlib, name))}
    assert {f"srlib.{name}" for name in shown} <= {*at_the_door}
    below = {name.rpartition(".")[2] for name in described if name.count(".") > 1}
    assert shown.isdisjoint(below)


def test_the_site_shows_of_a_users_file_what_is_public(site: Path) -> None:
    html = read(site / "reports/assess.html")
    assert "first in years" in html
    text = html + read(site / "searchindex.js")
    assert not re.search("record 12|canary9z|secret in years", text)
