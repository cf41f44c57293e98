"""A run's folder as one HTML file that opens with no network and runs no script of the run's.

Texts, labels and HTML in a run's folder are anybody's. One template puts a notebook's cells one
after the other, `clean` reduces all of it to harmless elements, and only then are figures, tables
and verdicts put together and the charts' data inserted. The page's content security policy lets no
script run but the one named by its hash.
"""

import base64
import hashlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Collection
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote

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
from srlib.runner.parameters import read_object

TEMPLATES = Path(__file__).parent / "templates"
# How the words of a callout begin, and what they are to a reader.
KINDS = {
    "proved": "holds",
    "holds": "holds",
    "depends": "depends",
    "fails": "fails",
    "not decided": "undecided",
    "Warning": "warning",
    "Note": "note",
}
_CLAIM = r"C\d+\w*"
_MATHEMATICS = (
    "math menclose mfrac mi mn mo mover mpadded mphantom mroot mrow mspace msqrt mstyle msub "
    "msubsup msup mtable mtd mtext mtr munder munderover"
)
_EVERYWHERE = (
    "aria-label class role style title "
    "accent columnalign columnlines columnspacing depth display displaystyle fence form height "
    "linethickness lspace mathvariant maxsize minsize notation rowlines rowspacing rspace "
    "scriptlevel separator stretchy symmetric voffset width xmlns"
)
_ATTRIBUTES = nh3.ALLOWED_ATTRIBUTES | {f"h{level}": {"id"} for level in range(1, 7)}
_ALLOWED: Any = {
    "tags": {*_MATHEMATICS.split(), "section", *nh3.ALLOWED_TAGS} - {"area", "map"},
    "attributes": _ATTRIBUTES | {"*": {*_EVERYWHERE.split()}, "a": {"href"}},
    "filter_style_properties": {"text-align"},
    "url_schemes": {"http", "https", "mailto", "data"},
}


def write(run_dir: Path, public: bool = False) -> Path:
    """Write ``report.html``, or of what is public ``report-public.html``, and return its path."""
    path = run_dir / ("report-public.html" if public else "report.html")
    write_whole(path, render(*read(run_dir), public))
    return path


def read(run_dir: Path) -> tuple[NotebookNode, dict[str, Any], dict[str, Any]]:
    """Read executed notebook, parameters and provenance; a ValueError names what is damaged."""
    text, invalid = (run_dir / "notebook.ipynb").read_bytes(), dict[str, Exception]()
    try:
        notebook = nbformat.reads(text.decode(), as_version=4, capture_validation_error=invalid)
        for error in invalid.values():
            raise error
    except Exception as error:  # of all kinds, whose messages quote the file
        kind = type(error).__name__
        raise ValueError(f"notebook.ipynb is damaged: it is no notebook ({kind})") from None
    try:
        file = run_dir / "parameters.yaml"
        values = yamls.read(file) if file.exists() else {}
    except ValueError as error:
        raise ValueError(f"parameters.yaml is damaged: {error}") from None
    file = run_dir / "provenance.json"
    about = read_object(file) if file.exists() else {}
    parts = [(file.name, about.get(n, {})) for n in ("versions", "changed_parameters", "inputs")]
    for name, value in [("parameters.yaml", values), *parts]:
        if not isinstance(value, dict):
            raise ValueError(f"{name} is damaged: a value stands for a mapping")
    return notebook, values, about


