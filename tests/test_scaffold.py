"""A new paper from the template: it is built, run and tested as the others are."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import test_notebooks
import toy
from click.testing import CliRunner

from srlib.runner.cli import main
from srlib.runner.parameters import resolve


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What a new paper needs of the project, in a folder of its own, from which kernels import."""
    root, copy = Path(__file__).parents[1], tmp_path_factory.mktemp("checkout")
    shutil.copytree(root / "srlib", copy / "srlib", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("notebooks", "params"):
        (copy / folder).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(copy)
        patch.setenv("PYTHONPATH", str(copy))
        yield copy


def srlib(*arguments: str) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def told(checkout: Path) -> str:
    return srlib("new", "lambert_2001")


@pytest.fixture(scope="module")
def notebook(checkout: Path, told: str) -> Path:
    srlib("build", "lambert_2001")
    return checkout / "notebooks/lambert_2001.py"


def test_says_what_was_written_and_what_to_do(checkout: Path, told: str) -> None:
    lines = told.splitlines()
    assert lines[:3] == [
        "notebooks/lambert_2001.py",
        "params/lambert_2001/published.yaml",
        "notebooks/lambert_2001.csv",
    ]
    assert all((checkout / line).is_file() for line in lines[:3])
    assert "srlib build lambert_2001" in told


CHECKS = [check for name, check in vars(test_notebooks).items() if name.startswith("test_")]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_is_built_passes_the_tests_of_notebooks(
    check: Callable[[Path], None], notebook: Path
) -> None:
    check(notebook)


def test_it_runs_at_its_profile_and_makes_a_students_copy(checkout: Path, notebook: Path) -> None:
    from srlib.runner.run import run

    request = resolve(checkout, "lambert_2001", "published")
    ledger = run(checkout, request, checkout / "outputs", with_report=False) / "tables/ledger.csv"
    assert ",match," in ledger.read_text(encoding="utf-8")
    assert srlib("course", "lambert_2001") == ("lambert_2001: outputs/course/lambert_2001.ipynb\n")


@pytest.mark.parametrize("name", ["toy", "2001", "a-b", "class", "Lambert", "", "site"])
def test_refuses_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(toy.make(tmp_path))
    (tmp_path / "srlib").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    result = CliRunner().invoke(main, ["new", name])
    assert result.exit_code == 2
    messages = {"toy": "toy exists", "site": "is where 'srlib site' writes"}
    assert messages.get(name, "it must be") in result.output
    assert sorted(tmp_path.rglob("*")) == before


def test_needs_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy.make(tmp_path))
    result = CliRunner().invoke(main, ["new", "other"])
    assert result.exit_code == 2
    assert "holds no srlib/" in result.output
