"""How long the sections of a notebook take to read and to work through, as an estimate.

Reading: 200 words a minute, half a minute for an equation that has its own line, one and a half for
a picture, three quarters for a table and a quarter for a cell of code. Working: since exercises are
of rising difficulty, two minutes and twice the number for an exercise, two more for each answer
that it asks for, and five for words where it asks for some; three for a *Try it*, ten for an open
question. Both are rules of thumb, the same for all notebooks.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from srlib.runner.course.exercises import Exercise, exercises

if TYPE_CHECKING:
    from nbformat import NotebookNode

WORDS, EQUATION, PICTURE, TABLE, CODE = 200, 0.5, 1.5, 0.75, 0.25
EXERCISE, ANSWER, IN_WORDS, TRY_IT, OPEN_QUESTION = 2, 2, 5, 3, 10

_EQUATION = re.compile(r"\$\$.*?\$\$", re.DOTALL)
_NO_WORDS = re.compile(r"\$[^$]*\$|`[^`]*`|<[^>]*>|\(https?:[^)]*\)|[|#*>_]|-{3,}")


@dataclass(frozen=True)
class Section:
    """What stands under one heading, up to the next.

    Attributes
    ----------
    part, heading : str
        The heading of the first level above it, ``""`` before there is one, and its own; that of
        the first section is the notebook's title.
    words, equations, pictures, tables : int
        Counts, without those of exercises.
    reading : float
        Minutes.
    tasks : tuple of Exercise
        The exercises that stand in it.
    """

    part: str
    heading: str
    words: int
    equations: int
    pictures: int
    tables: int
    reading: float
    tasks: tuple[Exercise, ...]

    @property
    def working(self) -> float:
        """Minutes that its exercises take."""
        return sum(map(working, self.tasks))


def working(exercise: Exercise) -> float:
    """Return the minutes that an exercise takes."""
    if exercise.label == "Open question":
        return OPEN_QUESTION
    if not exercise.number:
        return TRY_IT
    harder = EXERCISE * (1 + exercise.number)
    return harder + ANSWER * len(exercise.answers) + IN_WORDS * exercise.written


def sections(notebook: "NotebookNode") -> list[Section]:
    """Return the sections of an executed notebook in their order; the first has the title."""
    tasks = {exercise.question: exercise for exercise in exercises(notebook)}
    inside = {
        at for e in tasks.values() for at in (e.question, *e.hints, *e.cells)
    }  # what belongs to the exercises
    part, heading = "", ""
    found: list[Section] = []
    held: list[tuple[NotebookNode, str]] = []
    asked: list[Exercise] = []
    for at, cell in enumerate(notebook.cells):
        if at in tasks:
            asked.append(tasks[at])
        if at in inside:
            continue
        for text, source in _parted(cell):
            if text:
                found.append(_section(part, heading, held, asked))
                level, heading = text
                part = heading if level == 1 and len(found) > 1 else part
                held, asked = [], []
            held.append((cell, source))
    found.append(_section(part, heading, held, asked))
    return [section for section in found if section.heading]


def _parted(cell: "NotebookNode") -> Iterator[tuple[tuple[int, str] | None, str]]:
    """Yield a cell's text in pieces, each with the heading of level 1 or 2 that it begins with."""
    if cell.cell_type != "markdown":
        yield None, ""
        return
    for piece in re.split(r"(?m)^(?=#{1,2} )", cell.source):
        if found := re.match(r"(#{1,2}) ([^\n]*)", piece):
            yield (len(found[1]), found[2].strip()), piece[found.end() :]
        elif piece.strip():
            yield None, piece


def _section(
    part: str,
    heading: str,
    held: Sequence[tuple["NotebookNode", str]],
    tasks: Iterable[Exercise],
) -> Section:
    texts = [source for cell, source in held if cell.cell_type == "markdown"]
    code = [cell for cell, _ in held if cell.cell_type == "code" and cell.source.strip()]
    words = sum(len(_NO_WORDS.sub(" ", _EQUATION.sub(" ", text)).split()) for text in texts)
    equations = sum(len(_EQUATION.findall(text)) for text in texts)
    shown = [output.get("data", {}) for cell in code for output in cell.outputs]
    pictures = sum("image/svg+xml" in data for data in shown)
    tables = sum("<table" in data.get("text/html", "") for data in shown)
    tables += sum(len(re.findall(r"(?m)^\|[ :|-]+\|$", text)) for text in texts)
    reading = words / WORDS + EQUATION * equations + PICTURE * pictures + TABLE * tables
    reading += CODE * len(code)
    return Section(part, heading, words, equations, pictures, tables, reading, tuple(tasks))
