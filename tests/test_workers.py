"""Whatever ends the command ends its workers, also those of the dead."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import toy

from srlib.runner.sweep import workers

pytestmark = toy.posix


def write_and_wait(file: Path) -> None:
    file.with_suffix(".partial").write_text(str(os.getpid()))
    file.with_suffix(".partial").replace(file)
    threading.Event().wait()


def interrupted(folder: Path) -> None:
    with workers(2) as pool:
        for name in "ab":
            pool.submit(write_and_wait, folder / name)
        toy.wait_until(lambda: len(list(folder.glob("?"))) == 2)
        raise KeyboardInterrupt


def test_an_interruption_kills_the_workers_at_once(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path)
    for name in "ab":
        assert not toy.alive(int((tmp_path / name).read_text()))


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
