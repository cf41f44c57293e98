"""Processes that work in parallel: stopped, and lost."""

import os
import signal
import threading
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import toy

from srlib.runner.workers import Workers, persevering, processes


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
