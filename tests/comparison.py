"""How committed notebooks are compared with a new execution, and by which tolerances.

nbval compares outputs as text. Here all words have to agree, and all numbers but for
rounding. The same seeds give the same digits on the platform of `requirements.lock`. On
another one chains may take other turns, so that cells tagged monte-carlo are executed
there and not compared. Pictures are compared by the specification that they were drawn
from.
"""

import json
import math
import platform
import re
import sys
from importlib.metadata import version

RELATIVE = 1e-6  # difference of two numbers
ABSOLUTE = 1e-9
# Not in names (p0), versions (1.2.3) or codes (2,3,1).
NUMBER = re.compile(
    r"(?<![\w.,])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    r"(?:[eE][-+]?\d+|\s×\s10⁻?[⁰¹²³⁴-⁹]+)?(?!\w|[.,]\d)"
)
VIEW = re.compile(r'"view_[0-9a-f]{16}_\d+"')
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
# What outputs are computed and written with.
COMPUTING = [
    "altair",
    "arviz-stats",
    "llvmlite",
    "numba",
    "numpy",
    "pandas",
    "scipy",
    "xarray",
]


class Output(str):
    """Text of an output; it equals another with the same words and rounded numbers."""

    def __eq__(self, other):
        if not isinstance(other, Output):
            return NotImplemented
        words = _words(self)
        other_words = _words(other)
        same_length = len(words) == len(other_words)
        return same_length and all(map(_agree, words, other_words))

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


def comparable(value):
    """Return text, or a chart's specification, in the form in which it is compared."""
    if isinstance(value, dict):
        text = json.dumps({**value, "datasets": {}}, sort_keys=True)
        # Data take the place of their names, which are hashes of every digit.
        for name, rows in value.get("datasets", {}).items():
            text = text.replace(json.dumps(name), json.dumps(rows, sort_keys=True))
        # Names of views, a hash and a number, become their order in the text.
        for place, view in enumerate(dict.fromkeys(VIEW.findall(text))):
            text = text.replace(view, f'"view {place}"')
        return Output(text)
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("<svg"):
        return Output("a picture of the specification")
    return Output(value)


def other_than_locked(lock):
    """Return the platform and versions here that are not those of the lock."""
    text = lock.read_text("utf-8")
    locked = dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.M))
    here = f"{sys.platform} {platform.machine()}"
    other = [here] if here != "linux x86_64" else []
    for name in COMPUTING:
        installed = version(name)
        if installed != locked[name]:
            other.append(f"{name} {installed}")
    return other


def number(text):
    """Return the number that a text found by `NUMBER` stands for."""
    plain = text.replace(",", "").replace("−", "-")
    mantissa, *exponent = re.split(r"\s×\s10", plain)
    if exponent:
        return float(f"{mantissa}e{exponent[0].translate(_RAISED)}")
    return float(mantissa)


def _words(text):
    # Numbers and HTML tags stand alone; rules of a table, as wide as its numbers, are
    # left out.
    text = re.sub(r"<[^<>]*>", lambda match: f" {match[0]} ", text)
    words = NUMBER.sub(lambda match: f" {number(match[0])!r} ", text).split()
    return [word for word in words if word.strip("-")]


def _agree(a, b):
    if NUMBER.fullmatch(a) and NUMBER.fullmatch(b):
        return math.isclose(number(a), number(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return a == b
