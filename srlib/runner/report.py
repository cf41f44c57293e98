"""Reports: a run's folder as one HTML file that needs no network.

It runs no script from the run. A template renders a notebook's cells in order,
`markup.clean` reduces the result to harmless elements, and only then are figures,
tables and verdicts laid out. The charts' data are text. The page's content security
policy allows a single script, identified by its hash.
"""

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import jinja2
import nbformat
from bs4 import BeautifulSoup
from markupsafe import Markup
from nbconvert.filters import Highlight2HTML, ansi2html
from nbformat import NotebookNode

from srlib.checks import printable
from srlib.runner import confidential
from srlib.runner.files import settle_leftovers, write_whole
from srlib.runner.markup import clean, markdown, mathml
from srlib.runner.parameters import UsageError, Values, read_mapping

TEMPLATES = Path(__file__).parent / "templates"
_FONTS = TEMPLATES / "fonts"
_GUIDE_PAGE = re.compile(r"\.\./docs/guide/(\w+)\.md(.*)")
_OUTSIDE = re.compile("https?:|mailto:")
_PICTURE = re.compile(r"vegalite\.v[56]|image/(svg\+xml|png|jpeg|webp|gif)")


def write(run_dir: Path, public: bool = False) -> Path:
    """Write ``report.html``, or if public ``report-public.html``; return its path."""
    settle_leftovers(run_dir.absolute().parent)  # this run may be one of them
    path = run_dir / ("report-public.html" if public else "report.html")
    write_whole(path, render(*read(run_dir), public))
    return path


def read(run_dir: Path) -> tuple[NotebookNode, Values, Values]:
    """Read a run's notebook, parameters and provenance; errors name a damaged file."""
    # Reports are passed on, and a link may lead to any file.
    for file in run_dir.rglob("*"):
        if file.is_symlink():
            raise UsageError(
                f"{printable(file)} is a link; a run's files must be regular files"
            )
    notebook = _read_notebook(run_dir / "notebook.ipynb")
    parameters_file = run_dir / "parameters.yaml"
    parameters = read_mapping(parameters_file) if parameters_file.exists() else {}
    file = run_dir / "provenance.json"
    provenance = read_mapping(file) if file.exists() else {}
    for name in ("versions", "changed_parameters", "inputs"):
        if not isinstance(provenance.get(name, {}), dict):
            raise UsageError(
                f"{printable(file)} cannot be read: {name} must map names to values"
            )
    return notebook, parameters, provenance


def _read_notebook(path: Path) -> NotebookNode:
    """Read an executed notebook; an error's message quotes nothing from it."""
    text = json.dumps(read_mapping(path), ensure_ascii=False)
    text = text.encode(errors="replace").decode()
    try:
        notebook = nbformat.reads(
            text,
            as_version=4,
            capture_validation_error={},
        )
        nbformat.validate(notebook)
    except Exception as error:
        kind = type(error).__name__
        raise UsageError(
            f"{printable(path)} cannot be read: not a valid notebook ({kind})"
        ) from None
    return notebook


def render(
    notebook: NotebookNode,
    parameters: Values,
    provenance: Values,
    public: bool = False,
    reports: Collection[str] = (),
) -> str:
    """Return the report of a run, as returned by `read`, as HTML.

    If public, it is the report of the run's public part. ``reports`` names the
    notebooks whose reports are in the same folder of the site. Links to them and to
    pages of the guide, such as the glossary, lead there. Any other link to a notebook,
    to the guide or to a part that is left out becomes plain text.
    """
    of_users_file = confidential.of_users_file(parameters, provenance)
    if public:
        notebook, parameters, provenance = confidential.public_run(
            notebook, parameters, provenance
        )
    cells = _shown_cells(notebook, parameters, of_users_file, public)
    html = _environment.get_template("cells.html.j2").render(
        cells=cells, secret=of_users_file and not public, fold_code=of_users_file
    )
    code = script(charts='class="vega-lite"' in html)
    digest = hashlib.sha256(code.encode()).digest()
    return _environment.get_template("report.html.j2").render(
        **_lay_out(clean(html), reports),
        parameters=parameters,
        provenance=provenance,
        public=public,
        reports=reports,
        of_users_file=of_users_file,
        rule=confidential.RULE,
        script=Markup(code),
        script_hash=base64.b64encode(digest).decode(),
    )


def _shown_cells(
    notebook: NotebookNode, parameters: Values, of_users_file: bool, public: bool
) -> list[NotebookNode]:
    """Return the cells of a notebook that its report shows."""
    hidden = {"notebook-only", "hint", "solution", "parameters", "injected-parameters"}
    if not (public and of_users_file):
        hidden.add("public-only")
    if of_users_file:
        hidden.add("example")
        hidden |= {f"needs-{name}" for name, value in parameters.items() if not value}
    return [c for c in notebook.cells if hidden.isdisjoint(c.metadata.get("tags", []))]


