"""The DPMPM: full conditionals, closed forms, recovery, synthesis, reproducibility."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from enumeration import all_cells
from numpy.typing import NDArray
from scipy.special import betaln, logsumexp
from scipy.stats import chi2

from srlib import diagnostics
from srlib.data.codes import distinct
from srlib.dpmpm import (
    Chains,
    Draws,
    Prior,
    Sampler,
    cell_log_prob,
    gibbs,
    kernels,
    leave_one_out_log_ratios,
    neighbor_log_ratios,
    predict,
    sample_posterior,
    synthesize,
)
from srlib.dpmpm.kernels import group_variables

LEVELS = np.array([2, 3, 4])


def latent_class_data(
    rng: np.random.Generator, n: int
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Records of three well separated classes on six variables of three levels."""
    pi = np.array([0.5, 0.3, 0.2])
    favourite = np.array([[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [2, 2, 0, 1, 2, 0]])
    phi = np.full((3, 6, 3), 0.1)
    np.put_along_axis(phi, favourite[..., None], 0.8, axis=2)
    eta = rng.choice(3, n, p=pi)
    u = rng.random((n, 6, 1))
    codes = (u > np.cumsum(phi, axis=2)[eta][:, :, :2]).sum(axis=2)
    return codes.astype(np.uint8), eta, pi, phi


def small_draws(seed: int = 0, n_classes: int = 3, **settings: Any) -> Draws:
    rng = np.random.default_rng(seed)
    codes = (rng.random((40, 3)) * LEVELS).astype(np.uint8)
    chosen: dict[str, Any] = {"burn_in": 20, "n_draws": 6, "n_chains": 2} | settings
    return sample_posterior(
        codes, LEVELS, Chains(n_classes=n_classes, **chosen), rng=rng
    )


# ----------------------------------------------------------------- the sampler is right


@pytest.mark.parametrize("n_records", [7, pytest.param(60, marks=pytest.mark.slow)])
def test_prior_and_posterior_simulators_agree(n_records: int) -> None:
    """Geweke (2004): alternating x | theta and theta | x keeps the prior of theta.

    With 60 records the counts of the six cells are large enough for the binomial
    branch.
    """
    prior = Prior(alpha_shape=2.0, alpha_rate=2.0, concentration=0.7)
    n_levels, n_classes = np.array([2, 3]), 3
    cells = all_cells(n_levels)
    rng = np.random.default_rng(11)

    def functions(alpha: float, pi: NDArray, phi: NDArray) -> list[float]:
        cell = np.einsum("f,af,bf->ab", pi, phi[:2], phi[2:]).ravel()
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
            *cell,
            *(cell**2),
            pi @ (phi[0] * phi[2]),
        ]

    def from_prior() -> list[float]:
        alpha = rng.gamma(prior.alpha_shape) / prior.alpha_rate
        sticks = np.append(rng.beta(1, alpha, n_classes - 1), 1.0)
        pi = sticks * np.cumprod(np.append(1.0, 1 - sticks[:-1]))
        phi = [
            rng.dirichlet(np.full(levels, prior.concentration), n_classes).T
            for levels in n_levels
        ]
        return functions(alpha, pi, np.vstack(phi))

    independent = np.array([from_prior() for _ in range(20_000)])

    sampler = Sampler(cells, np.ones(6, int), n_levels, n_classes, prior, rng)
    chain = []
    for _ in range(60_000):
        phi = sampler.phi.astype(float)
        cell = np.einsum("f,af,bf->ab", sampler.pi, phi[:2], phi[2:]).ravel()
        sampler.counts[:] = rng.multinomial(n_records, cell / cell.sum())
        sampler.advance(1)
        chain.append(functions(sampler.alpha, sampler.pi, sampler.phi.astype(float)))
    batches = np.array(chain)[3_000:].reshape(57, 1_000, -1).mean(axis=1)

    difference = batches.mean(axis=0) - independent.mean(axis=0)
    variance = (
        batches.var(axis=0, ddof=1) / len(batches) + independent.var(axis=0) / 20_000
    )
    assert np.abs(difference / np.sqrt(variance)).max() < 4.5


