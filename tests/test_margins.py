"""Chow-Liu trees: which pairs they have, and the density of records by them."""

import numpy as np
import pytest

from srlib.margins import chow_liu_tree, log_density, two_way_table

LEVELS = [2, 3, 4]
CELLS = np.indices(LEVELS).reshape(3, -1).T


@pytest.mark.parametrize("extra", [-1, 2])
def test_density_with_extra_copies_is_that_of_a_file_with_them(
    extra: int, rng: np.random.Generator
) -> None:
    records = CELLS[rng.integers(0, len(CELLS), 30)]
    tree = chow_liu_tree(records, LEVELS)

    for i, record in enumerate(records):
        counts = np.ones(len(records), dtype=int)
        counts[i] += extra
        changed = records.repeat(counts, axis=0)
        tables = {edge: two_way_table(changed, LEVELS, *edge) for edge in tree}
        expected = log_density(record[None], tables)
        assert log_density(record[None], tree, extra) == pytest.approx(expected)


def test_densities_sum_to_one(rng: np.random.Generator) -> None:
    tree = chow_liu_tree(CELLS[rng.integers(0, len(CELLS), 30)], LEVELS)
    assert np.exp(log_density(CELLS, tree)).sum() == pytest.approx(1)


def test_many_levels_alone_do_not_make_a_pair(rng: np.random.Generator) -> None:
    """A third variable has so many levels that it seems to inform on the others."""
    pairs = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], [65, 35, 35, 65], axis=0)
    many = rng.permutation(np.arange(200) % 50)
    codes = np.column_stack([pairs, many])
    assert (0, 1) in chow_liu_tree(codes, [2, 2, 50])
