"""Sequential trees as a synthesizer: it fits trees to each table that it is given."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from srlib.arrays import Floats, Generator, Ints
from srlib.data import Microdata, Schema
from srlib.trees.changes import log_likelihoods
from srlib.trees.model import (
    AS_RPART,
    Growth,
    Trees,
    checked_order,
    checked_ordered,
    fit_trees,
)


@dataclass(frozen=True)
class SequentialTrees:
    """A synthesizer that fits trees to the data and releases a table of the same size.

    The parameters `order`, `growth` and `ordered` are those of `fit_trees`.

    Examples
    --------
    >>> from srlib.data.schema import Variable
    >>> job = Variable("job", ("cook", "smith"))
    >>> schema = Schema((job, Variable("sick", ("no", "yes"))))
    >>> people = np.array([[0, 0]] * 10 + [[1, 0]] * 6 + [[1, 1]] * 4)
    >>> synthesizer = SequentialTrees(schema, growth=Growth(min_leaf=10))
    >>> log_prob = synthesizer.log_prob(np.array([[1, 1]]), people)
    >>> round(float(np.exp(log_prob)), 3)  # 10/20 times 4/10
    0.2
    """

    schema: Schema
    order: Sequence[str] | None = None
    growth: Growth = AS_RPART
    ordered: Sequence[str] = ()
    _last: dict[bytes, Trees] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        checked_order(self.schema, self.order)
        checked_ordered(self.schema, self.ordered)

    def fit(self, data: Ints) -> Trees:
        """Return trees fitted to codes, (n, n_variables); the last fit is cached."""
        table = Microdata(np.array(data, np.uint8), self.schema)
        key = table.codes.tobytes()
        if key not in self._last:
            self._last.clear()
            self._last[key] = fit_trees(
                table, self.order, self.growth, ordered=self.ordered
            )
        return self._last[key]

    def release(self, data: Ints, *, rng: Generator) -> Ints:
        """Draw a release with as many records as the data."""
        return self.fit(data).release(rng=rng)[0].codes

    def log_prob(self, released: Ints, data: Ints) -> float:
        """Return log p(release | data); minus infinity if it cannot be drawn."""
        return self.fit(data).log_prob(released)

    def log_likelihoods(
        self,
        released: Sequence[Ints],
        data: Ints,
        rows: Ints,
        candidates: Ints,
    ) -> Floats:
        """Return log p(releases | data with one record changed), `log_likelihoods`."""
        return log_likelihoods(self.fit(data), released, rows, candidates)
