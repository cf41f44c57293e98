"""Verdicts of the notebook on generators that can only be run, and what they are made of."""

import numpy as np
import pandas as pd
import pytest

from srlib.data.schema import Microdata, Schema, Variable
from srlib.margins import PlugInMargins
from srlib.mechanism import beta_binomial, dirichlet_multinomial_epsilon
from srlib.papers import any_generator as study
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED
from srlib.risk import Density
from srlib.trees import Growth, SequentialTrees


def found(*bounds: float, exact: float = 0.9, releases: int = 100) -> pd.DataFrame:
    table = pd.DataFrame({"probability": bounds})
    return table.assign(exact=exact, exact_se=0.001, releases=releases)


def test_most_is_more_than_half_of_the_gain() -> None:
    assert study.finds_most(found(0.8, 0.85, 0.9)).word == HOLDS
    few = found(0.5, 0.55, 0.5)
    assert study.finds_most(few).word == FAILS
    assert study.finds_most(found(0.5, 0.9)).word == UNDECIDED
    both = pd.concat([few, found(0.85, 0.9, 0.9, releases=1000)])
    verdict = study.finds_most(both)
    assert verdict.word == "depends on the number of releases"
    assert "0.40 over the prior" in verdict.because


def test_silence_is_refuted_by_one_counterexample() -> None:
    assert study.silence_is_safe(found(0.5, 0.6, exact=0.55), 0.95).word == HOLDS
    assert study.silence_is_safe(found(0.5, 0.6, exact=0.55), 0.5).word == FAILS
    assert study.silence_is_safe(found(0.5, 0.6, exact=0.7), 0.95).word == FAILS
    # Beyond its error.
    unsure = found(0.5, exact=0.61).assign(exact_se=0.02)
    assert study.silence_is_safe(unsure, 0.95).word == HOLDS


def test_mistakes_are_caught_or_not() -> None:
    audits = pd.DataFrame(
        {"generator": ["a"] * 5 + ["b"] * 5, "epsilon": [2.0] * 4 + [1.0] + [0.5] * 4 + [3.0]}
    )
    assert study.catches(audits, 1.0).word == "depends on the mistake"
    assert study.catches(audits[:5], 1.0).word == HOLDS
    assert study.catches(audits[5:], 1.0).word == FAILS


def test_false_alarms_are_counted() -> None:
    assert study.no_false_alarm(5, 100).word == HOLDS
    assert study.no_false_alarm(7, 100).word == UNDECIDED
    assert study.no_false_alarm(30, 100).word != HOLDS


def test_near_the_prior_names_the_largest() -> None:
    risks = pd.DataFrame({"ratio": [1.0, 1.1, 0.9, 1.4], "epsilon": 2.0, "generator": "a"})
    assert study.near_the_prior(risks).word == HOLDS
    verdict = study.near_the_prior(risks.assign(ratio=[1.0, 1.0, 1.0, 3.0]))
    assert verdict.word == "depends on epsilon and the generator"
    assert "is 3.00, of a at an epsilon of 2" in verdict.because


def test_use_is_compared_at_each_epsilon() -> None:
    use = pd.DataFrame(
        {
            "epsilon": [1.0, 1.0, 5.0, 5.0],
            "generator": ["a", "b"] * 2,
            "difference": [1.0, 1.02, 1.0, 1.01],
            "difference_se": 0.01,
        }
    )
    assert study.equally_useful(use).word == HOLDS
    use.loc[1, "difference"] = 2.0
    assert study.equally_useful(use).word == "depends on epsilon"
    use.loc[3, "difference"] = 0.5
    verdict = study.equally_useful(use)
    assert verdict.word == FAILS
    assert "+1.00 ± 0.01 at 1; -0.50 ± 0.01 at 5" in verdict.because


def people(n: int = 40) -> Microdata:
    rng = np.random.default_rng(1)
    variables = tuple(Variable(name, ("a", "b", "c")) for name in ("job", "town", "age"))
    return Microdata(rng.integers(0, 3, (n, 3)).astype(np.uint8), Schema(variables))


def test_by_hand() -> None:
    table = study.by_hand(1 - (5 / 6) ** 6, [100])
    assert table.loc[0, "alarms"] == 67
    assert table.loc[0, "high"] == pytest.approx(1 - 0.025 ** (1 / 100))
    a = 1 - (5 / 6) ** 6
    assert table.loc[1, "probability"] == pytest.approx(a + (1 - a) ** 2 / (2 - a))
    assert np.isinf(table.loc[1, "epsilon"])


