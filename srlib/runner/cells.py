"""Cells of a notebook as HTML, of which nothing loads, leads away, runs or restyles a page."""

import json
import re
import urllib.parse
from typing import Any

from latex2mathml import converter
from markupsafe import Markup, escape
from nbconvert.filters import Highlight2HTML, ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat import NotebookNode

VEGA_LITE = ("application/vnd.vegalite.v5+json", "application/vnd.vegalite.v6+json")
# How the verdicts of `srlib.ledger` begin, and what they are to a reader.
VERDICTS = {
    "proved": "holds",
    "holds": "holds",
    "depends": "depends",
    "fails": "fails",
    "not decided": "undecided",
}

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
# What the converter's operators lack: browsers space these as infix signs and as names.
_FUNCTION = re.compile(r"<m[io]>([A-Za-z]{2,}|E)</m[io]>(?P<open><mo[^>]*>&#x000(28|5B|7B);)?")
_SIGN = r"(<mo[^>]*>(?!&#x00029;|&#x0005D;|&#x0007D;|&#x0007C;|&#x00021;)[^<]*</mo>)"
_SPACING = (
    (re.compile(r"<mo>(&#x0002F;|&#x0002E;|&#x00021;)</mo>"), r'<mo lspace="0" rspace="0">\1</mo>'),
    (
        re.compile(r'<mo(?: stretchy="false")?>&#x0007C;</mo>'),
        r'<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>',
    ),
    (re.compile(_SIGN + r"<mo>(&#x02212;|&#x0002B;)</mo>"), r'\1<mo form="prefix">\2</mo>'),
    (re.compile(r"<mi>(\.\d+)</mi>"), r"<mn>\1</mn>"),
    # A prime is raised already, and so must an asterisk be.
    (
        re.compile(r"<msup>(<mi>[^<]*</mi>)<mi>&#x02032;</mi></msup>"),
        r'<mrow>\1<mo lspace="0" rspace="0">&#x02032;</mo></mrow>',
    ),
    (re.compile(r"<mo>&#x0002A;</mo>"), "<mo>&#x02217;</mo>"),
    (re.compile(r"<m[io]>&#x0007E;</m[io]>"), "<mo>&#x0223C;</mo>"),
)
_CORNER = re.compile(r"<th\b[^>]*>\s*</th>")  # it heads nothing
_CALLOUT = re.compile(r"<blockquote>\s*<p><strong>(.+?)\.</strong>")
_STYLE_ELEMENT = re.compile(r"<style\b.*?</style\s*>", re.IGNORECASE | re.DOTALL)


def _mathml(latex: str, display: str) -> str:
    try:
        mathml = converter.convert(latex.strip(), display=display)
    except Exception:  # whatever it cannot read is shown as it was written
        return f"<code>{escape(latex)}</code>"
    # A name of a function is an operator: space parts it from what it is applied to.
    mathml = _FUNCTION.sub(_spaced_name, mathml)
    for found, spaced in _SPACING:
        mathml = found.sub(spaced, mathml)
    return mathml


def _spaced_name(found: re.Match[str]) -> str:
    space = "0" if found["open"] else "0.17em"
    return f'<mo lspace="0" rspace="{space}">{found[1]}</mo>{found["open"] or ""}'


class _Renderer(IPythonRenderer):
    """Markdown to HTML, its mathematics to MathML."""

    def table(self, text: str) -> str:
        text = _CORNER.sub("<td></td>", text)
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
    made = _harmless(MarkdownWithMath(renderer=renderer).render(source))
    return Markup(_CALLOUT.sub(_callout, made))


def _callout(found: re.Match[str]) -> str:
    return found[0].replace("<blockquote>", f'<blockquote class="callout {kind(found[1])}">')


def kind(words: str) -> str:
    """Say what a callout under these words is: of a verdict, a warning, a note, else a number.

    >>> kind("C6 depends on the prior"), kind("Warning"), kind("Two runs")
    ('depends', 'warning', 'number')
    """
    said = re.sub(r"^C\d+\w* ", "", words)
    if said == words:
        return words.lower() if words in ("Warning", "Note") else "number"
    return next((name for start, name in VERDICTS.items() if said.startswith(start)), "number")


def _harmless(html: str) -> Markup:
    """Return HTML without elements and attributes that load, lead away, run or restyle the page.

    Mathematics is HTML as well: the text in a formula comes out of its converter as it went in.
    """
    tags = [*_TAGS.split(), *_MATHEMATICS.split(), "img"]
    sanitizer = SanitizeHTML(tags=tags, attributes=_ATTRIBUTES)
    return Markup(sanitizer.sanitize_html_tags(_STYLE_ELEMENT.sub("", html)))


def code(source: str) -> Markup:
    """Return source code as HTML."""
    return Markup(Highlight2HTML(pygments_lexer="ipython3")(source))


def output(output: NotebookNode) -> Markup:
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
        return _harmless(_CORNER.sub("<td></td>", data["text/html"]))
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
        '<div class="chart">{}<script type="application/json" class="vega-lite">{}</script></div>'
    ).format(picture, Markup(text))
