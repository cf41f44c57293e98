"""What a run will take, said before it starts."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from srlib.runner import costs
from srlib.runner.parameters import LARGEST, find_papers, read_parameters

ROOT = Path(__file__).parents[1]
DECLARED = {
    paper: read_parameters(ROOT / "notebooks" / f"{paper}.py") for paper in find_papers(ROOT)
}
DEFAULTS = {
    paper: {name: parameter.default for name, parameter in declared.items()}
    for paper, declared in DECLARED.items()
}
COUNTS = [
    (paper, name)
    for paper, declared in DECLARED.items()
    for name, parameter in declared.items()
    if parameter.range.endswith("inf)") and re.search(r"\bint\b", parameter.type)
    # These end at the records.
    if name not in ("seed", "n_supports", "n_targets", "n_repaired", "population")
]


@pytest.mark.parametrize("paper", costs.COSTS)
def test_defaults(paper: str) -> None:
    """By the estimates the defaults are what they are meant to be."""
    found = costs.estimate(paper, DEFAULTS[paper])
    assert found is not None
    assert 5 < found.seconds < 150
    assert 300 < found.megabytes < 1500


@pytest.mark.parametrize(("paper", "name"), COUNTS)
def test_no_count_is_too_large_in_silence(
    paper: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest value of each count is refused, or said to take hours and more."""
    monkeypatch.setattr(costs, "memory", lambda: (8000.0, 16000.0))
    default = DEFAULTS[paper][name]
    value = [*default, LARGEST] if isinstance(default, list) else LARGEST
    try:
        told = costs.check(paper, [DEFAULTS[paper] | {name: value}], DEFAULTS[paper])
        assert re.search(r"(hours|days|years) of processor time", told)
    except ValueError as error:
        told = str(error)
        assert told.endswith("this machine has 16.0 GB")
    assert f"mostly by {name}" in told


def test_runs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs beside each other share the memory; what is short is said."""
    defaults = DEFAULTS["hu_reiter_wang"]
    each = costs.estimate("hu_reiter_wang", defaults)
    assert each
    monkeypatch.setattr(costs, "memory", lambda: (1.5 * each.megabytes, 2.5 * each.megabytes))
    runs = [defaults] * 3
    assert "are free" not in costs.check("hu_reiter_wang", runs, defaults)
    assert "are free" in costs.check("hu_reiter_wang", runs, defaults, at_a_time=2)
    with pytest.raises(ValueError, match="with 3 at a time"):
        costs.check("hu_reiter_wang", runs, defaults, at_a_time=3)


def test_other_notebooks() -> None:
    """Of notebooks that are not ours, or have other parameters, nothing is claimed."""
    assert costs.estimate("toy", {"n": 3}) is None
    assert costs.estimate("assess", {"n": 3}) is None
    assert costs.check("toy", [{"n": 3}], {"n": 3}) == ""


def test_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit under which every chart kills its kernel is named before anything starts."""
    monkeypatch.setattr(costs, "_address_space", lambda: 6e9)
    with pytest.raises(ValueError, match=r"limited to 6\.0 GB"):
        costs.check("toy", [{"n": 3}], {"n": 3})


def test_lines(tmp_path: Path) -> None:
    """The number of lines is estimated from the beginning of a file."""
    file = tmp_path / "long.csv"
    file.write_text("a,b\n" + "1,2\n" * 600_000, encoding="utf-8")
    assert costs._lines(str(file)) == pytest.approx(600_001, rel=0.01)


@pytest.mark.parametrize(("columns", "seconds", "megabytes"), [(20, 63, 1873), (40, 188, 2319)])
def test_assess_of_a_million_records(
    columns: int, seconds: float, megabytes: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As measured with files of `benchmarks/sizes.py`, within a factor of one and a half."""
    file = tmp_path / "a.csv"
    file.write_text(",".join(f"v{k}" for k in range(columns)) + "\n", encoding="utf-8")
    monkeypatch.setattr(costs, "_lines", lambda path: 1e6)
    given = {"original": str(file), "released": [str(file)]}
    found = costs.estimate("assess", DEFAULTS["assess"] | given)
    assert found
    assert 2 / 3 < found.seconds / seconds < 3 / 2
    assert 2 / 3 < found.megabytes / megabytes < 3 / 2


def test_every_release_of_a_folder_counts(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"{i}.csv").write_text("a,b\n" + "1,2\n" * 1000, encoding="utf-8")
    (tmp_path / ".hidden").touch()
    of_files = [str(tmp_path / f"{i}.csv") for i in range(3)]
    one, folder, three = (
        costs.estimate("assess", DEFAULTS["assess"] | {"original": of_files[0], "released": some})
        for some in (of_files[:1], [str(tmp_path)], of_files)
    )
    assert folder == three
    assert one
    assert folder
    assert folder.seconds > one.seconds


def _cost(**values: Any) -> costs.Cost:
    found = costs.estimate("hu_reiter_wang", DEFAULTS["hu_reiter_wang"] | values)
    assert found
    return found


def test_million_records() -> None:
    """As measured in the benchmark: 159 s of CPU and 2.5 GB, within a factor of three."""
    short = {"n_records": 1_000_000, "n_releases": 2, "n_classes": 5, "burn_in": 20, "n_draws": 30}
    short |= {"thin": 1, "n_chains": 4, "n_chains_joined": 4, "burn_in_joined": 20}
    found = _cost(**short, n_draws_joined=30)
    assert 159 / 3 < found.seconds < 159 * 3
    assert 2524 / 3 < found.megabytes < 2524 * 3


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_how_a_kernel_died() -> None:
    """A process that was killed may have been too large; one that aborted hardly was."""
    killed = costs.died("hu_reiter_wang", DEFAULTS["hu_reiter_wang"], 500.0, -9)
    assert "SIGKILL; the system does so where memory runs out: 500 MB were free" in killed
    assert re.search(r"and about \d+ MB were estimated$", killed)
    assert costs.died("toy", {}, 500.0, -6) == (
        "its process ended by SIGABRT: 500 MB were free at the start"
    )
