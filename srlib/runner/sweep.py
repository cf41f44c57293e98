"""Sweeps: run a notebook at many settings, in parallel; interrupt and resume them.

A sweep is a YAML file. Each of its points is a run in its own folder; the folder's name
has the values that vary and ends in a hash of all parameters, the notebook and the
library. A point is done if its complete run on the same files is on disk. The same
command runs the remaining points, tries failed ones again, and repeats nothing.
"""

import hashlib
import itertools
import json
import math
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from unittest import mock

from pydantic import BaseModel, Field, ValidationError
from tqdm import tqdm

from srlib.checks import duplicates, printable
from srlib.rng import stream
from srlib.runner.files import settle_leftovers, write_whole
from srlib.runner.parameters import (
    FILE_PARAMETERS,
    Request,
    UsageError,
    Values,
    check_values,
    hash_inputs,
    read_mapping,
    read_parameters,
    resolve,
    usage_error,
)
from srlib.runner.run import NotebookFailed, run

if TYPE_CHECKING:  # importing it costs a second in every process
    import pandas as pd

MOST_POINTS = 1_000_000
_PATIENCE = 10.0  # seconds to wait for a cluster
_ONE_AT_A_TIME = threading.Lock()  # in a cluster's worker: a run sets folder and umask


class Plan(BaseModel, extra="forbid", strict=True):
    """A sweep file: its points are all combinations of grid, points and replicates.

    ``base`` replaces values of the profile. Each of ``points`` has values that are used
    together. ``replicates`` is the number of seeds derived from ``seed``; ``collect``
    names tables.
    """

    paper: str
    profile: str = "default"
    base: Values = {}
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    points: Annotated[list[Values], Field(min_length=1)] = [{}]
    replicates: Annotated[int, Field(ge=1, le=MOST_POINTS)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    collect: list[Annotated[str, Field(pattern="^[A-Za-z0-9_]{1,100}$")]] = []

    def rows(self) -> list[Values]:
        """Return the varying values, a mapping for each point."""
        axes: list[list[Values]] = [
            [{name: value} for value in values] for name, values in self.grid.items()
        ]
        axes.append(self.points)
        if self.replicates:
            replicates = range(self.replicates)
            streams = (stream(self.seed, f"replicate {i}") for i in replicates)
            # Below 2**53: exact as floats, too.
            axes.append([{"seed": int(rng.integers(2**53))} for rng in streams])
        names = [set().union(*axis) for axis in axes]
        if twice := sorted(duplicates(itertools.chain(*names))):
            raise UsageError(f"{', '.join(twice)} is varied in two places")
        n_points = math.prod(map(len, axes))
        if n_points > MOST_POINTS:
            raise UsageError(
                f"the sweep has {n_points:,} points; "
                f"at most {MOST_POINTS:,} are allowed"
            )
        return [reduce(or_, parts, {}) for parts in itertools.product(*axes)]


def read_sweep(
    root: Path, file: Path, outputs: Path
) -> tuple[list[Request], list[str]]:
    """Return the points of a sweep file, and the names of the tables to collect.

    Every point is checked; a UsageError has a line for each error.
    """
    plan = _read_plan(file)
    base = resolve(root, outputs, plan.paper, plan.profile)
    declared = read_parameters(base.notebook)
    errors: list[str] = []
    common = base.parameters | check_values(declared, plan.base, errors)
    rows = [check_values(declared, row, errors) for row in plan.rows()]
    if errors:
        raise usage_error(printable(file), dict.fromkeys(errors))

    # No profile begins with sweep_, so the folders differ from those of runs.
    folder = base.folder.with_name("sweep_" + file.stem.removeprefix("sweep_"))
    base = base._replace(
        folder=folder,
        parameters=common,
        inputs=hash_inputs(common),
    )
    points = [_point(base, row) for row in rows]
    distinct = {point.folder: point for point in points}
    return list(distinct.values()), plan.collect


def _read_plan(file: Path) -> Plan:
    """Read a sweep file."""
    try:
        return Plan(**read_mapping(file))
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors()
        ]
        raise usage_error(printable(file), problems) from None


