"""Parameters: what a notebook declares, and what is refused in one line before a kernel."""

import re
from pathlib import Path

import pytest
import toy
from click.testing import CliRunner

from srlib.runner.cli import main
from srlib.runner.parameters import (
    FILES,
    UsageError,
    find_outputs,
    find_papers,
    find_root,
    hash_inputs,
    read_parameters,
    resolve,
)

ROOT = Path(__file__).parents[1]
DECLARED = """n: int = 3  # [1, 100] how many
share: float = 0.5  # (0, 1] of something
delta: float = 0.5  # (0, 1) of something else
method: str = "exact"  # {exact, simulated} how
names: list[str] = ["a"]  # labels
bins: list[int] = [5, 10]  # [2, 50] numbers of bins
keys: list[list[str]] = []  # sets of variables
within: dict[str, float] = {}  # distances
model: bool = False  # whether
size: int | None = None  # [1, 10] of a sample
data: str = ""  # CSV file of records
seed: int = 1  # [0, inf) one seed
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    start, rest = toy.TEXT.split('tags=["parameters"]\n')
    rest = rest[rest.index("output_dir") :]
    monkeypatch.chdir(tmp_path)
    return toy.make(tmp_path, f'{start}tags=["parameters"]\n{DECLARED}{rest}')


COUNTS = "many 2.5 2.0 true '5' null [3] 0 -3 101 1000000000000 .inf 1:30 2020-01-01 *a"
BAD = {
    "n": ("int in [1, 100]", [*COUNTS.split(), "9" * 400, "!!int abc", "[" * 3000]),
    "share": ("float in (0, 1]", ["0", "1.0001", ".nan", ".inf", "yes", "false"]),
    "delta": ("float in (0, 1)", ["1"]),
    "method": ("str in {exact, simulated}", ["guess", ""]),
    "names": ("list[str]", ["a", "[1]", "[[a]]", '["\\uD800"]']),
    "bins": ("list[int], one or more in [2, 50]", ["[]", "[5, 51]", "[5, 2.5]", "5"]),
    "keys": ("list[list[str]]", ["[a, b]"]),
    "within": ("dict[str, float]", ["{a: b}", "{1: 2.0}", "[1]"]),
    "model": ("bool", ["1", "yes"]),
    "size": ("int | None in [1, 10]", ["11"]),
    "data": ("str", ["\udcff.csv"]),  # a name of a file in Latin-1
    "seed": ("int in [0, inf)", ["-1", "null"]),
    "sead": ("unknown parameter 'sead' (known: n, share,", ["1"]),
    "output_dir": ("unknown parameter 'output_dir'", ["x"]),
}


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [(name, value, allowed) for name, (allowed, values) in BAD.items() for value in values],
)
def test_a_bad_value_is_one_line_and_starts_nothing(
    project: Path, name: str, value: str, allowed: str
) -> None:
    result = CliRunner().invoke(main, ["run", "toy", "-p", name, value])
    assert result.exit_code == 2
    told = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(told) == 1
    assert result.stderr.endswith(f"{told[0]}\n")
    assert allowed in told[0]
    assert name in told[0]
    assert len(told[0]) < 700
    assert not {"started", "outputs"} & {path.name for path in project.iterdir()}


def test_values_come_from_defaults_profile_file_and_command_in_this_order(project: Path) -> None:
    (project / "params/toy/published.yaml").write_text("n: 5\nshare: 1\nbins: [7]\n")
    (project / "more.yaml").write_text("share: 0.25\nwithin: {a: 2}\n")
    given = {"bins": "[9]", "data": "010", "size": "null", "seed": str(2**128)}
    request = resolve(project, Path("o"), "toy", "published", Path("more.yaml"), given)
    assert request.folder == project / "o/toy/published"
    values = request.parameters
    assert (values["n"], values["share"], values["bins"], values["data"]) == (5, 0.25, [9], "010")
    assert (values["within"], values["size"], values["seed"]) == ({"a": 2.0}, None, 2**128)
    assert set(request.changed) == {"share", "within", "bins", "data", "size", "seed"}
    assert "output_dir" not in values


def test_all_that_is_wrong_is_told_at_once(project: Path) -> None:
    (project / "params/toy/published.yaml").write_text("n: 0\nshare: 2\nnam: 3\n")
    with pytest.raises(UsageError) as caught:
        resolve(project, project, "toy", "published", overrides={"bins": "[1]"})
    told = [line.split()[1] for line in str(caught.value).splitlines()]
    assert sorted(told) == ["bins", "n", "share", "unknown"]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("n: int = 0  # [1, 9] a", "n = 0; it must be int in [1, 9]"),
        ("n = 3", "not an annotated literal"),
        ("n: int", "not an annotated literal"),
        ("n: int = 1 + 1", "malformed node"),
        ("n: Path = 3", "name 'Path' is not defined"),
        ("import os", "not an annotated literal"),
        ("n: int = 3  # [1, 9] a", "declares output_dir"),
    ],
)
def test_a_wrong_parameters_cell_is_refused(tmp_path: Path, cell: str, told: str) -> None:
    (tmp_path / "toy.py").write_text(f'# %% tags=["parameters"]\n{cell}\n# %%\nn: int = "other"\n')
    with pytest.raises(UsageError, match=re.escape(told)):
        read_parameters(tmp_path / "toy.py")


@pytest.mark.parametrize("paper", find_papers(ROOT))
def test_no_count_of_a_notebook_is_without_end(paper: str) -> None:
    declared = read_parameters(ROOT / f"notebooks/{paper}.py")
    number = re.compile(r"(list\[)?(int|float)\]?")
    counts = {name: p.allowed for name, p in declared.items() if number.fullmatch(p.annotation)}
    endless = [name for name, said in counts.items() if not re.search(r" in .*\d[)\]]$", said)]
    assert endless in ([], ["seed"])
    texts = {name: p.help for name, p in declared.items() if "str" in p.annotation}
    of_files = {name for name, said in texts.items() if re.search("files?\\b", said)}
    assert of_files <= {*FILES}


def test_files_count_by_their_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tool").mkdir()
    for name in ("tool/b.csv", "tool/a.csv", "tool/.hidden", "one.csv"):
        (tmp_path / name).write_text(name)
    found = hash_inputs({"original": "nowhere.csv", "released": ["tool/", "one.csv"], "schema": ""})
    assert list(found) == ["tool/a.csv", "tool/b.csv", "one.csv"]
    (tmp_path / "one.csv").write_text("tool/a.csv")
    again = hash_inputs({"data": "one.csv"})
    assert again["one.csv"] == found["tool/a.csv"] != found["one.csv"]


def test_where_papers_come_from_and_outputs_go(tmp_path: Path) -> None:
    """The project at hand comes first, and results never lie with papers from elsewhere."""
    project, below = tmp_path / "project", tmp_path / "project" / "a" / "b"
    for folder in (below, project / "notebooks", project / "params"):
        folder.mkdir(parents=True)
    assert find_root(below) == project
    assert find_outputs(below) == project / "outputs"
    assert find_root(tmp_path) == ROOT
    assert find_outputs(tmp_path) == tmp_path / "outputs"
