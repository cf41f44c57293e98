"""Grades of students' copies that were handed in.

A copy is run from top to bottom in a process of its own (`sandbox`), and what its checks print
counts for nothing. Behind the check of an exercise the values of the names asked for are taken as
plain data, and judged here with the seals of the notebook as it was published.
"""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srlib.runner.course import sandbox
from srlib.runner.course.copies import IMPORT, read
from srlib.runner.course.exercises import Exercise, exercises
from srlib.runner.course.seals import OPEN, RIGHT, WRONG, seal, verdict
from srlib.runner.files import write_whole
from srlib.runner.parameters import UsageError

if TYPE_CHECKING:
    from nbformat import NotebookNode

MEMORY = 4.0  # gigabytes of a copy
SECONDS = 600.0
_LARGEST = 50_000_000  # bytes of a copy
_MOST_TOLD = 2_000_000  # bytes of what a copy's process says
_running: "set[subprocess.Popen[bytes]]" = set()
_APART = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")


@dataclass(frozen=True)
class Copy:
    """A copy that was handed in: by whom, of which notebook, and its file."""

    student: str
    paper: str
    file: Path


@dataclass(frozen=True)
class Grade:
    """What became of one name that an exercise asks for.

    Attributes
    ----------
    student, paper, exercise, name : str
        Whose copy of which notebook, and what was asked.
    verdict : str
        ``"right"``, ``"wrong"`` or ``"not answered yet"``.
    seconds : float
        How long the whole copy ran.
    remark : str
        What else there is to say, if anything.
    """

    student: str
    paper: str
    exercise: str
    name: str
    verdict: str
    seconds: float
    remark: str


def handed_in(folder: Path, papers: Iterable[str]) -> tuple[list[Copy], list[Path]]:
    """Return the copies in a folder, and the notebooks there that are none.

    Parameters
    ----------
    folder : Path
        Copies are ``<student>/<paper>.ipynb`` or ``<student>_<paper>.ipynb`` in it.
    papers : iterable of str
        Names of notebooks.
    """
    known = sorted(papers, key=len, reverse=True)
    copies, others = [], []
    for file in sorted([*folder.glob("[!.]*.ipynb"), *folder.glob("[!.]*/[!.]*.ipynb")]):
        stem = file.stem
        if file.parent != folder:
            of = Copy(file.parent.name, stem, file) if stem in known else None
        else:
            named = [(stem.removesuffix(f"_{p}"), p) for p in known if stem.endswith(f"_{p}")]
            of = Copy(*named[0], file) if named and named[0][0] else None
        copies.append(of) if of else others.append(file)
    return copies, others


def grade(
    root: Path,
    copies: Sequence[Copy],
    *,
    seconds: float = SECONDS,
    memory: float = MEMORY,
    jobs: int = 1,
    tell: Callable[[list[Grade]], object] = lambda grades: None,
) -> list[Grade]:
    """Run copies and judge their answers.

    Parameters
    ----------
    root : Path
        The project's folder, with the notebooks as they were published.
    copies : sequence of Copy
        As `handed_in` found them.
    seconds, memory : float
        How long a copy may run, and how many gigabytes it may have.
    jobs : int
        Copies that run at a time.
    tell : callable
        Called with the grades of each copy in turn.

    Raises
    ------
    UsageError
        If a notebook has not been built from its text as it is now.
    """
    asked = {
        copy.paper: [e for e in exercises(read(root, copy.paper)) if e.answers] for copy in copies
    }

    def of_one(copy: Copy) -> list[Grade]:
        return list(_grades(copy, asked[copy.paper], seconds, memory))

    found: list[Grade] = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for grades in pool.map(of_one, copies):
                tell(grades)
                found += grades
        except BaseException:  # Ctrl-C does not wait for copies that run
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(_running):
                _end(process)
            raise
    return found


def _grades(
    copy: Copy, asked: Sequence[Exercise], seconds: float, memory: float
) -> Iterator[Grade]:
    started = time.monotonic()
    try:
        said, ended = _run(_task(_read(copy.file), asked, seconds, memory), seconds)
    except ValueError as error:
        said, ended = {}, str(error)
    took = round(time.monotonic() - started, 1)
    for exercise in asked:
        values, failed = said.get(exercise.label, ({}, ended))
        for name, elements in exercise.answers.items():
            judged, remark = _judged(values.get(name, {}), f"{exercise.label} {name}", elements)
            remarks = [text for text in (remark, failed) if text]
            yield Grade(
                copy.student, copy.paper, exercise.label, name, judged, took, "; ".join(remarks)
            )


def _judged(told: Any, salt: str, elements: Any) -> tuple[str, str]:
    """Return the verdict on what a copy's process told of a name, which may be anything."""
    match told:
        case {"open": _}:
            return OPEN, ""
        case {"value": value}:
            return verdict(value, _seal(salt, tuple(elements)), salt), ""
        case {"set": [*values]}:
            try:
                return verdict(set(values), _seal(salt, tuple(elements)), salt), ""
            except TypeError:
                return WRONG, ""
        case {"odd": name}:
            return WRONG, f"no plain value: {re.sub(r'[^A-Za-z_0-9]', '', str(name))}"
    return OPEN, "no such name"


@cache
def _seal(salt: str, elements: tuple[tuple[Any, int | None], ...]) -> str:
    return seal(salt, elements)


