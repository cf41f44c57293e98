"""One list of dependencies, told three times."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import yaml


def name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")


def direct(root: Path) -> dict[str, str]:
    """Requirements by name, but for what only machines with a CUDA device can use."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {k: v for k, v in project["optional-dependencies"].items() if k != "cuda"}
    listed = [*project["dependencies"], *(r for extra in extras.values() for r in extra)]
    return {name(requirement): requirement.replace(" ", "") for requirement in listed}


def test_lock_has_plain_lines_and_every_direct_dependency(root: Path) -> None:
    lines = (root / "requirements.lock").read_text(encoding="utf-8").splitlines()
    plain = re.compile(r"[a-z0-9][a-z0-9._-]*==[\w.+!-]+( ; .+)?")
    assert [line for line in lines if not plain.fullmatch(line)] == []
    assert set(direct(root)) - {line.split("==")[0] for line in lines} == set()


def test_what_the_library_imports_is_declared(root: Path) -> None:
    distributions = importlib.metadata.packages_distributions()
    imported = set()
    for file in root.glob("srlib/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    outside = imported - sys.stdlib_module_names - {"srlib"}
    declared = set(direct(root)) | {"arviz-stats", "arviz-base", "xarray"}  # arviz is made of these
    assert {m for m in outside if not {name(d) for d in distributions[m]} & declared} == set()


def test_python_is_pinned_for_those_who_choose_by_file(root: Path) -> None:
    assert (root / ".python-version").read_text(encoding="utf-8").strip() == "3.13"


def test_binder_has_the_pinned_python_the_lock_and_the_library(root: Path) -> None:
    environment = yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))
    pinned = (root / ".python-version").read_text(encoding="utf-8").strip()
    of_pip = ["-r requirements.lock", "notebook", "-e ."]
    assert environment["dependencies"] == [f"python={pinned}", "pip", {"pip": of_pip}]


def test_workflows_run_what_make_test_runs(root: Path) -> None:
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^test:.*\n((?:\t.+\n)+)", makefile, re.MULTILINE)
    assert recipe
    commands = [
        line.strip().removeprefix("$(BIN)/").removeprefix("python -m ")
        for line in recipe[1].splitlines()
    ]
    workflow = yaml.safe_load((root / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    assert len(job["strategy"]["matrix"]["os"]) == 3
    run = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    assert [c for c in commands if f"python -m {c}" not in run] == []


def test_ci_calls_the_test_command_of_the_readme(root: Path) -> None:
    assert "make test" in (root / ".ci/run").read_text(encoding="utf-8")
    assert "make test" in (root / "README.md").read_text(encoding="utf-8")
