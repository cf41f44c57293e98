"""The command line of the library."""

import json
import math
import os
import re
import time
from pathlib import Path
from typing import Any

import click

from srlib.runner.confidential import error_without_values, texts, without_values
from srlib.runner.parameters import (
    LARGEST,
    SHIPPED,
    UsageError,
    find_outputs,
    find_papers,
    find_profiles,
    find_root,
    hash_inputs,
    plain_name,
    resolve,
    shown,
    unknown,
)

BROKEN = 3  # exit status of a verdict that --fail-on names
SEED = 2026  # of `srlib assess`: the same files and options give the same report

# Where outputs/ lies for an option --output that is not given.
_OF_PROJECT = "of the project or, outside one, of the working folder"


class _Commands(click.Group):
    """Shows what cannot be run as bad usage, and what cannot be written in one line."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the commands in the order in which people meet them."""
        return list(self.commands)

    def invoke(self, context: click.Context) -> object:
        from srlib.runner.workers import ended_by_signals

        try:
            with ended_by_signals():
                return super().invoke(context)
        except UsageError as error:
            raise click.UsageError(str(error)) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            click.echo(f"{error.strerror or error}{place}", err=True)
            raise SystemExit(1) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="srlib", prog_name="srlib")
@click.pass_context
def main(context: click.Context) -> None:
    """Run the papers on disclosure risk of synthetic data.

    A PAPER is the name of a text notebook in notebooks/, without its ending.

    The project is the nearest folder at or above the working folder with notebooks/ and params/;
    where there is none, the papers are those that the package carries. Outputs go to the
    project's outputs/, or outside one to outputs/ in the working folder.
    """
    if os.environ.get("NO_COLOR"):
        context.color = False  # else on terminals only


def _failed(text: str) -> None:
    """Say what went wrong."""
    click.secho(text, err=True, fg="red")


def _named(root: Path, papers: tuple[str, ...]) -> list[str]:
    """Return the papers asked for, each once, or all of them."""
    existing = find_papers(root)
    wrong = [unknown("paper", paper, existing) for paper in papers if paper not in existing]
    if wrong:
        raise UsageError("\n".join(wrong))
    if not existing:
        click.echo("notebooks/ holds no paper yet", err=True)
    return list(dict.fromkeys(papers)) or existing


def _to_choose(root: Path, profile: str) -> str:
    """Say what could be run with a profile, where nothing is named."""
    texts = {paper: root / "notebooks" / f"{paper}.py" for paper in _with_profile(root, profile)}
    titles = {
        paper: re.search(r"^# # (.+)$", text.read_text(encoding="utf-8"), re.MULTILINE)
        for paper, text in texts.items()
    }
    width = max(map(len, titles), default=0)
    lines = [f"  {paper:<{width}}  {title[1] if title else ''}" for paper, title in titles.items()]
    return "\n".join(["name what to run, or --all of these:", *lines])


def _with_profile(root: Path, profile: str) -> list[str]:
    """Return all papers that have a profile; all, to be told what is wrong, where none has."""
    existing = _named(root, ())
    return [paper for paper in existing if profile in find_profiles(root, paper)] or existing


def _examples(*commands: str) -> str:
    """Return what a command's help ends with."""
    return "\n".join(["\b", "Examples:", *(f"  {command}" for command in commands)])