def _read(file: Path) -> "NotebookNode":
    """Return a notebook that was handed in.

    Raises
    ------
    ValueError
        If it is none.
    """
    import nbformat

    if file.stat().st_size > _LARGEST:
        raise ValueError("the file is too large for a notebook")
    try:
        notebook = nbformat.read(file, as_version=4)
        [(cell.cell_type, str(cell.source)) for cell in notebook.cells]
    except Exception:  # of all kinds, by what readers of old versions stumble over
        raise ValueError("the file is no notebook") from None
    return notebook


def _task(
    notebook: "NotebookNode", asked: Sequence[Exercise], seconds: float, memory: float
) -> dict[str, Any]:
    """Return what the process is to do: cells, each with the names to be told behind it."""
    names = {exercise.label: list(exercise.answers) for exercise in asked}
    cells: list[tuple[str, dict[str, list[str]]]] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            checks = [label for label in names if _checks(cell.source, label)]
            cells.append((cell.source, {label: names[label] for label in checks}))
    checked = {label for _, labels in cells for label in labels}
    cells.append(("", {label: names[label] for label in names if label not in checked}))
    return {
        "cells": cells,
        "library": str(Path(__file__).parents[3]),
        "memory": int(memory * 1e9),
        "seconds": int(seconds * (os.cpu_count() or 1)) + 1,
    }


def _checks(source: str, label: str) -> bool:
    return IMPORT in source and json.dumps(label, ensure_ascii=False) in source


def _run(task: dict[str, Any], seconds: float) -> tuple[dict[str, tuple[Any, str]], str]:
    """Run a task; return by exercise what was told, and why there may be no more."""
    with tempfile.TemporaryDirectory(prefix="srlib-grade-", ignore_cleanup_errors=True) as place:
        home = Path(place) / "home"
        home.mkdir()
        (Path(place) / "task.json").write_text(json.dumps(task), encoding="utf-8")
        with (
            (Path(place) / "task.json").open("rb") as given,
            (Path(place) / "told").open("w+b") as told,
        ):
            process = subprocess.Popen(
                [*_apart(), sys.executable, "-I", sandbox.__file__],
                stdin=given,
                stdout=told,
                stderr=subprocess.DEVNULL,
                cwd=home,
                env=_environment(home),
                start_new_session=True,
            )
            _running.add(process)
            try:
                process.wait(seconds)
                ended = "its process ended before" if process.returncode else ""
            except subprocess.TimeoutExpired:
                ended = f"stopped after {seconds:g} s"
            finally:
                _end(process)
                _running.discard(process)
            told.seek(0)
            lines = told.read(_MOST_TOLD).decode("utf-8", "replace").splitlines()
    return dict(_said(lines)), ended


def _said(lines: Iterable[str]) -> Iterator[tuple[str, tuple[Any, str]]]:
    for line in lines:
        try:
            match json.loads(line):
                case {"exercise": str(label), "values": dict(values), "failed": str(failed)}:
                    name = re.sub(r"[^A-Za-z_0-9]", "", failed)[:40]
                    yield label, (values, f"a cell fails: {name}" if name else "")
        except (ValueError, RecursionError):
            continue


@cache
def _apart() -> tuple[str, ...]:
    """Return what a command is begun with to have no network and no processes but its own."""
    if not sys.platform.startswith("linux") or not shutil.which(_APART[0]):
        return ()
    done = subprocess.run([*_APART, "true"], capture_output=True, check=False)
    return () if done.returncode else _APART


def is_apart() -> bool:
    """Return whether the system keeps copies from the network, whatever their code does."""
    return bool(_apart())


def _environment(home: Path) -> dict[str, str]:
    """Return an environment with nothing of the user's in it."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    places = dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP"), str(home))
    return {**kept, **threads, **places, "LANG": "C.UTF-8"}


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and all of its group; with `_apart`, all that it has started."""
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def table(grades: Iterable[Grade]) -> str:
    """Return grades as CSV. Names that a spreadsheet would take for a formula get a quote."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Grade))
    for one in grades:
        values = (str(value) for value in astuple(one))
        writer.writerow(
            f"'{value}" if value.startswith(tuple("=+-@")) else value for value in values
        )
    return text.getvalue()


def summary(grades: Sequence[Grade]) -> str:
    """Return a line on one copy."""
    verdicts = [one.verdict for one in grades]
    counts = [f"{verdicts.count(v)} {v}" for v in (WRONG, OPEN) if v in verdicts]
    remarks = list(dict.fromkeys(one.remark for one in grades if one.remark))
    return "  ".join(
        [
            grades[0].student,
            grades[0].paper,
            ", ".join([f"{verdicts.count(RIGHT)} of {len(grades)} right", *counts]),
            f"{grades[0].seconds:g} s",
            *remarks[:1],
        ]
    )


def write(file: Path, grades: Sequence[Grade]) -> None:
    """Write grades to a CSV file, in the place of an older one.

    Raises
    ------
    UsageError
        If the file is there and is no list of grades.
    """
    head = table([])
    if file.exists() and not file.read_text(encoding="utf-8", errors="replace").startswith(head):
        raise UsageError(f"{file} is no list of grades and stays as it is; name another one")
    write_whole(file, table(grades))
