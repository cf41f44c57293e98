"""What a report says first, and a notebook's cells in the order and parts that readers take.

A chart and the bold sentence under it become a figure, tables with a caption are numbered, the
cells of a solution are folded together, and code without output goes with the code that follows.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from nbformat import NotebookNode

from srlib.runner import cells
from srlib.runner.cells import VEGA_LITE, VERDICTS, markdown

LOST = "lost-figure"
"""Tag of a cell whose chart is not shown, so that its caption is not either."""
WORDS_A_MINUTE = 200

_NOTHING = Markup()
_CAPTION = re.compile(r"\*\*(.+?[.?!:])\*\*\s*(.*)", re.DOTALL)
_TABLE_CAPTION = re.compile(r"\s*<caption>(.*?)</caption>", re.DOTALL)
_VERDICT = re.compile(rf"^> \*\*(C\d+\w*) ((?:{'|'.join(VERDICTS)})\b.*?)\.\*\*", re.MULTILINE)
_REFERENCE = re.compile(r"\*\*(?P<authors>[^*]+?) \((?P<year>\d{4})\)\.?\*\*")
_FAMILY_NAME = re.compile(r"([^\s,]+(?: [^\s,.]{2,})*), (?:[A-Z]\.[ -]?)+")
_READING = re.compile(
    r"[Rr]eading (?:and running )?takes? (?:about )?([\w ]*?(?:minutes|hours?)\b)"
)
_HEADING = re.compile(r'<h([1-3]) id="([^"]*)">(.*?)</h\1>', re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A part of the page.

    Attributes
    ----------
    kind : str
        ``"prose"``, ``"code"``, ``"output"``, ``"table"``, ``"figure"``, ``"hint"``,
        ``"solution"`` or ``"notice"``.
    html : Markup
        What it holds; a figure's caption.
    number : int
        Of figures, tables and hints.
    title : Markup
        Of figures and tables.
    panels : tuple of Markup
        A figure's charts.
    blocks : tuple of Block
        What a solution holds.
    """

    kind: str
    html: Markup = _NOTHING
    number: int = 0
    title: Markup = _NOTHING
    panels: tuple[Markup, ...] = ()
    blocks: "tuple[Block, ...]" = ()


@dataclass(frozen=True)
class Opening:
    """A report's first screen.

    Attributes
    ----------
    papers : str
        Authors and year of the papers under the title; ``""``: it names none.
    heading, reference, lead, rest : Markup
        The title, the papers' references, the paragraph under them and all that follows.
    """

    papers: str
    heading: Markup
    reference: Markup
    lead: Markup
    rest: Markup


# ------------------------------------------------------------------------------ the first screen


def opening(text: str) -> Opening:
    """Part the text of a notebook's first cell.

    Parameters
    ----------
    text : str
        Markdown that begins with the title.
    """
    title, _, rest = text.strip().partition("\n")
    paragraphs = re.split(r"\n{2,}", rest.strip())
    n_references = next(
        (i for i, paragraph in enumerate(paragraphs) if not _REFERENCE.match(paragraph)),
        len(paragraphs),
    )
    references, others = paragraphs[:n_references], paragraphs[n_references:]
    lead = others.pop(0) if others and re.match(r"[^#|>\-\d]", others[0]) else ""
    return Opening(
        papers="; ".join(filter(None, map(_paper, references))),
        heading=markdown(title),
        reference=markdown("\n\n".join(references)),
        lead=markdown(lead),
        rest=markdown("\n\n".join(others)),
    )


def _paper(reference: str) -> str:
    """Return authors and year as texts cite them.

    >>> _paper("**Hu, J., Reiter, J. P. and Wang, Q. (2014).** Disclosure risk")
    'Hu, Reiter and Wang (2014)'
    """
    found = _REFERENCE.match(reference)
    if not found:
        return ""
    names = _FAMILY_NAME.findall(found["authors"] + " ") or [found["authors"]]
    *most, last = (name.removeprefix("and ") for name in names)
    return (
        f"{', '.join(most)} and {last} ({found['year']})" if most else f"{last} ({found['year']})"
    )


def verdicts(notebook_cells: Iterable[NotebookNode]) -> dict[str, str]:
    """Return the verdict on each claim, as the executed callouts say it."""
    said: dict[str, str] = {}
    for cell in notebook_cells:
        for output in cell.get("outputs", []):
            said.update(_VERDICT.findall(output.get("data", {}).get("text/markdown", "")))
    return said


def tally(said: dict[str, str]) -> list[tuple[str, str, int]]:
    """Count claims by what is said of them: class, words and number, without zeros."""
    kinds = [cells.kind(f"C1 {word}") for word in said.values()]
    words = {"holds": "hold", "depends": "depend", "fails": "fail", "undecided": "not decided"}
    found = [(kind, word, kinds.count(kind)) for kind, word in words.items()]
    return [
        (kind, "fails" if (kind, n) == ("fails", 1) else _singular(word, n), n)
        for kind, word, n in found
        if n
    ]


def _singular(word: str, n: int) -> str:
    return f"{word}s" if n == 1 and word in ("hold", "depend") else word


def reading(notebook_cells: Sequence[NotebookNode]) -> str:
    """Say how long reading takes: what the notebook says of itself, or by its words."""
    texts = [
        cell.source
        for cell in notebook_cells
        if cell.cell_type == "markdown" and not {"solution", "hint"} & _tags(cell)
    ]
    for text in texts:
        if found := _READING.search(" ".join(text.split())):
            return found[1]
    minutes = sum(len(text.split()) for text in texts) / WORDS_A_MINUTE
    return f"{max(1, round(minutes))} minutes"


