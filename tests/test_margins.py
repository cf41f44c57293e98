"""Trees of pairs: which pairs are in one, and how densely records are settled by it."""

import numpy as np
import pytest

from srlib.margins import chow_liu_tree, log_density, two_way_table

LEVELS = [2, 3, 4]
CELLS = np.indices(LEVELS).reshape(3, -1).T


def test_a_density_with_more_of_a_record_is_that_of_a_table_with_more(
    rng: np.random.Generator,
) -> None:
    records = CELLS[rng.integers(0, len(CELLS), 30)]
    tree = chow_liu_tree(records, LEVELS)
    assert np.exp(log_density(CELLS, tree)).sum() == pytest.approx(1)
    for i, record in enumerate(records):
        without = np.delete(records, i, axis=0)
        with_two = np.vstack([records, record, record])
        for more, people in ((-1, without), (2, with_two)):
            of_people = {edge: two_way_table(people, LEVELS, *edge) for edge in tree}
            expected = log_density(record[None], of_people)
            assert log_density(record[None], tree, more) == pytest.approx(expected)


def test_many_levels_alone_do_not_make_a_pair(rng: np.random.Generator) -> None:
    """Two variables go together; a third has so many levels that chance looks like more."""
    pairs = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], [65, 35, 35, 65], axis=0)
    many = rng.permutation(np.arange(200) % 50)
    assert (0, 1) in chow_liu_tree(np.column_stack([pairs, many]), [2, 2, 50])
