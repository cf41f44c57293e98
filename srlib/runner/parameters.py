"""Parameters of a notebook: read from its text, and checked before it runs."""

import ast
import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from click import UsageError as UsageError
from pydantic import Field, TypeAdapter

from srlib import yaml_io
from srlib.checks import printable

Values = dict[str, Any]  # of parameters, or of a document of YAML or JSON
OUTPUT_DIR = "output_dir"  # the parameter that the runner sets
# The parameters that name users' files.
FILE_PARAMETERS = ("data", "original", "released", "schema", "holdout")
LIBRARY = Path(__file__).resolve().parents[1]
# The notebooks and params of an installed package; a checkout has no such folder.
SHIPPED = LIBRARY / "shipped"
# Code that runs notebooks and draws charts: changing it changes no number.
_NO_METHODS = {"__main__.py", "__pycache__", "charts", "runner", SHIPPED.name}

_TYPES: Values = {
    "bool": bool,
    "int": int,
    "float": float,
    "list": list,
    "dict": dict,
    "str": Annotated[str, Field(pattern="")],  # no surrogates, which files cannot hold
}
_CELL = re.compile(
    r"^# %%.*tags=\[[^\]]*\"parameters\".*\n((?:(?!# %%).*\n)*)", re.MULTILINE
)
# Choices or an interval, if there are any, and the description.
_COMMENT = re.compile(r"(\{.*?\}|[\[(][-+.\w]+, ?[-+.\w]+[\])])?\s*(.*?)\s*")


class Parameter(NamedTuple):
    """An annotated literal of a notebook's parameters cell.

    ``allowed`` is its type and the range at the beginning of its comment: an interval
    such as ``(0, 1]``, or choices such as ``{exact, both}``. The range holds for every
    element of a list, which then must not be empty.
    """

    annotation: str
    default: Any
    allowed: str
    help: str
    type: TypeAdapter[Any]


def _restricted(kind: Any, values: str) -> Any:
    """Return a type for the given choices, or for the numbers in an interval."""
    inner = [part.strip() for part in values[1:-1].split(",")]
    if values[0] == "{":
        return Literal[tuple(inner)]
    low, high = map(float, inner)
    limits: Values = {
        "ge" if values[0] == "[" else "gt": low,
        "le" if values[-1] == "]" else "lt": high,
    }
    finite = {name: limit for name, limit in limits.items() if math.isfinite(limit)}
    return Annotated[kind, Field(**finite)]


def read_parameters(notebook: Path) -> dict[str, Parameter]:
    """Return the parameters that a text notebook declares, without the runner's own.

    The parameters cell has only annotated literals, each with a comment, such as
    ``n_draws: int = 100  # [1, 10000] draws that are kept``.
    """
    cell = _CELL.search(notebook.read_text("utf-8") + "\n")
    source = cell[1] if cell else ""
    declared = {}
    errors: list[str] = []
    for node in ast.parse(source).body:
        try:
            name, parameter = _read_declaration(node, source)
            declared[name] = parameter
            check_values(declared, {name: parameter.default}, errors)
        except (ValueError, NameError) as error:
            first_line = ast.unparse(node).splitlines()[0]
            errors.append(f"'{first_line}': {error}")
    if not declared.pop(OUTPUT_DIR, None):
        errors.append(f"no cell tagged parameters declares {OUTPUT_DIR}: str")
    if errors:
        raise usage_error(notebook.name, errors)
    return declared


def _read_declaration(node: ast.stmt, source: str) -> tuple[str, Parameter]:
    """Return the name of an annotated literal, and its parameter."""
    if not (isinstance(node, ast.AnnAssign) and node.value):
        raise ValueError("not an annotated literal")
    default = ast.literal_eval(node.value)
    line = source.splitlines()[(node.end_lineno or 0) - 1]
    comment = line.encode()[node.end_col_offset :].decode().lstrip("# ")
    annotation = ast.unparse(node.annotation)
    kind = eval(annotation, {"__builtins__": _TYPES})
    allowed = annotation
    values, text = _COMMENT.fullmatch(comment).groups()  # type: ignore[union-attr]
    if values:
        if get_origin(kind) is list:
            element = _restricted(get_args(kind)[0], values)
            kind = Annotated[list[element], Field(min_length=1)]  # type: ignore[valid-type]
            allowed += f", one or more in {values}"
        else:
            kind = _restricted(kind, values)
            allowed += f" in {values}"
    parameter = Parameter(annotation, default, allowed, text, TypeAdapter(kind))
    return ast.unparse(node.target), parameter


