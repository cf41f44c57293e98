"""The site's front page, and the runs' public reports with their downloads beside it.

The texts in a run's folder are not trusted: they go through `report`'s filters and never into
the sources of the documentation, whose pages stand around these where ``make site`` builds both.
"""

import csv
import io
import json
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat

from srlib import yamls
from srlib.runner import cells, confidential, layout, report
from srlib.runner.files import replace_folder, temporary, write_whole
from srlib.runner.parameters import UsageError, find_papers, find_profiles, read_object, shown

TITLE = "How much does synthetic data give away?"
PROFILE = "published"
REPORTS = "reports"
CONTENTS = "contents.txt"  # names all that lies beside it: what has it as it says is a site
LIBRARY, FONTS = "charts.js", "fonts.css"  # once for all pages: a megabyte
PLACES = "places.js"  # what the front page searches
BINDER = "https://mybinder.org/v2/gh/{}/HEAD?urlpath=lab/tree/notebooks/"
# What the front page says of each notebook, in its order. Others come last.
CARDS: dict[str, dict[str, str]] = yamls.read(report.TEMPLATES / "cards.yaml")
OTHERS = "Other notebooks"
# Two runs of one computation, left and right; drawn from a run, and kept with the guide.
PAIR = {
    "agreement_importance_sampling": "Scatter: two runs of importance sampling agree little.",
    "agreement_predictive_ratio": "Scatter: two runs of the predictive ratio agree.",
}

Read = tuple[nbformat.NotebookNode, dict[str, Any], dict[str, Any]]  # as by `report.read`


@dataclass(frozen=True)
class Entry:
    """What the front page says of one notebook; without a run, how to make it.

    Attributes
    ----------
    name : str
        Key of the notebook.
    command : str
        What makes the run.
    finding, lead : str
        The notebook's title and two paragraphs under it, in Markdown.
    page, download : str
        Addresses from the front page; empty without a run.
    picture : Markup or str
        The figure that the notebook's card names, as an image.
    reading, run_time : str
        How long either takes.
    changed : tuple of str
        Parameters with other values than the profile's.
    tally : list of (str, str, int)
        As by `layout.tally`.
    ledger : Counter
        Printed numbers by verdict; empty where the run compares with none.
    reason : str
        Why most of the skipped numbers are.
    """

    name: str
    command: str
    finding: str
    lead: str
    page: str = ""
    download: str = ""
    picture: str = ""
    reading: str = ""
    run_time: str = ""
    changed: tuple[str, ...] = ()
    tally: list[tuple[str, str, int]] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    reason: str = ""

    @property
    def card(self) -> dict[str, str]:
        """What was written of the notebook for the front page."""
        return CARDS.get(self.name, {})

    @property
    def heading(self) -> str:
        """Words for a link to the notebook."""
        return self.card.get("heading", self.finding)

    @property
    def numbers(self) -> str:
        """A sentence on the printed numbers that the run compared."""
        said = {
            "match": "as printed",
            "differs": "different for a stated reason",
            "consistent": "consistent with others of the paper",
            "setting": "settings of the design",
            "skipped": f"skipped ({self.reason})" if self.reason else "skipped",
        }
        parts = [f"{self.ledger[word]} {said[word]}" for word in said if self.ledger[word]]
        return f"{self.ledger.total()} printed numbers: {', '.join(parts)}."


