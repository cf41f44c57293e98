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
OVERVIEW_ROWS = 8
"""Most rows of the table below a result's sentence."""

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
"""Headings of columns; in other names underscores become spaces."""

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

    parts: Sequence[Any]

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(*self.parts)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.parts))


class Overview:
    """A result that notebooks show as a sentence and a small table.

    Both come at once from what the result holds, and neither shows a record. The
    sentence says how many rows there are, where the table has only the first. Where the
    table has a name and a number in each row, a bar is drawn beside them.
    """

    def _overview(self) -> tuple:
        """Return the sentence and the data of the table's DataFrame."""
        raise NotImplementedError

    def __repr__(self) -> str:
        sentence, _ = self._overview()
        return f"<{type(self).__name__}: {sentence}>"

    def _repr_html_(self) -> str:
        import pandas as pd

        sentence, rows = self._overview()
        table = pd.DataFrame(rows).head(OVERVIEW_ROWS)
        if table.shape[1] == 2:
            sizes = table.iloc[:, 1]
            table[""] = ["█" * round(20 * share) for share in sizes / max(*sizes, 1e-9)]
        return f"<p>{escape(sentence)}</p>\n{show(table).html}"


@dataclass(frozen=True)
class _Column:
    """A column of texts."""

    head: str
    cells: list[str]

    @property
    def is_text(self) -> bool:
        """Whether at least half of the cells that are not empty are no numbers."""
        filled = list(filter(None, self.cells))
        n_texts = sum(_NUMERIC.fullmatch(cell) is None for cell in filled)
        return n_texts >= max(len(filled) / 2, 1)

    @property
    def longest(self) -> int:
        """The number of characters of the longest cell."""
        return max(map(len, self.cells), default=0)


