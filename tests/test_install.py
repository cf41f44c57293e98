"""What is installed: the core alone, the package in a folder of one's own, and what it needs."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from srlib.runner.cli import main
from srlib.runner.parameters import find_papers

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ORIGINAL = "job,town,sick\n" + "a,north,no\nb,south,yes\nb,north,no\nc,south,no\n" * 5
MADE = "job,town,sick\n" + "a,south,no\nb,south,yes\nc,north,no\n" * 5


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


# ------------------------------------------------------------------------------ what it needs


def names(requirements: list[str]) -> set[str]:
    """Names of requirements, normalized as on the index of packages."""
    found = (re.split(r"[^\w.-]", line.strip(), maxsplit=1)[0] for line in requirements)
    return {re.sub(r"[._-]+", "-", name).lower() for name in found}


CORE = names(PROJECT["dependencies"])
DIRECT = CORE | names([*chain(*PROJECT["optional-dependencies"].values())]) - {"srlib"}


def modules(distributions: set[str]) -> set[str]:
    found = importlib.metadata.packages_distributions()
    return {module for module, given in found.items() if names(given) & distributions}


def with_the_core(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where what only extras require is missing."""
    missing = modules(DIRECT - CORE) - modules(CORE)
    assert {"altair", "click", "papermill", "xarray", "distributed", "pytest"} <= missing
    code = NOT_INSTALLED.format(missing) + code
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


NOT_INSTALLED = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in {}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Missing)
"""
METHODS = """
import doctest, importlib, pkgutil, srlib
for found in pkgutil.walk_packages(srlib.__path__, "srlib."):
    if found.name.split(".")[1] not in ("__main__", "runner", "charts", "shipped"):
        print(importlib.import_module(found.name).__name__)
for call in (srlib.posterior_risk, srlib.assess):  # what fails is printed
    doctest.run_docstring_examples(call, vars(sys.modules[call.__module__]))
"""


def test_the_core_alone_has_every_method_and_runs_the_two_calls() -> None:
    done = with_the_core(METHODS)
    assert done.returncode == 0, done.stderr
    imported = done.stdout.splitlines()
    assert {"srlib.assessment.report", "srlib.risk.posterior", "srlib.trees.kernels"} < {*imported}
    assert [line for line in imported if not line.startswith("srlib.")] == []


def test_the_command_says_which_extra_it_needs() -> None:
    done = with_the_core("from srlib.__main__ import main\nmain()")
    assert done.returncode == 1
    assert done.stderr == (
        'srlib: the command needs click, which is not installed: pip install "srlib[notebooks]"\n'
    )


def test_what_the_library_imports_is_declared() -> None:
    imported = set()
    for file in ROOT.glob("srlib/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).split(".")[0])
    assert imported - sys.stdlib_module_names - modules(DIRECT) == {"srlib"}


def test_the_lock_has_plain_lines_and_every_direct_dependency() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    plain = re.findall(r"^([a-z0-9][a-z0-9._-]*)==[\w.+!-]+(?: ; .+)?$", lock, re.MULTILINE)
    assert len(plain) == len(lock.splitlines())
    assert set(plain) >= DIRECT


# --------------------------------------------------------------- in a folder of one's own


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel holds."""
    folder = tmp_path_factory.mktemp("lib")
    build = ["egg_info", f"--egg-base={folder}", "build_py", f"--build-lib={folder}/site"]
    run(sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", *build)
    return folder / "site"


def test_an_installed_package_carries_all_papers_and_parameters(site: Path) -> None:
    shipped = site / "srlib/shipped"
    assert find_papers(shipped) == find_papers(ROOT)
    profiles = {name for name in files(ROOT / "params") if name.endswith(".yaml")}
    assert files(shipped / "params") == profiles


def test_an_installed_package_assesses_files_in_a_folder_of_their_own(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has its own notebooks, and writes beside the files alone."""
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # nothing is compiled there, and tables are small
    (tmp_path / "original.csv").write_text(ORIGINAL)
    (tmp_path / "made.csv").write_text(MADE)
    command, before = [sys.executable, "-m", "srlib"], files(site)
    told = run(*command, "assess", "original.csv", "made.csv", "--json", cwd=tmp_path)
    assert Path(json.loads(told)["report"]).is_relative_to(tmp_path / "outputs/assess")
    assert {path.name for path in tmp_path.iterdir()} == {"original.csv", "made.csv", "outputs"}
    built = subprocess.run([*command, "build"], cwd=tmp_path, capture_output=True, text=True)
    assert (built.returncode, "built in a checkout" in built.stderr) == (2, True)
    assert files(site) == before


@pytest.mark.slow
def test_a_fresh_install_assesses_and_runs_a_paper(tmp_path: Path) -> None:
    """A wheel of the last commit in an environment of its own, with the index's packages."""
    clone, scripts, own = tmp_path / "clone", tmp_path / "venv/bin", tmp_path / "own"
    own.mkdir()
    (own / "original.csv").write_text(ORIGINAL)
    (own / "made.csv").write_text(MADE)
    run("git", "clone", "--quiet", ROOT, clone)
    run(sys.executable, "-m", "venv", scripts.parent)
    run(scripts / "python", "-m", "pip", "install", "--quiet", f"{clone}[notebooks]")
    run(scripts / "srlib", "assess", "original.csv", "made.csv", cwd=own)
    told = run(scripts / "srlib", "run", "charest_han", cwd=own)
    assert "outputs/charest_han/default" in told
    assert {path.name for path in own.iterdir()} == {"original.csv", "made.csv", "outputs"}


def test_no_report_is_replaced_but_by_the_answer_to_the_same_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("made.csv").write_text(MADE)

    def assess(original: str, *options: str) -> str:
        Path("original.csv").write_text(original)
        told = CliRunner().invoke(main, ["assess", "original.csv", "made.csv", *options])
        return told.output.rpartition("report: ")[2].removesuffix("/report.html\n")

    first, by_job = Path(assess(ORIGINAL)), Path(assess(ORIGINAL, "--by", "job"))
    before = {file: file.read_bytes() for file in Path("outputs").rglob("*") if file.is_file()}
    others = Path(assess(f"{ORIGINAL}c,north,yes\n"))
    assert {file: file.read_bytes() for file in before} == before
    (first / "report.html").unlink()
    assert Path(assess(ORIGINAL)) == first
    assert (first / "report.html").is_file()
    assert {*Path("outputs/assess").iterdir()} == {first, by_job, others}
    (first / "notes.txt").touch()
    assert "it is no run's folder and stays" in assess(ORIGINAL)
    assert (first / "notes.txt").exists()