def render(
    notebook: NotebookNode,
    parameters: dict[str, Any],
    provenance: dict[str, Any],
    public: bool = False,
    reports: Collection[str] = (),
) -> str:
    """Return the report of what `read` returns as HTML; if public, of what `public_run` leaves.

    The report of a run on a user's file leaves out cells tagged ``needs-NAME`` where the parameter
    NAME is empty, zero or false. Links lead to reports of the notebooks that lie beside this one,
    below the guide; of a link to any other file the words stay.
    """
    of_users_file = confidential.of_users_file(parameters, provenance)
    if public:
        notebook, parameters, provenance = confidential.public_run(notebook, parameters, provenance)
    hidden = {f"needs-{name}" for name, value in parameters.items() if of_users_file and not value}
    cells = [
        cell
        for cell in notebook.cells
        if cell.source.strip() and hidden.isdisjoint(cell.metadata.get("tags", []))
    ]
    drawn: dict[str, Any] = {}  # charts by marks that no text can have known

    def draw(spec: dict[str, Any]) -> str:
        drawn[mark := secrets.token_hex()] = spec
        return mark

    body = _environment().get_template("cells.html.j2")
    shown = body.render(cells=cells, draw=draw, confidential=of_users_file and not public)
    soup = BeautifulSoup(clean(shown, reports), "html.parser")
    _join(soup)
    _number(soup)
    about = {"tally": _tell_verdicts(soup), "opening": _opening(soup), "contents": _contents(soup)}
    about |= {"body": Markup(soup), "parameters": parameters, "provenance": provenance}
    about |= {"public": public, "of_users_file": of_users_file, "rule": confidential.RULE}
    code = script(charts=bool(drawn))
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    about |= {"reports": reports, "script": Markup(code), "script_hash": digest}
    html = _environment().get_template("report.html.j2").render(style=Markup(_style()), **about)
    for mark, spec in drawn.items():
        data = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
        data = data.replace("<", "\\u003c")  # no label ends the element
        element = f'<script type="application/json" class="vega-lite">{data}</script>'
        html = html.replace(mark, element)
    return html


@cache
def _environment() -> jinja2.Environment:
    loader, tidy = jinja2.FileSystemLoader(TEMPLATES), {"trim_blocks": True, "lstrip_blocks": True}
    environment = jinja2.Environment(loader=loader, autoescape=True, **tidy)  # type: ignore[arg-type]
    environment.tests["chart"] = _is_chart
    environment.filters.update(ansi=ansi2html, balanced=balanced, formula=mathml, markdown=markdown)
    environment.filters.update(code=Highlight2HTML(pygments_lexer="ipython3"), quoted=quote)
    environment.filters["unfolded"] = partial(re.sub, r"\A<details>.*|</details>\Z", "")
    return environment


def _is_chart(output: NotebookNode) -> bool:
    data = output.get("data", {})
    drawn = any("vega" in mime and isinstance(data[mime], dict) for mime in data)
    pictures = {"image/svg+xml", "image/png"} & {*data}
    return drawn or (bool(pictures) and not {"text/html", "text/markdown"} & {*data})


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

        parts.append(vl_convert.javascript_bundle())  # type: ignore[call-arg]
        parts.append(f"const DARK = {json.dumps(DARK)};")
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
    """Return a formula, spaced as in print where browsers space the converter's signs otherwise."""
    try:
        soup = BeautifulSoup(converter.convert(latex.strip(), display=display), "html.parser")
    except Exception:  # whatever it cannot read is shown as it was written
        return Markup("<code>{}</code>").format(latex)
    for sign in soup.select("mi, mo"):
        before, text, after = sign.find_previous_sibling(), sign.text, sign.find_next_sibling()
        if re.fullmatch("[A-Za-z]{2,}|E", text):  # a function
            applied = after is not None and after.get_text() in "([{"
            sign.name, sign.attrs = "mo", {"lspace": "0", "rspace": "0" if applied else "0.17em"}
        elif text in "/.!|":
            sign.name, sign.attrs = "mo", {"lspace": "0", "rspace": "0", "stretchy": "false"}
        elif text in "−+" and before and before.name == "mo" and before.text not in ")]}|!":
            sign["form"] = "prefix"
        elif text == "′" and sign.parent and sign.parent.name == "msup":  # raised already
            sign.name, sign.attrs = "mo", {"lspace": "0", "rspace": "0"}
            sign.parent.name = "mrow"
        elif text in "*~":
            sign.name, sign.string = "mo", "∗" if text == "*" else "∼"
        elif re.fullmatch(r"\.\d+", text):
            sign.name = "mn"
    return Markup(soup)


# ------------------------------------------------------------------------------ what goes together


def _element(html: str) -> Any:
    return BeautifulSoup(html, "html.parser").contents[0].extract()


