"""Progress bars for long work inside a notebook's cell."""

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any

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


def in_blocks[Result](
    executor: Executor | None,
    function: Callable[..., Result],
    shared: Sequence[Any],
    blocks: Sequence[Sequence[Any]],
    label: str,
) -> Iterator[Result]:
    """Call a function on blocks of work, under a progress bar.

    Blocks that have not begun are taken back when an error or an interruption ends it.

    Parameters
    ----------
    executor : Executor or None
        Threads, processes, or a cluster's, such as Dask's ``client.get_executor()``; here, one
        block after the other, if None.
    function : callable
        Takes what is shared and what makes a block. All of it is pickled for processes.
    shared : sequence
        What all blocks take.
    blocks : sequence of sequence
        What each takes besides; the length of its first item is its share of the bar.
    label : str
        What is being done.

    Yields
    ------
    object
        The result of each block, in their order.
    """
    futures: list[Future[Result]] = []
    try:
        with progress(sum(len(block[0]) for block in blocks), label) as bar:
            if executor is not None:
                futures += [executor.submit(function, *shared, *block) for block in blocks]
            for i, block in enumerate(blocks):
                yield futures[i].result() if futures else function(*shared, *block)
                bar.update(len(block[0]))
    finally:
        for future in futures:
            future.cancel()


def _runner_terminal() -> IO[str] | None:
    name = os.environ.get(TERMINAL)
    try:
        return open(name, "w", encoding="utf-8") if name else None
    except OSError:  # the terminal was closed in the meantime
        return None