def test_one_class_is_the_dirichlet_multinomial() -> None:
    """With F = 1 phi has independent Dirichlet posteriors, whatever alpha is."""
    rng = np.random.default_rng(3)
    codes = (rng.random((50, 3)) * LEVELS).astype(np.uint8)
    draws = sample_posterior(
        codes,
        LEVELS,
        Chains(n_classes=1, burn_in=1, n_draws=4_000, n_chains=2),
        rng=rng,
    )
    phi = draws.phi[..., 0].reshape(-1, LEVELS.sum()).astype(float)
    counts = np.concatenate(
        [np.bincount(codes[:, k], minlength=d) for k, d in enumerate(LEVELS)]
    )
    totals = np.repeat(50 + LEVELS, LEVELS)
    mean = (counts + 1) / totals
    sd = np.sqrt(mean * (1 - mean) / (totals + 1))
    assert np.abs((phi.mean(axis=0) - mean) / (sd / np.sqrt(len(phi)))).max() < 4.5
    np.testing.assert_allclose(phi.std(axis=0), sd, rtol=0.06)


def test_recovers_a_latent_class_model() -> None:
    rng = np.random.default_rng(5)
    codes, eta, _, phi = latent_class_data(rng, 3_000)
    n_levels = np.full(6, 3)
    chains = Chains(n_classes=10, burn_in=3_000, n_draws=200, thin=5, n_chains=2)
    draws = sample_posterior(codes, n_levels, chains, rng=rng)
    sizes = np.sort(draws.class_sizes, axis=2)[..., ::-1].mean(axis=(0, 1))
    assert np.mean((draws.class_sizes > 150).sum(axis=2) == 3) > 0.8
    np.testing.assert_allclose(
        sizes[:3], np.bincount(eta), atol=5 * np.sqrt(3_000 * 0.25 * 0.1)
    )
    cells = all_cells(n_levels)
    truth = np.einsum(
        "f,fx->x", [0.5, 0.3, 0.2], np.prod(phi[:, np.arange(6), cells], axis=2)
    )
    fitted = np.exp(cell_log_prob(draws, cells)).mean(axis=(0, 1))
    assert fitted.sum() == pytest.approx(1, abs=1e-5)
    assert np.abs(fitted - truth).sum() / 2 < 0.06


def test_labels_do_not_keep_alpha_from_mixing() -> None:
    """Chains from random starts agree on alpha."""
    rng = np.random.default_rng(8)
    codes, *_ = latent_class_data(rng, 2_000)
    chains = Chains(n_classes=20, burn_in=2_000, n_draws=2_000, thin=2)
    draws = sample_posterior(codes, np.full(6, 3), chains, rng=rng)
    between = draws.alpha.mean(axis=1).var(ddof=1)
    within = draws.alpha.var(axis=1, ddof=1).mean()
    assert np.sqrt(1 + between / within) < 1.02


def test_relabelling_by_swaps_has_the_prior_as_its_target() -> None:
    """Swaps alone, from uniform orders: visits in proportion to p(eta | alpha)."""
    rng = np.random.default_rng(2)
    sizes, alpha = np.array([5, 0, 2]), 0.8
    visits: dict[tuple[int, ...], int] = {}
    now = sizes.copy()
    for _ in range(30_000):
        now = now[kernels._relabel(now, alpha, False, rng)]
        visits[tuple(now)] = visits.get(tuple(now), 0) + 1

    def log_prior(n: tuple[int, ...]) -> float:
        behind = np.cumsum(n[::-1])[::-1][1:]
        head = np.array(n[:-1])
        return float(betaln(1 + head, alpha + behind).sum())

    target = np.array([log_prior(n) for n in visits])
    target = np.exp(target - logsumexp(target))
    observed = np.array(list(visits.values())) / 30_000
    assert len(visits) == 6
    # The sweeps are correlated; 0.02 is far above their error and far below the
    # differences.
    np.testing.assert_allclose(observed, target, atol=0.02)


# --------------------------------------------------------------- probabilities of cells


def direct_log_prob(draws: Draws, codes: NDArray) -> NDArray:
    start = np.cumsum(draws.n_levels) - draws.n_levels
    with np.errstate(divide="ignore"):
        log_phi = np.log(draws.phi.astype(float))[:, :, start + codes]
        return logsumexp(np.log(draws.pi)[:, :, None] + log_phi.sum(axis=3), axis=3)


