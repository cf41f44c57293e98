"""Sphinx: the guide, the API reference, and the notebooks' reports.

    sphinx-build -W docs outputs/site

The pages open from disk without a network: the theme brings its own files, and formulas
are MathML.
"""

import re
import sys
import tomllib
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import Any

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import new_document
from sphinx.util.logging import getLogger

sys.path.insert(0, str(Path(__file__).parent))

import live

import srlib
from srlib import yaml_io
from srlib.runner import report

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ADDRESSES = PROJECT.get("urls", {})  # none before the first release
CITATION = yaml_io.load((ROOT / "CITATION.cff").read_text("utf-8"))

project = "srlib"
html_title = "srlib: disclosure risk of synthetic data"
author = copyright = "The srlib contributors"
version = release = srlib.__version__
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser", "formulas", "live"]
default_role = "py:obj"  # `name` in a docstring links to the object of that name
add_module_names = False
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 88
autodoc_default_options = {
    "members": True,
    "imported-members": True,
    "member-order": "bysource",
}
autodoc_typehints = "none"  # docstrings have types, shapes and units
numpydoc_show_class_members = False
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
code = ADDRESSES.get("Repository")
released = CITATION.get("date-released", "not yet released")
myst_substitutions = {
    "code": f"[Code]({code})" if code else "",
    "citation": (
        f"{author}. *{CITATION['title']}*. Version {version}, {released}. "
        f"{CITATION['license']} license."
    ),
}

html_theme = "furo"
html_static_path = ["_static", "../srlib/runner/templates/fonts"]
TYPE = {"font-stack": "var(--serif)", "font-stack--headings": "var(--sans)"}
GROUND = {
    "color-background-primary": "#15191e"
}  # the background of charts in a dark theme
html_theme_options: dict[str, Any] = {
    "light_css_variables": TYPE,
    "dark_css_variables": GROUND,
}
if code:
    link = {"name": "Code", "url": code, "html": "Code", "class": ""}
    html_theme_options["footer_icons"] = [link]
html_baseurl = ADDRESSES.get("Documentation", "")
html_favicon = "_static/icon.svg"
html_last_updated_fmt = "%B %d, %Y"
html_css_files = ["guide.css"]
html_js_files = ["sections.js"]
html_show_sphinx = html_copy_source = False
html_math_renderer = "mathml"


def write_reports(app: Sphinx) -> list[Any]:
    """Write each notebook's public report beside the guide, with links.

    Sphinx parses nothing that a run has written, since directives can open files; only
    its search index gets the text.
    """
    notebooks = {path.stem for path in ROOT.glob("notebooks/*.py")}
    for name in sorted(notebooks):
        run = live.run_of(app.config, name)
        if not (run / "notebook.ipynb").exists():
            message = "no report of %s: first run 'srlib run %s --profile %s'"
            getLogger(__name__).warning(message, name, name, run.name)
            continue
        page = Path(app.outdir, "reports", f"{name}.html")
        page.parent.mkdir(exist_ok=True)
        html = report.render(*report.read(run), public=True, reports=notebooks)
        page.write_text(html, encoding="utf-8")
        index_sections(app, name, html)
    return []


def index_sections(app: Sphinx, name: str, html: str) -> None:
    """Add the sections of a report to the search index; `sections.js` opens them."""
    for part in re.split("(?=<h2 )", str(BeautifulSoup(html, "html.parser").main)):
        soup = BeautifulSoup(part, "html.parser")
        heading = soup.find(["h1", "h2"])
        for left_out in soup.select("script, .vega-lite, math, details.code"):
            left_out.decompose()
        title = heading.get_text(" ", strip=True)
        if title not in ("References", "How this report was made"):
            parts = nodes.title("", title), nodes.paragraph("", soup.get_text(" "))
            document = new_document("")
            document += nodes.section("", *parts)
            page = f"reports/{name}#{heading['id']}"
            # The index drops pages without a title.
            app.env.all_docs[page], app.env.titles[page] = 0, parts[0]
            app.builder.index_page(page, document, title)


