"""A run's folder as one HTML file that opens with no network."""

import base64
import hashlib
import json
import re
import secrets
import urllib.parse
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import jinja2
import nbformat
from latex2mathml import converter
from markupsafe import Markup, escape
from nbconvert.filters import Highlight2HTML, ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat import NotebookNode

from srlib import yamls
from srlib.runner import confidential
from srlib.runner.files import write_whole
from srlib.runner.parameters import read_object

TEMPLATES = Path(__file__).parent / "templates"
VEGA_LITE = ("application/vnd.vegalite.v5+json", "application/vnd.vegalite.v6+json")

_TAGS = (
    "a abbr b blockquote br caption code col colgroup dd details div dl dt em figcaption figure "
    "h1 h2 h3 h4 h5 h6 hr i li ol p pre s small span strong sub summary sup table tbody td tfoot "
    "th thead tr u ul"
)
_MATHEMATICS = (
    "math menclose mfrac mi mn mo mover mpadded mphantom mroot mrow mspace msqrt mstyle msub "
    "msubsup msup mtable mtd mtext mtr munder munderover"
)
_OF_MATHEMATICS = (
    "accent columnalign columnlines columnspacing depth display displaystyle fence form height "
    "linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize notation "
    "rowlines rowspacing rspace scriptlevel separator stretchy symmetric voffset width xmlns"
)
_ATTRIBUTES = {
    "*": ["aria-label", "class", "role", "style", "title"],
    "a": ["href"],
    "col": ["span"],
    "img": ["src", "alt"],
    **{f"h{level}": ["id"] for level in range(1, 7)},
    **{name: _OF_MATHEMATICS.split() for name in _MATHEMATICS.split()},
    "td": ["colspan", "rowspan", "headers"],
    "th": ["colspan", "rowspan", "headers", "scope"],
}
_FUNCTION = re.compile(r"<mi>(log|exp|min|max)</mi>(?!<mo)")
_STYLE_ELEMENT = re.compile(r"<style\b.*?</style\s*>", re.IGNORECASE | re.DOTALL)


def write(run_dir: Path, public: bool = False) -> Path:
    """Write the report of a run's folder, whole or not at all, and return its path.

    Parameters
    ----------
    run_dir : Path
        As `read` takes it.
    public : bool
        Show what `confidential.public_run` leaves, and write ``report-public.html`` instead of
        ``report.html``.

    Raises
    ------
    ValueError
        If the run failed and the report is to be public, and as `read`.
    """
    path = run_dir / ("report-public.html" if public else "report.html")
    write_whole(path, render(*read(run_dir), public))
    return path


def read(run_dir: Path) -> tuple[NotebookNode, dict[str, Any], dict[str, Any]]:
    """Read what a report is made of: executed notebook, parameters and provenance.

    Parameters
    ----------
    run_dir : Path
        Folder with ``notebook.ipynb`` and, where they exist, ``parameters.yaml`` and
        ``provenance.json``.

    Raises
    ------
    ValueError
        If one of them is not as a run writes it; the message names the file.
    """
    notebook = _notebook(run_dir / "notebook.ipynb")
    parameters, provenance = run_dir / "parameters.yaml", run_dir / "provenance.json"
    try:
        values = yamls.read(parameters) if parameters.exists() else {}
    except ValueError as error:
        raise ValueError(f"{parameters.name} is damaged: {error}") from None
    if not isinstance(values, dict):
        raise ValueError(f"{parameters.name} is damaged: it holds no mapping")
    about = read_object(provenance) if provenance.exists() else {}
    for name in ("versions", "changed_parameters", "inputs"):
        if not isinstance(about.get(name, {}), dict):
            raise ValueError(f"{provenance.name} is damaged: {name} holds no object")
    return notebook, values, about


def _notebook(path: Path) -> NotebookNode:
    invalid: dict[str, Exception] = {}
    try:
        text = path.read_text(encoding="utf-8")
        notebook = nbformat.reads(text, as_version=4, capture_validation_error=invalid)
    except OSError:
        raise
    except Exception as error:  # of all kinds, by what the readers of old versions stumble over
        invalid["error"] = error
    if invalid:
        # Their messages quote the file, in which there may be records.
        kind = type(next(iter(invalid.values()))).__name__
        raise ValueError(f"{path.name} is damaged: it is no notebook ({kind})")
    return notebook


