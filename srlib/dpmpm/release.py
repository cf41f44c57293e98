"""Fully synthetic records from a draw of the DPMPM's parameters."""

import numpy as np

from srlib import checks
from srlib.arrays import Floats, Generator, Ints, NDArray
from srlib.compiled import compiled


@compiled
def _synthesize(cumulative_pi, cumulative_phi, level_start, uniforms, codes):
    """Draw each record's class from pi, then each variable given the class.

    The level is the number of values of the distribution function up to a uniform.
    """
    for i in range(codes.shape[0]):
        f = np.searchsorted(cumulative_pi, uniforms[i, 0], side="right")
        for variable in range(codes.shape[1]):
            u = uniforms[i, variable + 1]
            level = 0
            while (
                level_start[variable] + level + 1 < level_start[variable + 1]
                and u >= cumulative_phi[level_start[variable] + level, f]
            ):
                level += 1
            codes[i, variable] = level


def synthesize(
    pi: Floats,
    phi: Floats,
    n_levels: Ints,
    n_records: int,
    *,
    rng: Generator,
) -> NDArray[np.uint8]:
    """Return a fully synthetic data set, (n_records, n_variables), from a single draw.

    The class of every record is drawn from pi; it is never the class of a confidential
    record. Otherwise row i of the release would resemble row i of the data, and
    equation 13 would not be its likelihood (Hu, Reiter and Wang 2014, section 2). `pi`
    and `phi` are those of a single draw in `Draws`; a variable has at most 256 levels.
    """
    checks.at_least(1, n_records=n_records)
    level_start = np.cumsum([0, *n_levels])
    cumulative_pi = np.cumsum(pi)[:-1]
    cumulative_phi = np.concatenate(
        [
            np.cumsum(levels, axis=0, dtype=np.float64)
            for levels in np.split(phi, level_start[1:-1])
        ]
    )
    codes = np.empty((n_records, len(n_levels)), np.uint8)
    uniforms = rng.random((n_records, len(n_levels) + 1))
    _synthesize(cumulative_pi, cumulative_phi, level_start, uniforms, codes)
    return codes
