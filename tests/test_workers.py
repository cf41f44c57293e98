"""Processes that work in parallel: stopped, and lost."""

import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import toy

from srlib.runner.workers import Terminated, Workers, ended_by_signals, persevering, processes


def begin(folder: Path, name: str) -> None:
    (folder / name).touch()
    toy.wait_until(lambda: (folder / "go").exists())


def test_nothing_begins_after_a_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second task is in the queue of the process, where nobody can take it back."""
    with processes(1) as workers:
        first, second = (workers.executor.submit(begin, tmp_path, name) for name in "ab")
        toy.wait_until(lambda: (tmp_path / "a").exists())
        stopping = threading.Thread(target=workers.stop, args=(False,))
        stopping.start()
        toy.wait_until(lambda: "what runs is finished" in capsys.readouterr().err)
        (tmp_path / "go").touch()
        stopping.join()
    assert first.exception() is None
    assert second.cancelled() or second.exception() is not None
    assert not (tmp_path / "b").exists()


def end(name: str) -> str:
    if name == "bad":
        os.kill(os.getpid(), signal.SIGKILL)
    return name


@toy.posix
@pytest.mark.parametrize("attempts", [1, 3])
def test_the_blame_for_a_lost_process_is_its_own(attempts: int) -> None:
    def place(alone: bool) -> AbstractContextManager[Workers]:
        return processes(1 if alone else 2)

    def submit(executor: Executor, name: str) -> Future[str]:
        return executor.submit(end, name)

    names = ["a", "bad", "b", "c"]
    found = dict(persevering(place, submit, names, attempts))
    assert isinstance(found.pop("bad").exception(), BrokenExecutor)
    if attempts > 1:
        assert {name: future.result() for name, future in found.items()} == {n: n for n in "abc"}


class Ends:
    """An object in whose destructor the process is told to end."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)


def in_a_destructor() -> None:
    Ends()
    toy.wait_until(lambda: False)


def in_a_callback() -> None:
    thing = type("Thing", (), {})()
    reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
    del thing
    toy.wait_until(reference)


@toy.posix
@pytest.mark.parametrize("told", [in_a_destructor, in_a_callback])
def test_a_signal_ends_what_runs_wherever_it_comes(told: Callable[[], None]) -> None:
    """Python swallows what is raised in a destructor."""
    with pytest.raises(Terminated), ended_by_signals():
        told()


@toy.posix
def test_workers_that_start_while_the_parent_is_killed_end(tmp_path: Path) -> None:
    """The worker waits before its first import until its parent is gone."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, pathlib, sys, time\n"
        "if '--multiprocessing-fork' in sys.orig_argv:\n"
        "    pathlib.Path('starting').write_text(str(os.getpid()))\n"
        "    os.rename('starting', 'started')\n"
        "    while not os.path.exists('go'): time.sleep(0.05)\n"
    )
    (tmp_path / "parent.py").write_text(
        "from srlib.runner.workers import processes\n"
        "if __name__ == '__main__':\n"
        "    with processes(1) as workers: workers.executor.submit(print).result()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "parent.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    toy.wait_until(lambda: (tmp_path / "started").exists())
    worker = int((tmp_path / "started").read_text())
    parent.kill()
    parent.wait()
    (tmp_path / "go").touch()
    try:
        toy.wait_until(lambda: not toy.alive(worker))
    finally:
        if toy.alive(worker):
            os.kill(worker, signal.SIGKILL)
