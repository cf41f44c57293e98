"""How the committed notebooks are compared with a new execution: the one place of tolerances.

nbval compares outputs as text. Here the numbers in them are compared as numbers, and the rest as
text. Pictures are compared by what they were drawn from.
"""

import json
import math
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# No time limit on an example: the first call of a function may compile it. In CI the examples are
# the same every time, so that a failure is one of the change that it fails on.
settings.register_profile("srlib", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("srlib")

# What a script starts in the background ignores Ctrl-C and so does what that starts in its turn,
# among it the runs and sweeps that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Relative and absolute difference of two numbers, and the share of words and numbers that have to
# agree; of neither there may be more or fewer.
EXACT = (1e-6, 1e-9, 1.0)
# In cells tagged monte-carlo, whose numbers come from chains that another version of a library or
# another processor may run differently. Two independent sets of chains pass.
MONTE_CARLO = (0.5, 0.1, 0.6)
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])")


class Output(str):
    """Text of an output that equals another where words and numbers agree."""

    tolerance = EXACT

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        if str.__eq__(self, other):
            return True
        mine, theirs = _words(str(self)), _words(str(other))
        if len(mine) != len(theirs):
            return False
        agreeing = sum(_agree(a, b, *self.tolerance[:2]) for a, b in zip(mine, theirs, strict=True))
        return agreeing >= self.tolerance[2] * len(mine)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _words(text: str) -> list[str]:
    # Numbers and HTML tags stand alone; rules of a table, as wide as its numbers, are left out.
    text = re.sub(r"<[^<>]*>", lambda match: f" {match[0]} ", text)
    words = NUMBER.sub(lambda match: f" {match[0]} ", text).split()
    return [word for word in words if word.strip("-")]


def _agree(word: str, other: str, relative: float, absolute: float) -> bool:
    if not (NUMBER.fullmatch(word) and NUMBER.fullmatch(other)):
        return word == other
    a, b = (float(number.replace(",", "").replace("−", "-")) for number in (word, other))
    return math.isclose(a, b, rel_tol=relative, abs_tol=absolute)


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
