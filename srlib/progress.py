"""Progress bars for long computations, where somebody may watch them."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import starmap
from typing import Any

from tqdm import tqdm

_SILENT = ContextVar("silent", default=False)


def progress(
    total: int,
    label: str,
    unit: str = "it",
) -> tqdm:
    """Return a progress bar, drawn on a terminal or for the reader of a notebook.

    Parameters
    ----------
    total : int
        Number of steps.
    label : str
        Description of the computation.
    unit : str
        Unit of a step; ``"B"`` for bytes, shown with prefixes.

    Returns
    -------
    tqdm.tqdm
        Use it as a context manager and call ``update(steps)``.
    """
    hidden = is_hidden()
    # JupyterLab would leave an empty bar in red, the color of errors, of stderr.
    in_notebook = hidden is False
    return tqdm(
        total=total,
        desc=label,
        unit=unit,
        unit_scale=unit == "B",
        leave=False,
        file=sys.stdout if in_notebook else None,
        disable=hidden,
    )


def is_hidden() -> bool | None:
    """Return whether progress is hidden; None, as tqdm takes it, if off a terminal.

    A notebook counts as watched if its reader could be asked for input: a notebook that
    is executed for a report or a test keeps the same outputs.
    """
    kernel = getattr(input, "__self__", None)  # in a notebook, a method of its kernel
    is_watched = getattr(kernel, "_allow_stdin", False)
    return _SILENT.get() or (False if is_watched else None)


@contextmanager
def silent() -> Iterator[None]:
    """Suppress progress bars within a ``with`` statement."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def in_blocks[Result](
    executor: Executor | None,
    function: Callable[..., Result],
    shared: Sequence[Any],
    blocks: Sequence[Sequence[Any]],
    label: str,
) -> Iterator[Result]:
    """Yield ``function(*shared, *block)`` for each block, with a progress bar.

    Without an executor (threads, processes or a cluster) the blocks run one after
    another. The length of a block's first item is its number of steps. If an error or
    an interrupt ends the iteration, blocks that have not begun are canceled.
    """
    tasks = [(*shared, *block) for block in blocks]
    if executor:
        results = executor.map(function, *zip(*tasks, strict=True))
    else:
        results = starmap(function, tasks)
    with progress(sum(len(block[0]) for block in blocks), label) as bar:
        for block, result in zip(blocks, results, strict=True):
            yield result
            bar.update(len(block[0]))
