"""Parameters of a notebook: read from its text, checked before anything runs."""

import ast
import difflib
import hashlib
import io
import json
import math
import re
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import Field, TypeAdapter

from srlib import yamls

OUTPUT_DIR = "output_dir"  # the parameter that the runner sets
# Where an installed package carries its own notebooks and params; a checkout has no such folder.
SHIPPED = Path(__file__).resolve().parents[1] / "shipped"

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,100}")
_TYPES = {kind.__name__: kind for kind in (bool, int, float, str, list, dict)}
_CELL = re.compile(r"^# %%.*tags=\[[^\]]*\"parameters\".*\n((?:(?!# %%).*\n)*)", re.MULTILINE)
_INTERVAL = re.compile(r"([\[(])([-+.\w]+), ?([-+.\w]+)([\])])")
_CHOICES = re.compile(r"\{(.*?)\}")


class UsageError(ValueError):
    """Something asked for that cannot be run; each line of the message names one thing."""


@dataclass(frozen=True)
class Parameter:
    """One annotated literal of a notebook's parameters cell.

    ``allowed`` is its type, and the range that the comment behind it begins with: an interval as
    ``(0, 1]``, or choices as ``{exact, both}``. They hold for every element of a list, which then
    must have one.
    """

    name: str
    annotation: str
    default: Any
    allowed: str
    help: str
    type: TypeAdapter[Any]

    def check(self, value: Any) -> Any:
        """Return the value in the parameter's type; ValueError where it is not allowed."""
        try:
            value = self.type.validate_python(value, strict=True)
            json.dumps(value, ensure_ascii=False).encode()  # no file holds half a character
        except ValueError:
            told = f"{self.name} = {repr(value)[:200]}"
            raise ValueError(f"{told}; it must be {self.allowed}") from None
        return value

    def parse(self, text: str) -> Any:
        """Return the value that a command line gives: YAML, or literally for text."""
        try:
            value = text if self.annotation == "str" else yamls.load(text)
        except ValueError as error:
            raise ValueError(f"{self.name} = {text[:200]!r}: {error}") from None
        return self.check(value)


def _declare(name: str, annotation: str, default: Any, comment: str) -> Parameter:
    """Make a parameter of a literal and the comment behind it; ValueError for what is none."""
    kind = eval(annotation, {"__builtins__": _TYPES})
    many = get_origin(kind) is list
    item: Any = get_args(kind)[0] if many else kind
    if found := _CHOICES.match(comment):
        item = Literal[tuple(part.strip() for part in found[1].split(","))]
    elif found := _INTERVAL.match(comment):
        least, most = "ge" if found[1] == "[" else "gt", "le" if found[4] == "]" else "lt"
        ends: dict[str, Any] = {least: float(found[2]), most: float(found[3])}
        finite = {name: end for name, end in ends.items() if math.isfinite(end)}
        item = Annotated[item, Field(**finite)]
    if found:
        kind = Annotated[list[item], Field(min_length=1)] if many else item
    within = f"{', one or more' if many else ''} in {found[0]}" if found else ""
    help_ = comment[found.end() if found else 0 :].strip()
    declared = Parameter(name, annotation, default, annotation + within, help_, TypeAdapter(kind))
    declared.check(default)
    return declared


def read_parameters(notebook: Path) -> dict[str, Parameter]:
    """Return the parameters that a text notebook declares, by name and in its order.

    Its parameters cell holds annotated literals only, each with a comment behind it, as in
    ``n_draws: int = 100  # [1, 10000] draws that are kept``.
    """
    cell = _CELL.search(notebook.read_text(encoding="utf-8") + "\n")
    source = cell[1] if cell else ""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    parameters = {}
    for node in ast.parse(source).body:
        try:
            match node:
                case ast.AnnAssign(ast.Name(name), annotation, ast.expr() as value):
                    default, comment = ast.literal_eval(value), comments.get(node.end_lineno or 0)
                    declared = _declare(name, ast.unparse(annotation), default, comment or "")
                case _:
                    raise ValueError("not an annotated literal")
        except (ValueError, NameError) as error:
            line = ast.unparse(node).splitlines()[0]
            raise UsageError(f"{notebook.name}: parameters cell, '{line}': {error}") from None
        parameters[name] = declared
    if OUTPUT_DIR not in parameters:
        raise UsageError(
            f"{notebook.name}: no cell tagged parameters that declares {OUTPUT_DIR}: str"
        )
    return parameters


def find_root(start: Path) -> Path:
    """Return the project's folder: the nearest at or above start with notebooks/ and params/.

    Where there is none, it is what an installed package carries, or the checkout that holds the
    package.
    """
    for folder in [start, *start.parents, SHIPPED, SHIPPED.parents[1]]:
        if (folder / "notebooks").is_dir() and (folder / "params").is_dir():
            return folder
    raise UsageError(f"no folder with notebooks/ and params/ at or above {start}")


def find_outputs(start: Path) -> Path:
    """Return where runs are written: beside the notebooks if start lies there, else in start.

    Neither an installed package nor a distant checkout is a place for a user's results.
    """
    root = find_root(start)
    return (root if start.is_relative_to(root) else start) / "outputs"


