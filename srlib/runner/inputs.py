"""What notebooks read of their users: checked before a kernel starts."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# The library's modules are imported where they are used: most notebooks have nothing to check.

# Columns that the notebook's tables have beside the variables.
_BESIDE_VARIABLES = (
    *("repetitions", "estimator", "probability", "rank", "support_size", "log_mcse", "pareto_k"),
    *("combination", "prior", "posterior"),
)


def check(paper: str, parameters: Mapping[str, Any]) -> None:
    """Read and check the files and the names of variables that a notebook is to run on.

    Parameters
    ----------
    paper : str
        Name of a text notebook without its ending. Where `CHECKS` has none for it, or one for
        other parameters than it has, nothing is checked.
    parameters : mapping
        Values by name.

    Raises
    ------
    ValueError
        For what the notebook would refuse, with its message.
    OSError
        For a file that cannot be opened.
    """
    if arguments := checked(paper, parameters):
        CHECKS[paper](**arguments)


def checked(paper: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return those parameters that `check` looks at; none where nothing is checked."""
    names = inspect.signature(CHECKS[paper]).parameters if paper in CHECKS else {}
    return {name: parameters[name] for name in names} if set(names) <= set(parameters) else {}


def _hu_reiter_wang(
    *,
    data: str,
    schema: str,
    drop_missing: bool,
    ignore_columns: bool,
    vintage: int,
    pairs: Sequence[Sequence[str]],
    outcome: str,
    predictors: Sequence[str],
    unknown: Sequence[str],
) -> None:
    from srlib.data import microdata

    read = microdata.schema_of(
        data, schema, drop_missing=drop_missing, ignore_columns=ignore_columns, vintage=vintage
    )
    read.check_apart(_BESIDE_VARIABLES)
    if outcome or predictors:
        read.positions([outcome], "outcome")
        read.positions(predictors, "predictors")
        if outcome in predictors:
            raise ValueError(f"outcome is {outcome!r}, which is among the predictors")
    read.positions(unknown, "unknown")
    for pair in pairs:
        read.positions(pair, "pairs", exactly=2)


def _sequential_trees(
    *,
    data: str,
    schema: str,
    drop_missing: bool,
    ignore_columns: bool,
    vintage: int,
    order: Sequence[str],
    ordered: Sequence[str],
    unknown: Sequence[str],
) -> None:
    from srlib.data import microdata
    from srlib.trees.model import checked_order

    read = microdata.schema_of(
        data, schema, drop_missing=drop_missing, ignore_columns=ignore_columns, vintage=vintage
    )
    checked_order(read, order or None)
    if ordered:
        read.positions(ordered, "ordered")
    read.positions(unknown, "unknown")


def _assess(
    *,
    original: str,
    released: Sequence[str],
    schema: str,
    keys: Sequence[Sequence[str]],
    target: Sequence[str],
    within: Mapping[str, float],
    by: str,
    holdout: str,
) -> None:
    if original or released:
        from srlib.assessment.tables import take_in

        take_in(
            original, released, keys=keys, target=target, schema=schema, within=within, by=by,
            holdout=holdout,
        )  # fmt: skip
    elif alone := [name for name, v in {"schema": schema, "holdout": holdout}.items() if v]:
        raise ValueError(f"{', '.join(alone)} without original; the example has no files")
    else:
        from srlib.data.microdata import ACS

        named = [*(("keys", each) for each in keys), ("target", target), ("by", [by] * bool(by))]
        for name, some in (*named, ("within", list(within))):
            if some:
                ACS.positions(some, name)


CHECKS: Mapping[str, Callable[..., None]] = {
    "hu_reiter_wang": _hu_reiter_wang,
    "sequential_trees": _sequential_trees,
    "assess": _assess,
}
"""What reads and checks a notebook's files, by its name; called with parameters of its names."""
