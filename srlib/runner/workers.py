"""Work in parallel by one interface: processes on this machine, or a Dask cluster."""

import os
import queue
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
)
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from typing import Any

from tqdm import tqdm

from srlib.runner.parameters import UsageError


class ClusterGone(Exception):
    """The scheduler cannot be reached any more."""


class Terminated(KeyboardInterrupt):
    """The process was told to end by whoever manages it: a scheduler, a terminal that closes."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end what runs as Ctrl-C does, with nothing left behind."""
    before: dict[int, Any] = {}
    hook = sys.unraisablehook

    def end(number: int, _: object) -> None:
        for other in before:  # they come in pairs, and the second must not disturb the end
            signal.signal(other, signal.SIG_IGN)
        raise Terminated(number)

    def swallowed(what: Any) -> None:
        """Send a signal again that came in a destructor or in a weak reference's callback."""
        if not isinstance(what.exc_value, Terminated):
            return hook(what)
        for other in before:
            signal.signal(other, end)
        main = threading.main_thread().ident or 0
        threading.Timer(0.1, signal.pthread_kill, (main, what.exc_value.args[0])).start()

    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            # One that is ignored stays so, as under nohup.
            if number and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, end)
        sys.unraisablehook = swallowed
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class Workers:
    """Where work is done.

    Attributes
    ----------
    executor : Executor
        With the interface of `concurrent.futures`.
    ahead : int
        Tasks handed over at a time.
    stop : callable
        What to do after an interruption; told whether to end at once.
    """

    executor: Executor
    ahead: int
    stop: Callable[[bool], None]


_stopped: Any = None  # in a process of a pool, whether its tasks may still begin


class _Pool(ProcessPoolExecutor):
    """Processes that begin nothing once they are stopped, not even what they were given before.

    A pool cannot take back the tasks in the queue of its processes.
    """

    def submit(self, task: Callable[..., Any], /, *arguments: Any, **settings: Any) -> Future[Any]:
        """Hand over a task."""
        return super().submit(_unless_stopped, task, *arguments, **settings)


def _unless_stopped(task: Callable[..., Any], /, *arguments: Any, **settings: Any) -> Any:
    if _stopped is not None and _stopped.value:
        raise CancelledError("stopped before it began")
    return task(*arguments, **settings)


def _prepare(threads: int, of_bars: Any, stopped: Any, parent: int) -> None:
    """Give a process its threads, the lock of all bars, its own session, an end with its parent."""
    global _stopped
    _stopped = stopped
    tqdm.set_lock(of_bars)
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(threads)
    if hasattr(os, "setsid"):
        with suppress(OSError):
            os.setsid()  # the terminal's Ctrl-C is the parent's to handle
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:  # it may have ended while this process started
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def processes(jobs: int, threads: int | None = None) -> Iterator[Workers]:
    """Processes on this machine.

    Parameters
    ----------
    jobs : int
        Their number, 1 or more.
    threads : int, optional
        Of each; the machine's are shared out evenly if not given.
    """
    context = get_context("spawn")
    threads = threads or max(1, (os.cpu_count() or 1) // jobs)
    stopped = context.RawValue("b", 0)  # without a lock, which a killed process would hold
    pool = _Pool(jobs, context, _prepare, (threads, context.RLock(), stopped, os.getpid()))

    def stop(at_once: bool) -> None:
        stopped.value = 1
        try:
            if at_once:
                raise KeyboardInterrupt
            print("stopping: what runs is finished; Ctrl-C again kills it", file=sys.stderr)
            pool.shutdown(wait=True, cancel_futures=True)
        except KeyboardInterrupt:
            for process in list((pool._processes or {}).values()):
                process.kill()

    try:
        # No more ahead than run: if a process dies, the pool loses all that was handed over.
        yield Workers(pool, jobs, stop)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def cluster(address: str) -> Iterator[Workers]:
    """The workers of a running Dask cluster, however many come and go.

    A task whose worker is lost is run again on another one, by the scheduler, until its patience
    ends (its setting allowed-failures).

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://host:8786``.

    Raises
    ------
    UsageError
        If the extra ``cluster`` is not installed or nothing answers at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("a Dask cluster needs the extra: pip install '.[cluster]'") from None
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"no scheduler answers at {address!r}: {error}") from None

    def stop(at_once: bool) -> None:
        print("stopping: points that run on the cluster finish there", file=sys.stderr)

    try:
        # Not pure: two tasks that look alike are still two. All at once: clusters grow by what
        # waits in the scheduler's queue. Closing the client takes back what has not begun.
        yield Workers(client.get_executor(pure=False), sys.maxsize, stop)
    finally:
        client.close()


@contextmanager
def stopped_by_ctrl_c(workers: Workers) -> Iterator[None]:
    """Stop the workers after an interruption, and pass it on."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        workers.stop(isinstance(interruption, Terminated))
        raise


def completed[Task: Hashable](
    workers: Workers, submit: Callable[[Executor, Task], Future[Any]], tasks: Iterable[Task]
) -> Iterator[tuple[Task, Future[Any]]]:
    """Tasks and their futures, in the order in which they end.

    Parameters
    ----------
    workers : Workers
        As `processes` and `cluster` give.
    submit : callable
        Hands a task to the executor.
    tasks : iterable
        What there is to do. Tasks are missing from the results if the executor breaks before they
        are handed over.

    Raises
    ------
    ClusterGone
        If the scheduler forgets the tasks, or is lost.
    """
    ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    running: dict[Future[Any], Task] = {}
    rest = iter(tasks)

    def hand_over() -> None:
        for task in islice(rest, workers.ahead - len(running)):
            try:
                future = submit(workers.executor, task)
            except BrokenExecutor:
                return
            running[future] = task
            future.add_done_callback(ended.put)

    hand_over()
    while running:
        try:
            future = ended.get(timeout=1)  # without a timeout, not to be interrupted on Windows
        except queue.Empty:
            continue
        if future.cancelled():
            raise ClusterGone("the scheduler is gone, or has forgotten the points")
        yield running.pop(future), future
        hand_over()


def persevering[Task: Hashable](
    place: Callable[[bool], AbstractContextManager[Workers]],
    submit: Callable[[Executor, Task], Future[Any]],
    tasks: Iterable[Task],
    attempts: int,
) -> Iterator[tuple[Task, Future[Any]]]:
    """Tasks and their futures as `completed` has them; those whose process is lost are run again.

    A pool that loses a process loses all that it was given. The last attempt of a task is alone,
    so that the blame is its own: only then does its future have a `BrokenExecutor`.

    Parameters
    ----------
    place : callable
        Gives the workers; told whether one task is run alone.
    submit, tasks
        As of `completed`.
    attempts : int
        For each task, 1 or more.
    """
    lost: Counter[Task] = Counter()
    left = list(tasks)
    while left:
        alone = [task for task in left if lost[task] == attempts - 1 > 0][:1]
        settled = set()
        with place(bool(alone)) as workers, stopped_by_ctrl_c(workers):
            for task, future in completed(workers, submit, alone or left):
                if isinstance(future.exception(), BrokenExecutor):
                    lost[task] += 1
                    if lost[task] < attempts:
                        continue
                settled.add(task)
                yield task, future
        left = [task for task in left if task not in settled]


def lost_process(attempts: int) -> str:
    """Say of a task that its process was lost in all attempts of `persevering`."""
    return f"the process was lost {attempts} times, the last time alone: killed, or out of memory"
