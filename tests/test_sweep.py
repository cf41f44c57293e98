"""Sweeps: points, resuming, failures, leftovers, and the tables of all points."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
import toy
from click.testing import Result
from test_run import SCRIPT, srlib, write_notebook

from srlib.__main__ import main
from srlib.runner import run, sweep
from srlib.runner.parameters import Request

WRITES = """
import time
time.sleep((n == 1) / 2)
Path(output_dir, "tables").mkdir()
Path(output_dir, "tables/t.csv").write_text(f"x\\n{n}\\n")"""
WORKERS = "from srlib.runner.sweep import workers\nwith workers(1)"
pytestmark = pytest.mark.usefixtures("project")


def read(text: str, name: str = "sweep_x") -> list[Request]:
    """Write the file of a sweep and return its points."""
    file = Path(f"{name}.yaml").absolute()
    file.write_text(f"paper: toy\n{text}\n", "utf-8")
    return sweep.read_sweep(file.parent, file, file.parent / "outputs")[0]


def sweep_x(*options: str) -> Result:
    """Call the command with the file that `read` wrote."""
    return toy.call("sweep", "sweep_x.yaml", *options)


# ----------------------------------------------------------------------------- the file


def test_points_are_all_combinations() -> None:
    points = read(
        "profile: published\n"
        "base: {seed: 3}\n"
        "grid: {n: [1, 2], method: [exact, simulated]}\n"
        "points: [{share: 0.1, names: [a]}, {names: [b, c]}]"
    )
    assert len(points) == len({point.folder for point in points}) == 8
    name = "n=1,method=exact,share=0.1,names=a-[0-9a-f]{12}"
    assert re.fullmatch(name, points[0].folder.name)
    pairs = {(p.changed.get("share"), *p.changed["names"]) for p in points}
    assert pairs == {(0.1, "a"), (None, "b", "c")}
    assert {point.parameters["seed"] for point in points} == {3}


def test_seeds_of_replicates_are_those_that_they_always_were() -> None:
    first, second = read("replicates: 2\nseed: 5\n")
    assert first.parameters["seed"] == 1098639371749156
    assert second.parameters["seed"] == 6300548710043576
    seeds = [row["seed"] for row in sweep.Plan(paper="toy", replicates=10_000).rows()]
    assert len(set(seeds)) == 10_000
    assert all(seed == int(float(seed)) for seed in seeds)


@pytest.mark.usefixtures("executed")
def test_names_change_with_notebook_and_parameters() -> None:
    """A data file's contents decide on the status, not on names, which are printed."""

    def point(more: str = "") -> Request:
        return read(f"grid: {{n: [1]}}\nbase: {{data: people.csv{more}}}\n")[0]

    Path("people.csv").write_text("1")
    first = point()
    other = point(", share: 0.7")
    sweep.run_sweep([first], [first])
    assert point().status == "done"
    Path("people.csv").write_text("2")
    assert point().status == "open"
    assert point().folder == first.folder
    with Path("notebooks/toy.py").open("a") as notebook:
        notebook.write("\n# %%\n1 + 1\n")
    assert len({first.folder, other.folder, point().folder}) == 3


def test_each_paper_ships_a_valid_sweep_with_its_question() -> None:
    """And none is in a profile's folder."""
    files = sorted(toy.ROOT.glob("params/*/sweep_*.yaml"))
    assert len(files) == 4
    for file in files:
        assert "?" in file.read_text()
        points, tables = sweep.read_sweep(toy.ROOT, file, Path())
        folder = Path(file.parent.name, file.stem).absolute()
        assert {point.folder.parent for point in points} == {folder}
        assert tables
    (point,) = read("grid: {n: [1]}", "published")
    assert point.folder.parent == Path("outputs/toy/sweep_published").absolute()