def render(
    notebook: NotebookNode,
    parameters: dict[str, Any],
    provenance: dict[str, Any],
    public: bool = False,
    home: str = "",
    previous: tuple[str, str] | None = None,
    next: tuple[str, str] | None = None,
    library: str = "",
) -> str:
    """Return the report as HTML.

    Names and labels come from users' files, and folders from others, so that no cell is trusted:
    text is escaped, HTML is reduced to harmless elements, charts are data, and the page's content
    security policy lets no script run but the one named by its hash.

    Parameters
    ----------
    notebook : NotebookNode
        Executed notebook. A run whose parameters were changed is somebody's own case, and its
        report leaves out the cells tagged ``teaching``. That of a user's file leaves out the cells
        tagged ``needs-NAME`` where the parameter NAME is empty, zero or false, and those tagged
        ``needs-NAME-or-OTHER`` where both are.
    parameters : dict
        Values by name.
    provenance : dict
        As in ``provenance.json``.
    public : bool
        Show what `confidential.public_run` leaves.
    home : str
        Address of a page that the report leads back to; ``""``: it stands alone.
    previous, next : tuple of str, optional
        Address and title of the reports before and after it, where it is one of many.
    library : str
        Address of a file with `chart_library` beside the report; ``""``: the report brings its own.

    Raises
    ------
    ValueError
        If the run failed and the report is to be public.
    """
    of_users_file = confidential.of_users_file(parameters, provenance)
    hidden = {"teaching"} if provenance.get("changed_parameters") else set()
    if of_users_file:
        empty = [name for name, value in parameters.items() if not value]
        hidden |= {f"needs-{name}" for name in empty}
        hidden |= {f"needs-{one}-or-{other}" for one, other in permutations(empty, 2)}
    if public:
        notebook, parameters, provenance = confidential.public_run(notebook, parameters, provenance)
    charts = any(mime in data for data in displayed(notebook) for mime in VEGA_LITE)
    cells = [
        cell
        for cell in notebook.cells
        if cell.source.strip() and hidden.isdisjoint(cell.metadata.get("tags", []))
    ]
    # The title goes before what is said of the run, on paper as on the screen.
    heading, opening = _opened(cells.pop(0).source) if cells and _has_title(cells[0]) else ("", "")
    return page(
        "report.html.j2",
        script(charts, own_library=not library),
        beside=[library] if charts and library else [],
        heading=heading,
        opening=opening,
        cells=cells,
        parameters=parameters,
        provenance=provenance,
        public=public,
        of_users_file=of_users_file,
        rule=confidential.RULE,
        home=home,
        previous=previous,
        next=next,
        title=title(first_markdown(notebook)) or provenance.get("paper", "Report"),
    )


def page(template: str, script: str, beside: Sequence[str] = (), **values: Any) -> str:
    """Fill a template of a page that runs no script but the project's own.

    Its content security policy names its own script by hash, and scripts beside it by a nonce. The
    nonce is a hash of the page: text that was written into the page cannot have known it.

    Parameters
    ----------
    template : str
        Name of a file in ``templates/``, for what stands between head and foot.
    script : str
        The page's own script, such as that of `script`.
    beside : sequence of str
        Addresses of scripts beside the page, which run before its own.
    **values
        What the template names.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(markdown=markdown, code=_code, output=_output)
    unlike_any_text = secrets.token_hex()
    html = environment.get_template(template).render(
        script=Markup(script),
        script_hash=_digest(script),
        beside=beside,
        nonce=unlike_any_text,
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
        **values,
    )
    return html.replace(unlike_any_text, _digest(html.replace(unlike_any_text, "")))


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def displayed(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """Go through the data of all outputs that have a type."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "data" in output:
                yield output.data


