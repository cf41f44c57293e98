"""The command line of the library."""

import json
import re
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from pathlib import Path
from typing import Any

import click
from click import ClickException, UsageError

from srlib.runner import parameters as settings
from srlib.runner.parameters import shown
from srlib.runner.workers import ended_by_signals

BROKEN = 3  # exit status of a verdict that --fail-on names
WORST = click.Choice(["undecided", "look", "withhold"])
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT = click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path),
    default=lambda: settings.find_outputs(Path.cwd()),
    help="Folder to write in; by default, outputs/ of the project or of the working folder.",
)  # fmt: skip
PAPERS = click.argument("papers", metavar="[PAPER]...", nargs=-1)
# Options of the assessment are the parameters of its notebook, but these.
ASSESSMENT = settings.find_root(settings.SHIPPED) / "notebooks/assess.py"
NO_OPTIONS = {"original", "released", "seed", settings.OUTPUT_DIR}


class _Commands(click.Group):
    """Says in one line what cannot be written, and that workers were lost."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the commands in the order in which people meet them."""
        return list(self.commands)

    def invoke(self, context: click.Context) -> object:
        try:
            with ended_by_signals():
                return super().invoke(context)
        except BrokenPipeError:
            raise
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            raise ClickException(f"{error.strerror or error}{place}") from None
        except (BrokenExecutor, CancelledError):
            told = "workers were lost; the same command does what is left"
            raise ClickException(told) from None


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
    existing = settings.find_papers(root)
    if wrong := [settings.unknown("paper", one, existing) for one in papers if one not in existing]:
        raise UsageError("\n".join(wrong))
    return list(dict.fromkeys(papers)) or existing


@main.command(epilog="Example: srlib run charest -p epsilon 0.5 --output tried")
@PAPERS
@click.option("--profile", default="default", help="File in params/PAPER/, without its ending.")
@click.option("--params", type=FILE, help="YAML file of parameter values, over the profile's.")
@click.option("-p", "given", metavar="NAME VALUE", nargs=2, multiple=True, help="One parameter.")
@OUTPUT
def run(
    papers: tuple[str, ...], profile: str, params: Path | None,
    given: tuple[tuple[str, str], ...], output: Path,
) -> None:  # fmt: skip
    """Run papers into outputs/PAPER/PROFILE/, one after the other."""
    root = settings.find_root(Path.cwd())
    named = _named(root, papers)
    if not papers:
        raise UsageError(f"name what to run of these: {', '.join(named)}")
    asked = [settings.resolve(root, output, one, profile, params, dict(given)) for one in named]

    # Imported here: bad usage is told at once, without the time that this takes to import.
    from srlib.runner import run as runs

    for request in asked:
        report = runs.run(request, bar=True) / "report.html"
        click.echo(f"{request.notebook.stem}: {shown(report)}")


