"""What anybody wrote as HTML that does nothing: the one place of trust.

Texts, labels and HTML in a run's folder are anybody's, and so are those in a file of data.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import nh3
from bs4 import BeautifulSoup
from latex2mathml import converter
from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins import amsmath, anchors, dollarmath

from srlib import yamls

# What the converter writes, and how it looks as in print: functions, relations, slashes, primes.
_SIGNS = {
    r"<mi>(\w{2,})</mi>": r'<mo lspace="0" rspace="0.17em">\1</mo>',
    r"<mi>~</mi>": "<mo>∼</mo>",
    r"<mo>/</mo>": '<mo lspace="0" rspace="0">/</mo>',
    r"<msup>(<mi>\w</mi>)<mi>′</mi></msup>": r'\1<mo lspace="0" rspace="0">′</mo>',
}
_ADDRESSES = {"src": "data:image/", "href": "#|https?://|mailto:"}
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

    def address(tag: str, name: str, value: str) -> str | None:
        found = re.fullmatch(r"(\w+)\.ipynb(#.*)?", value)
        if name == "href" and found and found[1] in reports:
            return f"{found[1]}.html{found[2] or ''}"
        return value if re.match(_ADDRESSES.get(name, ""), value) else None

    return Markup(nh3.clean(html, attribute_filter=address, **_ALLOWED))


def balanced(html: str) -> Markup:
    """Return HTML that closes what it opens and nothing else."""
    return Markup(BeautifulSoup(html, "html.parser"))


def markdown(source: str, html: bool = True) -> Markup:
    """Return Markdown as HTML that is not cleaned; HTML in it is taken as such or as text."""
    parser = MarkdownIt("commonmark", {"html": html}).enable(["table", "strikethrough"])
    parser.use(anchors.anchors_plugin, 1, 6, slug_func=lambda heading: heading.replace(" ", "-"))
    parser.use(dollarmath.dollarmath_plugin, renderer=mathml, double_inline=True)
    parser.use(amsmath.amsmath_plugin, renderer=mathml)
    return balanced(parser.render(source))


def mathml(latex: str, how: Mapping[str, Any] | None = None) -> Markup:
    """Return a formula, on a line of its own unless ``display_mode`` is false.

    What the converter cannot read is shown as it was written.
    """
    try:
        display = "block" if how is None or how["display_mode"] else "inline"
        html = str(balanced(converter.convert(latex.strip(), display=display)))
    except Exception:  # of all kinds
        return Markup("<code>{}</code>").format(latex)
    for sign, printed in _SIGNS.items():
        html = re.sub(sign, printed, html)
    return Markup(html)
