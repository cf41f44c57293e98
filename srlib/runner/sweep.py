"""Sweeps: one notebook at many settings, in parallel, to be interrupted and resumed at any time.

A sweep is a YAML file. Every point of it is a run in a folder of its own, whose name tells what
varies and ends in a hash of all parameters, the notebook and the library. What counts is what lies
whole on disk, so that the same command finishes what is left and repeats nothing. Where parameters
name files, their contents count as well.
"""

import csv
import hashlib
import io
import itertools
import json
import math
import os
import re
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from srlib.rng import stream
from srlib.runner import confidential
from srlib.runner.files import locked, remove_leftovers, write_whole
from srlib.runner.parameters import (
    SET_BY_RUNNER,
    Request,
    UsageError,
    file_parameters,
    files_at,
    find_papers,
    find_profiles,
    hash_inputs,
    plain_name,
    read_mapping,
    read_object,
    read_parameters,
    resolve,
    unknown,
)
from srlib.runner.workers import Workers, cluster, lost_process, persevering, processes

if TYPE_CHECKING:  # a second of CPU, for each process that runs points
    import pandas as pd

KEYS = (
    "paper", "profile", "base", "grid", "zip", "points", "replicates", "seed", "collect", "picture",
)  # fmt: skip
PICTURE = ("table", "x", "y", "color")
DONE, FAILED, OPEN = "done", "failed", "open"
MOST_ATTEMPTS = 3
CHANGED = "the notebook, the library or a file of data was changed after the start"
LOCKED = "another sweep runs it"
MOST_POINTS = 100_000  # each has a folder
LARGEST_SEED = 2**53  # of replicates; as a float, too, it stays the number that it is
LOST = lost_process(MOST_ATTEMPTS)
ONE_AT_A_TIME = threading.Lock()  # a process runs one notebook at a time


@dataclass(frozen=True)
class Point:
    """One setting of a sweep.

    Attributes
    ----------
    name : str
        Folder of its run.
    parameters : mapping
        All parameters, resolved.
    varied : mapping
        Those that the sweep varies.
    inputs : mapping
        SHA-256 of the files that parameters name, by path.
    """

    name: str
    parameters: Mapping[str, Any]
    varied: Mapping[str, Any]
    inputs: Mapping[str, str]


@dataclass(frozen=True)
class Sweep:
    """A sweep as its file declares it, checked against the notebook.

    Attributes
    ----------
    paper, name : str
        The notebook, and the sweep file's name without its ending.
    folder : Path
        Where the points' folders and ``index.csv`` lie.
    points : tuple of Point
        In the order of the file.
    collect : tuple of str
        Tables to gather when the sweep is done.
    picture : mapping
        Of what to draw a picture then: table, x, y and color (columns), x_title and y_title,
        log_x and log_y, and where (values of columns that its rows have). Empty: none.
    source : str
        Hash of the notebook and the library that the points are for.
    """

    paper: str
    name: str
    folder: Path
    points: tuple[Point, ...]
    collect: tuple[str, ...]
    picture: Mapping[str, Any]
    source: str

    def status(self, point: Point) -> str:
        """``"done"``, ``"failed"`` or ``"open"``, by what lies on disk."""
        if (self.folder / point.name / "provenance.json").is_file():
            return DONE
        return FAILED if self.failed_folder(point).is_dir() else OPEN

    def failed_folder(self, point: Point) -> Path:
        """Where a point that failed leaves its notebook and the reason."""
        return self.folder / f"{point.name}.failed"


