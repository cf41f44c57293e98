"""A run's folder as one HTML file that opens with no network."""

import base64
import hashlib
import json
import re
import urllib.parse
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import nbformat
import yaml
from latex2mathml import converter
from markupsafe import Markup, escape
from nbconvert.filters import Highlight2HTML, ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat import NotebookNode

TEMPLATES = Path(__file__).parent / "templates"
VEGA_LITE = ("application/vnd.vegalite.v5+json", "application/vnd.vegalite.v6+json")

_TAGS = (
    "a abbr b blockquote br caption code col colgroup dd details div dl dt em figcaption figure "
    "h1 h2 h3 h4 h5 h6 hr i li ol p pre s small span strong sub summary sup table tbody td tfoot "
    "th thead tr u ul"
)
_ATTRIBUTES = {
    "*": ["aria-label", "class", "role", "style", "title"],
    "a": ["href"],
    "col": ["span"],
    "td": ["colspan", "rowspan", "headers"],
    "th": ["colspan", "rowspan", "headers", "scope"],
}
_STYLE_ELEMENT = re.compile(r"<style\b.*?</style\s*>", re.IGNORECASE | re.DOTALL)


def write(run_dir: Path, public: bool = False) -> Path:
    """Write the report of a run's folder, and return its path.

    Parameters
    ----------
    run_dir : Path
        Folder with ``notebook.ipynb`` and, where they exist, ``parameters.yaml`` and
        ``provenance.json``.
    public : bool
        Leave out the outputs of cells tagged ``confidential``, and write
        ``report-public.html`` instead of ``report.html``.
    """
    notebook = nbformat.read(run_dir / "notebook.ipynb", as_version=4)
    parameters = run_dir / "parameters.yaml"
    provenance = run_dir / "provenance.json"
    html = render(
        notebook,
        yaml.safe_load(parameters.read_text(encoding="utf-8")) if parameters.exists() else {},
        json.loads(provenance.read_text(encoding="utf-8")) if provenance.exists() else {},
        public,
    )
    path = run_dir / ("report-public.html" if public else "report.html")
    path.write_text(html, encoding="utf-8")
    return path


def render(
    notebook: NotebookNode,
    parameters: dict[str, Any],
    provenance: dict[str, Any],
    public: bool = False,
) -> str:
    """Return the report as HTML.

    Names and labels come from users' files, so nothing that a cell has put out is trusted: text
    is escaped, HTML is reduced to harmless elements, charts are data, and the page's content
    security policy lets no script run but the one named by its hash.

    Parameters
    ----------
    notebook : NotebookNode
        Executed notebook.
    parameters : dict
        Values by name.
    provenance : dict
        As in ``provenance.json``.
    public : bool
        Leave out the outputs of cells tagged ``confidential``.
    """
    title = re.search(r"^# +(.+)$", _first_markdown(notebook), re.MULTILINE)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    charts = any(
        mime in output.get("data", {})
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for mime in VEGA_LITE
    )
    script = _script() if charts else ""
    environment.filters.update(markdown=_markdown, code=_code, output=_output)
    return environment.get_template("report.html.j2").render(
        cells=[cell for cell in notebook.cells if cell.source.strip()],
        parameters=parameters,
        provenance=provenance,
        public=public,
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
        title=title[1] if title else provenance.get("paper", "Report"),
    )


def _first_markdown(notebook: NotebookNode) -> str:
    return next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")


@cache
def _script() -> str:
    import vl_convert  # 50 MB, for reports with charts only

    own = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    # The last version of the major one that the charts' specifications name.
    library = vl_convert.javascript_bundle(vl_version="5.21")  # type: ignore[call-arg]
    script = f"{library}\n{own}"
    return script.replace("</script", "<\\/script")


def _mathml(latex: str, display: str) -> str:
    try:
        return converter.convert(latex.strip(), display=display)
    except Exception:  # whatever it cannot read is shown as it was written
        return f"<code>{escape(latex)}</code>"


class _Renderer(IPythonRenderer):
    """Markdown to HTML, its mathematics to MathML."""

    def block_math(self, body: str) -> str:
        return _mathml(body, "block")

    def inline_math(self, body: str) -> str:
        return _mathml(body, "inline")

    def latex_environment(self, name: str, body: str) -> str:
        return _mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", "block")


def _markdown(source: str, trusted: bool = True) -> Markup:
    renderer = _Renderer(escape=not trusted, allow_harmful_protocols=False)
    return Markup(MarkdownWithMath(renderer=renderer).render(source))


def _code(source: str) -> Markup:
    return Markup(Highlight2HTML(pygments_lexer="ipython3")(source))


def _output(output: NotebookNode) -> Markup:
    """Return one output of a cell in its richest form."""
    if output.output_type == "stream":
        return _text(output.text, "stderr" if output.name == "stderr" else "")
    if output.output_type == "error":
        return _text("\n".join(output.traceback), "error")
    data = output.data
    for mime in VEGA_LITE:
        if mime in data:
            return _chart(data[mime], data)
    if "text/html" in data:
        return _table(data["text/html"])
    if "text/markdown" in data:
        return _markdown(data["text/markdown"], trusted=False)
    if "image/svg+xml" in data:
        return _image(data["image/svg+xml"], data.get("text/plain", ""))
    if "image/png" in data:
        image = f"data:image/png;base64,{''.join(data['image/png'].split())}"
        return Markup('<img src="{}" alt="{}">').format(image, data.get("text/plain", ""))
    if "text/latex" in data:
        return Markup(_mathml(data["text/latex"].strip().strip("$"), "block"))
    return _text(data.get("text/plain", ""))


def _text(text: str, kind: str = "") -> Markup:
    return Markup('<pre class="text {}">{}</pre>').format(kind, Markup(ansi2html(text)))


def _table(html: str) -> Markup:
    sanitizer = SanitizeHTML(tags=_TAGS.split(), attributes=_ATTRIBUTES)
    clean = sanitizer.sanitize_html_tags(_STYLE_ELEMENT.sub("", html))
    return Markup('<div class="scroll">{}</div>').format(Markup(clean))


def _image(svg: str, alternative: str) -> Markup:
    """Return an SVG as an image: scripts in it do not run, and its ids do not meet others'."""
    image = "data:image/svg+xml," + urllib.parse.quote(svg, safe=" !'()*+,-./:;=?@[]_~")
    return Markup('<img src="{}" alt="{}">').format(image, alternative)


def _chart(spec: dict[str, Any], data: dict[str, Any]) -> Markup:
    """Return a chart as the picture of it, and the data that the page's script draws it from."""
    alternative = spec.get("description") or data.get("text/plain", "")
    picture = _image(data["image/svg+xml"], alternative) if "image/svg+xml" in data else ""
    text = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    text = text.replace("<", "\\u003c")  # no label ends the element
    return Markup(
        '<figure class="chart">{}<script type="application/json" class="vega-lite">{}</script>'
        "</figure>"
    ).format(picture, Markup(text))
