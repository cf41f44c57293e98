"""Parameters of a notebook: read from its text, checked before anything runs."""

import ast
import difflib
import hashlib
import importlib
import io
import json
import math
import re
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from srlib import yamls
from srlib.runner.confidential import FILES
from srlib.yamls import brief

SET_BY_RUNNER = "output_dir"
# More records, draws or iterations than any machine gets through, and numbers that overflow.
LARGEST = 1_000_000_000

# Where an installed package carries its own notebooks and params; a checkout has no such folder.
SHIPPED = Path(__file__).resolve().parents[1] / "shipped"


class UsageError(ValueError):
    """Something asked for that cannot be run; each line of the message names one thing."""


@dataclass(frozen=True)
class Parameter:
    """One annotated literal of a notebook's parameters cell.

    ``range`` is what the comment behind the literal begins with: an interval, as in ``(0, 1]``; a
    set of choices, as in ``{exact, both}``; or a function of the library that raises a ValueError
    for what it does not accept, as in ``<srlib.mechanism.acceptance.read_rules>``. Empty where it
    begins with none of them. Intervals and choices hold for every element of a list, which then
    must have one. Numbers in an interval up to ``inf`` end at `LARGEST`, those above 0 begin at its
    inverse, and only seeds may be any number.
    """

    name: str
    type: str
    default: Any
    range: str
    help: str

    def check(self, value: Any) -> Any:
        """Return the value in the parameter's type.

        Raises
        ------
        ValueError
            Where the value is of another type (an int is taken for a float; a bool is no int)
            or out of range, or a text that no file can hold.
        """
        try:
            value = _convert(value, ast.parse(self.type, mode="eval").body)
        except TypeError:
            kind = "null" if value is None else type(value).__name__
            raise ValueError(f"{self.name} = {brief(value)} is {kind}, not {self.type}") from None
        if value == [] and self.range and not _FUNCTION.fullmatch(self.range):
            raise ValueError(f"{self.name} = [] is empty; it needs an element in {self.range}")
        for item in value if isinstance(value, list) else [value]:
            if item is not None and not _within(item, self.range):
                raise ValueError(f"{self.name} = {brief(value)} is out of range: {self.range}")
            if self.name != "seed" and _unreachable(item, self.range):
                raise ValueError(
                    f"{self.name} = {brief(value)} is out of range: in {self.range} a number may "
                    f"be at most {LARGEST:,} and, where it must be above 0, at least 1/{LARGEST:,}"
                )
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError(f"{self.name} = {brief(value)} is no text of Unicode") from None
        if accepted_by := _FUNCTION.fullmatch(self.range):
            try:
                getattr(importlib.import_module(accepted_by[1]), accepted_by[2])(value)
            except ValueError as error:
                raise ValueError(f"{self.name} = {brief(value)}: {error}") from None
        return value

    def parse(self, text: str) -> Any:
        """Return the value that a command line gives: YAML, or literally for text.

        Raises
        ------
        ValueError
            As `check`, and where the text is no YAML.
        """
        members = [member.strip() for member in self.type.split("|")]
        if "str" in members:
            return self.check(None if text == "null" and "None" in members else text)
        try:
            value = yamls.load(text)
        except ValueError as error:
            raise ValueError(
                f"{self.name} = {brief(text)} cannot be read as {self.type}: {error}"
            ) from None
        return self.check(value)


def _convert(value: Any, annotation: ast.expr) -> Any:
    """Return value in the annotated type; TypeError where it is of another."""
    match annotation:
        case ast.Name("float") if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case ast.Name("int") if isinstance(value, int) and not isinstance(value, bool):
            return value
        case ast.Name("bool" | "str" as name) if type(value).__name__ == name:
            return value
        case ast.Constant(None) if value is None:
            return None
        case ast.BinOp(left, ast.BitOr(), right):
            try:
                return _convert(value, left)
            except TypeError:
                return _convert(value, right)
        case ast.Subscript(ast.Name("list"), item) if isinstance(value, list):
            return [_convert(element, item) for element in value]
        case ast.Subscript(ast.Name("dict"), ast.Tuple([key, item])) if isinstance(value, dict):
            return {_convert(k, key): _convert(v, item) for k, v in value.items()}
    raise TypeError


