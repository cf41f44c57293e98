"""How far a notebook is: a bar on a terminal, a line for each section elsewhere.

Cells take from milliseconds to minutes, so that a share of the cells tells nothing of the time that
is left. It is told where an earlier run measured the cells, and not guessed where none did.
"""

import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import nbformat
from nbformat import NotebookNode
from tqdm import tqdm

from srlib import yamls

_INJECTED = "injected-parameters"
_LONGEST = 36  # characters of a section's heading in a bar


def cell_seconds(
    folder: Path, notebook: NotebookNode, parameters: Mapping[str, Any]
) -> dict[str, float]:
    """Return the seconds that each code cell took in an earlier run of the same question.

    Parameters
    ----------
    folder : Path
        Folder of the earlier run.
    notebook : NotebookNode
        What is to be run.
    parameters : mapping
        With which values.

    Returns
    -------
    dict of str to float
        Seconds by the cell's source; empty where there is no such run, or of another notebook, or
        with other values.
    """
    try:
        earlier = nbformat.read(folder / "notebook.ipynb", as_version=4)
        values = yamls.read(folder / "parameters.yaml")
    except (OSError, ValueError, AttributeError):
        return {}
    taken: dict[str, float] = {}
    for cell in _code(earlier):
        seconds = cell.metadata.get("papermill", {}).get("duration") or 0.0
        taken[cell.source] = taken.get(cell.source, 0.0) + seconds
    same = values == parameters and set(taken) == {cell.source for cell in _code(notebook)}
    return taken if same else {}


def _code(notebook: NotebookNode) -> list[NotebookNode]:
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and _INJECTED not in cell.metadata.get("tags", [])
    ]


def _headings(cell: NotebookNode) -> list[tuple[str, str]]:
    """Return the titles and headings of sections in a cell, each with its level's marks."""
    if cell.cell_type != "markdown":
        return []
    return re.findall(r"^(##?) +(.+?)[ #]*$", cell.source, re.MULTILINE)


class Bar:
    """A bar on a terminal that moves each second, with the section that is run.

    Parameters
    ----------
    name : str
        The notebook's name.
    notebook : NotebookNode
        What is to be run.
    seconds : mapping of str to float
        Seconds that each code cell is known to take, by its source; empty: unknown, and cells are
        counted instead.
    position : int
        The terminal's line, from 0.
    file : file
        Where it is drawn.
    now : callable
        The clock, in seconds.
    """

    def __init__(
        self,
        name: str,
        notebook: NotebookNode,
        seconds: Mapping[str, float],
        position: int = 0,
        *,
        file: IO[str] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        cells = _code(notebook)
        self._seconds, self._now = seconds, now
        self._total = sum(seconds.values()) if seconds else len(cells)
        self._done, self._since, self._cell = 0.0, now(), ""
        self._section = ""
        counted = "{percentage:3.0f}%" if seconds else "{n:.0f} of {total:.0f} cells"
        self._bar = tqdm(
            total=self._total,
            desc=name,
            file=file or sys.stderr,
            position=position,
            leave=position == 0,
            dynamic_ncols=True,
            bar_format=f"{{desc}}: {counted} |{{bar}}| {{elapsed}}{{postfix}}",
        )
        self._over = threading.Event()
        self._ticking = threading.Thread(target=self._tick, daemon=True)
        self._ticking.start()

    def start_cell(self, cell: NotebookNode, **_: Any) -> None:
        """Take note of a heading, or of the code that begins."""
        for _marks, text in _headings(cell):
            self._section = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
        if cell.cell_type == "code":
            self._cell, self._since = cell.source, self._now()
            self.draw()

    def complete_cell(self, cell: NotebookNode, **_: Any) -> None:
        """Take note of code that was executed."""
        if _INJECTED not in cell.metadata.get("tags", []):
            self._done += self._seconds.get(cell.source, 0.0) if self._seconds else 1
        self._cell = ""

    def draw(self) -> None:
        """Draw the bar as it is now."""
        within = 0.0
        if self._cell and self._seconds:
            within = min(self._now() - self._since, self._seconds.get(self._cell, 0.0))
        self._bar.n = min(self._done + within, self._total)
        told = [self._section] if self._section else []
        if self._seconds:
            told.insert(0, f"about {tqdm.format_interval(self._total - self._bar.n)} left")
        self._bar.set_postfix_str(", ".join(told), refresh=False)
        self._bar.refresh()

    def end(self, complete: bool) -> None:
        """Leave the bar, full where the notebook is; remove it where others stand above it."""
        self._over.set()
        self._ticking.join()
        if complete:
            self._done, self._section = self._total, ""
        self.draw()
        self._bar.close()

    def _tick(self) -> None:
        while not self._over.wait(1.0):
            self.draw()


class Lines:
    """A line on standard error for each section that ends, with its time.

    Sections are those of level-2 headings. Starting the kernel and the cells before the first
    heading count to the first section, and a section without code to the next one.
    """

    def __init__(self, name: str) -> None:
        self._name, self._title, self._heading = name, "", ""
        self._executed, self._since = False, time.monotonic()

    def start_cell(self, cell: NotebookNode, **_: Any) -> None:
        """Take note of a heading: what came before it has ended."""
        for marks, text in _headings(cell):
            if marks == "##":
                if self._heading:
                    self.end(True)
                self._heading = text
            else:
                self._title = self._title or text

    def complete_cell(self, **_: Any) -> None:
        """Take note of code that was executed."""
        self._executed = True

    def end(self, complete: bool) -> None:
        """Tell of the section that ends, if it has executed code and did not fail."""
        if not self._executed or not complete:
            return
        now = time.monotonic()
        section = self._heading or self._title or "all cells"
        # In one piece: other processes write their lines to the same place.
        sys.stderr.write(f"{self._name}: {section} ({now - self._since:.1f} s)\n")
        sys.stderr.flush()
        self._executed, self._since = False, now


class Silence:
    """Tells nothing."""

    def start_cell(self, **_: Any) -> None:
        """Tell nothing."""

    complete_cell = start_cell

    def end(self, complete: bool) -> None:
        """Tell nothing."""


Watcher = Bar | Lines | Silence
