"""Chance: one integer seed a run, an independent stream for each named purpose."""

import hashlib

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Random numbers for one purpose of a run.

    The stream depends on the seed and on the name alone, so that an experiment added to a run
    moves no other number.

    Parameters
    ----------
    seed : int
        The run's seed, 0 or more.
    purpose : str
        What the numbers are for, for example ``"population"``.

    Returns
    -------
    numpy.random.Generator
        A PCG64 generator.

    Raises
    ------
    ValueError
        If the seed is negative.
    """
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must be 0 or more")
    digest = hashlib.sha256(purpose.encode()).digest()
    words = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=words)))
