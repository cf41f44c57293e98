"""Types of arrays in annotations; shapes stand in the docstrings."""

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
type Ints = NDArray[np.integer]
type Bools = NDArray[np.bool_]
