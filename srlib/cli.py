"""The command line: run, assess, sweep, collect, build, course, new, report, site, parameters."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srlib.parameters import (
    UsageError,
    find_papers,
    find_profiles,
    find_root,
    read_parameters,
    resolve,
    unknown,
)

if TYPE_CHECKING:
    from srlib.sweep import Sweep


class _Commands(click.Group):
    """Shows what cannot be run as bad usage, whichever command was asked for."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except UsageError as error:
            raise click.UsageError(str(error)) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run the papers on disclosure risk of synthetic data.

    A PAPER is the name of a text notebook in notebooks/, without its ending; where none is
    given, all that exist are taken; to run, those that have the profile.
    """


def _named(root: Path, papers: tuple[str, ...]) -> list[str]:
    """Return the papers asked for, each once, or all of them."""
    existing = find_papers(root)
    wrong = [unknown("paper", paper, existing) for paper in papers if paper not in existing]
    if wrong:
        raise UsageError("\n".join(wrong))
    if not existing:
        click.echo("notebooks/ holds no paper yet", err=True)
    return list(dict.fromkeys(papers)) or existing


@main.command()
@click.argument("papers", metavar="[PAPER]...", nargs=-1)
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
    help="Folder to write PAPER/PROFILE/ in; the project's outputs/ where not given.",
)
def run(
    papers: tuple[str, ...],
    profile: str,
    params_file: Path | None,
    overrides: tuple[tuple[str, str], ...],
    jobs: int,
    output: Path | None,
) -> None:
    """Run papers into outputs/PAPER/PROFILE/."""
    root = find_root(Path.cwd())
    named = _named(root, papers)
    if not papers:
        named = [paper for paper in named if profile in find_profiles(root, paper)] or named
    requests, wrong = [], []
    for paper in named:
        try:
            requests.append(resolve(root, paper, profile, params_file, overrides))
        except UsageError as error:
            wrong.append(str(error))
    if wrong:
        raise UsageError("\n".join(wrong))

    # Imported here: bad usage is told at once, without the time that papermill takes to import.
    from tqdm import tqdm

    from srlib.run import NotebookFailed, run_all

    failures = 0
    for outcome in run_all(root, requests, output or root / "outputs", jobs):
        with tqdm.external_write_mode():  # bars make room
            if isinstance(outcome, NotebookFailed):
                click.echo(str(outcome), err=True)
                failures += 1
            else:
                click.echo(f"{outcome.parent.name}: {_shown(outcome)}")
    if failures:
        raise SystemExit(1)


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@main.command()
@click.argument("original", type=_FILE)
@click.argument("released", type=_FILE, nargs=-1, required=True)
@click.option("--schema", help="YAML file with the levels; those that ORIGINAL has if not given.")
@click.option("--keys", metavar="A,B", help="What the intruder knows; all but the target.")
@click.option("--target", metavar="C", help="What the intruder wants; the last that is no key.")
@click.option("--name", help="Folder of the report; RELEASED's name without its ending.")
@click.option(
    "-p",
    "overrides",
    metavar="NAME VALUE",
    nargs=2,
    multiple=True,
    help="One parameter's value; 'srlib parameters assess' lists them.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write assess/NAME/ in; the project's outputs/ where not given.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON document.")
def assess(
    original: Path,
    released: tuple[Path, ...],
    schema: str | None,
    keys: str | None,
    target: str | None,
    name: str | None,
    overrides: tuple[tuple[str, str], ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Report on the risk and utility of RELEASED tables that were made from an ORIGINAL one.

    All are CSV files of categorical columns; any tool may have made the released ones.
    """
    root = find_root(Path.cwd())
    given: dict[str, object] = {"original": str(original), "released": [str(z) for z in released]}
    given |= {"schema": schema} if schema else {}
    given |= {"keys": [key.strip() for key in keys.split(",")]} if keys else {}
    given |= {"target": target} if target else {}
    request = resolve(root, "assess", overrides=overrides)
    request = replace(
        request,
        profile=_folder_name(name or released[0].name.split(".")[0]),
        parameters={**request.parameters, **given},
        changed={**request.changed, **given},
    )

    from srlib.assessment import SETTINGS, read

    try:
        read(**{setting: request.parameters[setting] for setting in SETTINGS})
    except ValueError as error:
        raise UsageError(str(error)) from None

    from srlib.run import NotebookFailed
    from srlib.run import run as run_paper

    try:
        folder = run_paper(root, request, output or root / "outputs")
    except NotebookFailed as error:
        click.echo(str(error), err=True)
        raise SystemExit(1) from None
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    verdict = {
        topic.removeprefix("verdict_"): results.pop(topic)
        for topic in list(results)
        if topic.startswith("verdict_")
    }
    report = folder / "report.html"
    if as_json:
        document = {"report": str(report), "verdict": verdict, "results": results}
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
        return
    for topic, text in verdict.items():
        click.echo(f"{topic}: {text}")
    click.echo(f"report: {_shown(report)}")


def _folder_name(text: str) -> str:
    return re.sub(r"[^\w-]", "_", text) or "released"


