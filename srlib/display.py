"""Tables and sentences as notebooks show them: the same every time they are made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # half a second of CPU, for each process of the runner
    import pandas as pd

MIN_RECORDS = 10
"""Records that a public number or word rests on, at least."""
NOT_SHOWN = "not shown"
"""What stands in public in the place of anything that rests on fewer."""


@dataclass(frozen=True)
class Shown:
    """A table as notebooks show it; the same text every time it is made."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


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

    Parameters
    ----------
    kind : str
        Such as ``"C6 fails"`` or ``"Two runs"``: no full stop, one is put behind it.
    text : str
        Markdown; its numbers are computed where it is written.

    Returns
    -------
    Callout
        Displays as a blockquote, or as text where there is no Markdown.
    """
    return Callout(kind, text)


def percent(share: float, digits: int = 0) -> str:
    """Print a share as sentences do: ``77 %``, with a space that no line breaks at.

    Parameters
    ----------
    share : float
        Between 0 and 1, as a rule.
    digits : int
        Digits after the decimal point.

    Returns
    -------
    str
        The share times 100, rounded, a no-break space and the sign.
    """
    return f"{100 * share:.{digits}f}\u00a0%"


def show(
    frame: "pd.DataFrame",
    digits: int = 3,
    settings: Sequence[str] = (),
    *,
    prose: bool = False,
    caption: str = "",
    names: Mapping[str, str] | None = None,
) -> Shown:
    """Show a table with fixed digits, thousands separated, no index, and its text escaped.

    Parameters
    ----------
    frame : DataFrame
        What is shown, about a dozen rows at most.
    digits : int
        Digits after the decimal point, for columns of floats.
    settings : sequence of str
        Columns of floats that are shown with the digits they have: what was chosen and not
        computed, and ranks.
    prose : bool
        Whether its cells are words, which reports align on the left.
    caption : str
        A sentence above the table that says what it holds: plain text.
    names : mapping of str to str, optional
        Headings by column, where the column's own name is not for readers.

    Returns
    -------
    Shown
        Displays as HTML, or as text where there is none.
    """
    formatters = {
        column: (f"{{:,.{digits}f}}" if values.dtype.kind == "f" else "{:,}").format
        for column, values in frame.items()
        if values.dtype.kind in "fiu"
    } | dict.fromkeys(settings, "{:,g}".format)
    headed = frame.rename(columns=names or {})
    formatters = {(names or {}).get(name, name): how for name, how in formatters.items()}
    options: dict[str, Any] = {"index": False, "formatters": formatters, "na_rep": ""}
    html = headed.to_html(border=0, classes="prose" if prose else None, **options)
    text = headed.to_string(**options)
    if caption:
        html = html.replace(">", f">\n  <caption>{escape(caption)}</caption>", 1)
        text = f"{caption}\n{text}"
    return Shown(html, text)
