"""The DPMPM: full conditionals, closed forms, recovery, synthesis, reproducibility."""

from dataclasses import replace

import numpy as np
import pytest
from enumeration import all_cells
from ladder import draw_levels
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusals, refused_changes, value_error
from scipy.special import betaln, logsumexp
from scipy.stats import chi2

from srlib import diagnostics
from srlib.data.codes import distinct
from srlib.dpmpm import (
    Chains,
    Prior,
    Sampler,
    cell_log_prob,
    kernels,
    leave_one_out_log_ratios,
    neighbor_log_ratios,
    sample_posterior,
    synthesize,
)

LEVELS = np.array([2, 3, 4])

# Three well separated classes on six variables of three levels.
SIX_LEVELS = np.full(6, 3)
CLASS_SHARES = np.array([0.5, 0.3, 0.2])
FAVORITE_LEVELS = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1],
        [2, 2, 0, 1, 2, 0],
    ]
)
IS_FAVORITE = np.arange(3) == FAVORITE_LEVELS[..., None]
LEVEL_SHARES = np.where(IS_FAVORITE, 0.8, 0.1)


def latent_class_data(rng, n):
    """Records, and the class of each."""
    class_of = rng.choice(3, n, p=CLASS_SHARES)
    codes = draw_levels(LEVEL_SHARES[class_of], rng)
    return codes.astype(np.uint8), class_of


def uniform_codes(rng):
    """Codes of 40 records."""
    uniform = rng.random((40, 3))
    return (uniform * LEVELS).astype(np.uint8)


def sampled(codes, n_levels, rng, keep_allocations=False, **settings):
    chains = Chains(**settings)
    return sample_posterior(
        codes, n_levels, chains, rng=rng, keep_allocations=keep_allocations
    )


def small_draws(seed=0, **settings):
    """Draws given `uniform_codes`."""
    rng = default_rng(seed)
    codes = uniform_codes(rng)
    defaults = {"n_classes": 3, "burn_in": 20, "n_draws": 6, "n_chains": 2}
    return sampled(codes, LEVELS, rng, **defaults | settings)


# ----------------------------------------------------------------- the sampler is right


def two_variable_cells(pi, phi):
    """Probabilities of the six cells of variables of two and three levels."""
    return np.einsum("f,af,bf->ab", pi, phi[:2], phi[2:]).ravel()


def moments(alpha, pi, phi):
    """First and second moments, and products, of all parameters."""
    cells = two_variable_cells(pi, phi)
    return [
        alpha,
        alpha**2,
        np.log(alpha),
        *pi,
        *(pi**2),
        pi[0] * pi[1],
        *phi[0],
        *(phi[2] ** 2),
        *(pi * phi[0]),
        *cells,
        *(cells**2),
    ]


@pytest.mark.parametrize("n_records", [7, pytest.param(60, marks=pytest.mark.slow)])
def test_prior_and_posterior_simulators_agree(n_records):
    """Geweke (2004): alternating x | theta and theta | x keeps the prior of theta.

    With 60 records the counts of the six cells are large enough for the binomial
    branch.
    """
    prior = Prior(alpha_shape=2.0, alpha_rate=2.0, concentration=0.7)
    n_levels = np.array([2, 3])
    n_classes = 3
    rng = default_rng(11)

    def from_prior():
        alpha = rng.gamma(prior.alpha_shape) / prior.alpha_rate
        sticks = np.append(rng.beta(1, alpha, n_classes - 1), 1.0)
        left = np.cumprod(1 - sticks[:-1])
        pi = sticks * np.append(1.0, left)
        phi = [
            rng.dirichlet(np.full(levels, prior.concentration), n_classes).T
            for levels in n_levels
        ]
        return moments(alpha, pi, np.vstack(phi))

    independent = np.array([from_prior() for _ in range(20_000)])

    cells = all_cells(n_levels)
    sampler = Sampler(cells, np.ones(6, int), n_levels, n_classes, prior, rng)
    chain = []
    for _ in range(60_000):
        shares = two_variable_cells(sampler.pi, sampler.phi.astype(float))
        sampler.counts[:] = rng.multinomial(n_records, shares / shares.sum())
        sampler.advance(1)
        phi = sampler.phi.astype(float)
        chain.append(moments(sampler.alpha, sampler.pi, phi))
    kept = np.array(chain)[3_000:]
    batches = kept.reshape(57, 1_000, -1).mean(axis=1)

    difference = batches.mean(axis=0) - independent.mean(axis=0)
    variance_of_chain = batches.var(axis=0, ddof=1) / len(batches)
    variance = variance_of_chain + independent.var(axis=0) / 20_000
    z_scores = difference / np.sqrt(variance)
    assert np.abs(z_scores).max() < 4.5


