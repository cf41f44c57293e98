"""Printed numbers of McClure and Reiter (2012) that the mechanism's readings give exactly."""

import re

import numpy as np
import pytest
from scipy.stats import binom

from srlib import mechanism, synthesizers
from srlib.published import printed

N = 1000
PRINTED = printed("mcclure_reiter").set_index("id")


def matches(number: str, value: float) -> bool:
    row = PRINTED.loc[number]
    return abs(value - float(row["printed"])) <= row["tolerance"] * (1 + 1e-9)


@pytest.mark.parametrize("number", [i for i in PRINTED.index if i.startswith("table1")])
def test_table_1(number: str) -> None:
    """R for a record with Y = 1, or with Y = 0 where there is none."""
    p0, epsilon = map(float, re.findall(r"= ([\d.]+)", PRINTED.loc[number, "quantity"]))
    table = synthesizers.bernoulli_plugin(N, N, synthesizers.bernoulli_plugin_alpha(epsilon, N))
    ones = np.arange(N + 1)
    changed = np.where(ones > 0, ones - 1, 1)
    weights = binom.pmf(ones, N, p0)
    increase = mechanism.expected_increase(table, ones, changed, 0.5, weights)
    assert matches(number, increase)
    # The prior .5 makes R of one value and one minus R of the other the same statement; with all
    # records Y = 0 counted for a record with Y = 0 the entries differ for rare values.
    if p0 == 0.001 and epsilon == 1000:
        other = np.where(ones < N, ones + 1, N - 1)
        assert not matches(number, mechanism.expected_increase(table, ones, other, 0.5, weights))


def test_worked_example() -> None:
    alpha = synthesizers.bernoulli_plugin_alpha(1000, N)
    table = synthesizers.bernoulli_plugin(N, N, alpha)
    assert matches("example_alpha", alpha)
    assert matches("example_p_y_0", np.exp(table.row(0)[3]))
    assert matches("example_p_y_1", np.exp(table.row(1)[3]))
    assert matches("example_risk", mechanism.risk(table, 1, 0, 0.5)[3])
