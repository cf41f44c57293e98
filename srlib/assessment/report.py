"""An original and its releases assessed in one call."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment import side_by_side, tables, verdict
from srlib.assessment.findings import Findings, compared, examine, judge
from srlib.assessment.model import of_original
from srlib.assessment.page import page
from srlib.assessment.submission import Declared, Releases, Submission, Table, submit
from srlib.assessment.verdict import Judgment, Rules
from srlib.data.codes import distinct
from srlib.dpmpm.model import Chains, Draws
from srlib.progress import silent
from srlib.risk.agreement import agreeing_draws, rounds
from srlib.risk.sets import DrawSets
from srlib.rng import stream

MOST_ITERATIONS = 2_000
"""Iterations of a chain of the intruder's model in the last round, where there is time for it."""
MOST_STEPS = 1e10
"""Records times classes times iterations of all chains where nothing is said: about a minute."""
MOST_KEPT = 1.5e9
"""Combinations times levels times draws kept of all chains where nothing is said: 20 seconds."""
FEWEST_KEPT = 50
"""Draws that are kept from each chain all the same."""


@dataclass(frozen=True)
class Assessment:
    """Everything found of an original's releases.

    Attributes
    ----------
    submission : Submission
        The tables, what the intruder is taken to know, and notes on all that was chosen.
    judgments : tuple of Judgment
        The verdict on each release, or on all of one generator together; the worst first.
    findings : dict of str to Findings
        What the verdict rests on, by name of the release, in the same order.
    traces : dict of str to (n_chains, n_draws) array
        Quantities of the model's chains on the original; empty where the model was left out.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 30, "sick": rng.integers(0, 2, 60)})
    >>> found = assess(people, [people], quick=True, rng=rng)
    >>> found.to_frame()["topic"].tolist()
    ['copies', 'identity', 'attributes', 'utility', 'model']
    """

    submission: Submission
    judgments: tuple[Judgment, ...]
    findings: Mapping[str, Findings]
    traces: Mapping[str, NDArray[Any]]

    @property
    def broken_rules(self) -> list[dict[str, str]]:
        """Rules that releases break: release, topic and reason of each."""
        return verdict.broken(self.judgments, self.submission.rules)

    def verdict(self) -> str:
        """Return the verdict in words: what to do, then five lines, for each release."""
        return verdict.text(verdict.by_release(self.to_frame()))

    def to_frame(self) -> pd.DataFrame:
        """Return a row a release and topic: advice, level, value, low, high, baseline and text."""
        return verdict.table(self.judgments)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``srlib assess --json`` prints but the report's place, ready for JSON.

        That is `first`, what to do with the worst release; `releases`, the lines of each;
        `side_by_side`, the rows of that table; `broken_rules`; and `results`, as `results` returns.
        """
        found = {name: _plain(value) for name, value in self.results().items()}
        return {
            "first": found.pop("first"),
            "releases": verdict.by_release(self.to_frame()),
            "side_by_side": side_by_side.records(self.side_by_side()),
            "broken_rules": self.broken_rules,
            "results": found,
        }

    def to_html(self) -> str:
        """Return a self-contained page with the verdict and its main tables. Confidential."""
        return page(self)

    def table(self, name: str) -> pd.DataFrame:
        """Return one of the tables behind the verdict, with the column release.

        Parameters
        ----------
        name : str
            ``"copies"``, ``"identity"`` or ``"attributes"``, a row a release; or the name of
            another attribute of `Findings` or, where it was not left out, of its `Model`, that is
            a table.
        """
        return tables.every(self.findings, name)

    def side_by_side(self) -> pd.DataFrame:
        """Return a row a release, or a tool: risks and utility, each with its error.

        As `side_by_side.table` returns.
        """
        return side_by_side.table(self.submission, self.judgments, self.findings)

    def records(self) -> pd.DataFrame:
        """Return every original combination with what was found of it. Confidential.

        Columns as `tables.exposed` returns, and release.
        """
        frames = [
            tables.exposed(one, self.findings[name]).assign(release=name)
            for name, one in self.submission.judged().items()
        ]
        return pd.concat(frames, ignore_index=True)

    def results(self) -> dict[str, Any]:
        """Return the numbers to compare, by name; of several releases, each after the release's."""
        slugs = verdict.slugs(self.submission.judged())
        prefix = {name: f"{slug}_" for name, slug in slugs.items()}
        if len(prefix) == 1:
            prefix = dict.fromkeys(prefix, "")
        found: dict[str, Any] = {"first": self.judgments[0].first}
        for row in self.table("measures").itertuples():
            for column in ("mean", "se", "baseline"):
                found[f"{prefix[row.release]}{row.measure}_{column}"] = getattr(row, column)
        for release, each in self.findings.items():
            if each.within:
                told = compared(each.within)
                found[f"{prefix[release]}within_mean"] = told["value"]
                found[f"{prefix[release]}within_se"] = told["error"]
                found[f"{prefix[release]}within_baseline"] = max(told["others"], told["margins"])
        for row in self.table("pmse").query("measure == 'ratio'").itertuples():
            found[f"{prefix[row.release]}pmse_ratio"] = row.mean
        if self.traces:
            found["r_hat_95_largest"] = self.table("chains")["r_hat_95"].max()
        return found


