"""An installed package in a folder of one's own, and reports that lie there already."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from srlib.runner import run
from srlib.runner.cli import main
from srlib.runner.parameters import (
    Request,
    _parameters_cell,
    file_parameters,
    find_outputs,
    find_papers,
    find_root,
    hash_inputs,
    read_parameters,
)

ROOT = Path(__file__).parents[1]
SMALL = ("n_classes", "n_draws", "n_chains", "most_iterations")
SETTINGS = [text for name in SMALL for text in ("-p", name, "4")]
ORIGINAL = "job,town,sick\n" + "a,north,no\nb,south,yes\nb,north,no\nc,south,no\n" * 5
MADE = "job,town,sick\n" + "a,south,no\nb,south,yes\nc,north,no\n" * 5


def install(site: Path) -> Path:
    """Copy what a wheel would hold, as pyproject.toml tells setuptools, and return the package."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    settings = settings["tool"]["setuptools"]
    for package in settings["packages"]:
        source = ROOT / settings["package-dir"].get(package, package.replace(".", "/"))
        for pattern in ("*.py", *settings["package-data"].get(package, ())):
            for file in source.glob(pattern):
                copy = site / package.replace(".", "/") / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, copy)
    return site / "srlib"


def files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_an_installed_package_assesses_files_in_a_folder_of_their_own(tmp_path: Path) -> None:
    """It has its own notebooks, writes beside the files, and takes no repository for its own."""
    package, own = install(tmp_path / "lib" / "site"), tmp_path / "own"
    own.mkdir()
    (own / "original.csv").write_text(ORIGINAL)
    (own / "made.csv").write_text(MADE)
    if shutil.which("git"):
        subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_DISABLE_JIT": "1",  # nothing is compiled there yet, and tables are small
    }

    def srlib(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "srlib", *arguments]
        return subprocess.run(command, cwd=own, capture_output=True, text=True, env=environment)

    before = files(package)
    done = srlib("assess", "original.csv", "made.csv", *SETTINGS, "--json")
    assert done.returncode == 0, done.stderr
    folder = own / "outputs/assess/made"
    document = json.loads(done.stdout)
    assert Path(document["report"]) == folder / "report.html"
    assert (folder / "report.html").stat().st_size > 10_000
    assert files(package) == before
    assert {p.name for p in own.iterdir()} == {"original.csv", "made.csv", "outputs"}
    told = [line.split(" (")[0] for line in done.stderr.splitlines()]
    assert told[:3] == ["assess: Parameters", "assess: Verdict", "assess: The tables"]

    provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["inputs"] == {
        name: hashlib.sha256((own / name).read_bytes()).hexdigest()
        for name in ("original.csv", "made.csv")
    }
    assert (provenance["git_commit"], provenance["git_dirty"]) == (None, None)
    of_checkout = run.source_hash((ROOT / "notebooks" / "assess.py").read_bytes())
    assert provenance["source_sha256"] == of_checkout

    refused = srlib("build", "assess")
    assert refused.returncode == 2
    assert "built in a checkout" in refused.stderr
    assert files(package) == before


def test_an_installed_package_carries_all_papers_and_parameters(tmp_path: Path) -> None:
    shipped = install(tmp_path) / "shipped"
    assert find_papers(shipped) == find_papers(ROOT)
    profiles = {p for p in files(ROOT / "params") if p.endswith(".yaml")}
    assert files(shipped / "params") == profiles


def test_where_papers_come_from_and_outputs_go(tmp_path: Path) -> None:
    """The project at hand comes first, and results never lie with papers from elsewhere."""
    project, below = tmp_path / "project", tmp_path / "project" / "a" / "b"
    for folder in (below, project / "notebooks", project / "params"):
        folder.mkdir(parents=True)
    assert find_root(below) == project
    assert find_outputs(project, below) == project / "outputs"
    assert find_root(tmp_path) == ROOT
    assert find_outputs(ROOT, tmp_path) == tmp_path / "outputs"
    # Folders of a user's that happen to be called notebooks and params.
    assert find_root(below, "assess") == ROOT
    (project / "notebooks" / "assess.py").touch()
    assert find_root(below, "assess") == project


