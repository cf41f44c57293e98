"""Sweeps: run a notebook at many settings, in parallel; interrupt and resume at any time.

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

if TYPE_CHECKING:  # importing it costs a second in every process
    import pandas as pd

MOST_POINTS = 1_000_000
_PATIENCE = 10.0  # seconds to wait for a cluster
_ONE_AT_A_TIME = (
    threading.Lock()
)  # in a worker of a cluster: a run sets folder and umask


class Plan(BaseModel, extra="forbid", strict=True):
    """A sweep file: its points are all combinations of grid, points and replicates.

    ``base`` replaces values of the profile. Each of ``points`` has values that are used
    together. ``replicates`` is the number of seeds derived from ``seed``; ``collect``
    names tables.
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
        """Return the varying values, a mapping for each point."""
        axes = [
            [{name: value} for value in values] for name, values in self.grid.items()
        ]
        seeds = (
            stream(self.seed, f"replicate {i}") for i in range(self.replicates or 0)
        )
        # Seeds below 2**53 are exact as floats, too.
        axes += [
            self.points,
            [{"seed": int(one.integers(2**53))} for one in seeds] or [{}],
        ]
        names = [name for axis in axes for name in set().union(*axis)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"{', '.join(twice)} is varied in two places")
        if (many := math.prod(map(len, axes))) > MOST_POINTS:
            raise UsageError(
                f"the sweep has {many:,} points; at most {MOST_POINTS:,} are allowed"
            )
        return [
            dict(itertools.chain(*map(dict.items, row)))
            for row in itertools.product(*axes)
        ]


def read_sweep(
    root: Path, file: Path, outputs: Path
) -> tuple[list[Request], list[str]]:
    """Return the points of a sweep file, and the names of the tables to collect.

    Every point is checked; a UsageError has a line for each error.
    """
    try:
        plan = Plan(**read_mapping(file))
    except ValidationError as error:
        lines = [
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
        ]
        raise UsageError(
            "\n".join(f"{printable(file)}: {line}" for line in lines)
        ) from None
    base, wrong = settings.resolve(root, outputs, plan.paper, plan.profile), list[str]()
    declared = settings.read_parameters(base.notebook)
    common = {**base.parameters, **settings.check_values(declared, plan.base, wrong)}
    rows = [settings.check_values(declared, row, wrong) for row in plan.rows()]
    if wrong:
        raise UsageError(
            "\n".join(f"{printable(file)}: {line}" for line in dict.fromkeys(wrong))
        )
    # No profile begins with sweep_, so the folders differ from those of runs.
    folder = base.folder.with_name("sweep_" + file.stem.removeprefix("sweep_"))
    points, of_all = {}, settings.hash_inputs(common)  # large files are read once
    for row in rows:
        values = common | row
        alike = row.keys().isdisjoint(settings.FILE_PARAMETERS)
        inputs = of_all if alike else settings.hash_inputs(values)
        # Without the hashes of inputs: names are printed, and guesses at records could
        # be tested.
        content = json.dumps([values, base.source], sort_keys=True).encode()
        slug = re.sub(
            r"[^\w.,=+-]",
            "",
            ",".join(f"{name}={value}" for name, value in row.items()),
        )
        place = (
            folder
            / f"{slug[:100] or 'point'}-{hashlib.sha256(content).hexdigest()[:12]}"
        )
        points[place] = base._replace(
            folder=place, parameters=values, changed=row, inputs=inputs
        )
    return list(points.values()), plan.collect


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
    left = [one for one in chosen if one.status != "done"]
    write_index(points, lost := {})  # an unfinished sweep has an index, too
    try:
        with workers(jobs, scheduler) as pool:
            futures = {
                pool.submit(_run_point, one, Path.cwd()): one.folder.name
                for one in left
            }
            title = printable(folder.name)
            bar = tqdm(
                as_completed(futures), title, len(left), unit="point", disable=None
            )
            for future in bar:
                if error := future.exception():  # also if a worker was lost
                    known, name = (
                        isinstance(error, NotebookFailed | OSError),
                        futures[future],
                    )
                    lost[name] = str(error) if known else type(error).__name__
                    tqdm.write(f"{name}: {lost[name]}", file=sys.stderr)
    finally:
        write_index(points, lost)  # and remove leftovers of killed processes
    for table in tables if all(point.status == "done" for point in points) else ():
        write_whole(folder / f"{table}.csv", load(folder, table).to_csv(index=False))


def _prepare(threads: int) -> None:
    """Give a worker its share of threads, and end it only with its parent."""
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # the terminal's Ctrl-C is the parent's to handle

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
    share, spawn = (
        max(1, (os.cpu_count() or 1) // jobs),
        multiprocessing.get_context("spawn"),
    )
    # A helper process removes the semaphores of ended processes; its warning is not
    # needed.
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
    """Write ``index.csv``, a row per point, from the runs on disk and the errors of lost ones."""
    import pandas as pd

    rows = []
    for point in points:
        name, about = point.folder.name, point.provenance
        error = about.get("error", "") if about else lost.get(name, "")
        row = {"point": name, "status": point.status, "error": error.partition("\n")[0]}
        rows.append(row | {"seconds": about.get("seconds"), **point.changed})
    write_whole(
        points[0].folder.with_name("index.csv"), pd.DataFrame(rows).to_csv(index=False)
    )


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

    frames, held = [], f"tables/{table}.csv" if table else "results.json"
    for name in pd.read_csv(folder / "index.csv")["point"]:
        if not (file := folder / name / held).is_file():
            continue
        frame = pd.read_csv(file) if table else pd.DataFrame([read_mapping(file)])
        about, varied = read_mapping(folder / name / "provenance.json"), {}
        for parameter, value in about["changed_parameters"].items():
            single = value[0] if isinstance(value, list) and len(value) == 1 else value
            entry = (
                single
                if isinstance(single, str | int | float | bool)
                else json.dumps(single)
            )
            varied[f"parameter_{parameter}" if parameter in frame else parameter] = (
                entry
            )
        frame = pd.concat([pd.DataFrame(varied, frame.index), frame], axis=1)
        frames.append(frame.assign(point=name, git_commit=about.get("git_commit")))
    if not frames:
        raise ValueError(f"table is {table!r}; no finished point in {folder} has it")
    return pd.concat(frames, ignore_index=True)
