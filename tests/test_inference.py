"""Combining rules, logistic regression and marginals."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from srlib.assessment import inference, regression

ACS = Path(__file__).parents[1].parent / "shared" / "data" / "acs2011_pums_person_sample.csv"


def test_combine_closed_form():
    combined = inference.combine([[1.0], [2.0], [6.0]], [[1.0], [2.0], [3.0]])
    # q-bar = 3, b = (4 + 1 + 9) / 2 = 7, u-bar = 2, T = 4/3 * 7 - 2, nu = 2 (1 - 6/28)^2
    assert combined.estimate == pytest.approx([3])
    assert combined.between == pytest.approx([7])
    assert combined.within == pytest.approx([2])
    assert combined.variance == pytest.approx([28 / 3 - 2])
    assert combined.df == pytest.approx([2 * (22 / 28) ** 2])
    assert not combined.adjusted.any()
    low, high = combined.interval(0.9)
    t = stats.t.ppf(0.95, 2 * (22 / 28) ** 2)
    assert low == pytest.approx([3 - t * np.sqrt(22 / 3)])
    assert high == pytest.approx([3 + t * np.sqrt(22 / 3)])
    low, high = combined.interval(0.9, "normal")
    assert (high - low) / 2 == pytest.approx([1.6448536 * np.sqrt(22 / 3)])


def test_negative_variance_is_replaced_by_reiters():
    combined = inference.combine([1.0, 1.2, 0.8], [0.5, 0.6, 0.7], size_ratio=2.0)
    # 4/3 * 0.04 < 0.6, so the variance is 2 * 0.6.
    assert combined.adjusted.tolist() == [True]
    assert combined.variance == pytest.approx([1.2])
    assert combined.df == pytest.approx([2])


def test_combine_where_estimates_or_variances_vanish():
    combined = inference.combine([[1.0, 1.0, 1.0], [1.0, 1.0, 3.0]], [[4, 0, 0], [4, 0, 0]])
    assert combined.adjusted.tolist() == [True, False, False]
    assert combined.variance == pytest.approx([4, 0, 3])
    assert combined.df == pytest.approx([1, 1, 1])


def test_intervals_stay_numbers_where_the_variance_nearly_vanishes():
    # (1 + 1/2) b = 3: T is 0, barely positive, and clearly positive.
    combined = inference.combine([[0.0] * 3, [2.0] * 3], [[3, 3 - 1e-9, 0.1]] * 2)
    low, high = combined.interval()
    assert not np.isnan(low).any()
    assert (low < high).all()
    assert combined.adjusted.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("estimates", "variances", "ratio", "message"),
    [
        ([1.0], [1.0], 1.0, "at least 2"),
        ([1.0, 2.0], [1.0], 1.0, "shape"),
        ([1.0, np.nan], [1.0, 1.0], 1.0, "finite"),
        ([1.0, 2.0], [1.0, -1.0], 1.0, "negative"),
        ([1.0, 2.0], [1.0, 1.0], 0.0, "size_ratio"),
    ],
)
def test_combine_refuses(estimates, variances, ratio, message):
    with pytest.raises(ValueError, match=message):
        inference.combine(estimates, variances, ratio)


def test_interval_refuses():
    combined = inference.combine([1.0, 2.0], [0.1, 0.1])
    with pytest.raises(ValueError, match="level"):
        combined.interval(95)
    with pytest.raises(ValueError, match="reference"):
        combined.interval(0.95, "z")  # type: ignore[arg-type]


def simulate_release(m, size_ratio, replications, seed):
    """Estimates and variances of a normal mean (truth 0) in m synthetic data sets."""
    rng = np.random.default_rng(seed)
    n, n_synthetic = 100, 100 * size_ratio
    mean = rng.normal(0, n**-0.5, replications)
    drawn = rng.normal(mean, n**-0.5, (m, replications))
    estimates = rng.normal(drawn, n_synthetic**-0.5)
    variances = rng.chisquare(n_synthetic - 1, estimates.shape) / (n_synthetic - 1) / n_synthetic
    return inference.combine(estimates, variances, size_ratio)


def covers(combined, reference):
    low, high = combined.interval(0.95, reference)
    return np.mean((low <= 0) & (high >= 0))


def test_coverage_of_the_rules_with_many_data_sets():
    replications = 20_000
    combined = simulate_release(100, 5, replications, seed=1)
    four_se = 4 * np.sqrt(0.95 * 0.05 / replications)
    assert abs(covers(combined, "t") - 0.95) < four_se


def test_with_five_data_sets_t_covers_and_normal_does_not():
    combined = simulate_release(5, 1, 20_000, seed=2)
    assert covers(combined, "t") >= 0.95
    assert 0.86 < covers(combined, "normal") < 0.90
    # P(T < 0) = P(chi2_4 < 4 u-bar / (1.2 E(b))) with E(b) = 2 u-bar.
    assert combined.adjusted.mean() == pytest.approx(stats.chi2.cdf(4 / 2.4, 4), abs=0.015)


def test_shortest_t_interval_with_five_data_sets():
    ratio = np.linspace(1.01, 40, 5000)  # (1 + 1/m) b / u-bar
    combined = inference.Combined(
        estimate=np.zeros_like(ratio),
        between=ratio / 1.2,
        within=np.ones_like(ratio),
        variance=ratio - 1,
        df=4 * (1 - 1 / ratio) ** 2,
        adjusted=np.zeros(len(ratio), dtype=bool),
    )
    assert combined.interval()[1].min() == pytest.approx(6.67, abs=0.01)


def simulated_regression(n=800, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 5, (n, 3)).astype(float)
    y = rng.random(n) < 1 / (1 + np.exp(-(0.5 - 0.8 * x[:, 0] + 0.3 * x[:, 2])))
    return y, x


def test_logistic_regression_against_direct_optimum():
    y, x = simulated_regression()
    fit = regression.logistic_regression(y, x, ["a", "b", "c"])
    design = np.column_stack([np.ones(len(y)), x])

    def minus_log_likelihood(beta):
        return np.sum(np.logaddexp(0, design @ beta) - y * (design @ beta))

    best = optimize.minimize(minus_log_likelihood, np.zeros(4), tol=1e-10, method="Nelder-Mead",
                             options={"maxiter": 20_000, "maxfev": 20_000})  # fmt: skip
    p = 1 / (1 + np.exp(-design @ best.x))
    covariance = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
    assert fit.terms == ("Intercept", "a", "b", "c")
    assert fit.estimate == pytest.approx(best.x, abs=1e-5)
    assert fit.standard_error == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-5)


def test_code_origin_moves_only_the_intercept():
    y, x = simulated_regression()
    one, zero = (regression.logistic_regression(y, x - k, "abc").estimate for k in (0, 1))
    assert one[1:] == pytest.approx(zero[1:])
    assert zero[0] - one[0] == pytest.approx(one[1:].sum())


def test_logistic_regression_refuses_bad_input():
    y, x = simulated_regression(60)
    with pytest.raises(ValueError, match="outcome takes the values"):
        regression.logistic_regression(y + 1, x, "abc")
    with pytest.raises(ValueError, match="outcome is 1 in all 60"):
        regression.logistic_regression(np.ones(60), x, "abc")
    with pytest.raises(ValueError, match="no records"):
        regression.logistic_regression(np.zeros(0), np.zeros((0, 1)), "a")
    with pytest.raises(ValueError, match="shape"):
        regression.logistic_regression(y, x, "ab")
    with pytest.raises(ValueError, match="names has 'Intercept'"):
        regression.logistic_regression(y, x, ["a", "Intercept", "c"])
    with pytest.raises(ValueError, match="b is the same"):
        regression.logistic_regression(y, x * [1, 0, 1], "abc")
    with pytest.raises(ValueError, match="dependent"):
        regression.logistic_regression(y, np.column_stack([x, x.sum(axis=1)]), "abcd")


@pytest.mark.parametrize("cut", [2.5, 3.5])
def test_separation_is_an_error(cut):
    _, x = simulated_regression(200)
    with pytest.raises(ValueError, match=r"separate the outcome \(through .*b\)"):
        regression.logistic_regression(x[:, 1] > cut, x, "abc")


def test_quasi_separation_is_an_error():
    y, x = simulated_regression(200)
    # No event where b is 4, anything elsewhere: complete separation does not hold.
    only_b = (x[:, 1:2] == 4).astype(float)
    with pytest.raises(ValueError, match="separate the outcome"):
        regression.logistic_regression(y & (x[:, 1] < 4), only_b, "b")


def test_coefficients_table():
    y, x = simulated_regression(1000)
    original = regression.logistic_regression(y, x, "abc")
    releases = [simulated_regression(1000, seed) for seed in range(10, 15)]
    synthetic = [regression.logistic_regression(y, x, "abc") for y, x in releases]
    table = inference.coefficients(original, synthetic)
    combined = inference.combine(
        [fit.estimate for fit in synthetic], [fit.standard_error**2 for fit in synthetic]
    )
    assert table["term"].tolist() == ["Intercept", "a", "b", "c"]
    assert table["synthetic"].to_numpy() == pytest.approx(combined.estimate)
    assert table["synthetic_se"].to_numpy() == pytest.approx(np.sqrt(combined.variance))
    assert table["low"].to_numpy() == pytest.approx(combined.interval(0.95, "normal")[0])
    wide = inference.coefficients(original, synthetic, reference="t")
    assert (wide["high"] > table["high"]).all()
    a = table.loc[1]
    common = min(a["high"], a["original_high"]) - max(a["low"], a["original_low"])
    shares = [common / (a["high"] - a["low"]), common / (a["original_high"] - a["original_low"])]
    assert a["overlap"] == pytest.approx(np.mean(shares))


def test_coefficients_overlap_is_one_for_equal_and_negative_for_distant_intervals():
    def fit(estimates):
        return regression.Regression(("Intercept", "a"), np.array(estimates), np.ones(2), 100)

    # Estimates 0 and +-1 have b = 1 and T = 1/3 for m = 3; equal ones the adjusted T = u-bar = 1.
    table = inference.coefficients(fit([0.0, 0.0]), [fit([0.0, 20.0])] * 3)
    assert table["overlap"].to_numpy() == pytest.approx([1, 1 - 20 / (2 * 1.959964)])
    assert table["adjusted"].all()


def test_coefficients_refuses_mixed_fits():
    y, x = simulated_regression(300)
    original = regression.logistic_regression(y, x, "abc")
    with pytest.raises(ValueError, match="terms"):
        inference.coefficients(original, [regression.logistic_regression(y, x, "abd")] * 2)
    smaller = regression.logistic_regression(y[:200], x[:200], "abc")
    with pytest.raises(ValueError, match="one size"):
        inference.coefficients(original, [original, smaller])


def acs_adults():
    if not ACS.exists():
        pytest.skip(f"{ACS.name} is not here")
    raw = pd.read_csv(ACS).query("AGEP >= 18")
    race = raw["RAC1P"].map({1: 1, 2: 2, 3: 3, 4: 4, 5: 4, 7: 4, 8: 4, 9: 5, 6: 6})
    military = raw["MIL"].map({1: 1, 2: 1, 3: 1, 4: 2, 5: 3})
    return raw.assign(RACE1P=race, MIL=military)


def test_table_2_on_real_records():
    adults = acs_adults()
    names = ["SEX", "MIL", "MIG", "SCH", "RACE1P", "LANX"]
    fit = regression.logistic_regression(adults["DIS"] == 2, adults[names], names)
    printed = np.array([-0.250, 0.239, 0.049, 1.090, -0.078, -1.096])
    # Another year and sample; the sign of every effect beyond two standard errors is the paper's.
    clear = np.abs(fit.estimate[1:]) > 2 * fit.standard_error[1:]
    assert clear.sum() == 4
    assert (np.sign(fit.estimate[1:]) == np.sign(printed))[clear].all()


def test_joint_distribution_counts():
    codes = np.array([[0, 1, 2], [0, 1, 0], [1, 0, 2], [0, 0, 1]])
    joint = inference.joint_distribution(codes, [2, 2, 3], 0, 2)
    assert joint == pytest.approx(np.array([[1, 1, 1], [0, 0, 1]]) / 4)
    assert inference.joint_distribution(codes, [2, 2, 3], 2, 0) == pytest.approx(joint.T)


def test_joint_distribution_refuses_a_code_outside_the_levels():
    with pytest.raises(ValueError, match="column 1 of codes runs from 0 to 3"):
        inference.joint_distribution(np.array([[0, 3], [1, 0]]), [2, 3], 0, 1)


def test_compare_joint():
    original = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    synthetic = [np.array([[0, 0]] * 2 + [[1, 1]] * 2), np.array([[0, 0]] * 4)]
    table = inference.compare_joint(original, synthetic, [["a", "b"], ["c", "d"]], 0, 1)
    assert len(table) == 8
    cell = table.query("level_a == 'a' and level_b == 'c'").set_index("source")
    assert cell.loc["original", "proportion"] == pytest.approx(0.25)
    assert cell.loc["original", "se"] == pytest.approx(np.sqrt(0.25 * 0.75 / 4))
    assert cell.loc["synthetic", "proportion"] == pytest.approx(0.75)
    # b = 1/8, u-bar = 1/32, T = 1.5/8 - 1/32
    assert cell.loc["synthetic", "se"] == pytest.approx(np.sqrt(1.5 / 8 - 1 / 32))
    assert table.groupby("source")["proportion"].sum().to_numpy() == pytest.approx([1, 1])


def test_pairwise_differences_are_zero_for_a_copy_and_sorted():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (500, 4))
    same = inference.pairwise_differences(codes, [codes, codes], [2] * 4, "wxyz")
    assert len(same) == 6
    assert same["maximum_absolute_difference"].max() == 0
    other = codes.copy()
    other[:, 3] = codes[:, 2]  # y and z become the same variable
    table = inference.pairwise_differences(codes, [other], [2] * 4, "wxyz")
    assert table.loc[0, ["variable_a", "variable_b"]].tolist() == ["y", "z"]
    released = inference.joint_distribution(other, [2] * 4, 2, 3)
    difference = np.abs(released - inference.joint_distribution(codes, [2] * 4, 2, 3))
    assert table.loc[0, "mean_absolute_difference"] == pytest.approx(difference.mean())
    assert table.loc[0, "maximum_absolute_difference"] == pytest.approx(difference.max())
