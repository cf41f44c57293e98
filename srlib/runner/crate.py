"""What a run's folder holds and how it came about, as RO-Crate metadata.

RO-Crate 1.1 (Sefton and others 2020, https://w3id.org/ro/crate/1.1) with the profile Process Run
Crate 0.5 (https://w3id.org/ro/wfrun/process/0.5): one action, the notebook's execution, that took
inputs and left files. All comes from ``provenance.json`` and from the names and contents of the
files in the folder.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from srlib.runner.confidential import CONFIDENTIAL_FILES, PUBLIC_FILES
from srlib.runner.files import write_whole
from srlib.runner.parameters import read_object

FILE = "ro-crate-metadata.json"

_CRATE, _PROFILE = "https://w3id.org/ro/crate/1.1", "https://w3id.org/ro/wfrun/process/0.5"
_CONTEXT = [f"{_CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context"]
_LICENSE = "https://spdx.org/licenses/MIT"
_CONFIDENTIAL = (
    f"Confidential: this run is on somebody's records. Only what {PUBLIC_FILES} names may be "
    "passed on."
)
_FORMATS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
}
_DESCRIPTIONS = {
    "notebook.ipynb": "The executed notebook",
    "parameters.yaml": "All parameters of the run",
    "provenance.json": "Versions, sources, seed and times of the run",
    "report.html": "The notebook as a page that opens without a network",
    "results.json": "Single numbers by name",
    PUBLIC_FILES: "Files that may be passed on, whatever the data are",
    CONFIDENTIAL_FILES: "Files that must not be passed on",
}
# Written again by `srlib report`, so that their hashes would not last.
_REWRITTEN = ("report.html", "report-public.html")

Entity = dict[str, Any]


def write(folder: Path) -> None:
    """Write ``ro-crate-metadata.json`` into the folder of a run.

    Parameters
    ----------
    folder : Path
        With ``provenance.json``. All files in it are described, but for reports by their hash, too.

    Raises
    ------
    ValueError
        If ``provenance.json`` is damaged.
    """
    crate = metadata(folder, read_object(folder / "provenance.json"))
    write_whole(folder / FILE, json.dumps(crate, indent=1, ensure_ascii=False) + "\n")


def metadata(folder: Path, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON-LD document on a run's folder.

    Parameters
    ----------
    folder : Path
        Its files.
    provenance : mapping
        As in ``provenance.json``. Of input files the document has names without folders and
        hashes; so it is as confidential as they are, and in no public report.
    """
    paper, profile = provenance["paper"], provenance["profile"]
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != FILE)
    files = [_file(path, path.relative_to(folder).as_posix()) for path in found]
    inputs = [
        _input(f"#input-{i}", path, digest)
        for i, (path, digest) in enumerate(provenance["inputs"].items(), start=1)
    ]
    packages = [_package(name, version) for name, version in provenance["versions"].items()]
    complete = provenance["status"] == "complete"
    confidential = (folder / CONFIDENTIAL_FILES).is_file()
    license_ = {"@id": _LICENSE, "@type": "CreativeWork", "name": "MIT License"}
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{paper}, {profile}",
        "description": f"What a run of the notebook {paper} with the profile {profile} left.",
        "datePublished": provenance["ended"],
        "license": _CONFIDENTIAL if confidential else _to(license_),
        "conformsTo": {"@id": _PROFILE},
        "hasPart": [_to(file) for file in files],
        "mentions": {"@id": "#run"},
    }
    action = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Run of {paper}",
        "description": f"srlib run {paper}; the parameters are in parameters.yaml.",
        "startTime": provenance["started"],
        "endTime": provenance["ended"],
        "instrument": {"@id": "#notebook"},
        "object": [*map(_to, inputs), {"@id": "parameters.yaml"}],
        "result": [_to(file) for file in files if file["@id"] != "parameters.yaml"],
        "actionStatus": {
            "@id": f"http://schema.org/{'Completed' if complete else 'Failed'}ActionStatus"
        },
    }
    notebook = {
        "@id": "#notebook",
        "@type": "SoftwareSourceCode",
        "name": f"notebooks/{paper}.py",
        "description": "A notebook and the library's methods; the hash is of both together.",
        "version": provenance["git_commit"] or provenance["versions"]["srlib"],
        "sha256": provenance["source_sha256"],
        "programmingLanguage": "Python",
        "softwareRequirements": [_to(package) for package in packages],
    }
    descriptor = {
        "@id": FILE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": _CRATE},
        "about": _to(root),
    }
    profile_ = {
        "@id": _PROFILE,
        "@type": "CreativeWork",
        "name": "Process Run Crate",
        "version": "0.5",
    }
    graph = [descriptor, root, profile_, action, notebook, *packages, *inputs, *files]
    return {"@context": _CONTEXT, "@graph": graph if confidential else [*graph, license_]}


def _to(entity: Entity) -> Entity:
    return {"@id": entity["@id"]}


def _file(path: Path, name: str) -> Entity:
    entity = {"@id": quote(name), "@type": "File", "name": name}
    if description := _DESCRIPTIONS.get(name):
        entity["description"] = description
    if format_ := _FORMATS.get(path.suffix):
        entity["encodingFormat"] = format_
    if name not in _REWRITTEN:
        entity["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return entity


def _input(identifier: str, path: str, digest: str) -> Entity:
    """Describe a file that is not in the folder; of its place nothing is told."""
    return {
        "@id": identifier,
        "@type": "CreativeWork",
        "name": re.split(r"[\\/]", path)[-1],
        "description": "An input file, which is not in this folder",
        "sha256": digest,
    }


def _package(name: str, version: str) -> Entity:
    return {
        "@id": f"#{name}",
        "@type": "SoftwareApplication",
        "name": name,
        "softwareVersion": version,
    }
