"""A run's folder as one HTML file that opens with no network."""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Collection, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import jinja2
import nbformat
from markupsafe import Markup
from nbformat import NotebookNode

from srlib import yamls
from srlib.runner import confidential, layout
from srlib.runner.cells import VEGA_LITE, markdown
from srlib.runner.files import write_whole
from srlib.runner.parameters import read_object

TEMPLATES = Path(__file__).parent / "templates"
# Family, style and weight of each file; `tools/fonts.py` makes them.
FONTS = {
    "source-serif-regular.woff2": ('"Source Serif 4"', "normal", "400"),
    "source-serif-italic.woff2": ('"Source Serif 4"', "italic", "400"),
    "source-serif-semibold.woff2": ('"Source Serif 4"', "normal", "600"),
    "source-sans-regular.woff2": ('"Source Sans 3"', "normal", "400"),
    "source-sans-semibold.woff2": ('"Source Sans 3"', "normal", "600"),
    "stix-two-math.woff2": ('"STIX Two Math"', "normal", "400"),
}
# As in CITATION.cff, which an installed package does not carry.
CITATION = (
    "The srlib contributors. srlib: disclosure risk of synthetic data, four papers as executable "
    "notebooks. Version 0.1.0. MIT license."
)
# Name of the notebook, section and words.
_TO_NOTEBOOK = re.compile(r'<a href="([\w.-]+)\.ipynb(#[^"]*)?">(.*?)</a>', re.DOTALL)


def write(run_dir: Path, public: bool = False) -> Path:
    """Write the report of a run's folder, whole or not at all, and return its path.

    Parameters
    ----------
    run_dir : Path
        As `read` takes it.
    public : bool
        Show what `confidential.public_run` leaves, and write ``report-public.html`` instead of
        ``report.html``.

    Raises
    ------
    ValueError
        If the run failed and the report is to be public, and as `read`.
    """
    path = run_dir / ("report-public.html" if public else "report.html")
    write_whole(path, render(*read(run_dir), public))
    return path


def read(run_dir: Path) -> tuple[NotebookNode, dict[str, Any], dict[str, Any]]:
    """Read what a report is made of: executed notebook, parameters and provenance.

    Parameters
    ----------
    run_dir : Path
        Folder with ``notebook.ipynb`` and, where they exist, ``parameters.yaml`` and
        ``provenance.json``.

    Raises
    ------
    ValueError
        If one of them is not as a run writes it; the message names the file.
    """
    notebook = _notebook(run_dir / "notebook.ipynb")
    parameters, provenance = run_dir / "parameters.yaml", run_dir / "provenance.json"
    try:
        values = yamls.read(parameters) if parameters.exists() else {}
    except ValueError as error:
        raise ValueError(f"{parameters.name} is damaged: {error}") from None
    if not isinstance(values, dict):
        raise ValueError(f"{parameters.name} is damaged: it holds no mapping")
    about = read_object(provenance) if provenance.exists() else {}
    for name in ("versions", "changed_parameters", "inputs"):
        if not isinstance(about.get(name, {}), dict):
            raise ValueError(f"{provenance.name} is damaged: {name} holds no object")
    return notebook, values, about


def _notebook(path: Path) -> NotebookNode:
    invalid: dict[str, Exception] = {}
    try:
        text = path.read_text(encoding="utf-8")
        notebook = nbformat.reads(text, as_version=4, capture_validation_error=invalid)
    except OSError:
        raise
    except Exception as error:  # of all kinds, by what the readers of old versions stumble over
        invalid["error"] = error
    if invalid:
        # Their messages quote the file, in which there may be records.
        kind = type(next(iter(invalid.values()))).__name__
        raise ValueError(f"{path.name} is damaged: it is no notebook ({kind})")
    return notebook


