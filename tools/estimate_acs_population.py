"""Estimate the probability tables that ship as srlib/data/acs_population.txt.

    python tools/estimate_acs_population.py PERSON_FILE.csv >
    srlib/data/acs_population.txt

The tables are a Bayesian network over the 14 variables of Hu, Reiter and Wang (2014),
Table 1. The order of the variables is fixed. Parents are chosen greedily: the pair of
variables whose joint distribution under the network is furthest from the file's gets an
edge, until all pairs are near or every table that would help has reached its largest
size. Each table is made of smoothed counts raked to the observed joint distributions of
the child with each parent, so that sparse rows follow the pairs and rich rows follow
the file. All random numbers are seeded: the same file gives the same tables.
"""

import sys
from itertools import combinations
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray

from srlib.data.acs import ACS, PROBABILITY_UNITS
from srlib.data.codes import cell_numbers
from srlib.data.microdata import read_table

ORDER = "AGEP SEX RACE1P HISP WAOB LANX SCHL MAR MIL WKL HICOV DIS SCH MIG"
VINTAGE = 2011
MAX_TABLE_CELLS = 3000
# Records added to each row of a table, evenly over the levels of the child.
ROW_PRIOR = 1.0
# Records added to the margin of the child within each level of a parent.
MARGIN_PRIOR = 0.02
# Weight, in records, of a combination of the parents' levels that is not in the file.
EMPTY_ROW = 1e-3
RAKING_SWEEPS = 60
# An edge is worth adding if a test with 10,000 and 4,942 records would detect the
# misfit: the noncentrality of the two-sample chi-square test, in standard deviations of
# the statistic.
TEST_RECORDS = 10_000 * 4_942 / (10_000 + 4_942)
NEAR_ENOUGH = 0.3
SIMULATED_RECORDS = 200_000

Network = dict[int, list[int]]
Tables = dict[int, NDArray[np.float64]]


def raked_table(
    codes: NDArray[np.integer], child: int, parents: list[int]
) -> NDArray[np.float64]:
    """Return p(child | parents), a row for each combination of the parents' levels."""
    shape = (*ACS.n_levels[parents], ACS.n_levels[child])
    counts = joint(codes, [*parents, child]).reshape(shape)
    rows = np.maximum(counts.sum(axis=-1, keepdims=True), EMPTY_ROW)
    overall = counts.reshape(-1, shape[-1]).sum(axis=0) / len(codes)
    margins = []
    for parent in range(len(parents)):
        others = tuple(axis for axis in range(len(parents)) if axis != parent)
        margin = counts.sum(axis=others, keepdims=True)
        margin = margin + MARGIN_PRIOR * overall
        margin /= margin.sum(axis=-1, keepdims=True)
        margins.append((others, margin * rows.sum(axis=others, keepdims=True)))
    table = counts + ROW_PRIOR / shape[-1]
    for _ in range(RAKING_SWEEPS):
        for others, margin in margins:
            table *= margin / table.sum(axis=others, keepdims=True)
        table *= rows / table.sum(axis=-1, keepdims=True)
    return (table / rows).reshape(-1, shape[-1])


def joint(codes: NDArray[np.integer], variables: list[int]) -> NDArray[np.float64]:
    """Return the counts of all combinations of variables, flat."""
    n_levels = ACS.n_levels[variables]
    cells = cell_numbers(codes[:, variables], n_levels)
    return np.bincount(cells, minlength=int(n_levels.prod())).astype(float)


def simulate(
    network: Network, tables: Tables, uniforms: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Draw records from the network, from (n_variables, n) uniforms."""
    codes = np.zeros(uniforms.T.shape, np.int64)
    for child, parents in network.items():
        cumulative = np.cumsum(tables[child], axis=1)[:, :-1]
        row = cell_numbers(codes[:, parents], ACS.n_levels[parents])
        codes[:, child] = (uniforms[child][:, None] >= cumulative[row]).sum(axis=1)
    return codes


def misfit(
    codes: NDArray[np.integer], simulated: NDArray[np.integer], pair: tuple[int, int]
) -> float:
    """Return the difference of a pair's joint distributions as a deviate."""
    p = joint(codes, list(pair)) / len(codes)
    q = joint(simulated, list(pair)) / len(simulated)
    seen = p + q > 0
    noncentrality = TEST_RECORDS * (2 * (p - q)[seen] ** 2 / (p + q)[seen]).sum()
    degrees = np.prod(ACS.n_levels[list(pair)] - 1)
    return float(noncentrality / np.sqrt(2 * degrees))


def estimate(codes: NDArray[np.integer]) -> tuple[Network, Tables]:
    """Return the chosen parents of each variable, and the tables."""
    order = [ACS.names.index(name) for name in ORDER.split()]
    network: Network = {child: [] for child in order}
    tables = {child: raked_table(codes, child, []) for child in order}
    # The same uniforms each time: any change of the misfit is then due to the edge.
    uniforms = np.random.default_rng(0).random((len(order), SIMULATED_RECORDS))
    while True:
        simulated = simulate(network, tables, uniforms)
        misfits = {
            pair: misfit(codes, simulated, pair) for pair in combinations(order, 2)
        }
        for parent, child in sorted(misfits, key=misfits.__getitem__, reverse=True):
            if misfits[parent, child] < NEAR_ENOUGH:
                return network, tables
            family = [*network[child], parent, child]
            if (
                parent not in network[child]
                and ACS.n_levels[family].prod() <= MAX_TABLE_CELLS
            ):
                network[child].append(parent)
                tables[child] = raked_table(codes, child, network[child])
                break
        else:
            return network, tables


def in_units(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return probabilities as units that sum to ``PROBABILITY_UNITS`` in each row."""
    upper = np.rint(np.cumsum(table, axis=1) * PROBABILITY_UNITS).astype(np.int64)
    return np.diff(upper, axis=1, prepend=0)


def main() -> None:
    """Write the tables of the person file on the command line to standard output."""
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/estimate_acs_population.py PERSON_FILE.csv")
    codes = read_table(sys.argv[1], ACS, vintage=VINTAGE).codes
    network, tables = estimate(codes)
    about = (
        "Conditional probability tables of the 14 variables of Hu, Reiter and Wang "
        "(2014), Table 1, for adults in the United States, estimated from "
        f"{len(codes):,} records of the 2011 American Community Survey public use "
        "microdata sample by tools/estimate_acs_population.py. For each variable: its "
        "name | its parents, then one line for each combination of the parents' levels "
        "in lexicographic order with the probabilities of all levels but the last, in "
        "units of 1/10,000."
    )
    print(*(f"# {line}" for line in wrap(about, 96)), sep="\n")
    for child, parents in network.items():
        print(ACS.names[child], "|", *(ACS.names[parent] for parent in parents))
        for row in in_units(tables[child]):
            print(*row[:-1])


if __name__ == "__main__":
    main()
