"""What `import srlib` shows, and what it costs."""

import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import srlib

SUBMODULES = ("acceptance", "charts", "edp")


def test_importing_imports_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import srlib; new = set(sys.modules) - before; "
        "print([name for name in new if name.split('.')[0] in ('numpy', 'pandas', 'altair')], "
        "sorted(name for name in new if name.startswith('srlib')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[] ['srlib']"


def test_every_name_is_there_and_listed() -> None:
    assert dir(srlib) == sorted(srlib.__all__)
    for name in srlib.__all__:
        assert getattr(srlib, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'assay'"):
        srlib.assay  # noqa: B018


def test_the_version_is_the_packages() -> None:
    root = Path(__file__).parents[1]
    version = f'version = "{srlib.__version__}"'
    assert version in (root / "pyproject.toml").read_text(encoding="utf-8")
    assert f"version: {srlib.__version__}" in (root / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", [name for name in srlib.__all__ if name not in (*SUBMODULES, "__version__")]
)
def test_every_name_has_an_example_that_runs(name: str) -> None:
    thing = getattr(srlib, name)
    finder = doctest.DocTestFinder(recurse=inspect.isclass(thing))
    module = sys.modules[thing.__module__]
    found = [test for test in finder.find(thing, name, module=module) if test.examples]
    assert found, f"{name} has no example"
    for test in found:
        result = doctest.DocTestRunner().run(test)
        assert result.failed == 0, test.name
