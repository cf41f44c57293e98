"""The command line of the library."""

import json
import math
import re
import secrets
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import ClickException, UsageError

from srlib import __version__, yaml_io
from srlib.checks import printable
from srlib.runner.files import whole
from srlib.runner.parameters import (
    SHIPPED,
    Values,
    find_outputs,
    find_papers,
    find_root,
    hash_inputs,
    missing_files,
    read_parameters,
    resolve,
    shown,
)

if TYPE_CHECKING:  # importing it takes seconds
    from srlib.assessment import Assessment

type _FailOn = Sequence[str | tuple[str, float]]  # verdicts, limits with their names
MOST_CHOICES = 12  # shown on the terminal
FAILING_VERDICTS = ("undecided", "review", "do not release")
# What a limit needs, by its name.
NEEDED = {"membership": "holdout", "attribute": "synthesizer"}
SEED = 2026  # of assessments: the same files and options give the same report
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
OUTPUT = click.option(
    "--output",
    type=FOLDER,
    default=lambda: find_outputs(Path.cwd()),
    help="Folder to write to; default: outputs/ of the project "
    "or of the working folder.",
)
PAPERS = click.argument("papers", metavar="[PAPER]...", nargs=-1)
ASSESSMENT = find_root(SHIPPED) / "notebooks/assess.py"