def read_sweep(root: Path, file: Path, outputs: Path) -> Sweep:
    """Read a sweep file and check every point of it.

    Parameters
    ----------
    root : Path
        The project's folder.
    file : Path
        YAML: ``paper``; ``profile`` or ``base`` (a mapping), or both; ``grid`` (lists of values,
        all combinations), ``zip`` (lists of one length, taken together), ``points`` (a list of
        mappings), ``replicates`` (a number of seeds, derived from ``seed``); ``collect`` (names of
        tables); ``picture`` (as `Sweep` has it). Points are all combinations of what these give.
    outputs : Path
        Folder over all papers' runs.

    Raises
    ------
    UsageError
        One line for everything that is wrong.
    """
    content = read_mapping(file)
    if wrong := [unknown("key", str(key), KEYS) for key in content if key not in KEYS]:
        raise UsageError("\n".join(f"{file}: {line}" for line in wrong))
    paper = content.get("paper")
    if paper not in find_papers(root):
        raise UsageError(f"{file}: {unknown('paper', str(paper), find_papers(root))}")
    name = plain_name("name of a sweep's file", file.stem)
    if name in find_profiles(root, paper):
        raise UsageError(
            f"{file}: {name!r} is a profile of {paper}, whose runs have this folder; name a sweep "
            f"sweep_{name}.yaml"
        )
    rows = _rows(content, file)
    base = resolve(root, paper, content.get("profile") or "default").parameters
    declared = read_parameters(root / "notebooks" / f"{paper}.py")
    problems: dict[str, None] = {}

    def checked(values: Mapping[str, Any]) -> dict[str, Any]:
        good = {}
        for name, value in values.items():
            if name not in declared or name == SET_BY_RUNNER:
                problems[unknown("parameter", str(name), set(declared) - {SET_BY_RUNNER})] = None
                continue
            try:
                good[name] = declared[name].check(value)
            except ValueError as error:
                problems[str(error)] = None
        return good

    common, varied = checked(_mapping(content, "base", file)), [checked(row) for row in rows]
    if problems:
        raise UsageError("\n".join(f"{file}: {line}" for line in problems))
    # Imported here: hashing needs what runs notebooks, bad usage does not.
    from srlib.runner.run import source_hash

    source = source_hash((root / "notebooks" / f"{paper}.py").read_bytes())
    named = file_parameters(declared)
    settings = [{**base, **common, **row} for row in varied]
    # Each file once, however many points it is for.
    files = hash_inputs({"files": list(_paths(settings, named))}, ["files"])
    points = [
        _point(values, row, source, {p: files[p] for p in _paths([values], named) if p in files})
        for values, row in zip(settings, varied, strict=True)
    ]
    if twice := [name for name, n in Counter(point.name for point in points).items() if n > 1]:
        raise UsageError(f"{file}: {len(twice)} points occur twice, such as {min(twice)}")
    folder = outputs.resolve() / paper / name
    if (folder / "provenance.json").exists():
        raise UsageError(f"{folder} is a run's folder; rename the sweep's file")
    if not _written_here(folder / "index.csv", ("point", "status", "error", "seconds")):
        raise UsageError(f"{folder / 'index.csv'} is not of a sweep; rename the sweep's file")
    collect = content.get("collect") or []
    if not isinstance(collect, list):
        raise UsageError(f"{file}: collect must be a list of tables")
    tables = tuple(_table_name(f"{file}: table to collect", table) for table in collect)
    picture = _picture(content, file)
    if picture and "-" in name:
        raise UsageError(f"{file}: a picture has the name of its sweep's file, without hyphens")
    return Sweep(paper, name, folder, tuple(points), tables, picture, source)


def _table_name(kind: str, name: Any) -> str:
    if plain_name(kind, name) == "index":
        raise UsageError(f"{kind} is 'index', which is the sweep's own")
    return name


def _written_here(file: Path, columns: Iterable[str]) -> bool:
    """Return whether a file does not exist or has columns by which we know our own."""
    if not file.exists():
        return True
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return set(columns) <= set(next(csv.reader(lines), []))
    except (OSError, ValueError, csv.Error):
        return False


