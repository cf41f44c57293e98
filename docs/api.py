"""Pages of the API reference, written from the names that the packages call public.

A package's page has the names in its ``__all__``. Each of its modules that has more public names
gets a section with those. New names and modules come in without an edit here.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

SUBJECTS = (
    "assessment",
    "risk",
    "dpmpm",
    "trees",
    "margins",
    "mechanism",
    "data",
    "charts",
    "diagnostics",
    "ledger",
    "display",
    "rng",
)


def write(folder: Path) -> None:
    """Write a page for each subject; a page that stays as it was keeps its time."""
    pages = {subject: page(subject) for subject in SUBJECTS}
    folder.mkdir(exist_ok=True)
    for name, text in {"srlib": front_door(), **pages}.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def page(subject: str) -> str:
    """Return the page of one package, in reStructuredText."""
    shown: set[object] = set()
    parts = []
    for module in modules(subject):
        names = [name for name in public(module) if getattr(module, name) not in shown]
        shown.update(getattr(module, name) for name in names)
        if names or not parts:
            parts += [heading(module.__name__, "-" if parts else "=")]
            parts += [f".. automodule:: {module.__name__}\n   :no-members:\n"]
            parts += [table(names)] if names else []
            parts += [entry(module, name) for name in names]
    return "\n".join(parts)


def front_door() -> str:
    """Return the page of the names that ``import srlib`` shows, each with a link to its page."""
    package = importlib.import_module("srlib")
    parts = [heading("srlib", "="), ".. automodule:: srlib\n   :no-members:\n"]
    for name in sorted(getattr(package, "__all__", []), key=str.lower):
        value = getattr(package, name)
        first = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
        if inspect.ismodule(value):
            parts.append(f":py:obj:`{value.__name__}`\n   {first}\n")
        elif not callable(value):
            continue
        elif place := home(value, name):
            parts.append(f".. py:data:: srlib.{name}\n\n   {first} See :py:obj:`{place}`.\n")
        else:
            parts.append(entry(package, name))
    return "\n".join(parts)


def home(value: object, name: str) -> str:
    """Return the name under which a package's page documents an object; empty if none does."""
    of_packages = (module for subject in SUBJECTS for module in modules(subject))
    found = (m for m in of_packages if getattr(m, name, None) is value and name in public(m))
    return next((f"{module.__name__}.{name}" for module in found), "")


def modules(subject: str) -> Iterator[ModuleType]:
    """Go through a package and its modules, or a module that stands alone."""
    package = importlib.import_module(f"srlib.{subject}")
    yield package
    for found in pkgutil.iter_modules(getattr(package, "__path__", [])):
        if not found.name.startswith("_"):
            yield importlib.import_module(f"{package.__name__}.{found.name}")


def public(module: ModuleType) -> list[str]:
    """Return the names of a module's public functions and classes.

    They are those in ``__all__``, or else those that the module itself defines.
    """
    named = getattr(module, "__all__", None)
    return [
        name
        for name, value in vars(module).items()
        if inspect.isroutine(value) or inspect.isclass(value) or hasattr(value, "py_func")
        if (
            name in named
            if named is not None
            else not name.startswith("_") and value.__module__ == module.__name__
        )
    ]


def table(names: list[str]) -> str:
    """Return the table of names with the first lines of their docstrings."""
    lines = "".join(f"   {name}\n" for name in names)
    return f".. autosummary::\n   :nosignatures:\n\n{lines}"


def entry(module: ModuleType, name: str) -> str:
    """Return the directive that documents one name."""
    value = getattr(module, name)
    if inspect.isclass(value):
        return f".. autoclass:: {module.__name__}.{name}\n   :members:\n"
    return f".. autofunction:: {module.__name__}.{name}\n"


def heading(text: str, rule: str) -> str:
    """Return a heading."""
    return f"{text}\n{rule * len(text)}\n"
