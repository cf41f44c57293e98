"""RO-Crate metadata: what the specification asks for, and nothing of a user's file."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import toy

from srlib.runner import crate, run
from srlib.runner.parameters import resolve

PEOPLE = "job,sick\nastronaut,plague\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose notebook writes a table without a kernel, and a user's file in a folder."""
    declared = 'data: str = ""  # CSV file of records\nseed: int = 1'
    project = toy.make(tmp_path, toy.TEXT.replace("seed: int = 1", declared))
    (project / "of a user").mkdir()
    (project / "of a user/people.csv").write_text(PEOPLE)

    def execute(_: object, __: object, request: Any, folder: Path, *____: object) -> None:
        (folder / "tables").mkdir()
        (folder / "tables/values 1.csv").write_text(PEOPLE)
        if request.parameters["n"] == 100:
            raise run.NotebookFailed("too many astronauts")

    monkeypatch.setattr(run, "_execute_into", execute)
    monkeypatch.chdir(project)
    return project


def document(project: Path, **overrides: str) -> tuple[Path, dict[str, Any]]:
    """A run's folder and its metadata."""
    request = resolve(project, "toy", overrides=list(overrides.items()))
    folder = project / "outputs/toy/default"
    if overrides.get("n") == "100":
        folder = folder.with_name("default.failed")
        with pytest.raises(run.NotebookFailed):
            run.run(project, request, project / "outputs", with_report=False)
    else:
        assert run.run(project, request, project / "outputs", with_report=False) == folder
    return folder, json.loads((folder / crate.FILE).read_text(encoding="utf-8"))


def references(value: Any) -> Iterator[str]:
    """Go through what entities refer to."""
    if isinstance(value, list):
        for each in value:
            yield from references(each)
    elif isinstance(value, dict):
        assert set(value) == {"@id"}  # the graph is flat
        yield value["@id"]


@pytest.mark.parametrize("overrides", [{}, {"data": "of a user/people.csv"}, {"n": "100"}])
def test_entities_are_flat_files_exist_and_references_resolve(
    project: Path, overrides: dict[str, str]
) -> None:
    folder, found = document(project, **overrides)
    entities = {entity["@id"]: entity for entity in found["@graph"]}
    assert len(entities) == len(found["@graph"])
    assert all(entity["@type"] for entity in entities.values())
    outside = r"https://w3id.org/ro/crate/1\.1|http://schema.org/(Completed|Failed)ActionStatus"
    for entity in entities.values():
        for name, value in entity.items():
            for reference in () if name.startswith("@") else references(value):
                assert reference in entities or re.fullmatch(outside, reference)
    files = {e["@id"] for e in entities.values() if e["@type"] == "File"}
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert {unquote(name) for name in files} == there - {crate.FILE}
    assert " " not in "".join(files)
    for name in files:
        content = (folder / unquote(name)).read_bytes()
        assert entities[name]["sha256"] == hashlib.sha256(content).hexdigest()

    descriptor, root = entities[crate.FILE], entities["./"]
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert {"name", "description", "datePublished", "license"} <= set(root)
    assert {part["@id"] for part in root["hasPart"]} == files
    action = entities[root["mentions"]["@id"]]
    assert action["@type"] == "CreateAction"
    assert entities[action["instrument"]["@id"]]["@type"] == "SoftwareSourceCode"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\+00:00", action["startTime"])
    assert action["startTime"] <= action["endTime"] == root["datePublished"]
    status = "Failed" if "n" in overrides else "Completed"
    assert action["actionStatus"]["@id"].endswith(f"{status}ActionStatus")


def test_inputs_are_told_by_name_and_hash_alone(project: Path) -> None:
    file = project / "of a user/people.csv"
    folder, found = document(project, data=str(file))
    (given,) = (e for e in found["@graph"] if e["@id"].startswith("#input"))
    assert given["name"] == "people.csv"
    assert given["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    text = (folder / crate.FILE).read_text(encoding="utf-8")
    assert [w for w in ("astronaut", "plague", "of a user", str(project)) if w in text] == []
    root = next(entity for entity in found["@graph"] if entity["@id"] == "./")
    assert root["license"].startswith("Confidential")
    assert crate.FILE in (folder / "CONFIDENTIAL.txt").read_text().splitlines()
    assert (folder / crate.FILE).stat().st_mode & 0o077 == 0


def test_a_run_on_nobodys_records_has_a_license(project: Path) -> None:
    folder, found = document(project)
    root = next(entity for entity in found["@graph"] if entity["@id"] == "./")
    assert root["license"] == {"@id": "https://spdx.org/licenses/MIT"}
    assert not (folder / "CONFIDENTIAL.txt").exists()


def test_a_report_that_may_be_written_again_has_no_hash(project: Path) -> None:
    folder, _ = document(project)
    (folder / "report.html").write_text("once")
    crate.write(folder)
    found = json.loads((folder / crate.FILE).read_text(encoding="utf-8"))
    (report,) = (entity for entity in found["@graph"] if entity["@id"] == "report.html")
    assert "sha256" not in report
    (folder / "provenance.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        crate.write(folder)
