"""A deck of slides from an executed notebook: one HTML file that needs no network.

It shows the title, the claims, a slide for each section with its first sentence and its equations,
the pictures under the sentences that they show, the verdicts, and the questions of the exercises.
Cells that give answers away are left out. Arrow keys go from slide to slide; printed, each is a
page.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srlib.runner.course.exercises import HINT, SOLUTION, exercises, spoils, tags

if TYPE_CHECKING:
    from nbformat import NotebookNode

GOALS = "What you will learn"
MOST_EQUATIONS, MOST_ROWS, MOST_COLUMNS = 2, 7, 6  # of tables without their head
NOT_SHOWN = ("Parameters", "References", "Exercises", "The ledger")  # headings
_VERDICT = re.compile(r"(?m)^> \*\*(C\d+\w*) [^\n]*(?:\n>[^\n]*)*")
_EQUATION = re.compile(r"\$\$.*?\$\$", re.DOTALL)
_CAPTION = re.compile(r"\*\*(.+?[.?!:])\*\*\s*(.*)", re.DOTALL)
_SENTENCE = re.compile(r"(.+?[.?!])(?=\s+[A-Z$*`(]|\s*$)", re.DOTALL)
_CLAIMS = re.compile(r"(?m)^\|[^\n]*\bclaim\b[^\n]*\|\n\|[ :|-]+\|\n(?:\|[^\n]*\|\n?)+")


@dataclass(frozen=True)
class Slide:
    """One slide.

    Attributes
    ----------
    kind : str
        ``"title"``, ``"text"``, ``"picture"``, ``"verdict"`` or ``"task"``.
    heading, text : str
        Markdown.
    table : str
        HTML of a small table under the text; ``""``: none.
    pictures : tuple of (str, str)
        SVG and its description in words.
    """

    kind: str
    heading: str
    text: str = ""
    table: str = ""
    pictures: tuple[tuple[str, str], ...] = ()


def slides(notebook: "NotebookNode") -> list[Slide]:
    """Return a notebook's slides.

    Parameters
    ----------
    notebook : NotebookNode
        Executed, with the pictures of its charts as SVG.
    """
    own = {at for e in exercises(notebook) for at in (*e.hints, *e.cells)}
    asked = {e.question for e in exercises(notebook)}
    found: list[Slide] = []
    pictures: list[tuple[str, str]] = []
    section = ""
    for at, cell in enumerate(notebook.cells):
        if at in own or spoils(cell) is not None or {HINT, SOLUTION} & set(tags(cell)):
            pictures = []
            continue
        if cell.cell_type == "code":
            pictures += _pictures(cell)
            found += [Slide("text", section, table=table) for table in _small_tables(cell)]
            found += [
                Slide("verdict", section, verdict[0])
                for text in _markdown(cell)
                for verdict in _VERDICT.finditer(text)
            ]
        elif at in asked:
            heading, text = _headed(cell.source)
            found.append(Slide("task", heading, text))
        elif cell.cell_type == "markdown":
            text = cell.source
            caption = _CAPTION.match(text) if pictures else None
            if caption:
                said = _first_sentence(caption[2])
                found.append(Slide("picture", caption[1], said, pictures=tuple(pictures)))
                text = text[caption.end(1) :]
            elif pictures:
                found.append(Slide("picture", section, pictures=tuple(pictures)))
            pictures = []
            for piece in filter(str.strip, re.split(r"(?m)^(?=#{1,3} )", text)):
                heading, body = _headed(piece)
                if heading in NOT_SHOWN:
                    continue
                section = heading or section
                if not found:
                    found += _opening(heading, body)
                elif heading == GOALS:
                    found.append(Slide("text", heading, body))
                elif heading:
                    found.append(Slide("text", heading, _gist(body)))
                else:
                    found += [
                        Slide("text", section, equation) for equation in _EQUATION.findall(body)
                    ]
    return _joined(found)


def _opening(heading: str, text: str) -> Iterator[Slide]:
    """Yield the title's slide, with the reference or question under it, and that of the claims."""
    paragraphs = [p for p in text.strip().split("\n\n") if not p.startswith(("|", "#"))]
    yield Slide("title", heading, "\n\n".join(paragraphs[:2]))
    if claims := _CLAIMS.search(text):
        yield Slide("text", "What is tested", claims[0])