@pytest.mark.parametrize("n_classes", [1, 3, 8, 17])
@pytest.mark.parametrize("max_cells", [1, 6, 128])
def test_cell_log_prob(
    monkeypatch: pytest.MonkeyPatch, n_classes: int, max_cells: int
) -> None:
    draws = small_draws(n_classes=n_classes)
    cells = all_cells(LEVELS)
    monkeypatch.setattr(
        predict, "group_variables", partial(group_variables, max_cells=max_cells)
    )
    log_prob = cell_log_prob(draws, cells)
    np.testing.assert_allclose(log_prob, direct_log_prob(draws, cells), rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_prob).sum(axis=2), 1, rtol=1e-5)
    ratios = neighbor_log_ratios(draws, cells)
    expected = np.zeros_like(ratios[0])
    start = np.cumsum(LEVELS) - LEVELS
    for k, levels in enumerate(LEVELS):
        for level in range(levels):
            changed = cells.copy()
            changed[:, k] = level
            log_ratio = cell_log_prob(draws, changed) - log_prob
            expected[:, :, start[k] + level] = logsumexp(log_ratio, axis=1) - np.log(
                draws.n_draws
            )
    np.testing.assert_allclose(ratios[0], expected, atol=1e-11)


def test_many_variables_do_not_underflow() -> None:
    """600 variables of 10 levels have probabilities near 1e-600."""
    rng = np.random.default_rng(9)
    n_levels = np.full(600, 10)
    codes = rng.integers(0, 10, (30, 600)).astype(np.uint8)
    chains = Chains(n_classes=5, burn_in=5, n_draws=3, n_chains=1)
    draws = sample_posterior(codes, n_levels, chains, rng=rng)
    log_prob = cell_log_prob(draws, codes)
    assert log_prob.max() < -1_000
    np.testing.assert_allclose(log_prob, direct_log_prob(draws, codes), rtol=1e-10)
    assert draws.class_sizes.sum(axis=2).tolist() == [[30, 30, 30]]
    changed = codes.copy()
    changed[:, 7] = (changed[:, 7] + 1) % 10
    want = logsumexp(cell_log_prob(draws, changed) - log_prob, axis=1) - np.log(3)
    got = neighbor_log_ratios(draws, codes)[0][:, np.arange(30), 70 + changed[:, 7]]
    np.testing.assert_allclose(got, want, atol=1e-8)


def test_log_likelihood_is_that_of_the_data() -> None:
    rng = np.random.default_rng(1)
    codes = (rng.random((40, 3)) * LEVELS).astype(np.uint8)
    chains = Chains(n_classes=4, burn_in=5, n_draws=4, n_chains=2)
    draws = sample_posterior(codes, LEVELS, chains, rng=rng)
    np.testing.assert_allclose(
        draws.log_likelihood, cell_log_prob(draws, codes).sum(axis=2), rtol=1e-5
    )
    assert (draws.class_sizes.sum(axis=2) == 40).all()
    np.testing.assert_allclose(draws.pi.sum(axis=2), 1, rtol=1e-12)


# ---------------------------------------------------------------------------- synthesis


def test_synthetic_records_follow_the_draw() -> None:
    draws = small_draws(seed=4, n_draws=1, n_chains=1)
    codes = synthesize(
        draws.pi[0, 0], draws.phi[0, 0], LEVELS, 40_000, rng=np.random.default_rng(0)
    )
    cells = all_cells(LEVELS)
    expected = 40_000 * np.exp(cell_log_prob(draws, cells)[0, 0])
    observed = np.bincount(
        np.ravel_multi_index(tuple(codes.T), tuple(LEVELS)), minlength=24
    )
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-5, 23)