def _mapping(content: Mapping[str, Any], key: str, file: Path) -> dict[str, Any]:
    value = content.get(key) or {}
    if not isinstance(value, dict):
        raise UsageError(f"{file}: {key} must be a mapping of parameter: value")
    return value


def _picture(content: Mapping[str, Any], file: Path) -> dict[str, Any]:
    picture = _mapping(content, "picture", file)
    if "colour" in picture:  # as it was written at first
        picture["color"] = picture.pop("colour")
    titles = ("x_title", "y_title")
    known = (*PICTURE, *titles, "log_x", "log_y", "where")
    problems = [unknown("key", str(key), known) for key in picture if key not in known]
    problems += [f"lacks {key}" for key in PICTURE if picture and key not in picture]
    of_kinds = {
        **dict.fromkeys(("x", "y", "color"), (str, "the name of a column")),
        **dict.fromkeys(titles, (str, "a text")),
        **dict.fromkeys(("log_x", "log_y"), (bool, "true or false")),
    }
    for key, (kind, wanted) in of_kinds.items():
        if not isinstance(picture.get(key, kind()), kind):
            problems.append(f"{key} is {picture[key]!r}; it must be {wanted}")
    if "table" in picture:
        plain_name(f"{file}: picture: table", picture["table"])
    where = picture.get("where", {})
    if not isinstance(where, dict) or any(isinstance(v, list | dict) for v in where.values()):
        problems.append("where must be a mapping of column: value")
    if problems:
        raise UsageError("\n".join(f"{file}: picture: {line}" for line in problems))
    return picture


def _rows(content: Mapping[str, Any], file: Path) -> list[dict[str, Any]]:
    """What varies, a mapping for each point."""
    grid, together = (_mapping(content, key, file) for key in ("grid", "zip"))
    for key, values in [*grid.items(), *together.items()]:
        if not isinstance(values, list) or not values:
            raise UsageError(f"{file}: {key} must have a list of values")
    if len({len(values) for values in together.values()}) > 1:
        lengths = ", ".join(f"{key}: {len(values)}" for key, values in together.items())
        raise UsageError(f"{file}: zip needs lists of one length ({lengths})")
    points = content.get("points") or [{}]
    if not (isinstance(points, list) and all(isinstance(point, dict) for point in points)):
        raise UsageError(f"{file}: points must be a list of mappings")
    replicates, seed = content.get("replicates"), content.get("seed", 0)
    if replicates is not None and not (type(replicates) is int and replicates >= 1):
        raise UsageError(f"{file}: replicates is {replicates!r}; it must be 1 or more")
    if not (type(seed) is int and seed >= 0):
        raise UsageError(f"{file}: seed is {seed!r}; it must be 0 or more")
    sizes = [len(values) for values in grid.values()]
    sizes += [*(len(values) for values in together.values())][:1]
    n_points = math.prod([*sizes, len(points), replicates or 1])
    if n_points > MOST_POINTS:
        raise UsageError(f"{file}: {n_points:,} points; a sweep has at most {MOST_POINTS:,}")
    seeds = [
        {"seed": int(stream(seed, f"replicate {i}").integers(LARGEST_SEED))}
        for i in range(replicates or 0)
    ] or [{}]
    parts = [
        [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())],
        [
            dict(zip(together, values, strict=True))
            for values in zip(*together.values(), strict=True)
        ]
        or [{}],
        points,
        seeds,
    ]
    named = [set().union(*part) for part in parts]
    for a, b in itertools.combinations(named, 2):
        if both := a & b:
            raise UsageError(f"{file}: {', '.join(sorted(both))} varies in two places")
    return [
        {name: value for part in chosen for name, value in part.items()}
        for chosen in itertools.product(*parts)
    ]


def _paths(settings: Iterable[Mapping[str, Any]], names: Iterable[str]) -> dict[str, None]:
    """Return the files that parameters name, each once."""
    found: dict[str, None] = {}
    for values in settings:
        for name in names:
            value = values[name]
            for path in value if isinstance(value, list) else [value]:
                found |= dict.fromkeys(files_at(str(path)))
    return found