def render(
    notebook: NotebookNode,
    parameters: dict[str, Any],
    provenance: dict[str, Any],
    public: bool = False,
    home: str = "",
    reports: Collection[str] = (),
    previous: tuple[str, str] | None = None,
    next: tuple[str, str] | None = None,
    library: str = "",
    fonts: str = "",
) -> str:
    """Return the report as HTML.

    Names and labels come from users' files, and folders from others, so that no cell is trusted:
    text is escaped, HTML is reduced to harmless elements, charts are data, and the page's content
    security policy lets no script run but the one named by its hash.

    Parameters
    ----------
    notebook : NotebookNode
        Executed notebook. A run whose parameters were changed is somebody's own case, and its
        report leaves out the cells tagged ``teaching``. That of a user's file leaves out the cells
        tagged ``needs-NAME`` where the parameter NAME is empty, zero or false, and those tagged
        ``needs-NAME-or-OTHER`` where both are.
    parameters : dict
        Values by name.
    provenance : dict
        As in ``provenance.json``.
    public : bool
        Show what `confidential.public_run` leaves.
    home : str
        Address of a page that the report leads back to; ``""``: it stands alone.
    reports : collection of str
        Notebooks whose reports lie beside this one, where links to them lead. Of a link to another
        notebook the words stay.
    previous, next : tuple of str, optional
        Address and title of the reports before and after it, where it is one of many.
    library : str
        Address of a file with `chart_library` beside the report; ``""``: the report brings its own.
    fonts : str
        Address of a file with `font_rules` beside the report; likewise.

    Raises
    ------
    ValueError
        If the run failed and the report is to be public.
    """
    of_users_file = confidential.of_users_file(parameters, provenance)
    hidden = {"teaching"} if provenance.get("changed_parameters") else set()
    if of_users_file:
        empty = [name for name, value in parameters.items() if not value]
        hidden |= {f"needs-{name}" for name in empty}
        hidden |= {f"needs-{one}-or-{other}" for one, other in permutations(empty, 2)}
    if public:
        whole = notebook
        notebook, parameters, provenance = confidential.public_run(whole, parameters, provenance)
        for cell, before in zip(notebook.cells, whole.cells, strict=True):
            if _has_chart(before) and not _has_chart(cell):
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), layout.LOST]
    cells = [
        cell
        for cell in notebook.cells
        if cell.source.strip() and hidden.isdisjoint(cell.metadata.get("tags", []))
    ]
    charts = any(map(_has_chart, cells))
    said = layout.verdicts(cells)
    reading = layout.reading(cells)
    # The title goes before what is said of the run, on paper as on the screen.
    opened = cells and cells[0].cell_type == "markdown" and title(cells[0].source)
    opening = layout.opening(cells.pop(0).source if opened else "")
    blocks = layout.arrange(cells, notice=of_users_file and not public)
    html = page(
        "report.html.j2",
        script(charts, own_library=not library),
        beside=[library] if charts and library else [],
        fonts=fonts,
        opening=opening,
        blocks=blocks,
        contents=layout.contents([layout.Block("prose", opening.rest), *blocks]),
        reading=reading,
        run_time=layout.run_time(provenance.get("seconds")),
        tally=layout.tally(said),
        n_claims=len(said),
        parameters=parameters,
        provenance=provenance,
        public=public,
        of_users_file=of_users_file,
        files=[] if public else _names(parameters),
        rule=confidential.RULE,
        citation=CITATION,
        home=home,
        previous=previous,
        next=next,
        title=title(first_markdown(notebook)) or provenance.get("paper", "Report"),
    )

    def followed(link: re.Match[str]) -> str:
        name, section, words = link.groups(default="")
        return f'<a href="{name}.html{section}">{words}</a>' if name in reports else words

    return _TO_NOTEBOOK.sub(followed, html)


def _has_chart(cell: NotebookNode) -> bool:
    outputs = cell.get("outputs", [])
    return any(mime in output.get("data", {}) for output in outputs for mime in VEGA_LITE)


def _names(parameters: dict[str, Any]) -> list[str]:
    """Return the names of the tables that a report on a user's files is about."""
    paths = [*confidential.texts([parameters.get(name, "") for name in ("original", "released")])]
    return [Path(path).name for path in paths]


def page(
    template: str, script: str, beside: Sequence[str] = (), fonts: str = "", **values: Any
) -> str:
    """Fill a template of a page that runs no script but the project's own.

    Its content security policy names its own script by hash, and scripts beside it by a nonce. The
    nonce is a hash of the page: text that was written into the page cannot have known it.

    Parameters
    ----------
    template : str
        Name of a file in ``templates/``, for what stands between head and foot.
    script : str
        The page's own script, such as that of `script`.
    beside : sequence of str
        Addresses of scripts beside the page, which run before its own.
    fonts : str
        Address of a file with `font_rules` beside the page; ``""``: they are in the page.
    **values
        What the template names.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(markdown=markdown)
    unlike_any_text = secrets.token_hex()
    html = environment.get_template(template).render(
        script=Markup(script),
        script_hash=_digest(script),
        beside=beside,
        nonce=unlike_any_text,
        fonts=fonts,
        style=Markup(
            ("" if fonts else font_rules()) + (TEMPLATES / "report.css").read_text(encoding="utf-8")
        ),
        **values,
    )
    return html.replace(unlike_any_text, _digest(html.replace(unlike_any_text, "")))


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def font_rules() -> str:
    """Return the fonts as rules of a style sheet that holds them."""
    rule = (
        "@font-face {{ font-family: {}; font-style: {}; font-weight: {}; "
        "src: url(data:font/woff2;base64,{}) format('woff2'); }}\n"
    )
    return "".join(
        rule.format(*face, base64.b64encode((TEMPLATES / "fonts" / file).read_bytes()).decode())
        for file, face in FONTS.items()
    )


def title(text: str) -> str:
    """Return the first top-level heading of a Markdown text, or ``""``."""
    found = re.search(r"^# +(.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def first_markdown(notebook: NotebookNode) -> str:
    """Return a notebook's first text, which holds its title."""
    return next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")


@cache
def script(charts: bool, own_library: bool = True) -> str:
    """Return a page's script: a megabyte where it draws charts with a library of its own."""
    parts = [(TEMPLATES / "report.js").read_text(encoding="utf-8")]
    if charts and own_library:
        parts.append(chart_library())
    if charts:
        from srlib.charts import DARK  # Altair, for reports with charts only

        parts.append(f"const DARK = {json.dumps(DARK)};")
        parts.append((TEMPLATES / "charts.js").read_text(encoding="utf-8"))
    return "\n".join(parts).replace("</script", "<\\/script")


@cache
def chart_library() -> str:
    """Return the script that draws charts: Vega, Vega-Lite and what embeds them."""
    import vl_convert  # 50 MB, for reports with charts only

    # The last version of the major one that the charts' specifications name.
    library: str = vl_convert.javascript_bundle(vl_version="5.21")  # type: ignore[call-arg]
    return library