def lead_to_reports(app: Sphinx, page: str, source: list[str]) -> None:
    """Point links to notebooks on GitHub to their reports on the site."""
    there = "../" * page.count("/") + "reports"
    link = r"\[([^]]+)\]\((?:\.\./)+notebooks/(\w+)\.ipynb(#[^)]*)?\)"
    source[0] = re.sub(link, rf'<a href="{there}/\2.html\3">\1</a>', source[0])


def skip_exported(
    app: Sphinx, kind: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    """Skip names in a package's section that ``import srlib`` exports already."""
    exported = any(value is getattr(srlib, known) for known in srlib.__all__)
    of_package = app.env.current_document.autodoc_module != "srlib"
    return True if kind == "module" and of_package and exported else None


PREVIEW = "_static/preview.png"


def describe(app: Sphinx, page: str, template: str, context: Any, tree: Any) -> None:
    """Add what search engines show, and hosts that preview a link (Open Graph).

    A picture there needs an absolute address, so there is none without the site's.
    """
    paragraphs = tree.findall(nodes.paragraph) if tree else iter([])
    first = next(paragraphs, nodes.paragraph("", PROJECT["description"])).astext()
    about = shorten(first.rstrip(":"), 200, placeholder=" ...")
    title = BeautifulSoup(context.get("title", ""), "html.parser").get_text()
    tags = {
        "og:type": "website",
        "og:site_name": html_title,
        "og:title": title or html_title,
        "og:description": about,
    }
    if html_baseurl:
        tags |= {"og:url": context["pageurl"], "og:image": html_baseurl + PREVIEW}
    html = f'<meta name="description" content="{escape(about)}">'
    for name, content in tags.items():
        html += f'\n<meta property="{name}" content="{escape(content)}">'
    context["metatags"] = context.get("metatags", "") + html


def write_preview(app: Sphinx, error: Exception | None) -> None:
    """Write the picture of previews, which hosts show as PNG only."""
    if error is None and html_baseurl:
        import vl_convert

        drawing = (ROOT / "docs/pictures/one_person.svg").read_text("utf-8")
        picture = vl_convert.svg_to_png(drawing, scale=2)
        Path(app.outdir, PREVIEW).write_bytes(picture)


ACCESSIBILITY = {  # fixes for screen readers and keyboards that the theme lacks
    '<p class="caption" role="heading">': (
        '<p class="caption" role="heading" aria-level="2">'
    ),
    '<aside class="sidebar-drawer">': (
        '<aside class="sidebar-drawer" aria-label="Pages">'
    ),
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<div class="formula">': '<div tabindex="0" class="formula">',
}


def fix_accessibility(app: Sphinx, error: Exception | None) -> None:
    """Apply the fixes to the written pages."""
    pages = set(Path(app.outdir).rglob("*.html")) - set(
        Path(app.outdir, "reports").glob("*")
    )
    for page in pages if error is None else ():
        html = page.read_text(encoding="utf-8")
        for old, new in ACCESSIBILITY.items():
            html = html.replace(old, new)
        # Parameters of a long signature are not terms of a definition list.
        html = re.sub(
            r"<dl>\n((?:<dd>.*\n)+)</dl>", r'<ul class="parameters">\n\1</ul>', html
        )
        page.write_text(
            re.sub("<dd>(<em.*)</dd>", r"<li>\1</li>", html), encoding="utf-8"
        )


def setup(app: Sphinx) -> None:
    """Connect the functions above to Sphinx's events."""
    app.add_config_value("runs", "../outputs", "")
    app.connect("source-read", lead_to_reports)
    app.connect("html-collect-pages", write_reports)
    app.connect("autodoc-skip-member", skip_exported)
    app.connect("html-page-context", describe)
    app.connect("build-finished", write_preview)
    app.connect("build-finished", fix_accessibility)
