"""An example: simulated records of a survey, released in three ways."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from srlib.assessment.submission import Submission, roles
from srlib.data.microdata import ACS, load
from srlib.dpmpm.model import Draws

EXAMPLE = """**The example** releases one simulated table of 500 records in three ways. *Independent
margins* draws each column by itself. *DPMPM* draws records from a mixture that was fitted to the
table. *Half copied* hands out half of the rows as they are, among such draws."""
_EXAMPLE_KEYS, _EXAMPLE_TARGET = ("SEX", "AGEP", "RACE1P", "MAR", "SCHL"), "HICOV"


def example(
    n_records: int, keys: Sequence[str], target: str, *, rng: np.random.Generator
) -> Submission:
    """Simulate records of the survey, with no release yet."""
    population = load("", n_records=n_records, rng=rng)
    notes = (f"No files were given: an example, {n_records} simulated records.",)
    at = example_roles(keys, target)
    return Submission(population.schema, population.codes, (), *at, notes=notes)


def example_roles(keys: Sequence[str], target: str) -> tuple[tuple[int, ...], int]:
    """Find the columns of the example's keys and target, as `submission.roles` does of a table."""
    wanted = target or _EXAMPLE_TARGET
    known = keys or [name for name in _EXAMPLE_KEYS if name != wanted]
    return roles(ACS, known, wanted)


def with_releases(submission: Submission, draws: Draws, *, rng: np.random.Generator) -> Submission:
    """Release the example by independent margins, by the model, and by the model half copied."""
    records, n = submission.original, len(submission.original)
    independent = np.column_stack([rng.choice(column, n) for column in records.T])
    (modeled,) = draws.release(1, n, rng=rng)
    copied = np.where(rng.random((n, 1)) < 0.5, records, modeled)[rng.permutation(n)]
    names = ("independent margins", "DPMPM", "half copied")
    return replace(submission, released=(independent, modeled, copied), names=names)