def assess(
    original: Table,
    released: Releases,
    keys: Sequence[str] | Sequence[Sequence[str]] | None = None,
    target: str | None = None,
    *,
    schema: Declared | None = None,
    holdout: Table | None = None,
    tolerance: float | None = None,
    same_generator: bool = False,
    missing: str = "level",
    ignore_columns: bool = False,
    quick: bool = False,
    rules: Rules | str | Path | None = None,
    by: str = "",
    chains: Chains | Sequence[Chains] | None = None,
    rng: np.random.Generator,
    progress: bool = True,
) -> Assessment:
    """Judge releases of an original table by what they tell and what they are good for.

    Each release is judged by itself, or with others of one tool, the worst first. All that ``srlib
    assess`` computes.

    Parameters
    ----------
    original : DataFrame, Microdata, str or Path
        Records of people, in categorical, text or number columns; or a CSV file of them.
    released : the same, a sequence of them, or a mapping from names to either
        One table or more, whatever made them, with the variables and levels of the original. A
        folder, or a sequence under a name, has the draws of one tool, which are judged together.
    keys : sequence of str, or of these, optional
        Variables that the intruder knows; all but the target where not given. Of several sets the
        verdict is about the first, and ``table("key_sets")`` compares all.
    target : str, optional
        Variable that the intruder wants to know; the last that is no key where not given.
    schema, holdout, tolerance
        As of `submission.submit`.
    same_generator, missing, ignore_columns
        As of `submission.submit`.
    quick : bool
        Whether the intruder who knows all other records is left out, who takes most of the time.
    rules : mapping, str or Path, optional
        Limits that each release is held to, as `verdict.read_rules` describes, or their file.
    by
        As of `submission.submit`: `Assessment.table` has the groups by the name ``"groups"``.
    chains : Chains or sequence of Chains, optional
        Of that intruder's model, as of `risk.agreeing_draws`: two chains of four draws or more.
        Where not given, those of `affordable_rounds`; if there are none, as with `quick`.
    rng : numpy.random.Generator
        Source of chance; none is used where `quick`.
    progress : bool
        Whether bars show how far the chains are.

    Returns
    -------
    Assessment

    Raises
    ------
    ValueError
        As `submission.submit`, if the chains are too few or too short. Nothing has been
        sampled then.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"job": rng.choice(["clerk", "cook", "smith"], 300),
    ...                        "town": rng.choice(["north", "south", "west"], 300),
    ...                        "sick": rng.choice(["no", "yes"], 300)})
    >>> shuffled = people.sample(frac=1, random_state=1)
    >>> found = assess(people, {"shuffled": shuffled}, target="sick", quick=True, rng=rng)
    >>> found.judgments[0].first
    'Do not release shuffled: it is the original itself.'
    >>> found.to_frame().loc[0, ["topic", "level"]].tolist()
    ['copies', 'found']
    """
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng is {rng!r}; it must be a Generator, as numpy.random.default_rng(1)")
    each_round = (chains,) if isinstance(chains, Chains) else tuple(chains or ())
    for each in each_round:
        if each.n_chains < 2 or each.n_draws < 4:
            raise ValueError(
                f"chains are {each.n_chains} of {each.n_draws} draws; errors and R-hat need two "
                "chains or more, of four draws or more"
            )
    submission = submit(
        original, released, keys, target, schema=schema, holdout=holdout,
        tolerance=tolerance, same_generator=same_generator, missing=missing,
        ignore_columns=ignore_columns, quick=quick, rules=rules, by=by,
    )  # fmt: skip
    streams = partial(stream, int(rng.integers(2**63)))
    with nullcontext() if progress else silent():
        each_round = each_round if chains is not None else affordable_rounds(submission)
        return assess_submission(submission, None if quick else each_round or None, streams)


