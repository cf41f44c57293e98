"""The command line of the library."""

import json
import re
from concurrent.futures import BrokenExecutor, CancelledError
from pathlib import Path
from typing import Any

import click

from srlib.runner.confidential import error_without_values, texts
from srlib.runner.parameters import (
    SHIPPED,
    UsageError,
    find_outputs,
    find_papers,
    find_root,
    plain_name,
    resolve,
    shown,
    unknown,
)
from srlib.runner.workers import ended_by_signals

BROKEN = 3  # exit status of a verdict that --fail-on names
WORST = click.Choice(["undecided", "look", "withhold"])
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
EXISTING = click.Path(exists=True, path_type=Path)
OUTPUT = click.option(
    "--output",
    type=FOLDER,
    default=lambda: find_outputs(Path.cwd()),
    help="Folder to write in; by default, outputs/ of the project or of the working folder.",
)
PAPERS = click.argument("papers", metavar="[PAPER]...", nargs=-1)
JOBS = click.option("--jobs", type=click.IntRange(1), default=1, help="How many run at a time.")


class _Commands(click.Group):
    """Shows what cannot be run as bad usage, and what cannot be written in one line."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the commands in the order in which people meet them."""
        return list(self.commands)

    def invoke(self, context: click.Context) -> object:
        try:
            with ended_by_signals():
                return super().invoke(context)
        except UsageError as error:
            raise click.UsageError(str(error)) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            raise _failed(f"{error.strerror or error}{place}") from None
        except (BrokenExecutor, CancelledError):
            raise _failed("workers were lost; the same command does what is left") from None


def _failed(text: str) -> SystemExit:
    """Say what went wrong; to be raised."""
    click.echo(text, err=True)
    return SystemExit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="srlib", prog_name="srlib")
def main() -> None:
    """Run the papers on disclosure risk of synthetic data.

    A PAPER is the name of a text notebook in notebooks/, without its ending.

    The project is the nearest folder at or above the working folder with notebooks/ and params/;
    where there is none, the papers are those that the package carries. Outputs go to the
    project's outputs/, or outside one to outputs/ in the working folder.
    """


def _named(root: Path, papers: tuple[str, ...]) -> list[str]:
    """Return the papers asked for, each once, or all of them."""
    existing = find_papers(root)
    if wrong := [unknown("paper", paper, existing) for paper in papers if paper not in existing]:
        raise UsageError("\n".join(wrong))
    return list(dict.fromkeys(papers)) or existing


@main.command(epilog="Example: srlib run charest -p epsilon 0.5 --output tried")
@PAPERS
@click.option("--profile", default="default", help="File in params/PAPER/, without its ending.")
@click.option("--params", type=FILE, help="YAML file of parameter values, over the profile's.")
@click.option("-p", "given", metavar="NAME VALUE", nargs=2, multiple=True, help="One parameter.")
@JOBS
@OUTPUT
def run(
    papers: tuple[str, ...], profile: str, params: Path | None,
    given: tuple[tuple[str, str], ...], jobs: int, output: Path,
) -> None:  # fmt: skip
    """Run papers into outputs/PAPER/PROFILE/."""
    root = find_root(Path.cwd())
    if not papers:
        raise UsageError(f"name what to run of these: {', '.join(find_papers(root))}")
    requests = [resolve(root, paper, profile, params, given) for paper in _named(root, papers)]

    # Imported here: bad usage is told at once, without the time that this takes to import.
    from srlib.runner.run import run_all

    failures = []
    for outcome in run_all(root, requests, output, jobs, bar=jobs == 1):
        if isinstance(outcome, Path):
            click.echo(f"{outcome.parent.name}: {shown(outcome / 'report.html')}")
        else:
            failures.append(_failed(outcome))
    if failures:
        raise failures[0]


@main.command(
    epilog="Example: srlib assess original.csv synthetic.csv --keys age,town --target income"
)
@click.argument("original", type=FILE)
@click.argument("released", type=EXISTING, nargs=-1, required=True)
@click.option("--schema", default="", help="YAML file with the levels; those that occur.")
@click.option("--keys", metavar="A,B", multiple=True, help="What the intruder knows. Repeatable.")
@click.option("--target", metavar="C", multiple=True, help="What the intruder wants. Repeatable.")
@click.option(
    "--within", type=(str, float), metavar="NAME NUMBER", multiple=True,
    help="Distance told of a number.",
)  # fmt: skip
@click.option("--by", metavar="VARIABLE", default="", help="Tell of each of its levels apart.")
@click.option("--holdout", default="", help="File of people of the population, not in ORIGINAL.")
@click.option("--model", is_flag=True, help="Ask an intruder who knows all other records, too.")
@click.option("--fail-on", type=WORST, help="Exit status 3 where a verdict is this or worse.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON document.")
@click.option("--name", help="Folder of the report; the first RELEASED's name if not given.")
@OUTPUT
def assess(
    fail_on: str | None, as_json: bool, name: str | None, output: Path, **options: Any
) -> None:
    """Say what RELEASED tables give away, and what they are good for.

    All are files of records; any tool may have made the released ones. Each RELEASED is judged by
    itself, the worst first; where it is a folder, its files are draws of one tool and judged
    together under the folder's name. Without --keys and --target, the intruder knows all but the
    last variable and wants that.

    It works in any folder, and writes into assess/NAME/. A report on other files, or with other
    parameters, is never replaced.
    """
    released = options["released"]
    parameters = options | {
        "original": str(options["original"]),
        "released": [str(path) for path in released],
        "keys": [[key.strip() for key in one.split(",")] for one in options["keys"]],
        "target": list(options["target"]),
        "within": dict(options["within"]),
    }
    folder = plain_name("--name", name) if name else released[0].resolve().name
    folder = re.sub(r"[^\w-]", "_", folder.split(".")[0])[:60] or "released"
    folder = "released" if folder == "default" else folder  # of `srlib run assess`

    from srlib.assessment.verdict import ADVICE
    from srlib.runner import assess as files

    try:
        found, place = files.assess(output.resolve() / "assess" / folder, parameters)
    except (OSError, UsageError):
        raise
    except Exception as error:
        typed = texts(parameters.values())
        raise _failed(error_without_values(type(error).__name__, str(error), typed)) from None
    report = place / "report.html"
    if as_json:
        document = {"report": str(report)} | found.to_dict()
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        click.echo(f"{found.verdict()}\n\nreport: {shown(report)}")
    if place.name != folder:
        click.echo(f"{shown(place.with_name(folder))} holds another report and stays", err=True)
    if fail_on and ADVICE.index(found.judgments[0].advice) >= ADVICE.index(fail_on):
        raise SystemExit(BROKEN)


