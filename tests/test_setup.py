"""What is declared of the package: extras, versions, and what runs with the core alone."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

# Modules of an environment with the core alone: what nothing below the runner and charts may need.
WITH_THE_CORE = """
import importlib, pkgutil, sys
from importlib.abc import MetaPathFinder

class NotInstalled(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled())
import srlib
"""
METHODS = """
for found in pkgutil.walk_packages(srlib.__path__, "srlib."):
    if found.name.split(".")[1] not in {"__main__", "runner", "charts", "shipped"}:
        importlib.import_module(found.name)
        print(found.name)
"""
CALLS = """
import numpy as np
import pandas as pd

rng = np.random.default_rng(1)
people, made = (
    pd.DataFrame({name: rng.choice(["a", "b"], 60) for name in ("job", "town", "sick")})
    for _ in range(2)
)
chains = srlib.Chains(n_classes=2, burn_in=20, n_draws=20)
risk = srlib.posterior_risk(people, made, chains=chains, rng=rng, progress=False)
print(len(risk.to_frame()), risk.probability.min() > 0)
found = srlib.assess(people, made, target="sick", model=True, rng=rng)
print(len(found.verdict()) > 0, "<table" in found.to_html())
"""


def name(requirement: str) -> str:
    """Return a requirement's name, normalized as on the index of packages."""
    return re.sub(r"[._-]+", "-", re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]).lower()


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def direct(project: dict[str, Any]) -> set[str]:
    """Names of all requirements, whatever brings them."""
    extras = chain.from_iterable(project["optional-dependencies"].values())
    listed = {name(requirement) for requirement in [*project["dependencies"], *extras]}
    return listed - {"srlib"}


def modules(names: set[str]) -> set[str]:
    """Modules that installed distributions bring, at the top level."""
    found = importlib.metadata.packages_distributions()
    return {module for module, given in found.items() if {name(one) for one in given} & names}


def with_the_core(project: dict[str, Any], code: str) -> subprocess.CompletedProcess[str]:
    """Run code where what extras require is missing; what the library imports is declared."""
    needed = {name(requirement) for requirement in project["dependencies"]}
    blocked = modules(direct(project) - needed) - modules(needed)
    assert {"altair", "click", "papermill", "xarray", "distributed", "pytest"} <= blocked
    code = WITH_THE_CORE.format(blocked=blocked) + code
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_the_core_alone_has_every_method_and_runs_the_two_calls(
    project: dict[str, Any], root: Path
) -> None:
    done = with_the_core(project, METHODS + CALLS)
    assert done.returncode == 0, done.stderr
    *imported, risk, found = done.stdout.splitlines()
    assert (risk, found) == ("8 True", "True True")
    floors = {name.removeprefix("srlib.") for name in imported if name.count(".") == 1}
    here = {path.stem for path in (root / "srlib").iterdir() if path.suffix in ("", ".py")}
    assert floors == here - {"__init__", "__main__", "__pycache__", "runner", "charts"}


def test_the_command_says_which_extra_it_needs(project: dict[str, Any]) -> None:
    done = with_the_core(project, "from srlib.__main__ import main\nmain()")
    assert done.returncode == 1
    assert done.stderr == (
        'srlib: the command needs click, which is not installed: pip install "srlib[notebooks]"\n'
    )


def test_what_the_library_imports_is_declared(project: dict[str, Any], root: Path) -> None:
    imported = set()
    for file in root.glob("srlib/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    outside = imported - sys.stdlib_module_names - {"srlib"}
    assert outside - modules(direct(project)) == set()


def test_lock_has_plain_lines_and_every_direct_dependency(
    project: dict[str, Any], root: Path
) -> None:
    lines = (root / "requirements.lock").read_text(encoding="utf-8").splitlines()
    plain = re.compile(r"[a-z0-9][a-z0-9._-]*==[\w.+!-]+( ; .+)?")
    assert [line for line in lines if not plain.fullmatch(line)] == []
    assert direct(project) - {line.split("==")[0] for line in lines} == set()