def _point(
    parameters: Mapping[str, Any],
    varied: Mapping[str, Any],
    source: str,
    inputs: Mapping[str, str],
) -> Point:
    def shown(value: Any) -> str:
        single = value[0] if isinstance(value, list) and len(value) == 1 else value
        return re.sub(r"[^\w.+-]+", "_", str(single)).strip("_")

    slug = ",".join(f"{name}={shown(value)}" for name, value in varied.items())[:100] or "point"
    content = json.dumps([parameters, source, *([inputs] if inputs else [])], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    return Point(f"{slug}-{digest}", parameters, varied, inputs)


def shard(points: Iterable[Point], part: str) -> list[Point]:
    """Every n-th point, from the i-th on, for ``"i/n"`` with i from 1 to n.

    Raises
    ------
    UsageError
        If the part is not of this form.
    """
    found = re.fullmatch(r"(\d+)/(\d+)", part)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"shard is {part!r}; it must be i/n with i from 1 to n")
    return list(points)[int(found[1]) - 1 :: int(found[2])]


# --------------------------------------------------------------------------------------- running


def _run_point(
    root: Path, request: Request, outputs: Path, retry_failed: bool, **settings: Any
) -> str:
    """Run one point in a worker unless somebody else does; return why it failed, or nothing."""
    folder = outputs / request.paper / request.profile
    failed = folder.with_name(f"{folder.name}.failed")
    with locked(folder.with_name(f".lock-{folder.name}")) as is_mine:
        if not is_mine:
            return LOCKED
        # Another sweep may have come to it since this one began.
        if (folder / "provenance.json").is_file() or (failed.is_dir() and not retry_failed):
            return ""
        shutil.rmtree(failed, ignore_errors=True)
        failure = _run_alone(root, request, outputs, **settings)
        if failure == CHANGED:
            # The point is of what was there before, and has not been tried with it.
            shutil.rmtree(failed, ignore_errors=True)
    return failure


