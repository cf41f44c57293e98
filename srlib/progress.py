"""Progress bars for long computations, on terminals only."""

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
    """Return a progress bar, which is drawn only on a terminal.

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
    return tqdm(
        total=total,
        desc=label,
        unit=unit,
        unit_scale=unit == "B",
        leave=False,
        disable=_SILENT.get() or None,  # None: only if stderr is no terminal
    )


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
