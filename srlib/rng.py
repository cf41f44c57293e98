"""Random numbers: an integer seed per run, an independent stream per named purpose."""

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
    words = np.frombuffer(digest[:16], "<u4")
    sequence = np.random.SeedSequence(seed, spawn_key=words.tolist())
    return np.random.Generator(np.random.PCG64(sequence))
