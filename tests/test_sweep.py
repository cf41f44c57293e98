"""Sweeps: points, resuming, failures, what a killed one leaves, and the tables over all points."""

import json
import os
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import toy
from click.testing import CliRunner
from test_run import SCRIPT, srlib, work  # noqa: F401  # a fixture

from srlib.runner import sweep
from srlib.runner.cli import main
from srlib.runner.parameters import Request, UsageError

SWEEP = "paper: toy\ngrid: {n: [1, 2]}\ncollect: [values]\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return toy.make(tmp_path)


def read(project: Path, text: str, name: str = "sweep_x") -> sweep.Sweep:
    file = project / f"{name}.yaml"
    file.write_text(f"paper: toy\n{text}\n", encoding="utf-8")
    return sweep.read_sweep(project, file, project / "outputs")


def names(plan: sweep.Sweep) -> list[str]:
    return [plan.at(point).name for point in plan.points]


# ----------------------------------------------------------------------------------- the file


def test_points_are_all_combinations(project: Path) -> None:
    plan = read(
        project,
        "profile: published\nbase: {seed: 3}\ngrid: {n: [1, 2], method: [exact, simulated]}\n"
        "zip: {share: [0.1, 0.2], names: [[a], [b, c]]}\npoints: [{data: x}, {}]\n",
    )
    assert len(plan.points) == len(set(names(plan))) == 2 * 2 * 2 * 2
    assert names(plan)[0].startswith("n=1,method=exact,share=0.1,names=a,data=x-")
    pairs = {(p.changed["share"], tuple(p.changed["names"])) for p in plan.points}
    assert pairs == {(0.1, ("a",)), (0.2, ("b", "c"))}
    assert {point.parameters["seed"] for point in plan.points} == {3}


def test_seeds_of_replicates_are_those_that_they_always_were(project: Path) -> None:
    plan = read(project, "replicates: 2\nseed: 5\n")
    assert [p.parameters["seed"] for p in plan.points] == [1098639371749156, 6300548710043576]
    seeds = [row["seed"] for row in sweep.Plan(paper="toy", replicates=sweep.MOST_POINTS).rows()]
    assert len(set(seeds)) == sweep.MOST_POINTS
    assert all(seed == int(float(seed)) for seed in seeds)