def _join(soup: BeautifulSoup) -> None:
    """Fold code with the code that follows, solutions with solutions; frame what may be wide."""
    folded: Any
    for folded in soup.select("details.code + details.code, details.solution + details.solution"):
        folded.find_previous_sibling().extend(folded.contents[1:])
        folded.extract()
    for table in soup.select("table"):
        for head in table.select("th"):
            if not head.get_text(strip=True):
                head.name = "td"  # it heads nothing
        table.wrap(_element('<div class="scroll"></div>'))


def _number(soup: BeautifulSoup) -> None:
    """Number tables by their captions, and figures with the bold sentence under them as title."""
    part: Any
    ours = "figure.picture:has(> p.title)"  # the text may have figures as well
    for n, part in enumerate(soup.select("figure.table caption"), 1):
        text = f"<figcaption><b>Table {n}.</b> {part.decode_contents()}</figcaption>"
        part.find_parent(class_="scroll").insert_before(_element(text))
        part.decompose()
    for part in soup.select(f"{ours} + section > p:first-child > strong:first-child"):
        said, figure = part.parent, part.parent.parent.find_previous_sibling()
        if said.contents[0] is part and part.get_text().endswith((".", "?", "!", ":")):
            figure.p.extend(part.extract().contents[:])
            if said.get_text(strip=True):
                figure.append(_element(f"<figcaption>{said}</figcaption>"))
            said.decompose()
    for part in soup.select("figure.lost"):
        part.decompose()
    for n, part in enumerate(soup.select(ours), 1):
        part["id"], title = f"figure-{n}", f"title-{n}"
        part["aria-labelledby"] = part.p["id"] = title
        part.p.insert(0, _element(f"<b>Figure {n}.</b>"), " ")


def _kind(words: str) -> str:
    return next((kind for start, kind in KINDS.items() if words.startswith(start)), "number")


def _tell_verdicts(soup: BeautifulSoup) -> Counter[str]:
    """Color callouts, lead from the table of claims to what decides them, and count the words."""
    said: dict[str, str] = {}
    part: Any
    for part in soup.select("blockquote > p:first-child > strong:first-child"):
        quote, words = part.parent.parent, part.get_text().removesuffix(".")
        claim, _, word = words.partition(" ")
        quote["class"] = f"callout {_kind(word if re.fullmatch(_CLAIM, claim) else words)}"
        if re.fullmatch(_CLAIM, claim) and claim not in said and _kind(word) != "number":
            said[claim], quote["id"] = word, f"verdict-{claim}"
    for part in soup.select("td"):
        claim = part.parent.get_text(" ", strip=True).partition(" ")[0]
        if claim in said and part.get_text() == said[claim]:
            link = _element(f'<a class="verdict {_kind(said[claim])}" href="#verdict-{claim}"></a>')
            link.extend(part.contents[:])
            part.append(link)
    return Counter(_kind(word) for word in said.values())


def _opening(soup: BeautifulSoup) -> dict[str, Markup]:
    """Take title, references and lead out of the text that begins with the title."""
    title: Any = soup.select_one("section:first-child > h1:first-child")
    if not title:
        return {}
    paragraphs = [*takewhile(lambda part: part.name == "p", title.find_next_siblings())]
    references = [*takewhile(lambda p: p.contents and p.contents[0].name == "strong", paragraphs)]
    lead = paragraphs[len(references) : len(references) + 1]
    parts = {"title": [title], "references": references, "lead": lead}
    return {key: Markup("".join(str(p.extract()) for p in of)) for key, of in parts.items()}


def _contents(soup: BeautifulSoup) -> list[tuple[str, Markup, list[Any]]]:
    """Return the headings: address and text of sections, and those of what is in each."""
    found: list[tuple[str, Markup, list[Any]]] = []
    for heading in soup.select("section > :is(h1, h2, h3)"):
        text = re.sub(r"</?a\b[^>]*>|¶", "", heading.decode_contents())
        of = found[-1][2] if heading.name == "h3" and found else found
        of.append((quote(str(heading.get("id", ""))), Markup(text), []))
    return found
