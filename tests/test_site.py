"""The site: Sphinx builds it without a warning, links lead somewhere.

Reports on it are public ones.
"""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from urllib.parse import unquote

import pytest
import toy

import srlib

REPORTS = {f"reports/{path.stem}.html" for path in toy.ROOT.glob("notebooks/*.py")}
REPORT = "reports/what_a_risk_means.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of the committed notebooks as runs, and of one run on a user's file."""
    runs = tmp_path_factory.mktemp("runs")
    built = tmp_path_factory.mktemp("site")
    for notebook in toy.ROOT.glob("notebooks/*.ipynb"):
        published = (toy.ROOT / f"params/{notebook.stem}/published.yaml").exists()
        run = runs / notebook.stem / ("published" if published else "default")
        run.mkdir(parents=True)
        shutil.copy(notebook, run / "notebook.ipynb")
        (run / "parameters.yaml").write_text("n: 5\n", "utf-8")
        (run / "provenance.json").write_text('{"status": "complete"}', "utf-8")
    user = runs / "assess/default"
    shutil.rmtree(user)
    toy.finished(runs, "canary9z.csv").rename(user)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", f"{runs}/doctrees"]
    command += ["-D", f"runs={runs}", str(toy.ROOT / "docs"), str(built)]
    subprocess.run(command, check=True)
    return built


def read(page):
    return page.read_text("utf-8")


def values(page, attribute):
    """Return the values of an attribute of a page's elements."""
    html = re.sub(r"(?s)(<script[^>]*>).*?</script>", r"\1", read(page))
    return {*map(unescape, re.findall(rf'<[^<>]*?\s(?:{attribute})="([^"]*)"', html))}


def links(page):
    """Return what a page leads to and loads."""
    return values(page, "href|src")


def test_links_lead_to_what_is_there(site):
    places = {page.resolve(): values(page, "id") for page in site.rglob("*.html")}
    for page in places:
        for address in links(page):
            if re.match(r"https?:|mailto:|data:", address):
                continue
            file, _, place = map(unquote, address.partition("#"))
            target = (page.parent / file.partition("?")[0]).resolve() if file else page
            assert target.exists(), f"{page}: {address}"
            if place not in ("", "top"):
                assert place in places.get(target, {place}), f"{page}: {address}"
    assert "../index.html" in links(site / REPORT)
    assert re.search(r'href="hu_reiter_wang\.html[#"]', read(site / REPORT))


def test_the_search_leads_to_sections_of_reports(site):
    index = read(site / "searchindex.js")
    names = json.loads(re.findall(r'"docnames":(\[.+?\]),"\w+":', index)[0])
    sections = [name.partition("#") for name in names if "#" in name]
    pages = {f"{page}.html" for page, _, _ in sections}
    assert pages == REPORTS
    places = {page: values(site / page, "id") for page in pages}
    for page, _, section in sections:
        assert section in places[f"{page}.html"]
    assert "reports/charest#References" not in names


def test_the_front_page_leads_agencies_teachers_and_researchers(site):
    html = read(site / "index.html")
    assert html.count('<img alt="') == html.count('class="vega-lite"') == 4
    front = {"guide/assess.html", "guide/teaching.html", "notebooks.html"}
    assert front <= links(site / "index.html")
    assert links(site / "notebooks.html") >= REPORTS
    tags = values(site / "index.html", "property")
    assert {"og:title", "og:description"} <= tags


def test_the_reference_has_each_name_once_and_all_of_the_front_door(site):
    heading = re.compile(r'<dt class="sig[^>]* id="([\w.]+)">')
    at_the_door = heading.findall(read(site / "api.html"))
    described = at_the_door + heading.findall(read(site / "packages.html"))
    assert len(described) == len({*described})
    shown = {name for name in srlib.__all__ if callable(getattr(srlib, name))}
    assert {f"srlib.{name}" for name in shown} <= {*at_the_door}
    below = {name.rpartition(".")[2] for name in described if name.count(".") > 1}
    assert shown.isdisjoint(below)


def test_the_site_shows_of_a_users_file_what_is_public(site):
    html = read(site / "reports/assess.html")
    assert "first in years" in html
    text = html + read(site / "searchindex.js")
    assert not re.search("record 12|canary9z|secret in years", text)
