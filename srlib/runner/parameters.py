"""Parameters of a notebook: read from its text, and checked before it runs."""

import ast
import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from click import UsageError as UsageError
from pydantic import Field, TypeAdapter

from srlib import yaml_io
from srlib.checks import printable

OUTPUT_DIR = "output_dir"  # the parameter that the runner sets
FILE_PARAMETERS = (
    "data",
    "original",
    "released",
    "schema",
    "holdout",
)  # name users' files
LIBRARY = Path(__file__).resolve().parents[1]
# The notebooks and params of an installed package; a checkout has no such folder.
SHIPPED = LIBRARY / "shipped"
# Code that runs notebooks and draws charts: changing it changes no number.
_NO_METHODS = {"__main__.py", "__pycache__", "charts", "runner", SHIPPED.name}

_TYPES: dict[str, Any] = {
    kind.__name__: kind for kind in (bool, int, float, list, dict)
}
_TYPES["str"] = Annotated[
    str, Field(pattern="")
]  # no surrogates, which files cannot hold
_CELL = re.compile(
    r"^# %%.*tags=\[[^\]]*\"parameters\".*\n((?:(?!# %%).*\n)*)", re.MULTILINE
)
_INTERVAL = re.compile(r"([\[(])([-+.\w]+), ?([-+.\w]+)([\])])")
_CHOICES = re.compile(r"\{(.*?)\}")


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


def _declare(annotation: str, default: Any, comment: str) -> Parameter:
    """Return the parameter of a literal with its comment."""
    kind = eval(annotation, {"__builtins__": _TYPES})
    many = get_origin(kind) is list
    item: Any = get_args(kind)[0] if many else kind
    if found := _CHOICES.match(comment):
        item = Literal[tuple(part.strip() for part in found[1].split(","))]
    elif found := _INTERVAL.match(comment):
        least, most = (
            "ge" if found[1] == "[" else "gt",
            "le" if found[4] == "]" else "lt",
        )
        ends: dict[str, Any] = {least: float(found[2]), most: float(found[3])}
        item = Annotated[
            item, Field(**{k: end for k, end in ends.items() if math.isfinite(end)})
        ]
    if found:
        kind = Annotated[list[item], Field(min_length=1)] if many else item
    within = f"{', one or more' if many else ''} in {found[0]}" if found else ""
    help_ = comment[found.end() if found else 0 :].strip()
    return Parameter(annotation, default, annotation + within, help_, TypeAdapter(kind))


def read_parameters(notebook: Path) -> dict[str, Parameter]:
    """Return the parameters that a text notebook declares, in order, without the runner's own.

    The parameters cell has only annotated literals, each with a comment, such as
    ``n_draws: int = 100  # [1, 10000] draws that are kept``.
    """
    cell = _CELL.search(notebook.read_text(encoding="utf-8") + "\n")
    source, declared, wrong = (
        cell[1] if cell else "",
        dict[str, Parameter](),
        list[str](),
    )
    for node in ast.parse(source).body:
        try:
            if not (isinstance(node, ast.AnnAssign) and node.value):
                raise ValueError("not an annotated literal")
            name, default = ast.unparse(node.target), ast.literal_eval(node.value)
            line = source.splitlines()[(node.end_lineno or 0) - 1].encode()
            comment = line[node.end_col_offset :].decode().lstrip("# ")
            declared[name] = _declare(ast.unparse(node.annotation), default, comment)
            check_values(declared, {name: default}, wrong)
        except (ValueError, NameError) as error:
            wrong.append(f"'{ast.unparse(node).splitlines()[0]}': {error}")
    if not declared.pop(OUTPUT_DIR, None):
        wrong.append(f"no cell tagged parameters declares {OUTPUT_DIR}: str")
    if wrong:
        raise UsageError("\n".join(f"{notebook.name}: {line}" for line in wrong))
    return declared


def find_root(start: Path) -> Path:
    """Return the project's folder: the nearest with notebooks/ and params/, at or above start.

    If there is none, return the folder in the installed package, or the package's
    checkout.
    """
    for folder in [start, *start.parents, SHIPPED, SHIPPED.parents[1]]:
        if (folder / "notebooks").is_dir() and (folder / "params").is_dir():
            return folder
    raise UsageError(f"no folder with notebooks/ and params/ at or above {start}")


def find_outputs(start: Path) -> Path:
    """Return the folder for runs: beside the notebooks if start is in the project, else in start.

    Results of a user do not go to an installed package or to a checkout elsewhere.
    """
    root = find_root(start)
    return (root if start.is_relative_to(root) else start) / "outputs"