def test_bounds_stand_beside_exact_values() -> None:
    data = people()
    generators: dict[str, Density] = {
        "trees": SequentialTrees(data.schema, growth=Growth(5)),
        "margins": PlugInMargins(data.schema.n_levels),
    }
    rng = np.random.default_rng(2)
    table = study.compare(generators, data, np.array([3, 7]), [20, 40], 10, rng=rng)
    assert table["record"].tolist() == [1, 1, 2, 2] * 2
    assert table["releases"].tolist() == [20, 40] * 4
    assert table["exact"].between(0, 1).all()
    assert (table["probability"] <= table["exact"] + 4.5 * table["exact_se"] + 0.02).all()
    means = study.by_releases(table)
    assert means["generator"].tolist() == ["trees", "trees", "margins", "margins"]
    at = (table["generator"] == "trees") & (table["releases"] == 40)
    assert means.loc[1, "probability"] == pytest.approx(table.loc[at, "probability"].mean())


def test_an_arranged_release_tells_by_its_order_alone() -> None:
    data = people()
    sly = study.Arranged(PlugInMargins(data.schema.n_levels), 5, data.codes[5])
    changed = data.codes.copy()
    changed[5, 0] = (changed[5, 0] + 1) % 3
    rng = np.random.default_rng(3)
    ordered, random = sly.release(data.codes, rng=rng), sly.release(changed, rng=rng)
    assert ordered.tolist() == sorted(ordered.tolist())
    assert random.tolist() != sorted(random.tolist())


def test_mistakes_are_factors_of_epsilon() -> None:
    vendors = study.mistaken(50, 6, 2.0)
    assert [vendor.epsilon for vendor in vendors.values()] == [2, 4, 12, 24, 100]
    # Noise of shares has a scale that is divided by the number of records.
    assert vendors["noise of shares put on counts"].scale == vendors["right noise"].scale / 50
    assert vendors["both"].scale == 1 / 2.0
    audits = study.audits({"both": vendors["both"]}, 50, 6, 20, 3, rng=np.random.default_rng(4))
    assert len(audits) == 3
    shown = study.refuted(audits, {"both": vendors["both"]}, 2.0)
    assert shown.loc[0, "epsilon of the noise"] == 24
    assert shown.loc[0, "largest bound"] == audits["epsilon"].max()
    data, alternative = study.canary(50, 6)
    assert (data.codes[0] != alternative[0]).all()
    assert (data.codes[1:] == alternative).all()


def test_epsilon_of_the_mixture_is_the_one_asked_for() -> None:
    levels = np.array([2, 3, 5])
    mixture = study.at_epsilon(levels, 80, 6.0)["mixture of one class"]
    alpha = mixture.concentration  # type: ignore[attr-defined]
    total = sum(dirichlet_multinomial_epsilon(80, np.full(k, alpha)) for k in levels)
    assert total == pytest.approx(6.0)


def test_families_are_audited_at_their_worst_pair() -> None:
    rng = np.random.default_rng(5)
    epsilon, bounds = study.family_audits(beta_binomial(20, 20, 0.5), 100, 5, rng=rng)
    assert epsilon == pytest.approx(np.log(41))
    assert (bounds < epsilon).all()
    assert bounds.max() > 0


def test_variables_and_records_are_chosen() -> None:
    data = people()
    assert study.chosen(data, []).schema.names == data.schema.names
    some = study.chosen(data, ["age", "job"])
    assert (some.codes == data.codes[:, [2, 0]]).all()
    rng = np.random.default_rng(6)
    once = study.tested(data, 0, 100, rng=np.random.default_rng(6))
    assert (study.tested(data, 2, 3, rng=rng) == once[2:5]).all()
    with pytest.raises(ValueError, match="two must be left"):
        study.tested(data, len(once) - 1, 3, rng=rng)


def test_risk_and_use_have_a_row_for_each_record_and_generator() -> None:
    data = people()
    private = study.at_epsilon(data.schema.n_levels, len(data), 3.0)
    risks, use = study.risk_and_use(private, data, 2, 3, rng=np.random.default_rng(7))
    assert risks.groupby("generator").size().tolist() == [40, 40]
    assert use["generator"].tolist() == list(private)
    # exp(3 / 3) for one changed variable.
    assert (risks["ratio"] < np.e).all()