def test_recovers_a_latent_class_model():
    rng = default_rng(5)
    codes, class_of = latent_class_data(rng, 3_000)

    draws = sampled(
        codes,
        SIX_LEVELS,
        rng,
        n_classes=10,
        burn_in=3_000,
        n_draws=200,
        thin=5,
        n_chains=2,
    )

    n_large_classes = (draws.class_sizes > 150).sum(axis=2)
    assert np.mean(n_large_classes == 3) > 0.8
    in_order = np.sort(draws.class_sizes, axis=2)
    largest = in_order[:, :, :-4:-1].mean(axis=(0, 1))
    tolerance = 5 * np.sqrt(3_000 * 0.25 * 0.1)
    assert_allclose(largest, np.bincount(class_of), atol=tolerance)
    cells = all_cells(SIX_LEVELS)
    shares_in_class = LEVEL_SHARES[:, np.arange(6), cells].prod(axis=2)
    true_shares = CLASS_SHARES @ shares_in_class
    probability = np.exp(cell_log_prob(draws, cells))
    fitted = probability.mean(axis=(0, 1))

    assert np.abs(fitted - true_shares).sum() / 2 < 0.06


def test_chains_from_random_starts_agree_on_alpha():
    rng = default_rng(8)
    codes, _ = latent_class_data(rng, 2_000)

    draws = sampled(
        codes,
        SIX_LEVELS,
        rng,
        n_classes=20,
        burn_in=2_000,
        n_draws=2_000,
        thin=2,
    )

    assert diagnostics.r_hat(draws.alpha) < 1.02


def test_chains_from_one_class_start_there_and_reach_the_same_posterior():
    codes, _ = latent_class_data(default_rng(8), 500)
    at_start = Chains(n_classes=10, burn_in=0, n_draws=200, from_one_class=True)
    burnt_in = replace(at_start, burn_in=2_000)

    first, later, annealed = (
        sample_posterior(codes, SIX_LEVELS, chains, rng=default_rng(1))
        for chains in (at_start, burnt_in, replace(burnt_in, from_one_class=False))
    )

    assert_array_equal(first.class_sizes[:, 0].max(axis=1), 500)
    both = np.concatenate([later.log_likelihood, annealed.log_likelihood])
    assert diagnostics.r_hat(both) < 1.05


def test_relabeling_by_swaps_has_the_prior_as_its_target():
    """Swaps alone, from uniform orders: visits in proportion to p(eta | alpha)."""
    rng = default_rng(2)
    alpha = 0.8
    sizes = np.array([5, 0, 2])
    visited = []
    for _ in range(30_000):
        sizes = sizes[kernels._relabel(sizes, alpha, False, rng)]
        visited.append(sizes)

    orders, visits = np.unique(visited, axis=0, return_counts=True)

    assert len(orders) == 6
    behind = orders.sum() / len(orders) - np.cumsum(orders, axis=1)
    log_sticks = betaln(1 + orders, alpha + behind)
    log_prior = log_sticks[:, :-1].sum(axis=1)
    # The sweeps are correlated; 0.02 is far above their error and far below the
    # differences.
    target = np.exp(log_prior - logsumexp(log_prior))
    assert_allclose(visits / 30_000, target, atol=0.02)


