"""Files assessed without a notebook: the page and the tables, in a folder of their own."""

import hashlib
import importlib.metadata
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import ClickException, UsageError

from srlib import yamls
from srlib.runner import confidential
from srlib.runner.files import whole
from srlib.runner.parameters import hash_inputs

if TYPE_CHECKING:
    from srlib.assessment import Assessment

SEED = 2026  # the same files and options give the same report


def assess(
    outputs: Path, parameters: Mapping[str, Any], name: str = ""
) -> tuple["Assessment", Path]:
    """Assess files; return what was found, and the report in a folder named for them, or so.

    Parameters are as `srlib.assessment.take_in` takes them, and ``model``. The folder's name ends
    in a hash of parameters and files, so that an answer to another question is not replaced.
    """
    from srlib.assessment import examine, take_in

    started, options = time.monotonic(), dict(parameters)
    model, typed = options.pop("model"), confidential.texts(parameters.values())
    files = [options["original"], *options["released"], options["schema"], options["holdout"]]
    inputs = hash_inputs(files)
    try:
        tables = take_in(**options)
    except (ValueError, OSError) as error:  # with columns and lines
        raise UsageError(confidential.without_values(str(error), typed)) from None
    try:
        found = examine(tables, model=model, seed=SEED)
    except Exception as error:
        told = confidential.error_without_values(type(error).__name__, str(error), typed)
        raise ClickException(told) from None
    if hash_inputs(files) != inputs:
        raise ClickException("a file was changed while it was assessed; run it again")
    question = json.dumps([parameters, inputs], sort_keys=True).encode()
    name = re.sub(r"[^\w-]", "_", name or Path(files[1]).resolve().name.split(".")[0])[:60]
    final = outputs / f"{name}-{hashlib.sha256(question).hexdigest()[:8]}"
    about: dict[str, Any] = {"status": "complete", "paper": "assess", "inputs": inputs}
    about["versions"] = {"srlib": importlib.metadata.version("srlib")}
    about["seconds"] = round(time.monotonic() - started, 1)
    with whole(final) as folder:
        (folder / "tables").mkdir()
        found.table.to_csv(folder / "tables/answers.csv", index=False)
        found.records().to_csv(folder / "tables/records.csv", index=False)
        for name, text in {
            "report.html": found.to_html(),
            "report-public.html": found.to_html(public=True),
            "parameters.yaml": yamls.dump(parameters),
            "results.json": json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n",
            "provenance.json": json.dumps(about, indent=1, ensure_ascii=False) + "\n",
        }.items():
            (folder / name).write_text(text, encoding="utf-8")
    return found, final / "report.html"
