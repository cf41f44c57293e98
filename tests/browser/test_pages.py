"""A report in a browser: both themes, narrow and wide, on paper, by keyboard, and by axe-core.

Needs Chromium (or the path of one in CHROMIUM), node, and the packages of ``package.json``: ``npm
install`` in this folder, or their folder in NODE_PATH. Without them the tests are skipped.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest
import toy

from srlib import charts
from srlib.runner import report

HERE = Path(__file__).parent
pytestmark = pytest.mark.slow
IMAGE = "<img src=x alt=a onerror='document.title = 1'>"
RUN = f"<script>document.title = 2</script>{IMAGE}<svg onload='document.title = 3'></svg>"
RUN += "<a href='javascript:document.title = 4' onclick='document.title = 5'>a</a>"
RUN += f"<math><mtext><style>{IMAGE}"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What stands out in a report with text that would run, in both themes and two widths."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "google-chrome", "chrome")
    browser = next(filter(None, (shutil.which(name) for name in names if name)), None)
    needed = "require.resolve('playwright-core'); require.resolve('axe-core')"
    node = [shutil.which("node") or "", "-e", needed]
    if not browser or not node[0] or subprocess.run(node, cwd=HERE, capture_output=True).returncode:
        pytest.skip("needs Chromium, node, playwright-core and axe-core (see tests/browser)")
    run = toy.finished(tmp_path_factory.mktemp("outputs"))
    notebook = nbformat.read(run / "notebook.ipynb", as_version=4)
    (cell,) = (cell for cell in notebook.cells if cell.source.startswith("x ="))
    spec = {"description": RUN, "mark": "bar", "data": {"values": [{"x": RUN}]},
            "encoding": {"x": {"field": "x", "type": "nominal", "title": RUN}}}  # fmt: skip
    data: list[dict[str, Any]] = [{charts.MIME_TYPE: spec, "image/svg+xml": f"<svg>{RUN}</svg>"}]
    data += [{"text/html": RUN}, {"text/markdown": f"{RUN}\n\n$${RUN}$$"}, {"text/plain": RUN}]
    cell.outputs += [nbformat.v4.new_output("display_data", data=one) for one in data]
    cell.outputs += [nbformat.v4.new_output("stream", text=RUN)]
    folded = nbformat.v4.new_markdown_cell(f"## {RUN}\n\n{RUN}\n\n$$\\text{{{RUN}}}$$")
    folded.metadata["tags"] = ["appendix"]
    notebook.cells = [*notebook.cells[:-1], folded, notebook.cells[-1]]
    notebook.cells[2].metadata["tags"].append("hero")
    nbformat.write(notebook, run / "notebook.ipynb")
    command = ["node", str(HERE / "look.js"), browser, str(report.write(run))]
    told = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert told.returncode == 0, told.stderr
    found: list[dict[str, Any]] = json.loads(told.stdout)
    assert len(found) == 4
    return found


def test_nothing_runs_and_nothing_is_loaded(seen: list[dict[str, Any]]) -> None:
    assert [view["title"] for view in seen] == ["A finding"] * 4
    assert [view["console"] for view in seen] == [[]] * 4


def test_the_page_does_not_move_sideways_and_is_accessible(seen: list[dict[str, Any]]) -> None:
    assert [view["overflow"] for view in seen] == [0] * 4
    assert [view["violations"] for view in seen] == [[]] * 4


def test_charts_are_drawn_and_their_legends_work_by_keyboard(seen: list[dict[str, Any]]) -> None:
    assert [view["charts"] for view in seen] == [4] * 4
    assert [view["legend"] for view in seen] == [[0, 1, 0]] * 4


def test_paper_has_charts_on_white_and_no_navigation(seen: list[dict[str, Any]]) -> None:
    paper = {"ground": "rgb(255, 255, 255)", "navigation": False, "pictures": 4}
    paper |= {"twice": 0, "cut": 0}
    assert [view["paper"] for view in seen] == [paper] * 4
