"""Print the signatures of the public API, which docs/signatures.txt holds.

    python tools/signatures.py > docs/signatures.txt

The public API is what docs/api.rst lists: the names of `srlib.__all__`, with the public
methods and attributes of classes, and the public functions of the modules among them.
Annotations are left out, since versions of Python print them differently. Constants and
functions as defaults are shown by name.
"""

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import srlib


def parameters(function: Any) -> str:
    """Names, kinds and defaults of a function's parameters, as they are written."""
    signature = inspect.signature(function)
    bare = [
        parameter.replace(
            annotation=inspect.Parameter.empty, default=shown(parameter.default)
        )
        for parameter in signature.parameters.values()
    ]
    return str(inspect.Signature(bare))


class Shown:
    """A default as its signature shows it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def shown(default: Any) -> Any:
    """Return a default whose text does not depend on the process."""
    if default is inspect.Parameter.empty:
        return default
    return Shown(getattr(default, "__qualname__", repr(default)))


def members(name: str, described: type) -> Iterator[str]:
    """Attributes and methods of a class, one a line."""
    found = {}
    if is_dataclass(described):
        found = {field.name: "" for field in fields(described)}
    for parent in described.__mro__[:-1]:  # the last is object
        for member, value in vars(parent).items():
            function = getattr(value, "__func__", value)
            text = parameters(function) if inspect.isfunction(function) else ""
            found.setdefault(member, text)
    for member in sorted(found):
        if not member.startswith("_"):
            yield f"{name}.{member}{found[member]}"


def functions(module: ModuleType) -> Iterator[str]:
    """Public functions of a module or of its parts."""
    for name, value in sorted(vars(module).items()):
        is_public = inspect.isfunction(value) and not name.startswith("_")
        if is_public and value.__module__.startswith(module.__name__):
            yield f"{name}{parameters(value)}"


def signatures() -> Iterator[str]:
    """Signatures of all public names, one a line."""
    for name in srlib.__all__:
        public = getattr(srlib, name)
        full_name = f"srlib.{name}"
        if isinstance(public, ModuleType):
            yield from (f"{full_name}.{function}" for function in functions(public))
        elif callable(public):
            yield full_name + parameters(public)
        if isinstance(public, type):
            yield from members(full_name, public)


if __name__ == "__main__":
    print(*signatures(), sep="\n")
