"""Sweeps: one notebook at many settings, in parallel, to be interrupted and resumed at any time.

A sweep is a YAML file. Every point of it is a run in a folder of its own, whose name tells what
varies and ends in a hash of all parameters, the files they name, the notebook and the library.
What counts is what lies whole on disk: the same command finishes what is left, repeats nothing, and
tries again what failed.
"""

import hashlib
import itertools
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, ValidationError
from tqdm import tqdm

from srlib.rng import stream
from srlib.runner import parameters as settings
from srlib.runner.files import remove_leftovers, write_whole
from srlib.runner.parameters import Request, UsageError, read_object
from srlib.runner.run import run_all, source_hash

if TYPE_CHECKING:  # a second of CPU, for each process that runs points
    import pandas as pd

DONE, FAILED, OPEN = "done", "failed", "open"
MOST_POINTS = 100_000  # each has a folder
LARGEST_SEED = 2**53  # of replicates; as a float, too, it stays the number that it is

_Values = Annotated[list[Any], Field(min_length=1)]


class Plan(BaseModel, extra="forbid", strict=True):
    """A sweep's file: points are all combinations of what grid, zip, points and replicates give.

    ``base`` goes over the profile. Values of ``zip`` are taken together, so its lists have one
    length. ``replicates`` is a number of seeds derived from ``seed``, ``collect`` names tables.
    """

    paper: str
    profile: str = "default"
    base: dict[str, Any] = {}
    grid: dict[str, _Values] = {}
    zip: dict[str, _Values] = {}
    points: Annotated[list[dict[str, Any]], Field(min_length=1)] = [{}]
    replicates: Annotated[int, Field(ge=1)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    collect: list[Annotated[str, Field(pattern="^[A-Za-z0-9_]{1,100}$")]] = []

    def rows(self) -> list[dict[str, Any]]:
        """Return what varies, a mapping for each point."""
        lengths = {len(values) for values in self.zip.values()} or {1}
        if len(lengths) > 1:
            raise UsageError("zip: the lists must have one length")
        sizes = [*map(len, self.grid.values()), *lengths, len(self.points), self.replicates or 1]
        if math.prod(sizes) > MOST_POINTS:
            raise UsageError(f"{math.prod(sizes):,} points; a sweep has at most {MOST_POINTS:,}")
        axes = [[{name: value} for value in values] for name, values in self.grid.items()]
        axes.append([{k: values[i] for k, values in self.zip.items()} for i in range(*lengths)])
        axes.append(self.points)
        seeds = (stream(self.seed, f"replicate {i}") for i in range(self.replicates or 0))
        axes.append([{"seed": int(one.integers(LARGEST_SEED))} for one in seeds] or [{}])
        for a, b in itertools.combinations([set().union(*axis) for axis in axes], 2):
            if both := a & b:
                raise UsageError(f"{', '.join(sorted(both))} varies in two places")
        chosen = itertools.product(*axes)
        return [{k: v for part in parts for k, v in part.items()} for parts in chosen]


@dataclass(frozen=True)
class Sweep:
    """A sweep checked against the notebook: its folder, its points, and the tables to collect."""

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
    """Read a sweep's file and check every point of it; the UsageError has a line for each fault."""
    try:
        plan = Plan(**settings.read_mapping(file))
        return _checked(
            root, plan, settings.plain_name("name of a sweep's file", file.stem), outputs
        )
    except ValidationError as error:
        told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    except UsageError as error:
        told = str(error).splitlines()
    raise UsageError("\n".join(f"{file}: {line}" for line in told))


def _checked(root: Path, plan: Plan, name: str, outputs: Path) -> Sweep:
    paper, folder = plan.paper, outputs.resolve() / plan.paper / name
    base = settings.resolve(root, paper, plan.profile).parameters
    if name in settings.find_profiles(root, paper) or (folder / "provenance.json").exists():
        raise UsageError(f"{name!r} is a profile of {paper}, whose runs have this folder")
    if "index" in plan.collect:
        raise UsageError("collect: 'index' is the sweep's own table")
    notebook, rows = root / "notebooks" / f"{paper}.py", plan.rows()
    declared = settings.read_parameters(notebook)
    common, problems = settings.checked(declared, plan.base.items())
    good = [settings.checked(declared, row.items()) for row in rows]
    if problems := [*problems, *(line for _, wrong in good for line in wrong)]:
        raise UsageError("\n".join(dict.fromkeys(problems)))
    source, points, hashed = source_hash(notebook.read_bytes()), {}, {}
    for row, _ in good:
        values = {**base, **common, **row}
        files = settings.named_files(declared, values)
        if str(files) not in hashed:  # each file once, however many points it is for
            hashed[str(files)] = settings.hash_inputs(files)
        inputs = hashed[str(files)]
        point = _name(values, row, source, inputs)
        points[point] = Request(paper, f"{name}/{point}", values, row, inputs, source)
    if len(points) < len(rows):
        raise UsageError(f"{len(rows) - len(points)} points occur twice")
    return Sweep(folder, tuple(points.values()), tuple(plan.collect))


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


def run_sweep(
    root: Path, sweep: Sweep, points: Iterable[Request], jobs: int = 1, scheduler: str = ""
) -> None:
    """Run the points that are not done, and write ``index.csv``.

    They run in processes here, a kernel each, or on a Dask cluster, whose workers see the project
    and the sweep's folder under the same paths.
    """
    left = [point for point in points if sweep.status(point) != DONE]
    sweep.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    remove_leftovers(sweep.folder)
    write_index(sweep)  # of an unfinished sweep, too, there are tables
    outputs, bar = sweep.folder.parents[1], {"unit": "point", "disable": None}
    running = run_all(root, left, outputs, jobs, scheduler, with_report=False)
    try:
        with closing(running):  # whatever ends it, and the processes with it
            for outcome in tqdm(running, sweep.folder.name, total=len(left), **bar):
                if isinstance(outcome, str):
                    tqdm.write(outcome, file=sys.stderr)
    finally:
        write_index(sweep)


def write_index(sweep: Sweep) -> None:
    """Write ``index.csv``, a row a point, from what lies on disk."""
    import pandas as pd

    rows = []
    for point in sweep.points:
        status, at = sweep.status(point), sweep.at(point)
        kept = at if status == DONE else at.with_name(f"{at.name}.failed")
        found = read_object(kept / "provenance.json") if status != OPEN else {}
        error = "".join(found.get("error", "").splitlines()[:1])
        row = {"point": at.name, "status": status, "error": error}
        rows.append(row | {"seconds": found.get("seconds")} | dict(point.changed))
    write_whole(sweep.folder / "index.csv", pd.DataFrame(rows).to_csv(index=False))


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

    points = [Path(folder) / name for name in pd.read_csv(Path(folder) / "index.csv")["point"]]
    frames = []
    for path in (point for point in points if (point / "provenance.json").is_file()):
        provenance = read_object(path / "provenance.json")
        file = path / (f"tables/{table}.csv" if table else "results.json")
        if not file.is_file():
            continue
        frame = pd.read_csv(file) if table else pd.DataFrame([read_object(file)])
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