_NUMBER = r"[-+]?(?:inf|[\d_]*\.?[\d_]+(?:e[-+]?\d+)?)"
_INTERVAL = re.compile(rf"([\[(])\s*({_NUMBER})\s*,\s*({_NUMBER})\s*([\])])")
_CHOICES = re.compile(r"\{([^{}]*)\}")
_FUNCTION = re.compile(r"<(srlib(?:\.\w+)*)\.(\w+)>")


def _within(value: Any, range_: str) -> bool:
    if interval := _INTERVAL.fullmatch(range_):
        left, low, high, right = interval.groups()
        above = value >= float(low) if left == "[" else value > float(low)
        below = value <= float(high) if right == "]" else value < float(high)
        return above and below and not math.isnan(value)
    if choices := _CHOICES.fullmatch(range_):
        allowed = [choice.strip().strip("\"'") for choice in choices[1].split(",")]
        return str(value) in allowed
    return True


def _unreachable(value: Any, range_: str) -> bool:
    """Say whether a number of an interval without an end is beyond what a machine can do."""
    interval = _INTERVAL.fullmatch(range_)
    if value is None or not interval or f"{interval[3]}{interval[4]}" != "inf)":
        return False
    above_0 = interval[1] == "(" and float(interval[2]) == 0
    return value > LARGEST or (above_0 and value < 1 / LARGEST)


def _split_comment(comment: str) -> tuple[str, str]:
    """Return the range that a comment begins with, and the rest."""
    comment = comment.removeprefix("#").strip()
    start = _INTERVAL.match(comment) or _CHOICES.match(comment) or _FUNCTION.match(comment)
    return (start[0], comment[start.end() :].strip()) if start else ("", comment)


_CELL = re.compile(r"^# %%(.*)$", re.MULTILINE)
_TAGS = re.compile(r"tags=(\[[^\]]*\])")


def _parameters_cell(text: str) -> str:
    """Return the source of the first cell tagged ``parameters``; empty where there is none."""
    headers = list(_CELL.finditer(text))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        tags = _TAGS.search(header[1])
        if tags and "parameters" in ast.literal_eval(tags[1]):
            return text[header.end() : following.start() if following else None]
    return ""


def read_parameters(notebook: Path) -> dict[str, Parameter]:
    """Return the parameters that a text notebook declares, by name and in its order.

    Parameters
    ----------
    notebook : Path
        Text notebook in the percent format. Its parameters cell holds annotated literals only,
        each with a comment behind it: ``n_draws: int = 100  # [1, inf) draws that are kept``.
        Types are bool, int, float, str, ``list[...]``, ``dict[..., ...]`` and unions of them
        and None.

    Raises
    ------
    UsageError
        Where the cell is missing or holds anything else, or a default is not of its own type
        and range.
    """
    source = _parameters_cell(notebook.read_text(encoding="utf-8"))
    comments = {
        token.start[0]: token.string
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    parameters = {}
    for node in ast.parse(source).body:
        try:
            match node:
                case ast.AnnAssign(ast.Name(name), annotation, ast.expr() as value):
                    default = ast.literal_eval(value)
                case _:
                    raise ValueError("not an annotated literal")
            range_, help_ = _split_comment(comments.get(node.end_lineno or 0, ""))
            declared = Parameter(name, ast.unparse(annotation), default, range_, help_)
            parameters[name] = Parameter(
                name, declared.type, declared.check(default), range_, help_
            )
        except ValueError as error:
            line = ast.unparse(node).splitlines()[0]
            raise UsageError(f"{notebook.name}: parameters cell, '{line}': {error}") from None
    if SET_BY_RUNNER not in parameters:
        raise UsageError(
            f"{notebook.name}: no cell tagged parameters that declares {SET_BY_RUNNER}: str"
        )
    return parameters


def find_root(start: Path, paper: str = "") -> Path:
    """Return the project's folder: the nearest at or above start with notebooks/ and params/.

    Where there is none, it is what an installed package carries, or the checkout that holds the
    package.

    Parameters
    ----------
    start : Path
        The working folder.
    paper : str, optional
        Name of a text notebook without its ending, which the folder must have: a user's own
        folders may happen to be called notebooks and params.

    Raises
    ------
    UsageError
        Where none of them is a project.
    """
    for folder in [start, *start.parents, SHIPPED, SHIPPED.parents[1]]:
        is_project = (folder / "notebooks").is_dir() and (folder / "params").is_dir()
        if is_project and (not paper or paper in find_papers(folder)):
            return folder
    raise UsageError(f"no folder with notebooks/ and params/ at or above {start}")


def find_outputs(root: Path, start: Path) -> Path:
    """Return where runs are written unless told otherwise.

    Parameters
    ----------
    root : Path
        The project's folder, as `find_root` returned it.
    start : Path
        The working folder.

    Returns
    -------
    Path
        ``outputs`` in the project where start lies in it, else in start: neither an installed
        package nor a distant checkout is a place for a user's results.
    """
    return (root if start.is_relative_to(root) else start) / "outputs"


def find_papers(root: Path) -> list[str]:
    """Return the keys of the papers that exist: the text notebooks' names, sorted."""
    return sorted(path.stem for path in (root / "notebooks").glob("*.py"))


_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,100}")


