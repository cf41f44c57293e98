"""Sweeps on a Dask cluster of this machine: a worker that is killed, a scheduler that goes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import toy

from srlib.runner import workers
from srlib.runner.parameters import UsageError

distributed = pytest.importorskip("distributed")


@pytest.fixture
def cluster() -> Iterator[Any]:
    settings: dict = {"dashboard_address": None, "protocol": "tcp", "silence_logs": "CRITICAL"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **settings) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return toy.make(tmp_path, toy.TEXT.replace('Path("started").touch()', toy.SLOW))


def start(project: Path, *arguments: str) -> subprocess.Popen[str]:
    file = project / "params/toy/sweep_x.yaml"
    file.write_text("paper: toy\ngrid: {n: [1, 2, 3]}\n")
    command = [sys.executable, "-m", "srlib", "sweep", str(file), *arguments]
    return subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, text=True)


def parent(process: int) -> int:
    told = subprocess.run(["ps", "-o", "ppid=", "-p", str(process)], capture_output=True, text=True)
    return int(told.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="kills processes as POSIX does")
def test_a_killed_worker_loses_nothing(project: Path, cluster: Any) -> None:
    process = start(project, "--scheduler", cluster.scheduler_address)
    kernel = toy.running(project, 1)
    os.kill(parent(kernel), signal.SIGKILL)
    (project / "go").touch()
    _, told = process.communicate(timeout=180)
    assert process.returncode == 0, told
    folder = project / "outputs/toy/sweep_x"
    assert pd.read_csv(folder / "index.csv")["status"].tolist() == ["done"] * 3
    assert toy.executed(project) == ["1 0.5", "1 0.5", "2 0.5", "3 0.5"]


def test_a_scheduler_that_goes_is_said_and_another_way_finishes_the_rest(
    project: Path, cluster: Any
) -> None:
    process = start(project, "--scheduler", cluster.scheduler_address)
    toy.running(project, 1)
    cluster.close()
    _, told = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "the scheduler is gone" in told
    (project / "go").touch()
    process = start(project, "--jobs", "2")
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told


def test_no_scheduler_at_the_address_is_bad_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    client = distributed.Client

    def impatient(address: str, **settings: Any) -> Any:
        return client(address, **settings | {"timeout": 0.1})

    monkeypatch.setattr(distributed, "Client", impatient)
    with (
        pytest.raises(UsageError, match="no scheduler answers at"),
        workers.cluster("tcp://127.0.0.1:1"),
    ):
        pass