def test_row_i_of_the_release_knows_nothing_of_row_i_of_the_data() -> None:
    """Permuting the rows of a release changes its likeness to the data by chance."""
    rng = np.random.default_rng(6)
    codes, eta, _, phi = latent_class_data(rng, 4_000)
    n_levels = np.full(6, 3)
    chains = Chains(n_classes=6, burn_in=200, n_draws=1, n_chains=1)
    draws = sample_posterior(codes, n_levels, chains, rng=rng)
    release = synthesize(draws.pi[0, 0], draws.phi[0, 0], n_levels, 4_000, rng=rng)

    def likeness(z: NDArray) -> float:
        return float((z == codes).mean(axis=1).mean())

    permuted = np.array([likeness(rng.permutation(release)) for _ in range(400)])
    assert abs(likeness(release) - permuted.mean()) < 4.5 * permuted.std()
    # The same check sees a release drawn from each record's own class.
    u = rng.random((4_000, 6, 1))
    own_class = (u > np.cumsum(phi, axis=2)[eta][:, :, :2]).sum(axis=2)
    permuted = np.array([likeness(rng.permutation(own_class)) for _ in range(100)])
    assert likeness(own_class) - permuted.mean() > 20 * permuted.std()


def test_draws_behind_releases_are_far_apart() -> None:
    draws = small_draws(n_draws=6, n_chains=2)
    chain, draw = draws.spaced(4)
    assert list(zip(chain, draw, strict=True)) == [(0, 2), (0, 5), (1, 2), (1, 5)]
    with pytest.raises(ValueError, match="n is 13; it must lie in 1 to 12"):
        draws.spaced(13)
    streams = [np.random.default_rng(seed) for seed in range(4)]
    for own, one in enumerate(draws.release(4, 30, rng=streams)):
        at = chain[own], draw[own]
        rng = np.random.default_rng(own)
        np.testing.assert_array_equal(
            one, synthesize(draws.pi[at], draws.phi[at], LEVELS, 30, rng=rng)
        )
    first, second = draws.release(2, 30, rng=np.random.default_rng(0))
    rng = np.random.default_rng(0)
    for one, at in ((first, (0, 5)), (second, (1, 5))):
        np.testing.assert_array_equal(
            one, synthesize(draws.pi[at], draws.phi[at], LEVELS, 30, rng=rng)
        )
    with pytest.raises(
        ValueError, match="rng has 4 generators; it must be one, or 3, one each"
    ):
        draws.release(3, 30, rng=streams)


# -------------------------------------------------------------- reproducible, bad input


def test_draws_do_not_depend_on_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cells = all_cells(LEVELS)
    drawn, cell_probs, ratios = [], [], []
    for threads in (1, 3):
        for module in (gibbs, predict):
            monkeypatch.setattr(module, "THREADS", threads)
        drawn.append(small_draws(n_chains=3))
        cell_probs.append(cell_log_prob(drawn[0], cells))
        ratios.append(neighbor_log_ratios(drawn[0], cells))
    one, many = drawn
    for name in ("alpha", "pi", "phi", "class_sizes", "log_likelihood"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))
    assert len(np.unique(one.alpha)) == one.alpha.size
    np.testing.assert_array_equal(cell_probs[0], cell_probs[1])
    np.testing.assert_array_equal(ratios[0], ratios[1])


def test_order_of_records_does_not_matter() -> None:
    codes, *_ = latent_class_data(np.random.default_rng(0), 200)
    chains = Chains(n_classes=4, burn_in=10, n_draws=3, n_chains=1)
    n_levels = np.full(6, 3)
    a = sample_posterior(codes, n_levels, chains, rng=np.random.default_rng(1))
    b = sample_posterior(codes[::-1], n_levels, chains, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(a.phi, b.phi)


def test_groups_cover_every_cell_once() -> None:
    n_levels = np.array([2, 4, 6, 4, 5, 2, 7, 3, 3, 2, 2, 3, 3, 2])
    grouping = group_variables(n_levels)
    assert np.diff(grouping.row_start).max() <= kernels.GROUP_CELLS
    cells = all_cells(n_levels[:5])
    codes = np.hstack([cells, np.zeros((len(cells), 9), dtype=int)])
    assert len(distinct(grouping.rows(codes).astype(np.uint8))[0]) == len(cells)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": np.array([[0, 3, 0]])}, "column 1 of codes is 3; .* in 0 to 2"),
        ({"codes": np.array([[0.0, 1.0, 0.0]])}, "codes has type float64"),
        (
            {"codes": np.zeros((2, 2), int)},
            r"codes has shape \(2, 2\); .* \(n_records, 3\)",
        ),
        ({"codes": np.zeros((0, 3), int)}, "the table has no records"),
        ({"n_levels": np.array([2, 1, 4])}, "each variable needs two levels"),
    ],
)
def test_bad_input(change: dict, message: str) -> None:
    good = {"codes": np.zeros((2, 3), int), "n_levels": LEVELS}
    chains = Chains(n_classes=2, burn_in=1, n_draws=1)
    with pytest.raises(ValueError, match=message):
        sample_posterior(**(good | change), chains=chains, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [
        ("n_classes", 0, 1),
        ("burn_in", -1, 0),
        ("n_draws", 0, 1),
        ("thin", 0, 1),
        ("n_chains", 0, 1),
    ],
)
def test_bad_chains(name: str, value: int, least: int) -> None:
    good: dict[str, Any] = {"n_classes": 2, "burn_in": 0, "n_draws": 1}
    with pytest.raises(
        ValueError, match=f"{name} is {value}; it must be {least} or more"
    ):
        Chains(**(good | {name: value}))


