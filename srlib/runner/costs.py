"""What a run will take, said before it starts: processor time and memory, from its sizes."""

import inspect
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

import psutil

from srlib.runner.parameters import files_at

WORTH_SAYING = 120.0
"""Seconds of processor time from which on an estimate is shown."""
ADDRESS_SPACE = 64e9
"""Bytes of address space that drawing charts reserves, of which it uses little."""


@dataclass(frozen=True)
class Cost:
    """What a run will take, within a factor of two or so.

    Attributes
    ----------
    seconds : float
        Of processor time, all cores together, of one as it is made today.
    megabytes : float
        Of memory, at most at a time.
    """

    seconds: float
    megabytes: float


def estimate(paper: str, parameters: Mapping[str, Any]) -> Cost | None:
    """Return what a run of a notebook will take; None where nothing is known of the notebook.

    Parameters
    ----------
    paper : str
        Name of a text notebook without its ending.
    parameters : mapping
        Values by name.
    """
    if paper not in COSTS:
        return None
    names = inspect.signature(COSTS[paper]).parameters
    if not set(names) <= set(parameters):  # somebody's own notebook of this name
        return None
    return COSTS[paper](**{name: parameters[name] for name in names})


def check(
    paper: str,
    runs: Sequence[Mapping[str, Any]],
    defaults: Mapping[str, Any],
    at_a_time: int = 1,
) -> str:
    """Say what runs of a notebook will take, and refuse what this machine cannot hold.

    Parameters
    ----------
    paper : str
        Name of a text notebook without its ending.
    runs : sequence of mapping
        Values of the parameters by name, for each run.
    defaults : mapping
        Of the parameters, by name.
    at_a_time : int
        Runs that share the machine's memory.

    Returns
    -------
    str
        One line; empty for what is over soon.

    Raises
    ------
    ValueError
        Where the memory estimated is more than the machine has, or where the address space is
        limited to less than charts reserve.
    """
    space = _address_space()
    if space < ADDRESS_SPACE:
        raise ValueError(
            f"the address space is limited to {_size(space / 1e6)} (ulimit -v), and drawing charts "
            f"reserves up to {_size(ADDRESS_SPACE / 1e6)} of it, though it uses little; lift the "
            "limit, or limit memory itself"
        )
    costs = [cost for cost in (estimate(paper, parameters) for parameters in runs) if cost]
    if not costs:
        return ""
    largest = max(range(len(costs)), key=lambda i: costs[i].megabytes)
    seconds, each = sum(cost.seconds for cost in costs), costs[largest].megabytes
    free, total = memory()
    told = f"about {_duration(seconds)} of processor time and {_size(each)} of memory"
    told += " a run" if len(runs) > 1 else ""
    if most := _mostly(paper, runs[largest], defaults):
        told += f", mostly by {most}"
    used = each * min(at_a_time, len(runs))
    if used > total:
        many = f" with {at_a_time} at a time" if at_a_time > 1 else ""
        raise ValueError(f"it would take {told}; this machine has {_size(total)}{many}")
    told += f"; {_size(free)} are free" if used > free else ""
    return told if used > free or seconds >= WORTH_SAYING else ""


def memory() -> tuple[float, float]:
    """Return the megabytes of memory that are free, and those that there are at all.

    A limit of the control group, such as that of a container or a job, counts as all there is.
    """
    found = psutil.virtual_memory()
    free, total = found.available / 1e6, found.total / 1e6
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")) / 1e6
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii")) / 1e6
    except (OSError, ValueError):  # none, or "max"
        return free, total
    return min(free, max(limit - used, 0)), min(total, limit)


def died(paper: str, parameters: Mapping[str, Any], free: float, status: int) -> str:
    """Return what can be known of why a kernel's process ended by itself.

    Parameters
    ----------
    paper : str
        Name of a text notebook without its ending.
    parameters : mapping
        Values by name.
    free : float
        Megabytes of memory that were free when it started.
    status : int
        Exit status of the process; a signal's number below 0.
    """
    try:
        name = signal.Signals(-status).name
    except ValueError:  # it ended by itself, or under a system without signals
        name = ""
    ended = f"its process ended by {name}" if name else f"its process ended with status {status}"
    cost = estimate(paper, parameters)
    estimated = f" and about {_size(cost.megabytes)} were estimated" if cost else ""
    killed = "; the system does so where memory runs out" if name == "SIGKILL" else ""
    return f"{ended}{killed}: {_size(free)} were free at the start{estimated}"


def _address_space() -> float:
    if sys.platform == "win32":
        return float("inf")
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)