def _assessed(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the assessment, with the defaults and the words of its notebook."""
    kinds: dict[str, Any] = {"bool": bool, "dict[str, float]": (str, float)}
    for name, one in reversed(settings.read_parameters(ASSESSMENT).items()):
        if name not in NO_OPTIONS:
            kind, several = kinds.get(one.annotation, str), one.annotation not in ("str", "bool")
            command = click.option(
                f"--{name}", type=kind, is_flag=kind is bool, multiple=several,
                default=one.default, help=f"{one.help[0].upper()}{one.help[1:]}.",
            )(command)  # fmt: skip
    return command


@main.command(
    epilog="Example: srlib assess original.csv synthetic.csv --keys age,town --target income"
)
@click.argument("original", type=FILE)
@click.argument("released", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
@_assessed
@click.option("--fail-on", type=WORST, help="Exit status 3 where a verdict is this or worse.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON document.")
@click.option("--name", default="", help="Of the folder, in place of the first RELEASED's.")
@OUTPUT
def assess(fail_on: str | None, as_json: bool, name: str, output: Path, **options: Any) -> None:
    """Say what RELEASED tables give away, and what they are good for.

    All are files of records; any tool may have made the released ones. Each RELEASED is judged by
    itself, the worst first; where it is a folder, its files are draws of one tool and judged
    together under the folder's name. Options with several values are repeated, and --keys takes
    names with commas.

    It works in any folder. The answer goes to assess/NAME-HASH/, with the first RELEASED's name
    and a hash of what the files hold and of the options.
    """
    parameters = options | {
        "original": str(options["original"]),
        "released": [str(path) for path in options["released"]],
        "keys": [[key.strip() for key in one.split(",")] for one in options["keys"]],
        "target": list(options["target"]),
        "within": dict(options["within"]),
    }

    from srlib.assessment.verdict import ADVICE
    from srlib.runner.assess import assess as assess_files

    found, report = assess_files(output.resolve() / "assess", parameters, name)
    if as_json:
        document = {"report": str(report)} | found.to_dict()
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        click.echo(f"{found.verdict()}\n\nreport: {shown(report)}")
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
@click.option("--jobs", type=click.IntRange(1), default=1, help="How many run at a time.")
@click.option("--scheduler", default="", metavar="ADDRESS", help="A Dask cluster to run them on.")
@click.option("--shard", default="1/1", help="i/n: every n-th point from the i-th on.")
@click.option("--dry-run", is_flag=True, help="Say what is done, and do nothing.")
@OUTPUT
def sweep(file: Path, jobs: int, scheduler: str, shard: str, dry_run: bool, output: Path) -> None:
    """Run a notebook at all points of a sweep FILE.

    Tables that the file names are gathered. What is done already is not repeated.
    """
    part = re.fullmatch(r"(\d+)/(\d+)", shard)
    if not part or not 1 <= int(part[1]) <= int(part[2]):
        raise UsageError(f"shard is {shard!r}; it must be i/n with i from 1 to n")

    from srlib.runner import sweep as sweeps

    points, tables = sweeps.read_sweep(settings.find_root(Path.cwd()), file, output)
    chosen, folder = points[int(part[1]) - 1 :: int(part[2])], points[0].folder.parent
    if not dry_run:
        sweeps.run_sweep(points, chosen, jobs, scheduler)
    left = sum(point.status != "done" for point in chosen)
    click.echo(f"{shown(folder)}: {len(chosen) - left} of {len(chosen)} points are done")
    if dry_run:
        return
    if left:
        raise ClickException(f"{left} points are not done; index.csv says why")
    if all(point.status == "done" for point in points):
        sweeps.gather(folder, tables)


@main.command()
@PAPERS
def build(papers: tuple[str, ...]) -> None:
    """Execute text notebooks, and write their .ipynb.

    They run at their defaults, and what is written is committed beside them.
    """
    root = settings.find_root(Path.cwd())
    if root == settings.SHIPPED:
        raise UsageError("notebooks are built in a checkout, and none is at or above this folder")
    named = _named(root, papers)

    from srlib.runner import run as runs

    for paper in named:
        click.echo(f"{paper}: {shown(runs.build(root, paper))}")


@main.command(epilog="Example: srlib course charest")
@PAPERS
@click.option("--replace", is_flag=True, help="Write over what somebody has changed.")
@OUTPUT
def course(papers: tuple[str, ...], replace: bool, output: Path) -> None:
    """Write the course's assignments for nbgrader.

    They are notebooks with exercises, all of them where no PAPER is given, and have checks. The
    notebooks must have been built. The assignments go to course/ in the folder of outputs.
    """
    from srlib.runner import course as courses

    root, output = settings.find_root(Path.cwd()), output / "course"
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
    from srlib.runner.report import write

    try:
        file = write(run_dir, public)
    except ValueError as error:
        raise UsageError(f"{run_dir}: {error}") from None
    click.echo(file)
    if opened:
        click.launch(str(file))