class _Commands(click.Group):
    """A group of commands that reports errors of files and folders in one line."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except OSError as error:
            raise ClickException(str(error)) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="srlib", prog_name="srlib")
def main() -> None:
    """Measure the disclosure risk of synthetic data, and run the papers on it.

    A PAPER is the name of a text notebook in notebooks/, without its extension.

    The project is the nearest folder with notebooks/ and params/, at or above the
    working folder. If there is none, the papers are those of the installed package.
    Outputs go to outputs/ of the project, or of the working folder if that is outside
    the project.
    """


@main.command(epilog="Example: srlib run charest -p epsilon 0.5 --output tried")
@click.argument("papers", metavar="PAPER...", nargs=-1, required=True)
@click.option(
    "--profile", default="default", help="File in params/PAPER/, without its extension."
)
@click.option(
    "--params", type=FILE, help="YAML file of values that replace the profile's."
)
@click.option(
    "-p", "given", metavar="NAME VALUE", nargs=2, multiple=True, help="Set a parameter."
)
@OUTPUT
def run(
    papers: tuple[str, ...],
    profile: str,
    params: Path | None,
    given: tuple[tuple[str, str], ...],
    output: Path,
) -> None:
    """Run papers, one after the other.

    The results go to outputs/PAPER/PROFILE/.
    """
    root = find_root(Path.cwd())
    requests = [
        resolve(root, output, paper, profile, params, dict(given))
        for paper in find_papers(root, papers)
    ]

    # Imported here, since it takes seconds: usage errors are reported at once.
    from srlib.runner import report as reports
    from srlib.runner import run as runs

    # Runs that are complete stay, even if a later one or a report fails.
    for request in requests:
        page = reports.write(runs.run(request, bar=True))
        click.echo(f"{request.notebook.stem}: {shown(page)}")


def _condition(text: str) -> str | tuple[str, float]:
    """Return a verdict, or a limit such as ``membership=.2`` as a name and a share."""
    if text in FAILING_VERDICTS:
        return text
    name, _, limit = text.partition("=")
    try:
        share = float(limit)
    except ValueError:
        share = math.nan
    if name not in NEEDED or not 0 <= share < 1:
        raise click.BadParameter(
            f"{text!r} is neither a verdict ({', '.join(FAILING_VERDICTS)}) nor a "
            "limit in [0, 1) of membership or attribute, such as membership=.2"
        )
    return name, share


def _check_limits(fail_on: _FailOn, given: Values) -> None:
    """Refuse a limit of what the options do not compute."""
    for condition in fail_on:
        needed = NEEDED.get(condition[0], "")
        if needed and not given[needed]:
            raise UsageError(f"--fail-on {condition[0]} needs --{needed}")


@main.command(
    epilog="Example: srlib assess original.csv synthetic.csv "
    "--keys age,town --target income"
)
@click.argument("original", type=click.Path(exists=True, dir_okay=False))
@click.argument(
    "released",
    type=click.Path(exists=True),
    nargs=-1,
    required=True,
)
@click.option(
    "--fail-on",
    type=_condition,
    metavar="VERDICT OR LIMIT",
    multiple=True,
    help="Exit with status 3 if a verdict is this or worse (undecided, review, do not "
    "release), or if a share is above a limit: membership=.2 for the power of a "
    "membership test, attribute=.1 for sample uniques whose true values get more than "
    "one half.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
)
@click.option(
    "--name",
    default="",
    help="Name of the output folder (default: that of the first RELEASED).",
)
@OUTPUT
def assess(
    fail_on: _FailOn,
    as_json: bool,
    name: str,
    output: Path,
    synthesizer: str,
    **tables: Any,
) -> None:
    """Assess what RELEASED tables disclose about ORIGINAL, and their utility.

    All are files of records; any synthesizer may have made the released ones. Each
    RELEASED is assessed by itself, and the worst comes first. The files of a folder are
    releases of one synthesizer, assessed together under the folder's name. Repeat an
    option for several values; --keys takes names with commas.

    It works in any folder. The report goes to a folder of its own in assess/, with the
    first RELEASED's name.
    """
    if missing := missing_files(tables):
        raise UsageError(missing[0])

    tables["keys"] = [re.split(r"\s*,\s*", keys.strip()) for keys in tables["keys"]]
    tables["within"] = dict(tables["within"])
    parameters = {**tables, "synthesizer": synthesizer}
    _check_limits(fail_on, parameters)
    _check_synthesizer(synthesizer)
    # Imported here: a wrong option is reported at once.
    from srlib.assessment.verdict import failures

    start = time.monotonic()
    inputs = hash_inputs(tables)
    assessment = _assessment(tables, synthesizer)
    if hash_inputs(tables) != inputs:
        raise ClickException("a file was changed while it was assessed; run it again")

    seconds = round(time.monotonic() - start, 1)
    folder = output.resolve() / "assess" / _folder_name(name, tables["released"])
    report = _write(assessment, folder, parameters, inputs, seconds)
    if as_json:
        click.echo(_document(assessment, report))
    else:
        click.echo(_summary(assessment, report, tables))
    if failed := failures(assessment.verdicts, assessment.table, fail_on):
        click.echo("\n".join(failed), err=True)
        raise SystemExit(3)


def _check_synthesizer(text: str) -> None:
    """Refuse an unknown synthesizer before files are read."""
    if not text:
        return
    from srlib.assessment.exact import read_synthesizer  # this loads numba

    try:
        read_synthesizer(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _assessment(tables: Values, synthesizer: str) -> "Assessment":
    """Assess the tables; an error's message has no values from the files."""
    from srlib.assessment import read_inputs, run_assessment
    from srlib.runner import confidential

    try:
        return run_assessment(read_inputs(**tables), synthesizer=synthesizer, seed=SEED)
    except ModuleNotFoundError:
        raise  # `srlib.__main__` names the extra
    except Exception as error:
        kind = type(error).__name__
        message = confidential.without_values(kind, str(error), tables)
        is_usage = isinstance(error, ValueError | OSError)
        shown_as = UsageError if is_usage else ClickException
        raise shown_as(message.removeprefix(f"{kind}: ")) from None


def _folder_name(name: str, released: Sequence[str]) -> str:
    """Return a name for an assessment's folder that no other has."""
    if not name:
        name = Path(released[0]).resolve().name.partition(".")[0][:60]
        if len(released) > 1:
            name += f"_and_{len(released) - 1}_more"
    # Not a hash of the files: names are printed, and it would let guesses at records be
    # tested.
    safe_name = re.sub(r"[^\w-]", "_", name)
    return f"{safe_name[:80]}-{secrets.token_hex(4)}"


