"""An example: simulated records of a survey, released in three ways."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from srlib.assessment.submission import Submission, all_roles, submit
from srlib.data.microdata import ACS, load
from srlib.dpmpm.model import Draws

EXAMPLE = """**The example** releases one simulated table of 500 records in three ways. *Independent
margins* draws each column by itself. *DPMPM* draws records from a mixture that was fitted to the
table. *Half copied* hands out half of the rows as they are, among such draws. Variables are called
as in the American Community Survey: AGEP is age, RACE1P race, SCHL schooling, MAR marital status,
LANX the language at home, WAOB the area of birth, MIL military service, WKL when somebody last
worked, DIS a disability, HICOV health insurance, MIG the home a year ago, SCH school and HISP
Hispanic origin."""
_EXAMPLE_KEYS, _EXAMPLE_TARGET = ("SEX", "AGEP", "RACE1P", "MAR", "SCHL"), "HICOV"
_EXAMPLE_MORE_KEYS = (_EXAMPLE_KEYS[:3], (*_EXAMPLE_KEYS, "LANX", "WAOB", "MIL"))
_EXAMPLE_BY = "RACE1P"


def example(
    n_records: int,
    keys: Sequence[str],
    target: str,
    more_keys: Sequence[Sequence[str]] = (),
    *,
    by: str = "",
    rng: np.random.Generator,
) -> Submission:
    """Simulate records of the survey, with no release yet."""
    population = load("", n_records=n_records, rng=rng)
    notes = (f"No files were given: an example, {n_records} simulated records.",)
    known, wanted, more = example_roles(keys, target, more_keys)
    return Submission(
        population.schema, population.codes, (), known, wanted, notes=notes, more_keys=more,
        by=ACS.positions([by or _EXAMPLE_BY], "by")[0],
    )  # fmt: skip


def example_roles(
    keys: Sequence[str], target: str, more_keys: Sequence[Sequence[str]] = ()
) -> tuple[tuple[int, ...], int, tuple[tuple[int, ...], ...]]:
    """Find the columns of the example's keys and target, as `submission.all_roles` of a table."""
    wanted = target or _EXAMPLE_TARGET
    known, *more = ([k for k in s if k != wanted] for s in (_EXAMPLE_KEYS, *_EXAMPLE_MORE_KEYS))
    known = list(keys) or known
    sets = more_keys or [names for names in more if set(names) != set(known)]
    return all_roles(ACS, [known, *sets], wanted)


def wages(
    n_records: int = 500, tolerance: float = 100.0, *, rng: np.random.Generator
) -> Submission:
    """Simulate wages of people, and release them in three ways, with as many people held out.

    Wages of a job and region are lognormal, with a standard deviation of about a quarter. Released
    are other people's records; the jobs and regions of the people, each with a wage of somebody
    else; and the people's own records, their wages changed by an error of 50 or so.
    """
    n = 3 * n_records
    job, region, age = (rng.integers(0, size, n) for size in (12, 10, 5))
    wage = np.exp(7.6 + 0.06 * job + 0.02 * region + 0.25 * rng.normal(size=n)).round()
    people = pd.DataFrame({"job": job, "region": region, "age": age, "wage": wage})
    original, held_out, others = (people[i::3] for i in range(3))
    shuffled = original.assign(wage=rng.permutation(original["wage"]))
    changed = original.assign(wage=original["wage"] + rng.normal(0, 50, n_records).round())
    released = {"other people": others, "wages shuffled": shuffled, "wages changed": changed}
    released = {name: table.sample(frac=1, random_state=rng) for name, table in released.items()}
    return submit(original, released, target="wage", holdout=held_out, tolerance=tolerance)


def with_releases(submission: Submission, draws: Draws, *, rng: np.random.Generator) -> Submission:
    """Release the example by independent margins, by the model, and by the model half copied."""
    records, n = submission.original, len(submission.original)
    independent = np.column_stack([rng.choice(column, n) for column in records.T])
    (modeled,) = draws.release(1, n, rng=rng)
    copied = np.where(rng.random((n, 1)) < 0.5, records, modeled)[rng.permutation(n)]
    names = ("independent margins", "DPMPM", "half copied")
    return replace(submission, released=(independent, modeled, copied), names=names)
