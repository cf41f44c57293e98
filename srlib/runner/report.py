"""Reports: a run's folder as one HTML file that needs no network and runs no script from the run.

A template renders a notebook's cells in order, `markup.clean` reduces the result to
harmless elements, and only then are figures, tables and verdicts laid out. The charts'
data are text. The page's content security policy allows a single script, identified by
its hash.
"""

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import jinja2
import nbformat
from bs4 import BeautifulSoup
from markupsafe import Markup
from nbconvert.filters import Highlight2HTML, ansi2html

from srlib.checks import printable
from srlib.runner import confidential
from srlib.runner.files import settle_leftovers, write_whole
from srlib.runner.markup import clean, markdown, mathml
from srlib.runner.parameters import UsageError, read_mapping

TEMPLATES = Path(__file__).parent / "templates"
_GUIDE_PAGE = re.compile(r"\.\./docs/guide/(\w+)\.md(.*)")
_PICTURE = re.compile(r"vegalite\.v[56]|image/(svg\+xml|png|jpeg|webp|gif)")


def write(run_dir: Path, public: bool = False) -> Path:
    """Write ``report.html``, or ``report-public.html`` if public, and return its path."""
    settle_leftovers(run_dir.absolute().parent)  # this run may be one of them
    path = run_dir / ("report-public.html" if public else "report.html")
    write_whole(path, render(*read(run_dir), public))
    return path


def read(run_dir: Path) -> tuple[nbformat.NotebookNode, dict[str, Any], dict[str, Any]]:
    """Read executed notebook, parameters and provenance; a UsageError names a damaged file."""
    for file in run_dir.rglob(
        "*"
    ):  # reports are passed on, and a link may lead to any file
        if file.is_symlink():
            raise UsageError(
                f"{printable(file)} is a link; a run's files must be regular files"
            )
    path, *others = (
        run_dir / f for f in ("notebook.ipynb", "parameters.yaml", "provenance.json")
    )
    text = (
        json.dumps(read_mapping(path), ensure_ascii=False)
        .encode(errors="replace")
        .decode()
    )
    try:
        notebook = nbformat.reads(text, as_version=4, capture_validation_error={})
        nbformat.validate(notebook)
    except Exception as error:  # of any kind; messages quote the file
        kind = type(error).__name__
        raise UsageError(
            f"{printable(path)} cannot be read: not a valid notebook ({kind})"
        ) from None
    values, about = (read_mapping(file) if file.exists() else {} for file in others)
    for name in ("versions", "changed_parameters", "inputs"):
        if not isinstance(about.get(name, {}), dict):
            damaged = printable(others[1])
            raise UsageError(
                f"{damaged} cannot be read: {name} must map names to values"
            )
    return notebook, values, about


def render(
    notebook: nbformat.NotebookNode,
    parameters: dict[str, Any],
    provenance: dict[str, Any],
    public: bool = False,
    reports: Collection[str] = (),
) -> str:
    """Return the report of a run, as returned by `read`, as HTML; if public, of its public part.

    ``reports`` names the notebooks whose reports are in the same folder of the site.
    Links to them and to pages of the guide, such as the glossary, lead there. Any other
    link to a notebook, to the guide or to a part that is left out becomes plain text.
    """
    of_users_file = confidential.of_users_file(parameters, provenance)
    if public:
        notebook, parameters, provenance = confidential.public_run(
            notebook, parameters, provenance
        )
    hidden = {"notebook-only", "hint", "solution", "parameters", "injected-parameters"}
    hidden |= set() if public and of_users_file else {"public-only"}
    if of_users_file:
        hidden |= {
            "example",
            *(f"needs-{name}" for name, value in parameters.items() if not value),
        }
    cells = [
        cell
        for cell in notebook.cells
        if hidden.isdisjoint(cell.metadata.get("tags", []))
    ]
    secret = of_users_file and not public
    html = _environment.get_template("cells.html.j2").render(cells=cells, secret=secret)
    soup: Any = BeautifulSoup(clean(html), "html.parser")
    _lay_out(soup, reports)
    tally, title = (
        _link_verdicts(soup),
        soup.select_one("section:first-child > h1:first-child"),
    )
    opening = [title.parent, *soup.select("figure.hero")[:1]] if title else []
    code = script(charts='class="vega-lite"' in html)
    return _environment.get_template("report.html.j2").render(
        title=title and title.get_text(),
        opening=[Markup(part.extract()) for part in opening],
        headings=soup.select(":is(section, summary) > :is(h1, h2)"),
        body=Markup(soup),
        tally=tally,
        parameters=parameters,
        provenance=provenance,
        public=public,
        reports=reports,
        of_users_file=of_users_file,
        rule=confidential.RULE,
        script=Markup(code),
        script_hash=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
    )


