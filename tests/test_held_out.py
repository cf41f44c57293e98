"""People in the file beside people held out: by hand, and where nothing can leak."""

import numpy as np
import pandas as pd
import pytest

from srlib.assessment.held_out import MEASURES, beyond_held_out, in_a_sentence, participants
from srlib.assessment.submission import submit
from srlib.data import embedded_population
from srlib.data.schema import Microdata

# Two keys' levels and the target, by hand: released are (0, 0) twice and (1, 1) once.
ORIGINAL = np.array([(0, 0), (0, 1), (1, 1), (2, 0)])
HELD_OUT = np.array([(0, 0), (1, 0), (2, 1), (2, 1), (2, 0)])
RELEASED = np.array([(0, 0), (0, 0), (1, 1)])


def test_by_hand() -> None:
    found = beyond_held_out(ORIGINAL, [RELEASED], HELD_OUT, [3, 2], [0], 1).set_index("measure")
    assert found.loc["copied", ["used", "held_out"]].tolist() == [2 / 4, 1 / 5]
    assert found.loc["single", ["used", "held_out"]].tolist() == [1 / 4, 1 / 5]
    assert found.loc["DiSCO", ["used", "held_out"]].tolist() == [2 / 4, 1 / 5]
    error = np.sqrt(0.5 * 0.5 / 4 + 0.2 * 0.8 / 5)
    row = found.loc["copied"]
    assert row["difference"] == pytest.approx(0.3)
    assert row["error"] == pytest.approx(error)
    assert row[["low", "high"]].tolist() == pytest.approx([0.3 - 1.96 * error, 0.3 + 1.96 * error])
    assert row["z"] == pytest.approx(0.3 / error)


def test_two_releases_have_the_error_of_their_mean_at_least() -> None:
    nobody = np.array([(1, 0)])
    both = beyond_held_out(ORIGINAL, [RELEASED, nobody], HELD_OUT, [3, 2], [0], 1)
    one = beyond_held_out(ORIGINAL, [RELEASED], HELD_OUT, [3, 2], [0], 1)
    other = beyond_held_out(ORIGINAL, [nobody], HELD_OUT, [3, 2], [0], 1)
    mean = (one["difference"] + other["difference"]) / 2
    np.testing.assert_allclose(both["difference"], mean)
    spread = np.abs(one["difference"] - other["difference"]) / 2  # sd / sqrt(2)
    within = (one["error"] + other["error"]) / 2
    np.testing.assert_allclose(both["error"], np.maximum(spread, within))


def test_where_nothing_can_leak_the_difference_is_within_its_error() -> None:
    rng = np.random.default_rng(8)
    z = []
    for _ in range(60):
        table = embedded_population(900, rng=rng)
        used, others, released = np.split(table.codes, 3)
        levels = table.schema.n_levels
        z.append(beyond_held_out(used, [released], others, levels, range(5), 11)["z"])
    spread = np.std(z, axis=0)
    # Standard errors of a standard deviation and of a mean, of 60: 0.09 and 0.13.
    assert (np.abs(spread - 1) < 0.4).all()
    assert (np.abs(np.mean(z, axis=0)) < 0.6).all()


def test_copies_tell_of_those_who_took_part() -> None:
    table = embedded_population(1500, rng=np.random.default_rng(3))
    original, others, strangers = (
        Microdata(codes, table.schema) for codes in np.split(table.codes, 3)
    )
    half = Microdata(np.concatenate([original.codes[:250], strangers.codes[:250]]), table.schema)
    released = {"half copied": half, "strangers": strangers}
    found = participants(submit(original, released, target="MIG"), others.codes)
    n = len(MEASURES)
    assert found["release"].tolist() == ["half copied"] * n + ["strangers"] * n
    of_each = {name: in_a_sentence(rows) for name, rows in found.groupby("release")}
    assert of_each["half copied"].startswith("It tells more of people in the file than of people")
    assert "a released record has all their values" in of_each["half copied"]
    assert of_each["strangers"].startswith("It tells no more of people in the file")
    copied = found.query("measure == 'copied' and release == 'half copied'").iloc[0]
    assert copied["low"] < 0.5 * (1 - copied["held_out"]) < copied["high"] + 0.1


def test_people_held_out_must_be_other_people() -> None:
    table = embedded_population(600, rng=np.random.default_rng(4))
    original, others, released = (
        Microdata(codes, table.schema) for codes in np.split(table.codes, 3)
    )
    assert submit(original, released, holdout=others).held_out is not None
    shuffled = Microdata(original.codes[::-1], table.schema)
    mixed = Microdata(np.concatenate([original.codes[:150], others.codes[:50]]), table.schema)
    for wrong in (original, shuffled, mixed):
        with pytest.raises(ValueError, match=r"holdout: an estimated .* are in it, too"):
            submit(original, released, holdout=wrong)


def test_a_sentence_for_nothing() -> None:
    frame = pd.DataFrame(
        {"measure": ["copied"], "used": [0.2], "held_out": [0.1], "low": [0.0], "high": [0.2],
         "z": [2.57]}
    )  # fmt: skip
    assert in_a_sentence(frame).startswith("It tells no more")
    assert in_a_sentence(frame.assign(z=2.58)).startswith("It tells more")