def _point(base: Request, row: Values) -> Request:
    """Return the request for a point, in a folder in that of the sweep's base."""
    parameters = base.parameters | row
    inputs = base.inputs  # large files are read once
    if not row.keys().isdisjoint(FILE_PARAMETERS):
        inputs = hash_inputs(parameters)
    # Without the hashes of inputs: names are printed, and guesses at records could be
    # tested.
    content = json.dumps([parameters, base.source], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    values = ",".join(f"{name}={value}" for name, value in row.items())
    slug = re.sub(r"[^\w.,=+-]", "", values)[:100] or "point"
    folder = base.folder / f"{slug}-{digest}"
    return base._replace(
        folder=folder, parameters=parameters, changed=row, inputs=inputs
    )


def run_sweep(
    points: Sequence[Request],
    chosen: Sequence[Request],
    tables: Sequence[str] = (),
    *,
    jobs: int = 1,
    scheduler: str = "",
) -> None:
    """Run the chosen points of a sweep that are not done, and write ``index.csv``.

    They run in local processes, each with a kernel, or on a Dask cluster whose workers
    have the project and the sweep's folder under the same paths. When all points of the
    sweep are done, the collected tables are written.
    """
    folder = points[0].folder.parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    settle_leftovers(folder)  # some points may be done
    open_points = [point for point in chosen if point.status != "done"]
    errors: dict[str, str] = {}
    if open_points:  # what was collected before is not of these points
        for table in tables:
            (folder / f"{table}.csv").unlink(missing_ok=True)
    write_index(points, errors)  # an unfinished sweep has an index, too
    try:
        with workers(jobs, scheduler) as pool:
            _run_points(pool, open_points, printable(folder.name), errors)
    finally:
        write_index(points, errors)  # and remove leftovers of killed processes
    if all(point.status == "done" for point in points):
        for table in tables:
            content = load(folder, table).to_csv(index=False)
            write_whole(folder / f"{table}.csv", content)


def _run_points(
    pool: Executor, points: Sequence[Request], title: str, errors: dict[str, str]
) -> None:
    """Run points, and add the errors of those that fail, by the name of the point."""
    futures = {
        pool.submit(_run_point, point, Path.cwd()): point.folder.name
        for point in points
    }
    bar = tqdm(
        as_completed(futures),
        title,
        len(futures),
        unit="point",
        disable=None,
    )
    for future in bar:
        if error := future.exception():  # also if a worker was lost
            message = type(error).__name__
            if isinstance(error, NotebookFailed | OSError):
                message = str(error)
            name = futures[future]
            errors[name] = message
            tqdm.write(f"{name}: {message}", file=sys.stderr)


def _prepare(threads: int) -> None:
    """Give a worker its share of threads, and end it only with its parent."""
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
    # The terminal's Ctrl-C is the parent's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        # Returns at once if the parent had ended before this process started.
        multiprocessing.parent_process().join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def workers(jobs: int, scheduler: str = "") -> Iterator[Executor]:
    """Yield an executor: processes on this machine, or the Dask cluster at an address.

    If it ends before the work is done, the processes are killed and tasks that the
    cluster has not begun are canceled.
    """
    if scheduler:
        from distributed import Client

        with Client(scheduler, timeout=_PATIENCE, set_as_default=False) as client:
            yield client.get_executor(pure=False)  # equal tasks are run each
        return
    threads = max(1, (os.cpu_count() or 1) // jobs)
    spawn = multiprocessing.get_context("spawn")
    # A helper process removes the semaphores of ended processes; its warning is not
    # needed.
    quiet = f"{os.environ.get('PYTHONWARNINGS', '')},ignore:resource_tracker"
    with mock.patch.dict(os.environ, PYTHONWARNINGS=quiet):
        executor = ProcessPoolExecutor(jobs, spawn, _prepare, (threads,))
    with executor as pool:
        try:
            yield pool
        except BaseException:
            # From Python 3.14 on this is pool.kill_workers().
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(cancel_futures=True)
            raise


def _run_point(point: Request, cwd: Path) -> None:
    """Run a point in a worker, in the folder in which the command was given."""
    with _ONE_AT_A_TIME:
        os.chdir(cwd)
        run(point)


def write_index(points: Sequence[Request], errors: dict[str, str]) -> None:
    """Write ``index.csv``, a row per point, by the runs on disk.

    The errors are those of points that left no run, by name.
    """
    import pandas as pd

    rows = []
    for point in points:
        name = point.folder.name
        provenance = point.provenance
        error = provenance.get("error", "") if provenance else errors.get(name, "")
        rows.append(
            {
                "point": name,
                "status": point.status,
                "error": error.partition("\n")[0],
                "seconds": provenance.get("seconds"),
                **point.changed,
            }
        )
    index = pd.DataFrame(rows).to_csv(index=False)
    write_whole(points[0].folder.with_name("index.csv"), index)


def load(folder: Path, table: str = "") -> "pd.DataFrame":
    """Return a table of all finished points of a sweep; without a name, their results.

    The sweep may be unfinished. The varying parameters come first (named
    ``parameter_...`` if the table has a column of the same name), then the table's
    columns, then point and git_commit.

    Raises
    ------
    ValueError
        If no finished point has the table, or if a point, named in the message, is
        damaged.
    """
    import pandas as pd

    held = f"tables/{table}.csv" if table else "results.json"
    frames = []
    for name in pd.read_csv(folder / "index.csv")["point"]:
        file = folder / name / held
        if file.is_file():
            frame = pd.read_csv(file) if table else pd.DataFrame([read_mapping(file)])
            frames.append(_with_provenance(frame, folder / name))
    if not frames:
        raise ValueError(f"table is {table!r}; no finished point in {folder} has it")
    return pd.concat(frames, ignore_index=True)


def _with_provenance(frame: "pd.DataFrame", point: Path) -> "pd.DataFrame":
    """Return a point's table with its varying parameters, its name and the commit."""
    provenance = read_mapping(point / "provenance.json")
    parameters = {}
    for name, value in provenance["changed_parameters"].items():
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, str | int | float):
            value = json.dumps(value)
        parameters[f"parameter_{name}" if name in frame else name] = value
    frame = frame.assign(**parameters)[[*parameters, *frame]]
    return frame.assign(point=point.name, git_commit=provenance.get("git_commit"))
