"""Progress bars for long work, on a terminal and nowhere else."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tqdm import tqdm

_SILENT = ContextVar("silent", default=False)


def progress(total: int | None, label: str, unit: str = "it") -> tqdm:
    """Return a progress bar that is drawn on a terminal, and leaves nothing in a notebook.

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
    options = {"desc": label, "unit": unit, "unit_scale": unit == "B", "leave": False}
    # With None there is a bar where stderr is a terminal.
    return tqdm(total=total, disable=_SILENT.get() or None, **options)


@contextmanager
def silent() -> Iterator[None]:
    """Draw no bars within a ``with`` statement."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def in_blocks[Result](
    executor: Executor | None, function: Callable[..., Result], shared: Sequence[Any],
    blocks: Sequence[Sequence[Any]], label: str,
) -> Iterator[Result]:  # fmt: skip
    """Call ``function(*shared, *block)`` on blocks of work under a bar, and yield their results.

    Without an executor (threads, processes, or a cluster's) it goes block after block. The length
    of a block's first item is its share of the bar. Blocks that have not begun are taken back when
    an error or an interruption ends it.
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
