"""Sweeps: one notebook at many settings, in parallel, to be interrupted and resumed at any time.

A sweep is a YAML file. Every point of it is a run in a folder of its own, whose name tells what
varies and ends in a hash of all parameters, the files they name, the notebook and the library.
What counts is what lies whole on disk: the same command finishes what is left, repeats nothing, and
tries again what failed.
"""

import csv
import hashlib
import io
import itertools
import json
import math
import re
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from srlib.rng import stream
from srlib.runner import confidential
from srlib.runner.files import remove_leftovers, write_whole
from srlib.runner.parameters import (
    Request,
    UsageError,
    checked,
    find_papers,
    find_profiles,
    hash_inputs,
    named_files,
    plain_name,
    read_mapping,
    read_object,
    read_parameters,
    resolve,
    unknown,
)
from srlib.runner.workers import workers

if TYPE_CHECKING:  # a second of CPU, for each process that runs points
    import pandas as pd

KEYS = ("paper", "profile", "base", "grid", "zip", "points", "replicates", "seed", "collect")
DONE, FAILED, OPEN = "done", "failed", "open"
MOST_POINTS = 100_000  # each has a folder
LARGEST_SEED = 2**53  # of replicates; as a float, too, it stays the number that it is
ONE_AT_A_TIME = threading.Lock()  # in a worker of a cluster: papermill changes the working folder


@dataclass(frozen=True)
class Sweep:
    """A sweep as its file declares it, checked against the notebook.

    ``points`` are what to run, each with its folder below ``folder.parents[1]`` as its profile;
    ``collect`` the tables to gather when all are done.
    """

    folder: Path
    points: tuple[Request, ...]
    collect: tuple[str, ...]

    def at(self, point: Request) -> Path:
        """Return the folder of a point's run."""
        return self.folder / Path(point.profile).name

    def status(self, point: Request) -> str:
        """Return ``"done"``, ``"failed"`` or ``"open"``, by what lies on disk."""
        at = self.at(point)
        if (at / "provenance.json").is_file():
            return DONE
        return FAILED if at.with_name(f"{at.name}.failed").is_dir() else OPEN


def read_sweep(root: Path, file: Path, outputs: Path) -> Sweep:
    """Read a sweep file and check every point of it.

    It is YAML: ``paper``; ``profile`` or ``base`` (a mapping), or both; ``grid`` (lists of values,
    all combinations), ``zip`` (lists of one length, taken together), ``points`` (a list of
    mappings), ``replicates`` (a number of seeds, derived from ``seed``); ``collect`` (names of
    tables). Points are all combinations of what these give.

    Raises
    ------
    UsageError
        One line for everything that is wrong.
    """
    try:
        return _read_sweep(root, read_mapping(file), file.stem, outputs)
    except UsageError as error:
        told = str(error).splitlines()
        raise UsageError("\n".join(f"{file}: {line}" for line in told)) from None


def _read_sweep(root: Path, content: Mapping[str, Any], stem: str, outputs: Path) -> Sweep:
    if wrong := [unknown("key", str(key), KEYS) for key in content if key not in KEYS]:
        raise UsageError("\n".join(wrong))
    paper, name = content.get("paper"), plain_name("name of a sweep's file", stem)
    if paper not in find_papers(root):
        raise UsageError(unknown("paper", str(paper), find_papers(root)))
    folder = outputs.resolve() / paper / name
    if name in find_profiles(root, paper) or (folder / "provenance.json").exists():
        raise UsageError(f"{name!r} is a profile of {paper}, whose runs have this folder")
    rows = _rows(content)
    base = resolve(root, paper, content.get("profile") or "default").parameters
    declared = read_parameters(root / "notebooks" / f"{paper}.py")
    common, problems = checked(declared, _mapping(content, "base").items())
    varied = []
    for row in rows:
        good, wrong = checked(declared, row.items())
        varied.append(good)
        problems += wrong
    if problems:
        raise UsageError("\n".join(dict.fromkeys(problems)))
    # Imported here: hashing needs what runs notebooks, bad usage does not.
    from srlib.runner.run import source_hash

    source = source_hash((root / "notebooks" / f"{paper}.py").read_bytes())
    points, inputs = {}, {}
    for row in varied:
        values = {**base, **common, **row}
        files = named_files(declared, values)
        if str(files) not in inputs:  # each file once, however many points it is for
            inputs[str(files)] = hash_inputs(files)
        named = _name(values, row, source, inputs[str(files)])
        points[named] = Request(paper, f"{name}/{named}", values, row, inputs[str(files)], source)
    if len(points) < len(rows):
        raise UsageError(f"{len(rows) - len(points)} points occur twice")
    collect = content.get("collect") or []
    if not isinstance(collect, list) or "index" in collect:
        raise UsageError("collect must be a list of tables, none of which is the sweep's index")
    tables = tuple(plain_name("table to collect", table) for table in collect)
    return Sweep(folder, tuple(points.values()), tables)


