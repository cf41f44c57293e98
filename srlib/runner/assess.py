"""Files assessed without a notebook: the page and the table, in a folder of their own."""

import hashlib
import importlib.metadata
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srlib import yamls
from srlib.runner import confidential
from srlib.runner.files import is_replaceable, private, replace_folder
from srlib.runner.parameters import UsageError, hash_inputs, read_object

if TYPE_CHECKING:
    from srlib.assessment import Assessment

FILES = ("original", "released", "schema", "holdout")
SEED = 2026  # the same files and options give the same report


def assess(named: Path, parameters: Mapping[str, Any]) -> tuple["Assessment", Path]:
    """Assess files, and return what was found and the folder with its report.

    Parameters
    ----------
    named : Path
        The folder. One with the answer to another question (other contents of files, or other
        parameters) or with anything else in it stays as it is, and this answer goes to
        NAME-HASH beside it.
    parameters : mapping
        As `srlib.assessment.take_in` takes them, and ``model``.

    Raises
    ------
    UsageError
        For what is wrong with the files, by column and line.
    ValueError
        Where a file was changed meanwhile.
    """
    from srlib.assessment import examine, take_in

    started = time.monotonic()
    inputs = {name: hash_inputs([parameters[name]]) for name in FILES}
    try:
        tables = take_in(**{name: value for name, value in parameters.items() if name != "model"})
    except ValueError as error:
        typed = confidential.texts(parameters.values())
        raise UsageError(confidential.without_values(str(error), typed)) from None
    found = examine(tables, model=parameters["model"], seed=SEED)
    if {name: hash_inputs([parameters[name]]) for name in FILES} != inputs:
        raise ValueError("a file was changed while it was assessed; run it again")
    options = {name: value for name, value in parameters.items() if name not in FILES}
    contents = {name: [*hashes.values()] for name, hashes in inputs.items()}
    asked = json.dumps([options, contents]).encode()
    question = hashlib.sha256(asked).hexdigest()[:8]
    about = {
        "status": "complete",
        "paper": "assess",
        "question": question,
        "inputs": {path: each for hashes in inputs.values() for path, each in hashes.items()},
        "versions": {"srlib": importlib.metadata.version("srlib")},
        "seconds": round(time.monotonic() - started, 1),
    }
    with private(named) as folder:
        (folder / "report.html").write_text(found.to_html(), encoding="utf-8")
        (folder / "report-public.html").write_text(found.to_html(public=True), encoding="utf-8")
        (folder / "tables").mkdir()
        found.table.to_csv(folder / "tables/answers.csv", index=False)
        found.records().to_csv(folder / "tables/records.csv", index=False)
        for name, content in {"results.json": found.to_dict(), "provenance.json": about}.items():
            text = json.dumps(content, indent=1, ensure_ascii=False)
            (folder / name).write_text(text + "\n", encoding="utf-8")
        (folder / "parameters.yaml").write_text(yamls.dump(dict(parameters)), encoding="utf-8")
        same = is_replaceable(named) and _answers(named) == question
        final = named if same or not named.exists() else named.with_name(f"{named.name}-{question}")
        replace_folder(folder, final)
    return found, final


def _answers(folder: Path) -> str | None:
    """Return the question that a folder has the answer to; None where nobody knows."""
    try:
        return read_object(folder / "provenance.json").get("question")
    except (OSError, ValueError):
        return None
