"""Tables and sentences as notebooks show them: the same every time they are made."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # half a second of CPU, for each process of the runner
    import pandas as pd

MIN_RECORDS = 10
"""Records that a public number or word rests on, at least."""
NOT_SHOWN = "not shown"
"""What stands in public in the place of anything that rests on fewer."""

NAMES = {
    "burn_in": "burn-in",
    "ess": "effective draws",
    "ess_bulk": "effective draws, bulk",
    "ess_tail": "effective draws, tails",
    "log_mcse": "error of the logarithm",
    "mcse": "error of the mean",
    "n_records": "records",
    "n_releases": "releases",
    "original_se": "original's standard error",
    "p0": "p₀",
    "pareto_k": "Pareto k",
    "r_hat": "R-hat",
    "relative_bias_percent": "relative bias, %",
    "sd": "standard deviation",
    "se": "standard error",
    "synthetic_set": "release",
    "x_star": "X*",
}
"""Headings of columns whose names in code are no words; of others, underscores become spaces."""

_MINUS, _SPACE = "\u2212", "\u00a0"  # a space that no line breaks at
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_ERROR = re.compile(r"\b(error|se|mcse)\b")
_SIGN = re.compile(r"(?<![\w.,)\]])-(?=\.?\d)")
_HYPHEN = re.compile(r"(?P<kept>`[^`]*`|\$[^$]*\$)|(?<![^\s(])-(?=\.?\d)")
_NUMERIC = re.compile(r"(?:[\s\d.,%±×()∞≤≥<>−⁻⁰¹²³⁴⁵⁶⁷⁸⁹]|\bto\b)+")
_LONG = 120  # characters of a cell that is read as a text


@dataclass(frozen=True)
class HtmlTable:
    """A table as notebooks show it; the same text every time it is made."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class DisplayGroup:
    """Tables and sentences that notebooks show one below the other, each for itself."""

    parts: tuple[Any, ...]

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(*self.parts)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.parts))


@dataclass(frozen=True)
class Callout:
    """A sentence set apart from the text around it; the same every time it is made."""

    kind: str
    text: str

    def _repr_markdown_(self) -> str:
        return "\n".join(
            f"> {line}".rstrip() for line in f"**{self.kind}.** {self.text}".split("\n")
        )

    def __repr__(self) -> str:
        return f"{self.kind}. {self.text}"


def callout(kind: str, text: str) -> Callout:
    """Set a computed sentence apart, under a few words that say what it is about.

    The words, such as ``"C6 fails"``, have no full stop: one is put behind them. The text is
    Markdown.
    """
    return Callout(kind, with_minus(text))


def with_minus(text: str) -> str:
    """Write a minus sign for each hyphen before a number, except in code and formulas."""
    return _HYPHEN.sub(lambda found: found["kept"] or "−", text)


def percent(share: float, digits: int = 0) -> str:
    """Print a share as sentences do: ``77 %``, with a space that no line breaks at."""
    return f"{100 * share:.{digits}f}\u00a0%"


def percent_with_error(share: float, error: float = math.nan) -> str:
    """A share in percent, with its error if known; what is not 0 or 100 is not printed as such."""
    rounded = {"0.0": "<0.1", "-0.0": "<0.1", "100.0": ">99.9"}
    numbers = [x for x in (share, error) if not math.isnan(x)]
    texts = [f"{100 * x:.{0 if x in (0, 1) else 1}f}" for x in numbers]
    told = f"{' ± '.join(rounded.get(text, text) for text in texts)} %".replace(" ", "\u00a0")
    return "no value" if math.isnan(share) else told


def show(
    frame: "pd.DataFrame", digits: int | None = None, *, caption: str = "",
    names: Mapping[str, str] | None = None,
) -> HtmlTable:  # fmt: skip
    """Show a table as readers expect it: no index, text to the left, numbers to the right.

    Parameters
    ----------
    frame : DataFrame
        What is shown, about a dozen rows at most. Its cells are escaped; truth values become yes
        and no, and a column of numbers is written by `numbers`, with two significant digits where
        its heading says that it holds errors.
    digits : int, optional
        Decimals of all columns that are neither integers nor a few short decimals, where a
        text speaks of digits that `numbers` would round off.
    caption : str
        A sentence above the table that says what it holds: plain text.
    names : mapping of str to str, optional
        Headings by column, where neither the column's own name nor `NAMES` is for readers.
    """
    heads = [_heading(name, names or {}) for name in frame.columns]
    values = [frame.iloc[:, i].astype(object) for i in range(len(heads))]
    columns = [
        _cells(column.where(column.notna(), None), 2 if _ERROR.search(head) else 3, digits)
        for head, column in zip(heads, values, strict=True)
    ]
    left = [_is_text(cells) for cells in columns]
    long = any(len(cell) > _LONG for cells in columns for cell in cells)
    html = _html(heads, columns, left, caption, "prose" if long else "dataframe")
    return HtmlTable(html, _text(heads, columns, left, caption))


