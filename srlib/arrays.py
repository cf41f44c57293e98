"""Types in annotations: arrays, whose shapes stand in docstrings, and generators."""

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray as NDArray

type Floats = NDArray[np.float64]
type Ints = NDArray[np.integer]
type Bools = NDArray[np.bool_]
Generator = np.random.Generator
