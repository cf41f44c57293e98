"""Disclosure risk of synthetic data: the shared library of four executable papers.

The names here are imported from their packages on first use, so importing srlib imports
nothing else. `__init__.pyi` lists them, each with its module.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

_LISTED = Path(__file__).with_suffix(".pyi").read_text("utf-8")
_HOME = {
    name: module
    for module, name in re.findall(r"^from \.(\S*) import (\w+)", _LISTED, re.MULTILINE)
}
__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("srlib")
    if name not in _HOME:
        raise AttributeError(f"module 'srlib' has no attribute {name!r}")
    home = import_module(f"srlib.{_HOME[name] or name}")
    return getattr(home, name, home)  # the name may be that of the module


def __dir__() -> list[str]:
    return __all__
