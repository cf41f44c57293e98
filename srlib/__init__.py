"""Disclosure risk of synthetic data: the shared library of four executable papers.

The names here are imported from their packages on first use, so importing srlib imports
nothing else. `__init__.pyi` lists them.
"""

from typing import Any

import lazy_loader

_attribute, _, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = [*_names, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("srlib")
    return _attribute(name)


def __dir__() -> list[str]:
    return __all__