def _mostly(paper: str, parameters: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Return the parameter whose default would save most; empty where none saves a third."""
    cost = estimate(paper, parameters)
    assert cost
    saved = {}
    for name, value in parameters.items():
        if name in defaults and value != defaults[name] and not isinstance(value, str | bool):
            other = estimate(paper, {**parameters, name: defaults[name]})
            assert other
            saved[name] = max(
                1 - other.seconds / cost.seconds, 1 - other.megabytes / cost.megabytes
            )
    name = max(saved, key=saved.__getitem__, default="")
    return name if name and saved[name] > 1 / 3 else ""


def _duration(seconds: float) -> str:
    for unit, length in (("years", 3.156e7), ("days", 86400.0), ("hours", 3600.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds / 60:.0f} minutes" if seconds >= WORTH_SAYING else f"{seconds:.0f} s"


def _size(megabytes: float) -> str:
    for unit, size in (("PB", 1e9), ("TB", 1e6), ("GB", 1e3)):
        if megabytes >= size:
            return f"{megabytes / size:,.1f} {unit}"
    return f"{megabytes:.0f} MB"


# ------------------------------------------------------------------------------- each notebook
# Measured in November 2026 on two cores, in processor time. What no parameter changes comes first.

_LEVELS = 70  # of all variables together, as in the survey's fourteen


def _chains(
    sets: float,
    n_records: float,
    *,
    n_chains: int,
    iterations: float,
    n_draws: int,
    n_classes: int,
    combinations: float,
    kept: float | None = None,
) -> Cost:
    """Sets of chains of the DPMPM, and what is made of their draws for each combination."""
    draws, classes = n_chains * n_draws, n_classes / 40
    each = 2e-8 * (1 + classes) * n_records + 4e-8 * n_classes * _LEVELS
    seconds = n_chains * iterations * each + 3.5e-6 * draws * combinations
    held = draws * (8 * n_classes * _LEVELS + 2 * combinations)
    means = 40 * n_chains * combinations * _LEVELS
    return Cost(sets * seconds, 1e-6 * ((sets if kept is None else kept) * held + means))


def _hu_reiter_wang(
    *,
    data: str,
    n_records: int,
    n_releases: int,
    n_classes: int,
    thin: int,
    n_chains: int,
    burn_in: int,
    n_draws: int,
    n_chains_joined: int,
    burn_in_joined: int,
    n_draws_joined: int,
) -> Cost:
    # Of a file's combinations nothing is known before it is read: there may be one for each line.
    lines = _lines(data) if data and not data.startswith("acs:") else _combinations(n_records)
    combinations = min(n_records, lines)
    of_data = _chains(
        1, n_records, n_chains=n_chains, iterations=burn_in + thin * n_draws, n_draws=n_draws,
        n_classes=n_classes, combinations=combinations,
    )  # fmt: skip
    of_joined = _chains(
        n_releases, 2 * n_records, n_chains=n_chains_joined,
        iterations=burn_in_joined + thin * n_draws_joined, n_draws=n_draws_joined,
        n_classes=n_classes, combinations=combinations,
    )  # fmt: skip
    return Cost(
        20 + 5e-5 * n_records + of_data.seconds + of_joined.seconds,
        600 + 1e-3 * n_records + 0.015 * combinations + of_data.megabytes + of_joined.megabytes,
    )


def _assess(*, original: str, released: Sequence[str], model: bool) -> Cost:
    files = [file for path in released for file in files_at(path)]
    n_records = max(map(_lines, [original, *files])) if original and files else 500.0
    n_releases, columns = len(files) or 3, _columns(original) if original else 14
    start = Cost(
        8 + n_records * (1e-6 * columns + 9e-8 * columns**2) * n_releases,
        400 + n_records * (5e-4 + 1.2e-5 * columns) * (1 + n_releases),
    )
    if not model:
        return start
    found = _chains(
        1 + n_releases, 2 * n_records, n_chains=8, n_draws=250, n_classes=30,
        iterations=4 / 3 * 2_000, kept=2, combinations=_combinations(n_records),
    )  # fmt: skip
    return Cost(start.seconds + found.seconds, start.megabytes + found.megabytes)


def _combinations(n_records: float) -> float:
    """Return how many distinct combinations so many records of a survey have, about."""
    return min(n_records, 20 * n_records**0.58)


def _columns(path: str) -> int:
    """Return how many columns a file has, where it is text: its first line says so."""
    try:
        with open(path, "rb") as file:
            first = file.readline(1_000_000)
    except OSError:  # said elsewhere
        return 2
    return 1 + max(map(first.count, (b",", b"\t", b";", b"|"))) if first.isascii() else 20


def _lines(path: str) -> float:
    """Return about how many lines a file has, from its size and its first megabyte."""
    try:
        with open(path, "rb") as file:
            start = file.read(1_000_000)
        return max(start.count(b"\n") / max(len(start), 1) * Path(path).stat().st_size, 2.0)
    except OSError:  # said elsewhere
        return 2.0


def _mcclure_reiter(
    *,
    n: int,
    n_s: int,
    p0: Sequence[float],
    epsilon: Sequence[float],
    n_pairs: int,
    burn_in: int,
    n_steps: int,
    n_chains: int,
    n_single: int,
) -> Cost:
    cases = len(p0) * len(epsilon)
    chains = cases * n_pairs * n_chains + 2 * n_single
    steps = chains * (burn_in + n_steps)
    tables = 4e-8 * (len(p0) + 4) * (len(epsilon) + 6) * n * n_s
    seconds = 24 + tables + 8e-8 * steps + 5e-3 * cases * n_pairs
    return Cost(seconds, 500 + 0.03 * max(n, n_s))


def _charest(
    *, n_table: int, n_three: int, budgets: Sequence[float], model_draws: Sequence[int]
) -> Cost:
    draws = sum(model_draws)
    pairs = comb(n_table + 3, 3) ** 2 + comb(n_three + 7, 7) ** 2
    return Cost(
        15 + 4e-3 * draws + 2.5e-6 * len(budgets) * pairs, 500 + 1e-3 * draws + 1e-4 * pairs
    )


def _charest_han(*, replicates: int, datasets: int) -> Cost:
    estimates = datasets * max(replicates / 6, 4)
    return Cost(12 + 0.025 * replicates + 0.016 * estimates, 430 + 0.01 * replicates)


COSTS: Mapping[str, Callable[..., Cost]] = {
    "mcclure_reiter": _mcclure_reiter,
    "charest": _charest,
    "charest_han": _charest_han,
    "hu_reiter_wang": _hu_reiter_wang,
    "assess": _assess,
}
"""What a notebook takes, by its name; called with parameters of its names."""