# ------------------------------------------------------------------ reports that lie there already

# The report's parameters and hardly anything of its work.
QUICK = """
# %% tags=["parameters"]
{parameters}

# %%
import json
from pathlib import Path

Path(output_dir, "results.json").write_text(json.dumps({{"first": str(keys)}}))
Path(output_dir, "tables").mkdir()
Path(output_dir, "tables", "verdict.csv").write_text("release,advice,first,topic,level,text")
Path(output_dir, "tables", "broken_rules.csv").write_text("release,topic,reason")
Path(output_dir, "tables", "side_by_side.csv").write_text("release")
# more
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a quick report, and files to assess."""
    text = _parameters_cell((ROOT / "notebooks" / "assess.py").read_text(encoding="utf-8"))
    (tmp_path / "params").mkdir()
    (tmp_path / "notebooks").mkdir()
    quick = QUICK.format(parameters=text.strip())
    (tmp_path / "notebooks" / "assess.py").write_text(quick, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, last in (("old", "a,north,no"), ("new", "c,north,yes")):
        Path(name).mkdir()
        Path(name, "original.csv").write_text(f"{ORIGINAL}{last}\n")
    Path("made.csv").write_text(MADE)
    return tmp_path


def assess(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["assess", *arguments])
    assert result.exit_code == 0, result.output
    return result


def notice(result: Result) -> list[str]:
    return [line for line in result.stderr.splitlines() if "this one goes to" in line]


def reports(own: Path) -> dict[str, bytes]:
    found = own.glob("outputs/assess/*/provenance.json")
    return {path.parent.name: path.read_bytes() for path in sorted(found)}


def test_a_report_on_other_files_or_with_other_parameters_is_never_replaced(own: Path) -> None:
    assert notice(assess("old/original.csv", "made.csv")) == []
    first = reports(own)
    result = assess("new/original.csv", "made.csv")
    assert notice(result) == [
        "outputs/assess/made holds a report on other files (original old/original.csv); "
        "this one goes to outputs/assess/made-2"
    ]
    assert result.stdout.endswith("report: outputs/assess/made-2/report.html\n")
    second = reports(own)
    assert list(second) == ["made", "made-2"]
    assert second["made"] == first["made"]
    provenance = json.loads(second["made-2"])
    assert provenance["profile"] == "made-2"
    assert set(provenance["inputs"]) == {"new/original.csv", "made.csv"}

    result = assess("old/original.csv", "made.csv", "--keys", "job")
    assert notice(result) == [
        "outputs/assess/made holds a report with other parameters (no keys); "
        "this one goes to outputs/assess/made-3"
    ]
    third = reports(own)
    assert {name: third[name] for name in second} == second

    # The same question again has its own report replaced, wherever that lies.
    Path("copy.csv").write_bytes(Path("new/original.csv").read_bytes())
    assert len(notice(assess("copy.csv", "made.csv"))) == 1
    fourth = reports(own)
    assert list(fourth) == ["made", "made-2", "made-3"]
    assert "copy.csv" in json.loads(fourth["made-2"])["inputs"]
    assert [fourth[name] for name in ("made", "made-3")] == [third["made"], third["made-3"]]

    # The released file has been made anew, and the folder's name is given.
    Path("made.csv").write_text(MADE + "a,south,yes\n")
    assert notice(assess("old/original.csv", "made.csv", "--name", "made")) == [
        "outputs/assess/made holds a report on other files (released made.csv as it was then); "
        "this one goes to outputs/assess/made-4"
    ]
    assert {name: reports(own)[name] for name in fourth} == fourth


def test_a_report_that_another_run_finished_meanwhile_stays(own: Path) -> None:
    """Two that start together find the same name free; the later one moves on."""
    meanwhile = own / "outputs" / "assess" / "made"
    notebook = own / "notebooks" / "assess.py"
    text = notebook.read_text(encoding="utf-8")
    finishes = f"other = Path({str(meanwhile)!r}); other.mkdir(); (other / 'mine').touch()"
    notebook.write_text(text.replace("# more", finishes), encoding="utf-8")
    result = assess("old/original.csv", "made.csv")
    assert notice(result) == [
        "outputs/assess/made is not the folder of a run; this one goes to outputs/assess/made-2"
    ]
    assert files(meanwhile) == {"mine"}
    assert list(reports(own)) == ["made-2"]
    assert not list(own.glob("outputs/assess/.tmp-*"))


def test_a_release_named_like_a_profile_is_no_run_of_the_profile(own: Path) -> None:
    Path("default.csv").write_text(MADE)
    assess("old/original.csv", "default.csv")
    assert list(reports(own)) == ["released_default"]


@pytest.mark.parametrize("name", ["../made", "/made", "a b", "x" * 300])
def test_a_report_has_a_plain_name(own: Path, name: str) -> None:
    arguments = ["assess", "old/original.csv", "made.csv", "--name", name]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "it must be at most 100 letters" in result.output
    assert not (own / "outputs").exists()


@pytest.mark.parametrize(
    ("paper", "of_files"),
    [
        ("assess", {"original", "released", "schema", "holdout", "rules"}),
        ("hu_reiter_wang", {"data", "schema"}),
        ("sequential_trees", {"data", "schema"}),
        ("charest", set()),
    ],
)
def test_all_files_that_a_notebook_takes_count(paper: str, of_files: set[str]) -> None:
    declared = read_parameters(ROOT / "notebooks" / f"{paper}.py")
    assert set(file_parameters(declared)) == of_files


@pytest.fixture
def request_(own: Path) -> Request:
    parameters = {"original": "old/original.csv", "released": ["made.csv"], "share": 1e-9, "n": 2}
    names = ("original", "released", "schema")
    inputs = hash_inputs({**parameters, "schema": ""}, names)
    return Request("assess", "made", parameters, {}, inputs, keep_others=True)


def finished(folder: Path, request: Request, **provenance: object) -> None:
    folder.mkdir(parents=True)
    (folder / "parameters.yaml").write_text(yaml.safe_dump(dict(request.parameters)))
    content = {"inputs": dict(request.inputs), **provenance}
    (folder / "provenance.json").write_text(json.dumps(content))


def changed(**parameters: object) -> Callable[[Request], Request]:
    return lambda request: replace(request, parameters={**request.parameters, **parameters})


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (changed(), ""),
        (changed(n=3), "holds a report with other parameters (n 2)"),
        (changed(n=3, share=0.5), "holds a report with other parameters (n 2; share 1e-09)"),
        (changed(flag=True), "holds a report with other parameters (no flag)"),
        (
            changed(released=["made.csv", "made.csv"]),
            "holds a report on other files (released made.csv)",
        ),
    ],
)
def test_what_an_earlier_folder_holds(
    own: Path, request_: Request, asked: Callable[[Request], Request], reason: str
) -> None:
    named = own / "outputs" / "assess" / "made"
    finished(named, request_)
    expected = named.with_name("made-2") if reason else named
    assert run._own_folder(named, asked(request_)) == (expected, reason)


def test_folders_of_unknown_origin_and_gaps_between_names(own: Path, request_: Request) -> None:
    named = own / "outputs" / "assess" / "made"
    assert run._own_folder(named, request_) == (named, "")
    finished(named.with_name("made-3"), request_)
    finished(named.with_name("made-1"), request_)  # no continuation of made
    assert run._own_folder(named, request_) == (named.with_name("made-3"), "")
    other = changed(n=7)(request_)
    assert run._own_folder(named, other) == (named, "")
    named.mkdir()
    reason = "is not the folder of a run"
    assert run._own_folder(named, other) == (named.with_name("made-2"), reason)
    (named / "provenance.json").write_text("[]")
    (named / "parameters.yaml").write_text("- 1\n")
    assert run._own_folder(named, other)[1] == reason
    shutil.rmtree(named)
    finished(named, other)
    provenance = {"status": "complete"}  # as earlier versions wrote it
    (named / "provenance.json").write_text(json.dumps(provenance))
    told = "holds a report that does not say what its files contained"
    assert run._own_folder(named, other) == (named.with_name("made-2"), told)