# --------------------------------------------------------------- probabilities of cells


def direct_log_prob(draws, codes):
    start = np.cumsum(draws.n_levels) - draws.n_levels
    with np.errstate(divide="ignore"):
        log_pi = np.log(draws.pi)[:, :, None]
        log_phi = np.log(draws.phi.astype(float))
    log_terms = log_phi[:, :, start + codes].sum(axis=3)
    return logsumexp(log_pi + log_terms, axis=3)


def neighbor_log_ratio(draws, codes, variable, level):
    """Log of the mean ratio of a changed cell's probability to the cell's own."""
    changed = codes.copy()
    changed[:, variable] = level
    log_ratio = cell_log_prob(draws, changed) - cell_log_prob(draws, codes)
    return logsumexp(log_ratio, axis=1) - np.log(draws.n_draws)


@pytest.mark.parametrize("n_classes", [1, 3, 8, 17])
@pytest.mark.parametrize("max_cells", [1, 6, 128])
def test_cell_log_prob_is_the_log_of_the_sum_over_classes(
    monkeypatch, n_classes, max_cells
):
    draws = small_draws(n_classes=n_classes)
    cells = all_cells(LEVELS)
    monkeypatch.setattr(kernels, "GROUP_CELLS", max_cells)

    log_prob = cell_log_prob(draws, cells)
    ratios = neighbor_log_ratios(draws, cells)[0]

    assert_allclose(log_prob, direct_log_prob(draws, cells), rtol=1e-12)
    sums = np.exp(log_prob).sum(axis=2)
    assert_allclose(sums, 1, rtol=1e-5)
    expected = [
        neighbor_log_ratio(draws, cells, k, level)
        for k in range(3)
        for level in range(LEVELS[k])
    ]
    assert_allclose(ratios, np.stack(expected, axis=2), atol=1e-11)


def test_many_variables_do_not_underflow():
    """600 variables of 10 levels have probabilities near 1e-600."""
    rng = default_rng(9)
    n_levels = np.full(600, 10)
    codes = rng.integers(0, 10, (30, 600)).astype(np.uint8)
    draws = sampled(
        codes,
        n_levels,
        rng,
        n_classes=5,
        burn_in=5,
        n_draws=3,
        n_chains=1,
    )

    log_prob = cell_log_prob(draws, codes)
    ratios = neighbor_log_ratios(draws, codes)[0]

    assert log_prob.max() < -1_000
    assert_allclose(log_prob, direct_log_prob(draws, codes), rtol=1e-10)
    changed = (codes[:, 7] + 1) % 10
    expected = neighbor_log_ratio(draws, codes, 7, changed)
    of_changed = ratios[:, np.arange(30), 70 + changed]
    assert_allclose(of_changed, expected, atol=1e-8)


def test_log_likelihood_is_that_of_the_data():
    draws = small_draws(seed=1, n_classes=4, burn_in=5, n_draws=4)

    codes = uniform_codes(default_rng(1))
    log_prob = cell_log_prob(draws, codes).sum(axis=2)
    assert_allclose(draws.log_likelihood, log_prob, rtol=1e-5)
    assert_array_equal(draws.class_sizes.sum(axis=2), 40)
    assert_allclose(draws.pi.sum(axis=2), 1, rtol=1e-12)
    assert len(np.unique(draws.alpha)) == draws.alpha.size


# ---------------------------------------------------------------------------- synthesis