def _run_alone(root: Path, request: Request, outputs: Path, **settings: Any) -> str:
    from srlib.runner.run import NotebookFailed, SourceChanged, run

    # Processes of ours have their share of threads; those of a cluster are told of OpenMP's only.
    os.environ.setdefault("NUMBA_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
    try:
        with ONE_AT_A_TIME:
            run(root, request, outputs, bar=None, **settings)
    except SourceChanged:
        return CHANGED
    except NotebookFailed as error:
        return str(error)
    return ""


def run_sweep(
    root: Path,
    sweep: Sweep,
    points: Iterable[Point],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    with_report: bool = False,
    time_limit: float | None = None,
    retry_failed: bool = False,
) -> int:
    """Run the points that are not done, and write ``index.csv``.

    A point whose process is lost is run again; the last time alone, so that the blame is its own.
    A point during which notebook, library or a file of data changed stays open, and so do all
    after it that are of what was there before. A point that another sweep runs is left to it.

    Parameters
    ----------
    root : Path
        The project's folder.
    sweep : Sweep
        As `read_sweep` returns.
    points : iterable of Point
        Those to take care of; all of the sweep's, or a shard.
    jobs : int
        Processes, 1 or more; a kernel each.
    scheduler : str, optional
        Address of a Dask cluster that runs the points instead. Its workers see the project and the
        sweep's folder under the same paths.
    with_report : bool
        Whether to write a report for each point.
    time_limit : float, optional
        Seconds for each point.
    retry_failed : bool
        Whether points that failed before are run again.

    Returns
    -------
    int
        Number of these points that are not done.

    Raises
    ------
    ClusterGone
        If the cluster cannot be reached any more; ``index.csv`` is written.
    """
    chosen = list(points)
    wanted = {OPEN, FAILED} if retry_failed else {OPEN}
    left = [point for point in chosen if sweep.status(point) in wanted]
    private = any(point.inputs for point in sweep.points)
    sweep.folder.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
    for name in remove_leftovers(sweep.folder):
        print(f"{sweep.name}: removed {name}, left by a run that was killed", file=sys.stderr)
    settings: dict[str, Any] = {"with_report": with_report, "time_limit": time_limit}
    settings |= {"retry_failed": retry_failed, "cwd": Path.cwd()}
    named = {point.name: point for point in left}
    failed = changed = 0
    elsewhere: list[Point] = []

    def place(alone: bool) -> AbstractContextManager[Workers]:
        return cluster(scheduler) if scheduler else processes(1 if alone else jobs)

    def submit(executor: Executor, name: str) -> Future[str]:
        point = named[name]
        profile = f"{sweep.name}/{point.name}"
        request = Request(
            sweep.paper, profile, point.parameters, point.varied, point.inputs, source=sweep.source
        )
        return executor.submit(_run_point, root, request, sweep.folder.parents[1], **settings)

    bar = tqdm(
        total=len(chosen), initial=len(chosen) - len(left), desc=sweep.name, unit="point",
        disable=not sys.stderr.isatty(),
    )  # fmt: skip
    write_index(sweep)
    try:
        for name, future in persevering(place, submit, named, MOST_ATTEMPTS):
            failure = _failure(future)
            if failure == CHANGED:
                changed += 1
            elif failure == LOCKED:
                elsewhere.append(named[name])
            elif failure:
                failed += 1
                _keep_failure(sweep, named[name], failure)
                tqdm.write(f"{name}: {failure.splitlines()[0]}", file=sys.stderr)
            bar.update(1)
            bar.set_postfix(failed=failed)
    finally:
        bar.close()
        remove_leftovers(sweep.folder)  # of processes that this one has killed
        write_index(sweep)
    if running := sum(sweep.status(point) != DONE for point in elsewhere):
        print(f"{LOCKED}: {running} points are left to it", file=sys.stderr)
    if changed:
        print(f"{CHANGED}: {changed} points are left open", file=sys.stderr)
    return sum(sweep.status(point) != DONE for point in chosen)


def _failure(future: Future[str]) -> str:
    """Why a point failed; nothing where it did not."""
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        return LOST
    return f"{type(error).__name__}: {error}" if error else future.result()


def _keep_failure(sweep: Sweep, point: Point, failure: str) -> None:
    """Leave word of a failure that left none itself, as far as the disk takes it."""
    folder = sweep.failed_folder(point)
    content = {"status": "failed", "error": failure, "changed_parameters": dict(point.varied)}
    if not folder.exists():
        with suppress(OSError):
            folder.mkdir()
            (folder / "provenance.json").write_text(json.dumps(content, indent=2) + "\n")


def describe(sweep: Sweep, points: Iterable[Point], jobs: int) -> str:
    """What a sweep would do: points, the first few, which are done, time and memory for the rest.

    Time and memory are estimated from the points that are done.
    """
    chosen = list(points)
    status = [sweep.status(point) for point in chosen]
    done = [
        _provenance(sweep.folder / point.name)
        for point, state in zip(chosen, status, strict=True)
        if state == DONE
    ]
    lines = [f"{sweep.paper}, {sweep.name}: {len(chosen)} points in {sweep.folder}"]
    lines += [f"  {point.name}: {state}" for point, state in zip(chosen[:5], status, strict=False)]
    lines += ["  ..."] if len(chosen) > 5 else []
    lines.append(", ".join(f"{status.count(word)} {word}" for word in (DONE, FAILED, OPEN)))
    if done:
        mean = sum(found.get("seconds", 0.0) for found in done) / len(done)
        rest = mean * (len(chosen) - len(done)) / jobs
        lines.append(f"{mean:.1f} s a point; about {rest / 60:.1f} minutes left with {jobs} jobs")
    if memory := [found["kernel_mb"] for found in done if found.get("kernel_mb")]:
        lines.append(f"up to {max(memory):.0f} MB a kernel, {jobs * max(memory):.0f} MB in all")
    lines += other_versions(sweep)
    return "\n".join(lines)


def other_versions(sweep: Sweep) -> list[str]:
    """Say how many finished points in the folder this version of the sweep does not have, and why.

    Parameters
    ----------
    sweep : Sweep
        As `read_sweep` returns.

    Returns
    -------
    list of str
        A line for each set of files that have changed since, and one for all other points.
    """
    names = {point.name for point in sweep.points}
    now = {path: digest for point in sweep.points for path, digest in point.inputs.items()}
    reasons: Counter[str] = Counter()
    for path in sorted(sweep.folder.glob("*/provenance.json")):
        name = path.parent.name
        if name in names or name.startswith(".tmp-") or name.endswith(".failed"):
            continue
        then = _provenance(path.parent).get("inputs") or {}
        changed = sorted(file for file, digest in then.items() if now.get(file, digest) != digest)
        reasons["contents of " + ", ".join(changed) if changed else ""] += 1
    return [
        f"{n} folders belong to other {reason or 'versions of notebook or library'}"
        for reason, n in reasons.items()
    ]


# ------------------------------------------------------------------------------------- collecting


def _provenance(folder: Path) -> dict[str, Any]:
    try:
        return read_object(folder / "provenance.json")
    except (OSError, ValueError):
        return {}


def write_index(sweep: Sweep) -> Path:
    """Write ``index.csv``, a row a point, from what lies on disk; whole or not at all."""
    rows = []
    for point in sweep.points:
        status = sweep.status(point)
        folder = sweep.folder / point.name if status == DONE else sweep.failed_folder(point)
        found = _provenance(folder) if status != OPEN else {}
        error = (found.get("error") or "").splitlines()[:1]
        row = {"point": point.name, "status": status, "error": "".join(error)}
        rows.append(row | {"seconds": found.get("seconds", "")} | dict(point.varied))
    path, lines = sweep.folder / "index.csv", io.StringIO(newline="")
    writer = csv.DictWriter(lines, list(dict.fromkeys(k for row in rows for k in row)))
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, lines.getvalue())
    return path


