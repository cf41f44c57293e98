"""How the committed notebooks are compared with a new execution: the one place of tolerances.

nbval compares outputs as text. Here the numbers in them are compared as numbers, and the rest as
text. Pictures are compared by what they were drawn from.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

# Relative and absolute differences that pass.
EXACT = (1e-6, 1e-9)
# In cells tagged monte-carlo, whose numbers come from chains that another version of a library
# may run differently: words and layout are compared, and numbers within these.
MONTE_CARLO = (0.5, 0.1)
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])")


class Output(str):
    """Text of an output that equals another where the words do and the numbers nearly do."""

    tolerance = EXACT

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        if str.__eq__(self, other):
            return True
        mine, theirs = _numbers(self), _numbers(other)
        relative, absolute = self.tolerance
        return _words(self) == _words(other) and all(
            math.isclose(a, b, rel_tol=relative, abs_tol=absolute)
            for a, b in zip(mine, theirs, strict=True)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _numbers(text: str) -> list[float]:
    return [float(n.replace(",", "").replace("−", "-")) for n in NUMBER.findall(text)]


def _words(text: str) -> str:
    # The width of a number sets the spaces and rules of a table.
    return re.sub(r"[\s-]+", " ", NUMBER.sub("#", text)).strip()


def comparable(value: Any, tags: list[str]) -> Any:
    """One output in the form in which two executions are compared.

    Parameters
    ----------
    value : object
        Text, or the specification of a chart.
    tags : list of str
        Tags of the cell.
    """
    chain = "monte-carlo" in tags
    if isinstance(value, dict):
        value = "a chart" if chain else json.dumps(value, sort_keys=True)
    elif not isinstance(value, str):
        return value
    elif value.lstrip().startswith("<svg"):
        return "a picture of the specification"
    elif value.startswith("Chart: ") and chain:
        return "a chart"
    output = Output(value)
    output.tolerance = MONTE_CARLO if chain else EXACT
    return output


def pytest_configure(config: pytest.Config) -> None:
    """Let nbval compare outputs in this form."""
    from nbval.plugin import IPyNbCell

    def sanitize(cell: Any, value: Any) -> Any:
        return comparable(value, cell.cell.metadata.get("tags", []))

    IPyNbCell.sanitize = sanitize


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return Path(__file__).parents[1]