@main.command(
    epilog=_examples(
        "srlib run charest",
        "srlib run hu_reiter_wang --profile published",
        "srlib run charest -p epsilon 0.5 --output tried",
        "srlib run --all --jobs 2",
    )
)
@click.argument("papers", metavar="[PAPER]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All papers that have the profile.")
@click.option("--profile", default="default", help="File in params/PAPER/, without its ending.")
@click.option(
    "--params",
    "params_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="YAML file of parameter values, over the profile's.",
)
@click.option(
    "-p",
    "overrides",
    metavar="NAME VALUE",
    nargs=2,
    multiple=True,
    help="One parameter's value, over all others.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, help="Papers that run at a time.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Folder to write PAPER/PROFILE/ in; by default, outputs/ {_OF_PROJECT}.",
)
def run(
    papers: tuple[str, ...],
    every: bool,
    profile: str,
    params_file: Path | None,
    overrides: tuple[tuple[str, str], ...],
    jobs: int,
    output: Path | None,
) -> None:
    """Run papers into outputs/PAPER/PROFILE/."""
    root = find_root(Path.cwd())
    if papers and every:
        raise UsageError(f"--all and {', '.join(papers)}; it must be one of the two")
    if not papers and not every:
        raise UsageError(_to_choose(root, profile))
    named = _named(root, papers) if papers else _with_profile(root, profile)
    requests, wrong = [], []
    for paper in named:
        try:
            requests.append(resolve(root, paper, profile, params_file, overrides))
        except UsageError as error:
            wrong.append(str(error))
    if wrong:
        raise UsageError("\n".join(wrong))

    from tqdm import tqdm

    from srlib.runner.run import NotebookFailed, run_all

    failures = 0
    for outcome in run_all(root, requests, output or find_outputs(root, Path.cwd()), jobs):
        with tqdm.external_write_mode():  # bars make room
            if isinstance(outcome, NotebookFailed):
                _failed(str(outcome))
                failures += 1
            else:
                click.echo(f"{outcome.parent.name}: {shown(outcome / 'report.html')}")
    if failures:
        raise SystemExit(1)


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@main.command(
    short_help="Say what RELEASED tables give away, and what they are good for.",
    epilog=_examples(
        "srlib assess original.csv synthetic.csv --keys age,town --target income",
        "srlib assess original.csv tool_a/ tool_b/ --fail-on look",
        "srlib assess original.csv synthetic.csv --schema schema.yaml --holdout others.csv",
    ),
)
@click.argument("original", type=_FILE)
@click.argument("released", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
@click.option("--schema", help="YAML file with the levels; those that ORIGINAL has if not given.")
@click.option(
    "--keys",
    metavar="A,B",
    multiple=True,
    help="What the intruder knows; all but the target. Again for other sets.",
)
@click.option(
    "--target",
    metavar="C",
    multiple=True,
    help="What the intruder wants; the last that is no key. Again for others.",
)
@click.option(
    "--within", metavar="NAME=NUMBER", multiple=True, help="Distance up to which a number is told."
)
@click.option("--by", metavar="VARIABLE", default="", help="Tell of each of its levels apart.")
@click.option("--holdout", help="File of people of the same population, not in ORIGINAL.")
@click.option(
    "--model",
    is_flag=True,
    help="Ask an intruder who knows all other records, too: half a minute or more.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["undecided", "look", "withhold"]),
    help="Exit status 3 where the verdict on a release is this or worse.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON document.")
@click.option("--name", help="Folder of the report; the first RELEASED's name if not given.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Folder to write assess/NAME/ in; by default, outputs/ {_OF_PROJECT}.",
)
def assess(
    original: Path,
    released: tuple[Path, ...],
    schema: str | None,
    keys: tuple[str, ...],
    target: tuple[str, ...],
    within: tuple[str, ...],
    by: str,
    holdout: str | None,
    model: bool,
    fail_on: str | None,
    as_json: bool,
    name: str | None,
    output: Path | None,
) -> None:
    """Say what RELEASED tables give away of the people in ORIGINAL, and what they are good for.

    All are files of records; any tool may have made the released ones. Each RELEASED is judged by
    itself, the worst first; where it is a folder, its files are draws of one tool and judged
    together under the folder's name. It works in any folder.

    An earlier report in the folder assess/NAME/ is replaced only by one on the same file contents
    with the same parameters; any other goes to NAME-2, NAME-3 and so on.
    """
    parameters: dict[str, Any] = {
        "original": str(original),
        "released": [str(path) for path in released],
        "schema": schema or "",
        "keys": [[key.strip() for key in one.split(",")] for one in keys],
        "target": list(target),
        "within": dict(map(_distance, within)),
        "by": by,
        "holdout": holdout or "",
        "model": model,
    }
    folder = plain_name("--name", name) if name else released[0].resolve().name
    folder = re.sub(r"[^\w-]", "_", folder.split(".")[0])[:60] or "released"
    root = find_root(Path.cwd(), "assess")
    if folder in find_profiles(root, "assess"):  # folders of `srlib run`, which replaces them
        folder = f"released_{folder}"
    outputs = output or find_outputs(root, Path.cwd())
    place = outputs.resolve() / "assess" / folder

    # Imported here: bad usage is told at once, without the time that these take to import.
    from srlib.assessment import examine, take_in
    from srlib.assessment.verdict import ADVICE
    from srlib.runner import assess as files

    started, inputs = time.monotonic(), hash_inputs(parameters, files.FILES)
    try:
        tables = take_in(**{n: value for n, value in parameters.items() if n != "model"})
    except ValueError as error:
        raise UsageError(without_values(str(error), texts(parameters.values()))) from None
    try:
        found = examine(tables, model=model, seed=SEED)
        report = files.write(found, place, parameters, inputs, started) / "report.html"
    except OSError:
        raise  # told in a line with its place
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        _failed(error_without_values(kind, text, texts(parameters.values())))
        raise SystemExit(1) from None
    if as_json:
        document = {"report": str(report)} | found.to_dict()
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        for line in found.verdict().split("\n"):
            click.echo(click.style(line, bold=not line.startswith(" ")))
        click.echo(f"\nreport: {shown(report)}")
    if report.parent.name != place.name:
        click.echo(f"{shown(place)} holds another report and stays as it is", err=True)
    if model:
        click.echo(f"all took {time.monotonic() - started:.0f} s, most of it the model", err=True)
    worst = ADVICE.index(found.judgments[0].advice)
    if fail_on and worst >= ADVICE.index(fail_on):
        raise SystemExit(BROKEN)


def _distance(text: str) -> tuple[str, float]:
    """Read NAME=NUMBER."""
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise UsageError(f"--within {text}: it must be NAME=NUMBER, as income=500") from None


@main.command(
    short_help="Suggest a schema of FILES, to be edited.",
    epilog=_examples("srlib schema original.csv synthetic.csv --output schema.yaml"),
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write, a new one."
)
def schema(files: tuple[Path, ...], output: Path | None) -> None:
    """Suggest a schema of FILES, the original first, to be edited and given to --schema.

    It has the levels of all files together, cuts numbers near quantiles, makes missing values a
    level, and leaves out columns that look like dates, or names and numbers of people. It is
    printed where no file is named, and has values of yours.
    """
    from srlib.data.declared import suggest
    from srlib.data.files import read_columns

    try:
        declaration, reasons = suggest([read_columns(file) for file in files])
    except ValueError as error:
        raise UsageError(str(error)) from None
    for reason in reasons:
        click.echo(reason, err=True)
    if output is None:
        click.echo(declaration.to_yaml(), nl=False)
        return
    if output.exists():
        raise UsageError(f"{output} exists; it is not replaced")
    output.write_text(declaration.to_yaml(), encoding="utf-8")
    click.echo(shown(output))


class _Seconds(click.FloatRange):
    """A time that a clock can wait for; ranges let NaN pass."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(0, LARGEST, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> Any:
        """Return the number."""
        number = super().convert(value, param, context)
        if math.isnan(number):
            self.fail("NaN is no number of seconds.", param, context)
        return number


@main.command(
    short_help="Run a notebook at all points of a sweep FILE.",
    epilog=_examples(
        "srlib sweep params/charest/sweep_prior.yaml --dry-run",
        "srlib sweep params/charest/sweep_prior.yaml --jobs 2",
    ),
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--jobs", type=click.IntRange(1), default=1, help="Points that run at a time.")
@click.option("--scheduler", metavar="ADDRESS", help="A running Dask cluster to run them instead.")
@click.option("--shard", default="1/1", help="i/n: every n-th point from the i-th on.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--retry-failed", is_flag=True, help="Run points again that failed before.")
@click.option("--time-limit", type=_Seconds(), help="Seconds a point.")
@click.option("--reports", is_flag=True, help="Write the HTML report of each point.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Folder to write PAPER/SWEEP/ in; by default, outputs/ {_OF_PROJECT}.",
)
def sweep(
    file: Path,
    jobs: int,
    scheduler: str | None,
    shard: str,
    dry_run: bool,
    retry_failed: bool,
    time_limit: float | None,
    reports: bool,
    output: Path | None,
) -> None:
    """Run a notebook at all points of a sweep FILE; what is done already is not repeated."""
    from srlib.runner import sweep as sweeps
    from srlib.runner.workers import ClusterGone

    root = find_root(Path.cwd())
    plan = sweeps.read_sweep(root, file, output or find_outputs(root, Path.cwd()))
    points = sweeps.shard(plan.points, shard)
    if dry_run:
        click.echo(sweeps.describe(plan, points, jobs))
        return
    for line in sweeps.other_versions(plan):
        click.echo(line, err=True)
    try:
        left = sweeps.run_sweep(
            root, plan, points, jobs=jobs, scheduler=scheduler, with_report=reports,
            time_limit=time_limit, retry_failed=retry_failed,
        )  # fmt: skip
    except KeyboardInterrupt:
        raise SystemExit(1) from None
    except ClusterGone as error:
        click.echo(f"{error}; the same command finishes what is left", err=True)
        raise SystemExit(1) from None
    if all(plan.status(point) == sweeps.DONE for point in plan.points):
        try:
            sweeps.gather_asked(plan)
        except ValueError as error:
            click.echo(f"{plan.name}: {error}", err=True)
            raise SystemExit(1) from None
    click.echo(f"{plan.name}: {len(points) - left} of {len(points)} points in {plan.folder}")
    if left:
        click.echo(f"{left} points are not done; index.csv says why", err=True)
        raise SystemExit(1)


@main.command(short_help="Execute text notebooks, and write their .ipynb.")
@click.argument("papers", metavar="[PAPER]...", nargs=-1)
def build(papers: tuple[str, ...]) -> None:
    """Execute text notebooks at their defaults and write the committed .ipynb beside them."""
    root = find_root(Path.cwd())
    if root == SHIPPED:
        raise UsageError("notebooks are built in a checkout, and none is at or above this folder")
    papers = tuple(_named(root, papers))

    from srlib.runner.run import NotebookFailed
    from srlib.runner.run import build as build_paper

    failures = 0
    for paper in papers:
        try:
            click.echo(f"{paper}: {shown(build_paper(root, paper))}")
        except NotebookFailed as error:
            _failed(str(error))
            failures += 1
    if failures:
        raise SystemExit(1)


@main.command(
    short_help="Write students' copies of notebooks.",
    epilog=_examples("srlib course charest", "srlib course --kit"),
)
@click.argument("papers", metavar="[PAPER]...", nargs=-1)
@click.option("--kit", is_flag=True, help="Also write syllabus, notes, solutions and slides.")
@click.option("--replace", is_flag=True, help="Write over copies that somebody has worked in.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Folder to write in; by default, outputs/course/ {_OF_PROJECT}.",
)
def course(papers: tuple[str, ...], kit: bool, replace: bool, output: Path | None) -> None:
    """Write students' copies of notebooks, with stubs and checks for the solutions.

    All that have exercises where no PAPER is given. The notebooks must have been built. With --kit
    a page for students goes beside them, and what a course of six sessions is taught with into
    the folder for_teachers/.
    """
    from srlib.runner import course as courses
    from srlib.runner.course import kit as kits

    root = find_root(Path.cwd())
    outputs = find_outputs(root, Path.cwd())
    folder = output or outputs / "course"
    for paper in _named(root, papers) if papers else courses.find(root):
        click.echo(f"{paper}: {shown(courses.write(root, paper, folder, replace=replace))}")
    if kit:
        for page in kits.write(root, outputs, folder, replace=replace):
            click.echo(shown(page))


@main.command(
    epilog=_examples(
        "srlib report outputs/charest/default", "srlib report outputs/assess/default --public"
    )
)
@click.argument("run_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--public", is_flag=True, help="Show of a user's file only what is marked public.")
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
def report(run_dir: Path, public: bool, show: bool) -> None:
    """Write the self-contained HTML report of a run's folder.

    It is report.html, and with --public report-public.html.
    """
    if not (run_dir / "notebook.ipynb").is_file():
        there = public and (run_dir / "report-public.html").is_file()
        known = "; its public version is report-public.html, written with it" if there else ""
        raise UsageError(f"{run_dir} is no run's folder: it holds no notebook.ipynb{known}")

    from srlib.runner.report import write

    try:
        written = write(run_dir, public)
    except ValueError as error:
        raise UsageError(f"{run_dir}: {error}") from None
    click.echo(written)
    if show:
        click.launch(str(written))


@main.command(short_help="Write a front page and the public reports of all runs.")
@click.option(
    "--output",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help=f"Folder of the runs, to write site/ in; by default, outputs/ {_OF_PROJECT}.",
)
@click.option("--repository", metavar="OWNER/NAME", help="On GitHub; adds links to Binder.")
def site(output: Path | None, repository: str | None) -> None:
    """Write the site's front page, site/index.html, and the public reports of all runs."""
    from srlib.runner.site import write

    root = find_root(Path.cwd())
    try:
        index, missing = write(root, output or find_outputs(root, Path.cwd()), repository or "")
    except ValueError as error:
        raise UsageError(str(error)) from None
    click.echo(shown(index))
    if missing:
        click.echo(f"not run yet: {', '.join(missing)}; the page says how", err=True)
