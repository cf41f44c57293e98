"""Power and posterior risk against plain code, on all data sets of six people.

A person has one of the four combinations of two variables, a and b.
"""

from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from enumeration import all_cells, schema
from numpy.testing import assert_allclose

from srlib.data import Microdata
from srlib.margins import PlugInMargins
from srlib.risk import membership_test, posterior_risk
from srlib.trees import Growth, SequentialTrees

SCHEMA = schema(2, 2)
CELLS = all_cells([2, 2])
DATA_SETS = [*combinations_with_replacement(range(4), 6)]
RELEASES = np.array([*product(range(4), repeat=2)])  # of two records
OTHERS = np.repeat(range(4), [6, 3, 2, 1])


def table(cells):
    return Microdata(CELLS[[*cells]], SCHEMA)


def record_density(data, min_leaf):
    """The density of a released record, by the definition of the synthesizer.

    The variable a has its shares. So has b given a, in leaves of `min_leaf` records or
    more; otherwise, and where `min_leaf` is None, b has its shares in all the data.
    """
    counts = np.bincount(data, minlength=4).reshape(2, 2)  # a, b
    n_a = counts.sum(axis=1)
    p_b = np.tile(counts.mean(axis=0) / n_a.mean(), (2, 1))
    if min_leaf is not None and n_a.min() >= min_leaf:
        p_b = counts / n_a[:, None]
    return (n_a[:, None] / len(data) * p_b).ravel()


def release_density(data, min_leaf):
    """The probability of each of the releases."""
    return record_density(data, min_leaf)[RELEASES].prod(axis=1)


SYNTHESIZERS = {
    "margins": (PlugInMargins(SCHEMA.n_levels), None),
    "leaf 2": (SequentialTrees(SCHEMA, growth=Growth(2)), 2),
}
each_synthesizer = pytest.mark.parametrize(
    ("synthesizer", "min_leaf"), SYNTHESIZERS.values(), ids=SYNTHESIZERS
)


def with_person(data, person, other):
    """The data, with another in the place of a person."""
    i = data.index(person)
    return tuple(sorted((*data[:i], other, *data[i + 1 :])))


@each_synthesizer
def test_posterior_probabilities_are_those_of_the_data_sets_that_are_possible(
    synthesizer, min_leaf
):
    density = {data: release_density(data, min_leaf) for data in DATA_SETS}
    for data in DATA_SETS:
        for r in np.flatnonzero(density[data])[::5]:
            expected = []
            for person in sorted(set(data)):
                alike = (CELLS[person] == CELLS).any(axis=1)  # somewhere
                neighbors = [
                    with_person(data, person, x) for x in np.flatnonzero(alike)
                ]
                total = sum(density[other_data][r] for other_data in neighbors)
                expected.append(density[data][r] / total)

            risk = posterior_risk(
                table(data), table(RELEASES[r]), synthesizer=synthesizer
            )

            assert_allclose(risk.probability, expected, atol=1e-12)


def log_ratios(data, person, min_leaf):
    """Log likelihood ratios of a person, (n_releases,), and of all others beside them.

    The ratio is p(Z | person) over the mean of p(Z | other) for all others but the one
    in question, in the place of the person's record.
    """
    changed = [with_person(data, person, x) for x in range(4)]
    density = np.array([release_density(d, min_leaf) for d in changed])
    of_others = density[OTHERS]
    rest = (of_others.sum(axis=0) - of_others) / (len(OTHERS) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = density[person] / of_others.mean(axis=0)
        ratios = np.where(of_others > 0, of_others / rest, 0.0)
        return np.log(own).round(9), np.log(ratios).round(9)


def exact_power(members, others, p_release, rate):
    """Accuse whoever has the largest ratio until `rate` of the others are accused.

    All with the same ratio are accused with the same probability. Ratios are
    (n_persons, n_releases) and (n_persons, n_others, n_releases).
    """
    power = 0.0
    rate += 1e-12  # rounding
    for ratio in np.unique(np.append(members, others))[::-1]:
        share = ((others == ratio) @ p_release).mean()
        accused = min(1.0, rate / share) if share else 1.0
        power += accused * ((members == ratio) @ p_release).mean()
        rate -= accused * share
        if accused < 1.0:
            break
    return power


@each_synthesizer
def test_the_power_is_that_of_all_releases_by_their_probability(synthesizer, min_leaf):
    for data in DATA_SETS:
        p_release = release_density(data, min_leaf)
        possible = np.flatnonzero(p_release)
        p_release = p_release[possible]
        ratios = [log_ratios(data, person, min_leaf) for person in sorted(set(data))]
        members, others = (
            np.stack(part)[..., possible] for part in zip(*ratios, strict=True)
        )

        test = membership_test(
            table(data),
            [table(cells) for cells in RELEASES[possible]],
            table(OTHERS),
            synthesizer=synthesizer,
        )
        times = np.rint(1296 * p_release).astype(int)  # as often as they are released
        roc = replace(
            test,
            statistic=np.repeat(test.statistic.round(9), times, axis=0),
            holdout_statistic=np.repeat(test.holdout_statistic.round(9), times, axis=0),
        ).roc()[::20]

        rates = roc["false_positive_rate"]
        expected = [exact_power(members, others, p_release, rate) for rate in rates]
        assert_allclose(roc["power"], expected, atol=1e-9)