def _write(
    assessment: "Assessment",
    folder: Path,
    parameters: Values,
    inputs: dict[str, str],
    seconds: float,
) -> Path:
    """Write an assessment's files to a new folder; return the path of its report."""
    facts = {
        "Date": time.strftime("%Y-%m-%d"),
        "Version": f"srlib {__version__}",
        "Command": printable(_command(parameters)),
    }
    provenance = {
        "status": "complete",
        "paper": "assess",
        "inputs": inputs,
        "seconds": seconds,
        "versions": {"srlib": __version__},
    }
    contents = assessment.files(facts)
    contents["parameters.yaml"] = yaml_io.dump(parameters)
    contents["provenance.json"] = json.dumps(provenance, indent=1)
    with whole(folder) as new:
        (new / "tables").mkdir()
        for file, text in contents.items():
            (new / file).write_text(text, "utf-8")
    return folder / "report.html"


def _document(assessment: "Assessment", report: Path) -> str:
    """Return an assessment as a JSON document."""
    document = {"report": str(report)} | assessment.to_dict()
    text = json.dumps(document, indent=1, ensure_ascii=False)
    # Half characters are written as JSON does.
    return text.encode(errors="backslashreplace").decode()


def _summary(assessment: "Assessment", report: Path, tables: Values) -> str:
    """Return an assessment's verdict, the choices that it rests on, and its report."""
    from srlib.runner.confidential import masked

    inputs = assessment.tables
    left_out = {*inputs.schema.leave_out, *inputs.original.left_out}
    columns = [*inputs.schema.names, *left_out]
    lines = [masked(choice, tables, columns) for choice in inputs.choices]
    n_hidden = len(lines) - MOST_CHOICES
    if n_hidden > 0:
        lines[MOST_CHOICES:] = [f"and {n_hidden:,} more"]
    listed = "".join(f"- {line}\n" for line in lines)
    return f"{assessment.verdict()}\n\n{listed}report: {shown(report)}"


def _command(parameters: Values) -> str:
    """Return the command that assesses with these parameters, as one types it."""
    words = ["srlib", "assess", parameters["original"], *parameters["released"]]
    for name, value in parameters.items():
        if name not in ("original", "released"):
            for operands in _operands(value):
                words += [f"--{name.replace('_', '-')}", *operands]
    return shlex.join(words)


def _operands(value: Any) -> list[list[str]]:
    """Return what is typed behind an option, for each time that it is given."""
    if not value:
        return []
    if value is True:
        return [[]]
    if isinstance(value, dict):
        return [[name, f"{distance:g}"] for name, distance in value.items()]
    if isinstance(value, str):
        return [[value]]
    return [[item if isinstance(item, str) else ",".join(item)] for item in value]


# The other options of `assess` are the parameters of its notebook, with their defaults.
_DISTANCE = click.FloatRange(0, math.inf, min_open=True, max_open=True)
_DISTANCE.name = "float"
_TYPES = {"bool": bool, "dict[str, float]": (str, _DISTANCE)}
for _name, _parameter in read_parameters(ASSESSMENT).items():
    if _name not in ("original", "released", "seed"):
        _option = click.Option(
            [f"--{_name.replace('_', '-')}"],
            type=_TYPES.get(_parameter.annotation, str),
            is_flag=_parameter.annotation == "bool",
            multiple=_parameter.annotation not in ("str", "bool"),
            default=_parameter.default,
            help=f"{_parameter.help[0].upper()}{_parameter.help[1:]}.",
        )
        assess.params.append(_option)


@main.command(epilog="Example: srlib schema original.csv synthetic.csv > schema.yaml")
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--leave-out", multiple=True, help="A column to leave out, such as an ID."
)
def schema(files: tuple[Path, ...], leave_out: tuple[str, ...]) -> None:
    """Suggest a schema of FILES, for you to edit.

    The original is the first file. The schema, for --schema, has the levels of all
    files, bins numbers and dates near quantiles, has a level for missing values, and
    leaves out columns that look like names or IDs. It contains values from your files.
    """
    from srlib.data.infer import suggest_schema
    from srlib.data.microdata import check_leave_out, read_uncoded
    from srlib.runner.confidential import columns_of, masked

    columns = columns_of({"data": files})
    try:
        tables = [read_uncoded(file, leave_out=leave_out) for file in files]
        check_leave_out(leave_out, tables)
        text, notes = suggest_schema([table.frame for table in tables], leave_out)
    except ValueError as error:
        raise UsageError(masked(str(error), (files, leave_out), columns)) from None
    for table in tables:
        notes += table.notes
    for note in dict.fromkeys(notes):
        click.echo(masked(note, leave_out, columns), err=True)
    click.echo(text, nl=False)


