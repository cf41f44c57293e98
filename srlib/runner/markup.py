"""What anybody wrote as HTML that does nothing: the one place of trust.

Texts, labels and HTML in a run's folder are anybody's, and so are those in a file of data.
"""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import nh3
from latex2mathml import converter
from markupsafe import Markup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from srlib import yamls

# What the converter writes, and how it looks as in print: functions, relations, slashes, primes.
_SIGNS = {
    r"<mi>(\w{2,})</mi>": r'<mo lspace="0" rspace="0.17em">\1</mo>',
    r"<mi>~</mi>": "<mo>∼</mo>",
    r"<mo>/</mo>": '<mo lspace="0" rspace="0">/</mo>',
    r"<msup>(<mi>\w</mi>)<mi>′</mi></msup>": r'\1<mo lspace="0" rspace="0">′</mo>',
}
# Where sources and links may lead; ids that the library of charts gives a style are its own.
_VALUES = {"src": "data:image/", "href": "#|https?://|mailto:", "id": "(?!vg-|vega-)"}
_MORE = yamls.read(Path(__file__).with_name("templates") / "allowed.yaml")
_MORE = {name: {*words.split()} for name, words in _MORE.items()}
_ALLOWED: Any = {
    "tags": nh3.ALLOWED_TAGS - {"area", "map"} | _MORE.pop("elements"),
    "attributes": nh3.ALLOWED_ATTRIBUTES | _MORE,
    "filter_style_properties": {"text-align"},
    "url_schemes": {"http", "https", "mailto", "data"},
    "link_rel": None,
}


def clean(html: str, reports: Collection[str] = ()) -> Markup:
    """Return HTML without what loads, leads away, runs or restyles.

    Links to notebooks lead to their reports, where these lie beside this one; of other relative
    links the words stay.
    """

    def value_of(tag: str, name: str, value: str) -> str | None:
        found = re.fullmatch(r"(\w+)\.ipynb(#.*)?", value)
        if name == "href" and found and found[1] in reports:
            return f"{found[1]}.html{found[2] or ''}"
        return value if re.match(_VALUES.get(name, ""), value) else None

    return Markup(nh3.clean(html, attribute_filter=value_of, **_ALLOWED))


def balanced(html: str) -> Markup:
    """Return HTML of harmless elements that closes what it opens; its links are not cleaned."""
    return Markup(nh3.clean(html.encode(errors="replace").decode(), **_ALLOWED))


class _Renderer(IPythonRenderer):
    """Markdown to HTML, its mathematics to MathML."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        name = url.removeprefix("attachment:")
        return super().image(text, url if self.attachments.get(name) else name, title)

    def block_math(self, body: str) -> str:
        return f'<span class="scroll">{mathml(body, "block")}</span>'  # it may be in a paragraph

    def inline_math(self, body: str) -> str:
        return mathml(body)

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(rf"\begin{{{name}}}{body}\end{{{name}}}")


def markdown(source: str, html: bool = True, attachments: Any = None) -> Markup:
    """Return Markdown as balanced HTML; HTML in it is taken as such or as text."""
    renderer = _Renderer(escape=not html, attachments=attachments or {})
    return balanced(MarkdownWithMath(renderer=renderer).render(source))


def mathml(latex: str, display: str = "inline") -> Markup:
    """Return a formula; what the converter cannot read is shown as it was written."""
    try:
        html = str(balanced(converter.convert(latex.strip(), display=display)))
    except Exception:  # of all kinds
        return Markup("<code>{}</code>").format(latex)
    for sign, printed in _SIGNS.items():
        html = re.sub(sign, printed, html)
    return Markup(html)
