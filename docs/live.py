"""Show the output of a run's cell in the guide: an interactive chart, or a table.

    :::{live} sequential_trees figure one_person
    :::

shows the output of the cell with ``outputs.figure("one_person", ...)``. The script of
the reports draws the chart over the static picture in the notebook.
"""

import json
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from srlib.runner import confidential, markup, report

SCRIPT = "charts.js"


def run_of(config: Any, notebook: str) -> Path:
    """Folder of a notebook's run at its published profile, or else at its defaults."""
    here = Path(__file__).parent
    published = (here.parent / "params" / notebook / "published.yaml").exists()
    return here / config.runs / notebook / ("published" if published else "default")


class Live(Directive):
    """Directive with the notebook, ``figure`` or ``table``, and its name there."""

    required_arguments = 3
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table, or the picture with the chart's specification behind it."""
        notebook, kind, name = self.arguments
        run = run_of(self.state.document.settings.env.config, notebook)
        if not (run / "notebook.ipynb").exists():
            return [
                self.state.document.reporter.warning(
                    f"no run of {notebook} in {run.parent}"
                )
            ]
        html = ""
        public, *_ = confidential.public_run(*report.read(run))
        for cell in public.cells:
            shown = (
                cell.get("outputs", [])
                if f'outputs.{kind}("{name}"' in cell.source
                else []
            )
            for data in (output.get("data", {}) for output in shown):
                spec = next((data[mime] for mime in data if "vega" in mime), None)
                if kind == "figure" and spec:
                    text = json.dumps(spec, separators=(",", ":")).replace(
                        "<", "\\u003c"
                    )
                    picture, about = (
                        quote(data["image/svg+xml"]),
                        escape(spec["description"]),
                    )
                    html += f'<img alt="{about}" src="data:image/svg+xml,{picture}">'
                    kind = 'type="application/json" class="vega-lite"'
                    html += f"<script {kind}>{text}</script>"
                elif kind == "table" and "text/html" in data:
                    html += markup.clean(data["text/html"])
        return [nodes.raw("", f'<div class="chart">{html}</div>', format="html")]


def add_script(app: Sphinx, page: str, template: str, context: Any, tree: Any) -> None:
    """Add the script to pages with a chart."""
    if tree and any("vega-lite" in node.astext() for node in tree.findall(nodes.raw)):
        app.add_js_file(SCRIPT, loading_method="defer")


def write_script(app: Sphinx, error: Exception | None) -> None:
    """Write the reports' script beside the theme's scripts."""
    if error is None:
        text = f"(() => {{{report.script(charts=True)}\n}})();"  # a scope of its own
        Path(app.outdir, "_static", SCRIPT).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Add the directive ``live``, which reads from the folder in ``runs``."""
    app.add_directive("live", Live)
    app.connect("html-page-context", add_script)
    app.connect("build-finished", write_script)