# ---------------------------------------------------- without a kernel, in this process


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Values of n of the points that were started; the first with n = 2 fails."""
    begun: list[int] = []

    def execute(
        source: Path, saved: Path, parameters: dict[str, int], **_: object
    ) -> str:
        begun.append(parameters["n"])
        saved.write_text("{}")
        saved.with_name("results.json").write_text('{"total": 1}')
        table = saved.with_name("tables") / "t.csv"
        table.parent.mkdir()
        table.write_text("n,x\n1,2\n")
        return "cell 4: stopped" if begun.count(2) == begun[-1] - 1 == 1 else ""

    monkeypatch.setattr(run, "_execute", execute)
    monkeypatch.setattr(sweep, "workers", lambda *_: ThreadPoolExecutor(1))
    return begun


def test_points_that_fail_are_told_and_the_rest_is_not_repeated(
    executed: list[int],
) -> None:
    folder = read("grid: {n: [1, 2, 3]}")[0].folder.parent

    result = sweep_x()

    assert result.exit_code == 1
    assert result.stdout == "outputs/toy/sweep_x: 2 of 3 points are done\n"
    assert "toy: cell 4: stopped\nkept: outputs/toy/sweep_x/n=2-" in result.stderr
    index = pd.read_csv(folder / "index.csv", keep_default_na=False)
    assert index["status"].tolist() == ["done", "failed", "done"]
    assert index["error"].tolist() == ["", "cell 4: stopped", ""]
    assert sweep_x("--dry-run").stdout == result.stdout

    done = "outputs/toy/sweep_x: 1 of 1 points are done\n"
    assert sweep_x("--shard", "1/3").stdout == done
    assert executed == [1, 2, 3]
    assert sweep_x("--shard", "2/3").stdout == done
    assert sweep_x().exit_code == 0
    for point in [*folder.glob("n=*")]:
        toy.leave_hidden(point)
    assert sweep_x().exit_code == 0
    assert executed == [1, 2, 3, 2]


@pytest.mark.usefixtures("executed")
def test_tables_have_parameters_before_and_provenance_behind() -> None:
    points = read("grid: {n: [1, 2], names: [[a], [a, b]]}\ncollect: [t]")
    folder = points[0].folder.parent
    folder.mkdir(parents=True)
    (folder / "t.csv").touch()  # of another grid
    sweep_x()
    columns = ",".join(pd.read_csv(folder / "index.csv"))
    assert columns == "point,status,error,seconds,n,names"
    names = sweep.load(folder, "t")["names"].tolist()
    assert names == ["a", '["a", "b"]', '["a", "b"]']
    assert not (folder / "t.csv").exists()
    sweep_x()
    table = pd.read_csv(folder / "t.csv")
    assert ",".join(table) == "parameter_n,names,n,x,point,git_commit"
    assert sweep.load(folder)["total"].tolist() == [1] * len(table) == [1] * 4
    read("grid: {n: [1]}\ncollect: [u]")
    assert "Error: table is 'u'; no finished point in" in sweep_x().output


# ---------------------------------------------------------------------------- processes


@toy.posix
def test_a_killed_kernel_fails_its_point(work: Path) -> None:
    """In a folder from which nothing is imported."""
    write_notebook("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    (work / "x.yaml").write_text("paper: toy\ngrid: {n: [1]}\n")
    done = srlib(work, "sweep", "x.yaml", "--output", "out", "--jobs", "2")
    assert done.returncode == 1
    assert done.stdout == "out/toy/sweep_x: 0 of 1 points are done\n"
    error = "toy: cell 4, under 'A toy': DeadKernelError: Kernel died\nkept: out/"
    assert error in done.stderr
    assert (work / "out/toy/sweep_x").stat().st_mode & 0o077 == 0


@toy.posix
def test_a_killed_sweep_leaves_no_process_and_the_next_command_no_records() -> None:
    """And no kernel's sockets."""
    write_notebook(toy.WAITS)
    points = read("grid: {n: [1, 3]}")
    folder = points[0].folder.parent
    with tempfile.TemporaryDirectory() as sockets:
        environment = os.environ | {"TMPDIR": sockets}
        process = subprocess.Popen([SCRIPT, "sweep", "sweep_x.yaml"], env=environment)
        kernel, worker = toy.kernel(1)
        process.kill()
        process.wait()
        toy.wait_until(lambda: not (toy.alive(worker) or toy.alive(kernel)))
        assert len([*folder.glob(".n=1-*/*/parameters.yaml")]) == 1
        assert len([*Path(sockets).glob("*/*/kernel.json")]) == 1
        Path("go").touch()
        srlib(Path(), "sweep", "sweep_x.yaml", "--shard", "1/2", TMPDIR=sockets)
        assert {*folder.iterdir()} == {folder / "index.csv", points[0].folder}
        assert [*Path(sockets).iterdir()] == []