def finished(folder: Path) -> list[Path]:
    """Folders of a sweep's finished points: those of ``index.csv``, in its order.

    Without it all that the folder holds, in the order of their names. Points of another version of
    the notebook or the library are in no index of this one.

    Raises
    ------
    ValueError
        If the index is not as it was written; the message names it.
    """
    index = Path(folder) / "index.csv"
    if index.is_file():
        try:
            with index.open(encoding="utf-8", newline="") as lines:
                names = [row["point"] or "" for row in csv.DictReader(lines)]
        except KeyError:
            raise ValueError(f"{index} is damaged: it has no column 'point'") from None
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{index} is damaged: {error}") from None
    else:
        kept = (path.parent.name for path in Path(folder).glob("*/provenance.json"))
        names = sorted(n for n in kept if not n.startswith(".tmp-") and not n.endswith(".failed"))
    return [Path(folder) / n for n in names if (Path(folder) / n / "provenance.json").is_file()]


def load(folder: Path, table: str | None = None) -> "pd.DataFrame":
    """One table of all finished points of a sweep, or their results.

    Parameters
    ----------
    folder : Path
        The sweep's folder; it may be unfinished.
    table : str, optional
        Name of a table; if not given, the scalars of ``results.json``, a row a point.

    Returns
    -------
    DataFrame
        Swept parameters first (named ``parameter_...`` where the table has a column of the name),
        then the table's columns, then point and git_commit. How long points took is in
        ``index.csv``: all else is the same whenever and wherever they are run.

    Raises
    ------
    ValueError
        If the folder has no finished point, or none of them has the table, or its name is none; if
        the index or a point is damaged, which the message names.
    """
    if table is not None:
        _table_name("table", table)
    import pandas as pd

    frames = []
    points = finished(folder)
    if not points:
        raise ValueError(f"folder {folder} has no finished point")
    for path in points:
        try:
            frame = _of_point(path, table)
        except ValueError as error:
            raise ValueError(f"point {path.name}: {error}") from None
        if frame is not None:
            frames.append(frame)
    if not frames:
        raise ValueError(f"table is {table!r}; no finished point has it")
    return pd.concat(frames, ignore_index=True)