def numbers(values: Iterable[float], digits: int = 3, decimals: int | None = None) -> list[str]:
    """Write the numbers of a column so that it is read as one.

    Integers, also as floats, have separators of thousands. Short decimals, such as chosen values of
    a parameter, keep all their digits. Others have the decimals that give the largest about three
    significant digits (`digits`), unless `decimals` are given; where numbers of one column are
    orders of magnitude apart, each has its own. What is not zero is never written as zero, and NaN
    is written as nothing.

    Examples
    --------
    >>> numbers([10000.0, 25.0]), numbers([0.001, 0.5, 100]), numbers([0.61612, 0.05, 1.74e-18])
    (['10,000', '25'], ['0.001', '0.5', '100'], ['0.616', '0.050', '<0.001'])
    >>> numbers([-620.53, 8.4717, 1.2e-5])[:2]
    ['−621', '8.47']
    """
    column = [float(value) for value in values]
    finite = [value for value in column if math.isfinite(value) and value]
    sizes = [abs(value) for value in finite]
    if all(map(_is_short, sizes)):
        # Those of a few short decimals; of none where some are whole.
        own = [len(f"{size:.15f}".rstrip("0").partition(".")[2]) for size in sizes]
        decimals = max(own) if own and min(own) > 0 and max(own) < 5 else None
    elif decimals is None:
        decimals = _decimals(finite, digits)
    return [_number(value, decimals, digits) for value in column]


def _decimals(finite: Sequence[float], digits: int) -> int | None:
    """Decimals in common of numbers that are not zero, or None where they are too far apart."""
    sizes = sorted(map(abs, finite))
    high = math.ceil(math.log10(sizes[-1])) - 1
    if not -5 < high < 9:
        return None
    close = 0 < max(finite) - min(finite) < sizes[-1] / 10
    decimals = max(digits - 1 - high + close, 0)
    # A few, or much smaller ones, are told as less than one unit of the last decimal.
    tiny = [size for size in sizes if size < 10**-decimals]
    if tiny and decimals > 1 and (len(tiny) <= len(sizes) / 4 or tiny[-1] < 1e-4 * sizes[-1]):
        sizes = sizes[len(tiny) :]
    low = math.floor(math.log10(sizes[0]))
    # One digit of the smallest; above one two, and as many of the median as it has by itself.
    middle = digits - 1 - math.floor(math.log10(median(sizes)))
    needed = -low if low < 0 else max(1 - low, middle)
    return max(decimals, needed) if needed <= decimals + (high < (3 if low < 0 else 2)) else None


def _is_short(size: float) -> bool:
    if size < 1e15 and size == int(size):
        return True
    return math.isclose(size, float(f"{size:.3g}"), rel_tol=1e-12)


def _number(value: float, decimals: int | None, digits: int) -> str:
    """One number with as many decimals, or by its own size, as short as it is."""
    size, sign = abs(value), _MINUS if value < 0 else ""
    if math.isnan(value):
        return ""
    if size == 0 or math.isinf(size):
        return f"{sign}∞" if size else "0"
    if decimals is not None:
        if float(text := f"{size:.{decimals}f}"):
            return f"{sign}{float(text):,.{decimals}f}"
        return f"{'>' if sign else '<'}{sign}{10**-decimals:.{decimals}f}"
    if _is_short(size) and 1e-4 <= size < 1e15:
        return f"{sign}{round(size, 9):,.15g}"  # one within rounding of a short one is one
    if 1e-4 <= size < 1e6:
        own = max(digits - 1 - math.floor(math.log10(size)), 0)
        return f"{sign}{size:,.{own}f}"
    mantissa, exponent = (f"{size:.3g}" if _is_short(size) else f"{size:.{digits - 1}e}").split("e")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return f"{sign}{mantissa}{_SPACE}×{_SPACE}{power}"


