"""A run's folder as one HTML file that opens with no network and runs no script of the run's.

Texts, labels and HTML in a run's folder are anybody's. One template puts a notebook's cells one
after the other, `clean` reduces all of it to harmless elements, and only then are figures, tables
and verdicts put together. The charts' data are texts as well. The page's content security policy
lets no script run but the one named by its hash.
"""

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import jinja2
import nbformat
import nh3
from bs4 import BeautifulSoup
from latex2mathml import converter
from markupsafe import Markup
from nbconvert.filters import Highlight2HTML, ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode

from srlib import yamls
from srlib.runner import confidential
from srlib.runner.files import write_whole
from srlib.runner.parameters import UsageError, read_mapping

TEMPLATES = Path(__file__).parent / "templates"
# Tags of cells that stand in the notebook alone, as exercises do.
_NOTEBOOK_ONLY = {"notebook-only", "hint", "solution", "parameters", "injected-parameters"}
_CAPTION = re.compile(r"\*\*(.+?[.?!:])\*\*(.*?)(?:\n\n|\Z)(.*)", re.DOTALL)
# What the converter writes, and how it looks as in print: functions, relations, slashes, primes.
_SIGNS = {
    r"<mi>(\w{2,})</mi>": r'<mo lspace="0" rspace="0.17em">\1</mo>',
    r"<mi>~</mi>": "<mo>∼</mo>",
    r"<mo>/</mo>": '<mo lspace="0" rspace="0">/</mo>',
    r"<msup>(<mi>\w</mi>)<mi>′</mi></msup>": r'\1<mo lspace="0" rspace="0">′</mo>',
}
_SECTIONS = re.compile("^(?=##+ )", re.MULTILINE)
_PICTURE = re.compile(r"application/vnd\.vegalite|image/")
# Elements of MathML, and attributes that any element may have.
_MORE = {k: {*v.split()} for k, v in yamls.read(TEMPLATES / "allowed.yaml").items()}
_ATTRIBUTES = nh3.ALLOWED_ATTRIBUTES | {f"h{level}": {"id"} for level in range(1, 7)}
_ALLOWED: Any = {
    "tags": _MORE["elements"] | nh3.ALLOWED_TAGS - {"area", "map"},
    "attributes": _ATTRIBUTES | {"*": _MORE["attributes"], "a": {"href"}},
    "filter_style_properties": {"text-align"},
    "url_schemes": {"http", "https", "mailto", "data"},
}


def write(run_dir: Path, public: bool = False) -> Path:
    """Write ``report.html``, or of what is public ``report-public.html``, and return its path."""
    path = run_dir / ("report-public.html" if public else "report.html")
    write_whole(path, render(*read(run_dir), public))
    return path


def read(run_dir: Path) -> tuple[NotebookNode, dict[str, Any], dict[str, Any]]:
    """Read executed notebook, parameters and provenance; a UsageError names what is damaged."""
    file = run_dir / "notebook.ipynb"
    if not file.is_file():
        raise UsageError(f"{file} is no file; a folder of a notebook's run has one")
    text = file.read_bytes()
    try:
        notebook = nbformat.reads(text.decode(), as_version=4, capture_validation_error={})
        nbformat.validate(notebook)
    except Exception as error:  # of all kinds, whose messages quote the file
        told = f"{file} cannot be read: it is no notebook ({type(error).__name__})"
        raise UsageError(told) from None
    files = run_dir / "parameters.yaml", run_dir / "provenance.json"
    values, about = (read_mapping(file) if file.exists() else {} for file in files)
    for name in ("versions", "changed_parameters", "inputs"):
        if not isinstance(about.get(name, {}), dict):
            raise UsageError(f"{files[1]} cannot be read: {name} must map names to values")
    return notebook, values, about


