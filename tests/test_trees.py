"""Sequential trees: how they are grown, what they release, and one record changed."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import kstest

from srlib.data import distinct, microdata
from srlib.data.schema import Microdata, Schema, Variable
from srlib.dpmpm import Chains
from srlib.margins import DirichletMargins
from srlib.mechanism.bayes import posterior
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
    kernels,
    log_likelihoods,
)


def schema(*n_levels: int) -> Schema:
    return Schema(
        tuple(
            Variable(f"v{k}", tuple(f"level {i}" for i in range(n)))
            for k, n in enumerate(n_levels)
        )
    )


def people(n: int, n_levels: tuple[int, ...], seed: int) -> Microdata:
    """Variables that go together."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    noise = [rng.integers(0, levels, n) * (rng.random(n) < 0.5) for levels in n_levels]
    codes = np.stack(
        [(x + group) % k for x, k in zip(noise, n_levels, strict=True)], axis=1
    )
    return Microdata(codes.astype(np.uint8), schema(*n_levels))


def grown(
    data: Microdata, growth: Growth, order: Any = None, ordered: Any = ()
) -> Trees:
    return fit_trees(data, order, growth, ordered=ordered)


# ----------------------------------------------------------------- a second way to grow


def exact_log_prob(
    codes: NDArray,
    released: NDArray,
    levels: list[int],
    ordered: set[int],
    growth: Growth,
) -> float:
    """Return log p(released | data) by recursion over lists, with exact impurities.

    Splits that tie exactly are resolved by the rule of `Growth`. Of all subtrees the
    cheapest is taken, and of these the smallest.
    """

    def purity(rows: list[Any], k: int) -> Fraction:
        counts = Counter(row[k] for row in rows)
        return sum((Fraction(c * c, len(rows)) for c in counts.values()), Fraction(0))

    def errors(rows: list[Any], k: int) -> int:
        return len(rows) - max(Counter(row[k] for row in rows).values())

    def sides(rows: list[Any], j: int, k: int) -> Any:
        present = sorted({row[j] for row in rows})
        if j in ordered:
            for low, high in itertools.pairwise(present):
                yield (
                    {level for level in present if level <= low},
                    set(range((low + high) // 2 + 1)),
                )
            return
        counts = Counter(row[k] for row in rows)
        major = min(level for level in counts if counts[level] == max(counts.values()))

        def share(level: int) -> Fraction:
            own = [row[k] for row in rows if row[j] == level]
            return Fraction(own.count(major), len(own))

        in_order = sorted(present, key=share)
        cuts = {frozenset(in_order[:size]) for size in range(1, len(present))}
        for size in range(1, len(present)):
            for left in map(set, itertools.combinations(present, size)):
                if growth.cp is not None and levels[k] == 2:
                    if left not in cuts:
                        continue
                elif present[0] not in left:
                    continue
                n_left = sum(row[j] in left for row in rows)
                absent = set(range(levels[j])) - set(present)
                yield left, left | absent if 2 * n_left >= len(rows) else left

    def log_prob(rows: list[Any], shown: list[Any], k: int, price: Fraction) -> Any:
        """Cost, leaves and log probability of the smallest of the cheapest subtrees."""
        best: tuple[Any, ...] = (Fraction(0), 0, 0)
        chosen: Any = None
        for j in range(k) if len(rows) >= growth.minsplit else ():
            for left, whole in sides(rows, j, k):
                sets = [
                    [row for row in rows if (row[j] in left) == side]
                    for side in (True, False)
                ]
                if min(map(len, sets)) < growth.min_leaf:
                    continue
                gain = sum((purity(some, k) for some in sets), -purity(rows, k))
                place = (gain, -j, -sum(1 << level for level in left))
                if gain > 0 and place > best:
                    best, chosen = place, (j, whole)
        counts = Counter(row[k] for row in rows)
        own = float(sum(np.log(counts[row[k]] / len(rows)) for row in shown))
        leaf = (errors(rows, k) + price, 1, own)
        if chosen is None:
            return leaf
        j, whole = chosen
        parts = [
            log_prob(
                [row for row in rows if (row[j] in whole) == side],
                [row for row in shown if (row[j] in whole) == side],
                k,
                price,
            )
            for side in (True, False)
        ]
        cost, leaves, below = (sum(part[i] for part in parts) for i in range(3))
        pruned = growth.cp is not None and leaf[0] <= cost
        return leaf if pruned else (cost, leaves, below)

    total = 0.0
    with np.errstate(divide="ignore"):
        for k in range(codes.shape[1]):
            price = Fraction(growth.cp or 0) * errors(codes.tolist(), k)
            total += log_prob(codes.tolist(), released.tolist(), k, price)[2]
    return total


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
def test_as_grown_in_fractions(
    levels: list[int], n: int, growth: Growth, which: int, seed: int
) -> None:
    data = people(n, tuple(levels), seed)
    ordered = {k for k in range(len(levels)) if which >> k & 1}
    trees = grown(data, growth, ordered=[f"v{k}" for k in sorted(ordered)])
    (released,) = trees.release(1, 30, rng=np.random.default_rng(seed))
    any_values = people(30, tuple(levels), seed + 1)
    for table in (released, any_values):
        expected = exact_log_prob(data.codes, table.codes, levels, ordered, growth)
        assert trees.log_prob(table) == pytest.approx(expected, rel=1e-12)


def sklearn_log_prob(
    codes: NDArray, released: NDArray, min_leaf: int, seed: int
) -> float:
    """log p(released | data) by scikit-learn's trees, which resolve ties by chance."""
    from sklearn.tree import DecisionTreeClassifier

    total = 0.0
    for k in range(codes.shape[1]):
        # A column of zeros: the first variable has a tree without a split.
        x, z = (
            np.column_stack([np.zeros(len(c)), c[:, :k]]) for c in (codes, released)
        )
        tree = DecisionTreeClassifier(
            min_samples_leaf=min_leaf,
            random_state=seed,
            min_impurity_decrease=1e-9,
        ).fit(x, codes[:, k])
        probability = dict(zip(tree.classes_, tree.predict_proba(z).T, strict=True))
        drawn = [
            probability.get(level, np.zeros(len(z)))[i]
            for i, level in enumerate(released[:, k])
        ]
        with np.errstate(divide="ignore"):
            total += np.log(drawn).sum()
    return float(total)


def test_as_scikit_learn_grows_them_where_nothing_ties() -> None:
    pytest.importorskip("sklearn")
    compared = 0
    for seed in range(12):
        data = people(400, (3, 4, 2, 5), seed)
        trees = grown(data, Growth(20), ordered=data.schema.names)
        (released,) = trees.release(1, rng=np.random.default_rng(seed))
        theirs = {
            sklearn_log_prob(data.codes, released.codes, 20, draw) for draw in range(4)
        }
        if max(theirs) - min(theirs) < 1e-9:
            compared += 1
            assert trees.log_prob(released) == pytest.approx(theirs.pop(), rel=1e-12)
    assert compared >= 6


def test_a_leaf_of_five_by_hand() -> None:
    """Ten cooks, one of them sick, and five smiths of whom three are."""
    job, sick = [0] * 10 + [1] * 5, [0] * 9 + [1] + [1] * 3 + [0] * 2
    data = Microdata(np.array([job, sick], dtype=np.uint8).T, schema(2, 2))
    trees = grown(data, Growth(min_leaf=5))
    assert trees.n_leaves == [1, 2]
    expected = np.log(
        [[10 / 15 * 9 / 10, 10 / 15 / 10], [5 / 15 * 2 / 5, 5 / 15 * 3 / 5]]
    )
    for x in itertools.product((0, 1), repeat=2):
        assert trees.log_prob(np.array([x])) == pytest.approx(expected[x])
    # With six records a leaf the smiths are too few.
    assert grown(data, Growth(min_leaf=6)).n_leaves == [1, 1]
    deeper = Microdata(
        np.array([[a, b, 2 * a + b] for a in (0, 1) for b in (0, 1)]), schema(2, 2, 4)
    )
    of_last = [grown(deeper, Growth(1, max_depth=d)).n_leaves[2] for d in (0, 1, 2, 3)]
    assert of_last == [1, 2, 4, 4]
    # A level that a node does not have goes left where both parts are equal.
    equal = grown(
        Microdata(np.array([[0, 0]] * 3 + [[1, 1]] * 3), schema(3, 2)),
        Growth(smoothing=1, min_leaf=1),
    )
    assert equal.log_prob(np.array([[2, 0]])) == pytest.approx(
        np.log(1 / 3 / 7 * 3.5 / 4)
    )
    # Had the sick cook been well, no release could show one.
    sick_cook = np.array([[0, 1]], dtype=np.uint8)
    (log_prob,) = log_likelihoods(
        trees, sick_cook, np.array([9]), np.array([[[0, 1], [0, 0]]])
    )
    assert log_prob[0] == trees.log_prob(sick_cook)
    assert np.isneginf(log_prob[1])


def test_probabilities_of_all_releases_sum_to_one() -> None:
    data = people(30, (2, 3, 2), 1)
    others = Growth(3, smoothing=2.0), Growth(3, cp=0.0)
    for growth in (Growth(3), *others):
        trees = grown(data, growth, order=["v2", "v0", "v1"])
        cells = np.array(list(itertools.product(range(2), range(3), range(2))))
        single = np.exp([trees.log_prob(cell[None]) for cell in cells])
        assert single.sum() == pytest.approx(1)
        pairs = [
            trees.log_prob(np.stack(pair))
            for pair in itertools.product(cells, repeat=2)
        ]
        assert np.exp(pairs).sum() == pytest.approx(1)


def test_releases_are_drawn_with_their_probabilities() -> None:
    trees = grown(
        people(60, (2, 3, 2), 2), Growth(5, smoothing=1.0), order=["v1", "v2", "v0"]
    )
    (released,) = trees.release(1, 40_000, rng=np.random.default_rng(3))
    cells, counts = np.unique(released.codes, axis=0, return_counts=True)
    expected = 40_000 * np.exp([trees.log_prob(cell[None]) for cell in cells])
    assert len(cells) == 12
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected)).all()