def write(root: Path, outputs: Path, repository: str = "") -> tuple[Path, list[str]]:
    """Write the front page ``outputs/site/index.html`` and the reports beside it.

    The reports are written whole or not at all, in place of older ones, and the front page in place
    of an older one or of the guide's.

    Parameters
    ----------
    root : Path
        The project's folder.
    outputs : Path
        Folder over all runs. A paper is taken from ``<paper>/published``, a notebook without a
        published profile from ``<notebook>/default``.
    repository : str
        ``owner/name`` on GitHub, for links that open the notebooks on Binder; ``""``: none.

    Returns
    -------
    index : Path
        The page to open.
    missing : list of str
        Notebooks that have no such run.

    Raises
    ------
    UsageError
        If the folder holds anything but an older site.
    ValueError
        If a run's folder is damaged; the message names it.
    """
    index = outputs / "site" / "index.html"
    folder = index.parent / REPORTS
    if strange := _not_of_a_site(folder) or _not_a_front_page(index):
        raise UsageError(
            f"{shown(folder.parent)} holds {strange}, which is not of a site that was written "
            "here; move it away, or choose another folder with --output"
        )
    runs = {name: _run(root, outputs, name) for name in sorted(find_papers(root), key=_place)}
    read = {name: _read(run) for name, run in runs.items() if (run / "notebook.ipynb").is_file()}
    entries = [_entry(root, run, name, read.get(name)) for name, run in runs.items()]
    there = [entry for entry in entries if entry.page]
    links = [None, *[(f"{entry.name}.html", entry.heading) for entry in there], None]
    files = {LIBRARY: report.chart_library().encode(), FONTS: report.font_rules().encode()}
    places: list[tuple[str, str, str, str]] = []
    for entry, previous, following in zip(there, links, links[2:], strict=False):
        page = report.render(
            *read[entry.name],
            public=True,
            home="../index.html",
            reports=read,
            previous=previous,
            next=following,
            library=LIBRARY,
            fonts=FONTS,
        )
        files[f"{entry.name}.html"] = page.encode()
        files[f"{entry.name}.zip"] = _download(runs[entry.name], entry.name, read[entry.name])
        places += _places(page, entry.page, entry.heading)
    guide = (index.parent / "start.html").is_file()
    for name in _pages_of_guide(index.parent) if guide else ():
        places += _places((index.parent / name).read_text(encoding="utf-8"), name)
    files[PLACES] = f"const PLACES = {json.dumps(places, separators=(',', ':'))};".encode()
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.card.get("group", OTHERS), []).append(entry)
    missing = [entry.name for entry in entries if not entry.page]
    front = report.page(
        "index.html.j2",
        report.script(charts=False) + (report.TEMPLATES / "search.js").read_text(encoding="utf-8"),
        beside=[f"{REPORTS}/{PLACES}"],
        fonts=f"{REPORTS}/{FONTS}",
        title=TITLE,
        pair=_pair(root),
        groups=groups,
        pages={entry.name: entry.page for entry in there},
        missing=missing,
        binder=BINDER.format(repository) if repository else "",
        guide=guide,
    )
    files[CONTENTS] = "".join(f"{name}\n" for name in sorted([*files, CONTENTS])).encode()
    new = temporary(folder)
    new.mkdir(parents=True)
    try:
        for file, content in files.items():
            write_whole(new / file, content)
        replace_folder(new, folder, lambda old: not _not_of_a_site(old))
    finally:
        shutil.rmtree(new, ignore_errors=True)
    write_whole(index, front)
    return index, missing


def _not_a_front_page(index: Path) -> str:
    """Return the page's name if neither Sphinx nor this module wrote it."""
    if not index.exists():
        return ""
    text = index.read_text(encoding="utf-8", errors="replace") if index.is_file() else ""
    ours = f"<title>{TITLE}</title>" in text or "Generated with Sphinx" in text
    return "" if ours else index.name


def _not_of_a_site(folder: Path) -> str:
    """Return the name of something that an older site did not bring along; empty if all did."""
    if not folder.exists():
        return ""
    if not folder.is_dir():
        return "a file"
    listed = folder / CONTENTS
    names = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    return next((p.name for p in sorted(folder.iterdir()) if p.name not in names), "")


def _place(name: str) -> tuple[int, str]:
    return ([*CARDS].index(name) if name in CARDS else len(CARDS), name)


def _run(root: Path, outputs: Path, name: str) -> Path:
    profile = PROFILE if PROFILE in find_profiles(root, name) else "default"
    return outputs / name / profile


