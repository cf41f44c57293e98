"""The files that a new paper starts from."""

import keyword
from pathlib import Path

from srlib.runner.parameters import UsageError

_NOT_RUNS = ("site", "course")  # folders in outputs/ that other commands write

_PRINTED = """\
id,source,quantity,relation,printed,tolerance
example_epsilon,Section 1,epsilon of the smallest example,=,1.10,
"""
_PROFILE = """\
# The paper's own settings (section 1).
n: 20
alpha: 1.0
"""


def write(root: Path, paper: str) -> list[Path]:
    """Write the text notebook, the published profile and the printed numbers of a new paper.

    Parameters
    ----------
    root : Path
        The project's folder, with the library in it.
    paper : str
        The paper's key: a name in lower case that Python takes, such as ``dwork_2006``.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    UsageError
        If the key is no such name, or that of a folder of ours; if one of the files exists; if the
        library lies elsewhere.
    """
    if not paper.isidentifier() or keyword.iskeyword(paper) or paper != paper.lower():
        raise UsageError(
            f"PAPER is {paper!r}; it must be lower-case letters, digits and underscores, not "
            "begin with a digit, and be no word of Python's"
        )
    if paper in _NOT_RUNS:
        raise UsageError(f"PAPER is {paper!r}; outputs/{paper}/ is where 'srlib {paper}' writes")
    import jinja2

    template = Path(__file__).parent / "templates" / "notebook.py.j2"
    notebook = jinja2.Template(template.read_text(encoding="utf-8"), keep_trailing_newline=True)
    texts = {
        root / "notebooks" / f"{paper}.py": notebook.render(paper=paper),
        root / "params" / paper / "published.yaml": _PROFILE,
        root / "notebooks" / f"{paper}.csv": _PRINTED,
    }
    if not (root / "srlib").is_dir():
        raise UsageError(f"{root} holds no srlib/; a paper is added in a checkout")
    if existing := [path for path in texts if path.exists()]:
        raise UsageError(f"{paper} exists: {', '.join(map(str, existing))}")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return list(texts)


def checklist(paper: str) -> str:
    """Return what is to be done after `write`, one step a line."""
    return f"""\
Next:
 1. srlib build {paper}: it runs as it is; do so after each step.
 2. Type every printed number into notebooks/{paper}.csv, with the digits as printed.
 3. In notebooks/{paper}.py: citation, claims with quantifier, criterion and place.
 4. The smallest example, then a section for each claim, with its computation in cells; srlib has
    what is general, fast or shared, with its tests. Tags: monte-carlo for chains, public for
    what depends on neither a user's file nor the seed.
 5. The ledger: a computed value or a reason to skip for every printed number, a note for each
    that differs, and the computation that explains it.
 6. Three to five exercises with solutions; one of them finds a printed error.
 7. The paper's settings in params/{paper}/published.yaml; srlib run {paper} --profile published.
 8. A row in the tables of README.md and docs/notebooks.md; make test; commit text and .ipynb."""
