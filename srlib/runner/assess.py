"""Two files assessed without a notebook: the page and the table, in a folder of their own."""

import importlib.metadata
import itertools
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srlib import yamls
from srlib.runner import confidential
from srlib.runner.files import (
    is_replaceable,
    make_private,
    remove_leftovers,
    replace_folder,
    temporary,
)
from srlib.runner.parameters import hash_inputs

if TYPE_CHECKING:
    from srlib.assessment import Assessment

FILES = ("original", "released", "schema", "holdout")


def write(
    found: "Assessment", named: Path, parameters: Mapping[str, Any], inputs: Mapping[str, str],
    started: float,
) -> Path:  # fmt: skip
    """Write an assessment into a folder whole or not at all, and return where.

    What is there is replaced only by the answer to the same question: files of the same contents
    and the same parameters. Any other report stays, as does a folder with anything else in it, and
    this one goes to NAME-2, NAME-3 and so on. Nobody but the owner may read it.
    """
    if hash_inputs(parameters, FILES) != inputs:
        raise ValueError("a file was changed while it was assessed; run it again")
    remove_leftovers(named.parent, named.name)
    folder = temporary(named)
    folder.mkdir(parents=True, mode=0o700)
    try:
        (folder / "report.html").write_text(found.to_html(), encoding="utf-8")
        (folder / "report-public.html").write_text(found.to_html(public=True), encoding="utf-8")
        (folder / "tables").mkdir()
        found.table.to_csv(folder / "tables/answers.csv", index=False)
        found.records().to_csv(folder / "tables/records.csv", index=False)
        texts = {
            "results.json": found.to_dict(),
            "provenance.json": {
                "status": "complete", "paper": "assess", "inputs": dict(inputs),
                "versions": {"srlib": importlib.metadata.version("srlib")},
                "seconds": round(time.monotonic() - started, 1),
            },
        }  # fmt: skip
        for name, content in texts.items():
            text = json.dumps(content, indent=1, ensure_ascii=False)
            (folder / name).write_text(text + "\n", encoding="utf-8")
        (folder / "parameters.yaml").write_text(yamls.dump(dict(parameters)), encoding="utf-8")
        (folder / confidential.PUBLIC_FILES).write_text("report-public.html\n", encoding="utf-8")
        confidential.list_files(folder, parameters, {"inputs": inputs})
        make_private(folder)

        def free(at: Path) -> bool:
            same = is_replaceable(at) and _same_question(at, parameters, inputs)
            return same or not at.exists()

        beside = (named.with_name(f"{named.name}-{k}") for k in itertools.count(2))
        for final in itertools.chain([named], beside):
            try:
                replace_folder(folder, final, free)
            except FileExistsError:  # another report lies there, or was put there meanwhile
                continue
            return final
        raise AssertionError
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _same_question(at: Path, parameters: Mapping[str, Any], inputs: Mapping[str, str]) -> bool:
    """Say whether a folder has an assessment of the same contents with the same parameters."""
    try:
        earlier = json.loads((at / "provenance.json").read_text(encoding="utf-8"))["inputs"]
        before = yamls.read(at / "parameters.yaml")
    except (OSError, ValueError, KeyError, TypeError):
        return False

    if not (isinstance(before, dict) and isinstance(earlier, dict)):
        return False
    return _question(before, earlier) == _question(parameters, inputs)


def _question(parameters: Mapping[str, Any], inputs: Mapping[str, str]) -> tuple[Any, list[str]]:
    """Return parameters with the hashes of files in the place of their paths, and all hashes."""

    def content(value: Any) -> Any:
        if isinstance(value, list):
            return [content(item) for item in value]
        return inputs.get(value, value) if isinstance(value, str) else value

    return {name: content(value) for name, value in parameters.items()}, sorted(inputs.values())