@main.command(epilog="Example: srlib schema original.csv synthetic.csv > schema.yaml")
@click.argument("files", nargs=-1, required=True, type=FILE)
def schema(files: tuple[Path, ...]) -> None:
    """Suggest a schema of FILES, to be edited.

    The original is the first of them; the schema is for --schema. It has the levels of all files
    together, cuts numbers near quantiles, makes missing values a level, and leaves out columns that
    look like dates, or names and numbers of people. It has values of yours.
    """
    from srlib.data.declared import suggest
    from srlib.data.microdata import read_texts

    try:
        text, reasons = suggest([read_texts(file).frame for file in files])
    except ValueError as error:
        raise UsageError(str(error)) from None
    for reason in reasons:
        click.echo(reason, err=True)
    click.echo(text, nl=False)


@main.command(epilog="Example: srlib sweep params/charest/sweep_prior.yaml --jobs 2")
@click.argument("file", type=FILE)
@JOBS
@click.option("--scheduler", default="", metavar="ADDRESS", help="A Dask cluster to run them on.")
@click.option("--shard", default="1/1", help="i/n: every n-th point from the i-th on.")
@click.option("--dry-run", is_flag=True, help="Say what is done, and do nothing.")
@OUTPUT
def sweep(file: Path, jobs: int, scheduler: str, shard: str, dry_run: bool, output: Path) -> None:
    """Run a notebook at all points of a sweep FILE.

    Tables that the file names are gathered. What is done already is not repeated.
    """
    from srlib.runner import sweep as sweeps

    root = find_root(Path.cwd())
    plan = sweeps.read_sweep(root, file, output)
    points = sweeps.shard(plan.points, shard)
    if not dry_run:
        sweeps.run_sweep(root, plan, points, jobs, scheduler)
    left = sum(plan.status(point) != sweeps.DONE for point in points)
    click.echo(f"{shown(plan.folder)}: {len(points) - left} of {len(points)} points are done")
    if dry_run:
        return
    if left:
        raise _failed(f"{left} points are not done; index.csv says why")
    if all(plan.status(point) == sweeps.DONE for point in plan.points):
        sweeps.gather(plan)


@main.command()
@PAPERS
def build(papers: tuple[str, ...]) -> None:
    """Execute text notebooks, and write their .ipynb.

    They run at their defaults, and what is written is committed beside them.
    """
    root = find_root(Path.cwd())
    if root == SHIPPED:
        raise UsageError("notebooks are built in a checkout, and none is at or above this folder")
    papers = tuple(_named(root, papers))

    from srlib.runner.run import NotebookFailed
    from srlib.runner.run import build as build_paper

    failures = []
    for paper in papers:
        try:
            click.echo(f"{paper}: {shown(build_paper(root, paper))}")
        except NotebookFailed as error:
            failures.append(_failed(str(error)))
    if failures:
        raise failures[0]


@main.command(epilog="Example: srlib course charest")
@PAPERS
@click.option("--replace", is_flag=True, help="Write over what somebody has changed.")
@click.option(
    "--output", type=FOLDER, default=lambda: find_outputs(Path.cwd()) / "course",
    help="Folder to write in; by default, course/ in the folder of outputs.",
)  # fmt: skip
def course(papers: tuple[str, ...], replace: bool, output: Path) -> None:
    """Write the course's assignments for nbgrader.

    They are notebooks with exercises, all of them where no PAPER is given, and have checks. The
    notebooks must have been built.
    """
    from srlib.runner import course as courses

    root = find_root(Path.cwd())
    written = _named(root, papers) if papers else courses.find(root)
    for paper in written:
        courses.write(root, paper, output, replace=replace)
    if written:
        click.echo(f"{shown(output / 'source')}: {', '.join(written)}")
        click.echo(f"copies: cd {shown(output)} && nbgrader generate_assignment {written[0]}")
        click.echo("grading executes what students wrote: nbgrader autograde, in a container only")


@main.command()
@click.argument("run_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--public", is_flag=True, help="Show of a user's file only what is marked public.")
@click.option("--open", "opened", is_flag=True, help="Show it in the browser.")
def report(run_dir: Path, public: bool, opened: bool) -> None:
    """Write the self-contained HTML report of a run's folder.

    It is report.html, and with --public report-public.html.
    """
    # The page of `srlib assess` is not made from a notebook, and stays.
    file = run_dir / ("report-public.html" if public else "report.html")
    if (run_dir / "notebook.ipynb").is_file():
        from srlib.runner.report import write

        try:
            write(run_dir, public)
        except ValueError as error:
            raise UsageError(f"{run_dir}: {error}") from None
    elif not file.is_file():
        raise UsageError(f"{run_dir} is no run's folder: it holds no notebook.ipynb")
    click.echo(file)
    if opened:
        click.launch(str(file))
