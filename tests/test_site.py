"""The list of reports: what it says of runs, what it leaves out, what it says is missing."""

import itertools
import re
import zipfile
from html import unescape
from pathlib import Path

import pytest
import toy
from click.testing import CliRunner

from srlib import yamls
from srlib.runner import report, site
from srlib.runner.cli import main


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = toy.make(tmp_path_factory.mktemp("project"))
    (root / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    toy.finished(root / "outputs")
    return root


@pytest.fixture
def built(project: Path) -> Path:
    return site.write(project, project / "outputs")[0].parent


def text(html: str) -> str:
    """What a reader sees of a page, in one line."""
    shown = re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def test_index_tells_finding_ledger_and_what_is_missing(built: Path) -> None:
    told = text((built / "index.html").read_text(encoding="utf-8"))
    assert "A finding A. Author (2000). A paper. Its question." in told
    assert "printed numbers checked 3 match 2 differ, explained 1 skipped: other data" in told
    assert "Not run yet: srlib run other --profile default" in told
    assert "Not run yet: other." in told
    assert "tables/values.csv. Tables carry texts as they are: a spreadsheet may take" in told


def test_nothing_confidential_leaves(tmp_path: Path) -> None:
    project = toy.make(tmp_path)
    run = toy.finished(project / "outputs", "people.csv")
    built = site.write(project, project / "outputs")[0].parent
    assert "record 12" in report.render(*report.read(run))
    with zipfile.ZipFile(built / "toy.zip") as download:
        assert download.namelist() == [
            "toy.ipynb", "parameters.yaml", "tables/values.csv",
        ]  # fmt: skip
        held = [download.read(name).decode() for name in download.namelist()]
    pages = [page.read_text(encoding="utf-8") for page in built.glob("*.html")]
    for content in [*held, *pages]:
        assert "record 12" not in content
        assert "people" not in content
        assert "secret in years" not in content


def test_parameters_of_a_download_are_read_as_they_were(tmp_path: Path) -> None:
    root = toy.make(tmp_path)
    run = toy.finished(root / "outputs")
    values = {"n": 5, "names": ["1e3", "0o10", "yes"], "share": 1e-9}
    (run / "parameters.yaml").write_text(yamls.dump(values), encoding="utf-8")
    index, _ = site.write(root, root / "outputs")
    with zipfile.ZipFile(index.with_name("toy.zip")) as archive:
        assert yamls.load(archive.read("parameters.yaml").decode()) == values


def test_pages_link_to_what_is_there_and_load_nothing(built: Path) -> None:
    for page in built.glob("*.html"):
        html = page.read_text(encoding="utf-8")
        assert "default-src 'none'" in html
        assert "img-src data:;" in html
        body = re.sub(r"<script>.*</script>", "", html, flags=re.DOTALL)
        links = re.findall(r'(?:href|src)="(?!data:|#)([^"]*)"', body)
        assert links
        assert [link for link in links if not (built / link).is_file()] == []


@pytest.mark.parametrize("name", ["index.html", "toy.html"])
def test_headings_are_in_order(built: Path, name: str) -> None:
    html = (built / name).read_text(encoding="utf-8")
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", html)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_the_same_runs_make_the_same_site(built: Path, project: Path) -> None:
    before = {file.name: file.read_bytes() for file in built.iterdir()}
    (built / "old.html").touch()
    with (built / site.CONTENTS).open("a") as contents:
        contents.write("old.html\n")
    site.write(project, project / "outputs")
    assert {file.name: file.read_bytes() for file in built.iterdir()} == before


@pytest.mark.parametrize("name", ["thesis.txt", "index.html"])
def test_a_folder_of_others_stays(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    file = tmp_path / "site" / "reports" / name
    file.parent.mkdir(parents=True)
    file.write_text("precious")
    monkeypatch.chdir(project)
    result = CliRunner().invoke(main, ["site", "--output", str(tmp_path)])
    assert result.exit_code == 2
    assert f"holds {name}, which is not of a site" in " ".join(result.output.split())
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [file]
    assert file.read_text() == "precious"


def test_list_leads_back_to_the_guide_where_there_is_one(tmp_path: Path) -> None:
    root = toy.make(tmp_path)
    guide = root / "outputs/site/index.html"
    told = site.write(root, root / "outputs")[0].read_text(encoding="utf-8")
    assert "../index.html" not in told
    guide.touch()
    told = site.write(root, root / "outputs")[0].read_text(encoding="utf-8")
    assert 'href="../index.html"' in told
    assert guide.is_file()


def test_binder_opens_the_notebook_of_a_repository(project: Path) -> None:
    index, _ = site.write(project, project / "outputs", "owner/name")
    link = "https://mybinder.org/v2/gh/owner/name/HEAD?urlpath=lab/tree/notebooks/toy.ipynb"
    assert f'href="{link}"' in index.read_text(encoding="utf-8")


def test_command(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    result = CliRunner().invoke(main, ["site"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [str(Path("outputs/site/reports/index.html"))]
    assert "not run yet: other" in result.stderr