def _shown(path: Path) -> str:
    """Return a path as it is typed, from the working folder on; the same on every system."""
    short = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return short.as_posix()


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--jobs", type=click.IntRange(1), default=1, help="Points that run at a time.")
@click.option("--scheduler", metavar="ADDRESS", help="A running Dask cluster to run them instead.")
@click.option("--shard", default="1/1", help="i/n: every n-th point from the i-th on.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--retry-failed", is_flag=True, help="Run points again that failed before.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds a point.")
@click.option("--reports", is_flag=True, help="Write the HTML report of each point.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write PAPER/SWEEP/ in; the project's outputs/ where not given.",
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
    from srlib import sweep as sweeps
    from srlib.workers import ClusterGone

    root = find_root(Path.cwd())
    plan = sweeps.read_sweep(root, file, output or root / "outputs")
    points = sweeps.shard(plan.points, shard)
    if dry_run:
        click.echo(sweeps.describe(plan, points, jobs))
        return
    if other := sweeps.other_versions(plan):
        click.echo(f"{other} folders belong to other versions of notebook or library", err=True)
    try:
        missing = sweeps.run_sweep(
            root, plan, points, jobs=jobs, scheduler=scheduler, with_report=reports,
            time_limit=time_limit, retry_failed=retry_failed,
        )  # fmt: skip
    except KeyboardInterrupt:
        raise SystemExit(1) from None
    except ClusterGone as error:
        click.echo(f"{error}; the same command finishes what is left", err=True)
        raise SystemExit(1) from None
    if all(plan.status(point) == sweeps.DONE for point in plan.points):
        _gather(plan)
    click.echo(f"{plan.name}: {len(points) - missing} of {len(points)} points in {plan.folder}")
    if missing:
        click.echo(f"{missing} points are not done; index.csv says why", err=True)
        raise SystemExit(1)


def _gather(plan: "Sweep") -> None:
    """Write the tables and the picture that a sweep's file asks for."""
    from srlib import sweep as sweeps

    try:
        for table in plan.collect:
            sweeps.gather(plan.folder, table)
        if plan.picture:
            from srlib import charts
            from srlib.record import Record

            settings = dict(plan.picture)
            frame = sweeps.load(plan.folder, settings.pop("table"))
            chart = charts.sweep(frame, **settings)
            Record(plan.folder).figure(plan.name, chart)
    except ValueError as error:
        click.echo(f"{plan.name}: {error}", err=True)
        raise SystemExit(1) from None


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--table", help="Name of a table; the points' results where not given.")
def collect(folder: Path, table: str | None) -> None:
    """Gather one table over all finished points of a sweep's FOLDER into FOLDER/TABLE.csv."""
    from srlib import sweep as sweeps

    try:
        frame = sweeps.gather(folder, table)
    except ValueError as error:
        raise UsageError(str(error)) from None
    click.echo(f"{len(frame)} rows: {_shown(folder / f'{table or "results"}.csv')}")
    if lacking := len(sweeps.finished(folder)) - frame["point"].nunique():
        click.echo(f"{lacking} finished points have no rows of it", err=True)


@main.command()
@click.argument("papers", metavar="[PAPER]...", nargs=-1)
def build(papers: tuple[str, ...]) -> None:
    """Execute text notebooks at their defaults and write the committed .ipynb beside them."""
    root = find_root(Path.cwd())
    papers = tuple(_named(root, papers))

    from srlib.run import NotebookFailed
    from srlib.run import build as build_paper

    failures = 0
    for paper in papers:
        try:
            click.echo(f"{paper}: {_shown(build_paper(root, paper))}")
        except NotebookFailed as error:
            click.echo(str(error), err=True)
            failures += 1
    if failures:
        raise SystemExit(1)


@main.command()
@click.argument("papers", metavar="[PAPER]...", nargs=-1)
@click.option("--replace", is_flag=True, help="Write over copies that somebody has worked in.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write in; the project's outputs/course/ where not given.",
)
def course(papers: tuple[str, ...], replace: bool, output: Path | None) -> None:
    """Write students' copies of notebooks, with stubs and checks for the solutions.

    All that have exercises where no PAPER is given. The notebooks must have been built.
    """
    from srlib import course as courses

    root = find_root(Path.cwd())
    named = _named(root, papers) if papers else courses.find(root)
    for paper in named:
        folder = output or root / "outputs" / "course"
        click.echo(f"{paper}: {_shown(courses.write(root, paper, folder, replace=replace))}")


@main.command()
@click.argument("paper")
def new(paper: str) -> None:
    """Start the notebook of a new PAPER from a template, and say what to do next."""
    from srlib import scaffold

    root = find_root(Path.cwd())
    for path in scaffold.write(root, paper):
        click.echo(_shown(path))
    click.echo(scaffold.checklist(paper))


@main.command()
@click.argument("run_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--public", is_flag=True, help="Leave out what names real combinations.")
def report(run_dir: Path, public: bool) -> None:
    """Write the self-contained HTML report of a run's folder.

    It is report.html, and with --public report-public.html.
    """
    if not (run_dir / "notebook.ipynb").is_file():
        raise UsageError(f"{run_dir} is no run's folder: it holds no notebook.ipynb")

    from srlib.report import write

    click.echo(write(run_dir, public))


@main.command()
@click.option(
    "--output",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the runs, to write site/ in; the project's outputs/ where not given.",
)
@click.option("--repository", metavar="OWNER/NAME", help="On GitHub; adds links to Binder.")
def site(output: Path | None, repository: str | None) -> None:
    """Write the front page over all notebooks' runs, with their public reports, as site/."""
    from srlib.site import write

    root = find_root(Path.cwd())
    index, missing = write(root, output or root / "outputs", repository or "")
    click.echo(_shown(index))
    if missing:
        click.echo(f"not run yet: {', '.join(missing)}; the page says how", err=True)


@main.command()
@click.argument("paper")
def parameters(paper: str) -> None:
    """List a paper's parameters: type, default, range and meaning."""
    root = find_root(Path.cwd())
    _named(root, (paper,))
    for p in read_parameters(root / "notebooks" / f"{paper}.py").values():
        click.echo(f"{p.name}: {p.type} = {p.default!r}  {p.range}".rstrip())
        click.echo(f"    {p.help}")
