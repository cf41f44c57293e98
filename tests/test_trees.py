"""Sequential trees: how they are grown, what they release, and one record changed."""

import itertools
import json
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from enumeration import all_cells, schema
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refused_changes
from scipy.special import softmax
from scipy.stats import kstest

from srlib.data import microdata
from srlib.data.schema import Microdata
from srlib.risk import (
    one_variable_supports,
    posterior_risk,
    subset_support,
    synthesizers,
)
from srlib.rng import stream
from srlib.trees import (
    Growth,
    SequentialTrees,
    Trees,
    changes,
    fit_trees,
    log_likelihoods,
)


def table(codes, *n_levels):
    return Microdata(np.array(codes, dtype=np.uint8), schema(*n_levels))


def people(n, n_levels, seed):
    """Variables that go together."""
    rng = default_rng(seed)
    codes = np.empty((n, len(n_levels)), dtype=np.uint8)
    group = rng.integers(0, 3, n)
    for k, levels in enumerate(n_levels):
        level = rng.integers(0, levels, n)
        is_noisy = rng.random(n) < 0.5
        codes[:, k] = (level * is_noisy + group) % levels
    return table(codes, *n_levels)


def names_in(bits, n):
    """Names of the variables whose bits are set."""
    return [f"v{k}" for k in range(n) if bits >> k & 1]


def tree_risk(data, released, synthesizer, **settings):
    return posterior_risk(
        data, released, synthesizer=synthesizer, progress=False, **settings
    )


# ----------------------------------------------------------------- a second way to grow


def counts_of(rows, k):
    return Counter(row[k] for row in rows)


def n_wrong(rows, k):
    return len(rows) - max(counts_of(rows, k).values())


def purity(rows, k):
    squares = sum(count * count for count in counts_of(rows, k).values())
    return Fraction(squares, len(rows))


def parts(rows, j, levels):
    """Rows whose variable j has one of some levels, and the others."""
    inside = [row for row in rows if row[j] in levels]
    outside = [row for row in rows if row[j] not in levels]
    return inside, outside


class Subtree(NamedTuple):
    cost: Fraction
    log_prob: float


@dataclass
class ExactGrowth:
    """Grow trees by recursion over rows, lists of codes, with exact impurities.

    Splits that tie exactly are resolved by the rule of `Growth`. Of all subtrees the
    cheapest is taken, and of these the smallest.
    """

    levels: list[int]
    ordered: set[int]
    growth: Growth

    def log_prob(self, data, released):
        """Return log p(released | data)."""
        total = 0.0
        for k in range(len(self.levels)):
            price = Fraction(self.growth.cp or 0) * n_wrong(data, k)
            total += self.cheapest(data, released, k, price).log_prob
        return total

    def cheapest(self, rows, released, k, price):
        """Return the smallest of the cheapest subtrees for variable k."""
        counts = counts_of(rows, k)
        shares = [counts[row[k]] / len(rows) for row in released]
        with np.errstate(divide="ignore"):
            log_shares = np.log(shares)
        cost = n_wrong(rows, k) + price
        leaf = Subtree(cost, log_shares.sum())
        split = self.best_split(rows, k)
        if split is None:
            return leaf
        sides = zip(parts(rows, *split), parts(released, *split), strict=True)
        left, right = (self.cheapest(*side, k, price) for side in sides)
        cost = left.cost + right.cost
        if self.growth.cp is not None and leaf.cost <= cost:
            return leaf
        return Subtree(cost, left.log_prob + right.log_prob)

    def best_split(self, rows, k):
        """Return the variable and the levels that go left."""
        if len(rows) < self.growth.minsplit:
            return None
        best = (Fraction(0), 0, 0)
        split = None
        for j in range(k):
            for left, with_absent in self.splits(rows, j, k):
                sides = parts(rows, j, left)
                if min(map(len, sides)) < self.growth.min_leaf:
                    continue
                gain = sum(purity(side, k) for side in sides) - purity(rows, k)
                bits = sum(1 << level for level in left)
                place = (gain, -j, -bits)
                if gain > 0 and place > best:
                    best = place
                    split = (j, with_absent)
        return split

    def splits(self, rows, j, k):
        """Yield levels that go left: those of the rows, and with those of no row."""
        counts = counts_of(rows, j)
        present = sorted(counts)
        if j in self.ordered:
            for low, high in itertools.pairwise(present):
                middle = (low + high) // 2
                left = {level for level in present if level <= low}
                yield left, set(range(middle + 1))
            return
        absent = set(range(self.levels[j])) - set(present)
        for left in self.nominal_cuts(rows, j, k):
            n_left = sum(counts[level] for level in left)
            yield left, left | absent if 2 * n_left >= len(rows) else left

    def nominal_cuts(self, rows, j, k):
        """Return cuts in the order of shares for two classes, else all subsets."""
        present = sorted(counts_of(rows, j))
        sizes = range(1, len(present))
        if self.growth.cp is None or self.levels[k] > 2:
            return [
                {present[0], *others}
                for size in sizes
                for others in itertools.combinations(present[1:], size - 1)
            ]
        counts = counts_of(rows, k)
        major = min(counts, key=lambda level: (-counts[level], level))

        def share(level):
            inside = parts(rows, j, {level})[0]
            return Fraction(counts_of(inside, k)[major], len(inside))

        in_order = sorted(present, key=share)
        return [set(in_order[:size]) for size in sizes]


