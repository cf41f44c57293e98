"""Trees fitted to a table, their releases, and the probabilities of these."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from srlib import checks
from srlib.arrays import Bools, Floats, Generator, Ints, log_or_minus_inf
from srlib.data import Microdata, Schema, distinct
from srlib.data.schema import as_microdata
from srlib.display import Overview
from srlib.trees import kernels
from srlib.trees.kernels import Task, Tree

MAX_LEVELS = 64
"""Most levels that a variable may have: a split is a mask of 64 bits."""
ALL_SPLITS = 12
"""Most nominal levels in a node for which all splits into two sets are tried."""
type DistinctRecords = tuple[Ints, Ints]
"""Distinct released records, with their counts."""


@dataclass(frozen=True)
class Growth:
    """Rules for growing a tree; part of the mechanism, which the intruder knows.

    A node of `minsplit` or more records is split if both children keep `min_leaf`
    records and have less impurity in sum than the node. For a nominal predictor with at
    most 12 levels in the node, all splits of the levels into two sets are tried; with
    more levels, only those that cut the levels ordered by their share of the node's
    most frequent response (equal shares in the order of the levels). For an ordered
    predictor all thresholds are tried, midway between two levels of the node. Splits
    whose gains differ by less than 1e-10 per record are tied: the earlier predictor
    wins, then the set of levels on the side of the first level that is the smaller
    binary number (bit l for level l). A nominal level that the node does not have goes
    with the larger child, or left if both are equal: there are no surrogate splits.

    With `cp`, the tree is pruned to the smallest of the cheapest subtrees. A tree costs
    the number of records that are not of their leaf's most frequent level, plus, for
    each leaf, `cp` times this number in the root. For a response with two levels, all
    nominal predictors are then cut in the order of shares, as in rpart.

    Parameters
    ----------
    min_leaf : int
        Smallest number of records in a leaf, 1 or more; rpart's minbucket.
    max_depth : int
        Largest number of splits between the root and a leaf, 0 or more.
    smoothing : float
        Total weight, in records, of a Dirichlet distribution with equal shares for all
        declared levels, which is added to the counts of each leaf. With 0, values are
        drawn from the donors in the leaf.
    minsplit : int
        Smallest number of records in a node that may be split, 2 or more.
    cp : float, optional
        Complexity parameter of the pruning, from 0 to 1; None for unpruned trees.

    References
    ----------
    Breiman, L., Friedman, J., Olshen, R. and Stone, C. (1984).
    Classification and Regression Trees. Wadsworth. Chapter 3.
    """

    min_leaf: int = 5
    max_depth: int = 100
    smoothing: float = 0.0
    minsplit: int = 2
    cp: float | None = None

    def __post_init__(self) -> None:
        checks.whole(
            min_leaf=self.min_leaf, max_depth=self.max_depth, minsplit=self.minsplit
        )
        checks.at_least(1, min_leaf=self.min_leaf)
        checks.at_least(2, minsplit=self.minsplit)
        if self.cp is not None:
            checks.at_least(0, cp=self.cp)
            checks.within(0, 1, cp=self.cp)
        checks.at_least(0, max_depth=self.max_depth, smoothing=self.smoothing)
        checks.finite(smoothing=self.smoothing)


UNPRUNED = Growth()
"""Unpruned trees: nodes are split while that reduces impurity, to leaves of 5."""
AS_RPART = Growth(max_depth=30, minsplit=15, cp=1e-8)
"""Trees pruned as by rpart in R with synthpop's default settings (minbucket 5)."""