def render(
    notebook: NotebookNode, parameters: dict[str, Any], provenance: dict[str, Any],
    public: bool = False, reports: Collection[str] = (),
) -> str:  # fmt: skip
    """Return the report of what `read` returns as HTML; if public, of what `public_run` leaves.

    Links lead to reports of the notebooks that lie beside this one, below the guide; of a link to
    any other file, or to what is left out, the words stay.
    """
    of_users_file = confidential.of_users_file(parameters, provenance)
    if public:
        notebook, parameters, provenance = confidential.public_run(notebook, parameters, provenance)
    hidden = _NOTEBOOK_ONLY | (set() if public and of_users_file else {"public-only"})
    if of_users_file:
        hidden |= {"example", *(f"needs-{name}" for name, value in parameters.items() if not value)}
    template, parts = _environment.get_template, _parts(notebook.cells, hidden)
    html = template("cells.html.j2").render(parts=parts, confidential=of_users_file and not public)
    soup = BeautifulSoup(clean(html, reports), "html.parser")
    for link in soup.select("a.anchor-link"):  # the contents lead to headings
        link.decompose()
    opening, tally = _opening(soup), _tell_verdicts(soup)
    _lay_out(soup)
    code = script(charts='class="vega-lite"' in html)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    return template("report.html.j2").render(
        opening=opening, tally=tally, body=Markup(soup), parameters=parameters, reports=reports,
        headings=soup.select(":is(section, summary) > :is(h1, h2)"), provenance=provenance,
        public=public, of_users_file=of_users_file, rule=confidential.RULE,
        style=Markup(_style()), script=Markup(code), script_hash=digest,
    )  # fmt: skip


def _parts(cells: list[NotebookNode], hidden: set[str]) -> list[dict[str, Any]]:
    """Return what is shown, texts by section, and charts with the bold sentence behind as title."""
    parts, figure = list[dict[str, Any]](), dict[str, Any]()
    folded = 0  # the level of the heading that is folded with what follows
    for cell in cells:
        tags, text = cell.metadata.get("tags", []), cell.source
        if not hidden.isdisjoint(tags) or text.startswith("### Exercise "):
            continue
        if cell.cell_type != "markdown":
            shown = cell.get("outputs", [])
            charts = [o for o in shown if any(map(_PICTURE.match, o.get("data", {})))]
            parts.append({"cell": cell, "tags": tags, "charts": charts})
            figure = parts[-1] if charts or "lost-figure" in tags else {}
            continue
        if figure and (found := _CAPTION.match(text)):
            figure["title"], figure["caption"], text = found.groups()
        figure = {}
        for source in [text] if text.startswith("# ") else _SECTIONS.split(text):
            level = len(source) - len(source.lstrip("#"))
            closes = 0 < level <= folded
            folded = 0 if closes else folded
            heading, _, rest = source.partition("\n")
            if opens := "appendix" in tags and level > 0 and not folded:
                folded, source = level, rest
            parts.append({"text": source, "closes": closes, "folded": heading if opens else ""})
    return parts


@cache
def _style() -> str:
    def held(found: re.Match[str]) -> str:
        font = base64.b64encode((TEMPLATES / "fonts" / found[1]).read_bytes()).decode()
        return f"url(data:font/woff2;base64,{font})"

    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    return re.sub(r"url\(([\w-]+\.woff2)\)", held, style)


@cache
def script(charts: bool) -> str:
    """Return a page's script: a megabyte where it draws charts."""
    parts = [(TEMPLATES / "report.js").read_text(encoding="utf-8")]
    if charts:
        import vl_convert  # 50 MB, and Altair: for reports with charts only

        from srlib.charts import DARK

        parts += [vl_convert.javascript_bundle(), f"const DARK = {json.dumps(DARK)};"]  # type: ignore[call-arg]
        parts.append((TEMPLATES / "charts.js").read_text(encoding="utf-8"))
    return "\n".join(parts).replace("</script", "<\\/script")


# ----------------------------------------------------------------------------------- what is shown


def clean(html: str, reports: Collection[str] = ()) -> Markup:
    """Return HTML without what loads, leads away, runs or restyles: the one place of trust."""

    def address(tag: str, attribute: str, value: str) -> str | None:
        if attribute == "src":
            return value if value.startswith("data:image/") else None
        if attribute != "href" or re.match(r"https?://|mailto:|#", value):
            return value
        name, _, section = value.partition(".ipynb")
        leads = name in reports and section[:1] in ("", "#")
        return f"{name}.html{section}" if leads else None

    return Markup(nh3.clean(html, attribute_filter=address, link_rel=None, **_ALLOWED))