def test_bad_prior() -> None:
    with pytest.raises(ValueError, match="concentration is 0; it must be positive"):
        Prior(concentration=0)


def test_allocations_agree_with_each_other() -> None:
    """Distinct records only: their classes give all counts."""
    codes = np.array(
        np.unravel_index(np.random.default_rng(3).permutation(72)[:50], (2, 3, 4, 3))
    ).T
    draws = sample_posterior(
        codes,
        np.array([2, 3, 4, 3]),
        Chains(n_classes=5, burn_in=5, n_draws=4, n_chains=2),
        rng=np.random.default_rng(4),
        keep_allocations=True,
    )
    kept = draws.allocations
    assert kept is not None
    start = np.array([0, 2, 5, 9])
    for c, d in np.ndindex(2, 4):
        class_of = kept.class_of[c, d]
        np.testing.assert_array_equal(
            np.bincount(class_of, minlength=5), draws.class_sizes[c, d]
        )
        assert draws.n_occupied[c, d] == len(np.unique(class_of))
        counts = np.zeros((12, 5), dtype=int)
        for variable in range(4):
            np.add.at(
                counts, (start[variable] + kept.combinations[:, variable], class_of), 1
            )
        np.testing.assert_array_equal(kept.level_counts[c, d], counts)


@pytest.mark.parametrize("n_variables", [3, 400], ids=["few", "underflow"])
def test_left_out_ratios_against_plain_sums(n_variables: int) -> None:
    """As by the formula: counts without the record, means, sums over classes."""
    rng = np.random.default_rng(5)
    n_levels = np.full(n_variables, 3)
    codes = np.repeat(
        rng.integers(0, 3, (6, n_variables)), [1, 1, 2, 1, 130, 1], axis=0
    )
    chains = Chains(
        n_classes=4, burn_in=3, n_draws=3, n_chains=2, prior=Prior(concentration=0.6)
    )
    draws = sample_posterior(codes, n_levels, chains, rng=rng, keep_allocations=True)
    kept = draws.allocations
    assert kept is not None
    got, got_log_prob = leave_one_out_log_ratios(draws, kept.combinations[::-1])
    row = 3 * np.arange(n_variables)
    for c in range(2):
        for i, x in enumerate(kept.combinations[::-1].astype(int)):
            ratios = []
            for d in range(3):
                own = kept.class_of[c, d, len(kept.combinations) - 1 - i]
                sizes = draws.class_sizes[c, d].astype(float)
                counts = kept.level_counts[c, d].astype(float)
                sizes[own] -= 1
                counts[row + x, own] -= 1
                behind = sizes.sum() - np.cumsum(sizes)
                stick = (1 + sizes) / (1 + sizes + draws.alpha[c, d] + behind)
                stick[-1] = 1
                log_pi = np.log(stick) + np.append(0, np.cumsum(np.log1p(-stick[:-1])))
                log_phi = np.log((0.6 + counts) / (1.8 + sizes))

                def log_prob(
                    y: NDArray, log_pi: NDArray = log_pi, phi: NDArray = log_phi
                ) -> float:
                    return float(np.logaddexp.reduce(log_pi + phi[row + y].sum(axis=0)))

                of_x = log_prob(x)
                assert got_log_prob[c, d, i] == pytest.approx(of_x, rel=1e-5)
                changed = np.repeat(x[None], 3, axis=0)
                changed[:, 1] = [0, 1, 2]
                ratios.append([log_prob(y) - of_x for y in changed])
            expected = np.logaddexp.reduce(ratios, axis=0) - np.log(3)
            np.testing.assert_allclose(got[c, i, 3:6], expected, atol=1e-9)