def plain_name(kind: str, name: Any) -> str:
    """Return a name that a file or folder gets: one that leads to no other folder.

    Raises
    ------
    UsageError
        If it is anything but at most 100 letters, digits, underscores and hyphens.
    """
    if not isinstance(name, str) or not _PLAIN.fullmatch(name):
        raise UsageError(
            f"{kind} is {str(name)[:200]!r}; it must be at most 100 letters, digits, underscores "
            "and hyphens"
        )
    return name


def find_profiles(root: Path, paper: str) -> list[str]:
    """Return the names of a paper's profiles, ``default`` first; each names a run's folder."""
    names = sorted(file.stem for file in (root / "params" / paper).glob("*.yaml"))
    return ["default", *(n for n in names if _PLAIN.fullmatch(n) and not n.startswith("sweep_"))]


def unknown(kind: str, name: Any, known: Iterable[str]) -> str:
    """Return the message for a name that is not among the known ones."""
    known = list(known)
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ""
    return f"unknown {kind} {name!r}{hint} (known: {', '.join(known) or 'none'})"


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping of parameters to values that a YAML file holds.

    Raises
    ------
    UsageError
        Where the file cannot be read or holds something else.
    """
    try:
        values = yamls.read(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as YAML: {error}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise UsageError(f"{path}: holds no mapping of parameter: value")
    return values


def read_object(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a run holds.

    Raises
    ------
    OSError
        Where the file cannot be opened.
    ValueError
        Where it holds something else; the message names the file.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is damaged: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} is damaged: it holds no object")
    return value


@dataclass(frozen=True)
class Request:
    """One paper to run.

    ``parameters`` holds the value of every parameter but ``output_dir``; ``changed`` those that
    were given beside the profile; ``inputs`` the SHA-256 of files that parameters name, by path
    (see `hash_inputs`). ``source`` is the hash that notebook and library must have (see
    `srlib.runner.run.source_hash`); empty: that which they have when the run begins.
    """

    paper: str
    profile: str
    parameters: Mapping[str, Any]
    changed: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


def file_parameters(declared: Mapping[str, Parameter]) -> list[str]:
    """Return the parameters that hold paths of files.

    Those are they whose comments name a CSV or YAML file, and whose names say so
    (`confidential.FILES`).

    Parameters
    ----------
    declared : mapping
        As `read_parameters` returns.
    """
    of_file = re.compile(r"\b(CSV|YAML) files?\b")
    return [p.name for p in declared.values() if p.name in FILES or of_file.search(p.help)]


def hash_inputs(
    parameters: Mapping[str, Any], names: Iterable[str], place: Path | None = None
) -> dict[str, str]:
    """Return the SHA-256 of each file that parameters name, by its path as given.

    A hash of confidential records lets anyone who knows all but one of them find that one, so it
    belongs in no public report.

    Parameters
    ----------
    parameters : mapping
        Values by name.
    names : iterable of str
        Parameters that hold a path or a list of paths. Of a folder, these are its files but hidden
        ones. Values that name neither are left out, such as the empty text; a survey file
        ``acs:YEAR:STATE`` is downloaded unless it is here.
    place : Path, optional
        Folder that paths start from; the working folder if not given.

    Raises
    ------
    UsageError
        For a survey file that does not exist.
    ConnectionError
        For one that cannot be downloaded.
    """
    hashes = {}
    for name in names:
        value = parameters[name]
        for path in value if isinstance(value, list) else [value]:
            for each in files_at(str(path), place):
                survey = each.startswith("acs:")
                found = _survey_file(each) if survey else Path(place or "", each)
                if found.is_file():
                    with found.open("rb") as file:
                        hashes[each] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def files_at(path: str, place: Path | None = None) -> list[str]:
    """Return the files that a parameter's text stands for: one, or a folder's but hidden ones.

    Parameters
    ----------
    path : str
        The empty text is none.
    place : Path, optional
        As `hash_inputs`.
    """
    folder = Path(place or "", path)
    if not path or not folder.is_dir():
        return [path] if path else []
    names = sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))
    return [f"{path.rstrip('/')}/{name}" for name in names]


def _survey_file(data: str) -> Path:
    # Imported here: it takes the time of pandas.
    from srlib.data.acs import download_acs, parse_acs

    try:
        return download_acs(*parse_acs(data))
    except ValueError as error:
        raise UsageError(str(error)) from None


def shown(path: Path) -> str:
    """Return a path as it is typed, from the working folder on; the same on every system."""
    short = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return short.as_posix()


def resolve(
    root: Path,
    paper: str,
    profile: str = "default",
    params_file: Path | None = None,
    overrides: Iterable[tuple[str, str]] = (),
) -> Request:
    """Return the checked request to run a paper.

    Values come from the notebook's defaults, then the profile, then the file, then the
    overrides, each over the one before.

    Parameters
    ----------
    root : Path
        The project's folder.
    paper : str
        Name of a text notebook without its ending.
    profile : str
        Name of a file in ``params/<paper>`` without its ending, or ``default``.
    params_file : Path, optional
        YAML file of more values.
    overrides : iterable of (str, str)
        Names and values as a command line gives them.

    Raises
    ------
    UsageError
        One line for everything that is wrong.
    """
    if paper not in find_papers(root):
        raise UsageError(unknown("paper", paper, find_papers(root)))
    declared = read_parameters(root / "notebooks" / f"{paper}.py")
    if profile not in find_profiles(root, paper):
        raise UsageError(f"{paper}: {unknown('profile', profile, find_profiles(root, paper))}")
    wrong: list[str] = []

    def checked(values: Iterable[tuple[Any, Any]], source: str, method: str) -> dict[str, Any]:
        good = {}
        for name, value in values:
            if name == SET_BY_RUNNER:
                wrong.append(f"{source}: {name} is set by the runner; choose with --output")
            elif name not in declared:
                names = [known for known in declared if known != SET_BY_RUNNER]
                wrong.append(f"{source}: {unknown('parameter', str(name), names)}")
            else:
                try:
                    good[name] = getattr(declared[name], method)(value)
                except ValueError as error:
                    wrong.append(f"{source}: {error}")
        return good

    values = {name: p.default for name, p in declared.items() if name != SET_BY_RUNNER}
    if profile != "default":
        path = root / "params" / paper / f"{profile}.yaml"
        values |= checked(read_mapping(path).items(), f"params/{paper}/{path.name}", "check")
    changed: dict[str, Any] = {}
    if params_file is not None:
        changed |= checked(read_mapping(params_file).items(), f"{paper}: {params_file}", "check")
    changed |= checked(overrides, paper, "parse")
    if wrong:
        raise UsageError("\n".join(wrong))
    inputs = hash_inputs(values | changed, file_parameters(declared))
    return Request(paper, profile, values | changed, changed, inputs)