@dataclass(frozen=True)
class Callout:
    """A highlighted sentence with a heading."""

    kind: str
    text: str

    def _repr_markdown_(self) -> str:
        lines = f"**{self.kind}.** {self.text}".split("\n")
        return "\n".join(f"> {line}".rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"{self.kind}. {self.text}"


def callout(kind: str, text: str) -> Callout:
    """Return a computed sentence, highlighted under a short heading.

    The heading `kind`, such as ``"C6 fails"``, is given without a period. The text is
    Markdown.
    """
    return Callout(kind, with_minus(text))


def with_minus(text: str) -> str:
    """Return text with minus signs before numbers, except in code and math."""
    return _HYPHEN.sub(lambda match: match["kept"] or _MINUS, text)


def percent(share: float, digits: int = 0) -> str:
    """Return a share as text: ``77 %``, with a no-break space."""
    return f"{100 * share:.{digits}f}\u00a0%"


def percent_with_error(share: float, error: float = math.nan) -> str:
    """Return a share in percent, with its error if known.

    Only exact 0 and 100 are written as such.
    """
    if math.isnan(share):
        return "no value"
    text = _exact_percent(share)
    if not math.isnan(error):
        text += f"{_SPACE}±{_SPACE}{_exact_percent(error)}"
    return f"{text}{_SPACE}%"


def _exact_percent(share: float) -> str:
    """Return a share in percent as a number, as a bound if rounded to 0 or 100."""
    if share in (0, 1):
        return f"{100 * share:.0f}"
    text = f"{100 * share:.1f}"
    return {"0.0": "<0.1", "-0.0": "<0.1", "100.0": ">99.9"}.get(text, text)


def show(
    frame: "pd.DataFrame",
    digits: int | None = None,
    *,
    caption: str = "",
    names: Mapping[str, str] = {},
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
    names : mapping of str to str
        Headings by column, if neither the column's name nor `NAMES` is clear to
        readers.
    """
    columns = []
    for i, name in enumerate(frame.columns):
        head = _heading(name, names)
        n_digits = 2 if _ERROR.search(head) else 3
        values = frame.iloc[:, i].astype(object)
        cells = _cells(values.where(values.notna(), ""), n_digits, digits)
        columns.append(_Column(head, cells))
    return HtmlTable(_html(columns, caption), _text(columns, caption))


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
    >>> numbers([10000.0, 25.0]), numbers([0.001, 0.5, 100])
    (['10,000', '25'], ['0.001', '0.5', '100'])
    >>> numbers([0.61612, 0.05, 1.74e-18])
    ['0.616', '0.050', '<0.001']
    >>> numbers([-620.53, 8.4717, 1.2e-5])[:2]
    ['−621', '8.47']
    """
    column = list(map(float, values))
    finite = [value for value in column if math.isfinite(value) and value]
    if all(map(_is_short, map(abs, finite))):
        # Decimals in common of short decimals; none if some are integers.
        texts = [f"{value:.15f}".rstrip("0") for value in finite]
        places = [len(text.partition(".")[2]) for text in texts]
        has_decimals = places and min(places) > 0 and max(places) < 5
        decimals = max(places) if has_decimals else None
    elif decimals is None:
        decimals = _decimals(finite, digits)
    return [_number(value, decimals, digits) for value in column]


def _decimals(finite: Sequence[float], digits: int) -> int | None:
    """Return the common decimals of nonzero numbers, None if they are too far apart."""
    sizes = sorted(map(abs, finite))
    high = math.ceil(math.log10(sizes[-1])) - 1
    if not -5 < high < 9:
        return None
    decimals = digits - 1 - high
    if 0 < max(finite) - min(finite) < sizes[-1] / 10:
        decimals += 1  # numbers close to each other
    decimals = max(decimals, 0)

    # A few tiny numbers, or far smaller ones, are written as less than the last
    # decimal.
    n_tiny = sum(size < 10**-decimals for size in sizes)
    if n_tiny and decimals > 1:
        are_far_smaller = sizes[n_tiny - 1] < 1e-4 * sizes[-1]
        if n_tiny <= len(sizes) / 4 or are_far_smaller:
            sizes = sizes[n_tiny:]

    # One digit of the smallest number (two above one), and the own digits of the
    # median.
    low = math.floor(math.log10(sizes[0]))
    if low < 0:
        needed = -low
        may_grow = high < 3
    else:
        needed = max(1 - low, digits - 1 - math.floor(math.log10(median(sizes))))
        may_grow = high < 2
    return max(decimals, needed) if needed <= decimals + may_grow else None


def _is_short(size: float) -> bool:
    is_whole = size < 1e15 and size == int(size)
    return is_whole or math.isclose(size, float(f"{size:.3g}"), rel_tol=1e-12)


def _number(value: float, decimals: int | None, digits: int) -> str:
    """Return a number as text, with the given decimals or those that its size needs."""
    size = abs(value)
    sign = _MINUS if value < 0 else ""
    if math.isnan(value):
        return ""
    if size == 0 or math.isinf(size):
        return f"{sign}∞" if size else "0"
    if decimals is not None:
        if rounded := float(f"{size:.{decimals}f}"):
            return f"{sign}{rounded:,.{decimals}f}"
        bound = ">" if sign else "<"
        return f"{bound}{sign}{10**-decimals:.{decimals}f}"
    if _is_short(size) and 1e-4 <= size < 1e15:
        return f"{sign}{round(size, 9):,.15g}"  # drop rounding errors of short decimals
    if 1e-4 <= size < 1e6:
        own = max(digits - 1 - math.floor(math.log10(size)), 0)
        return f"{sign}{size:,.{own}f}"
    text = f"{size:.3g}" if _is_short(size) else f"{size:.{digits - 1}e}"
    mantissa, exponent = text.split("e")
    power = str(int(exponent)).translate(_SUPERSCRIPTS)
    return f"{sign}{mantissa}{_SPACE}×{_SPACE}10{power}"


def _heading(name: Any, names: Mapping[str, str]) -> str:
    parts = name if isinstance(name, tuple) and name not in names else (name,)
    known = {**NAMES, **names}
    words = [known.get(part, str(part).replace("_", " ")) for part in parts]
    return ", ".join(filter(None, words))


def _cells(column: Iterable[Any], digits: int, decimals: int | None) -> list[str]:
    """Return the cells of a column as text, with its numbers in a common format."""
    values = [value.item() if hasattr(value, "item") else value for value in column]
    formatted = iter(numbers(filter(_is_number, values), digits, decimals))
    return [next(formatted) if _is_number(v) else _cell_text(v) for v in values]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _SIGN.sub(_MINUS, str(value))


def _html(columns: Sequence[_Column], caption: str) -> str:
    is_prose = any(column.longest > _LONG for column in columns)
    kind = "prose" if is_prose else "dataframe"
    caption_html = f"  <caption>{escape(caption)}</caption>\n" if caption else ""
    head = _html_row("th", columns, [column.head for column in columns])
    rows = zip(*(column.cells for column in columns), strict=True)
    body = "".join(_html_row("td", columns, row) for row in rows)
    return (
        f'<table class="{kind}">\n{caption_html}  <thead>\n{head}  </thead>\n'
        f"  <tbody>\n{body}  </tbody>\n</table>"
    )


def _html_row(tag: str, columns: Sequence[_Column], cells: Sequence[str]) -> str:
    html = "    <tr>\n"
    for column, cell in zip(columns, cells, strict=True):
        style = ""
        if column.is_text:
            # Reports keep classes and drop styles; JupyterLab has no style for the
            # classes.
            name = "text long" if column.longest > 30 else "text"
            style = f' class="{name}" style="text-align: left"'
        html += f"      <{tag}{style}>{escape(cell, quote=False)}</{tag}>\n"
    return html + "    </tr>\n"


def _text(columns: Sequence[_Column], caption: str) -> str:
    padded = []
    for column in columns:
        cells = [column.head, *column.cells]
        width = max(map(len, cells))
        pad = str.ljust if column.is_text else str.rjust
        padded.append([pad(cell, width) for cell in cells])
    lines = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    if caption:
        lines.insert(0, caption)
    return "\n".join(lines)


def with_error(value: float, error: float) -> str:
    """Return a number with its standard error as text.

    Both are rounded to the first digit of the error, or to the second if the first is a
    one. NaN is an empty text.

    Examples
    --------
    >>> print(with_error(0.5163, 0.0274), with_error(-1.2, 0.0131))
    0.52 ± 0.03 -1.200 ± 0.013
    >>> print(with_error(1 / 35, 0.0))
    0.0286
    """
    if math.isnan(value):
        return ""
    if not error > 1e-4 * abs(value):  # practically exact
        size = math.floor(math.log10(abs(value))) if value else 0
        return f"{value:.{max(2 - size, 0)}f}"
    place = math.log10(error)
    is_one = place % 1 < math.log10(2)  # the first digit
    digits = max(is_one - math.floor(place), 0)
    number = round(float(value), digits) + 0.0  # avoid minus zero
    return f"{number:.{digits}f}\u00a0±\u00a0{error:.{digits}f}"


def with_errors(frame: "pd.DataFrame", columns: Mapping[str, str]) -> "pd.DataFrame":
    """Return some columns of a table under new headings, with errors, as text.

    Standard errors of a column ``median`` are in ``median_se``, if it exists.
    """
    import pandas as pd

    texts = {}
    for name, heading in columns.items():
        values = frame[name]
        errors = frame.get(f"{name}_se")
        if errors is not None:
            values = map(with_error, values, errors)
        texts[heading] = list(values)
    return pd.DataFrame(texts)