def script(charts: bool) -> str:
    """Return a page's script; it has a megabyte if it draws charts."""
    parts = [(TEMPLATES / "report.js").read_text("utf-8")]
    if charts:
        import vl_convert  # 50 MB, and Altair: for reports with charts only

        from srlib.charts import DARK

        library = vl_convert.javascript_bundle()  # type: ignore[call-arg]
        drawing = (TEMPLATES / "charts.js").read_text("utf-8")
        parts += [library, f"const DARK = {json.dumps(DARK)};", drawing]
    return "\n".join(parts).replace("</script", "<\\/script")


def _lay_out(html: str, reports: Collection[str]) -> Values:
    """Return the parts of a page with a notebook's cells."""
    soup: Any = BeautifulSoup(html, "html.parser")
    _move_captions(soup)
    _adapt_links(soup, reports)
    verdicts = _mark_verdicts(soup)
    _link_claims(soup, verdicts)
    title = soup.select_one("section:first-child > h1:first-child")
    opening = [title.parent, *soup.select("figure.hero")[:1]] if title else []
    return {
        "title": title and title.get_text(),
        "opening": [Markup(part.extract()) for part in opening],
        "headings": soup.select(":is(section, summary) > :is(h1, h2)"),
        "body": Markup(soup),
        "tally": Counter(verdict.kind for verdict in verdicts.values()),
    }


def _move_captions(soup: Any) -> None:
    """Move captions into their figures, and let wide tables scroll."""
    for title in soup.select(
        "figure.picture + section > p:first-child > strong:first-child"
    ):
        is_title = title.get_text().endswith((".", "?", "!", ":"))
        if is_title and not title.previous_sibling:
            caption = title.parent
            figure = caption.parent.find_previous_sibling()
            caption.name = "figcaption"
            title.name = "div"
            title["class"] = "title"
            figure.insert(0, title)
            figure.append(caption)
    # The contents lead to headings.
    for part in soup.select("a.anchor-link, figure.lost"):
        part.decompose()
    for part in soup.select("figure.table caption"):
        part.name = "figcaption"
        part.find_parent("figure").insert(0, part)
    for part in soup.select("th:empty"):
        part.name = "td"
    for part in soup.select("table"):
        part.wrap(soup.new_tag("div", attrs={"class": "scroll"}))


def _adapt_links(soup: Any, reports: Collection[str]) -> None:
    """Lead links to reports and to the guide; make text of those that lead nowhere."""
    targets = {f"#{unquote(part['id'])}" for part in soup.select("[id]")}
    for link in soup.select("a[href]"):
        name, _, place = link["href"].partition(".ipynb")
        page = _GUIDE_PAGE.match(name)
        if name in reports:
            link["href"] = f"{name}.html{place}"
        elif reports and page:
            link["href"] = f"../guide/{page[1]}.html{page[2]}"
        elif unquote(link["href"]) not in targets and not _OUTSIDE.match(name):
            link.unwrap()


class _Verdict(NamedTuple):
    """The words of a verdict, and the class of its color."""

    words: str
    kind: str


def _mark_verdicts(soup: Any) -> dict[str, _Verdict]:
    """Color callouts, and return the first verdict on each claim, which gets an id."""
    verdicts: dict[str, _Verdict] = {}
    for title in soup.select("blockquote > p:first-child > strong:first-child"):
        text = title.get_text().removesuffix(".")
        claim, words = re.match(r"(?s)(?:(C\d+\w*) )?(.*)", text).groups()  # type: ignore[union-attr]
        kind = f"said-{words.partition(' ')[0].lower()}"
        callout = title.find_parent("blockquote")
        callout["class"] = f"callout {kind}"
        if claim and claim not in verdicts:
            callout["id"] = f"verdict-{claim}"
            verdicts[claim] = _Verdict(words, kind)
    return verdicts


def _link_claims(soup: Any, verdicts: dict[str, _Verdict]) -> None:
    """Link the list of claims to their verdicts."""
    for cell in soup.select("td:first-child:has(> strong) ~ td"):
        claim = cell.parent.td.get_text()
        if claim in verdicts and verdicts[claim].words == cell.get_text():
            link = soup.new_tag("a", href=f"#verdict-{claim}")
            link["class"] = f"verdict {verdicts[claim].kind}"
            link.extend(cell)
            cell.append(link)


_environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
_environment.loader = jinja2.FileSystemLoader(TEMPLATES)
_environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
_environment.tests["picture"] = lambda o: _PICTURE.search(" ".join(o.get("data", [])))
_environment.filters.update(
    ansi=ansi2html,
    clean=clean,
    formula=mathml,
    markdown=markdown,
    quoted=quote,
    code=Highlight2HTML(pygments_lexer="ipython3"),
    font=lambda name: base64.b64encode((_FONTS / name).read_bytes()).decode(),
    sections=re.compile("^(?=<h[2-6])", re.MULTILINE).split,
)