def _heading(name: Any, names: Mapping[str, str]) -> str:
    parts = name if isinstance(name, tuple) and name not in names else (name,)
    words = [names.get(part, NAMES.get(part, str(part).replace("_", " "))) for part in parts]
    return ", ".join(word for word in words if word)


def _cells(column: Iterable[Any], digits: int, decimals: int | None) -> list[str]:
    """Texts of a column; the numbers among its cells are written together."""
    values = [value.item() if hasattr(value, "item") else value for value in column]
    at = [i for i, v in enumerate(values) if isinstance(v, int | float) and not isinstance(v, bool)]
    texts = [_word(value) for value in values]
    for i, text in zip(at, numbers([values[i] for i in at], digits, decimals), strict=True):
        texts[i] = text
    return texts


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else _SIGN.sub(_MINUS, str(value))


def _is_text(cells: Sequence[str]) -> bool:
    told = [cell for cell in cells if cell]
    return sum(_NUMERIC.fullmatch(cell) is None for cell in told) >= max(len(told) / 2, 1)


def _html(
    heads: Sequence[str], columns: Sequence[Sequence[str]], left: Sequence[bool], caption: str,
    kind: str,
) -> str:  # fmt: skip
    # Reports keep classes and drop styles; JupyterLab has no rules for the classes.
    marks = [
        f' class="text{" long" * any(len(cell) > 30 for cell in cells)}" style="text-align: left"'
        if is_text
        else ""
        for cells, is_text in zip(columns, left, strict=True)
    ]

    def row(tag: str, cells: Iterable[str]) -> str:
        inner = (
            f"      <{tag}{mark}>{escape(cell, quote=False)}</{tag}>\n"
            for mark, cell in zip(marks, cells, strict=True)
        )
        return "    <tr>\n" + "".join(inner) + "    </tr>\n"

    above = f"  <caption>{escape(caption)}</caption>\n" if caption else ""
    rows = "".join(row("td", cells) for cells in zip(*columns, strict=True))
    return (
        f'<table class="{kind}">\n{above}  <thead>\n{row("th", heads)}  </thead>\n'
        f"  <tbody>\n{rows}  </tbody>\n</table>"
    )


def _text(
    heads: Sequence[str], columns: Sequence[Sequence[str]], left: Sequence[bool], caption: str
) -> str:
    padded = []
    for head, cells, is_text in zip(heads, columns, left, strict=True):
        width = max(map(len, [head, *cells]))
        padded.append([f"{cell:{'<' if is_text else '>'}{width}}" for cell in [head, *cells]])
    lines = ["  ".join(cells).rstrip() for cells in zip(*padded, strict=True)]
    return "\n".join([caption] * bool(caption) + lines)


def with_error(value: float, error: float) -> str:
    """Print a number with its standard error, to the first digit of the latter, two after a one.

    NaN is written as nothing.

    Examples
    --------
    >>> print(with_error(0.5163, 0.0274), with_error(-1.2, 0.0131), with_error(1 / 35, 0.0))
    0.52 ± 0.03 -1.200 ± 0.013 0.0286
    """
    if math.isnan(value):
        return ""
    size = math.floor(math.log10(abs(value))) if value else 0
    if not error > 1e-4 * abs(value):  # as good as exact
        return f"{value:.{max(2 - size, 0)}f}"
    place = math.log10(error)
    digits = max(int(place % 1 < math.log10(2)) - math.floor(place), 0)
    number = round(float(value), digits) + 0.0  # no minus before a zero
    return f"{number:.{digits}f}\u00a0±\u00a0{error:.{digits}f}"


def with_errors(frame: "pd.DataFrame", columns: Mapping[str, str]) -> "pd.DataFrame":
    """Return some columns of a table under other names, numbers with their errors as text.

    The standard errors of a column ``median`` are those of ``median_se``, if there is one.
    """
    import pandas as pd

    shown = {}
    for name, heading in columns.items():
        errors = frame.get(f"{name}_se")
        shown[heading] = list(
            frame[name] if errors is None else map(with_error, frame[name], errors)
        )
    return pd.DataFrame(shown)