@examples(max_examples=25)
@given(
    levels=st.lists(st.integers(2, 4), min_size=2, max_size=4),
    n=st.integers(2, 40),
    growth=st.builds(
        Growth,
        min_leaf=st.integers(1, 6),
        minsplit=st.sampled_from([2, 12]),
        cp=st.sampled_from([None, 0.0, 1e-8, 0.125]),
    ),
    which=st.integers(0, 15),
    seed=st.integers(0, 10_000),
)
def test_trees_are_those_grown_in_exact_fractions(levels, n, growth, which, seed):
    data = people(n, levels, seed)
    ordered = {k for k in range(len(levels)) if which >> k & 1}

    trees = fit_trees(data, growth=growth, ordered=names_in(which, len(levels)))

    (released,) = trees.release(1, 30, rng=default_rng(seed))
    any_values = people(30, levels, seed + 1)
    exact = ExactGrowth(levels, ordered, growth)
    rows = data.codes.tolist()
    for values in (released, any_values):
        expected = exact.log_prob(rows, values.codes.tolist())
        assert trees.log_prob(values) == pytest.approx(expected, rel=1e-12)


def test_a_leaf_of_five_by_hand():
    """Ten cooks, one of them sick, and five smiths of whom three are."""
    n_records = [9, 1, 2, 3]
    cells = all_cells((2, 2))
    data = table(np.repeat(cells, n_records, axis=0), 2, 2)

    trees = fit_trees(data, growth=Growth(min_leaf=5))

    assert trees.n_leaves == [1, 2]
    # Each job has a leaf of its own: 9 / 15 is (10 / 15) * (9 / 10).
    expected = np.divide(n_records, 15)
    probability = [np.exp(trees.log_prob(cell[None])) for cell in cells]
    assert_allclose(probability, expected, rtol=1e-6)
    # With six records a leaf the smiths are too few.
    assert fit_trees(data, growth=Growth(min_leaf=6)).n_leaves == [1, 1]


