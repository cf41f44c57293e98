"""An installed package in a folder of one's own, and reports that lie there already."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from srlib.assessment import examine, take_in
from srlib.runner import assess as reporting
from srlib.runner import confidential
from srlib.runner.cli import main
from srlib.runner.parameters import (
    file_parameters,
    find_outputs,
    find_papers,
    find_root,
    hash_inputs,
    read_parameters,
)

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


def test_where_papers_come_from_and_outputs_go(tmp_path: Path) -> None:
    """The project at hand comes first, and results never lie with papers from elsewhere."""
    project, below = tmp_path / "project", tmp_path / "project" / "a" / "b"
    for folder in (below, project / "notebooks", project / "params"):
        folder.mkdir(parents=True)
    assert find_root(below) == project
    assert find_outputs(project, below) == project / "outputs"
    assert find_root(tmp_path) == ROOT
    assert find_outputs(ROOT, tmp_path) == tmp_path / "outputs"
    # Folders of a user's that happen to be called notebooks and params.
    assert find_root(below, "assess") == ROOT
    (project / "notebooks" / "assess.py").touch()
    assert find_root(below, "assess") == project


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


STAYS = "outputs/assess/made holds another report and stays as it is"


def reports(own: Path) -> dict[str, bytes]:
    found = own.glob("outputs/assess/*/provenance.json")
    return {path.parent.name: path.read_bytes() for path in sorted(found)}


def test_a_report_on_other_files_or_with_other_parameters_is_never_replaced(own: Path) -> None:
    assert assess("old/original.csv", "made.csv").stderr == ""
    first = reports(own)
    result = assess("new/original.csv", "made.csv")
    assert result.stderr.splitlines() == [STAYS]
    assert result.stdout.endswith("report: outputs/assess/made-2/report.html\n")
    second = reports(own)
    assert list(second) == ["made", "made-2"]
    assert second["made"] == first["made"]
    assert set(json.loads(second["made-2"])["inputs"]) == {"new/original.csv", "made.csv"}

    assert assess("old/original.csv", "made.csv", "--keys", "job").stderr.splitlines() == [STAYS]
    third = reports(own)
    assert list(third) == ["made", "made-2", "made-3"]
    assert {name: third[name] for name in second} == second

    # The same question again has its own report replaced, wherever that lies.
    Path("copy.csv").write_bytes(Path("new/original.csv").read_bytes())
    assert assess("copy.csv", "made.csv").stderr.splitlines() == [STAYS]
    fourth = reports(own)
    assert list(fourth) == ["made", "made-2", "made-3"]
    assert "copy.csv" in json.loads(fourth["made-2"])["inputs"]
    assert [fourth[name] for name in ("made", "made-3")] == [third["made"], third["made-3"]]

    # The released file has been made anew, and the folder's name is given.
    Path("made.csv").write_text(MADE + "a,south,yes\n")
    again = assess("old/original.csv", "made.csv", "--name", "made")
    assert again.stderr.splitlines() == [STAYS]
    assert {name: reports(own)[name] for name in fourth} == fourth
    assert list(reports(own))[3:] == ["made-4"]


def test_a_report_that_another_run_finished_meanwhile_stays(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that start together find the same name free; the later one moves on."""
    meanwhile = own / "outputs" / "assess" / "made"
    list_files = confidential.list_files

    def finishes(*arguments: Any) -> None:
        meanwhile.mkdir()
        (meanwhile / "mine").touch()
        list_files(*arguments)

    monkeypatch.setattr(confidential, "list_files", finishes)
    assert assess("old/original.csv", "made.csv").stderr.splitlines() == [STAYS]
    assert files(meanwhile) == {"mine"}
    assert list(reports(own)) == ["made-2"]
    assert not list(own.glob("outputs/assess/.tmp-*"))


def test_a_release_named_like_a_profile_is_no_run_of_the_profile(own: Path) -> None:
    Path("default.csv").write_text(MADE)
    assess("old/original.csv", "default.csv")
    assert list(reports(own)) == ["released_default"]


@pytest.mark.parametrize("name", ["../made", "/made", "a b", "x" * 300])
def test_a_report_has_a_plain_name(own: Path, name: str) -> None:
    arguments = ["assess", "old/original.csv", "made.csv", "--name", name]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "it must be at most 100 letters" in result.output
    assert not (own / "outputs").exists()


@pytest.mark.parametrize(
    ("paper", "of_files"),
    [
        ("assess", {"original", "released", "schema", "holdout"}),
        ("hu_reiter_wang", {"data", "schema"}),
        ("sequential_trees", {"data", "schema"}),
        ("charest", set()),
    ],
)
def test_all_files_that_a_notebook_takes_count(paper: str, of_files: set[str]) -> None:
    declared = read_parameters(ROOT / "notebooks" / f"{paper}.py")
    assert set(file_parameters(declared)) == of_files


@pytest.mark.parametrize(
    ("changed", "folder"),
    [
        ({}, "made"),
        ({"original": "copy.csv"}, "made"),  # of the same contents
        ({"keys": [["job"]]}, "made-2"),
        ({"by": "job"}, "made-2"),
        ({"released": ["made.csv", "made.csv"]}, "made-2"),
        ({"within": {"job": 2.0}}, "made-2"),
    ],
)
def test_only_the_same_question_is_replaced(
    own: Path, changed: dict[str, Any], folder: str
) -> None:
    Path("copy.csv").write_bytes(Path("old/original.csv").read_bytes())
    found = examine(take_in("old/original.csv", "made.csv"), seed=1)
    asked = {"original": "old/original.csv", "released": ["made.csv"], "schema": "", "holdout": ""}
    named = own / "outputs" / "assess" / "made"
    for parameters in (asked, asked | changed):
        inputs = hash_inputs(parameters, reporting.FILES)
        written = reporting.write(found, named, parameters, inputs, 0.0)
    assert written == named.with_name(folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [("parameters.yaml", "a: ["), ("parameters.yaml", "- 1"), ("provenance.json", "[]"),
     ("provenance.json", "{}"), ("provenance.json", '{"inputs": 3}'), ("mine", "notes")],
)  # fmt: skip
def test_folders_of_unknown_origin_stay(own: Path, name: str, content: str) -> None:
    assess("old/original.csv", "made.csv")
    folder = own / "outputs" / "assess" / "made"
    (folder / name).write_text(content)
    assert assess("old/original.csv", "made.csv").stderr.splitlines() == [STAYS]
    assert (folder / name).read_text() == content