def _mapping(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key) or {}
    if not isinstance(value, dict):
        raise UsageError(f"{key} must be a mapping of parameter: value")
    return value


def _rows(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what varies, a mapping for each point."""
    grid, together = _mapping(content, "grid"), _mapping(content, "zip")
    for key, values in [*grid.items(), *together.items()]:
        if not isinstance(values, list) or not values:
            raise UsageError(f"{key} must have a list of values")
    if len({len(values) for values in together.values()}) > 1:
        lengths = ", ".join(f"{key}: {len(values)}" for key, values in together.items())
        raise UsageError(f"zip needs lists of one length ({lengths})")
    points = content.get("points") or [{}]
    if not (isinstance(points, list) and all(isinstance(point, dict) for point in points)):
        raise UsageError("points must be a list of mappings")
    replicates, seed = content.get("replicates", 1), content.get("seed", 0)
    if type(replicates) is not int or replicates < 1:
        raise UsageError(f"replicates is {replicates!r}; it must be 1 or more")
    if type(seed) is not int or seed < 0:
        raise UsageError(f"seed is {seed!r}; it must be 0 or more")
    beside = [
        dict(zip(together, row, strict=True)) for row in zip(*together.values(), strict=True)
    ] or [{}]
    sizes = [*(len(values) for values in grid.values()), len(beside), len(points), replicates]
    if math.prod(sizes) > MOST_POINTS:
        raise UsageError(f"{math.prod(sizes):,} points; a sweep has at most {MOST_POINTS:,}")
    seeds = [
        {"seed": int(stream(seed, f"replicate {i}").integers(LARGEST_SEED))}
        for i in range(replicates)
    ]
    axes = [[{name: value} for value in values] for name, values in grid.items()]
    axes += [beside, points, seeds if "replicates" in content else [{}]]
    for a, b in itertools.combinations([set().union(*axis) for axis in axes], 2):
        if both := a & b:
            raise UsageError(f"{', '.join(sorted(both))} varies in two places")
    return [
        {name: value for part in chosen for name, value in part.items()}
        for chosen in itertools.product(*axes)
    ]


def _name(
    values: Mapping[str, Any], varied: Mapping[str, Any], source: str, inputs: Mapping[str, str]
) -> str:
    """Return the name of a point's folder."""

    def plain(value: Any) -> str:
        single = value[0] if isinstance(value, list) and len(value) == 1 else value
        return re.sub(r"[^\w.+-]+", "_", str(single)).strip("_")

    slug = ",".join(f"{name}={plain(value)}" for name, value in varied.items())[:100] or "point"
    content = json.dumps([values, source, inputs], sort_keys=True)
    return f"{slug}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def shard(points: Sequence[Request], part: str) -> Sequence[Request]:
    """Return every n-th point, from the i-th on, for ``"i/n"`` with i from 1 to n."""
    found = re.fullmatch(r"(\d+)/(\d+)", part)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"shard is {part!r}; it must be i/n with i from 1 to n")
    return points[int(found[1]) - 1 :: int(found[2])]


