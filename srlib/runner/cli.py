"""The command line of the library."""

import json
import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from srlib.runner.confidential import error_without_values, of_users_file, texts, without_values
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
    read_parameters,
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


_SHOW_VALUES = "Show wrong values of the files, too, not only their columns and lines."


def _told(error: Exception, parameters: Mapping[str, Any], show_values: bool) -> str:
    """Return what is wrong with files, without values of their records unless asked."""
    text = str(error)
    if show_values or not of_users_file(parameters, {"inputs": {}}):
        return text
    return without_values(text, texts(parameters.values()))


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
    help="One parameter's value, over all others; 'srlib parameters PAPER' lists them.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, help="Papers that run at a time.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Folder to write PAPER/PROFILE/ in; by default, outputs/ {_OF_PROJECT}.",
)
@click.option("--show-values", is_flag=True, help=_SHOW_VALUES)
def run(
    papers: tuple[str, ...],
    every: bool,
    profile: str,
    params_file: Path | None,
    overrides: tuple[tuple[str, str], ...],
    jobs: int,
    output: Path | None,
    show_values: bool,
) -> None:
    """Run papers into outputs/PAPER/PROFILE/.

    A bar shows the cells done; where standard error is no terminal, a line tells each section
    that ends and its time.
    """
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

    # Imported here: bad usage is told at once, without the time that these take to import.
    from srlib.runner.inputs import check

    for request in requests:
        try:
            check(request.paper, request.parameters)
            _say_cost(root, request.paper, [request.parameters], min(jobs, len(requests)))
        except (ValueError, OSError) as error:
            told = _told(error, request.parameters, show_values)
            wrong.append(f"{request.paper}: {told}")
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


def _say_cost(
    root: Path, paper: str, runs: Sequence[Mapping[str, Any]], at_a_time: int = 1
) -> None:
    """Tell what takes long how long it takes; refuse what the machine's memory cannot hold."""
    from srlib.runner import costs

    declared = read_parameters(root / "notebooks" / f"{paper}.py")
    defaults = {name: p.default for name, p in declared.items()}
    if line := costs.check(paper, runs, defaults, at_a_time):
        click.echo(f"{paper}: {line}", err=True)


@main.command(short_help="List a paper's parameters and their ranges.")
@click.argument("paper")
def parameters(paper: str) -> None:
    """List a paper's parameters: type, default, range and meaning."""
    root = find_root(Path.cwd(), "assess" if paper == "assess" else "")  # as `srlib assess` does
    _named(root, (paper,))
    for p in read_parameters(root / "notebooks" / f"{paper}.py").values():
        click.echo(f"{p.name}: {p.type} = {p.default!r}  {p.range}".rstrip())
        click.echo(f"    {p.help}")


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
@click.option("--show-values", is_flag=True, help=_SHOW_VALUES)
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
    show_values: bool,
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
        raise UsageError(_told(error, parameters, show_values)) from None
    try:
        found = examine(tables, model=model, seed=SEED)
        report = files.write(found, place, parameters, inputs, started) / "report.html"
    except OSError:
        raise  # told in a line with its place
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        own, typed = f"{kind}: {text}", texts(parameters.values())
        _failed(own if show_values else error_without_values(kind, text, typed))
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
    from srlib.data.microdata import read_texts

    try:
        text, reasons = suggest([read_texts(file).frame for file in files])
    except ValueError as error:
        raise UsageError(str(error)) from None
    for reason in reasons:
        click.echo(reason, err=True)
    if output is None:
        click.echo(text, nl=False)
        return
    if output.exists():
        raise UsageError(f"{output} exists; it is not replaced")
    output.write_text(text, encoding="utf-8")
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
@click.option("--show-values", is_flag=True, help=_SHOW_VALUES)
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
    show_values: bool,
    output: Path | None,
) -> None:
    """Run a notebook at all points of a sweep FILE; what is done already is not repeated."""
    from srlib.runner import sweep as sweeps
    from srlib.runner.workers import ClusterGone

    root = find_root(Path.cwd())
    plan = sweeps.read_sweep(root, file, output or find_outputs(root, Path.cwd()))
    points = sweeps.shard(plan.points, shard)
    wrong = {
        f"{file}: {_told(error, parameters, show_values)}": None
        for parameters, error in sweeps.wrong_inputs(plan, points)
    }
    if wrong:
        raise UsageError("\n".join(wrong))
    missing = [point.parameters for point in points if plan.status(point) != sweeps.DONE]
    if not scheduler:  # the memory is this machine's
        try:
            _say_cost(root, plan.paper, missing, jobs)
        except ValueError as error:
            raise UsageError(f"{file}: {error}") from None
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


@main.command(
    short_help="Gather one table over the points of a sweep.",
    epilog=_examples("srlib collect outputs/charest/sweep_prior --table score_functions"),
)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--table", help="Name of a table; the points' results where not given.")
def collect(folder: Path, table: str | None) -> None:
    """Gather one table over all finished points of a sweep's FOLDER into FOLDER/TABLE.csv."""
    from srlib.runner import sweep as sweeps

    try:
        frame = sweeps.gather(folder, table)
    except ValueError as error:
        raise UsageError(str(error)) from None
    click.echo(f"{len(frame)} rows: {shown(folder / f'{table or "results"}.csv')}")
    if lacking := len(sweeps.finished(folder)) - frame["point"].nunique():
        click.echo(f"{lacking} finished points have no rows of it", err=True)


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
    short_help="Write the course's assignments for nbgrader.",
    epilog=_examples("srlib course", "srlib course charest"),
)
@click.argument("papers", metavar="[PAPER]...", nargs=-1)
@click.option("--replace", is_flag=True, help="Write over what somebody has changed.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Folder to write in; by default, outputs/course/ {_OF_PROJECT}.",
)
def course(papers: tuple[str, ...], replace: bool, output: Path | None) -> None:
    """Write notebooks with exercises as sources of nbgrader's assignments, with their checks.

    All that have exercises where no PAPER is given. The notebooks must have been built.
    """
    from srlib.runner import course as courses

    root = find_root(Path.cwd())
    folder = output or find_outputs(root, Path.cwd()) / "course"
    written = _named(root, papers) if papers else courses.find(root)
    for paper in written:
        courses.write(root, paper, folder, replace=replace)
    if written:
        click.echo(f"{shown(folder / 'source')}: {', '.join(written)}")
        click.echo(f"copies: cd {shown(folder)} && nbgrader generate_assignment {written[0]}")
        click.echo("grading executes what students wrote: nbgrader autograde, in a container only")


@main.command(short_help="Start the notebook of a new PAPER from a template.")
@click.argument("paper")
def new(paper: str) -> None:
    """Start the notebook of a new PAPER from a template, and say what to do next."""
    from srlib.runner import scaffold

    root = find_root(Path.cwd())
    for path in scaffold.write(root, paper):
        click.echo(shown(path))
    click.echo(scaffold.checklist(paper))


@main.command(
    epilog=_examples(
        "srlib report outputs/charest/default", "srlib report outputs/assess/default --public"
    )
)
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