def find_papers(root: Path, asked: Sequence[str] = ()) -> list[str]:
    """Return the requested papers, each once; by default, all text notebooks, sorted."""
    known = sorted(path.stem for path in (root / "notebooks").glob("*.py"))
    if wrong := [
        unknown_name("paper", one, known) for one in asked if one not in known
    ]:
        raise UsageError("\n".join(wrong))
    return list(dict.fromkeys(asked)) or known


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that is not among the known ones."""
    return f"unknown {kind} {name!r} (known: {', '.join(known) or 'none'})"


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML or JSON file; a UsageError names the file, but no value."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("this is not a regular file")
        is_json = path.suffix in (".json", ".ipynb")
        values = json.loads(path.read_bytes()) if is_json else yaml_io.read(path) or {}
        if not isinstance(values, dict):
            raise ValueError("the file must map names to values")
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{printable(path)} cannot be read: {error}") from None
    return {str(name): value for name, value in values.items()}


def shown(path: Path) -> str:
    """Return a path as text, relative to the working folder; the same on every system."""
    short = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return printable(short.as_posix())


class Request(NamedTuple):
    """A notebook to run, and the folder for its results.

    ``parameters`` has the values of all parameters except ``output_dir``; ``changed``
    has those that differ from the profile; ``inputs`` has the SHA-256 of the files that
    parameters name, by path. ``source`` is the required `source_hash` of notebook and
    library.
    """

    notebook: Path
    folder: Path
    parameters: Mapping[str, Any]
    changed: Mapping[str, Any]
    inputs: Mapping[str, str]
    source: str

    @property
    def failed(self) -> Path:
        """The folder for a failed run."""
        return self.folder.with_name(f"{self.folder.name}.failed")

    @property
    def provenance(self) -> dict[str, Any]:
        """The provenance on disk of a run with the same files, complete or failed; else empty."""
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
    """Return the SHA-256 of a notebook's text, its printed numbers, and the library's methods."""
    digest = hashlib.sha256()
    printed = (
        SHIPPED if SHIPPED.is_dir() else LIBRARY.parent
    ) / f"notebooks/{notebook.stem}.csv"
    files = sorted(LIBRARY.glob("**/[!.]*"))  # without editors' hidden files
    methods = (f for f in files if _NO_METHODS.isdisjoint(f.relative_to(LIBRARY).parts))
    for file in filter(Path.is_file, [notebook, printed, *methods]):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def named_files(parameters: Mapping[str, Any]) -> list[str]:
    """Return the files and folders that parameters name."""
    named = [parameters[name] for name in FILE_PARAMETERS if parameters.get(name)]
    return [path for one in named for path in ([one] if isinstance(one, str) else one)]


def input_files(parameters: Mapping[str, Any]) -> list[Path]:
    """Return the files that parameters name, and all but hidden files in folders they name."""
    paths = map(Path, named_files(parameters))
    held = [sorted(path.glob("[!.]*")) if path.is_dir() else [path] for path in paths]
    return list(filter(Path.is_file, itertools.chain(*held)))


def missing_files(parameters: Mapping[str, Any]) -> list[str]:
    """Return a message for each file that parameters name and that does not exist."""
    named = [path for path in named_files(parameters) if not re.match("acs(:|$)", path)]
    return [
        f"file {yaml_io.brief(path)} does not exist"
        for path in named
        if not Path(path).exists()
    ]


def hash_inputs(parameters: Mapping[str, Any]) -> dict[str, str]:
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
    declared: Mapping[str, Parameter],
    values: Mapping[str, Any],
    wrong: list[str],
    *,
    typed: bool = False,
) -> dict[str, Any]:
    """Return given values in their parameters' types, and append error messages to a list.

    Values typed on a command line are YAML, except for texts, which are taken
    literally.
    """
    good = {}
    wrong += [
        unknown_name("parameter", name, declared)
        for name in values
        if name not in declared
    ]
    for name in filter(declared.__contains__, values):
        one, value = declared[name], values[name]
        try:
            read = yaml_io.load(value) if typed and one.annotation != "str" else value
            good[name] = one.type.validate_python(read, strict=True)
        except ValueError:
            wrong.append(f"{name} = {yaml_io.brief(value)}; it must be {one.allowed}")
    return good


def resolve(
    root: Path,
    outputs: Path,
    paper: str,
    profile: str = "default",
    params_file: Path | None = None,
    overrides: Mapping[str, str] | None = None,
) -> Request:
    """Return the checked request for a run of a paper into ``outputs/<paper>/<profile>``.

    Values come from the notebook's defaults, the profile, the file and the command
    line's overrides; later ones replace earlier ones. A UsageError has a line for each
    error.
    """
    find_papers(root, [paper])
    found = sorted(root.glob(f"params/{paper}/*.yaml"))
    profiles = {file.stem: file for file in found if not file.stem.startswith("sweep_")}
    if profile not in (known := dict.fromkeys(["default", *profiles])):
        raise UsageError(f"{paper}: {unknown_name('profile', profile, known)}")
    notebook, wrong = root / f"notebooks/{paper}.py", list[str]()
    declared = read_parameters(notebook)
    files = profiles.get(profile), params_file
    given = [read_mapping(file) if file else {} for file in files]
    values = {name: p.default for name, p in declared.items()}
    values |= check_values(declared, given[0], wrong)
    changed = check_values(declared, given[1], wrong)
    changed |= check_values(declared, overrides or {}, wrong, typed=True)
    wrong += missing_files(values | changed)
    folder = outputs.resolve() / paper / profile
    if re.search(
        "[\ud800-\udfff]", str(folder)
    ):  # surrogates, which notebooks cannot hold
        wrong.append(f"the output folder is {shown(folder)}; its path must be UTF-8")
    if wrong:
        raise UsageError("\n".join(f"{paper}: {line}" for line in wrong))
    values |= changed
    return Request(
        notebook, folder, values, changed, hash_inputs(values), source_hash(notebook)
    )
