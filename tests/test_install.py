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
    """It has its own notebooks, and writes beside the files alone."""
    package, own = install(tmp_path / "lib" / "site"), tmp_path / "own"
    own.mkdir()
    (own / "original.csv").write_text(ORIGINAL)
    (own / "made.csv").write_text(MADE)
    environment = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["NUMBA_DISABLE_JIT"] = "1"  # nothing is compiled there yet, and tables are small

    def srlib(*arguments: str) -> subprocess.CompletedProcess[str]:
        command, env = [sys.executable, "-m", "srlib", *arguments], os.environ | environment
        return subprocess.run(command, cwd=own, capture_output=True, text=True, env=env)

    before = files(package)
    done = srlib("assess", "original.csv", "made.csv", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = Path(json.loads(done.stdout)["report"])
    assert re.fullmatch(r"assess/made-\w{8}/report.html", str(report.relative_to(own / "outputs")))
    assert report.stat().st_size > 10_000
    assert {p.name for p in own.iterdir()} == {"original.csv", "made.csv", "outputs"}
    provenance = json.loads((report.parent / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["inputs"] == {
        name: hashlib.sha256((own / name).read_bytes()).hexdigest()
        for name in ("original.csv", "made.csv")
    }
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


def files_of(*folders: Path) -> list[Path]:
    return [file for folder in folders for file in folder.rglob("*") if file.is_file()]


def assess(*options: str) -> Result:
    return CliRunner().invoke(main, ["assess", "original.csv", "made.csv", *options])


def test_no_report_is_replaced_but_by_the_answer_to_the_same_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def folder(original: str, *options: str) -> Path:
        Path("original.csv").write_text(original)
        Path("made.csv").write_text(MADE)
        (name,) = re.findall("report: (.*)/report.html\n$", assess(*options).stdout)
        return Path(name)

    first, by_job = folder(ORIGINAL), folder(ORIGINAL, "--by", "job")
    before = {file: file.read_bytes() for file in files_of(first, by_job)}
    others = folder(f"{ORIGINAL}c,north,yes\n")
    assert {file: file.read_bytes() for file in files_of(first, by_job)} == before
    (first / "tables/answers.csv").unlink()
    assert folder(ORIGINAL) == first
    assert (first / "tables/answers.csv").is_file()
    assert {*Path("outputs/assess").iterdir()} == {first, by_job, others}
    (first / "notes.txt").write_text("mine")
    refused = assess()
    assert refused.exit_code == 1
    assert "it is no run's folder and stays" in refused.stderr
    assert (first / "notes.txt").read_text() == "mine"
