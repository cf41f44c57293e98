"""Processes that run notebooks side by side, and what ends all of it."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

_APART = 1.0  # seconds; a terminal that closes and a manager send signals in pairs


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end what runs as Ctrl-C does, with nothing left behind."""
    hook, main, before, raised = sys.unraisablehook, threading.get_ident(), {}, [-_APART]

    def end(number: int, _: object) -> None:
        if time.monotonic() - raised[0] >= _APART:
            raised[0] = time.monotonic()
            raise KeyboardInterrupt(number)

    def swallowed(what: Any) -> None:
        """Send a signal again that came in a destructor or in a weak reference's callback."""
        if not isinstance(what.exc_value, KeyboardInterrupt) or not what.exc_value.args:
            return hook(what)
        raised[0] = -_APART
        threading.Timer(0.1, signal.pthread_kill, (main, what.exc_value.args[0])).start()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # One that is ignored stays so, as under nohup.
        if number and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, end)
    sys.unraisablehook = swallowed
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _prepare(threads: int) -> None:
    """Give a worker its share of threads, and let it end with its parent alone."""
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's to handle

    def watch() -> None:
        # Also of one that was gone when this process started.
        multiprocessing.parent_process().join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def workers(jobs: int, scheduler: str = "") -> Iterator[Executor]:
    """Yield an executor: processes of this machine, or the Dask cluster at an address.

    Whatever ends it before the work is done kills the processes, and takes back what the cluster
    has not begun.
    """
    if scheduler:
        from distributed import Client

        with Client(scheduler, timeout=10, set_as_default=False) as client:
            yield client.get_executor(pure=False)  # tasks that look alike are still several
        return
    threads = max(1, (os.cpu_count() or 1) // jobs)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _prepare, (threads,))
    try:
        yield pool
    except BaseException:
        # From Python 3.14 on this is pool.kill_workers().
        for process in list((pool._processes or {}).values()):
            with suppress(ProcessLookupError):
                process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
