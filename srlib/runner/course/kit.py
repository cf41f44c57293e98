"""What a course is taught with, written from the notebooks: plan, notes, solutions, slides.

The texts lie in ``templates/course/``. What they say of a notebook (words, exercises, minutes, its
goals, what to know before it) is counted and taken from the notebook, never typed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srlib.runner.course import minutes, slides
from srlib.runner.course.copies import find, read
from srlib.runner.course.exercises import Exercise, exercises
from srlib.runner.course.minutes import Section, sections
from srlib.runner.files import write_whole
from srlib.runner.parameters import UsageError, read_object, shown

if TYPE_CHECKING:
    from nbformat import NotebookNode

LENGTH, TALK, OPENING, CLOSING = 90, 25, 10, 10  # minutes of a session and of its parts
FOLDER = "for_teachers"
START = "START_HERE.md"

_GOALS = re.compile(r"\*\*Afterwards you can\*\*|## What you will learn")
_BEFORE = re.compile(
    r"\*(?:Before you start:|You should know)\*+\s*(.*?)[.;](?=\s|\Z)", re.DOTALL
)  # one sentence


@dataclass(frozen=True)
class Plan:
    """One session: its title, its notebook, which part of how many, and why it stands there."""

    title: str
    paper: str
    part: int
    of: int
    before: str
    why: str


PLANS = (
    Plan(
        "One table, two readings", "one_table_two_readings", 1, 2,
        "Bayes' rule in odds, logarithms, the binomial distribution.",
        "It needs a pencil and no library, and gives the words that all later sessions use.",
    ),
    Plan(
        "The same epsilon, a coin flip and a rare disease", "mcclure_reiter", 1, 1,
        "Session 1; beta and beta-binomial distributions; what a Markov chain is for.",
        "The first paper stays with the table of session 1, and asks what its epsilon promises.",
    ),
    Plan(
        "What empirical differential privacy measures", "charest_han", 1, 1,
        "Session 2; posterior draws, histograms, bias of an estimate.",
        "The same model again, seen through its posterior: one reading becomes an estimate, "
        "with an error.",
    ),
    Plan(
        "Mechanisms that do not spend what they announce", "charest", 1, 1,
        "Session 1; sensitivity and the exponential mechanism, which the notebook recalls.",
        "Here the model itself is the mechanism, and its sensitivity has to be computed.",
    ),
    Plan(
        "A synthesizer for real tables", "hu_reiter_wang", 1, 2,
        "Sessions 1 and 2; mixtures, Gibbs sampling, importance sampling.",
        "The table of session 1 can no longer be written down. This half is the model and "
        "the estimator.",
    ),
    Plan(
        "How high is the risk, and for whom?", "hu_reiter_wang", 2, 2,
        "Session 5.",
        "The other half: what the numbers say, what they do not, and what an agency makes of them.",
    ),
)  # fmt: skip
PROJECT = "assess"


@dataclass(frozen=True)
class Session:
    """What a session's templates name.

    Attributes
    ----------
    number : int
        1, 2, ...
    plan : Plan
        What was planned.
    title : str
        Of the notebook.
    sections : list of Section
        What of the notebook belongs to the session.
    goals : list of str
        Markdown; only those of the notebook's first session are told.
    before : str
        What to know before, in the words of the notebook where it says so.
    seconds : float or None
        How long a run of the notebook took here; None where there is none.
    """

    number: int
    plan: Plan
    title: str
    sections: list[Section]
    goals: list[str]
    before: str
    seconds: float | None

    @property
    def words(self) -> int:
        """How many words are read."""
        return sum(section.words for section in self.sections)

    @property
    def reading(self) -> float:
        """Minutes of reading."""
        return sum(section.reading for section in self.sections)

    @property
    def in_class(self) -> bool:
        """Whether the notebook is read in class: the first session has nothing before it."""
        return self.number == 1

    @property
    def tasks(self) -> list[Exercise]:
        """Exercises in their order."""
        return [task for section in self.sections for task in section.tasks]

    @property
    def together(self) -> list[Exercise]:
        """Exercises that fit into the session, from the first on."""
        left = LENGTH - OPENING - CLOSING - (self.reading if self.in_class else TALK)
        fitting = []
        for task in self.tasks:
            left -= minutes.working(task)
            if left < 0:
                break
            fitting.append(task)
        return fitting

    @property
    def at_home(self) -> list[Exercise]:
        """The others."""
        return self.tasks[len(self.together) :]


def session(number: int, plan: Plan, notebook: "NotebookNode", seconds: float | None) -> Session:
    """Return what the templates name of a session.

    Parameters
    ----------
    number : int
        1, 2, ...
    plan : Plan
        What is planned.
    notebook : NotebookNode
        The executed notebook.
    seconds : float or None
        How long a run of it took here.
    """
    everything = sections(notebook)
    first = notebook.cells[0].source
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    before = next((found[1] for text in texts if (found := _BEFORE.search(text))), plan.before)
    return Session(
        number=number,
        plan=plan,
        title=re.sub(r"^#+ ", "", first.splitlines()[0]),
        sections=_part(everything, plan.part, plan.of),
        goals=_goals(texts) if plan.part == 1 else [],
        before=" ".join(before.split()).rstrip(".") if plan.part == 1 else plan.before.rstrip("."),
        seconds=seconds,
    )


def _part(everything: Sequence[Section], part: int, of: int) -> list[Section]:
    """Return one of several parts: those with headings of their own, or equal ones by reading."""
    parts = list(dict.fromkeys(section.part for section in everything if section.part))
    if len(parts) >= of > 1:
        wanted = {parts[part - 1]} | ({""} if part == 1 else set())
        return [section for section in everything if section.part in wanted]
    total, read_so_far, chosen = sum(s.reading for s in everything), 0.0, []
    for section in everything:
        middle = read_so_far + section.reading / 2
        if part - 1 <= of * middle / max(total, 1e-9) < part:
            chosen.append(section)
        read_so_far += section.reading
    return chosen


def _goals(texts: Sequence[str]) -> list[str]:
    for text in texts:
        if found := _GOALS.search(text):
            listed = re.findall(r"(?m)^(?:\d+\.|-) (.*(?:\n {2,}.*)*)", text[found.end() :])
            told = (" ".join(goal.split()).rstrip(";.").removeprefix("to ") for goal in listed)
            return [goal for goal in told if not goal.startswith("(part two)")]
    return []


def write(root: Path, outputs: Path, folder: Path, *, replace: bool = False) -> list[Path]:
    """Write what the course is taught with: a page for students, and a folder for teachers.

    Parameters
    ----------
    root : Path
        The project's folder.
    outputs : Path
        Folder over all runs, for how long they took.
    folder : Path
        Where the students' copies lie. Teachers' pages go to ``for_teachers/`` in it.
    replace : bool
        Whether to write over pages that are not as they would be written.

    Raises
    ------
    UsageError
        If a notebook of the plan is not there or has not been built; if a page is there and
        differs.
    """
    papers = find(root)
    used = {plan.paper for plan in PLANS} | {PROJECT}
    if missing := sorted(used - set(papers)):
        raise UsageError(f"the course's plan has {', '.join(missing)}, with no exercises here")
    notebooks = {paper: read(root, paper) for paper in papers}
    pages = dict(_pages(notebooks, {paper: _seconds(outputs, paper) for paper in papers}))
    for name, text in pages.items():
        path = folder / name
        if not replace and path.exists() and path.read_text(encoding="utf-8") != text:
            raise UsageError(f"{shown(path)} is not as it is written now; --replace replaces it")
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, text)
    return [folder / name for name in pages]


def _seconds(outputs: Path, paper: str) -> float | None:
    """Return how long a run at the defaults took here."""
    provenance = outputs / paper / "default" / "provenance.json"
    return read_object(provenance).get("seconds") if provenance.exists() else None


def _pages(
    notebooks: "dict[str, NotebookNode]", seconds: dict[str, float | None]
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    planned = [
        session(number, plan, notebooks[plan.paper], seconds[plan.paper])
        for number, plan in enumerate(PLANS, 1)
    ]
    project = session(
        len(PLANS) + 1,
        Plan("Assess a release", PROJECT, 1, 1, "All sessions.", ""),
        notebooks[PROJECT],
        seconds[PROJECT],
    )
    taught = list(dict.fromkeys(plan.paper for plan in PLANS))
    values = {
        "sessions": planned,
        "project": project,
        "papers": list(notebooks),
        "taught": {paper: _when(paper) for paper in notebooks},
        "others": [paper for paper in notebooks if paper not in {*taught, PROJECT}],
        "facts": minutes,
        "length": LENGTH,
        "talk": TALK,
        "opening": OPENING,
        "closing": CLOSING,
    }
    yield START, _filled("START_HERE.md.j2", values)
    for name, title in (
        ("syllabus", "Syllabus"),
        ("notes", "Notes for instructors"),
        ("install", "Installing for a lab"),
    ):
        yield f"{FOLDER}/{name}.html", _page(title, _filled(f"{name}.md.j2", values))
    told = "\n\n".join(f"## {paper}\n\n{solutions(nb)}" for paper, nb in notebooks.items())
    yield f"{FOLDER}/solutions.html", _page("Solutions", f"# Solutions\n\n{told}")
    for paper in [*taught, PROJECT]:
        yield f"{FOLDER}/slides_{paper}.html", slides.deck(notebooks[paper])


def _when(paper: str) -> str:
    """Return in which sessions a notebook is taught, as told behind its name."""
    numbers = [str(n) for n, plan in enumerate(PLANS, 1) if plan.paper == paper]
    if paper == PROJECT:
        return ": project"
    return f": session{'s' * (len(numbers) > 1)} {' and '.join(numbers)}" if numbers else ""


def solutions(notebook: "NotebookNode") -> str:
    """Return a notebook's exercises with their solutions, as Markdown."""
    parts = []
    for exercise in exercises(notebook):
        parts.append(notebook.cells[exercise.question].source)
        parts += [f"*Hint.* {notebook.cells[at].source}" for at in exercise.hints]
        for at in exercise.cells:
            cell = notebook.cells[at]
            code = cell.cell_type == "code"
            parts.append(f"```python\n{cell.source}\n```" if code else cell.source)
    return "\n\n".join(parts)


def _filled(template: str, values: dict[str, Any]) -> str:
    """Return a text of the course with what is known of the notebooks."""
    import jinja2

    from srlib.runner.report import TEMPLATES

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES / "course"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["rounded"] = lambda number: max(5, 5 * round(number / 5))
    environment.filters["working"] = lambda tasks: sum(map(minutes.working, tasks))
    return environment.get_template(template).render(values)


def _page(title: str, text: str) -> str:
    """Return a page in the reports' style."""
    from srlib.runner.report import clean, markdown, page, script

    text = clean(markdown(text))
    return page("course/page.html.j2", script(charts=False), title=title, text=text)
