"""Sweeps on a notebook of three cells: points, resuming, failures, interruption, collecting."""

import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
import toy
from click.testing import CliRunner, Result
from toy import MARK, SLOW, alive, executed, running, wait_until

from srlib.runner import sweep
from srlib.runner.cli import main
from srlib.runner.parameters import UsageError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toy that leaves a line in the file runs each time it is executed."""
    monkeypatch.chdir(tmp_path)
    return toy.make(tmp_path, toy.TEXT.replace('Path("started").touch()', MARK))


def write(project: Path, text: str, name: str = "sweep_x") -> Path:
    file = project / "params" / "toy" / f"{name}.yaml"
    file.write_text("paper: toy\n" + text, encoding="utf-8")
    return file


def read(project: Path, text: str) -> sweep.Sweep:
    return sweep.read_sweep(project, write(project, text), project / "outputs")


def command(project: Path, file: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "srlib", "sweep", str(file), *arguments]


def run(file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["sweep", str(file), *arguments])


def index(project: Path) -> pd.DataFrame:
    return pd.read_csv(project / "outputs/toy/sweep_x/index.csv")


# ----------------------------------------------------------------------------------- the file


def test_points_are_all_combinations(project: Path) -> None:
    text = """
grid: {n: [1, 2], method: [exact, simulated]}
zip: {share: [0.1, 0.2], names: [[a], [b, c]]}
replicates: 3
"""
    plan = read(project, text)
    assert len(plan.points) == 2 * 2 * 2 * 3
    first = plan.points[0]
    assert first.name.startswith("n=1,method=exact,share=0.1,names=a,seed=")
    assert set(first.varied) == {"n", "method", "share", "names", "seed"}
    assert len({point.varied["seed"] for point in plan.points}) == 3
    assert len({point.name for point in plan.points}) == 24
    pairs = {(p.varied["share"], tuple(p.varied["names"])) for p in plan.points}
    assert pairs == {(0.1, ("a",)), (0.2, ("b", "c"))}


def test_base_profile_and_points(project: Path) -> None:
    plan = read(
        project, "profile: published\nbase: {share: 0.9}\npoints: [{n: 2}, {method: exact}]\n"
    )
    assert [(p.parameters["n"], p.parameters["share"]) for p in plan.points] == [(2, 0.9), (5, 0.9)]


def test_names_change_with_notebook_and_parameters_only(project: Path) -> None:
    text = "grid: {n: [1]}\n"
    before = read(project, text).points[0].name
    assert read(project, text).points[0].name == before
    assert read(project, text + "base: {share: 0.7}\n").points[0].name != before
    notebook = project / "notebooks/toy.py"
    notebook.write_text(notebook.read_text() + "\n# %%\n1 + 1\n")
    assert read(project, text).points[0].name != before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gird: {n: [1]}", "unknown key 'gird', did you mean 'grid'"),
        ("grid: {m: [1]}", "unknown parameter 'm'"),
        ("grid: {n: [1, 500]}", "n = 500 is out of range"),
        ("grid: {n: 3}", "n must have a list of values"),
        ("zip: {n: [1, 2], share: [0.5]}", r"lists of one length \(n: 2, share: 1\)"),
        ("grid: {n: [1]}\npoints: [{n: 2}]", "n varies in two places"),
        ("points: [1]", "points must be a list of mappings"),
        ("replicates: 0", "replicates is 0"),
        ("replicates: 100001", "100,001 points; a sweep has at most 100,000"),
        (
            "replicates: 10000\ngrid: {n: [1, 2, 3]}\nzip: {share: [0.1, 0.2, 0.3, 0.4]}",
            "120,000 points; a sweep has at most",
        ),
        ("points: [{n: 1}, {n: 1}]", "occur twice"),
        ("profile: nothing", "unknown profile"),
        ("base: {output_dir: x}", "unknown parameter 'output_dir'"),
        ("picture: {table: values, x: n, y: value}", "picture: lacks color"),
        ("picture: {tabel: v, x: n, y: a, color: b}", "unknown key 'tabel', did you mean 'table'"),
        ("picture: {table: t, x: n, y: a, color: b, where: 3}", "where must be a mapping"),
        ("picture: {table: t, x: n, y: a, color: b, where: {a: [1]}}", "where must be a mapping"),
        ("picture: {table: t, x: 5, y: a, color: b}", "x is 5; it must be the name of a column"),
        (
            "picture: {table: t, x: n, y: a, color: [b]}",
            "color is \\['b'\\]; it must be the name",
        ),
        ("picture: {table: t, x: n, y: a, color: b, log_x: a}", "must be true or false"),
        ("profile: 5", "unknown profile 5"),
        ("picture: {table: ../t, x: n, y: a, color: b}", "table is '../t'; it must be at most"),
        ("collect: [/tmp/original]", "table to collect is '/tmp/original'; it must be at most"),
        ("collect: [index]", "the sweep's own"),
        ("collect: 5", "collect must be a list of tables"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(
    project: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read(project, text + "\n")


def test_seeds_of_many_replicates_differ() -> None:
    rows = sweep._rows({"replicates": sweep.MOST_POINTS}, Path("x.yaml"))
    assert len({row["seed"] for row in rows}) == sweep.MOST_POINTS
    assert all(row["seed"] == int(float(row["seed"])) for row in rows)


@pytest.mark.parametrize("limit", ["nan", "inf", "1e400", "0", "-1", "x"])
def test_a_time_limit_is_a_number_of_seconds(
    project: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.chdir(project)
    file = write(project, "grid: {n: [1]}\n")
    found = CliRunner().invoke(main, ["sweep", str(file), "--dry-run", "--time-limit", limit])
    assert found.exit_code == 2
    assert "Invalid value for '--time-limit'" in found.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("default", "'default' is a profile of toy"),
        ("published", "'published' is a profile of toy"),
        ("..", "must be at most 100 letters"),
        ("a b", "must be at most 100 letters"),
        ("x" * 101, "must be at most 100 letters"),
        ("of_run", "is a run's folder"),
        ("of_user", "is not of a sweep"),
    ],
)
def test_a_sweep_has_a_folder_of_its_own(project: Path, name: str, message: str) -> None:
    for file in ("of_run/provenance.json", "of_user/index.csv"):
        path = project / "outputs/toy" / file
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    text = "grid: {n: [1]}\n"
    elsewhere = project / f"{name}.yaml"
    elsewhere.write_text("paper: toy\n" + text)
    with pytest.raises(UsageError, match=re.escape(message)):
        sweep.read_sweep(project, elsewhere, project / "outputs")


def test_collecting_writes_over_nothing_but_what_it_gathered(tmp_path: Path) -> None:
    point = tmp_path / "sweep/n=1-abc"
    (point / "tables").mkdir(parents=True)
    (point / "provenance.json").write_text('{"changed_parameters": {"n": 1}}')
    original = tmp_path / "original.csv"
    for file in (original, point / "tables/values.csv"):
        file.write_text("value,x\n1,2\n")
    before = original.read_bytes()
    for name in (str(original.with_suffix("")), "../original", "index", ""):
        with pytest.raises(ValueError, match="table is"):
            sweep.gather(tmp_path / "sweep", name)
    assert original.read_bytes() == before
    mine = tmp_path / "sweep/values.csv"
    mine.write_bytes(before)
    with pytest.raises(ValueError, match="was not gathered"):
        sweep.gather(tmp_path / "sweep", "values")
    assert mine.read_bytes() == before
    mine.unlink()
    for _ in range(2):
        assert len(sweep.gather(tmp_path / "sweep", "values")) == 1


def test_shards_together_are_the_whole(project: Path) -> None:
    points = read(project, "grid: {n: [1, 2, 3, 4, 5, 6, 7]}\n").points
    parts = [sweep.shard(points, f"{i}/3") for i in (1, 2, 3)]
    assert sorted(p.name for part in parts for p in part) == sorted(p.name for p in points)
    assert [len(part) for part in parts] == [3, 2, 2]
    for wrong in ("0/3", "4/3", "1", "a/b"):
        with pytest.raises(UsageError, match="i/n"):
            sweep.shard(points, wrong)


# ------------------------------------------------------------------------------------ running


def test_a_sweep_is_run_resumed_and_collected(project: Path) -> None:
    notebook = project / "notebooks/toy.py"
    notebook.write_text(notebook.read_text() + toy.TABLE)
    picture = "picture: {table: values, x: n, y: value, colour: label, where: {share: 0.5}}\n"
    (project / "people.csv").write_text("a\n", encoding="utf-8")
    text = "base: {data: people.csv}\ngrid: {n: [1, 2], share: [0.1, 0.5]}\n"
    text += "collect: [values]\n" + picture
    file = write(project, text)
    first = run(file, "--shard", "1/2")
    assert first.exit_code == 0, first.output
    assert executed(project) == ["1 0.1", "2 0.1"]
    told = run(file, "--dry-run", "--jobs", "2").stdout
    assert "2 done, 0 failed, 2 open" in told
    assert "s a point" in told
    if sys.platform == "linux":
        assert "MB a kernel" in told
    second = run(file, "--jobs", "2")
    assert second.exit_code == 0, second.output
    assert executed(project) == ["1 0.1", "1 0.5", "2 0.1", "2 0.5"]
    folder = project / "outputs/toy/sweep_x"
    assert index(project)["status"].tolist() == ["done"] * 4
    gathered = pd.read_csv(folder / "values.csv")
    assert gathered.columns.tolist()[:4] == ["n", "share", "label", "value"]
    assert len(gathered) == 2 * (1 + 2)
    made = ["figures/sweep_x.svg", "figures/sweep_x.vl.json", "values.csv"]
    assert (folder / "CONFIDENTIAL.txt").read_text().splitlines() == made
    assert "value" in (folder / "figures/sweep_x.svg").read_text(encoding="utf-8")
    results = sweep.load(folder)
    assert set(results["total"]) == {0.0, 0.1, 0.5}
    assert not list(folder.glob("*/report.html"))
    # The same tables whatever the number of jobs: one point again, alone.
    (point,) = folder.glob("n=2,share=0.5-*")
    before = (point / "tables/values.csv").read_bytes()
    again = run(file, "--output", "other", "--shard", "4/4")
    assert again.exit_code == 0, again.output
    assert next(project.glob("other/toy/sweep_x/*/tables/values.csv")).read_bytes() == before


# Of five points two are done. One fails by itself; the kernel of another dies; the third ends the
# process that runs it, as the system does with one that takes too much memory.
FAILS = (
    MARK.replace("{n} {share}", "{names}")
    + """