def test_many_nominal_levels_are_cut_in_the_order_of_their_shares() -> None:
    """Of 13 levels, too many for all splits, the six of higher share are split off."""
    high = np.arange(13) % 2 == 1
    x = np.repeat(np.arange(13), 10)
    y = np.concatenate([[1] * 8 + [0] * 2 if h else [1] * 2 + [0] * 8 for h in high])
    data = Microdata(np.stack([x, y], axis=1).astype(np.uint8), schema(13, 2))
    tree = grown(data, Growth(5)).trees[1]
    bits = (int(tree.mask[0]) >> np.arange(13)) & 1 == 1
    assert (bits == high).all() or (bits == ~high).all()


def of_each_tree(codes: NDArray, release: NDArray, schema: Schema) -> NDArray:
    """Log probability of each variable of a release under the trees of a table."""
    trees = fit_trees(Microdata(codes, schema))
    records = distinct(release)[:2]
    log_probs = [
        kernels.route(trees.task(position, records), tree).log_prob[1, 0]
        for position, tree in enumerate(trees.trees)
    ]
    return np.array(log_probs)


def test_the_default_is_what_rpart_grows_in_r() -> None:
    """tests/rpart.json is what tools/rpart_reference.py had R compute.

    With one record changed seven of more than two thousand trees are others: two splits
    tie, and rpart takes the one that rounding favors.
    """
    reference = json.loads(Path(__file__).with_name("rpart.json").read_text())
    data = microdata.load("", n_records=500, rng=stream(1, "records"))
    release = np.array(
        [list(map(int, record)) for record in reference["release"]], np.uint8
    )
    trees = fit_trees(data)
    assert trees.n_leaves == reference["leaves"]
    log_prob_by_tree = of_each_tree(data.codes, release, data.schema)
    np.testing.assert_allclose(log_prob_by_tree, reference["log_prob"], rtol=1e-8)
    rows = np.array(reference["rows"])
    candidates = one_variable_supports(data.codes[rows], data.schema.n_levels)
    theirs = np.array(reference["changed"], dtype=float).reshape(*candidates.shape)
    ours = np.empty_like(theirs)
    for i, j in np.ndindex(*ours.shape[:2]):
        changed = data.codes.copy()
        changed[rows[i]] = candidates[i, j]
        ours[i, j] = of_each_tree(changed, release, data.schema)
    assert (~np.isclose(ours, theirs, rtol=1e-8)).sum() == 7
    log_prob = log_likelihoods(trees, release, rows, candidates)
    posterior, of_rpart = (
        np.exp(each - np.logaddexp.reduce(each, axis=1, keepdims=True))
        for each in (log_prob, theirs.sum(axis=2))
    )
    np.testing.assert_allclose(posterior[:, 0], of_rpart[:, 0], atol=1e-6)