def balanced(html: str) -> Markup:
    """Return HTML that closes what it opens and nothing else."""
    return Markup(BeautifulSoup(html, "html.parser"))


class _Renderer(IPythonRenderer):
    """Markdown to HTML, its mathematics to MathML."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        # Attachments are of cells, and lie in no run's folder that was written here.
        return super().image(text, url.removeprefix("attachment:"), title)

    def block_math(self, body: str) -> str:
        return f'<span class="scroll">{mathml(body, "block")}</span>'  # it may be in a paragraph

    def inline_math(self, body: str) -> str:
        return mathml(body)

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(rf"\begin{{{name}}}{body}\end{{{name}}}")


def markdown(source: str, html: bool = True) -> Markup:
    """Return Markdown as HTML that is not cleaned; HTML in it is taken as such or as text."""
    return balanced(MarkdownWithMath(renderer=_Renderer(escape=not html)).render(source))


def mathml(latex: str, display: str = "inline") -> Markup:
    """Return a formula; what the converter cannot read is shown as it was written."""
    try:
        html = balanced(converter.convert(latex.strip(), display=display))
    except Exception:  # of all kinds
        return Markup("<code>{}</code>").format(latex)
    for sign, printed in _SIGNS.items():
        html = Markup(re.sub(sign, printed, html))
    return html


# -------------------------------------------------------------------------------------- the layout


def _opening(soup: Any) -> dict[str, Markup]:
    """Take out title, references, lead and best picture; what else stands there is for students."""
    title = soup.select_one("section:first-child > h1:first-child")
    if not title:
        return {}
    paragraphs = title.find_next_siblings("p")
    references = [*takewhile(lambda p: p.strong and p.strong in p.contents[:2], paragraphs)]
    lead = paragraphs[len(references) : len(references) + 1]
    title.parent.extract()
    parts = {"title": [title], "references": references, "lead": lead}
    parts["hero"] = [hero.extract() for hero in soup.select("figure.hero")[:1]]
    return {key: Markup("".join(map(str, of))) for key, of in parts.items()}


def _tell_verdicts(soup: Any) -> Counter[str]:
    """Color callouts, lead from the list of claims to what decides them, and count the words."""
    said: dict[str, str] = {}
    for part in soup.select("blockquote > p:first-child > strong:first-child"):
        quote, text = part.parent.parent, part.get_text().removesuffix(".")
        claim, _, word = text.partition(" ")
        is_claim = re.fullmatch(r"C\d+\w*", claim)
        quote["class"] = f"callout {_kind(word if is_claim else text)}"
        if is_claim and claim not in said:
            said[claim], quote["id"] = word, f"verdict-{claim}"
    for part in soup.select("td"):
        claim = part.parent.get_text(" ", strip=True).partition(" ")[0]
        if claim in said and part.get_text() == said[claim]:
            part.wrap(soup.new_tag("td", attrs=part.attrs))
            part.name, kind = "a", f"verdict {_kind(said[claim])}"
            part.attrs = {"href": f"#verdict-{claim}", "class": kind}
    return Counter(map(_kind, said.values()))


def _kind(words: str) -> str:
    return "said-" + words.partition(" ")[0].lower()


def _lay_out(soup: Any) -> None:
    """Join code, frame what may be wide, and unlink what is not there."""
    for part in soup.select("details.code + details.code"):
        part.find_previous_sibling().extend(part.contents[1:])
        part.extract()
    for part in soup.select("figure.table caption"):
        part.name = "figcaption"
        part.find_parent("figure").insert(0, part.extract())
    for part in soup.select("th:empty"):
        part.name = "td"
    for part in soup.select("table"):
        part.wrap(soup.new_tag("div", attrs={"class": "scroll"}))
    there = {part["id"] for part in soup.select("[id]")}
    for part in soup.select('a[href^="#"]'):
        if unquote(part["href"][1:]) not in there:
            part.unwrap()


_environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
_environment.loader = jinja2.FileSystemLoader(TEMPLATES)
_environment.filters.update(ansi=ansi2html, balanced=balanced, formula=mathml, markdown=markdown)
_environment.filters.update(code=Highlight2HTML(pygments_lexer="ipython3"), quoted=quote)