def usage_error(subject: str, errors: Iterable[str]) -> UsageError:
    """Return an error with a line for each of several errors."""
    return UsageError("\n".join(f"{subject}: {error}" for error in errors))


def find_root(start: Path) -> Path:
    """Return the project's folder, the nearest with notebooks/ and params/.

    It is start or a folder above. If there is none, return the folder in the installed
    package, or the package's checkout.
    """
    for folder in [start, *start.parents, SHIPPED, LIBRARY.parent]:
        if (folder / "notebooks").is_dir() and (folder / "params").is_dir():
            return folder
    raise UsageError(f"no folder with notebooks/ and params/ at or above {start}")


def find_outputs(start: Path) -> Path:
    """Return the folder for runs: outputs/ of start's project, or of start itself.

    Results of a user do not go to an installed package or to a checkout elsewhere.
    """
    root = find_root(start)
    return (root if start.is_relative_to(root) else start) / "outputs"


def find_papers(root: Path, asked: Sequence[str] = ()) -> list[str]:
    """Return the requested papers, each once; by default, all notebooks, sorted."""
    papers = sorted(path.stem for path in root.glob("notebooks/*.py"))
    unknown = [paper for paper in asked if paper not in papers]
    if unknown:
        raise UsageError("\n".join(unknown_name("paper", p, papers) for p in unknown))
    return list(dict.fromkeys(asked)) or papers


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that is not among the known ones."""
    return f"unknown {kind} {name!r} (known: {', '.join(known) or 'none'})"


def read_mapping(path: Path) -> Values:
    """Return the mapping in a YAML or JSON file; errors name the file, no value."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("this is not a regular file")
        if path.suffix in (".json", ".ipynb"):
            values = json.loads(path.read_bytes())
        else:
            values = yaml_io.read(path) or {}
        if not isinstance(values, dict):
            raise ValueError("the file must map names to values")
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{printable(path)} cannot be read: {error}") from None
    return {str(name): value for name, value in values.items()}


def shown(path: Path) -> str:
    """Return a path as text, relative to the working folder, alike on all systems."""
    folder = Path.cwd()
    if path.is_relative_to(folder):
        path = path.relative_to(folder)
    return printable(path.as_posix())


class Request(NamedTuple):
    """A notebook to run, and the folder for its results.

    ``parameters`` has the values of all parameters except ``output_dir``; ``changed``
    has those that differ from the profile; ``inputs`` has the SHA-256 of the files that
    parameters name, by path. ``source`` is the required `source_hash` of notebook and
    library.
    """

    notebook: Path
    folder: Path
    parameters: Values
    changed: Values
    inputs: dict[str, str]
    source: str

    @property
    def failed(self) -> Path:
        """The folder for a failed run."""
        return self.folder.with_name(f"{self.folder.name}.failed")

    @property
    def provenance(self) -> Values:
        """The provenance on disk of a run with the same files, or an empty mapping."""
        for folder in (self.folder, self.failed):
            with suppress(UsageError):  # there is none, or it is damaged
                about = read_mapping(folder / "provenance.json")
                if about.get("inputs", {}) == self.inputs:
                    return about
        return {}

    @property
    def status(self) -> str:
        """``"done"``, ``"failed"`` or ``"open"``, by the files on disk."""
        status = self.provenance.get("status", "")
        return {"complete": "done", "failed": "failed"}.get(status, "open")


