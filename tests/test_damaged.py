"""Folders that were damaged, or made by others: one line that names the file, and no traceback."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
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
    *(("parameters.yaml", content) for content in (b"a: [", b"\xff", b"5", b"", b"[" * 3000)),
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
        assert f"toy/published: {name} is damaged: " in Path(done.output).as_posix()
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


def sweep(folder: Path) -> Path:
    for n in (1, 2):
        point = folder / f"n={n}"
        (point / "tables").mkdir(parents=True, exist_ok=True)
        provenance = {"status": "complete", "changed_parameters": {"n": n}, "seconds": 1}
        (point / "provenance.json").write_text(json.dumps(provenance), encoding="utf-8")
        (point / "results.json").write_text('{"total": 1}', encoding="utf-8")
        (point / "tables" / "values.csv").write_text("label\na\n", encoding="utf-8")
    (folder / "index.csv").write_text("point,status\nn=1,done\nn=2,done\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "contents"),
    [
        ("n=1/provenance.json", (b"{", b"[]", b"5", b"\xff", b"{}", NESTED)),
        ("n=1/results.json", (b"{", b"[]", b"5", b"\xff", NESTED)),
        ("n=1/tables/values.csv", (b"", b"\xff", b'"a')),
        ("index.csv", (b"\xff", b"a,b\n1,2\n", b"point\n" + b"a" * 200_000 + b"\n")),
    ],
)
def test_collect_names_the_file_that_is_damaged(
    name: str, contents: tuple[bytes, ...], tmp_path: Path
) -> None:
    for content in contents:
        folder = sweep(tmp_path / "sweep")
        (folder / name).write_bytes(content)
        table = ["--table", "values"] if "tables" in name else []
        done = CliRunner().invoke(main, ["collect", str(folder), *table])
        assert done.exit_code == 2, (content[:40], done.exception)
        assert f"{Path(name).name} is damaged: " in done.output
        assert ("point n=1: " in done.output) == ("/" in name)
        assert len(done.output.splitlines()) <= 4


def test_collect_takes_what_is_whole(tmp_path: Path) -> None:
    folder = sweep(tmp_path)
    (folder / "index.csv").write_text("status,point\ndone,n=1\ndone\ndone,n=2\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["collect", str(folder)])
    assert done.exit_code == 0, done.output
    rows = pd.read_csv(folder / "results.csv")
    assert rows[["n", "total", "point"]].to_numpy().tolist() == [[1, 1, "n=1"], [2, 1, "n=2"]]