def _gist(text: str) -> str:
    """Return a section's table of claims, or its first sentence and its first equations."""
    if claims := _CLAIMS.search(text):
        return claims[0]
    plain = re.sub(r"(?ms)^(?:\||>|```|- |\d+\. ).*?(?=\n\n|\Z)", "", text).strip()
    first = _first_sentence(plain.split("\n\n")[0]) if not plain.startswith("$$") else ""
    return "\n\n".join([first, *_EQUATION.findall(text)[:MOST_EQUATIONS]]).strip()


def _first_sentence(text: str) -> str:
    found = _SENTENCE.match(text.strip())
    sentence = found[1] if found else text.strip()
    # A sentence that was cut within a formula, an emphasis or code is no sentence.
    return sentence if all(sentence.count(mark) % 2 == 0 for mark in ("$", "`", "**")) else ""


def _headed(text: str) -> tuple[str, str]:
    found = re.match(r"#{1,3} ([^\n]*)\n*", text)
    return (found[1].strip(), text[found.end() :]) if found else ("", text)


def _pictures(cell: "NotebookNode") -> Iterator[tuple[str, str]]:
    for output in cell.outputs:
        data = output.get("data", {})
        if svg := data.get("image/svg+xml"):
            spec = data.get("application/vnd.vegalite.v5+json", {})
            yield svg, spec.get("description") or data.get("text/plain", "")


def _small_tables(cell: "NotebookNode") -> Iterator[str]:
    for output in cell.outputs:
        html = output.get("data", {}).get("text/html", "")
        rows = html.count("<tr") - 1
        cells = len(re.findall(r"<t[dh]\b", html))
        if 0 < rows <= MOST_ROWS and cells <= (rows + 1) * MOST_COLUMNS:
            yield html


def _markdown(cell: "NotebookNode") -> Iterator[str]:
    for output in cell.outputs:
        if text := output.get("data", {}).get("text/markdown"):
            yield text


def _joined(found: Iterable[Slide]) -> list[Slide]:
    """Return slides with neighboring ones of one heading on one, and none that is empty."""
    joined: list[Slide] = []
    for slide in found:
        last = joined[-1] if joined else None
        fits = last is not None and last.heading == slide.heading and slide.kind != "task"
        if last and fits and not (last.pictures or slide.pictures or last.table):
            text = "\n\n".join(filter(None, (last.text, slide.text)))
            joined[-1] = Slide(slide.kind, last.heading, text, slide.table)
        elif slide.text or slide.table or slide.pictures or slide.kind == "title":
            joined.append(slide)
    return joined


def deck(notebook: "NotebookNode") -> str:
    """Return a notebook's slides as one HTML page."""
    from srlib.runner.report import page

    found = slides(notebook)
    return page(
        "course/slides.html.j2",
        _script(),
        title=re.sub(r"[$*`]", "", found[0].heading) if found else "Slides",
        slides=[_shown(slide) for slide in found],
    )


def _shown(slide: Slide) -> dict[str, Any]:
    from urllib.parse import quote

    from markupsafe import Markup

    from srlib.runner.report import clean, markdown

    img = '<img src="data:image/svg+xml,{}" alt="{}">'
    pictures = [Markup(img).format(quote(svg), words) for svg, words in slide.pictures]
    return {
        "kind": slide.kind,
        "heading": clean(markdown(slide.heading)),
        "text": clean(markdown(slide.text)),
        "pictures": pictures,
        "table": clean(slide.table),
        "long": len(slide.text) > 600 or slide.text.count("\n|") > 7,
    }


def _script() -> str:
    from srlib.runner.report import TEMPLATES

    return (TEMPLATES / "course" / "slides.js").read_text(encoding="utf-8")
