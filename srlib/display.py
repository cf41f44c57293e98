"""Format tables, numbers and sentences for notebooks, with reproducible output."""

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
"""Least number of records behind a public number or verdict."""
NOT_SHOWN = "not shown"
"""Public replacement for results on fewer records."""

NAMES = {
    "burn_in": "burn-in",
    "ess": "effective draws",
    "ess_bulk": "effective draws, bulk",
    "ess_tail": "effective draws, tails",
    "log_mcse": "Monte Carlo error of the log",
    "mcse": "Monte Carlo error",
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
"""Headings of columns with names for code; in other names, underscores become spaces."""

_MINUS, _SPACE = "\u2212", "\u00a0"  # a no-break space
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_ERROR = re.compile(r"\b(error|se|mcse)\b")
_SIGN = re.compile(r"(?<![\w.,)\]])-(?=\.?\d)")
_HYPHEN = re.compile(r"(?P<kept>`[^`]*`|\$[^$]*\$)|(?<![^\s(])-(?=\.?\d)")
_NUMERIC = re.compile(r"(?:[\s\d.,%±×()∞≤≥<>−⁻⁰¹²³⁴⁵⁶⁷⁸⁹]|\bto\b)+")
_LONG = 120  # characters; a table with longer cells is set as prose


@dataclass(frozen=True)
class HtmlTable:
    """A formatted table, as HTML and as text."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class DisplayGroup:
    """Tables and sentences that notebooks show one below the other."""

    parts: tuple[Any, ...]

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(*self.parts)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.parts))


@dataclass(frozen=True)
class Callout:
    """A highlighted sentence with a heading."""

    kind: str
    text: str

    def _repr_markdown_(self) -> str:
        return "\n".join(
            f"> {line}".rstrip() for line in f"**{self.kind}.** {self.text}".split("\n")
        )

    def __repr__(self) -> str:
        return f"{self.kind}. {self.text}"


def callout(kind: str, text: str) -> Callout:
    """Return a computed sentence, highlighted under a short heading.

    The heading `kind`, such as ``"C6 fails"``, is given without a period. The text is
    Markdown.
    """
    return Callout(kind, with_minus(text))


def with_minus(text: str) -> str:
    """Return text with minus signs for hyphens before numbers, except in code and math."""
    return _HYPHEN.sub(lambda match: match["kept"] or "−", text)


def percent(share: float, digits: int = 0) -> str:
    """Return a share as text: ``77 %``, with a no-break space."""
    return f"{100 * share:.{digits}f}\u00a0%"


def percent_with_error(share: float, error: float = math.nan) -> str:
    """Return a share in percent, with its error if known; only exact 0 and 100 print as such."""
    rounded = {"0.0": "<0.1", "-0.0": "<0.1", "100.0": ">99.9"}
    numbers = [x for x in (share, error) if not math.isnan(x)]
    texts = [f"{100 * x:.{0 if x in (0, 1) else 1}f}" for x in numbers]
    text = f"{' ± '.join(rounded.get(text, text) for text in texts)} %".replace(
        " ", "\u00a0"
    )
    return "no value" if math.isnan(share) else text


def show(
    frame: "pd.DataFrame",
    digits: int | None = None,
    *,
    caption: str = "",
    names: Mapping[str, str] | None = None,
) -> HtmlTable:
    """Return a formatted table: no index, text on the left, numbers on the right.

    Parameters
    ----------
    frame : DataFrame
        The table, of at most about a dozen rows. Cells are escaped, Booleans become yes
        and no, and columns of numbers are formatted by `numbers`, with two significant
        digits if the heading says that they are errors.
    digits : int, optional
        Decimals of all columns except integers and short decimals, if the text mentions
        digits that `numbers` would round off.
    caption : str
        A sentence above the table that describes it, in plain text.
    names : mapping of str to str, optional
        Headings by column, if neither the column's name nor `NAMES` is clear to
        readers.
    """
    heads = [_heading(name, names or {}) for name in frame.columns]
    values = [frame.iloc[:, i].astype(object) for i in range(len(heads))]
    columns = [
        _cells(
            column.where(column.notna(), None), 2 if _ERROR.search(head) else 3, digits
        )
        for head, column in zip(heads, values, strict=True)
    ]
    left = [_is_text(cells) for cells in columns]
    long = any(len(cell) > _LONG for cells in columns for cell in cells)
    html = _html(heads, columns, left, caption, "prose" if long else "dataframe")
    return HtmlTable(html, _text(heads, columns, left, caption))


def numbers(
    values: Iterable[float], digits: int = 3, decimals: int | None = None
) -> list[str]:
    """Return the numbers of a column as text, in a common format.

    Integers, also as floats, have thousands separators. Short decimals, such as values
    of a parameter, keep all their digits. Other numbers have the decimals that give the
    largest about three significant digits (`digits`), unless `decimals` is given. If
    the numbers differ by orders of magnitude, each has its own format. A nonzero number
    is never written as zero, and NaN is an empty text.

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
        # Decimals in common of short decimals; none if some are integers.
        own = [len(f"{size:.15f}".rstrip("0").partition(".")[2]) for size in sizes]
        decimals = max(own) if own and min(own) > 0 and max(own) < 5 else None
    elif decimals is None:
        decimals = _decimals(finite, digits)
    return [_number(value, decimals, digits) for value in column]


def _decimals(finite: Sequence[float], digits: int) -> int | None:
    """Return the common decimals of nonzero numbers, or None if they are too far apart."""
    sizes = sorted(map(abs, finite))
    high = math.ceil(math.log10(sizes[-1])) - 1
    if not -5 < high < 9:
        return None
    close = 0 < max(finite) - min(finite) < sizes[-1] / 10
    decimals = max(digits - 1 - high + close, 0)
    # A few tiny numbers, or far smaller ones, are written as less than the last
    # decimal.
    tiny = [size for size in sizes if size < 10**-decimals]
    if (
        tiny
        and decimals > 1
        and (len(tiny) <= len(sizes) / 4 or tiny[-1] < 1e-4 * sizes[-1])
    ):
        sizes = sizes[len(tiny) :]
    low = math.floor(math.log10(sizes[0]))
    # One digit of the smallest number (two above one), and the own digits of the
    # median.
    middle = digits - 1 - math.floor(math.log10(median(sizes)))
    needed = -low if low < 0 else max(1 - low, middle)
    return (
        max(decimals, needed)
        if needed <= decimals + (high < (3 if low < 0 else 2))
        else None
    )


def _is_short(size: float) -> bool:
    if size < 1e15 and size == int(size):
        return True
    return math.isclose(size, float(f"{size:.3g}"), rel_tol=1e-12)


def _number(value: float, decimals: int | None, digits: int) -> str:
    """Return one number as text, with the given decimals or those that its size needs."""
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
        return f"{sign}{round(size, 9):,.15g}"  # drop rounding errors of short decimals
    if 1e-4 <= size < 1e6:
        own = max(digits - 1 - math.floor(math.log10(size)), 0)
        return f"{sign}{size:,.{own}f}"
    mantissa, exponent = (
        f"{size:.3g}" if _is_short(size) else f"{size:.{digits - 1}e}"
    ).split("e")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return f"{sign}{mantissa}{_SPACE}×{_SPACE}{power}"


def _heading(name: Any, names: Mapping[str, str]) -> str:
    parts = name if isinstance(name, tuple) and name not in names else (name,)
    words = [
        names.get(part, NAMES.get(part, str(part).replace("_", " "))) for part in parts
    ]
    return ", ".join(word for word in words if word)


def _cells(column: Iterable[Any], digits: int, decimals: int | None) -> list[str]:
    """Return the cells of a column as text, with its numbers in a common format."""
    values = [value.item() if hasattr(value, "item") else value for value in column]
    rows = [
        i
        for i, v in enumerate(values)
        if isinstance(v, int | float) and not isinstance(v, bool)
    ]
    texts = [_cell_text(value) for value in values]
    for i, text in zip(
        rows, numbers([values[i] for i in rows], digits, decimals), strict=True
    ):
        texts[i] = text
    return texts


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else _SIGN.sub(_MINUS, str(value))


def _is_text(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return sum(_NUMERIC.fullmatch(cell) is None for cell in filled) >= max(
        len(filled) / 2, 1
    )


def _html(
    heads: Sequence[str],
    columns: Sequence[Sequence[str]],
    left: Sequence[bool],
    caption: str,
    kind: str,
) -> str:
    # Reports keep classes and drop styles; JupyterLab has no style for the classes.
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
    heads: Sequence[str],
    columns: Sequence[Sequence[str]],
    left: Sequence[bool],
    caption: str,
) -> str:
    padded = []
    for head, cells, is_text in zip(heads, columns, left, strict=True):
        width = max(map(len, [head, *cells]))
        padded.append(
            [f"{cell:{'<' if is_text else '>'}{width}}" for cell in [head, *cells]]
        )
    lines = ["  ".join(cells).rstrip() for cells in zip(*padded, strict=True)]
    return "\n".join([caption] * bool(caption) + lines)


def with_error(value: float, error: float) -> str:
    """Return a number with its standard error as text.

    Both are rounded to the first digit of the error, or to the second if the first is a
    one. NaN is an empty text.

    Examples
    --------
    >>> print(with_error(0.5163, 0.0274), with_error(-1.2, 0.0131), with_error(1 / 35, 0.0))
    0.52 ± 0.03 -1.200 ± 0.013 0.0286
    """
    if math.isnan(value):
        return ""
    size = math.floor(math.log10(abs(value))) if value else 0
    if not error > 1e-4 * abs(value):  # practically exact
        return f"{value:.{max(2 - size, 0)}f}"
    place = math.log10(error)
    digits = max(int(place % 1 < math.log10(2)) - math.floor(place), 0)
    number = round(float(value), digits) + 0.0  # avoid minus zero
    return f"{number:.{digits}f}\u00a0±\u00a0{error:.{digits}f}"


def with_errors(frame: "pd.DataFrame", columns: Mapping[str, str]) -> "pd.DataFrame":
    """Return some columns of a table under new headings, with numbers and errors as text.

    Standard errors of a column ``median`` are in ``median_se``, if it exists.
    """
    import pandas as pd

    texts = {}
    for name, heading in columns.items():
        errors = frame.get(f"{name}_se")
        texts[heading] = list(
            frame[name] if errors is None else map(with_error, frame[name], errors)
        )
    return pd.DataFrame(texts)
