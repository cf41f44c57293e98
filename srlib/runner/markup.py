"""Turn untrusted text into harmless HTML.

Texts, labels and HTML in a run's folder and in data files may come from anyone. All of
them pass through `clean`.
"""

import re
from typing import Any

import nh3
from markupsafe import Markup
from math_core import LatexError, LatexToMathML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

# Elements and attributes that a report keeps in addition to nh3's defaults.
_ELEMENTS = """
math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts
mroot mrow mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover
section
"""
_ATTRIBUTES = """
accent accentunder aria-label class depth display displaystyle form height id
linethickness lspace mathvariant maxsize minsize movablelimits open role rspace stretchy
style symmetric title width
"""
_ALLOWED: Any = {
    "tags": nh3.ALLOWED_TAGS - {"area", "map"} | {*_ELEMENTS.split()},
    "attributes": nh3.ALLOWED_ATTRIBUTES | {"*": {*_ATTRIBUTES.split()}},
    "filter_style_properties": {"text-align"},
    "url_schemes": {"http", "https", "mailto", "data"},
    "link_rel": None,
}
# Allowed targets of sources and links. Ids that the chart library styles are reserved.
_HREF = r"#|https?://|mailto:|(\w+\.ipynb|\.\./docs/guide/\w+\.md)(#|$)"
_VALUES = {"src": "data:image/", "href": _HREF, "id": "(?!vg-|vega-)"}
_FORMULAS = LatexToMathML(fancy_error=False, max_expansions=10)
# Each opening sign that is not closed doubles the time for a formula.
_OPENING = re.compile(r"[(\[]|[^\0-\x7f]|\\(\{|lang|l[^adeio]|ul|\w*[bB]ra)")
# Definitions of commands that may not end.
_DEFINING = re.compile(r"\\g?def|\\\w+command")
# The font's prime is already small and high.
_PRIME = re.compile("<msup>(<mi>.</mi><mo>′</mo>)</msup>")


def clean(html: str) -> Markup:
    """Return balanced HTML that loads, runs and restyles nothing.

    Links lead within the page, to the web, to a notebook in the same folder, or to the
    guide.
    """

    def value_of(
        tag: str,
        name: str,
        value: str,
    ) -> str | None:
        return value if re.match(_VALUES.get(name, ""), value) else None

    return Markup(nh3.clean(html, attribute_filter=value_of, **_ALLOWED))


class _Renderer(IPythonRenderer):
    """Renderer of Markdown to HTML, and of its formulas to MathML."""

    def image(
        self,
        text: str,
        url: str,
        title: str | None = None,
    ) -> str:
        # A text notebook has no attachments.
        return super(IPythonRenderer, self).image(text, url, title)

    def block_math(self, body: str) -> str:
        # A span is valid within a paragraph.
        return f'<span class="scroll">{mathml(body, True)}</span>'

    def inline_math(self, body: str) -> str:
        return mathml(body)

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(rf"\begin{{{name}}}{body}\end{{{name}}}")


def markdown(source: str, html: bool = True) -> Markup:
    """Return Markdown as HTML; HTML in it is kept, or shown as text."""
    parser = MarkdownWithMath(renderer=_Renderer(escape=not html))
    return clean(parser.render(source))


def mathml(latex: str, block: bool = False) -> Markup:
    """Return a formula as MathML; as code if the converter cannot read it."""
    try:
        # Deep nesting could crash the process.
        is_deep = len(latex) > 1000 or len(_OPENING.findall(latex)) > 16
        if is_deep or _DEFINING.search(latex):
            raise LatexError
        html = _FORMULAS.convert_with_local_state(latex, displaystyle=block)
    except LatexError:
        return Markup("<code>{}</code>").format(latex)
    return Markup(_PRIME.sub(r"<mrow>\1</mrow>", html))