def run_time(seconds: Any) -> str:
    """Say how long a run took.

    >>> run_time(438.6), run_time(13.4), run_time(None)
    ('7 min', '13 s', '')
    """
    if not isinstance(seconds, int | float):
        return ""
    return f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds:.0f} s"


# -------------------------------------------------------------------------------------- the cells


class _Arranger:
    """Blocks of cells as they come; figures and tables are numbered through the page."""

    def __init__(self, notice: bool) -> None:
        self._notice = notice
        self._figures, self._tables = count(1), count(1)
        self._said: set[str] = set()

    def blocks(self, some: Iterable[NotebookNode]) -> Iterator[Block]:
        """Go through the blocks of cells that are shown one after the other."""
        code: list[str] = []
        panels: list[Markup] = []
        behind: list[Block] = []  # what the cell of a chart shows besides
        lost = False

        def flush(caption: str = "") -> Iterator[Block]:
            if code:
                yield Block("code", cells.code("\n\n".join(code)))
            if panels:
                found = _CAPTION.match(caption)
                title, rest = (found[1], found[2]) if found else ("", caption)
                title = markdown(title).removeprefix("<p>").rstrip().removesuffix("</p>")
                yield Block(
                    "figure", markdown(rest), next(self._figures), Markup(title), tuple(panels)
                )
            yield from behind
            for pending in (code, panels, behind):
                pending.clear()

        for cell in some:
            if cell.cell_type == "markdown":
                caption, text = _parted(cell.source) if panels or lost else ("", cell.source)
                yield from flush(caption)
                lost = False
                if text:
                    yield Block("prose", markdown(text))
            elif cell.cell_type == "code":
                shown = [(_sort(output), output) for output in cell.outputs]
                if behind or (panels and any(sort != "chart" for sort, _ in shown)):
                    yield from flush()
                code.append(cell.source)
                lost = lost or LOST in _tags(cell)
                if shown and self._notice and "confidential" in _tags(cell):
                    yield from flush()
                    yield Block("notice", Markup("Confidential: single combinations"))
                for sort, output in shown:
                    if sort == "chart":
                        panels.append(cells.output(output))
                    elif panels:
                        behind.append(self._block(sort, output))
                    else:
                        yield from flush()
                        yield self._block(sort, output)
        yield from flush()

    def _block(self, sort: str, output: NotebookNode) -> Block:
        html = cells.output(output)
        if sort == "table":
            found = _TABLE_CAPTION.search(html)
            if not found:
                return Block("table", html)
            bare = Markup(html[: found.start()] + html[found.end() :])
            return Block("table", bare, next(self._tables), Markup(found[1]))
        for claim, _ in _VERDICT.findall(output.get("data", {}).get("text/markdown", "")):
            if claim not in self._said:
                self._said.add(claim)
                at = html.index('<blockquote class="callout')
                html = Markup(f'{html[:at]}<blockquote id="verdict-{claim}"{html[at + 11 :]}')
        return Block("output", html)


def arrange(notebook_cells: Sequence[NotebookNode], notice: bool = False) -> list[Block]:
    """Return the blocks that a page shows.

    Parameters
    ----------
    notebook_cells : sequence of NotebookNode
        What is shown of an executed notebook, without its first cell where that opens the page.
    notice : bool
        Whether a notice stands over the outputs of cells tagged ``confidential``.
    """
    arranger = _Arranger(notice)
    found: list[Block] = []
    for role, group in groupby(notebook_cells, key=_role):
        if role == "solution":
            found.append(Block(role, blocks=tuple(arranger.blocks(group))))
        elif role == "hint":
            found += [Block(role, markdown(cell.source), i) for i, cell in enumerate(group, 1)]
        else:
            found += arranger.blocks(group)
    return found


def contents(blocks: Sequence[Block]) -> list[tuple[str, Markup, list[tuple[str, Markup]]]]:
    """Return the headings: address and text of sections, and those of what is in each."""
    found: list[tuple[str, Markup, list[tuple[str, Markup]]]] = []
    for block in blocks:
        for level, name, html in _HEADING.findall(block.html if block.kind == "prose" else ""):
            text = re.sub(r'<a class="anchor-link".*?</a>|</?a\b[^>]*>', "", html)
            entry = quote(Markup(name).unescape()), Markup(text)
            if level == "3" and found:
                found[-1][2].append(entry)
            else:
                found.append((*entry, []))
    return found


def _tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def _role(cell: NotebookNode) -> str:
    return next((role for role in ("solution", "hint") if role in _tags(cell)), "")


def _sort(output: NotebookNode) -> str:
    """Say whether an output is a chart, a table or anything else."""
    data = output.get("data", {})
    if any(isinstance(data.get(mime), dict) for mime in VEGA_LITE):
        return "chart"
    if "text/html" in data:
        return "table" if "<table" in data["text/html"] else "output"
    pictures = {"image/svg+xml", "image/png"} & set(data)
    return "chart" if pictures and "text/markdown" not in data else "output"


def _parted(text: str) -> tuple[str, str]:
    """Part a text that begins with a bold sentence behind its first paragraph."""
    first, _, rest = text.strip().partition("\n\n")
    return (first, rest.strip()) if first.startswith("**") else ("", text)