def affordable_rounds(
    submission: Submission, *, n_classes: int = 30, n_draws: int = 250, n_chains: int = 8
) -> tuple[Chains, ...]:
    """Return as many rounds of chains of the intruder's model as `MOST_STEPS` allow.

    The number of chains counts for more than their length, so that long ones are given up first.
    Every draw that is kept is held against every combination of the original. Of many combinations
    the draws are thinned until that takes no more than `MOST_KEPT`: neighboring ones tell little.

    Parameters
    ----------
    submission : Submission
        Chains run on its original, and on this joined with each release.
    n_classes, n_draws, n_chains : int
        As of `dpmpm.Chains`, but that `n_draws` are the most.

    Returns
    -------
    tuple of Chains
        None where there are too many records for the shortest, some 25,000 with one release,
        unless there is a rule on the model.
    """
    n_records = len(submission.original) * (1 + len(submission.released))
    n_records += sum(map(len, submission.released))
    found = rounds(MOST_ITERATIONS, n_classes=n_classes, n_draws=n_draws, n_chains=n_chains)
    kept = (1 + len(submission.released)) * n_chains * len(distinct(submission.original)[1])
    kept *= int(submission.schema.n_levels.sum())
    step = -(-n_draws // max(int(MOST_KEPT / kept), min(FEWEST_KEPT, n_draws)))
    found = tuple(replace(each, n_draws=n_draws // step, thin=each.thin * step) for each in found)
    iterations = np.cumsum([each.n_iterations for each in found])
    fit = int((iterations * n_chains * n_classes * n_records <= MOST_STEPS).sum())
    return found[: max(fit, 1 if "model" in submission.rules else 0)]


def assess_submission(
    submission: Submission,
    rounds: Sequence[Chains] | None,
    streams: Callable[[str], np.random.Generator],
    draws: Draws | None = None,
) -> Assessment:
    """Judge all releases of a submission.

    Parameters
    ----------
    submission : Submission
        With one release or more.
    rounds : sequence of Chains, optional
        Of the intruder's model, as of `risk.agreeing_draws`; left out where None.
    streams : callable
        From a purpose to its source of chance: the stream of the original's chains is called
        ``"original"``, that of the i-th release that is judged by the name NAME ``"NAME i"``.
    draws : Draws, optional
        `model_draws` of the original's, where they were drawn already.
    """
    records, judged = submission.original, submission.judged()
    if rounds is not None and draws is None:
        draws = model_draws(submission, records, rounds, rng=streams("original"), label="original")
    found, known = {}, None
    if rounds is not None and draws is not None:
        known = of_original(records, draws)  # shared by all releases
    for name, one in judged.items():
        sets = None
        if rounds is not None and draws is not None:
            given = {f"{name} {i}": np.vstack([records, z]) for i, z in enumerate(one.released, 1)}
            joined = [
                model_draws(submission, codes, rounds, rng=streams(purpose), label=purpose)
                for purpose, codes in given.items()
            ]
            sets = DrawSets(draws, joined)
        found[name] = examine(one, sets, known)
    judgments = verdict.worst_first([judge(name, judged[name], found[name]) for name in judged])
    return Assessment(
        submission=submission,
        judgments=tuple(judgments),
        findings={each.release: found[each.release] for each in judgments},
        traces={}
        if rounds is None or draws is None
        else {
            "alpha": draws.alpha,
            "log likelihood": draws.log_likelihood,
            "occupied classes": draws.n_occupied,
        },
    )


def model_draws(
    submission: Submission,
    codes: NDArray[np.integer],
    rounds: Sequence[Chains],
    *,
    rng: np.random.Generator,
    label: str,
) -> Draws:
    """Draw from the posterior of the intruder's model given some records.

    Parameters
    ----------
    submission : Submission
        Chains agree on the probabilities of its original records.
    codes : (n, p) int
        The records, coded from 0.
    rounds, rng, label
        As of `risk.agreeing_draws`.
    """
    combinations, _, _ = distinct(submission.original)
    levels = submission.schema.n_levels
    return agreeing_draws(codes, levels, rounds, combinations=combinations, rng=rng, label=label)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value).replace("inf", "Infinity")
    return value
