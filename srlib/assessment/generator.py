"""The generator behind releases, named by a text, and the risks of what it could have drawn."""

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment.submission import Submission
from srlib.data.schema import Microdata
from srlib.diagnostics import MAX_R_HAT
from srlib.display import percent
from srlib.dpmpm.fit import Mixture
from srlib.dpmpm.model import Chains
from srlib.margins import LaplaceMargins, PlugInMargins
from srlib.risk.before import RiskBeforeRelease, risks_by_size
from srlib.risk.columns import check_synthesizer
from srlib.risk.posterior import ImpossibleRelease, posterior_risk
from srlib.risk.synthesizers import Density, Synthesizer
from srlib.trees import Growth, Trees, fit_trees

type Generator = Trees | Density | Mixture
"""What risks before release can be computed of."""
type Release = Callable[[Microdata, np.random.Generator], NDArray[np.integer]]
"""A generator that is fitted anew to each table and releases one."""

CHAINS = Chains(n_classes=20, burn_in=500, n_draws=100, thin=5)
"""Of ``dpmpm``: short ones, since they run for every release that is drawn."""


def _trees(table: Microdata, settings: Mapping[str, Any]) -> Generator:
    return fit_trees(table, growth=Growth(**settings))


def _dpmpm(table: Microdata, settings: Mapping[str, Any]) -> Generator:
    own = {f.name: getattr(CHAINS, f.name) for f in fields(CHAINS)}
    return Mixture(table.schema.n_levels, Chains(**{**own, **settings}))


def _margins(table: Microdata, settings: Mapping[str, Any]) -> Generator:
    levels = table.schema.n_levels
    return LaplaceMargins(levels, **settings) if settings else PlugInMargins(levels)


_MAKERS: dict[str, tuple[Callable[[Microdata, Mapping[str, Any]], Generator], dict[str, type]]] = {
    "trees": (_trees, {"min_leaf": int, "max_depth": int, "criterion": str, "smoothing": float}),
    "dpmpm": (
        _dpmpm,
        dict.fromkeys(("n_classes", "burn_in", "n_draws", "thin", "n_chains"), int),
    ),
    "margins": (_margins, {"epsilon": float}),
}


@dataclass(frozen=True)
class Named:
    """A generator's name, read.

    Attributes
    ----------
    name : str
        ``"trees"``, ``"dpmpm"`` or ``"margins"``; or what a file calls it.
    file : Path, optional
        The Python file that has it.
    settings : mapping
        By name.
    """

    name: str
    file: Path | None
    settings: Mapping[str, Any]


def read(text: str) -> Named:
    """Read the name of a generator; nothing is run.

    Parameters
    ----------
    text : str
        ``trees``, ``dpmpm`` or ``margins``, with settings as in ``trees:min_leaf=20,smoothing=1``:
        those of `srlib.trees.Growth`, of `srlib.dpmpm.Chains`, and ``epsilon`` for margins with
        Laplace noise. Or ``FILE.py:NAME``.

    Raises
    ------
    ValueError
        If it is none of these, or the file does not exist.
    """
    path, ending, name = text.rpartition(".py:")
    if ending or text.endswith(".py"):
        file = Path(path + ".py" if ending else text)
        if not file.is_file():
            raise ValueError(f"synthesizer: {file} does not exist")
        if not name.isidentifier() or not ending:
            raise ValueError(
                f"synthesizer: {text} names no function or object; write {file.name}:NAME"
            )
        return Named(name, file, {})
    name, _, listed = text.partition(":")
    if name not in _MAKERS:
        raise ValueError(
            f"synthesizer is {text}; it must be {', '.join(_MAKERS)}, some with settings as in "
            "trees:min_leaf=20,smoothing=1, or FILE.py:NAME"
        )
    types, settings = _MAKERS[name][1], {}
    for part in filter(None, listed.split(",")):
        key, _, value = (piece.strip() for piece in part.partition("="))
        if key not in types:
            raise ValueError(f"synthesizer: {name} has no setting {key}; it has {', '.join(types)}")
        try:
            settings[key] = types[key](value)
        except ValueError:
            kind = "a whole number" if types[key] is int else "a number"
            raise ValueError(f"synthesizer: {key} is {value}; it must be {kind}") from None
    return Named(name, None, settings)


class NoDensity(ValueError):
    """A generator that can only be run."""


