"""The runs' public reports side by side, with downloads and one page that lists them.

The texts in a run's folder are not trusted: they go through `report`'s filters and never into
the sources of the documentation, which stands around this folder where ``make site`` builds both.
"""

import csv
import io
import re
import shutil
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from srlib import yamls
from srlib.runner import confidential, report
from srlib.runner.files import replace_folder, temporary, write_whole
from srlib.runner.parameters import UsageError, find_papers, find_profiles, shown

TITLE = "Reports"
PROFILE = "published"
CONTENTS = "contents.txt"  # names all that lies beside it: what has it as it says is a site
BINDER = "https://mybinder.org/v2/gh/{}/HEAD?urlpath=lab/tree/notebooks/"
COMPANIONS = ("intruders", "sequential_trees", "calibration", "any_generator", "assess")
# The page's order; a notebook that is not named here comes after these.
ORDER = ("mcclure_reiter", "charest", "hu_reiter_wang", "charest_han", *COMPANIONS)


@dataclass(frozen=True)
class Entry:
    """What the index says of one notebook; without a run, how to make it.

    Attributes
    ----------
    name : str
        Key of the notebook.
    command : str
        What makes the run.
    finding, lead : str
        The notebook's title and two paragraphs under it, in Markdown.
    page, download : str
        Names of files beside the index; empty without a run.
    provenance : dict
        As in ``provenance.json``.
    tables : tuple of str
        Names of the tables in the download.
    ledger : Counter
        Printed numbers by verdict; empty where the run compares with none.
    """

    name: str
    command: str
    finding: str
    lead: str
    page: str = ""
    download: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)
    tables: tuple[str, ...] = ()
    ledger: Counter[str] = field(default_factory=Counter)

    @property
    def checked(self) -> int:
        """How many printed numbers the run judged."""
        return self.ledger["match"] + self.ledger["differs"] + self.ledger["consistent"]


def write(root: Path, outputs: Path, repository: str = "") -> tuple[Path, list[str]]:
    """Write the reports into ``outputs/site/reports``, whole or not at all, in place of older ones.

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
    folder = outputs / "site" / "reports"
    if strange := _not_of_a_site(folder):
        raise UsageError(
            f"{shown(folder)} holds {strange}, which is not of a site that was written here; move "
            "it away, or choose another folder with --output"
        )
    entries, files = [], {}
    for name in sorted(find_papers(root), key=_place):
        entry, made = _entry(root, outputs, name)
        entries.append(entry)
        files.update(made)
    papers = [
        entry
        for entry in entries
        if PROFILE in find_profiles(root, entry.name) and entry.name not in COMPANIONS
    ]
    missing = [entry.name for entry in entries if not entry.page]
    index = report.page(
        "index.html.j2",
        report.script(charts=False),
        title=TITLE,
        groups={
            "The papers": papers,
            "Companion notebooks": [entry for entry in entries if entry not in papers],
        },
        missing=missing,
        binder=BINDER.format(repository) if repository else "",
        home="../index.html" if (folder.parent / "index.html").is_file() else "",
    )
    made = {"index.html": index.encode(), **files}
    made[CONTENTS] = "".join(f"{name}\n" for name in sorted([*made, CONTENTS])).encode()
    new = temporary(folder)
    new.mkdir(parents=True)
    try:
        for file, content in made.items():
            write_whole(new / file, content)
        replace_folder(new, folder, lambda old: not _not_of_a_site(old))
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return folder / "index.html", missing


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
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def _entry(root: Path, outputs: Path, name: str) -> tuple[Entry, dict[str, bytes]]:
    """Return a notebook's entry, and its files by name."""
    profile = PROFILE if PROFILE in find_profiles(root, name) else "default"
    command = f"srlib run {name} --profile {profile}"
    run = outputs / name / profile
    if not (run / "notebook.ipynb").is_file():
        text = (root / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
        text = text.partition("# %% [markdown]")[2].partition("# %%")[0]
        finding, lead = _opening(re.sub(r"^# ?", "", text, flags=re.MULTILINE))
        return Entry(name, command, finding or name, lead), {}

    try:
        made = report.read(run)
    except ValueError as error:
        raise ValueError(f"{shown(run)}: {error}") from None
    notebook, parameters, provenance = confidential.public_run(*made)
    finding, lead = _opening(report.first_markdown(notebook))
    of_users_file = confidential.of_users_file(*made[1:])
    marked = confidential.names(run / confidential.PUBLIC_FILES)
    tables = [
        table
        for table in sorted(run.glob("tables/*.csv"))
        if not of_users_file or f"tables/{table.name}" in marked
    ]
    page = report.render(*made, public=True, home="index.html")
    entry = Entry(
        name,
        command,
        finding or name,
        lead,
        page=f"{name}.html",
        download=f"{name}.zip",
        provenance=provenance,
        tables=tuple(table.name for table in tables),
        ledger=Counter() if of_users_file else _ledger(run),
    )
    contents = {
        f"{name}.ipynb": nbformat.writes(notebook).encode(),
        "parameters.yaml": yamls.dump(parameters).encode(),
        **{f"tables/{table.name}": table.read_bytes() for table in tables},
    }
    return entry, {entry.page: page.encode(), entry.download: _zipped(contents)}


def _opening(text: str) -> tuple[str, str]:
    """Return the title of a Markdown text and the two paragraphs under it."""
    title = report.title(text)
    after = text.partition(f"# {title}\n")[2].strip()
    return title, "\n\n".join(after.split("\n\n")[:2])


def _ledger(run: Path) -> Counter[str]:
    file = run / "tables" / "ledger.csv"
    if not file.exists():
        return Counter()
    with file.open(encoding="utf-8", newline="") as lines:
        try:
            return Counter(row.get("verdict", "") for row in csv.DictReader(lines))
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{shown(file)} is damaged: {error}") from None


def _zipped(contents: dict[str, bytes]) -> bytes:
    """Return an archive that depends on its contents alone, not on the time."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in contents.items():
            zipped.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()