def test_left_out_ratios_say_what_they_need() -> None:
    codes = np.array([[0, 0], [1, 1]])
    chains = Chains(n_classes=2, burn_in=1, n_draws=1, n_chains=1)
    given: dict[str, Any] = {
        "codes": codes,
        "n_levels": np.array([2, 2]),
        "chains": chains,
    }
    draws = sample_posterior(**given, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="keep_allocations=True"):
        leave_one_out_log_ratios(draws, codes)
    draws = sample_posterior(
        **given, rng=np.random.default_rng(0), keep_allocations=True
    )
    with pytest.raises(ValueError, match=r"row 1, is \[0, 1\], which does not occur"):
        leave_one_out_log_ratios(draws, np.array([[1, 1], [0, 1]]))


def test_thinned_draws() -> None:
    draws = small_draws(n_draws=8)
    np.testing.assert_array_equal(draws.thin(3).alpha, draws.alpha[:, [1, 4, 7]])
    np.testing.assert_array_equal(draws.thin(2).phi, small_draws(n_draws=4, thin=2).phi)
    np.testing.assert_array_equal(draws.thin(1, 1).pi, draws.pi[:1])


def test_arviz_reads_the_draws() -> None:
    """Its numbers of alpha and of the log likelihood are those of `diagnostics`."""
    import arviz_stats

    draws = small_draws(n_draws=200, n_chains=4)
    tree = draws.to_datatree()
    table = diagnostics.summary(
        {"alpha": draws.alpha, "log likelihood": draws.log_likelihood}
    )
    for group, name, (_, row) in zip(
        ("posterior", "sample_stats"),
        ("alpha", "log_likelihood"),
        table.iterrows(),
        strict=True,
    ):
        theirs = arviz_stats.summary(
            tree, group=group, var_names=[name], round_to="none"
        ).loc[name]
        for statistic in ("mean", "r_hat", "ess_bulk"):
            assert theirs[statistic] == pytest.approx(row[statistic], rel=1e-12)
        assert theirs["mcse_mean"] == pytest.approx(row["mcse"], rel=1e-12)
    phi = tree["posterior/phi"]
    np.testing.assert_allclose(phi.groupby("variable").sum(), 1, rtol=1e-6)
    second = phi.isel(row=(phi["variable"] == 1) & (phi["level"] == 2)).squeeze("row")
    np.testing.assert_array_equal(second, draws.phi[:, :, 4])
    assert tree["sample_stats/n_occupied"].max() <= tree.sizes.get("class", 3)


@pytest.mark.parametrize("n_classes", [1, 5, 7, 8, 9, 15, 17])
def test_a_point_at_the_total_falls_into_a_class_with_weight(n_classes: int) -> None:
    """Rounding to float32 carries one point in forty million up to the total."""
    padded = -(-n_classes // kernels.LANES) * kernels.LANES
    rng = np.random.default_rng(n_classes)
    for _ in range(50):
        weights, lanes = (
            np.zeros(padded, np.float32),
            np.zeros(kernels.LANES + 1, np.float32),
        )
        weights[:n_classes] = rng.random(n_classes) * (rng.random(n_classes) < 0.7)
        weights[rng.integers(n_classes)] = 0.5
        cumulated = weights.copy()
        total = np.float32(kernels._cumulate(cumulated, lanes))
        below = np.nextafter(total, np.float32(0.0))
        for drawn in (
            kernels._last_class(cumulated, lanes),
            kernels._draw_class(cumulated, lanes, below),
        ):
            assert drawn < n_classes
            assert weights[drawn] > 0
