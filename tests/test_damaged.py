"""Folders that were damaged, or made by others: one line that names the file, and no traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
import toy
from click.testing import CliRunner

from srlib.runner.cli import main


def notebook(**changed: Any) -> bytes:
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "SECRET"}
    content = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content | changed).encode()


NESTED = b"[" * 100_000
DAMAGED = [
    *(("notebook.ipynb", content) for content in (b"SECRET", b"[]", b"5", b"null", b"{}", b"\xff")),
    ("notebook.ipynb", NESTED),
    ("notebook.ipynb", notebook(nbformat=99)),
    ("notebook.ipynb", notebook(cells=5)),
    ("notebook.ipynb", notebook(cells=[{"cell_type": "markdown", "source": "SECRET"}])),
    ("notebook.ipynb", notebook(cells=[{"cell_type": "SECRET"}])),
    *(("provenance.json", content) for content in (b"{", b"[]", b"5", b"null", b"\xff", NESTED)),
    ("provenance.json", b'{"status": "complete", "versions": 5}'),
    ("provenance.json", b'{"status": "complete", "changed_parameters": null}'),
    *(("parameters.yaml", content) for content in (b"a: [", b"\xff", b"5", b"[" * 3000)),
]


@pytest.mark.parametrize("command", [["report"], ["report", "--public"]])
def test_reports_name_the_file_that_is_damaged(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = toy.make(tmp_path)
    monkeypatch.chdir(project)
    run = toy.finished(project / "outputs")
    for name, content in DAMAGED:
        kept = (run / name).read_bytes()
        (run / name).write_bytes(content)
        done = CliRunner().invoke(main, [*command, str(run)])
        assert done.exit_code == 2, (name, content[:40], done.exception)
        assert f"toy/published/{name} cannot be read: " in Path(done.output).as_posix()
        assert "SECRET" not in done.output
        (run / name).write_bytes(kept)


def test_a_chart_that_is_none_is_shown_as_its_picture(tmp_path: Path) -> None:
    run = toy.finished(tmp_path)
    content = json.loads((run / "notebook.ipynb").read_text(encoding="utf-8"))
    for cell in content["cells"]:
        for output in cell.get("outputs", []):
            output["data"] = {name: data if "vega" not in name else [] for name, data in
                              output["data"].items()}  # fmt: skip
    (run / "notebook.ipynb").write_text(json.dumps(content), encoding="utf-8")
    assert CliRunner().invoke(main, ["report", str(run)]).exit_code == 0
    html = (run / "report.html").read_text(encoding="utf-8")
    assert "data:image/svg+xml," in html
    assert 'class="vega-lite"' not in html
