"""Linear algebra on one thread, so that results are the same on any number of them.

BLAS divides a product or a sum among its threads, and the last digits depend on how many it has:
the machine's processors, or a share of them where several runs go on at a time. What is worth
dividing is divided by the library itself, into parts that do not depend on that number.
"""

from collections.abc import Callable

import scipy.linalg  # noqa: F401  # its BLAS is another one than numpy's
from threadpoolctl import ThreadpoolController

# Of the libraries that are loaded by now: numpy's and scipy's.
_limited = ThreadpoolController().wrap(limits=1, user_api="blas")


def one_blas_thread[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Limit BLAS to one thread during each call of a function.

    The limit holds for the whole process, also for threads that the function starts. Calls that
    overlap in threads of somebody else's would take it from each other.
    """
    return _limited(function)