def source_hash(notebook: Path) -> str:
    """Return the SHA-256 of a notebook, its printed numbers and the methods' code."""
    files = [notebook, find_root(SHIPPED) / f"notebooks/{notebook.stem}.csv"]
    for file in sorted(LIBRARY.glob("**/[!.]*")):  # without editors' hidden files
        if _NO_METHODS.isdisjoint(file.relative_to(LIBRARY).parts):
            files.append(file)
    digest = hashlib.sha256()
    for file in filter(Path.is_file, files):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _named_files(parameters: Values) -> list[str]:
    """Return the files and folders that parameters name."""
    names: list[str] = []
    for parameter in FILE_PARAMETERS:
        value = parameters.get(parameter) or []
        names += [value] if isinstance(value, str) else value
    return names


def input_files(parameters: Values) -> list[Path]:
    """Return the files that parameters name, and those in folders, unless hidden."""
    files = []
    for path in map(Path, _named_files(parameters)):
        files += sorted(path.glob("[!.]*")) if path.is_dir() else [path]
    return list(filter(Path.is_file, files))


def missing_files(parameters: Values) -> list[str]:
    """Return a message for each file that parameters name and that does not exist."""
    return [
        f"file {yaml_io.brief(name)} does not exist"
        for name in _named_files(parameters)
        if not re.match("acs(:|$)", name) and not Path(name).exists()
    ]


def hash_inputs(parameters: Values) -> dict[str, str]:
    """Return the SHA-256 of each file that parameters name.

    A public report must not contain them: with a hash of confidential records, anyone
    who knows all records but one can find that one by trying.
    """
    hashes = {}
    for path in input_files(parameters):
        with path.open("rb") as file:
            hashes[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def check_values(
    declared: dict[str, Parameter],
    values: Values,
    errors: list[str],
    typed: bool = False,
) -> Values:
    """Return values in their parameters' types; add messages about others to errors.

    Values typed on a command line are YAML, except for texts, which are taken
    literally.
    """
    errors += [
        unknown_name("parameter", name, declared)
        for name in values
        if name not in declared
    ]
    valid = {}
    for name in filter(declared.__contains__, values):
        parameter = declared[name]
        value = values[name]
        try:
            if typed and parameter.annotation != "str":
                value = yaml_io.load(value)
            valid[name] = parameter.type.validate_python(value, strict=True)
        except ValueError:
            given = yaml_io.brief(values[name])
            errors.append(f"{name} = {given}; it must be {parameter.allowed}")
    return valid


def _read_profile(root: Path, paper: str, profile: str) -> Values:
    """Return the values of a paper's profile; the default may have no file."""
    files = sorted(root.glob(f"params/{paper}/*.yaml"))
    profiles = {file.stem: file for file in files if not file.match("sweep_*")}
    names = dict.fromkeys(["default", *profiles])
    if profile not in names:
        raise UsageError(f"{paper}: {unknown_name('profile', profile, names)}")
    return read_mapping(profiles[profile]) if profile in profiles else {}


def resolve(
    root: Path,
    outputs: Path,
    paper: str,
    profile: str = "default",
    params_file: Path | None = None,
    overrides: dict[str, str] | None = None,
) -> Request:
    """Return the checked request for a run into ``outputs/<paper>/<profile>``.

    Values come from the notebook's defaults, the profile, the file and the command
    line's overrides; later ones replace earlier ones. A UsageError has a line for each
    error.
    """
    find_papers(root, [paper])
    profile_given = _read_profile(root, paper, profile)
    file_given = read_mapping(params_file) if params_file else {}
    notebook = root / f"notebooks/{paper}.py"
    declared = read_parameters(notebook)
    errors: list[str] = []
    values = {name: parameter.default for name, parameter in declared.items()}
    values |= check_values(declared, profile_given, errors)
    changed = check_values(declared, file_given, errors)
    changed |= check_values(declared, overrides or {}, errors, typed=True)
    values |= changed
    errors += missing_files(values)
    folder = outputs.resolve() / paper / profile
    # Surrogates, which notebooks cannot hold.
    if re.search("[\ud800-\udfff]", str(folder)):
        errors.append(f"the output folder is {shown(folder)}; its path must be UTF-8")
    if errors:
        raise usage_error(paper, errors)
    return Request(
        notebook, folder, values, changed, hash_inputs(values), source_hash(notebook)
    )