def made(text: str, table: Microdata) -> Generator:
    """Make the generator that a text names, and check that its risks can be computed.

    Of a Python file the code is run: NAME is a synthesizer, or a function that makes one of the
    original table. One release is then drawn and its density computed, for a sound error now.

    Parameters
    ----------
    text : str
        As of `read`.
    table : Microdata
        The original.

    Raises
    ------
    ValueError
        As `read`; if the file has no such name, its code fails, a setting is out of range, or what
        it makes has no density or one that does not fit.
    """
    named = read(text)
    if named.file is None:
        try:
            own = _MAKERS[named.name][0](table, named.settings)
            check_synthesizer(own, table)
            return own
        except ValueError as error:
            raise ValueError(f"synthesizer: {named.name}: {error}") from None
    found = _called(named.file, lambda: getattr(_module(named), named.name))
    if callable(found) and (isinstance(found, type) or not hasattr(found, "release")):
        found = _called(named.file, lambda: found(table))
    if isinstance(found, Synthesizer) and not isinstance(found, Trees | Density | Mixture):
        raise NoDensity(
            f"synthesizer: what {text} makes has release and no log_prob. Without a density there "
            "is no risk before release; srlib.leakage_bound bounds it from below (see the notebook "
            "any_generator), and n_splits asks what it tells of people"
        )
    if not isinstance(found, Trees | Density | Mixture):
        raise ValueError(
            f"synthesizer: {text} is {type(found).__name__}; it must have the functions release "
            "and log_prob, or make something that has them"
        )
    check_synthesizer(found, table)
    if not isinstance(found, Trees | Mixture):
        _called(named.file, lambda: _tried(found, table, text))
    return found


def made_if_dense(text: str, table: Microdata, required: bool) -> Generator | None:
    """Make a generator as `made` does; None for one that has no density, unless that is required.

    Raises
    ------
    ValueError
        As `made`.
    """
    try:
        return made(text, table)
    except NoDensity:
        if required:
            raise
        return None


def refit(source: str | Synthesizer | Trees) -> Release:
    """Return a generator as a function that fits it to any table and draws one release.

    Parameters
    ----------
    source : str, Synthesizer or Trees
        A text as of `read`; of a Python file the code is run, once. NAME needs no density here: it
        is a synthesizer, which releases from the table that it is given, or a function that makes
        one of it. Trees are grown again, in the same way.

    Raises
    ------
    ValueError
        As `read`; if the file has no such name or its code fails.
    """
    if not isinstance(source, str):
        return lambda table, rng: _one_release(source, table, rng)
    named = read(source)
    if (file := named.file) is None:
        maker = _MAKERS[named.name][0]
        return lambda table, rng: _one_release(maker(table, named.settings), table, rng)
    found = _called(file, lambda: getattr(_module(named), named.name))
    makes = callable(found) and (isinstance(found, type) or not hasattr(found, "release"))

    def release(table: Microdata, rng: np.random.Generator) -> NDArray[np.integer]:
        def own() -> NDArray[np.integer]:
            made = found(table) if makes else found
            if not hasattr(made, "release"):
                raise _Own(f"{source} is {type(made).__name__}; it must have the function release")
            return _one_release(made, table, rng)

        return _called(file, own)

    return release


def _one_release(
    generator: Synthesizer | Trees, table: Microdata, rng: np.random.Generator
) -> NDArray[np.integer]:
    """Release a table, of trees after growing them on it."""
    if not isinstance(generator, Trees):
        return generator.release(table.codes, rng=rng)
    own = generator
    if own.codes is not table.codes:
        own = Trees.grow(table.codes, table.schema, own.order, own.ordered, own.growth)
    return own.release(rng=rng)[0].codes


def _tried(density: Density, table: Microdata, text: str) -> None:
    """Raise a ValueError unless one release and its log probability are sound."""
    released = np.asarray(density.release(table.codes, rng=np.random.default_rng(0)))
    levels = table.schema.n_levels
    if (
        released.ndim != 2
        or released.shape[1] != len(levels)
        or not np.issubdtype(released.dtype, np.integer)
        or not len(released)
        or (released < 0).any()
        or (released >= levels).any()
    ):
        raise ValueError(
            f"synthesizer: release of {text} returns something else than records coded from 0, "
            f"with {len(levels)} variables"
        )
    found = np.asarray(density.log_prob(released, table.codes), dtype=float)
    if found.shape or not np.isfinite(found):
        raise ValueError(
            f"synthesizer: log_prob of {text} is no finite number for a release that it has drawn"
        )


def _module(named: Named) -> ModuleType:
    """Run a file's code as a module, and say if it has no such name."""
    assert named.file is not None
    module = ModuleType("srlib_generator")
    module.__file__ = str(named.file)
    sys.modules[module.__name__] = module  # where dataclasses and pickles look for it
    exec(compile(named.file.read_bytes(), str(named.file), "exec"), module.__dict__)
    if not hasattr(module, named.name):
        own = [name for name in vars(module) if not name.startswith("_")]
        raise _Own(
            f"synthesizer: {named.file} has no {named.name}; it has {', '.join(own) or 'nothing'}"
        )
    return module


class _Own(ValueError):
    """An error that says what is wrong with a file."""


def _called[T](file: Path, function: Callable[[], T]) -> T:
    """Call what a file holds; of an error of its own only type and line are told."""
    try:
        return function()
    except _Own:
        raise
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__)
                 if f.filename == str(file)]  # fmt: skip
        if isinstance(error, SyntaxError):
            lines = [error.lineno]
        elif isinstance(error, ValueError) and not lines:
            raise
        place = f" in line {lines[-1]}" if lines else ""
        raise ValueError(f"synthesizer: {file} raises {type(error).__name__}{place}") from error