# ------------------------------------------------------------------- one record changed


def refitted(trees: Trees, row: int, candidate: NDArray, shown: NDArray) -> float:
    codes = trees.codes.copy()
    codes[row] = candidate
    names = trees.schema.names
    data = Microdata(codes, trees.schema)
    order = [names[k] for k in trees.order]
    ordered = [
        name
        for name, is_ordered in zip(names, trees.ordered, strict=True)
        if is_ordered
    ]
    return grown(data, trees.growth, order, ordered).log_prob(shown)


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
def test_a_changed_record_is_as_if_all_were_grown_anew(
    levels: list[int], n: int, growth: Growth, which: int, seed: int
) -> None:
    """To the last digit."""
    rng = np.random.default_rng(seed)
    data = people(n, tuple(levels), seed)
    ordered = [f"v{k}" for k in range(len(levels)) if which >> k & 1]
    order = [f"v{k}" for k in rng.permutation(len(levels))]
    trees = grown(data, growth, order, ordered)
    released = trees.release(2, rng=rng)
    rows = rng.integers(0, n, 3)
    anywhere = np.stack([rng.integers(0, k, (3, 4)) for k in levels], axis=-1)
    near = one_variable_supports(data.codes[rows], data.schema.n_levels)
    candidates = np.concatenate([near, anywhere], axis=1)
    found = log_likelihoods(trees, released, rows, candidates)
    shown = np.concatenate([table.codes for table in released])
    expected = [
        [refitted(trees, row, x, shown) for x in some]
        for row, some in zip(rows, candidates, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)


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
def test_all_neighbors_of_all_tables_for_all_releases(
    levels: tuple[int, ...], n: int, size: int, growth: Growth, ordered: tuple[str, ...]
) -> None:
    """Changes of one record give the rows of the table of log p(release | data)."""
    cells = np.array(list(itertools.product(*map(range, levels))), dtype=np.uint8)
    data = list(itertools.combinations_with_replacement(range(len(cells)), n))
    releases = list(itertools.combinations_with_replacement(range(len(cells)), size))
    trees = [
        grown(Microdata(cells[list(d)], schema(*levels)), growth, ordered=ordered)
        for d in data
    ]
    table = np.array(
        [[tree.log_prob(cells[list(z)]) for z in releases] for tree in trees]
    )
    row_of = {d: row for row, d in enumerate(data)}
    neighbors = np.array(
        [
            [
                [
                    row_of[tuple(sorted(d[:i] + d[i + 1 :] + (x,)))]
                    for x in range(len(cells))
                ]
                for i in range(n)
            ]
            for d in data
        ]
    )
    support = np.broadcast_to(cells, (n, *cells.shape))
    for tree, near in zip(trees, neighbors, strict=True):
        found = [
            log_likelihoods(tree, cells[list(z)], np.arange(n), support)
            for z in releases
        ]
        np.testing.assert_array_equal(np.stack(found, axis=-1), table[near])
    with np.errstate(
        invalid="ignore"
    ):  # of releases that neither of two tables can have led to
        loss = np.abs(table[:, None, None] - table[neighbors])
    epsilon = np.nanmax(loss, axis=(1, 2, 3))  # conditional on each table
    s, k = growth.smoothing, np.array(levels)
    if s == 0:
        # A level that one record of a leaf has can be lost.
        assert np.isposinf(epsilon).all()
    elif growth.max_depth == 0:
        # All released records have what one record has and no other.
        assert epsilon.max() == pytest.approx(size * np.log(1 + k / s).sum())
    else:
        # The margin as above; in other trees every record may lie in another leaf.
        bound = np.log(1 + k[0] / s) + np.log(1 + n * k[1:] / s).sum()
        assert size * np.log(1 + k / s).sum() < epsilon.max() <= size * bound


@contextmanager
def dask() -> Iterator[Executor]:
    distributed = pytest.importorskip("distributed")
    settings: dict = {"dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with (
        distributed.LocalCluster(n_workers=2, processes=False, **settings) as cluster,
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
def test_risks_are_the_same_bytes_wherever_blocks_are_done(
    place: Callable[[], AbstractContextManager[Executor]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = people(300, (3, 4, 2, 5), 5)
    trees = grown(data, Growth(5))
    released = trees.release(2, rng=np.random.default_rng(6))
    here = posterior_risk(data, released, synthesizer=trees, progress=False)
    monkeypatch.setattr(changes, "_EXECUTOR_BLOCK", 300)
    with place() as executor:
        there = posterior_risk(
            data, released, synthesizer=trees, executor=executor, progress=False
        )
        rows, some = np.arange(100), data.codes[:100, None]
        of_any = synthesizers.log_likelihoods(
            Regrown(data, trees.growth),
            [released[0].codes],
            data.codes,
            rows[:20],
            some[:20],
            executor=executor,
        )
    for name in ("probability", "rank", "n_excluded"):
        assert getattr(here, name).tobytes() == getattr(there, name).tobytes()
    np.testing.assert_array_equal(of_any, trees.log_prob(released[0]))


# ----------------------------------------------------------------------- posterior risk


@pytest.mark.parametrize("growth", [Growth(4), Growth(2, minsplit=6, cp=1e-8)])
def test_posterior_risk_is_that_of_growing_anew(growth: Growth) -> None:
    data = people(80, (2, 3, 4), 7)
    trees = grown(data, growth)
    released = trees.release(2, rng=np.random.default_rng(8))
    shown = np.concatenate([table.codes for table in released])
    prior = np.random.default_rng(9)
    for unknown in (None, ["v0", "v2"]):
        size = 8 if unknown else 1 + 1 + 2 + 3
        n = len(np.unique(data.codes, axis=0))
        log_prior = prior.normal(size=(n, size))
        risk = posterior_risk(
            data,
            released,
            synthesizer=trees,
            unknown=unknown,
            log_prior=log_prior,
            progress=False,
        )
        assert risk.exact
        assert risk.converged
        assert risk.reliable.all()
        for i, x in enumerate(risk.combinations):
            row = int(np.flatnonzero((data.codes == x).all(axis=1))[0])
            levels = data.schema.n_levels
            some = (
                one_variable_supports(x[None], levels)[0] if unknown is None else None
            )
            support = subset_support(x, [0, 2], levels) if some is None else some
            log_prob = np.array([refitted(trees, row, y, shown) for y in support])
            assert risk.n_excluded[i] == np.isneginf(log_prob).sum()
            joint = np.exp(log_prob - log_prob.max() + log_prior[i])
            assert risk.probability[i] == pytest.approx(
                joint[0] / joint.sum(), rel=1e-9
            )
    assert "cannot have led to the releases" in risk.summary()
    assert risk.to_frame()["n_excluded"].tolist() == risk.n_excluded.tolist()


def places_of_truths(
    levels: tuple[int, ...], growth: Growth, believed: Growth, seed: int
) -> Iterator[float]:
    """Yield posterior distribution functions at the truth, with ties at random.

    Of the first record of a table the intruder does not know two variables; what was
    believed of them before the release is a prior from which the true record is drawn.
    """
    rng = np.random.default_rng(seed)
    for _ in range(90):
        data = people(60, levels, int(rng.integers(1 << 30)))
        support = subset_support(data.codes[0], [0, 2], data.schema.n_levels)
        prior = rng.dirichlet(np.full(len(support), 2.0))
        truth = int(rng.choice(len(support), p=prior))
        data.codes[0] = support[truth]
        order, ordered = rng.permutation(data.schema.names).tolist(), ["v1"]
        released = grown(data, growth, order, ordered).release(4, rng=rng)
        trees = grown(data, believed, order, ordered)
        log_prob = log_likelihoods(
            trees, released, np.zeros(1, np.int64), support[None]
        )
        probability = np.exp(posterior(log_prob, np.log(prior)[None])[0])
        tied = probability[probability == probability[truth]].sum()
        yield probability[probability > probability[truth]].sum() + rng.random() * tied


def test_probabilities_come_true() -> None:
    """Over many tables the posterior distribution function at the truth is uniform."""

    def distance(*growths: tuple[Growth, Growth]) -> float:
        found = [
            place
            for seed, (growth, believed) in enumerate(growths)
            for levels in ((2, 3, 2), (2, 3, 4, 2))
            for place in places_of_truths(levels, growth, believed, seed)
        ]
        return float(kstest(found, "uniform").statistic * np.sqrt(len(found)))

    smoothed, wrong = Growth(10, smoothing=1.0), Growth(2, smoothing=1.0)
    every = Growth(1), Growth(3, smoothing=1.0), Growth(5), smoothed, Growth(1, cp=0.1)
    assert (
        distance(*((growth, growth) for growth in every)) < 2.2
    )  # once in ten thousand
    # An intruder with wrong assumptions about the size of the leaves is detected.
    assert distance((smoothed, wrong)) > 3


class Regrown:
    """Trees by the two functions of a density alone."""

    def __init__(self, data: Microdata, growth: Growth) -> None:
        anew = SequentialTrees(data.schema, growth=growth)
        self.release, self.log_prob = anew.release, anew.log_prob


def test_any_density_gives_the_risk() -> None:
    data = people(60, (2, 3, 3), 13)
    trees = grown(data, Growth(4))
    released = trees.release(2, rng=np.random.default_rng(14))
    quick, slow = (
        posterior_risk(data, released, synthesizer=synthesizer, progress=False)
        for synthesizer in (trees, Regrown(data, trees.growth))
    )
    # Sums over two releases are formed in another order.
    np.testing.assert_allclose(quick.probability, slow.probability, rtol=1e-9)
    np.testing.assert_array_equal(quick.n_excluded, slow.n_excluded)


def test_the_mixture_of_one_class_is_exact_by_its_density() -> None:
    """As by chains, which leave nothing to chance where there is one class."""
    data = people(50, (2, 3), 15)
    model = DirichletMargins(data.schema.n_levels)
    rng = np.random.default_rng(16)
    released = [
        Microdata(model.release(data.codes, rng=rng), data.schema) for _ in range(2)
    ]
    exact = posterior_risk(data, released, synthesizer=model, progress=False)
    few = Chains(n_classes=1, burn_in=5, n_draws=20, n_chains=2)
    chains = posterior_risk(data, released, chains=few, rng=rng, progress=False)
    np.testing.assert_allclose(exact.probability, chains.probability, rtol=1e-6)
    no_density: Any = object()
    with pytest.raises(ValueError, match="must be Trees, or have the functions"):
        posterior_risk(data, released, synthesizer=no_density, progress=False)

    class Broken:
        release = model.release

        def log_prob(self, released: NDArray, data: NDArray) -> float:
            return float("nan")

    with pytest.raises(ValueError, match=r"Broken.log_prob returns NaN"):
        posterior_risk(data, released, synthesizer=Broken(), progress=False)


def test_a_release_of_something_else_is_refused() -> None:
    data = people(40, (2, 3), 12)
    trees = grown(data, Growth(5))
    lacking = Microdata(data.codes[data.codes[:, 1] != 2], data.schema)
    trees_without = grown(lacking, Growth(5))
    with pytest.raises(ValueError, match="probability zero given the original"):
        posterior_risk(lacking, data, synthesizer=trees_without, progress=False)
    with pytest.raises(ValueError, match="fitted to another table"):
        posterior_risk(lacking, data, synthesizer=trees, progress=False)
    with pytest.raises(ValueError, match="rng is not given"):
        posterior_risk(data, data)
    with pytest.raises(ValueError, match="executor is given without a synthesizer"):
        posterior_risk(data, data, executor=ThreadPoolExecutor(1))


fit: Any = fit_trees
any_growth: Any = Growth


def changed(data: Microdata, **settings: Any) -> None:
    given: dict[str, Any] = {
        "released": data,
        "rows": [0],
        "candidates": data.codes[:1, None],
    }
    log_likelihoods(fit(data), **given | settings)


def risk(data: Microdata, **settings: Any) -> None:
    given: dict[str, Any] = {
        "released": data,
        "synthesizer": fit(data),
        "progress": False,
    }
    posterior_risk(data, **given | settings)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda data: fit(data, ["v0"]),
            r"order is \['v0'\]; it must name each of v0, v1 once",
        ),
        (lambda data: fit(data, ["v0", "v0"]), "each of v0, v1 once"),
        (
            lambda data: fit(data, "v0"),
            "order is 'v0'; it must name each of v0, v1 once",
        ),
        (
            lambda data: fit(data, any_growth(5)),
            r"order is Growth\(min_leaf=5.*; it must name",
        ),
        (lambda data: fit(data, growth=5), "growth is 5; it must be of type Growth"),
        (
            lambda data: fit(data.codes),
            "data is of type ndarray; it must be a DataFrame or",
        ),
        (
            lambda data: fit(data.to_frame(), schema="v"),
            "schema is of type str; it must be a Sch",
        ),
        (
            lambda data: fit(data, ordered="v0"),
            "ordered is 'v0'; it must be a list of names",
        ),
        (
            lambda data: fit(data, ordered=True),
            "ordered is True; it must be a list of names",
        ),
        (lambda _: any_growth(2.5), "min_leaf is 2.5; it must be a whole number"),
        (lambda _: any_growth(max_depth=None), "max_depth is None; it must be a whole"),
        (lambda _: any_growth(smoothing="1"), "smoothing is '1'; it must be a number"),
        (lambda data: fit(data, ordered=["v7"]), "v7"),
        (lambda _: any_growth(0), "min_leaf is 0; it must be 1 or more"),
        (lambda _: any_growth(minsplit=1), "minsplit is 1; it must be 2 or more"),
        (lambda _: any_growth(cp=-0.01), "cp is -0.01; it must be 0 or more"),
        (lambda _: any_growth(cp=1.5), "cp is 1.5; it must lie in 0 to 1"),
        (lambda _: any_growth(cp="1"), "cp is '1'; it must be a number"),
        (
            lambda _: any_growth(smoothing=-1.0),
            "smoothing is -1.0; it must be 0 or more",
        ),
        (lambda _: any_growth(smoothing=np.inf), "smoothing is inf; it must be finite"),
        (lambda data: fit(data.to_frame()[:0]), "record"),
        (
            lambda data: fit(data, schema=data.schema),
            "schema is given, but the Microdata have",
        ),
        (
            lambda _: fit(people(9, (2, 70), 1)),
            "v1 has 70 levels; trees take at most 64",
        ),
        (lambda data: fit(data).release(0, rng=np.random.default_rng()), "n is 0"),
        (lambda data: fit(data).log_prob(np.array([[0, 3]])), "out of range"),
        (lambda data: fit(data).log_prob(np.array([[0]])), "must have 2 columns"),
        (
            lambda data: fit(data).log_prob(np.array([[0, 0.5]])),
            "type float64; they must be int",
        ),
        (lambda data: fit(data).log_prob(data.to_frame()), "released is a DataFrame"),
        (
            lambda data: fit(data).release(1.5, rng=np.random.default_rng()),
            "n is 1.5; it must be a whole number",
        ),
        (
            lambda data: changed(data, rows=[0.5]),
            "rows has type float64; it must be of integers",
        ),
        (lambda data: changed(data, rows=[20]), "rows must lie in 0 to 19"),
        (
            lambda data: changed(data, candidates=[[[0.5, 0]]]),
            "candidates has type float64",
        ),
        (
            lambda data: changed(data, candidates=[[[0, 3]]]),
            "candidates has codes out of range",
        ),
        (
            lambda data: changed(data, candidates=[[0, 1]]),
            r"candidates has shape \(1, 2\)",
        ),
        (lambda data: changed(data, released=[]), "released is empty"),
        (
            lambda data: risk(data, released=None),
            "table 1 is of type NoneType; it must be a Data",
        ),
        (
            lambda data: risk(data, released="a.csv"),
            "released, table 1 is of type str; it must be",
        ),
        (
            lambda data: risk(data, released=data.to_frame().assign(v0="x")),
            "v0 has 'x'",
        ),
        (
            lambda data: risk(data, released=people(20, (3, 3), 1)),
            "has another schema than the",
        ),
        (
            lambda data: risk(data, synthesizer=Trees),
            "it must be Trees, or have the functions",
        ),
        (
            lambda data: risk(data, synthesizer=SequentialTrees(schema(3, 3))),
            "synthesizer has another schema than the original",
        ),
        (
            lambda data: risk(data, executor=2),
            "executor is 2; it must have the interface of",
        ),
        (
            lambda data: risk(data, unknown="v0"),
            "unknown is 'v0'; it must be a list of names",
        ),
        (lambda data: risk(data, log_prior=np.zeros(3)), r"log_prior has shape \(3,\)"),
        (
            lambda data: risk(data, log_prior=np.full((6, 4), np.nan)),
            "log_prior has missing values",
        ),
    ],
)
def test_wrong_input_is_named(wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong(people(20, (2, 3), 1))


def test_trees_of_frames() -> None:
    frame = pd.DataFrame(
        {"job": ["cook", "smith"] * 20, "sick": ["no"] * 30 + ["yes"] * 10}
    )
    trees = fit_trees(frame, ["sick", "job"], Growth(10))
    assert trees.order == (1, 0)
    (released,) = trees.release(rng=np.random.default_rng(1))
    risk = posterior_risk(
        Microdata.from_frame(frame), released, synthesizer=trees, progress=False
    )
    assert risk.support_size == 3


def test_records_have_their_probability_in_the_trees() -> None:
    """Of the last variables alone, given the others, probabilities sum to one."""
    schema = Schema(tuple(Variable(name, ("0", "1")) for name in ("first", "second")))
    cells = np.array(list(itertools.product((0, 1), repeat=2)), dtype=np.uint8)
    people = cells[[0, 0, 1, 2, 3, 3, 3]]
    for order in ([0, 1], [1, 0]):
        names = [schema.names[k] for k in order]
        trees = SequentialTrees(schema, names, Growth(1, smoothing=1.0)).fit(people)
        one_by_one = [trees.log_prob(cell[None]) for cell in cells]
        np.testing.assert_allclose(trees.record_log_prob(cells), one_by_one)
        last = np.exp(trees.record_log_prob(cells, order[1:])).reshape(2, 2)
        np.testing.assert_allclose(last.sum(axis=order[1]), 1)