@dataclass(frozen=True, eq=False, repr=False)
class Trees(Overview):
    """Sequential trees fitted to a table; see `fit_trees`.

    Attributes
    ----------
    schema : Schema
        Variables of the table.
    codes : (n, n_variables) uint8
        The table.
    combinations, counts, combination_of
        Its distinct records, how often each occurs, and the position of each record in
        them.
    order : tuple of int
        Positions of the variables in the order in which they are drawn; the first is
        drawn from its marginal distribution.
    ordered : (n_variables,) bool
        Whether the levels of each variable are ordered.
    growth : Growth
        Rules by which the trees were grown.
    trees : tuple of Tree
        One tree per variable, in `order`.
    """

    schema: Schema
    codes: Ints
    combinations: Ints
    counts: Ints
    combination_of: Ints
    order: tuple[int, ...]
    ordered: Bools
    growth: Growth
    trees: tuple[Tree, ...]

    def _overview(self) -> tuple:
        names = [self.schema.names[k] for k in self.order]
        sentence = (
            f"{len(names)} sequential trees fitted to {len(self.codes):,} records, "
            "each variable given those before it."
        )
        return sentence, {"variable": names, "leaves": self.n_leaves}

    def task(
        self,
        position: int,
        released: DistinctRecords,
    ) -> Task:
        """Return the kernels' input for the variable at a position of `order`."""
        growth = self.growth
        response = self.order[position]
        in_rpart_order = growth.cp is not None and self.schema.n_levels[response] == 2
        return Task(
            codes=np.concatenate([self.combinations, np.zeros_like(self.codes[:1])]),
            weights=np.append(self.counts, 1),
            released=released[0],
            released_weights=released[1],
            response=response,
            predictors=np.array(self.order[:position], np.int64),
            start=np.cumsum([0, *self.schema.n_levels]),
            ordered=self.ordered,
            exhaustive=2 if in_rpart_order else ALL_SPLITS,
            min_leaf=growth.min_leaf,
            min_split=growth.minsplit,
            max_depth=growth.max_depth,
            smoothing=float(growth.smoothing),
            cp=-1.0 if growth.cp is None else float(growth.cp),
        )

    @cached_property
    def node_shares(self) -> tuple[Floats, ...]:
        """Share of each level in each node, (n_nodes, n_levels), by tree."""
        tree_shares = []
        for k, tree in zip(self.order, self.trees, strict=True):
            # A node's records are a range of the permutation.
            levels = self.combinations[tree.records, k]
            indicator = np.identity(self.schema.n_levels[k], np.int64)[levels]
            up_to = np.cumsum(indicator * self.counts[tree.records, None], axis=0)
            before = np.insert(up_to, 0, 0, axis=0)
            counts = before[tree.last] - before[tree.first]
            weights = counts + self.growth.smoothing / counts.shape[1]
            tree_shares.append(weights / weights.sum(axis=1, keepdims=True))
        return tuple(tree_shares)

    @property
    def n_leaves(self) -> list[int]:
        """Number of leaves of each tree, in `order`."""
        return [int(tree.leaves[0]) for tree in self.trees]

    def release(
        self, n: int = 1, size: int | None = None, *, rng: Generator
    ) -> list[Microdata]:
        """Return n fully synthetic tables of `size` records each.

        If `size` is not given, they have as many records as the original.
        """
        size = len(self.codes) if size is None else size
        checks.whole(n=n, size=size)
        checks.at_least(1, n=n, size=size)
        released = []
        for _ in range(n):
            codes = np.zeros((size, len(self.order)), np.uint8)
            parts = zip(self.order, self.trees, self.node_shares, strict=True)
            for k, tree, shares in parts:
                # The last level takes the remainder.
                distribution = np.cumsum(shares, axis=1)[:, :-1]
                kernels.synthesize(tree, k, distribution, rng.random(size), codes)
            released.append(Microdata(codes, self.schema))
        return released

    def log_prob(self, released: Ints | Microdata) -> float:
        """Return log p(released records | the trees).

        It is minus infinity if they cannot be drawn. For several releases, add their
        log probabilities.
        """
        records = distinct(checked_release(released, self.schema))[:2]
        return float(sum(routed.log_prob[1, 0] for routed in route(self, records)))

    def record_log_prob(
        self, codes: Ints, variables: Sequence[int] | None = None
    ) -> Floats:
        """Return log p(values | values of the variables before them) of records, (n,).

        The values are those of all variables, or of the variables at the positions
        given.
        """
        records = checked_release(codes, self.schema)
        log_prob = np.zeros(len(records))
        parts = zip(self.order, self.trees, self.node_shares, strict=True)
        for k, tree, shares in parts:
            if variables is None or k in variables:
                leaves = kernels.leaf_of(tree, records)
                log_prob += log_or_minus_inf(shares[leaves, records[:, k]])
        return log_prob


def route(trees: Trees, released: DistinctRecords) -> list[kernels.RoutedRelease]:
    """Return the released records routed through each tree."""
    return [
        kernels.route(trees.task(position, released), tree)
        for position, tree in enumerate(trees.trees)
    ]