def test_synthetic_records_follow_the_draw():
    draws = small_draws(seed=4, n_draws=1, n_chains=1)
    pi = draws.pi[0, 0]
    phi = draws.phi[0, 0]

    codes = synthesize(pi, phi, LEVELS, 40_000, rng=default_rng(0))

    log_prob = cell_log_prob(draws, all_cells(LEVELS))[0, 0]
    expected = 40_000 * np.exp(log_prob)
    cell_of = np.ravel_multi_index(tuple(codes.T), tuple(LEVELS))
    observed = np.bincount(cell_of, minlength=24)
    chi_squared = ((observed - expected) ** 2 / expected).sum()
    assert chi_squared < chi2.isf(1e-5, 23)


def test_row_i_of_the_release_knows_nothing_of_row_i_of_the_data():
    """Permuting the rows of a release changes its likeness to the data by chance."""
    rng = default_rng(6)
    codes, class_of = latent_class_data(rng, 4_000)
    draws = sampled(
        codes,
        SIX_LEVELS,
        rng,
        n_classes=6,
        burn_in=200,
        n_draws=1,
        n_chains=1,
    )
    (release,) = draws.release(1, 4_000, rng=rng)

    def excess(release, n_permutations):
        """Likeness row by row above that of permuted rows, in standard deviations."""
        permuted = [
            np.mean(rng.permutation(release) == codes) for _ in range(n_permutations)
        ]
        difference = np.mean(release == codes) - np.mean(permuted)
        return difference / np.std(permuted)

    assert abs(excess(release, 400)) < 4.5
    # The same check sees a release drawn from each record's own class.
    of_own_class = draw_levels(LEVEL_SHARES[class_of], rng)
    assert excess(of_own_class, 100) > 20


def test_draws_behind_releases_are_far_apart():
    draws = small_draws()
    places = [
        (0, 2),
        (0, 5),
        (1, 2),
        (1, 5),
    ]
    streams = [default_rng(seed) for seed in range(4)]

    by_streams = draws.release(4, 30, rng=streams)
    by_one_stream = draws.release(2, 30, rng=default_rng(0))

    assert_array_equal(draws.spaced(4), np.transpose(places))

    def drawn(place, rng):
        return synthesize(draws.pi[place], draws.phi[place], LEVELS, 30, rng=rng)

    for seed, place in enumerate(places):
        assert_array_equal(by_streams[seed], drawn(place, default_rng(seed)))
    rng = default_rng(0)
    for chain in (0, 1):
        assert_array_equal(by_one_stream[chain], drawn((chain, 5), rng))
    with value_error("n is 13; it must lie in 1 to 12"):
        draws.spaced(13)
    with value_error("rng has 4 generators; it must be one, or 3, one each"):
        draws.release(3, 30, rng=streams)


# -------------------------------------------------------------- reproducible, bad input


def test_draws_do_not_depend_on_the_order_of_records():
    codes, _ = latent_class_data(default_rng(0), 200)

    in_order, reversed_order = (
        sampled(rows, SIX_LEVELS, default_rng(1), n_classes=4, burn_in=10, n_draws=3)
        for rows in (codes, codes[::-1])
    )

    assert_array_equal(in_order.phi, reversed_order.phi)


def test_groups_of_variables_cover_every_cell_once():
    n_levels = np.array([2, 4, 6, 4, 5, 2, 7, 3, 3, 2, 2, 3, 3, 2])
    cells = all_cells(n_levels[:5])
    codes = np.pad(cells, ((0, 0), (0, 9)))

    grouping = kernels.group_variables(n_levels)

    assert np.diff(grouping.row_start).max() <= kernels.GROUP_CELLS
    rows = grouping.rows(codes).astype(np.uint8)
    assert len(distinct(rows)[0]) == len(cells)


test_bad_input = refused_changes(
    sample_posterior,
    {
        "codes": np.zeros((1, 3), int),
        "n_levels": LEVELS,
        "chains": Chains(n_classes=2, burn_in=1, n_draws=1),
        "rng": default_rng(1),
    },
    {
        "column 1 of codes is 3; .* in 0 to 2": {"codes": np.array([[0, 3, 0]])},
        "codes has type float64": {"codes": np.zeros((1, 3))},
        r"codes has shape \(1, 2\); .* \(n_records, 3\)": {
            "codes": np.zeros((1, 2), int)
        },
        "the table has no records": {"codes": np.zeros((0, 3), int)},
        "each variable needs two levels": {"n_levels": np.array([2, 1, 4])},
    },
)

