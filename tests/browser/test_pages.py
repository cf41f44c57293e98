"""A report in a browser: in both themes, narrow and wide, on paper, by keyboard.

axe-core checks it for accessibility. Needs Chromium (or the path of one in CHROMIUM),
node, and the packages of ``package.json``: ``npm install`` in this folder, or their
folder in NODE_PATH. Without them the tests are skipped.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
import toy

from srlib import charts
from srlib.runner import report

pytestmark = pytest.mark.slow
IMAGE = "<img src=x alt=a onerror='document.title = 1'>"
RUN = (
    f"<script>document.title = 2</script>{IMAGE}<svg onload='document.title = 3'></svg>"
)
RUN += "<a href='javascript:document.title = 4' onclick='document.title = 5'>a</a>"
RUN += f"<math><mtext><style>{IMAGE}"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Observations of a report with active content, in both themes and two widths."""
    names = ("chromium", "google-chrome", "chrome")
    installed = next(filter(None, map(shutil.which, names)), None)
    browser = os.environ.get("CHROMIUM", installed)
    node = shutil.which("node")
    if not (node and browser):
        pytest.skip("needs Chromium and node (see tests/browser)")
    run = toy.finished(tmp_path_factory.mktemp("outputs"))
    notebook = nbformat.read(run / "notebook.ipynb", as_version=4)
    x = {"field": "x", "title": RUN}
    y = {"field": "width", "aggregate": "sum"}
    spec = {
        "description": RUN,
        "mark": "bar",
        "width": 2000,
        "encoding": {"x": x, "y": y},
        "data": {"values": [{"x": RUN, "width": 5000}]},
        "params": [
            {"name": "a", "value": 1, "bind": {"input": "text", "element": "main"}}
        ],
        "usermeta": {"embedOptions": {"defaultStyle": ["main {margin: 99rem}"]}},
    }
    evil = (
        {"text/html": RUN},
        {"text/markdown": f"{RUN}\n\n$${RUN}$$"},
        {"text/plain": RUN},
    )
    chart = {charts.MIME_TYPE: spec, "image/svg+xml": f"<svg>{RUN}</svg>"}
    notebook.cells[-1].outputs += [toy.displayed(data) for data in (chart, *evil)]
    notebook.cells[-1].outputs += [nbformat.v4.new_output("stream", text=RUN)]
    folded = f"## Folded\n\na\n\n## {RUN}\n\n{RUN}\n\n$$\\text{{{RUN}}}$$"
    notebook.cells[-1:-1] = [toy.text(folded, "appendix")]
    notebook.cells[1].metadata["tags"].append("hero")
    nbformat.write(notebook, run / "notebook.ipynb")
    script = Path(__file__).with_name("look.js")
    command = [node, str(script), browser, str(report.write(run))]
    looked = subprocess.run(command, capture_output=True, text=True, timeout=400)
    if "Cannot find module" in looked.stderr:
        pytest.skip("needs playwright-core and axe-core (see tests/browser)")
    assert looked.returncode == 0, looked.stderr
    return json.loads(looked.stdout)


PAPER = {
    "ground": "rgb(255, 255, 255)",
    "navigation": False,
    "pictures": 4,
    "twice": 0,
    "cut": 0,
}
FOUND = {
    "title": "A finding",  # else active content ran
    "console": [],  # nothing is loaded or fails
    "overflow": 0,  # the page does not move sideways
    "violations": [],  # of accessibility
    "charts": 4,
    "legend": [0, 1, 0],  # by keyboard
    "paper": PAPER,
}


@pytest.mark.parametrize("what", FOUND)
def test_a_page_is_safe_readable_and_accessible(seen, what):
    assert [view[what] for view in seen] == [FOUND[what]] * 4