def checked_release(released: Ints | Microdata, schema: Schema) -> Ints:
    """Return the codes of a release; raise a ValueError if the schema has no such."""
    if isinstance(released, pd.DataFrame):
        raise ValueError(
            "released is a DataFrame; Microdata.from_frame(frame, schema) encodes it"
        )
    if isinstance(released, Microdata) and released.schema != schema:
        raise ValueError(
            "released has another schema than the table that the trees were fitted to"
        )
    codes = np.asarray(released.codes if isinstance(released, Microdata) else released)
    levels = schema.n_levels
    if codes.ndim != 2 or codes.shape[1] != len(levels):
        raise ValueError(
            f"released has shape {codes.shape}; it must have {len(levels)} columns"
        )
    if codes.dtype.kind not in "biu":
        raise ValueError(
            f"released has values of type {codes.dtype}; they must be integer codes"
        )
    if ((codes < 0) | (codes >= levels)).any():
        raise ValueError(
            "released has codes out of range; they must be 0 to n_levels - 1"
        )
    return np.ascontiguousarray(codes, np.uint8)


def checked_order(schema: Schema, order: Sequence[str] | None) -> list[int]:
    """Return the positions of the variables in the order in which they are drawn."""
    names = schema.names
    if (schema.n_levels > MAX_LEVELS).any():
        raise ValueError(
            f"{names[schema.n_levels.argmax()]} has {schema.n_levels.max()} levels; "
            f"trees take at most {MAX_LEVELS}"
        )
    if order is None:
        return list(range(len(names)))
    is_list = isinstance(order, Collection) and not isinstance(order, str)
    given = list(order) if is_list else []
    if len(given) != len(names) or not all(name in given for name in names):
        shown = given if is_list else f"{order!r:.50}"
        raise ValueError(
            f"order is {shown}; it must name each of {', '.join(names)} once"
        )
    return [names.index(name) for name in given]


def checked_ordered(schema: Schema, ordered: Sequence[str]) -> Bools:
    """Return whether the levels of each variable are ordered, given their names."""
    is_ordered = np.zeros(len(schema.variables), bool)
    if not isinstance(ordered, Collection) or len(ordered):
        is_ordered[schema.positions(ordered, "ordered")] = True
    return is_ordered


def fit_trees(
    data: pd.DataFrame | Microdata,
    order: Sequence[str] | None = None,
    growth: Growth | None = None,
    *,
    ordered: Sequence[str] = (),
    schema: Schema | None = None,
) -> Trees:
    """Fit sequential trees, one for each variable on the variables before it.

    Parameters
    ----------
    data : DataFrame or Microdata
        Categorical columns, or strings or numbers that stand for categories; one record
        or more, and at most 64 levels.
    order : sequence of str, optional
        All variables in the order in which they are drawn; the order of the columns if
        not given.
    growth : Growth, optional
        Rules for growing the trees; `AS_RPART` if not given, the default of synthpop.
        `UNPRUNED` keeps every split that reduces impurity.
    ordered : sequence of str
        Variables whose levels are ordered, in the order of the schema; the others are
        nominal.
    schema : Schema, optional
        Variables and levels of a DataFrame. If not given, its categories and the values
        that occur.

    Returns
    -------
    Trees
        `Trees.release` draws synthetic tables, `Trees.log_prob` returns their log
        probability.

    References
    ----------
    Reiter, J. P. (2005). Using CART to generate partially synthetic, public
    use microdata. Journal of Official Statistics 21, 441-462.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> jobs = ["cook", "smith"] * 20
    >>> people = pd.DataFrame({"job": jobs, "sick": ["no"] * 30 + ["yes"] * 10})
    >>> trees = fit_trees(people, growth=Growth(min_leaf=10))
    >>> released = trees.release(2, rng=np.random.default_rng(1))
    >>> [table.to_frame().shape for table in released]
    [(40, 2), (40, 2)]
    >>> trees.log_prob(released[0]) < 0
    True
    """
    table = as_microdata(data, schema)
    if not isinstance(growth, Growth | None):
        raise ValueError(f"growth is {growth!r:.50}; it must be of type Growth")
    if not len(table):
        raise ValueError("the table has no records; it must have one or more")
    positions = checked_order(table.schema, order)
    codes = np.ascontiguousarray(table.codes, np.uint8)
    combinations, counts, combination_of = distinct(codes)
    ungrown = Trees(
        schema=table.schema,
        codes=codes,
        combinations=combinations,
        counts=counts,
        combination_of=combination_of,
        order=tuple(positions),
        ordered=checked_ordered(table.schema, ordered),
        growth=growth or AS_RPART,
        trees=(),
    )
    no_release = distinct(codes[:0])[:2]
    tasks = (ungrown.task(k, no_release) for k in range(len(positions)))
    return replace(ungrown, trees=tuple(map(kernels.grow, tasks)))