@main.command(epilog="Example: srlib sweep params/charest/sweep_prior.yaml --jobs 2")
@click.argument("file", type=FILE)
@click.option(
    "--jobs", type=click.IntRange(1), default=1, help="Number of parallel runs."
)
@click.option(
    "--scheduler", default="", metavar="ADDRESS", help="A Dask cluster to run on."
)
@click.option(
    "--shard", default="1/1", help="i/n runs every n-th point, from the i-th on."
)
@click.option(
    "--dry-run", is_flag=True, help="Show how many points are done; run nothing."
)
@OUTPUT
def sweep(
    file: Path,
    jobs: int,
    scheduler: str,
    shard: str,
    dry_run: bool,
    output: Path,
) -> None:
    """Run a notebook at all points of a sweep FILE.

    The tables that the file names are collected. Points that are done are not run
    again.
    """
    part = re.fullmatch(r"(\d+)/(\d+)", shard)
    if not part or not 1 <= int(part[1]) <= int(part[2]):
        raise UsageError(f"shard is {shard!r}; it must be i/n with i from 1 to n")

    from srlib.runner import sweep as sweeps

    points, tables = sweeps.read_sweep(find_root(Path.cwd()), file, output)
    chosen = points[int(part[1]) - 1 :: int(part[2])]
    if not dry_run:
        try:
            sweeps.run_sweep(points, chosen, tables, jobs=jobs, scheduler=scheduler)
        except ValueError as error:  # no point has a table to collect
            raise ClickException(str(error)) from None
    n_open = sum(point.status != "done" for point in chosen)
    folder = shown(points[0].folder.parent)
    n_done = len(chosen) - n_open
    click.echo(f"{folder}: {n_done} of {len(chosen)} points are done")
    if n_open and not dry_run:
        raise ClickException(
            f"{n_open} of {len(chosen)} points are not done; "
            "see index.csv for the reasons"
        )


@main.command()
@PAPERS
def build(papers: Sequence[str]) -> None:
    """Execute text notebooks, and write their .ipynb files.

    They run at their defaults. The .ipynb files are written beside them and committed.
    """
    root = find_root(Path.cwd())
    if root == SHIPPED:
        raise UsageError(
            "notebooks are built in a checkout; there is none at or above this folder"
        )
    papers = find_papers(root, papers)

    from srlib.runner import run as runs

    for paper in papers:
        click.echo(f"{paper}: {shown(runs.build(root, paper))}")


@main.command(epilog="Example: srlib course charest")
@PAPERS
@OUTPUT
def course(papers: Sequence[str], output: Path) -> None:
    """Write the course's assignments for nbgrader.

    The assignments are the PAPERs with exercises and their checks; by default, all of
    them. The notebooks must have been built. The assignments go to course/ in the
    output folder.
    """
    from srlib.runner import course as courses

    root = find_root(Path.cwd())
    folder = output / "course"
    papers = find_papers(root, papers) if papers else courses.find_assignments(root)
    for paper in papers:
        courses.write_assignment(root, paper, folder)
    click.echo(f"{shown(folder / 'source')}: {', '.join(papers)}")
    click.echo(
        f"student versions: cd {shown(folder)} && nbgrader generate_assignment NAME"
    )
    click.echo("Warning: nbgrader autograde runs student code; use a container.")


@main.command()
@click.argument("run_dir", type=FOLDER)
@click.option(
    "--public", is_flag=True, help="For a user's file: only what is marked public."
)
@click.option("--open", "opened", is_flag=True, help="Open the report in the browser.")
def report(run_dir: Path, public: bool, opened: bool) -> None:
    """Write the self-contained HTML report of a run's folder.

    The file is report.html; with --public it is report-public.html.
    """
    from srlib.runner.report import write

    file = write(run_dir, public)
    click.echo(printable(file))
    if opened:
        click.launch(str(file))