def test_trees_end_at_their_greatest_depth():
    last = np.arange(4)
    data = table(np.stack([last // 2, last % 2, last], axis=1), 2, 2, 4)
    for max_depth, n_leaves in enumerate([1, 2, 4, 4]):
        trees = fit_trees(data, growth=Growth(1, max_depth=max_depth))
        assert trees.n_leaves[2] == n_leaves


def test_an_absent_level_goes_left_where_both_parts_are_equal():
    data = table(np.repeat([[0, 0], [1, 1]], 3, axis=0), 3, 2)
    trees = fit_trees(data, growth=Growth(smoothing=1, min_leaf=1))
    expected = np.log(1 / 3 / 7 * 3.5 / 4)
    assert trees.log_prob(np.array([[2, 0]])) == pytest.approx(expected)


def test_many_nominal_levels_are_cut_in_the_order_of_their_shares():
    """Of 13 levels, too many for all splits, the six of higher share are split off."""
    level = np.repeat(np.arange(13), 10)
    is_high = level % 2 == 1
    is_one = np.tile(np.arange(10), 13) < np.where(is_high, 8, 2)

    trees = fit_trees(table(np.stack([level, is_one], axis=1), 13, 2), growth=Growth(5))

    goes_left = int(trees.trees[1].mask[0]) >> level & 1
    assert (goes_left == is_high).all() or (goes_left != is_high).all()


def of_each_tree(trees, release):
    """Log probability of each variable of a release."""
    return [trees.record_log_prob(release, [k]).sum() for k in trees.order]


def test_the_default_is_what_rpart_grows_in_r():
    """tests/rpart.json is what tools/rpart_reference.py had R compute.

    With one record changed seven of more than two thousand trees are others: two splits
    tie, and rpart takes the one that rounding favors.
    """
    reference = json.loads(Path(__file__).with_name("rpart.json").read_text())
    data = microdata.load("", n_records=500, rng=stream(1, "records"))
    release = np.array([list(record) for record in reference["release"]], np.uint8)
    rows = np.array(reference["rows"])
    candidates = one_variable_supports(data.codes[rows], data.schema.n_levels)

    trees = fit_trees(data)
    log_prob_by_tree = of_each_tree(trees, release)
    ours = np.empty(candidates.shape)
    for place in np.ndindex(*candidates.shape[:2]):
        changed = data.codes.copy()
        changed[rows[place[0]]] = candidates[place]
        ours[place] = of_each_tree(fit_trees(Microdata(changed, data.schema)), release)
    log_prob = log_likelihoods(trees, release, rows, candidates)

    assert trees.n_leaves == reference["leaves"]
    assert_allclose(log_prob_by_tree, reference["log_prob"], rtol=1e-8)
    theirs = np.array(reference["changed"], dtype=float).reshape(candidates.shape)
    agrees = np.isclose(ours, theirs, rtol=1e-8)
    assert (~agrees).sum() == 7
    of_truths = softmax(log_prob, axis=1)[:, 0]
    assert_allclose(of_truths, softmax(theirs.sum(axis=2), axis=1)[:, 0], atol=1e-6)


# ------------------------------------------------------------------- one record changed


def refitted(trees, row, candidate, shown):
    """Log probability of released records under trees grown with one record changed."""
    codes = trees.codes.copy()
    codes[row] = candidate
    names = np.array(trees.schema.names)
    order = list(names[list(trees.order)])
    ordered = list(names[trees.ordered])
    data = Microdata(codes, trees.schema)
    return fit_trees(data, order, trees.growth, ordered=ordered).log_prob(shown)


@examples(max_examples=30)
@given(
    levels=st.lists(st.integers(2, 5), min_size=2, max_size=5),
    n=st.integers(5, 150),
    growth=st.builds(
        Growth,
        min_leaf=st.integers(1, 8),
        max_depth=st.sampled_from([100, 2]),
        smoothing=st.sampled_from([0.0, 1.0]),
        minsplit=st.sampled_from([2, 10]),
        cp=st.sampled_from([None, 0.0, 1e-8, 0.05]),
    ),
    which=st.integers(0, 31),
    seed=st.integers(0, 10_000),
)
@example([2, 2, 2], 6, Growth(1, cp=0.25), 0, 330)  # one error more is one price more
def test_a_changed_record_is_as_if_all_were_grown_anew(levels, n, growth, which, seed):
    """To the last digit."""
    rng = default_rng(seed)
    data = people(n, levels, seed)
    ordered = names_in(which, len(levels))
    order = [f"v{k}" for k in rng.permutation(len(levels))]
    trees = fit_trees(data, order, growth, ordered=ordered)
    released = trees.release(2, rng=rng)
    rows = rng.integers(0, n, 3)
    anywhere = [rng.integers(0, k, (3, 4)) for k in levels]
    near = one_variable_supports(data.codes[rows], data.schema.n_levels)
    candidates = np.concatenate([near, np.stack(anywhere, axis=-1)], axis=1)

    log_prob = log_likelihoods(trees, released, rows, candidates)

    shown = np.concatenate([release.codes for release in released])
    for place in np.ndindex(log_prob.shape):
        row = rows[place[0]]
        assert log_prob[place] == refitted(trees, row, candidates[place], shown)


@pytest.mark.parametrize(
    ("levels", "n", "size", "growth", "ordered"),
    [
        ((2, 2), 3, 3, Growth(1), ()),
        ((2, 2), 3, 3, Growth(1, smoothing=1.0), ()),
        ((2, 2), 4, 2, Growth(2, max_depth=0, smoothing=0.5), ()),
        ((3, 2), 3, 2, Growth(1), ("v0",)),
        ((2, 2, 2), 3, 1, Growth(1, smoothing=2.0), ()),
        ((2, 2, 2), 3, 1, Growth(1, cp=0.0), ()),
    ],
)
def test_all_neighbors_of_all_tables_for_all_releases(levels, n, size, growth, ordered):
    """Changes of one record give the rows of the table of log p(release | data)."""
    cells = all_cells(levels)
    places = range(len(cells))
    datasets = list(itertools.combinations_with_replacement(places, n))
    releases = [
        cells[list(release)]
        for release in itertools.combinations_with_replacement(places, size)
    ]
    trees = [
        fit_trees(table(cells[list(dataset)], *levels), growth=growth, ordered=ordered)
        for dataset in datasets
    ]
    log_prob = np.array(
        [[tree.log_prob(release) for release in releases] for tree in trees]
    )  # (n_datasets, n_releases)

    neighbors = np.empty((len(datasets), n, len(cells)), dtype=int)
    for row, i, cell in np.ndindex(neighbors.shape):
        neighbor = list(datasets[row])
        neighbor[i] = cell
        neighbors[row, i, cell] = datasets.index(tuple(sorted(neighbor)))

    support = np.broadcast_to(cells, (n, *cells.shape))
    for tree, own_neighbors in zip(trees, neighbors, strict=True):
        of_changes = [
            log_likelihoods(tree, release, np.arange(n), support)
            for release in releases
        ]
        assert_array_equal(np.stack(of_changes, axis=-1), log_prob[own_neighbors])
    # Neither of two tables may be able to lead to a release.
    with np.errstate(invalid="ignore"):
        loss = np.abs(log_prob[:, None, None] - log_prob[neighbors])
    epsilon = np.nanmax(loss, axis=(1, 2, 3))  # conditional on each table
    if growth.smoothing == 0:
        # A level that one record of a leaf has can be lost.
        assert np.isposinf(epsilon).all()
        return
    # All released records have what one record has and no other.
    per_level = np.array(levels) / growth.smoothing
    of_margins = size * np.log1p(per_level).sum()
    if growth.max_depth == 0:
        assert epsilon.max() == pytest.approx(of_margins)
    else:
        # The margin as above; in other trees every record may lie in another leaf.
        n_moved = np.where(np.arange(len(levels)) == 0, 1, n)
        bound = size * np.log1p(n_moved * per_level).sum()
        assert of_margins < epsilon.max() <= bound


@contextmanager
def dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            processes=False,
            dashboard_address=":0",
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client.get_executor()


@pytest.mark.parametrize(
    "place",
    [
        lambda: ThreadPoolExecutor(3),
        lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")),
        dask,
    ],
    ids=["threads", "processes", "dask"],
)
def test_risks_are_the_same_bytes_wherever_blocks_are_done(place, monkeypatch):
    data = people(300, (3, 4, 2, 5), 5)
    trees = fit_trees(data, growth=Growth(5))
    released = trees.release(2, rng=default_rng(6))
    here = tree_risk(data, released, trees)
    monkeypatch.setattr(changes, "_EXECUTOR_BLOCK", 300)

    with place() as executor:
        there = tree_risk(data, released, trees, executor=executor)
        of_any = synthesizers.log_likelihoods(
            Regrown(data, trees.growth),
            [released[0].codes],
            data.codes,
            np.arange(20),
            data.codes[:20, None],
            executor=executor,
        )

    for name in ("probability", "rank", "n_excluded"):
        assert getattr(here, name).tobytes() == getattr(there, name).tobytes()
    assert_array_equal(of_any, trees.log_prob(released[0]))


# ----------------------------------------------------------------------- posterior risk


@pytest.mark.parametrize(
    "growth",
    [Growth(4), Growth(2, minsplit=6, cp=1e-8)],
)
def test_posterior_risk_is_that_of_growing_anew(growth):
    """By the changes of one record, and by a density alone."""
    data = people(80, (2, 3, 4), 7)
    levels = data.schema.n_levels
    trees = fit_trees(data, growth=growth)
    released = trees.release(2, rng=default_rng(8))
    shown = np.concatenate([release.codes for release in released])
    rng = default_rng(9)
    for unknown in (None, ["v0", "v2"]):
        size = 8 if unknown else 1 + 1 + 2 + 3
        log_prior = rng.normal(size=(len(trees.combinations), size))
        settings = {"unknown": unknown, "log_prior": log_prior}

        risk = tree_risk(data, released, trees, **settings)
        of_density = tree_risk(data, released, Regrown(data, growth), **settings)

        # Sums over two releases are formed in another order.
        assert_allclose(risk.probability, of_density.probability, rtol=1e-9)
        assert_array_equal(risk.n_excluded, of_density.n_excluded)
        assert risk.exact
        assert risk.converged
        assert risk.reliable.all()
        for i, x in enumerate(risk.combinations):
            if unknown:
                support = subset_support(x, [0, 2], levels)
            else:
                support = one_variable_supports(x[None], levels)[0]
            row = (data.codes == x).all(axis=1).argmax()
            log_prob = [refitted(trees, row, y, shown) for y in support]
            assert risk.n_excluded[i] == log_prob.count(-np.inf)
            probability = softmax(log_prob + log_prior[i])[0]
            assert risk.probability[i] == pytest.approx(probability, rel=1e-9)
    assert "cannot have led to the releases" in risk.summary()
    assert risk.to_frame()["n_excluded"].tolist() == risk.n_excluded.tolist()


def places_of_truths(levels, growth, believed, seed):
    """Yield posterior distribution functions at the truth, with ties at random.

    Of the first record of a table the intruder does not know two variables; what was
    believed of them before the release is a prior from which the true record is drawn.
    """
    rng = default_rng(seed)
    for _ in range(90):
        data = people(60, levels, rng.integers(1 << 30))
        record = data.codes[0]
        support = subset_support(record, [0, 2], data.schema.n_levels)
        prior = rng.dirichlet(np.full(len(support), 2.0))
        truth = rng.choice(len(support), p=prior)
        record[:] = support[truth]
        order = rng.permutation(data.schema.names).tolist()
        ordered = ["v1"]
        released = fit_trees(data, order, growth, ordered=ordered).release(4, rng=rng)
        trees = fit_trees(data, order, believed, ordered=ordered)
        row = np.zeros(1, np.int64)
        log_prob = log_likelihoods(trees, released, row, support[None])
        probability = softmax(log_prob[0] + np.log(prior))
        above = probability[probability > probability[truth]].sum()
        tied = probability[probability == probability[truth]].sum()
        yield above + rng.random() * tied


def distance_from_uniform(*growths):
    """Scaled Kolmogorov-Smirnov distance of the places of truths."""
    places = []
    for seed, (growth, believed) in enumerate(growths):
        for levels in ((2, 3, 2), (2, 3, 4, 2)):
            places += places_of_truths(levels, growth, believed, seed)
    return kstest(places, "uniform").statistic * np.sqrt(len(places))


def test_probabilities_come_true():
    """Over many tables the posterior distribution function at the truth is uniform."""
    smoothed = Growth(10, smoothing=1.0)
    growths = [
        Growth(1),
        Growth(3, smoothing=1.0),
        Growth(5),
        smoothed,
        Growth(1, cp=0.1),
    ]
    # More than 2.2 comes once in ten thousand.
    assert distance_from_uniform(*zip(growths, growths, strict=True)) < 2.2
    # An intruder with wrong assumptions about the size of the leaves is detected.
    wrong = Growth(2, smoothing=1.0)
    assert distance_from_uniform((smoothed, wrong)) > 3


class Regrown:
    """Trees by the two functions of a density alone."""

    def __init__(self, data, growth):
        synthesizer = SequentialTrees(data.schema, growth=growth)
        self.release = synthesizer.release
        self.log_prob = synthesizer.log_prob


WRONG = people(20, (2, 3), 1)
FRAME = WRONG.to_frame()
TREES = fit_trees(WRONG)
LACKING = Microdata(WRONG.codes[WRONG.codes[:, 1] != 2], WRONG.schema)
CANDIDATES = WRONG.codes[:1, None]
test_bad_input_of_growth = refused_changes(
    Growth,
    {},
    {
        "min_leaf is 2.5; it must be a whole number": {"min_leaf": 2.5},
        "min_leaf is 0; it must be 1 or more": {"min_leaf": 0},
        "max_depth is None; it must be a whole": {"max_depth": None},
        "smoothing is '1'; it must be a number": {"smoothing": "1"},
        "smoothing is -1.0; it must be 0 or more": {"smoothing": -1.0},
        "smoothing is inf; it must be finite": {"smoothing": np.inf},
        "minsplit is 1; it must be 2 or more": {"minsplit": 1},
        "cp is -0.01; it must be 0 or more": {"cp": -0.01},
        "cp is 1.5; it must lie in 0 to 1": {"cp": 1.5},
        "cp is '1'; it must be a number": {"cp": "1"},
    },
)

test_bad_input_of_fit = refused_changes(
    fit_trees,
    {"data": WRONG},
    {
        r"order is \['v0'\]; it must name each of v0, v1 once": {"order": ["v0"]},
        "each of v0, v1 once": {"order": ["v0", "v0"]},
        "order is 'v0'; it must name each of v0, v1 once": {"order": "v0"},
        r"order is Growth\(min_leaf=5.*; it must name": {"order": Growth(5)},
        "growth is 5; it must be of type Growth": {"growth": 5},
        "the table is of type ndarray; it must be": {"data": WRONG.codes},
        "schema is of type str; it must be a Sch": {"data": FRAME, "schema": "v"},
        "record": {"data": FRAME[:0]},
        "v1 has 70 levels; trees take at most 64": {"data": people(9, (2, 70), 1)},
        "schema is given, but the Microdata have": {"schema": WRONG.schema},
        "ordered is 'v0'; it must be a list of names": {"ordered": "v0"},
        "ordered is True; it must be a list of names": {"ordered": True},
        "v7": {"ordered": ["v7"]},
    },
)

test_bad_input_of_release = refused_changes(
    TREES.release,
    {"rng": default_rng(1)},
    {
        "n is 0": {"n": 0},
        "n is 1.5; it must be a whole number": {"n": 1.5},
    },
)

test_bad_input_of_log_prob = refused_changes(
    TREES.log_prob,
    {},
    {
        "out of range": {"released": np.array([[0, 3]])},
        "must have 2 columns": {"released": np.array([[0]])},
        "type float64; they mu": {"released": np.array([[0, 0.5]])},
        "released is a DataFrame": {"released": FRAME},
    },
)

test_bad_input_of_log_likelihoods = refused_changes(
    log_likelihoods,
    {
        "trees": TREES,
        "released": WRONG,
        "rows": [0],
        "candidates": CANDIDATES,
    },
    {
        "rows has type float64; it must be of integers": {"rows": [0.5]},
        "rows is 20; it must lie in 0 to 19": {"rows": [20]},
        "candidates has type float64": {"candidates": [[[0.5, 0]]]},
        "candidates has codes out of range": {"candidates": [[[0, 3]]]},
        r"candidates has shape \(1, 2\)": {"candidates": [[0, 1]]},
        "released is empty": {"released": []},
    },
)

test_bad_input_of_risk = refused_changes(
    tree_risk,
    {"data": WRONG, "released": WRONG, "synthesizer": TREES},
    {
        "released, table 1: the table is of type str": {"released": "a.csv"},
        "has another schema than the": {"released": people(20, (3, 3), 1)},
        "must be Trees, or have the functions": {"synthesizer": object()},
        "it must be Trees, or have the functions": {"synthesizer": Trees},
        "synthesizer has another schema than the original": {
            "synthesizer": SequentialTrees(schema(3, 3))
        },
        "probability zero given the original": {
            "data": LACKING,
            "synthesizer": fit_trees(LACKING),
        },
        "fitted to another table": {"data": LACKING},
        "rng is not given": {"synthesizer": None},
        "executor is given without a synthesizer": {
            "synthesizer": None,
            "executor": ThreadPoolExecutor(1),
        },
        "executor is 2; it must have the interface of": {"executor": 2},
        "unknown is 'v0'; it must be a list of names": {"unknown": "v0"},
        r"log_prior has shape \(3,\)": {"log_prior": np.zeros(3)},
        "log_prior has missing values": {"log_prior": np.full((6, 4), np.nan)},
    },
)


@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 0)])
def test_records_have_their_probability_in_the_trees(first, last):
    """Of the last variables alone, given the others, probabilities sum to one."""
    cells = all_cells((2, 2))
    codes = cells[[0, 0, 1, 2, 3, 3, 3]]
    order = [f"v{first}", f"v{last}"]

    trees = SequentialTrees(schema(2, 2), order, Growth(1, smoothing=1.0)).fit(codes)

    one_by_one = [trees.log_prob(cell[None]) for cell in cells]
    assert_allclose(trees.record_log_prob(cells), one_by_one)
    of_last = np.exp(trees.record_log_prob(cells, [last]))
    assert_allclose(of_last.reshape(2, 2).sum(axis=last), 1)