def script(charts: bool) -> str:
    """Return a page's script; it has a megabyte if it draws charts."""
    names = ["report.js", "charts.js"] if charts else ["report.js"]
    parts = [(TEMPLATES / name).read_text(encoding="utf-8") for name in names]
    if charts:
        import vl_convert  # 50 MB, and Altair: for reports with charts only

        from srlib.charts import DARK

        parts[1:1] = [
            vl_convert.javascript_bundle(),
            f"const DARK = {json.dumps(DARK)};",
        ]  # type: ignore[call-arg]
    return "\n".join(parts).replace("</script", "<\\/script")


def _lay_out(soup: Any, reports: Collection[str]) -> None:
    """Move captions into their charts, let wide parts scroll, and adapt links."""
    for title in soup.select(
        "figure.picture + section > p:first-child > strong:first-child"
    ):
        if not title.previous_sibling and title.get_text().endswith(
            (".", "?", "!", ":")
        ):
            caption, figure = title.parent, title.parent.parent.find_previous_sibling()
            caption.name, title.name, title["class"] = "figcaption", "div", "title"
            figure.insert(0, title)
            figure.append(caption)
    for part in soup.select(
        "a.anchor-link, figure.lost"
    ):  # the contents lead to headings
        part.decompose()
    for part in soup.select("figure.table caption"):
        part.name = "figcaption"
        part.find_parent("figure").insert(0, part)
    for part in soup.select("th:empty"):
        part.name = "td"
    for part in soup.select("table"):
        part.wrap(soup.new_tag("div", attrs={"class": "scroll"}))
    there = {f"#{unquote(part['id'])}" for part in soup.select("[id]")}
    for part in soup.select("a[href]"):
        name, _, place = part["href"].partition(".ipynb")
        if name in reports:
            part["href"] = f"{name}.html{place}"
        elif reports and (guide := _GUIDE_PAGE.match(name)):
            part["href"] = f"../guide/{guide[1]}.html{guide[2]}"
        elif unquote(part["href"]) not in there and not re.match(
            "https?:|mailto:", name
        ):
            part.unwrap()


def _link_verdicts(soup: Any) -> Counter[str]:
    """Color callouts, link the list of claims to their verdicts, and count the verdicts."""
    said, kinds = dict[str, str](), dict[str, str]()
    for part in soup.select("blockquote > p:first-child > strong:first-child"):
        quote, text = part.find_parent("blockquote"), part.get_text().removesuffix(".")
        claim, word = re.match(r"(?s)(?:(C\d+\w*) )?(.*)", text).groups()  # type: ignore[union-attr]
        quote["class"] = f"callout {(kind := f'said-{word.partition(" ")[0].lower()}')}"
        if claim and claim not in said:
            said[claim], kinds[claim], quote["id"] = word, kind, f"verdict-{claim}"
    for cell in soup.select("td:first-child:has(> strong) ~ td"):
        if cell.get_text() == said.get(claim := cell.parent.td.get_text()):
            link = soup.new_tag("a", href=f"#verdict-{claim}")
            link["class"] = f"verdict {kinds[claim]}"
            link.extend(cell)
            cell.append(link)
    return Counter(kinds.values())


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
    font=lambda name: base64.b64encode(
        (TEMPLATES / "fonts" / name).read_bytes()
    ).decode(),
    sections=re.compile("^(?=<h[2-6])", re.MULTILINE).split,
)