def _run_point(root: Path, point: Request, outputs: Path, cwd: Path) -> str:
    """Run one point in a worker; return why it failed, or nothing."""
    from srlib.runner.run import NotebookFailed, run

    try:
        with ONE_AT_A_TIME:
            run(root, point, outputs, with_report=False, cwd=cwd)
    except (NotebookFailed, OSError) as error:
        return str(error)
    return ""


def run_sweep(
    root: Path, sweep: Sweep, points: Iterable[Request], jobs: int = 1, scheduler: str = ""
) -> int:
    """Run the points that are not done, write ``index.csv``, and return how many are left.

    They run in processes here, a kernel each, or on a Dask cluster, whose workers see the project
    and the sweep's folder under the same paths.
    """
    left = [point for point in points if sweep.status(point) != DONE]
    sweep.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    remove_leftovers(sweep.folder)
    outputs, here = sweep.folder.parents[1], Path.cwd()
    try:
        with workers(jobs, scheduler) as pool:
            running = [pool.submit(_run_point, root, point, outputs, here) for point in left]
            shown = {"desc": sweep.folder.name, "unit": "point", "disable": None}
            for future in tqdm(as_completed(running), total=len(running), **shown):
                if failure := future.result():
                    tqdm.write(failure, file=sys.stderr)
    finally:
        remove_leftovers(sweep.folder)  # of processes that were killed
        write_index(sweep)
    return sum(sweep.status(point) != DONE for point in left)


def write_index(sweep: Sweep) -> None:
    """Write ``index.csv``, a row a point, from what lies on disk."""
    rows = []
    for point in sweep.points:
        status, at = sweep.status(point), sweep.at(point)
        kept = at if status == DONE else at.with_name(f"{at.name}.failed")
        found = read_object(kept / "provenance.json") if status != OPEN else {}
        error = "".join((found.get("error") or "").splitlines()[:1])
        row = {"point": at.name, "status": status, "error": error}
        rows.append(row | {"seconds": found.get("seconds", "")} | dict(point.changed))
    lines = io.StringIO(newline="")
    writer = csv.DictWriter(lines, list(dict.fromkeys(k for row in rows for k in row)))
    writer.writeheader()
    writer.writerows(rows)
    write_whole(sweep.folder / "index.csv", lines.getvalue())


def load(folder: Path, table: str = "") -> "pd.DataFrame":
    """Return one table of all finished points of a sweep; without a name, their results.

    Swept parameters come first (named ``parameter_...`` where the table has a column of the name),
    then the table's columns, then point and git_commit.

    Raises
    ------
    ValueError
        If no finished point has the table; if a point is damaged, which the message names.
    """
    import pandas as pd

    with (Path(folder) / "index.csv").open(encoding="utf-8", newline="") as lines:
        done = [row["point"] for row in csv.DictReader(lines) if row["status"] == DONE]
    frames = []
    for path in (Path(folder) / name for name in done):
        provenance, file = read_object(path / "provenance.json"), path / "tables" / f"{table}.csv"
        if table and not file.is_file():
            continue
        frame = pd.read_csv(file) if table else pd.DataFrame([read_object(path / "results.json")])
        for position, (name, value) in enumerate(provenance["changed_parameters"].items()):
            single = value[0] if isinstance(value, list) and len(value) == 1 else value
            entry = single if isinstance(single, str | int | float | bool) else json.dumps(single)
            frame.insert(position, f"parameter_{name}" if name in frame else name, entry)
        frames.append(frame.assign(point=path.name, git_commit=provenance.get("git_commit")))
    if not frames:
        raise ValueError(f"table is {table!r}; no finished point in {folder} has it")
    return pd.concat(frames, ignore_index=True)


def gather(sweep: Sweep) -> None:
    """Write the tables that a sweep's file asks for, over its finished points, into its folder."""
    for table in sweep.collect:
        frame = load(sweep.folder, table)
        write_whole(sweep.folder / f"{table}.csv", frame.to_csv(index=False))
    point = sweep.points[0]
    confidential.list_files(sweep.folder, point.parameters, {"inputs": point.inputs})
