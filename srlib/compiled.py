"""Numba's compiler of loops, which the extra ``samplers`` installs.

Only trees and the mixture need it. Without it their modules can be imported, and a call
of one of their loops says what is missing.
"""

from typing import Any

try:
    from numba import config, njit
except ModuleNotFoundError:
    THREADS = 1

    def _missing(*_: object) -> None:
        raise ModuleNotFoundError(
            "trees and the mixture need numba, which is not installed: "
            'pip install "srlib[samplers]"',
            name="numba",
        )

    def njit(**_: object) -> Any:  # type: ignore[no-redef]
        """Put the error in the place of a loop."""
        return lambda _: _missing
else:
    # Chains or blocks run in parallel: the number of processors, or the limit of the
    # environment.
    THREADS = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]

compiled = njit(nogil=True, cache=True)
# As a part of its caller: for functions that are called once, or in a loop. Numba takes
# long to pass tuples of many arrays from one compiled function to another.
inlined = njit(nogil=True, cache=True, inline="always")
