"""What anybody wrote as HTML that does nothing: the one place of trust.

Texts, labels and HTML in a run's folder are anybody's, and so are those in a file of data.
"""

import re
from typing import Any

import nh3
from markupsafe import Markup
from math_core import LatexError, LatexToMathML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

# What a report keeps beside the harmless elements and attributes that nh3 knows.
_ELEMENTS = """math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts
mroot mrow mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover section"""
_ATTRIBUTES = """accent accentunder aria-label class depth display displaystyle form height id
linethickness lspace mathvariant maxsize minsize movablelimits role rspace stretchy style
symmetric title width"""
_ALLOWED: Any = {
    "tags": nh3.ALLOWED_TAGS - {"area", "map"} | {*_ELEMENTS.split()},
    "attributes": nh3.ALLOWED_ATTRIBUTES | {"*": {*_ATTRIBUTES.split()}},
    "filter_style_properties": {"text-align"},
    "url_schemes": {"http", "https", "mailto", "data"},
    "link_rel": None,
}
# Where sources and links may lead; ids that the library of charts gives a style are its own.
_HREF = r"#|https?://|mailto:|\w+\.ipynb(#|$)"
_VALUES = {"src": "data:image/", "href": _HREF, "id": "(?!vg-|vega-)"}
_FORMULAS = LatexToMathML(fancy_error=False, max_expansions=10)
# Each opening sign that is not closed doubles the time that a formula takes.
_OPENING = re.compile(r"[(\[]|[^\0-\x7f]|\\(\{|lang|l[^adeio]|ul|\w*[bB]ra)")
_DEFINING = re.compile(r"\\g?def|\\\w+command")  # of commands that may not end
_PRIME = re.compile("<msup>(<mi>.</mi><mo>′</mo>)</msup>")  # the font's is small and high as it is


def clean(html: str) -> Markup:
    """Return HTML that closes what it opens, without what loads, leads away, runs or restyles.

    Links lead within the page, into the web, or to a notebook that lies beside it.
    """

    def value_of(tag: str, name: str, value: str) -> str | None:
        return value if re.match(_VALUES.get(name, ""), value) else None

    return Markup(nh3.clean(html, attribute_filter=value_of, **_ALLOWED))


class _Renderer(IPythonRenderer):
    """Markdown to HTML, its mathematics to MathML."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return super(IPythonRenderer, self).image(text, url, title)  # a script has no attachments

    def block_math(self, body: str) -> str:
        return f'<span class="scroll">{mathml(body, True)}</span>'  # it may be in a paragraph

    def inline_math(self, body: str) -> str:
        return mathml(body)

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(rf"\begin{{{name}}}{body}\end{{{name}}}")


def markdown(source: str, html: bool = True) -> Markup:
    """Return Markdown as HTML; HTML in it is taken as such or as text."""
    return clean(MarkdownWithMath(renderer=_Renderer(escape=not html)).render(source))


def mathml(latex: str, block: bool = False) -> Markup:
    """Return a formula; what the converter cannot read is shown as it was written."""
    try:
        if len(latex) > 1000 or len(_OPENING.findall(latex)) > 16 or _DEFINING.search(latex):
            raise LatexError  # it could nest so deep that it ends the process
        html = _FORMULAS.convert_with_local_state(latex, displaystyle=block)
    except LatexError:
        return Markup("<code>{}</code>").format(latex)
    return Markup(_PRIME.sub(r"<mrow>\1</mrow>", html))