@toy.posix
def test_an_interruption_kills_the_workers_at_once() -> None:
    begun = time.monotonic()
    with suppress(KeyboardInterrupt), sweep.workers(1) as pool:
        process = pool.submit(os.getpid).result()
        toy.wait_until(pool.submit(time.sleep, 60).running)
        raise KeyboardInterrupt
    assert not toy.alive(process)
    assert time.monotonic() - begun < 60


@toy.posix
def test_semaphores_of_an_ended_process_are_no_news() -> None:
    command = [sys.executable, "-c", f"import os\n{WORKERS}: os._exit(1)"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


@toy.posix
def test_workers_that_start_while_the_parent_is_killed_end(tmp_path: Path) -> None:
    """The worker waits before its first import until its parent has ended."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, pathlib, sys, time\n"
        "if '--multiprocessing-fork' in sys.orig_argv:\n"
        "    pathlib.Path('starting').write_text(str(os.getpid()))\n"
        "    os.rename('starting', 'started')\n"
        "    for _ in range(1200): os.path.exists('go') or time.sleep(0.05)\n"
    )
    command = [sys.executable, "-c", f"{WORKERS} as pool: pool.submit(print)"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    started = tmp_path / "started"

    parent = subprocess.Popen(command, cwd=tmp_path, env=environment)
    toy.wait_until(started.exists)
    parent.kill()
    parent.wait()
    (tmp_path / "go").touch()

    worker = int(started.read_text())
    toy.wait_until(lambda: not toy.alive(worker))


@pytest.mark.parametrize("n_jobs", [[], pytest.param([1, 2], marks=pytest.mark.slow)])
def test_tables_are_the_same_on_one_process_two_and_a_cluster(
    n_jobs: list[int],
) -> None:
    """Also where the first point ends last. Without processes: on the cluster only."""
    distributed = pytest.importorskip("distributed")
    write_notebook(WRITES)
    settings = {
        "dashboard_address": ":0",
        "silence_logs": "CRITICAL",
        "protocol": "tcp",
        "n_workers": 2,
        "threads_per_worker": 2,
    }
    points = read("grid: {n: [1, 2]}")
    table = points[0].folder.with_name("t.csv")
    tables = set()
    with distributed.LocalCluster(**settings) as cluster:
        for jobs in [*n_jobs, 0]:
            address = "" if jobs else cluster.scheduler_address
            sweep.run_sweep(points, points, ["t"], jobs=jobs, scheduler=address)
            tables.add(table.read_text())
            shutil.rmtree(table.parent)
    assert len(tables) == 1


def test_a_cluster_that_is_not_there_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read("grid: {n: [1]}")
    monkeypatch.setattr(sweep, "_PATIENCE", 0.5)
    result = sweep_x("--scheduler", "tcp://127.0.0.1:1")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # which the command sets
    monkeypatch.setitem(sys.modules, "distributed", None)
    command = ["srlib", "sweep", "sweep_x.yaml", "--scheduler", "tcp://a:1"]
    monkeypatch.setattr(sys, "argv", command)
    message = r'needs distributed, .*: pip install "srlib\[cluster\]"'
    with pytest.raises(SystemExit, match=message):
        main()
