"""Sweeps: one notebook at many settings, in parallel, to be interrupted and resumed at any time.

A sweep is a YAML file. Every point of it is a run in a folder of its own, whose name tells what
varies and ends in a hash of all parameters, the notebook and the library. What counts is what lies
whole on disk, of files that hold the same: the same command finishes what is left, repeats nothing,
and tries again what failed.
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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from unittest import mock

from pydantic import BaseModel, Field, ValidationError
from tqdm import tqdm

from srlib.checks import printable
from srlib.rng import stream
from srlib.runner import parameters as settings
from srlib.runner.files import settle_leftovers, write_whole
from srlib.runner.parameters import Request, UsageError, read_mapping
from srlib.runner.run import NotebookFailed, run

if TYPE_CHECKING:  # a second of CPU, for each process that runs points
    import pandas as pd

MOST_POINTS = 1_000_000
_PATIENCE = 10.0  # seconds for a cluster to answer
_ONE_AT_A_TIME = threading.Lock()  # in a worker of a cluster: a run has its folder and umask


class Plan(BaseModel, extra="forbid", strict=True):
    """A sweep's file: its points are all combinations of grid, points and replicates.

    ``base`` goes over the profile. Each of ``points`` holds values that are taken together.
    ``replicates`` is a number of seeds derived from ``seed``, ``collect`` names tables.
    """

    paper: str
    profile: str = "default"
    base: dict[str, Any] = {}
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    points: Annotated[list[dict[str, Any]], Field(min_length=1)] = [{}]
    replicates: Annotated[int, Field(ge=1, le=MOST_POINTS)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    collect: list[Annotated[str, Field(pattern="^[A-Za-z0-9_]{1,100}$")]] = []

    def rows(self) -> list[dict[str, Any]]:
        """Return what varies, a mapping for each point."""
        axes = [[{name: value} for value in values] for name, values in self.grid.items()]
        seeds = (stream(self.seed, f"replicate {i}") for i in range(self.replicates or 0))
        # As floats, too, they stay the numbers that they are.
        axes += [self.points, [{"seed": int(one.integers(2**53))} for one in seeds] or [{}]]
        names = [name for axis in axes for name in set().union(*axis)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"{', '.join(twice)} varies in two places")
        if (many := math.prod(map(len, axes))) > MOST_POINTS:
            raise UsageError(f"it has {many:,} points; there may be {MOST_POINTS:,}")
        return [dict(itertools.chain(*map(dict.items, row))) for row in itertools.product(*axes)]


def read_sweep(root: Path, file: Path, outputs: Path) -> tuple[list[Request], list[str]]:
    """Return the points of a sweep's file, and the tables to gather over them.

    Every point is checked; the UsageError has a line for each fault.
    """
    try:
        plan = Plan(**read_mapping(file))
    except ValidationError as error:
        told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        raise UsageError("\n".join(f"{printable(file)}: {line}" for line in told)) from None
    base, wrong = settings.resolve(root, outputs, plan.paper, plan.profile), list[str]()
    declared = settings.read_parameters(base.notebook)
    common = {**base.parameters, **settings.check_values(declared, plan.base, wrong)}
    rows = [settings.check_values(declared, row, wrong) for row in plan.rows()]
    if wrong:
        raise UsageError("\n".join(f"{printable(file)}: {line}" for line in dict.fromkeys(wrong)))
    # No profile begins with sweep_: its runs have other folders.
    folder = base.folder.with_name("sweep_" + file.stem.removeprefix("sweep_"))
    points, of_all = {}, settings.hash_inputs(common)  # large files are read once
    for row in rows:
        values = common | row
        alike = row.keys().isdisjoint(settings.FILE_PARAMETERS)
        inputs = of_all if alike else settings.hash_inputs(values)
        # Without what files hold: names are printed, and would let guesses at records be tested.
        content = json.dumps([values, base.source], sort_keys=True).encode()
        slug = re.sub(r"[^\w.,=+-]", "", ",".join(f"{name}={value}" for name, value in row.items()))
        place = folder / f"{slug[:100] or 'point'}-{hashlib.sha256(content).hexdigest()[:12]}"
        points[place] = base._replace(folder=place, parameters=values, changed=row, inputs=inputs)
    return list(points.values()), plan.collect


def run_sweep(
    points: Sequence[Request], chosen: Sequence[Request], tables: Sequence[str] = (),
    *, jobs: int = 1, scheduler: str = "",
) -> None:  # fmt: skip
    """Run those of a sweep's points that are chosen and not done, and write ``index.csv``.

    When all points are done, tables are written over all of them.
    They run in processes here, a kernel each, or on a Dask cluster, whose workers see the project
    and the sweep's folder under the same paths.
    """
    folder = points[0].folder.parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    settle_leftovers(folder)  # some may be done
    left = [one for one in chosen if one.status != "done"]
    write_index(points, lost := {})  # of an unfinished sweep, too, there are tables
    try:
        with workers(jobs, scheduler) as pool:
            futures = {pool.submit(_run_point, one, Path.cwd()): one.folder.name for one in left}
            title = printable(folder.name)
            bar = tqdm(as_completed(futures), title, len(left), unit="point", disable=None)
            for future in bar:
                if error := future.exception():  # also of a worker that was lost
                    known, name = isinstance(error, NotebookFailed | OSError), futures[future]
                    lost[name] = str(error) if known else type(error).__name__
                    tqdm.write(f"{name}: {lost[name]}", file=sys.stderr)
    finally:
        write_index(points, lost)  # and what killed processes have left beside it goes
    for table in tables if all(point.status == "done" for point in points) else ():
        write_whole(folder / f"{table}.csv", load(folder, table).to_csv(index=False))


def _prepare(threads: int) -> None:
    """Give a worker its share of threads, and let it end with its parent alone."""
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's to handle

    def watch() -> None:
        # Also of one that was gone when this process started.
        multiprocessing.parent_process().join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def workers(jobs: int, scheduler: str = "") -> Iterator[Executor]:
    """Yield an executor: processes of this machine, or the Dask cluster at an address.

    Whatever ends it before the work is done kills the processes, and takes back what the cluster
    has not begun.
    """
    if scheduler:
        from distributed import Client

        with Client(scheduler, timeout=_PATIENCE, set_as_default=False) as client:
            yield client.get_executor(pure=False)  # tasks that look alike are still several
        return
    share, spawn = max(1, (os.cpu_count() or 1) // jobs), multiprocessing.get_context("spawn")
    # A process that it starts removes the semaphores of one that was ended: that is no news.
    quiet = f"{os.environ.get('PYTHONWARNINGS', '')},ignore:resource_tracker"
    with mock.patch.dict(os.environ, PYTHONWARNINGS=quiet):
        executor = ProcessPoolExecutor(jobs, spawn, _prepare, (share,))
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
    with _ONE_AT_A_TIME:
        os.chdir(cwd)
        run(point)


def write_index(points: Sequence[Request], lost: Mapping[str, str]) -> None:
    """Write ``index.csv``, a row a point, from what lies on disk, and why others do not."""
    import pandas as pd

    rows = []
    for point in points:
        name, about = point.folder.name, point.provenance
        error = about.get("error", "") if about else lost.get(name, "")
        row = {"point": name, "status": point.status, "error": error.partition("\n")[0]}
        rows.append(row | {"seconds": about.get("seconds"), **point.changed})
    write_whole(points[0].folder.with_name("index.csv"), pd.DataFrame(rows).to_csv(index=False))


def load(folder: Path, table: str = "") -> "pd.DataFrame":
    """Return one table of all finished points of a sweep; without a name, their results.

    The sweep itself may be unfinished. Swept parameters come first (named ``parameter_...`` where
    the table has a column of the name), then the table's columns, then point and git_commit.

    Raises
    ------
    ValueError
        If no finished point has the table; if a point is damaged, which the message names.
    """
    import pandas as pd

    frames, held = [], f"tables/{table}.csv" if table else "results.json"
    for name in pd.read_csv(folder / "index.csv")["point"]:
        if not (file := folder / name / held).is_file():
            continue
        frame = pd.read_csv(file) if table else pd.DataFrame([read_mapping(file)])
        about, varied = read_mapping(folder / name / "provenance.json"), {}
        for parameter, value in about["changed_parameters"].items():
            single = value[0] if isinstance(value, list) and len(value) == 1 else value
            entry = single if isinstance(single, str | int | float | bool) else json.dumps(single)
            varied[f"parameter_{parameter}" if parameter in frame else parameter] = entry
        frame = pd.concat([pd.DataFrame(varied, frame.index), frame], axis=1)
        frames.append(frame.assign(point=name, git_commit=about.get("git_commit")))
    if not frames:
        raise ValueError(f"table is {table!r}; no finished point in {folder} has it")
    return pd.concat(frames, ignore_index=True)
