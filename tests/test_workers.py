"""Whatever ends the command ends all of it: signals wherever they come, and workers of the dead."""

import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
import toy

from srlib.runner import cli
from srlib.runner.cli import ended_by_signals

pytestmark = toy.posix


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


def again_later() -> None:
    """The first is lost in code that catches everything; the second, later, is not."""
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)  # at once: they come in pairs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "_APART", 0.0)  # as if a second had gone by
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("told", [in_a_destructor, in_a_callback, again_later])
def test_a_signal_ends_what_runs_wherever_it_comes(told: Callable[[], None]) -> None:
    """Python swallows what is raised in a destructor."""
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), ended_by_signals():
        told()
    assert signal.getsignal(signal.SIGTERM) == before


def test_workers_that_start_while_the_parent_is_killed_end(tmp_path: Path) -> None:
    """The worker waits before its first import until its parent is gone."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, pathlib, sys, time\n"
        "if '--multiprocessing-fork' in sys.orig_argv:\n"
        "    pathlib.Path('starting').write_text(str(os.getpid()))\n"
        "    os.rename('starting', 'started')\n"
        "    for _ in range(1200): os.path.exists('go') or time.sleep(0.05)\n"
    )
    (tmp_path / "parent.py").write_text(
        "from srlib.runner.sweep import workers\n"
        "if __name__ == '__main__':\n"
        "    with workers(1) as pool: pool.submit(print).result()\n"
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
