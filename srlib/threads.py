"""Linear algebra on one thread, so that results do not depend on the number of threads.

BLAS splits products and sums among its threads, and the last digits depend on their
number: the processors of the machine, or a share of them if several runs are active.
The library itself splits large computations into parts that do not depend on that
number.
"""

from collections.abc import Callable

import scipy.linalg  # noqa: F401  # it has its own BLAS
from threadpoolctl import ThreadpoolController

# For the libraries loaded so far: those of numpy and scipy.
_limited = ThreadpoolController().wrap(limits=1, user_api="blas")


def one_blas_thread[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Limit BLAS to one thread during each call of a function.

    The limit applies to the whole process, including threads that the function starts.
    Calls that overlap in other threads would reset it for each other.
    """
    return _limited(function)
