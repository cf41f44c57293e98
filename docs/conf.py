"""Sphinx: the guide, and an API reference that follows the packages' public names.

    sphinx-build -W docs outputs/site

The pages open from disk without a network: the theme brings its own files, and formulas are MathML.
"""

import sys
from pathlib import Path

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
    "sphinx.ext.viewcode",
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
viewcode_line_numbers = False

api.write(Path(__file__).parent / "api")