test_settings_of_chains_have_a_least_value = refused_changes(
    Chains,
    {"n_classes": 2, "burn_in": 0, "n_draws": 1},
    {
        "n_classes is 0; it must be 1 or more": {"n_classes": 0},
        "burn_in is -1; it must be 0 or more": {"burn_in": -1},
        "n_draws is 0; it must be 1 or more": {"n_draws": 0},
        "thin is 0; it must be 1 or more": {"thin": 0},
        "n_chains is 0; it must be 1 or more": {"n_chains": 0},
    },
)

test_bad_prior = refusals(
    {"concentration is 0; it must be positive": lambda: Prior(concentration=0)}
)


def test_kept_allocations_give_all_counts():
    """Distinct records only: their classes give all counts."""
    n_levels = np.array([2, 3, 4, 3])
    codes = default_rng(3).permutation(all_cells(n_levels))[:50]
    draws = sampled(
        codes,
        n_levels,
        default_rng(4),
        keep_allocations=True,
        n_classes=5,
        burn_in=5,
        n_draws=4,
        n_chains=2,
    )
    kept = draws.allocations
    rows = np.array([0, 2, 5, 9]) + kept.combinations

    for place in np.ndindex(2, 4):
        class_of = kept.class_of[place]
        sizes = np.bincount(class_of, minlength=5)
        assert_array_equal(sizes, draws.class_sizes[place])
        assert draws.n_occupied[place] == np.count_nonzero(sizes)
        counts = np.zeros((12, 5), dtype=int)
        np.add.at(counts, (rows, class_of[:, None]), 1)
        assert_array_equal(kept.level_counts[place], counts)


def left_out_log_prob(draws, place, record, candidates):
    """Log probability of candidates in a draw, from counts without a record."""
    kept = draws.allocations
    row = 3 * np.arange(len(draws.n_levels))
    own_class = kept.class_of[place][record]
    sizes = draws.class_sizes[place].astype(float)
    sizes[own_class] -= 1
    counts = kept.level_counts[place].astype(float)
    counts[row + kept.combinations[record], own_class] -= 1

    behind = sizes.sum() - np.cumsum(sizes)
    stick = (1 + sizes) / (1 + sizes + draws.alpha[place] + behind)
    stick[-1] = 1
    log_left = np.cumsum(np.log1p(-stick[:-1]))
    log_pi = np.log(stick) + np.append(0, log_left)
    log_phi = np.log((0.6 + counts) / (1.8 + sizes))
    log_terms = log_phi[row + candidates].sum(axis=1)
    return logsumexp(log_pi + log_terms, axis=1)


@pytest.mark.parametrize("n_variables", [3, 400], ids=["few", "underflow"])
def test_left_out_ratios_are_those_of_plain_sums(n_variables):
    """As by the formula: counts without the record, means, sums over classes."""
    rng = default_rng(5)
    records = rng.integers(0, 3, (6, n_variables))
    draws = sampled(
        np.repeat(records, [1, 1, 2, 1, 130, 1], axis=0),
        np.full(n_variables, 3),
        rng,
        keep_allocations=True,
        n_classes=4,
        burn_in=3,
        n_draws=3,
        n_chains=2,
        prior=Prior(concentration=0.6),
    )
    kept = draws.allocations

    ratios, log_prob = leave_one_out_log_ratios(draws, kept.combinations[::-1])

    for chain, record in np.ndindex(2, len(kept.combinations)):
        candidates = kept.combinations[[record] * 4].astype(int)
        candidates[1:, 1] = [0, 1, 2]
        expected = np.array(
            [
                left_out_log_prob(draws, (chain, draw), record, candidates)
                for draw in range(3)
            ]
        )
        assert_allclose(log_prob[chain, :, -1 - record], expected[:, 0], rtol=1e-5)
        log_ratios = expected[:, 1:] - expected[:, :1]
        log_mean = logsumexp(log_ratios, axis=0) - np.log(3)
        assert_allclose(ratios[chain, -1 - record, 3:6], log_mean, atol=1e-9)