def _entry(root: Path, run: Path, name: str, read: Read | None) -> Entry:
    """Return what the front page says of a notebook."""
    command = f"srlib run {name} --profile {run.name}"
    if read is None:
        text = (root / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
        text = text.partition("# %% [markdown]")[2].partition("# %%")[0]
        finding, lead = _opening(re.sub(r"^# ?", "", text, flags=re.MULTILINE))
        return Entry(name, command, finding or name, lead)

    of_users_file = confidential.of_users_file(*read[1:])
    notebook, _, provenance = confidential.public_run(*read)
    finding, lead = _opening(report.first_markdown(notebook))
    # What a figure or table of a user's file says is the user's.
    ledger = [] if of_users_file else _ledger(run)
    notes = Counter(row["note"] for row in ledger if row["verdict"] == "skipped")
    return Entry(
        name,
        command,
        finding or name,
        lead,
        page=f"{REPORTS}/{name}.html",
        download=f"{REPORTS}/{name}.zip",
        picture="" if of_users_file else _picture(run, CARDS.get(name, {}).get("figure", "")),
        reading=layout.reading(notebook.cells),
        run_time=layout.run_time(provenance.get("seconds")),
        changed=tuple(provenance.get("changed_parameters", {})),
        tally=layout.tally(layout.verdicts(notebook.cells)),
        ledger=Counter(row["verdict"] for row in ledger),
        reason=max(notes, key=notes.__getitem__, default=""),
    )


def _read(run: Path) -> Read:
    try:
        return report.read(run)
    except ValueError as error:
        raise ValueError(f"{shown(run)}: {error}") from None


def _download(run: Path, name: str, read: Read) -> bytes:
    """Return an archive of what of a run is public."""
    notebook, parameters, _ = confidential.public_run(*read)
    of_users_file = confidential.of_users_file(*read[1:])
    marked = confidential.names(run / confidential.PUBLIC_FILES)
    tables = [
        table
        for table in sorted(run.glob("tables/*.csv"))
        if not of_users_file or f"tables/{table.name}" in marked
    ]
    return _zipped(
        {
            f"{name}.ipynb": nbformat.writes(notebook).encode(),
            "parameters.yaml": yamls.dump(parameters).encode(),
            **{f"tables/{table.name}": table.read_bytes() for table in tables},
        }
    )


def _opening(text: str) -> tuple[str, str]:
    """Return the title of a Markdown text and the two paragraphs under it."""
    title = report.title(text)
    after = text.partition(f"# {title}\n")[2].strip()
    return title, "\n\n".join(after.split("\n\n")[:2])


def _ledger(run: Path) -> list[dict[str, str]]:
    """Return the rows of a run's ledger; none where it compares no numbers."""
    file = run / "tables" / "ledger.csv"
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        try:
            return [{"verdict": "", "note": "", **row} for row in csv.DictReader(lines)]
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{shown(file)} is damaged: {error}") from None


def _picture(run: Path, figure: str) -> str:
    """Return a run's figure as an image that says what it shows; empty without one."""
    file = run / "figures" / f"{figure}.svg"
    specification = file.with_suffix(".vl.json")
    if not file.is_file():
        return ""
    about = read_object(specification) if specification.is_file() else {}
    return cells.image(file.read_text(encoding="utf-8"), str(about.get("description", "")))


def _pair(root: Path) -> list[str]:
    """Return the pair of pictures that opens the page; none in a project without them."""
    files = {root / "docs" / "pictures" / f"{name}.svg": about for name, about in PAIR.items()}
    return [
        cells.image(file.read_text(encoding="utf-8"), about)
        for file, about in files.items()
        if file.is_file()
    ]


def _pages_of_guide(folder: Path) -> Iterator[str]:
    """Go through the addresses of the guide's pages, but those that list others."""
    left_out = ("genindex.html", "index.html", "py-modindex.html", "search.html")
    for pattern in ("*.html", "guide/*.html", "api/*.html"):
        for page in sorted(folder.glob(pattern)):
            if page.name not in left_out:
                yield page.relative_to(folder).as_posix()


def _places(html: str, address: str, title: str = "") -> list[tuple[str, str, str, str]]:
    """Return the sections of a page: address, title of the page, heading and text.

    The title is that of the first heading where none is given.
    """
    sections = _Sections()
    sections.feed(html)
    found = [[" ".join(part.replace("¶", "").split()) for part in of] for of in sections.found]
    title = title or (found[0][1] if found else "")
    if address.startswith("api/"):  # has a search of its own; here, its first words are enough
        found = [[of, heading, text[:150]] for of, heading, text in found]
    return [(f"{address}#{quote(of)}", title, heading, text) for of, heading, text in found]


class _Sections(HTMLParser):
    """The headings in the text of a page, with what stands under each.

    Attributes
    ----------
    found : list of [str, str, str]
        Identifier, heading and text of each section.
    """

    TEXT = ("main", "article")
    HEADINGS = ("h1", "h2", "h3", "h4")
    LEFT_OUT = ("script", "style", "summary", "nav", "footer", "pre", "math", "svg")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[list[str]] = []
        self._open: Counter[str] = Counter()
        self._section = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Open a section at a heading."""
        about = dict(attributes)
        self._open[tag] += 1
        if tag == "section":
            self._section = about.get("id") or ""
        elif tag in self.HEADINGS and self._in_text():
            self.found.append([about.get("id") or self._section, "", ""])
        elif tag == "dt" and (name := about.get("id")):  # of the reference
            self.found.append([name, name, ""])

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        self._open[tag] -= 1

    def handle_data(self, text: str) -> None:
        """Take a text for the heading or what stands under it."""
        if self.found and self._in_text():
            of_heading = any(self._open[tag] for tag in self.HEADINGS)
            self.found[-1][1 if of_heading else 2] += text

    def _in_text(self) -> bool:
        left_out = any(self._open[tag] > 0 for tag in self.LEFT_OUT)
        return not left_out and any(self._open[tag] for tag in self.TEXT)


def _zipped(contents: dict[str, bytes]) -> bytes:
    """Return an archive that depends on its contents alone, not on the time."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in contents.items():
            zipped.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()