def _of_point(path: Path, table: str | None) -> "pd.DataFrame | None":
    """Return a point's part of what `load` does, or None where it has no such table."""
    import pandas as pd

    provenance, file = read_object(path / "provenance.json"), path / "tables" / f"{table}.csv"
    varied = provenance.get("changed_parameters")
    if not isinstance(varied, dict):
        raise ValueError("provenance.json is damaged: changed_parameters holds no object")
    if table is None:
        results = path / "results.json"
        frame = pd.DataFrame([read_object(results) if results.exists() else {}])
    elif file.exists():
        try:
            frame = pd.read_csv(file)
        except ValueError as error:
            raise ValueError(f"{file.name} is damaged: {error}") from None
    else:
        return None
    for position, (name, value) in enumerate(varied.items()):
        single = value[0] if isinstance(value, list) and len(value) == 1 else value
        label = f"parameter_{name}" if name in frame else name
        entry = single if isinstance(single, str | int | float | bool) else json.dumps(single)
        frame.insert(position, label, entry)
    return frame.assign(point=path.name, git_commit=provenance.get("git_commit"))


def gather(folder: Path, table: str | None = None) -> "pd.DataFrame":
    """Write what `load` returns as ``TABLE.csv`` into the sweep's folder, whole or not at all.

    A table that is confidential in a point's folder is named in ``CONFIDENTIAL.txt`` here too.

    Parameters
    ----------
    folder, table
        As of `load`; without a table the file is ``results.csv``.

    Raises
    ------
    ValueError
        As `load`, and if the file is there already and was not gathered.
    """
    frame = load(folder, table)
    path = Path(folder) / f"{table or 'results'}.csv"
    if not _written_here(path, ("point", "git_commit")):
        raise ValueError(f"{path} is there already and was not gathered from points; move it away")
    write_whole(path, frame.to_csv(index=False))
    _mark_confidential(folder, path.name, f"tables/{table}.csv" if table else "results.json")
    return frame


def gather_asked(sweep: Sweep) -> None:
    """Write the tables and the picture that a sweep's file asks for, of its finished points.

    Raises
    ------
    ValueError
        As `gather`, and if the table has no column that the picture shows.
    """
    for table in sweep.collect:
        gather(sweep.folder, table)
    if sweep.picture:
        from srlib import charts
        from srlib.runner.outputs import Outputs

        settings = dict(sweep.picture)
        table = settings.pop("table")
        Outputs(sweep.folder).figure(
            sweep.name, charts.sweep(load(sweep.folder, table), **settings)
        )
        for ending in ("svg", "vl.json"):
            _mark_confidential(
                sweep.folder, f"figures/{sweep.name}.{ending}", f"tables/{table}.csv"
            )


def _mark_confidential(folder: Path, name: str, made_of: str) -> None:
    """Name a file in a sweep's ``CONFIDENTIAL.txt`` if what it is made of is in a point's."""
    listed = (confidential.names(p / confidential.CONFIDENTIAL_FILES) for p in finished(folder))
    if any(made_of in names for names in listed):
        mark = Path(folder) / confidential.CONFIDENTIAL_FILES
        lines = "".join(f"{line}\n" for line in sorted({*confidential.names(mark), name}))
        mark.write_text(lines, encoding="utf-8")