# ---------------------------------------------------------------------------- risks before release


@dataclass(frozen=True)
class Before:
    """Risks of publications that a generator could make, and where the releases at hand lie.

    Attributes
    ----------
    by_size : dict of int to RiskBeforeRelease
        By the number of releases in a publication: one, as many as were assessed, and as many as
        are judged together.
    places : DataFrame
        As `RiskBeforeRelease.place` returns, of each part that is judged: release, releases,
        summary, value, expected, worst, lower, same and higher. Parts that the generator cannot
        have made have NaN.
    """

    by_size: Mapping[int, RiskBeforeRelease]
    places: pd.DataFrame

    def over_records(self) -> pd.DataFrame:
        """Return the risks over all records: releases, summary, expected, worst, their errors."""
        tables = {size: risk.over_records() for size, risk in self.by_size.items()}
        return pd.concat(tables, names=["releases", "summary"]).reset_index()

    def of_records(self) -> pd.DataFrame:
        """Return the risks of every combination for a single release, the highest first."""
        return self.by_size[1].to_frame().sort_values("expected", ascending=False)

    def pictured(self) -> pd.DataFrame:
        """Return expected and worst risks of combinations, for `charts.risk_histogram`."""
        frame = self.by_size[1].to_frame()
        titles = {"expected": "mean over releases", "worst": "not exceeded by 95 % of releases"}
        return pd.concat(
            [
                pd.DataFrame({"estimator": title, "probability": frame[column]})
                for column, title in titles.items()
            ],
            ignore_index=True,
        )

    def said(self) -> str:
        """Say in words how the releases at hand compare, by their mean gain.

        Of n publications and the one at hand, all of one generator, each is as likely as any other
        to be the first or the last.
        """
        words = []
        for row in self.places.query("summary == 'gain'").itertuples():
            if np.isnan(row.value):
                words.append(f"{row.release}: this generator cannot have made it.")
                continue
            risk = self.by_size[row.releases]
            value, mean = (round(x, 2) + 0.0 for x in (row.value, row.expected))
            told = (
                f"{row.release}: mean gain {value:.2f} nats; of what the generator draws, "
                f"{percent(row.higher)} has more and {percent(row.lower)} less (mean {mean:.2f})."
            )
            if max(row.lower, row.higher) > 1 - 1e-9 and not risk.exact:
                told += (
                    f" Beyond all {len(risk.weights)}: either of a chance of 2 in "
                    f"{len(risk.weights) + 1}, or made by another generator."
                )
            words.append(told)
        if (chains := self.by_size[1].convergence) is not None:
            good = (chains["r_hat_95"] <= MAX_R_HAT).sum()
            words.append(
                f"R-hat is at most {MAX_R_HAT} for 95 % of the records in {good} of {len(chains)} "
                f"sets of chains, and at most {chains['r_hat_largest'].max():.2f} in all; "
                f"effective draws of the records' mean: {chains['ess_of_mean'].min():.0f} or more."
            )
        return "\n".join(words)


def before(
    submission: Submission,
    synthesizer: Generator,
    n_draws: int,
    *,
    rng: np.random.Generator,
) -> Before:
    """Compute the risks of publications that could be drawn, and those of the releases at hand.

    Parameters
    ----------
    submission : Submission
        With one release or more.
    synthesizer : Trees, Density or Mixture
        Of the original.
    n_draws : int
        Publications that are drawn of as many releases as there are, 20 or more; these releases
        are also taken one by one, and as many at a time as are judged together.
    rng : numpy.random.Generator
        Source of chance.
    """
    table = Microdata(submission.original, submission.schema)
    judged = submission.judged()
    of_tools = (len(one.released) for one in judged.values())
    sizes = sorted({1, len(submission.released), *of_tools})
    of_draws, of_chains = rng.spawn(2)
    by_size = risks_by_size(table, synthesizer, sizes, n_draws, rng=of_draws)
    rows = []
    for name, one in judged.items():
        risk = by_size[len(one.released)]
        found = _at_hand(table, one.released, synthesizer, of_chains)
        place = risk.place(found).rename_axis("summary").reset_index()
        place.insert(0, "releases", len(one.released))
        place.insert(0, "release", name)
        rows.append(place)
    return Before(by_size, pd.concat(rows, ignore_index=True))


def _at_hand(
    table: Microdata,
    released: Sequence[NDArray[np.integer]],
    synthesizer: Generator,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the posterior probability of each combination after releases; NaN: impossible."""
    tables = [Microdata(codes, table.schema) for codes in released]
    try:
        if isinstance(synthesizer, Mixture):
            found = posterior_risk(
                table, tables, chains=synthesizer.chains, rng=rng, progress=False
            )
        else:
            found = posterior_risk(table, tables, synthesizer=synthesizer, progress=False)
    except ImpossibleRelease:
        return np.full(1, np.nan)
    return found.probability