import os, signal
if names == ["dies"]: os.kill(os.getpid(), signal.SIGKILL)
if names == ["ends"]: os.kill(os.getppid(), signal.SIGKILL)
"""
)


@toy.posix
def test_points_that_fail_stop_no_other_and_are_left_alone(project: Path) -> None:
    notebook = project / "notebooks/toy.py"
    notebook.write_text(notebook.read_text().replace(MARK, FAILS))
    file = write(project, "grid: {names: [[a], [fail], [ends], [dies], [b]]}\n")
    found = run(file, "--jobs", "2")
    assert found.exit_code == 1
    assert "3 points are not done" in found.stderr
    told = index(project)
    assert told["status"].tolist() == ["done", "failed", "failed", "failed", "done"]
    assert told["error"][1].startswith("code cell 2 (In [3]")
    assert told["error"][2] == sweep.LOST
    assert "DeadKernelError" in told["error"][3]
    assert executed(project).count("['ends']") == 3
    folder = project / "outputs/toy/sweep_x"
    assert len(list(folder.glob("*.failed/notebook.ipynb"))) == 2  # the third had no time for it
    count = len(executed(project))
    assert run(file).exit_code == 1
    assert len(executed(project)) == count
    assert run(file, "--retry-failed", "--shard", "2/5").exit_code == 1
    assert len(executed(project)) == count + 1
    notebook.write_text(notebook.read_text() + "\n# %%\n1 + 1\n")
    changed = run(file, "--shard", "1/5")
    assert changed.exit_code == 0
    assert "2 folders belong to other versions" in changed.stderr
    # What is collected belongs to one version.
    assert len(sweep.load(folder)) == 1


def test_a_point_that_takes_too_long_fails(project: Path) -> None:
    notebook = project / "notebooks/toy.py"
    notebook.write_text(notebook.read_text().replace(MARK, "while True: pass"))
    assert run(write(project, "grid: {n: [1]}\n"), "--time-limit", "5").exit_code == 1
    told = index(project)
    assert told["status"].tolist() == ["failed"]
    assert told["error"][0].startswith("longer than 5 s")


def test_a_notebook_that_changes_meanwhile_leaves_its_points_open(project: Path) -> None:
    notebook = project / "notebooks/toy.py"
    edits = "\nif n == 1 and not Path('edited').exists():\n    Path('edited').touch()\n"
    edits += "    Path('notebooks/toy.py').open('a').write('\\n')"
    notebook.write_text(notebook.read_text().replace(MARK, MARK + edits))
    before = notebook.read_text()
    file = write(project, "grid: {n: [1, 2]}\n")
    found = run(file)
    assert found.exit_code == 1
    assert "changed after the start: 2 points are left open" in found.stderr
    folder = project / "outputs/toy/sweep_x"
    assert index(project)["status"].tolist() == ["open"] * 2
    assert [p.name for p in folder.iterdir()] == ["index.csv"]
    assert executed(project) == ["1 0.5"]  # the other never ran with a notebook that is not its own
    notebook.write_text(before)
    plan = read(project, "grid: {n: [1, 2]}\n")
    assert [plan.status(point) for point in plan.points] == ["open"] * 2


DATA = 'data: str = ""  # CSV file of records\nseed: int = 1'


def test_a_changed_file_is_another_point_and_said_so(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    notebook = project / "notebooks/toy.py"
    without = read(project, "grid: {n: [1]}\n").points[0]
    assert without.inputs == {}
    notebook.write_text(notebook.read_text().replace("seed: int = 1", DATA))
    text = "grid: {n: [1]}\nbase: {data: records.csv}\n"
    (project / "records.csv").write_text("a\n1\n")
    plan = read(project, text)
    (point,) = plan.points
    assert point.inputs == {"records.csv": hashlib.sha256(b"a\n1\n").hexdigest()}
    folder = plan.folder / point.name
    folder.mkdir(parents=True)
    provenance = {"inputs": dict(point.inputs), "seconds": 1.0}
    (folder / "provenance.json").write_text(json.dumps(provenance))
    assert read(project, text).status(point) == "done"
    assert sweep.other_versions(plan) == []
    (project / "records.csv").write_text("a\n2\n")
    told = sweep.describe(read(project, text), read(project, text).points, 1)
    assert "1 folders belong to other contents of records.csv" in told
    assert "0 done, 0 failed, 1 open" in told


def in_its_first_point(project: Path, text: str) -> tuple[subprocess.Popen[str], Path, int]:
    """A sweep whose first point waits for word: its process, its file and the point's kernel."""
    notebook = project / "notebooks/toy.py"
    notebook.write_text(notebook.read_text().replace(MARK, SLOW))
    file = write(project, text)
    process = subprocess.Popen(
        command(project, file), cwd=project, stderr=subprocess.PIPE, text=True
    )
    return process, file, running(project, 1)


