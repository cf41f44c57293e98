"""What `import srlib` shows, and what it costs."""

import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import srlib

ROOT = Path(__file__).parents[1]
CALLED = [name for name in srlib.__all__ if hasattr(getattr(srlib, name), "__module__")]


def test_importing_imports_nothing() -> None:
    code = "import srlib, sys; print(*sys.modules, sep='\\n')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(found.stdout.splitlines())
    assert imported.isdisjoint({"numpy", "pandas", "altair"})
    assert {name for name in imported if name.startswith("srlib")} == {"srlib"}


def test_every_name_is_there_and_listed() -> None:
    assert dir(srlib) == sorted(srlib.__all__)
    assert len(CALLED) > 20
    with pytest.raises(AttributeError, match="no attribute 'assay'"):
        srlib.assay  # noqa: B018


def test_the_version_is_the_packages() -> None:
    for file, kind in (("pyproject.toml", 'version = "{}"'), ("CITATION.cff", "version: {}")):
        assert kind.format(srlib.__version__) in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CALLED)
def test_every_name_has_an_example_that_runs(name: str) -> None:
    thing = getattr(srlib, name)
    finder = doctest.DocTestFinder(recurse=inspect.isclass(thing))
    module = sys.modules[thing.__module__]
    found = [test for test in finder.find(thing, name, module=module) if test.examples]
    assert found, f"{name} has no example"
    for test in found:
        assert doctest.DocTestRunner().run(test).failed == 0, test.name