def title(text: str) -> str:
    """Return the first top-level heading of a Markdown text, or ``""``."""
    found = re.search(r"^# +(.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def _has_title(cell: NotebookNode) -> bool:
    return cell.cell_type == "markdown" and bool(title(cell.source))


def _opened(text: str) -> tuple[Markup, Markup]:
    """Part a text behind its title; both parts are HTML."""
    html = markdown(text)
    before, end, after = html.partition("</h1>")
    section = '<section class="prose">{}</section>'
    return Markup(section).format(before + end), Markup(section).format(after)


def first_markdown(notebook: NotebookNode) -> str:
    """Return a notebook's first text, which holds its title."""
    return next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")


@cache
def script(charts: bool, own_library: bool = True) -> str:
    """Return a page's script: a megabyte where it draws charts with a library of its own."""
    parts = [(TEMPLATES / "report.js").read_text(encoding="utf-8")]
    if charts and own_library:
        parts.append(chart_library())
    if charts:
        parts.append((TEMPLATES / "charts.js").read_text(encoding="utf-8"))
    return "\n".join(parts).replace("</script", "<\\/script")


@cache
def chart_library() -> str:
    """Return the script that draws charts: Vega, Vega-Lite and what embeds them."""
    import vl_convert  # 50 MB, for reports with charts only

    # The last version of the major one that the charts' specifications name.
    library: str = vl_convert.javascript_bundle(vl_version="5.21")  # type: ignore[call-arg]
    return library


def _mathml(latex: str, display: str) -> str:
    try:
        mathml = converter.convert(latex.strip(), display=display)
    except Exception:  # whatever it cannot read is shown as it was written
        return f"<code>{escape(latex)}</code>"
    # A name of a function is an operator: space parts it from what it is applied to.
    return _FUNCTION.sub(r'<mo lspace="0" rspace="0.17em">\1</mo>', mathml)


class _Renderer(IPythonRenderer):
    """Markdown to HTML, its mathematics to MathML."""

    def table(self, text: str) -> str:
        return f'<div class="scroll"><table>\n{text}</table></div>\n'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        # Attachments are of cells, and lie in no run's folder that was written here.
        return super().image(text, url.removeprefix("attachment:"), title)

    def block_math(self, body: str) -> str:
        return f'<span class="scroll">{_mathml(body, "block")}</span>'  # it may be in a paragraph

    def inline_math(self, body: str) -> str:
        return _mathml(body, "inline")

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(rf"\begin{{{name}}}{body}\end{{{name}}}")


def markdown(source: str, html: bool = True) -> Markup:
    """Return Markdown as HTML, reduced to harmless elements.

    Parameters
    ----------
    source : str
        Markdown.
    html : bool
        Whether HTML in it is taken as such, or else shown as text.
    """
    renderer = _Renderer(escape=not html, allow_harmful_protocols=False)
    return _harmless(MarkdownWithMath(renderer=renderer).render(source))


def _harmless(html: str) -> Markup:
    """Return HTML without elements and attributes that load, lead away, run or restyle the page.

    Mathematics is HTML as well: the text in a formula comes out of its converter as it went in.
    """
    tags = [*_TAGS.split(), *_MATHEMATICS.split(), "img"]
    sanitizer = SanitizeHTML(tags=tags, attributes=_ATTRIBUTES)
    return Markup(sanitizer.sanitize_html_tags(_STYLE_ELEMENT.sub("", html)))


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
        if isinstance(data.get(mime), dict):
            return _chart(data[mime], data)
    if "text/html" in data:
        return Markup('<div class="scroll">{}</div>').format(_harmless(data["text/html"]))
    if "text/markdown" in data:
        return markdown(data["text/markdown"], html=False)
    if "image/svg+xml" in data:
        return image(data["image/svg+xml"], data.get("text/plain", ""))
    if "image/png" in data:
        source = f"data:image/png;base64,{''.join(data['image/png'].split())}"
        return Markup('<img src="{}" alt="{}">').format(source, data.get("text/plain", ""))
    if "text/latex" in data:
        return _harmless(_Renderer().block_math(data["text/latex"].strip().strip("$")))
    return _text(data.get("text/plain", ""))


def _text(text: str, kind: str = "") -> Markup:
    return Markup('<pre class="text {}">{}</pre>').format(kind, Markup(ansi2html(text)))


def _table(html: str) -> Markup:
    sanitizer = SanitizeHTML(tags=_TAGS.split(), attributes=_ATTRIBUTES)
    clean = sanitizer.sanitize_html_tags(_STYLE_ELEMENT.sub("", html))
    return Markup('<div class="scroll">{}</div>').format(Markup(clean))


def image(svg: str, alternative: str) -> Markup:
    """Return an SVG as an image: scripts in it do not run, and its ids do not meet others'."""
    source = "data:image/svg+xml," + urllib.parse.quote(svg, safe=" !'()*+,-./:;=?@[]_~")
    return Markup('<img src="{}" alt="{}">').format(source, alternative)


def _chart(spec: dict[str, Any], data: dict[str, Any]) -> Markup:
    """Return a chart as the picture of it, and the data that the page's script draws it from."""
    alternative = spec.get("description") or data.get("text/plain", "")
    picture = image(data["image/svg+xml"], alternative) if "image/svg+xml" in data else ""
    text = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    text = text.replace("<", "\\u003c")  # no label ends the element
    return Markup(
        '<figure class="chart">{}<script type="application/json" class="vega-lite">{}</script>'
        "</figure>"
    ).format(picture, Markup(text))