@toy.posix
def test_killed_at_once_and_resumed(
    project: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """kill -9 of the whole sweep in the middle of a point: its kernel goes, nothing half stays."""
    # A short name: those of sockets are bounded.
    scratch = Path(tempfile.mkdtemp(dir="/tmp"))
    request.addfinalizer(lambda: shutil.rmtree(scratch))
    monkeypatch.setenv("TMPDIR", str(scratch))
    process, file, kernel = in_its_first_point(project, "grid: {n: [1, 2]}\n")
    process.kill()
    process.communicate(timeout=30)
    wait_until(lambda: not alive(kernel))
    assert list(project.glob("outputs/toy/sweep_x/n=*")) == []
    (left,) = project.glob("outputs/toy/sweep_x/.tmp-n=1-*")
    wait_until(lambda: not alive(int(left.name.split("-")[-2])))
    assert [path.name[:11] for path in scratch.iterdir()] == [".tmp-srlib-"]
    (project / "go").touch()
    found = run(file)
    assert found.exit_code == 0, found.output
    assert f"removed {left.name}, left by a run that was killed" in found.stderr
    assert list(scratch.iterdir()) == []
    assert not list(project.glob("outputs/toy/sweep_x/.*"))
    assert executed(project) == ["1 0.5", "1 0.5", "2 0.5"]


@toy.posix
def test_interrupted_points_finish_and_the_rest_stays_open(project: Path) -> None:
    process, file, _ = in_its_first_point(project, "grid: {n: [1, 2, 3, 4]}\n")
    another = run(file, "--shard", "1/4")
    assert another.exit_code == 1
    assert "another sweep runs it: 1 points are left to it" in another.stderr
    process.send_signal(signal.SIGINT)
    assert "what runs is finished" in (process.stderr or sys.stdin).readline()
    (project / "go").touch()
    process.communicate(timeout=120)
    assert process.returncode == 1
    assert index(project)["status"].tolist() == ["done", "open", "open", "open"]
    assert executed(project) == ["1 0.5"]
    assert not list(project.glob("outputs/toy/sweep_x/.*"))


@toy.posix
def test_interrupted_twice_everything_ends_at_once(project: Path) -> None:
    process, _, kernel = in_its_first_point(project, "grid: {n: [1, 2, 3, 4]}\n")
    process.send_signal(signal.SIGINT)
    assert "what runs is finished" in (process.stderr or sys.stdin).readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 1
    wait_until(lambda: not alive(kernel))
    assert index(project)["status"].tolist() == ["open"] * 4


@toy.posix
def test_told_to_end_everything_ends_at_once_and_nothing_is_left(project: Path) -> None:
    process, _, kernel = in_its_first_point(project, "grid: {n: [1, 2]}\n")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 1
    wait_until(lambda: not alive(kernel))
    assert [p for p in project.glob("outputs/toy/sweep_x/*") if p.name != "index.csv"] == []
    assert list(project.glob("outputs/toy/sweep_x/.tmp-*")) == []


def test_a_full_disk_leaves_nothing_half_and_the_rest_for_later(project: Path) -> None:
    """No file may grow beyond 3,000 bytes, as if the disk were full: an executed notebook does."""
    file = write(project, "grid: {n: [1]}\n")
    resource = pytest.importorskip("resource")
    found = subprocess.run(
        command(project, file),
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
    )
    assert found.returncode == 1
    assert "File too large" in found.stderr
    folder = project / "outputs/toy/sweep_x"
    assert not [p for p in folder.glob("n=*") if p.suffix != ".failed"]
    again = run(file, "--retry-failed")
    assert again.exit_code == 0, again.output
    assert index(project)["status"].tolist() == ["done"]
    assert not list(folder.glob(".tmp-*"))


def test_two_sweeps_at_once_leave_whole_points(project: Path) -> None:
    file = write(project, "grid: {n: [1, 2, 3]}\n")
    other = subprocess.Popen(command(project, file), cwd=project, stderr=subprocess.DEVNULL)
    # Who ends first may leave a point to the other one.
    assert 0 in [run(file).exit_code, other.wait(timeout=180)]
    if toy.HAS_LOCKS:
        assert executed(project) == ["1 0.5", "2 0.5", "3 0.5"]
    folder = project / "outputs/toy/sweep_x"
    assert sorted(p.suffix for p in folder.iterdir()).count(".csv") == 1
    assert not [p for p in folder.iterdir() if p.name.startswith(".tmp")]
    for point in folder.glob("n=*"):
        assert json.loads((point / "provenance.json").read_text())["status"] == "complete"
        assert (point / "results.json").is_file()


# --------------------------------------------------------------------------------- collecting


def test_index_of_many_points(project: Path) -> None:
    plan = read(project, "grid: {n: [1, 2, 3, 4, 5], method: [exact, simulated]}\nreplicates: 50\n")
    assert len(plan.points) == 500
    for i, point in enumerate(plan.points):
        if i % 5:  # three in five are done, one in five failed, one in five is open
            folder = plan.failed_folder(point) if i % 5 == 1 else plan.folder / point.name
            folder.mkdir(parents=True)
            told = {"status": "x", "error": "why\nand where", "seconds": i}
            (folder / "provenance.json").write_text(json.dumps(told))
    index = pd.read_csv(sweep.write_index(plan))
    assert len(index) == 500
    assert index["point"].tolist() == [point.name for point in plan.points]
    assert index["status"].value_counts().to_dict() == {"done": 300, "failed": 100, "open": 100}
    assert set(index.loc[index["status"] == "failed", "error"]) == {"why"}
    assert {"n", "method", "seed"} <= set(index.columns)


def test_collecting_puts_parameters_before_and_provenance_behind(tmp_path: Path) -> None:
    for i in range(200):
        point = tmp_path / "sweep" / f"p={i}-abc"
        (point / "tables").mkdir(parents=True)
        provenance = {"status": "complete", "seconds": 1.0 + i, "git_commit": "c"}
        provenance["changed_parameters"] = {"p": [i], "value": i}
        (point / "provenance.json").write_text(json.dumps(provenance))
        (point / "tables/t.csv").write_text("value,x\n1,2\n")
    frame = sweep.load(tmp_path / "sweep", "t")
    assert frame.columns.tolist() == [
        "p", "parameter_value", "value", "x", "point", "git_commit",
    ]  # fmt: skip
    assert sorted(frame["p"]) == list(range(200))
    with pytest.raises(ValueError, match="no finished point has it"):
        sweep.load(tmp_path / "sweep", "u")
    with pytest.raises(ValueError, match="has no finished point"):
        sweep.load(tmp_path / "nothing")


def test_sweeps_that_ship_are_valid(root: Path, tmp_path: Path) -> None:
    files = sorted(root.glob("params/*/sweep_*.yaml"))
    assert files
    for file in files:
        plan = sweep.read_sweep(root, file, tmp_path)
        assert plan.paper == file.parent.name
        assert len(plan.points) > 1
