"""An installed package in a folder of one's own, and reports that lie there already."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from srlib.runner.cli import main
from srlib.runner.parameters import find_papers

ROOT = Path(__file__).parents[1]
ORIGINAL = "job,town,sick\n" + "a,north,no\nb,south,yes\nb,north,no\nc,south,no\n" * 5
MADE = "job,town,sick\n" + "a,south,no\nb,south,yes\nc,north,no\n" * 5


def install(site: Path) -> Path:
    """Copy what a wheel would hold, as pyproject.toml tells setuptools, and return the package."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    settings = settings["tool"]["setuptools"]
    for package in settings["packages"]:
        source = ROOT / settings["package-dir"].get(package, package.replace(".", "/"))
        for pattern in ("*.py", *settings["package-data"].get(package, ())):
            for file in source.glob(pattern):
                copy = site / package.replace(".", "/") / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, copy)
    return site / "srlib"


def files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_an_installed_package_assesses_files_in_a_folder_of_their_own(tmp_path: Path) -> None:
    """It has its own notebooks, writes beside the files, and takes no repository for its own."""
    package, own = install(tmp_path / "lib" / "site"), tmp_path / "own"
    own.mkdir()
    (own / "original.csv").write_text(ORIGINAL)
    (own / "made.csv").write_text(MADE)
    if shutil.which("git"):
        subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_DISABLE_JIT": "1",  # nothing is compiled there yet, and tables are small
    }

    def srlib(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "srlib", *arguments]
        return subprocess.run(command, cwd=own, capture_output=True, text=True, env=environment)

    before = files(package)
    done = srlib("assess", "original.csv", "made.csv", "--json")
    assert done.returncode == 0, done.stderr
    folder = own / "outputs/assess/made"
    document = json.loads(done.stdout)
    assert Path(document["report"]) == folder / "report.html"
    assert (folder / "report.html").stat().st_size > 10_000
    assert files(package) == before
    assert {p.name for p in own.iterdir()} == {"original.csv", "made.csv", "outputs"}
    assert done.stderr == ""

    provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["inputs"] == {
        name: hashlib.sha256((own / name).read_bytes()).hexdigest()
        for name in ("original.csv", "made.csv")
    }
    assert provenance["versions"]["srlib"]

    refused = srlib("build", "assess")
    assert refused.returncode == 2
    assert "built in a checkout" in refused.stderr
    assert files(package) == before


def test_an_installed_package_carries_all_papers_and_parameters(tmp_path: Path) -> None:
    shipped = install(tmp_path) / "shipped"
    assert find_papers(shipped) == find_papers(ROOT)
    profiles = {p for p in files(ROOT / "params") if p.endswith(".yaml")}
    assert files(shipped / "params") == profiles


# ------------------------------------------------------------------ reports that lie there already


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files to assess."""
    monkeypatch.chdir(tmp_path)
    for name, last in (("old", "a,north,no"), ("new", "c,north,yes")):
        Path(name).mkdir()
        Path(name, "original.csv").write_text(f"{ORIGINAL}{last}\n")
    Path("made.csv").write_text(MADE)
    return tmp_path


def assess(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["assess", *arguments])
    assert result.exit_code == 0, result.output
    return result


STAYS = "outputs/assess/made holds another report and stays\n"


def reports(own: Path) -> dict[str, bytes]:
    found = own.glob("outputs/assess/*/provenance.json")
    return {path.parent.name: path.read_bytes() for path in sorted(found)}


def test_a_report_is_replaced_by_the_answer_to_the_same_question_alone(own: Path) -> None:
    assert assess("old/original.csv", "made.csv").stderr == ""
    first = reports(own)
    others = (["new/original.csv", "made.csv"], ["old/original.csv", "made.csv", "--by", "job"])
    for asked in others:
        result = assess(*asked)
        assert result.stderr == STAYS
        assert re.search(r"report: outputs/assess/made-[0-9a-f]{8}/report.html\n$", result.stdout)
    found = reports(own)
    assert len(found) == 3
    assert found["made"] == first["made"]
    # The same question again, of files that lie elsewhere, has its own report replaced.
    Path("copy.csv").write_bytes(Path("new/original.csv").read_bytes())
    assert assess("copy.csv", "made.csv").stderr == STAYS
    assert assess("old/original.csv", "made.csv", "--name", "made").stderr == ""
    again = reports(own)
    assert list(again) == list(found)
    assert sum("copy.csv" in json.loads(text)["inputs"] for text in again.values()) == 1
    assert not list(own.glob("outputs/assess/.*"))


@pytest.mark.parametrize(
    ("name", "content"),
    [("provenance.json", "[]"), ("provenance.json", "{"), ("provenance.json", '{"question": 3}'),
     ("mine.txt", "notes")],
)  # fmt: skip
def test_folders_of_unknown_origin_stay(own: Path, name: str, content: str) -> None:
    folder = own / "outputs/assess/made"
    folder.mkdir(parents=True)
    (folder / name).write_text(content)
    assert assess("old/original.csv", "made.csv").stderr == STAYS
    assert [path.read_text() for path in folder.iterdir()] == [content]


def test_a_release_called_default_is_no_run_of_the_notebook(own: Path) -> None:
    Path("default.csv").write_text(MADE)
    assess("old/original.csv", "default.csv")
    assert list(reports(own)) == ["released"]
