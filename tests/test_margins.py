"""Chow-Liu trees: which pairs they have, and the density of records by them."""

import numpy as np
import pytest
from enumeration import all_cells
from numpy.testing import assert_allclose

from srlib.margins import chow_liu_tree, log_density, two_way_table

LEVELS = [2, 3, 4]
CELLS = all_cells(LEVELS)


@pytest.fixture
def records(rng):
    rows = rng.integers(0, len(CELLS), 30)
    return CELLS[rows]


@pytest.mark.parametrize("extra", [-1, 2])
def test_density_with_extra_copies_is_that_of_a_file_with_them(extra, records):
    tree = chow_liu_tree(records, LEVELS)
    repetitions = 1 + extra * np.eye(30, dtype=int)
    for i, counts in enumerate(repetitions):
        record = records[[i]]
        changed = records.repeat(counts, axis=0)
        tables = {edge: two_way_table(changed, LEVELS, *edge) for edge in tree}
        expected = log_density(record, tables)
        with_extra = log_density(record, tree, extra)
        assert_allclose(with_extra, expected)


def test_densities_sum_to_one(records):
    tree = chow_liu_tree(records, LEVELS)
    density = np.exp(log_density(CELLS, tree))
    assert_allclose(density.sum(), 1)


def test_many_levels_alone_do_not_make_a_pair(rng):
    """A third variable has so many levels that it seems to inform on the others."""
    counts = [65, 35, 35, 65]
    pairs = all_cells([2, 2]).repeat(counts, axis=0)
    many = rng.permutation(np.arange(200) % 50)
    codes = np.column_stack([pairs, many])
    tree = chow_liu_tree(codes, [2, 2, 50])
    assert (0, 1) in tree
