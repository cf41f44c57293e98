"""The house keeps its size: the limits stand in pyproject.toml."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SIZE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["size"]


def code_lines(text: str) -> int:
    """Count lines that are neither blank, comments nor parts of docstrings."""
    lines = {n for n, line in enumerate(text.splitlines(), 1) if line.strip()[:1] not in ("", "#")}
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            lines -= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    return len(lines)


@pytest.mark.parametrize("top", SIZE["lines"])
def test_lines(top: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / top).rglob("*.py")]
    assert 0 < sum(len(text.splitlines()) for text in texts) <= SIZE["lines"][top]


@pytest.mark.parametrize("room", SIZE["code"])
def test_code_of_a_room(room: str) -> None:
    folder = ROOT / "srlib" / room.removeprefix("srlib")
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    assert 0 < sum(map(code_lines, texts)) <= SIZE["code"][room]
