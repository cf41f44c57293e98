"""Parameters: what notebooks declare, which values they get, and what files count for."""

import re
from pathlib import Path

import pytest
import toy

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


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return toy.make(tmp_path)


def test_values_come_from_defaults_profile_file_and_command_in_this_order(project: Path) -> None:
    (project / "params/toy/published.yaml").write_text("n: 5\nshare: 1\nnames: [b]\n")
    (project / "more.yaml").write_text("share: 0.25\nmethod: simulated\n")
    given = {"names": "[c]", "data": "010", "seed": str(2**128)}
    request = resolve(project, Path("o"), "toy", "published", Path("more.yaml"), given)
    assert request.folder == project / "o/toy/published"
    changed = {"share": 0.25, "method": "simulated", "names": ["c"], "data": "010", "seed": 2**128}
    assert request.changed == changed
    assert request.parameters == {"n": 5} | changed


def test_all_that_is_wrong_is_told_at_once(project: Path) -> None:
    (project / "params/toy/published.yaml").write_text("n: 0\nshare: 2\nnam: 3\n")
    with pytest.raises(UsageError) as caught:
        resolve(project, project, "toy", "published", overrides={"names": "[1]"})
    told = [line.split()[1] for line in str(caught.value).splitlines()]
    assert sorted(told) == ["n", "names", "share", "unknown"]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("n: int = 0  # [1, 9] a", "n = 0; it must be int in [1, 9]"),
        ("n = 3", "not an annotated literal"),
        ("n: int = 1 + 1", "malformed node"),
        ("n: Path = 3", "name 'Path' is not defined"),
        ("n: int = 3  # [1, 9] a", "declares output_dir"),
    ],
)
def test_a_wrong_parameters_cell_is_refused(tmp_path: Path, cell: str, told: str) -> None:
    (tmp_path / "toy.py").write_text(f'# %% tags=["parameters"]\n{cell}\n# %%\nn: int = "other"\n')
    with pytest.raises(UsageError, match=re.escape(told)):
        read_parameters(tmp_path / "toy.py")


@pytest.mark.parametrize("paper", find_papers(ROOT))
def test_no_count_of_a_notebook_is_without_end_and_no_file_a_text(paper: str) -> None:
    declared = read_parameters(ROOT / f"notebooks/{paper}.py").items()
    number, range_ = re.compile(r"(list\[)?(int|float)\]?"), re.compile(r".* in .*\d[)\]]")
    counts = {name: p.allowed for name, p in declared if number.fullmatch(p.annotation)}
    assert {name for name, said in counts.items() if not range_.fullmatch(said)} <= {"seed"}
    texts = {name: p.help for name, p in declared if "str" in p.annotation}
    assert {name for name, said in texts.items() if re.search("files?\\b", said)} <= {*FILES}


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


def test_where_papers_come_from_and_outputs_go(project: Path) -> None:
    """The project at hand comes first, and results never lie with papers from elsewhere."""
    (project / "a").mkdir()
    for start, root, outputs in (
        (project / "a", project, project),
        (project.parent, ROOT, project.parent),
    ):
        assert find_root(start) == root
        assert find_outputs(start) == outputs / "outputs"
