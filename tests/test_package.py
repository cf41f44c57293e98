"""The package: what it shows, what it needs, what a wheel holds, how large it is."""

import ast
import doctest
import importlib.metadata
import io
import json
import re
import runpy
import shutil
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import complexipy
import pytest
import toy

import srlib
from srlib.runner.parameters import find_papers

SETTINGS = tomllib.loads((toy.ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, SIZE = SETTINGS["project"], SETTINGS["tool"]["size"]


def run(*command: str | Path, cwd: Path = toy.ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


# ----------------------------------------------------------------------- the front door

NAMES = [name for name in srlib.__all__ if hasattr(getattr(srlib, name), "__module__")]


def test_importing_imports_nothing() -> None:
    imported = run(
        sys.executable, "-c", "import srlib, sys; print(*sys.modules)"
    ).split()
    assert not {"numpy", "pandas", "altair"} & {*imported}
    assert [name for name in imported if name.startswith("srlib")] == ["srlib"]


def test_every_name_is_there_and_listed() -> None:
    assert dir(srlib) == sorted(srlib.__all__)
    with pytest.raises(AttributeError, match="no attribute 'assay'"):
        getattr(srlib, "assay")  # noqa: B009


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_an_example_that_runs(name: str) -> None:
    thing = getattr(srlib, name)
    finder = doctest.DocTestFinder(recurse=isinstance(thing, type))
    found = finder.find(thing, name, module=sys.modules[thing.__module__])
    runner = doctest.DocTestRunner()
    for examples in found:
        runner.run(examples)
    assert runner.failures == 0 < runner.tries


def test_a_change_of_the_public_api_is_seen() -> None:
    committed = (toy.ROOT / "docs" / "signatures.txt").read_text("utf-8")
    assert run(sys.executable, "tools/signatures.py") == committed


def test_the_version_is_the_packages() -> None:
    assert srlib.__version__ == PROJECT["version"]
    assert f"version: {srlib.__version__}" in (toy.ROOT / "CITATION.cff").read_text(
        "utf-8"
    )


# ------------------------------------------------------------------------ what it needs


def names(requirements: list[str]) -> set[str]:
    """Names of requirements, normalized as on the index of packages."""
    found = (re.split(r"[^\w.-]", line.strip(), maxsplit=1)[0] for line in requirements)
    return {re.sub(r"[._-]+", "-", name).lower() for name in found}


def modules(distributions: set[str]) -> set[str]:
    found = importlib.metadata.packages_distributions()
    return {module for module, given in found.items() if names(given) & distributions}


CORE = names(PROJECT["dependencies"])
DIRECT = CORE | names([*chain(*PROJECT["optional-dependencies"].values())]) - {"srlib"}
WITH_THE_CORE = """
import sys
class Missing:
    def find_spec(name, *_):
        if name in {missing}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Missing)
"""
METHODS = """
import doctest, importlib, pkgutil, srlib
for found in pkgutil.walk_packages(srlib.__path__, "srlib."):
    if found.name.split(".")[1] not in ("__main__", "runner", "charts", "shipped"):
        print(importlib.import_module(found.name).__name__)
called = vars(sys.modules[srlib.assess.__module__])
doctest.run_docstring_examples(srlib.assess, called)  # what fails is printed
"""


def with_the_core(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where what only extras require is missing."""
    missing = modules(DIRECT - CORE) - modules(CORE)
    command = [sys.executable, "-c", WITH_THE_CORE.format(missing=missing) + code]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_core_has_every_method_and_assesses() -> None:
    done = with_the_core(METHODS)
    assert done.returncode == 0, done.stderr
    imported = done.stdout.splitlines()
    assert {"srlib.assessment.run", "srlib.risk.posterior", "srlib.trees.kernels"} < {
        *imported
    }
    assert [line for line in imported if not line.startswith("srlib.")] == []


TREES = "srlib.fit_trees(pandas.DataFrame({'job': ['a', 'b']}))"
FILE = toy.ROOT / "notebooks/charest.csv"
MAIN = "from srlib.__main__ import main; sys.argv[1:] = '{}'.split(); main()"


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("from srlib import charts", "charts"),
        (f"import pandas, srlib; {TREES}", "samplers"),
        (MAIN.format(f"assess {FILE} {FILE} --synthesizer rpart"), "samplers"),
        (MAIN.format("run charest"), "notebooks"),
    ],
)
def test_an_error_names_the_extra_that_is_missing(code: str, extra: str) -> None:
    *trace, message = with_the_core(code).stderr.splitlines()
    assert message.endswith(f'not installed: pip install "srlib[{extra}]"')
    assert bool(trace) == ("main()" not in code)  # one line from the command


FIRST_HOUR = """
import sys
import jupytext
from IPython.core.interactiveshell import InteractiveShell
lacking = "arviz_stats numba pooch pyarrow sklearn statsmodels vl_convert"
sys.modules.update(dict.fromkeys(lacking.split()))
for cell in jupytext.read("notebooks/one_table_two_readings.py").cells:
    if cell.cell_type == "code":
        InteractiveShell.instance().run_cell(cell.source).raise_error()
"""


def test_the_first_hour_runs_without_what_a_browser_lacks() -> None:
    """Pyodide has no Numba, pooch, ArviZ and vl-convert; the others are large."""
    assert "Chart: " in run(sys.executable, "-c", FIRST_HOUR)


GROUND = {"arrays", "checks", "compiled", "display"}
GROUND |= {"progress", "rng", "threads", "yaml_io"}


# A module of srlib, or names of several.
IMPORT = r"(?m)^ *from srlib(?:\.(\w+)[\w.]*)? import (.+)"


def arrows() -> set[tuple[str, str]]:
    """Return the imports between packages of srlib, without its ground floor."""
    found = set()
    for file, text in texts("srlib").items():
        package = Path(file).relative_to("srlib").with_suffix("").parts[0]
        for module, names in re.findall(IMPORT, text):
            imported = module or names
            found |= {(package, other) for other in imported.split(", ")}
    unseen = {"__init__", "__main__", "__version__", *GROUND}
    return {(a, b) for a, b in found if a != b and not {a, b} & unseen}


def test_the_picture_of_the_architecture_has_the_imports() -> None:
    text = (toy.ROOT / "CONTRIBUTING.md").read_text("utf-8")
    drawn = set()
    for package, imported in re.findall(r"^(\w+) --> ([\w &]+)$", text, re.MULTILINE):
        drawn |= {(package, other) for other in imported.split(" & ")}
    assert drawn == arrows()


def test_what_the_library_imports_is_declared() -> None:
    form = re.compile(r"^\s*(?:import (\w+)|from (\w+)[\w.]* import )", re.MULTILINE)
    imported = {"".join(names) for names in form.findall(library())}
    assert imported - sys.stdlib_module_names - modules(DIRECT) == {"srlib"}


def test_the_lock_has_plain_lines_and_every_direct_dependency() -> None:
    lock = (toy.ROOT / "requirements.lock").read_text("utf-8")
    plain = re.findall(
        r"^([a-z0-9][a-z0-9._-]*)==[\w.+!-]+(?: ; .+)?$", lock, re.MULTILINE
    )
    assert len(plain) == len(lock.splitlines())
    assert set(plain) >= DIRECT


# ------------------------------------------------------------------- what a wheel holds


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lib")
    build = [
        "egg_info",
        f"--egg-base={folder}",
        "build_py",
        f"--build-lib={folder}/site",
    ]
    run(sys.executable, "setup.py", "-q", *build)
    return folder / "site"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with two files of records."""
    toy.write_records(tmp_path / "own")
    return tmp_path / "own"


def test_an_installed_package_carries_all_papers_and_parameters(site: Path) -> None:
    shipped = site / "srlib/shipped"
    assert find_papers(shipped) == find_papers(toy.ROOT)
    profiles = {name for name in files(toy.ROOT / "params") if name.endswith(".yaml")}
    assert files(shipped / "params") == profiles


def test_an_installed_package_assesses_files_in_a_folder_of_their_own(
    site, own, monkeypatch
):
    """It has its own notebooks, and writes beside the files alone."""
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv(
        "NUMBA_DISABLE_JIT", "1"
    )  # nothing is compiled there, and tables are small
    command, before = [sys.executable, "-m", "srlib"], files(site)
    told = run(*command, "assess", "original.csv", "made.csv", "--json", cwd=own)
    assert Path(json.loads(told)["report"]).is_relative_to(own / "outputs/assess")
    assert {path.name for path in own.iterdir()} == {
        "original.csv",
        "made.csv",
        "outputs",
    }
    built = subprocess.run([*command, "build"], cwd=own, capture_output=True, text=True)
    assert (built.returncode, "built in a checkout" in built.stderr) == (2, True)
    assert files(site) == before


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, unpacked."""
    folder = tmp_path_factory.mktemp("source")
    build = f"setup.py -q egg_info --egg-base={folder} sdist --dist-dir={folder}"
    run(sys.executable, *build.split())
    (archive,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(archive, folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def test_links_of_the_readme_lead_from_the_index_to_the_repository() -> None:
    build = runpy.run_path(str(toy.ROOT / "setup.py"))
    readme = (toy.ROOT / "README.md").read_text("utf-8")
    text = build["with_addresses"](readme, "https://host", "1.0")
    assert (
        re.findall(r"\]\((?!https://host/(?:raw/v1.0/.*svg|blob/v1.0/)).*", text) == []
    )


@pytest.mark.slow
def test_an_sdist_holds_what_its_tests_need(source: Path) -> None:
    assert {"CHANGELOG.md", "CITATION.cff", "environment.yml"} < files(source)
    run(sys.executable, "-m", "pytest", "--collect-only", "-q", cwd=source)


@pytest.mark.slow
def test_a_fresh_install_assesses_runs_a_paper_and_makes_a_course(
    source: Path, own: Path
) -> None:
    """From the sdist, in an environment of its own, without and with notebooks."""
    scripts = own.with_name("venv") / "bin"
    run(sys.executable, "-m", "venv", scripts.parent)
    for extra, typed, shown in (
        ("", "assess original.csv made.csv", "outputs/assess/made-"),
        ("[notebooks]", "run charest_han", "outputs/charest_han/default"),
        ("[notebooks]", "course charest", "outputs/course/source: charest"),
    ):
        install = f"-m pip install --quiet {source}{extra}"
        run(scripts / "python", *install.split())
        assert shown in run(scripts / "srlib", *typed.split(), cwd=own)


# ---------------------------------------------------------------------- how large it is


def tokens_by_line(text: str) -> Counter[int]:
    """Count the names, operators and numbers on each line."""
    counted = (tokenize.NAME, tokenize.OP, tokenize.NUMBER)
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.start[0] for token in found if token.type in counted)


def texts(folder: str) -> dict[str, str]:
    """Texts of the Python files of a folder, or of ``srlib/ground``."""
    pattern = "srlib/*.py" if folder == "srlib/ground" else f"{folder}/**/*.py"
    files = sorted(toy.ROOT.glob(pattern))
    return {str(file.relative_to(toy.ROOT)): file.read_text("utf-8") for file in files}


def library() -> str:
    """The text of all files of srlib."""
    return "\n".join(texts("srlib").values())


def functions(folder: str) -> Iterator[tuple[int, str]]:
    """Yield the tokens of each function and its name, as ``file:function``."""
    for file, text in texts(folder).items():
        counts = tokens_by_line(text)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                yield sum(counts[line] for line in lines), f"{file}:{node.name}"


def complexities(folder: str) -> Iterator[tuple[int, str]]:
    """Yield the cognitive complexity and the name of each function."""
    for file in texts(folder):
        for function in complexipy.file_complexity(str(toy.ROOT / file)).functions:
            yield function.complexity, f"{file}:{function.name}"


def binds_several(node: ast.Assign) -> bool:
    """Whether an assignment binds several values that stand side by side."""
    is_tuple = any(isinstance(target, ast.Tuple) for target in node.targets)
    return is_tuple and isinstance(node.value, ast.Tuple)


@pytest.mark.parametrize("folder", SIZE["tokens"])
def test_tokens(folder: str) -> None:
    """A package is no larger, and its lines are no denser, than the limits."""
    counts = [tokens_by_line(text) for text in texts(folder).values()]
    tokens = sum(count.total() for count in counts)
    lines = sum(len(count) for count in counts)
    assert 0 < tokens <= SIZE["tokens"][folder]
    assert tokens / lines <= SIZE["tokens_a_line"][folder]


def test_functions_are_short() -> None:
    """The limit may be exceeded by some; which are the longest is shown."""
    longest = sorted(functions("srlib"), reverse=True)
    long = [name for tokens, name in longest if tokens > SIZE["function"]["tokens"]]
    assert len(long) <= SIZE["function"]["longer"], longest[:10]


def test_functions_are_simple_but_for_the_loops_of_kernels() -> None:
    simple, kernels = SIZE["function"]["complexity"], set(SIZE["function"]["kernels"])
    complex_ones = {name for value, name in complexities("srlib") if value > simple}
    assert complex_ones == kernels, sorted(complexities("srlib"), reverse=True)[:10]


def test_an_assignment_binds_one_value() -> None:
    nodes = ast.walk(ast.parse(library()))
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    several = sum(map(binds_several, assigned))
    assert several / len(assigned) <= SIZE["several_bound"]


def test_the_formatter_is_seldom_skipped() -> None:
    assert library().count("# fmt: skip") <= SIZE["formatter_skipped"]


def test_the_measures_see_what_they_count() -> None:
    text = "a, b = 1, 2  # one line\n\n\nc = 'a long text'\n"
    assert tokens_by_line(text) == {1: 7, 4: 2}
    first, second = ast.parse(text + "x, y = pair").body[::2]
    assert isinstance(first, ast.Assign)
    assert isinstance(second, ast.Assign)
    assert (binds_several(first), binds_several(second)) == (True, False)
