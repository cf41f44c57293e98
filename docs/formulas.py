"""Formulas as MathML, which browsers draw without a script."""

import re
from typing import Any

from docutils import nodes
from latex2mathml import converter
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def mathml(latex: str, display: str) -> str:
    """Return a formula; space parts a function's name from what it is applied to."""
    formula = converter.convert(latex, display=display)
    return re.sub(r"<mi>(log|exp)</mi>(?!<mo)", r'<mo lspace="0" rspace="0.17em">\1</mo>', formula)


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    formula = mathml(node.astext(), "block")
    translator.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
