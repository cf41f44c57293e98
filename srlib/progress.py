"""Progress bars for long work inside a notebook's cell."""

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO

from tqdm import tqdm

TERMINAL = "SRLIB_PROGRESS_TTY"

_SILENT = ContextVar("silent", default=False)


def progress(total: int | None, label: str, unit: str = "it") -> tqdm:
    """Return a progress bar that never leaves anything in a notebook.

    A kernel's own stderr is stored in the notebook, so the runner names its terminal in the
    environment variable ``SRLIB_PROGRESS_TTY`` and the bar is drawn there, one line below the
    runner's own. Outside the runner it is drawn on stderr where that is a terminal. Everywhere
    else it is silent.

    Parameters
    ----------
    total : int or None
        Number of steps; None where it is not known.
    label : str
        What is being done.
    unit : str
        What one step is; ``"B"`` for bytes, shown with prefixes.

    Returns
    -------
    tqdm.tqdm
        Use it as a context manager and call ``update(steps)``.
    """
    terminal = _runner_terminal()
    return tqdm(
        total=total,
        desc=label,
        unit=unit,
        unit_scale=unit == "B",
        file=terminal or sys.stderr,
        disable=_SILENT.get() or (terminal is None and not sys.stderr.isatty()),
        position=1 if terminal else 0,
        leave=False,
    )


@contextmanager
def silent() -> Iterator[None]:
    """Draw no bars within a ``with`` statement."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def tracked[Item](items: Collection[Item], label: str) -> Iterator[Item]:
    """Go through items under a progress bar.

    Parameters
    ----------
    items : collection
        What is gone through.
    label : str
        What is being done.
    """
    with progress(len(items), label) as bar:
        for item in items:
            yield item
            bar.update(1)


def _runner_terminal() -> IO[str] | None:
    name = os.environ.get(TERMINAL)
    try:
        return open(name, "w", encoding="utf-8") if name else None
    except OSError:  # the terminal was closed in the meantime
        return None
