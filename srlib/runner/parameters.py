"""Parameters of a notebook: read from its text, checked before anything runs."""

import ast
import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from click import UsageError as UsageError
from pydantic import Field, TypeAdapter, ValidationError

from srlib import yamls

OUTPUT_DIR = "output_dir"  # the parameter that the runner sets
# Where an installed package carries its own notebooks and params; a checkout has no such folder.
SHIPPED = Path(__file__).resolve().parents[1] / "shipped"

_TYPES = {kind.__name__: kind for kind in (bool, int, float, str, list, dict)}
_CELL = re.compile(r"^# %%.*tags=\[[^\]]*\"parameters\".*\n((?:(?!# %%).*\n)*)", re.MULTILINE)
_INTERVAL = re.compile(r"([\[(])([-+.\w]+), ?([-+.\w]+)([\])])")
_OBJECT = TypeAdapter(dict[str, Any])
_CHOICES = re.compile(r"\{(.*?)\}")


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

    def check(self, value: Any, *, typed: bool = False) -> Any:
        """Return a value in the parameter's type; ValueError where it is not allowed.

        What is typed on a command line is YAML, or literally the value where that is a text.
        """
        try:
            found = yamls.load(value) if typed and self.annotation != "str" else value
            found = self.type.validate_python(found, strict=True)
            json.dumps(found, ensure_ascii=False).encode()  # no file holds half a character
        except ValueError:
            told = f"{self.name} = {yamls.brief(value)}"
            raise ValueError(f"{told}; it must be {self.allowed}") from None
        return found


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
        item = Annotated[item, Field(**{k: end for k, end in ends.items() if math.isfinite(end)})]
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
    source, parameters = cell[1] if cell else "", {}
    for node in ast.parse(source).body:
        try:
            if not (isinstance(node, ast.AnnAssign) and node.value):
                raise ValueError("not an annotated literal")
            name, default = ast.unparse(node.target), ast.literal_eval(node.value)
            line = source.splitlines()[(node.end_lineno or 0) - 1].encode()
            comment = line[node.end_col_offset :].decode().lstrip("# ")
            parameters[name] = _declare(name, ast.unparse(node.annotation), default, comment)
        except (ValueError, NameError) as error:
            told = ast.unparse(node).splitlines()[0]
            raise UsageError(f"{notebook.name}: parameters cell, '{told}': {error}") from None
    if OUTPUT_DIR not in parameters:
        raise UsageError(f"{notebook.name}: no cell tagged parameters declares {OUTPUT_DIR}: str")
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


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that is not among the known ones."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ""
    return f"unknown {kind} {name!r}{hint} (known: {', '.join(known) or 'none'})"


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping that a YAML file holds; UsageError where it holds something else."""
    try:
        values = yamls.read(path) or {}
        if not isinstance(values, dict):
            raise ValueError("it must map names to values")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as YAML: {error}") from None
    return {str(name): value for name, value in values.items()}


def read_object(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a run holds; the ValueError names the file."""
    try:
        return _OBJECT.validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(f"{path.name} is damaged: {error.errors()[0]['msg']}") from None


def shown(path: Path) -> str:
    """Return a path as it is typed, from the working folder on; the same on every system."""
    short = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return short.as_posix()


@dataclass(frozen=True)
class Request:
    """A notebook to run into a folder.

    ``parameters`` holds the value of every parameter but ``output_dir``; ``changed`` those that
    were given beside the profile; ``inputs`` the SHA-256 of files that parameters name, by path.
    ``source`` is the hash that notebook and library must have (`srlib.runner.run.source_hash`);
    empty: that which they have when the run begins.
    """

    notebook: Path
    folder: Path
    parameters: Mapping[str, Any]
    changed: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    @property
    def failed(self) -> Path:
        """The folder that a run is kept in which fails."""
        return self.folder.with_name(f"{self.folder.name}.failed")

    @property
    def status(self) -> str:
        """``"done"``, ``"failed"`` or ``"open"``, by what lies on disk."""
        if (self.folder / "provenance.json").is_file():
            return "done"
        return "failed" if self.failed.is_dir() else "open"


def hash_inputs(paths: Iterable[str], place: Path = Path()) -> dict[str, str]:
    """Return the SHA-256 of each file that paths lead to from a place.

    Of a folder these are its files but hidden ones. What is no file is left out. A hash of
    confidential records lets anyone who knows all but one of them find that one, so it belongs in
    no public report.
    """
    hashes = {}
    for path in filter(None, paths):
        held = sorted(each.name for each in (place / path).glob("[!.]*"))
        for each in [f"{path.rstrip('/')}/{name}" for name in held] or [path]:
            if (place / each).is_file():
                with (place / each).open("rb") as file:
                    hashes[each] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def named_files(declared: Mapping[str, Parameter], values: Mapping[str, Any]) -> list[str]:
    """Return the paths in parameters that hold some: texts whose comment speaks of files."""
    texts = [p for p in declared.values() if p.annotation in ("str", "list[str]")]
    named = [values[p.name] for p in texts if p.name in values and re.search("files?\\b", p.help)]
    return [path for one in named for path in (one if isinstance(one, list) else [one])]


def checked(
    declared: Mapping[str, Parameter], values: Mapping[str, Any], wrong: list[str],
    *, typed: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return given values in their parameters' types, and add what is wrong to a list."""
    good = {}
    for name, value in values.items():
        if name not in declared or name == OUTPUT_DIR:
            wrong.append(unknown("parameter", name, [n for n in declared if n != OUTPUT_DIR]))
            continue
        try:
            good[name] = declared[name].check(value, typed=typed)
        except ValueError as error:
            wrong.append(str(error))
    return good


def resolve(
    root: Path, outputs: Path, paper: str, profile: str = "default",
    params_file: Path | None = None, overrides: Mapping[str, str] | None = None,
) -> Request:  # fmt: skip
    """Return the checked request to run a paper into ``outputs/<paper>/<profile>``.

    Values come from the notebook's defaults, then the profile, then the file, then the overrides
    as a command line gives them, each over the one before. A UsageError has a line for everything
    that is wrong.
    """
    if paper not in find_papers(root):
        raise UsageError(unknown("paper", paper, find_papers(root)))
    files = {file.stem: file for file in sorted(root.glob(f"params/{paper}/*.yaml"))}
    profiles = ["default", *(name for name in files if not name.startswith("sweep_"))]
    if profile not in profiles:
        raise UsageError(f"{paper}: {unknown('profile', profile, profiles)}")
    notebook = root / f"notebooks/{paper}.py"
    declared, wrong = read_parameters(notebook), list[str]()
    values = {name: p.default for name, p in declared.items() if name != OUTPUT_DIR}
    values |= checked(declared, read_mapping(files[profile]) if profile != "default" else {}, wrong)
    changed = checked(declared, read_mapping(params_file) if params_file else {}, wrong)
    changed |= checked(declared, overrides or {}, wrong, typed=True)
    if wrong:
        raise UsageError("\n".join(f"{paper}: {line}" for line in wrong))
    values |= changed
    inputs = hash_inputs(named_files(declared, values))
    return Request(notebook, outputs.resolve() / paper / profile, values, changed, inputs)