def find_papers(root: Path) -> list[str]:
    """Return the keys of the papers that exist: the text notebooks' names, sorted."""
    return sorted(path.stem for path in (root / "notebooks").glob("*.py"))


def find_profiles(root: Path, paper: str) -> list[str]:
    """Return the names of a paper's profiles, ``default`` first; each names a run's folder."""
    names = sorted(file.stem for file in (root / "params" / paper).glob("*.yaml"))
    return ["default", *(n for n in names if _PLAIN.fullmatch(n) and not n.startswith("sweep_"))]


def plain_name(kind: str, name: Any) -> str:
    """Return a name that a file or folder gets: one that leads to no other folder."""
    if isinstance(name, str) and _PLAIN.fullmatch(name):
        return name
    allowed = "at most 100 letters, digits, underscores and hyphens"
    raise UsageError(f"{kind} is {str(name)[:200]!r}; it must be {allowed}")


def unknown(kind: str, name: Any, known: Iterable[str]) -> str:
    """Return the message for a name that is not among the known ones."""
    known = list(known)
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ""
    return f"unknown {kind} {name!r}{hint} (known: {', '.join(known) or 'none'})"


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping that a YAML file holds; UsageError where it holds something else."""
    try:
        values = yamls.read(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as YAML: {error}") from None
    if not isinstance(values, dict | None):
        raise UsageError(f"{path}: holds no mapping of names to values")
    return values or {}


def read_object(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a run holds; the ValueError names the file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is damaged: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} is damaged: it holds no object")
    return value


def shown(path: Path) -> str:
    """Return a path as it is typed, from the working folder on; the same on every system."""
    short = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return short.as_posix()


@dataclass(frozen=True)
class Request:
    """One paper to run.

    ``parameters`` holds the value of every parameter but ``output_dir``; ``changed`` those that
    were given beside the profile; ``inputs`` the SHA-256 of files that parameters name, by path.
    ``source`` is the hash that notebook and library must have (`srlib.runner.run.source_hash`);
    empty: that which they have when the run begins.
    """

    paper: str
    profile: str
    parameters: Mapping[str, Any]
    changed: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


def hash_inputs(named: Iterable[Any], place: Path = Path()) -> dict[str, str]:
    """Return the SHA-256 of each file that paths, or lists of paths, lead to from a place.

    Of a folder these are its files but hidden ones. What is no file is left out. A hash of
    confidential records lets anyone who knows all but one of them find that one, so it belongs in
    no public report.
    """
    hashes = {}
    for path in (each for one in named for each in (one if isinstance(one, list) else [one])):
        inside = (place / path).iterdir() if path and (place / path).is_dir() else ()
        held = sorted(each.name for each in inside if not each.name.startswith("."))
        for each in [f"{path.rstrip('/')}/{name}" for name in held] or [path]:
            if (place / each).is_file():
                with (place / each).open("rb") as file:
                    hashes[each] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def named_files(declared: Mapping[str, Parameter], values: Mapping[str, Any]) -> list[Any]:
    """Return the values of parameters that hold paths: texts whose comment speaks of files."""
    texts = [p for p in declared.values() if p.annotation in ("str", "list[str]")]
    return [values[p.name] for p in texts if p.name in values and re.search("files?\\b", p.help)]


def checked(
    declared: Mapping[str, Parameter], values: Iterable[tuple[Any, Any]], method: str = "check"
) -> tuple[dict[str, Any], list[str]]:
    """Return given values in their parameters' types, and what is wrong with the others."""
    good, wrong = {}, []
    for name, value in values:
        if name not in declared or name == OUTPUT_DIR:
            names = [known for known in declared if known != OUTPUT_DIR]
            wrong.append(unknown("parameter", str(name), names))
            continue
        try:
            good[name] = getattr(declared[name], method)(value)
        except ValueError as error:
            wrong.append(str(error))
    return good, wrong


def resolve(
    root: Path,
    paper: str,
    profile: str = "default",
    params_file: Path | None = None,
    overrides: Iterable[tuple[str, str]] = (),
) -> Request:
    """Return the checked request to run a paper.

    Values come from the notebook's defaults, then the profile, then the file, then the overrides
    as a command line gives them, each over the one before. A UsageError has a line for everything
    that is wrong.
    """
    if paper not in find_papers(root):
        raise UsageError(unknown("paper", paper, find_papers(root)))
    declared = read_parameters(root / "notebooks" / f"{paper}.py")
    if profile not in find_profiles(root, paper):
        raise UsageError(f"{paper}: {unknown('profile', profile, find_profiles(root, paper))}")
    values = {name: p.default for name, p in declared.items() if name != OUTPUT_DIR}
    file = root / "params" / paper / f"{profile}.yaml"
    given = read_mapping(file) if profile != "default" else {}
    of_profile, wrong = checked(declared, given.items())
    of_file, more = checked(declared, (read_mapping(params_file) if params_file else {}).items())
    changed, most = checked(declared, overrides, "parse")
    if problems := [*wrong, *more, *most]:
        raise UsageError("\n".join(f"{paper}: {line}" for line in problems))
    changed = of_file | changed
    values |= of_profile | changed
    return Request(paper, profile, values, changed, hash_inputs(named_files(declared, values)))