def test_names_change_with_notebook_parameters_and_data(project: Path) -> None:
    notebook, text = project / "notebooks/toy.py", "grid: {n: [1]}\nbase: {data: people.csv}\n"
    notebook.write_text(toy.TEXT.replace("a file that is not read", "CSV file of records"))
    (project / "people.csv").write_text("1")
    seen = [names(read(project, text)), names(read(project, text))]
    seen.append(names(read(project, text.replace("people.csv", "people.csv, share: 0.7"))))
    (project / "people.csv").write_text("2")
    seen.append(names(read(project, text)))
    notebook.write_text(notebook.read_text() + "\n# %%\n1 + 1\n")
    seen.append(names(read(project, text)))
    assert len({name for (name,) in seen}) == 4
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gird: {n: [1]}", "gird: Extra inputs are not permitted"),
        ("grid: {m: [1]}", "unknown parameter 'm'"),
        ("grid: {n: [1, 500]}", "n = 500; it must be int in"),
        ("grid: {n: 3}", "grid.n: Input should be a valid list"),
        ("grid: 3", "grid: Input should be a valid dictionary"),
        ("zip: {n: [1, 2], share: [0.5]}", "zip: the lists must have one length"),
        ("grid: {n: [1]}\npoints: [{n: 2}]", "n varies in two places"),
        ("points: [1]", "points.0: Input should be a valid dictionary"),
        ("replicates: 0", "replicates: Input should be greater than or equal to 1"),
        ("replicates: 2\nseed: -1", "seed: Input should be greater than or equal to 0"),
        ("replicates: 100001", "100,001 points; a sweep has at most 100,000"),
        ("replicates: 90000\ngrid: {n: [1, 2]}", "180,000 points; a sweep has at most"),
        ("points: [{n: 1}, {n: 1}]", "1 points occur twice"),
        ("points: []", "points: List should have at least 1 item"),
        ("profile: nothing", "unknown profile"),
        ("profile: 5", "profile: Input should be a valid string"),
        ("base: {output_dir: x}", "unknown parameter 'output_dir'"),
        ("collect: [/tmp/original]", "collect.0: String should match pattern"),
        ("collect: [index]", "the sweep's own table"),
        ("collect: 5", "collect: Input should be a valid list"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(
    project: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        read(project, text)
    result = CliRunner().invoke(main, ["sweep", "sweep_x.yaml"])
    assert result.exit_code == 2
    assert "sweep_x.yaml: " in result.stderr


@pytest.mark.parametrize("name", ["default", "published", "a b", "of_run"])
def test_a_sweep_has_a_folder_of_its_own(project: Path, name: str) -> None:
    (project / "outputs/toy/of_run").mkdir(parents=True)
    (project / "outputs/toy/of_run/provenance.json").write_text("{}")
    with pytest.raises(UsageError, match=r"whose runs have this folder|at most 100 letters"):
        read(project, "grid: {n: [1]}", name)


def test_shards_together_are_the_whole(project: Path) -> None:
    points = read(project, "grid: {n: [1, 2, 3, 4, 5, 6, 7]}").points
    parts = [sweep.shard(points, f"{i}/3") for i in (1, 2, 3)]
    assert [[p.parameters["n"] for p in part] for part in parts] == [[1, 4, 7], [2, 5], [3, 6]]
    for wrong in ("0/3", "4/3", "1", "a/b"):
        with pytest.raises(UsageError, match="i/n"):
            sweep.shard(points, wrong)


def test_sweeps_that_ship_are_valid(root: Path, tmp_path: Path) -> None:
    files = sorted(root.glob("params/*/sweep_*.yaml"))
    assert len(files) == 3
    for file in files:
        plan = sweep.read_sweep(root, file, tmp_path)
        assert plan.folder == tmp_path / file.parent.name / file.stem
        assert len(plan.points) > 1


# ------------------------------------------------------------------------------------ running


@toy.posix
def test_a_killed_kernel_fails_its_point_alone_and_the_rest_is_not_repeated(
    tmp_path: Path,
    work: Path,  # noqa: F811
) -> None:
    """From a folder whose modules nobody may import; with a file, the tables are confidential."""
    dies = f"{toy.MARK}\nimport os, signal\n"
    dies += "if n == 2 and not Path('mended').exists(): os.kill(os.getpid(), signal.SIGKILL)"
    toy.make(tmp_path, toy.TEXT.replace(toy.MARK, dies) + toy.TABLE)
    (work / "people.csv").write_text("a")
    (work / "sweep_x.yaml").write_text(f"{SWEEP}base: {{data: people.csv}}\n")
    command = ("sweep", "sweep_x.yaml", "--output", "out")
    first = srlib(work, *command, "--jobs", "2")
    folder = work / "out/toy/sweep_x"
    assert (first.returncode, first.stdout) == (1, "out/toy/sweep_x: 1 of 2 points are done\n")
    index = pd.read_csv(folder / "index.csv")
    assert index["status"].tolist() == ["done", "failed"]
    assert "DeadKernelError" in index["error"][1]
    assert len(list(folder.glob("n=2-*.failed/notebook.ipynb"))) == 1
    assert not (folder / "values.csv").exists()
    (whole,) = folder.glob("n=1-*/provenance.json")
    before = whole.stat().st_mtime_ns
    (work / "mended").touch()
    assert srlib(work, *command, "--dry-run").stdout == first.stdout
    second = srlib(work, *command)
    assert (second.returncode, second.stderr) == (0, "")
    assert whole.stat().st_mtime_ns == before
    assert pd.read_csv(folder / "index.csv")["status"].tolist() == ["done", "done"]
    gathered = pd.read_csv(folder / "values.csv")
    assert gathered.columns.tolist() == ["n", "label", "value", "point", "git_commit"]
    assert gathered["n"].tolist() == [1, 2, 2][: len(gathered)]
    assert sweep.load(folder)["total"].tolist() == [0.0, 0.5]
    assert folder.stat().st_mode & 0o077 == 0


@toy.posix
def test_a_killed_sweep_leaves_no_process_and_the_next_command_no_records(project: Path) -> None:
    (project / "notebooks/toy.py").write_text(toy.TEXT.replace(toy.MARK, toy.WAITS))
    plan = read(project, "grid: {n: [1, 2]}")
    process = subprocess.Popen([SCRIPT, "sweep", "sweep_x.yaml"], cwd=project)
    kernel, worker = toy.kernel(project, 1)
    process.kill()
    process.wait()
    toy.wait_until(lambda: not toy.alive(worker) and not toy.alive(kernel))
    (left,) = plan.folder.glob(".*")
    assert left.name.startswith(".n=1-")
    assert (left / "parameters.yaml").is_file()
    sweep.run_sweep(project, plan, [])
    assert [path.name for path in plan.folder.iterdir()] == ["index.csv"]


def test_a_dask_cluster_runs_the_points(project: Path) -> None:
    distributed = pytest.importorskip("distributed")
    (project / "notebooks/toy.py").write_text(toy.TEXT.replace(toy.MARK, toy.WAITS))
    (project / "go").touch()
    settings: dict = {"dashboard_address": None, "protocol": "tcp", "silence_logs": "CRITICAL"}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, **settings) as cluster:
        plan = read(project, "grid: {n: [1]}")
        sweep.run_sweep(project, plan, plan.points, 1, cluster.scheduler_address)
    _, worker = toy.kernel(project, 1)
    assert worker != os.getpid()  # not in the caller
    assert pd.read_csv(plan.folder / "index.csv")["status"].tolist() == ["done"]


def test_no_scheduler_at_the_address_is_said(project: Path) -> None:
    read(project, "grid: {n: [1]}")
    found = CliRunner().invoke(main, ["sweep", "sweep_x.yaml", "--scheduler", "tcp://127.0.0.1:1"])
    assert found.exit_code == 1
    assert len(found.stderr.splitlines()) == 1


# --------------------------------------------------------------------------------- collecting


def done(plan: sweep.Sweep, point: Request, **tables: str) -> Path:
    """Write what a point that is done leaves."""
    folder = plan.at(point)
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    about = {"status": "complete", "seconds": 1.0, "git_commit": "c"}
    about["changed_parameters"] = dict(point.changed)
    (folder / "provenance.json").write_text(json.dumps(about))
    (folder / "results.json").write_text('{"total": 1}')
    for name, text in tables.items():
        (folder / "tables" / f"{name}.csv").write_text(text)
    return folder


def test_tables_have_parameters_before_and_provenance_behind(project: Path) -> None:
    plan = read(project, "grid: {n: [1, 2, 3], names: [[a], [a, b]]}\ncollect: [t]")
    for point in plan.points[:-1]:
        done(plan, point, t="n,x\n1,2\n")
    sweep.write_index(plan)
    index = pd.read_csv(plan.folder / "index.csv")
    assert index["status"].tolist() == ["done"] * 5 + ["open"]
    assert index.columns.tolist() == ["point", "status", "error", "seconds", "n", "names"]
    sweep.gather(plan)
    frame = pd.read_csv(plan.folder / "t.csv")
    assert frame.columns.tolist() == ["parameter_n", "names", "n", "x", "point", "git_commit"]
    assert frame["names"].tolist() == ["a", '["a", "b"]', "a", '["a", "b"]', "a"]
    with pytest.raises(ValueError, match=r"no finished point in .* has it"):
        sweep.load(plan.folder, "u")


@pytest.mark.parametrize("name", ["provenance.json", "results.json"])
def test_a_damaged_point_is_named(project: Path, name: str) -> None:
    plan = read(project, "grid: {n: [1]}")
    folder = done(plan, plan.points[0])
    sweep.write_index(plan)
    for content in (b"{", b"[]", b"\xff", b"[" * 100_000):
        (folder / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name} is damaged"):
            sweep.load(plan.folder)
