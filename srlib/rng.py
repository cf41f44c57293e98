"""Random numbers: one integer seed per run, and an independent stream per named purpose."""

import hashlib

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return a random number generator for one purpose of a run.

    It depends only on the seed and the purpose, so a new experiment in a run changes no
    other number.

    Parameters
    ----------
    seed : int
        Seed of the run, 0 or more.
    purpose : str
        Purpose of the numbers, for example ``"population"``.

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
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(seed, spawn_key=words))
    )
