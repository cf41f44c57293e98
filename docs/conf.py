"""Sphinx: the guide, and an API reference that follows the packages' public names.

    sphinx-build -W docs outputs/site

The pages open from disk without a network: the theme brings its own files, and formulas are MathML.
"""

import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

sys.path.insert(0, str(Path(__file__).parent))

import api

import srlib

project = "srlib"
author = "The srlib contributors"
copyright = author
version = release = getattr(srlib, "__version__", "")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "formulas",
]
default_role = "py:obj"  # `name` in a docstring links to what has that name
add_module_names = False
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 88
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say types, shapes and units
autosummary_generate = False
numpydoc_show_class_members = False
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "srlib"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"

api.write(Path(__file__).parent / "api")


def by_last_words(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, text: nodes.Element
) -> nodes.reference | None:
    """Link `module.name` of a docstring to the one object whose full name ends so.

    The name is enough where it is the package that has the object, and not its module.
    """
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or "." not in target:
        return None
    objects = env.domains.python_domain.objects.items()
    of_packages = [(n, o) for n, o in objects if o.objtype in ("class", "function")]
    for words, among in ((target, objects), (target.rpartition(".")[2], of_packages)):
        found = {(o.docname, o.node_id) for name, o in among if name.endswith(f".{words}")}
        if len(found) == 1:
            [(page, anchor)] = found
            return make_refnode(app.builder, node["refdoc"], page, anchor, text, target)
    return None


def setup(app: Sphinx) -> None:
    """Resolve what Sphinx leaves unresolved."""
    app.connect("missing-reference", by_last_words)