@pytest.mark.parametrize(
    ("keep_allocations", "message"),
    [
        (False, "keep_allocations=True"),
        (True, r"row 1, is \[0, 1\], which does not occur"),
    ],
)
def test_left_out_ratios_say_what_they_need(rng, keep_allocations, message):
    draws = sampled(
        np.array([[0, 0], [1, 1]]),
        np.array([2, 2]),
        rng,
        keep_allocations,
        n_classes=2,
        burn_in=1,
        n_draws=1,
        n_chains=1,
    )
    with value_error(message):
        leave_one_out_log_ratios(draws, np.array([[1, 1], [0, 1]]))


def test_thinning_keeps_the_last_draw_of_each_stretch():
    draws = small_draws(n_draws=8)
    thinned_while_sampled = small_draws(n_draws=4, thin=2)
    assert_array_equal(draws.thin(3).alpha, draws.alpha[:, [1, 4, 7]])
    assert_array_equal(draws.thin(2).phi, thinned_while_sampled.phi)
    assert_array_equal(draws.thin(1, 1).pi, draws.pi[:1])


def test_arviz_reads_the_draws():
    """Its numbers of alpha and of the log likelihood are those of `diagnostics`."""
    import arviz_stats

    draws = small_draws(n_draws=200, n_chains=4)

    tree = draws.to_datatree()

    columns = ["mean", "r_hat", "ess_bulk", "mcse"]
    for group, name in (
        ("posterior", "alpha"),
        ("sample_stats", "log_likelihood"),
    ):
        theirs = arviz_stats.summary(
            tree, group=group, var_names=[name], round_to="none"
        )
        theirs = theirs.rename(columns={"mcse_mean": "mcse"})[columns]
        ours = diagnostics.summary({name: getattr(draws, name)})[columns]
        assert_allclose(theirs.astype(float), ours.astype(float), rtol=1e-12)
    phi = tree["posterior/phi"]
    assert_allclose(phi.groupby("variable").sum(), 1, rtol=1e-6)
    is_row = (phi["variable"] == 1) & (phi["level"] == 2)
    second = phi.isel(row=is_row).squeeze("row")
    assert_array_equal(second, draws.phi[:, :, 4])
    assert tree["sample_stats/n_occupied"].max() <= tree.sizes.get("class", 3)


@pytest.mark.parametrize("n_classes", [1, 5, 7, 8, 9, 15, 17])
def test_a_point_at_the_total_falls_into_a_class_with_weight(n_classes):
    """Rounding to float32 carries one point in forty million up to the total."""
    n_padded = -(-n_classes // kernels.LANES) * kernels.LANES
    rng = default_rng(n_classes)
    for _ in range(50):
        weights = np.zeros(n_padded, np.float32)
        uniform = rng.random(n_classes)
        is_occupied = rng.random(n_classes) < 0.7
        weights[:n_classes] = uniform * is_occupied
        weights[rng.integers(n_classes)] = 0.5
        cumulated = weights.copy()
        lanes = np.zeros(kernels.LANES + 1, np.float32)
        total = np.float32(kernels._cumulate(cumulated, lanes))
        below = np.nextafter(total, np.float32(0.0))

        at_total = kernels._last_class(cumulated, lanes)
        just_below = kernels._draw_class(cumulated, lanes, below)

        for class_drawn in (at_total, just_below):
            assert weights[class_drawn] > 0
