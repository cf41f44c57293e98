"""Membership disclosure to anyone who has the release and knows other people.

Two attacks score people: by the distance to the closest released record, and by the
density of the released records relative to that of other people. Their power is the
share of sample uniques in the original that are told from people of the holdout.
"""

from collections.abc import Sequence

import numpy as np

from srlib.arrays import Bools, Floats, Generator, evenly_spaced
from srlib.assessment.counts import Row, binomial_se, new_row, z_score
from srlib.assessment.files import Files
from srlib.risk.membership import (
    closeness,
    critical_function,
    density_ratio,
    thresholds,
)

RATE = 0.01
"""False-positive rate at which the power is given."""
MAX_PEOPLE = 2_000
"""Members, and people of the holdout, who are compared at most."""
N_RESAMPLES = 200
ATTACKS = "distance", "density ratio"


def membership_row(files: Sequence[Files], rng: Generator) -> Row:
    """Return the power of the better of two attacks, and that by chance.

    The files of all releases of one synthesizer have the same holdout. Of it are
    compared the people whose values nobody in the original has, as nobody else has
    those of a sample unique.
    """
    first = files[0]
    cells = first.cells()
    members = first.original[cells.is_unique[cells.original]]
    *_, holdout = first.tables
    others = holdout[np.isin(cells.holdout, cells.original, invert=True)]
    members = evenly_spaced(members, MAX_PEOPLE)
    others = evenly_spaced(others, MAX_PEOPLE)
    row = new_row("membership", len(members), detail="power at 1 % false positives")
    if len(others) * RATE < 1 or not len(members):  # no false positive
        return row | {"rating": "too few people"}
    released = np.concatenate([one.released for one in files])
    people = np.concatenate([members, others])
    is_member = np.arange(len(people)) < len(members)
    ratio = density_ratio(people, released, holdout, first.n_levels, ~is_member)
    scores = np.stack([closeness(people, released), ratio])
    return row | _power_beside_chance(scores, is_member, rng)


def _power_beside_chance(scores: Floats, is_member: Bools, rng: Generator) -> Row:
    """Return the power of the better attack, its error, and that by chance.

    Scores are (n_attacks, n_people). The error is that of other members and others, and
    at least that of a share one member away from none and from all; chance is that
    members are a random sample of all these people.
    """
    powers = [_power(one, is_member) for one in scores]
    best = np.argmax(powers)
    groups = [*map(np.flatnonzero, (is_member, ~is_member))]
    n = len(groups[0])
    least = binomial_se((n * powers[best] + 1) / (n + 2), n)
    resampled = []
    by_chance = []
    for _ in range(N_RESAMPLES):
        sample = np.concatenate([rng.choice(group, len(group)) for group in groups])
        resampled.append(_power(scores[best, sample], is_member[sample]))
        shuffled = rng.permutation(is_member)
        by_chance.append(max(_power(one, shuffled) for one in scores))
    chance = np.mean(by_chance)
    spread = np.std(by_chance, ddof=1)
    return {
        "detail": f"power at 1 % false positives, {ATTACKS[best]}",
        "estimate": powers[best],
        "se": max(np.std(resampled, ddof=1), least),
        "baseline": chance,
        "baseline_se": spread,
        "baseline_kind": "chance",
        "z": z_score(powers[best] - chance, spread),
    }


def _power(scores: Floats, is_member: Bools) -> float:
    """Return the share of members above the threshold that 1 % of others exceed."""
    values, mass = np.unique(-scores[~is_member], return_counts=True)
    threshold, randomization = thresholds(-values, mass, np.array(RATE))
    return critical_function(scores[is_member], threshold, randomization).mean()
