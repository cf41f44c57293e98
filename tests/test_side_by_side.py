"""Several tools side by side: folders of releases, the table, domination and ties, the picture."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from srlib import charts
from srlib.assessment import assess, examine, judge, leakage, side_by_side, submit, utility
from srlib.assessment.findings import usefulness
from srlib.assessment.submission import Submission
from srlib.assessment.verdict import slugs
from srlib.data.schema import Schema, Variable
from srlib.dpmpm import Chains
from srlib.runner import costs
from srlib.runner.parameters import files_at, hash_inputs, read_parameters

CHAINS = Chains(n_classes=2, burn_in=5, n_draws=4, n_chains=2)
SCHEMA = Schema(
    (Variable("key", tuple("abcdx"), tuple("abcdx")), Variable("target", ("0", "1"), ("0", "1")))
)


def records(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    job = rng.integers(0, 3, n)
    sick = np.where(rng.random(n) < 0.2 + 0.3 * job, "yes", "no")
    return pd.DataFrame(
        {"job": np.array(list("abc"))[job], "town": rng.choice(list("nsew"), n)}
    ).assign(sick=sick)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


# ------------------------------------------------------------------------------ folders and groups


def test_a_folder_has_the_releases_of_one_tool(tmp_path: Path) -> None:
    tool, frames = tmp_path / "tool", [records(40, seed) for seed in range(4)]
    tool.mkdir()
    frames[1].to_csv(tool / "a.csv", index=False)
    frames[2].to_csv(tool / "b.tsv", sep="\t", index=False)
    with gzip.open(tool / "c.csv.gz", "wt") as file:
        frames[3].to_csv(file, index=False)
    frames[3].to_stata(tool / "d.dta", write_index=False)
    (tool / ".DS_Store").write_bytes(b"\0")
    frames[1].to_csv(tmp_path / "alone.csv", index=False)
    found = submit(frames[0], [str(tool) + "/", tmp_path / "alone.csv"], target="sick")
    assert found.names == ("tool/a.csv", "tool/b.tsv", "tool/c.csv.gz", "tool/d.dta", "alone.csv")
    assert found.groups == ("tool",) * 4 + ("alone.csv",)
    judged = found.judged()
    assert [(name, one.names) for name, one in judged.items()] == [
        ("tool", found.names[:4]), ("alone.csv", ("alone.csv",)),
    ]  # fmt: skip
    assert (judged["tool"].released[2] == judged["tool"].released[3]).all()
    note = "tool: a folder of 4, judged together; hidden files are ignored: .DS_Store."
    assert found.notes[0] == note
    assert "tool/b.tsv: 40 records." in found.notes
    named = submit(frames[0], {"ours": tool, "theirs": frames[1:3], "once": frames[3]})
    assert named.groups == ("ours",) * 4 + ("theirs",) * 2 + ("once",)
    assert named.names[4:] == ("theirs 1", "theirs 2", "once")
    hashes = hash_inputs({"released": [f"{tool}/", str(tmp_path / "alone.csv")]}, ["released"])
    assert list(hashes) == [*(f"{tool}/{name}" for name in ("a.csv", "b.tsv", "c.csv.gz", "d.dta")),
                            str(tmp_path / "alone.csv")]  # fmt: skip
    assert len(set(hashes.values())) == 4
    assert files_at("make.py:NAME") == ["make.py"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "tool: the folder has no files; it must have one release or more"),
        ([".hidden"], "tool: the folder has no files but hidden ones; it must have"),
        (["a.csv", "b.pdf", "c"], "tool: b.pdf, c cannot be read as a table; a folder of releases"),
        (["a.csv", "more/"], "tool: more/ cannot be read as a table"),
        (["a.csv", "damaged.parquet"], r"damaged.parquet: it cannot be read as a .parquet file"),
        (["a.csv", "README.txt"], "README.txt: missing columns job, town, sick"),
    ],
)
def test_what_a_folder_must_not_have_is_named(
    tmp_path: Path, files: list[str], message: str
) -> None:
    (tmp_path / "tool").mkdir()
    for name in files:
        path = tmp_path / "tool" / name
        path.mkdir() if name.endswith("/") else path.write_text("some text\nand more\n")
    if "a.csv" in files:
        records(20, 1).to_csv(tmp_path / "tool/a.csv", index=False)
    with pytest.raises(ValueError, match=message) as error:
        submit(records(20, 2), tmp_path / "tool")
    assert "\n" not in str(error.value)


def test_what_may_not_be_a_folder_or_a_tool(tmp_path: Path) -> None:
    frame = records(20, 1)
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match="it is a folder, which only a release may be"):
        submit(tmp_path, frame)
    with pytest.raises(ValueError, match=f"true, and {tmp_path.name} stands for several releases"):
        submit(frame, [tmp_path], same_generator=True)
    with pytest.raises(ValueError, match="ours: there are no releases; a tool must have one"):
        submit(frame, {"ours": []})
    together = submit(frame, [frame, frame], same_generator=True)
    assert set(together.groups) == {"release 1 and 1 more"}


def test_chains_and_costs_count_every_release_of_a_folder(tmp_path: Path, root: Path) -> None:
    tool = tmp_path / "tool"
    tool.mkdir()
    for i in range(3):
        records(40, i).to_csv(tool / f"{i}.csv", index=False)
    records(40, 9).to_csv(tmp_path / "original.csv", index=False)
    declared = read_parameters(root / "notebooks/assess.py")
    given = {name: parameter.default for name, parameter in declared.items()}
    given |= {"original": str(tmp_path / "original.csv")}
    of_files = [str(tool / f"{i}.csv") for i in range(3)]
    one, folder, three = (
        costs.estimate("assess", given | {"released": released})
        for released in (of_files[:1], [str(tool)], of_files)
    )
    assert one
    assert folder
    assert folder == three
    assert folder.seconds > one.seconds


def test_two_tools_give_the_numbers_that_each_gives_alone() -> None:
    original = records(40, 0)
    tools = {"ours": [records(30, i) for i in (1, 2, 3)], "theirs": [original[:20]] * 3}
    settings: dict[str, Any] = {"target": "sick", "chains": CHAINS, "progress": False}
    both = assess(original, tools, **settings, rng=rng())
    assert len(both.table("chains")) == 2 + 3 + 3  # of the original in each, and of every release
    for name in tools:
        alone = assess(original, {name: tools[name]}, **settings, rng=rng())
        assert alone.judgments == tuple(j for j in both.judgments if j.release == name)
        for table in ("measures", "attributes", "losses", "customary", "targets", "gains"):
            of_both = both.table(table).query("release == @name").reset_index(drop=True)
            pd.testing.assert_frame_equal(alone.table(table), of_both)
        sides = both.side_by_side().query("release == @name").reset_index(drop=True)
        pd.testing.assert_frame_equal(alone.side_by_side(), sides)
        results = {f"{name}_{key}": value for key, value in alone.results().items()}
        assert results[f"{name}_DiSCO_mean"] == both.results()[f"{name}_DiSCO_mean"]
    assert [row["release"] for row in both.to_dict()["side_by_side"]] == [*both.findings]
    assert "Side by side" in both.to_html()


def test_names_that_look_alike_keep_their_results_apart() -> None:
    assert slugs(["a.b", "a_b", "ü", "é"]) == {
        "a.b": "a_b", "a_b": "a_b_2", "ü": "release", "é": "release_2"
    }  # fmt: skip


# ----------------------------------------------------------------------------------- the table


def submitted(*releases: str, groups: tuple[str, ...] = ()) -> Submission:
    """Of five people a, a, b, c, d and their targets 0, 0, 1, 0, 1; x is nobody's."""

    def coded(keys: str) -> Any:
        return np.array([["abcdx".index(key), int(key in "bd")] for key in keys])

    tables = tuple(map(coded, releases))
    return Submission(SCHEMA, coded("aabcd"), tables, (0,), 1, groups=groups)


def sides(submission: Submission) -> pd.DataFrame:
    judged = submission.judged()
    found = {name: examine(one) for name, one in judged.items()}
    judgments = [judge(name, judged[name], found[name]) for name in judged]
    return side_by_side.table(submission, judgments, found)


def test_the_table_by_hand() -> None:
    """Others would repeat a record in two cases of five; of four released ones, three do."""
    one = sides(submitted("abbx")).iloc[0]
    assert one["copies"] == pytest.approx(3 / 4 - 2 / 5)
    assert one["copies_error"] == pytest.approx(np.sqrt(3 / 4 * 1 / 4 / 4))
    assert [one["releases"], one["gain"]] == [1, pytest.approx(np.nan, nan_ok=True)]
    three = sides(submitted("abbx", "aaaa", "xxxx", groups=("tool",) * 3)).iloc[0]
    each = np.array([3 / 4, 1, 0]) - 2 / 5
    assert three["copies"] == pytest.approx(each.mean())
    assert three["copies_error"] == pytest.approx(each.std(ddof=1) / np.sqrt(3))
    # Of releases that agree the spread is 0; half a record of four is the least that it can be.
    same = sides(submitted("xxxx", "xxxx", groups=("tool",) * 2)).iloc[0]
    assert same["copies_error"] == pytest.approx(np.sqrt(0.1 * 0.9 / 4) / np.sqrt(2))
    assert same["copies_error"] == pytest.approx(
        sides(submitted("xxxx")).iloc[0]["copies_error"] / np.sqrt(2)
    )
    frame = sides(submitted("abbx", "xxxx"))
    assert frame["release"].tolist() == ["release 1", "release 2"]
    for row in frame.itertuples():
        risks = {name: getattr(row, name) for name in side_by_side.RISKS}
        assert row.risk == max(risks.values()) == risks[row.risk_of]
    shown = side_by_side.in_words(frame)
    assert shown.loc[0, "copies, %"] == "35.0\u00a0±\u00a021.7"
    assert "median gain" not in shown
    assert shown["releases"].tolist() == [1, 1]


def test_a_baseline_that_all_tools_share_adds_no_error() -> None:
    found = leakage.Beyond(100, 0.5, 0.05, 0.36, 0.12, 0.2, 1.0)
    beyond, of_fresh = pytest.approx(0.14), pytest.approx(np.hypot(0.048, 0.12))
    assert side_by_side._of_people(found)[:2] == (beyond, 0.05)
    assert side_by_side._of_people(found)[3] == of_fresh
    by_margins = replace(found, margins=0.4)
    assert side_by_side._of_people(by_margins)[:2] == (pytest.approx(0.1), 0.05)
    assert np.isnan(side_by_side._of_people(replace(found, people=0))).all()


def test_utility_of_a_release_by_hand() -> None:
    pmse = pd.DataFrame({"measure": ["ratio"], "mean": 3.0, "fresh": 2.0, "fresh_sd": 0.4})
    overlap = pd.DataFrame({"mean": [0.5, 0.7], "original_se": 0.1, "synthetic_se": [0.1, 0.2]})
    losses = pd.DataFrame(
        {"measure": ["margins", "pairs", "intervals", "pMSE"], "fresh": 0.1, "loss": 0.0}
    )
    found = utility.of_release(pmse, overlap, losses, 400)
    assert found["pmse_ratio"] == (3.0, pytest.approx(0.2 * np.sqrt(5)))
    moves = np.array([2, 3]) / (4 * stats.norm.ppf(0.975))
    assert found["overlap"] == (pytest.approx(0.6), pytest.approx(np.sqrt((moves**2).mean())))
    largest = max(0.5 / 20, np.sqrt(0.05 / 2), 0.2 * np.sqrt(5) * 0.1 / 2)
    assert found["loss"] == (0.0, pytest.approx(largest))
    losses["loss"] = [0.0, 0.08, 0.02, 0.0]
    assert utility.of_release(pmse, overlap, losses, 400)["loss"] == (0.08, 0.025)
    losses["loss"] = np.nan
    assert np.isnan(utility.of_release(pmse, overlap, losses, 400)["loss"]).all()


def test_own_errors_are_about_the_spread_of_many_releases_or_above() -> None:
    """Forty releases by independent margins, each with its own error."""
    chance, people = np.random.default_rng(5), records(300, 1)
    made = [people.apply(lambda column: chance.choice(column, 300)) for _ in range(40)]
    submission = submit(people, made, target="sick")
    each = []
    for z in submission.released:
        found = usefulness(replace(submission, released=(z,)), interactions=True)
        each.append(utility.of_release(found.pmse, found.overlap, found.losses, len(z)))
    for name, low, high in (("pmse_ratio", 0.7, 1.4), ("overlap", 0.9, 3.0), ("loss", 0.9, 3.0)):
        values, errors = np.transpose([numbers[name] for numbers in each])
        assert low < errors.mean() / values.std(ddof=1) < high, name


# ----------------------------------------------------------------------------------- the picture


def tools(*rows: tuple[float, float, float], error: float = 0.01, m: int = 1) -> pd.DataFrame:
    """Tools A, B and so on with copies, attributes and loss; nobody is alone with the keys."""
    frame = pd.DataFrame(rows, columns=["copies", "attributes", "loss"]).assign(identity=np.nan)
    for name in (*side_by_side.RISKS, "loss"):
        frame[f"{name}_error"] = error
    frame["release"], frame["releases"] = list("ABCDEFG")[: len(rows)], m
    return frame


def test_the_picture_has_every_tool_its_bars_and_labels_apart() -> None:
    frame = tools(*[(0.1, 0.0, 0.05)] * 6, (0.4, 0.0, 0.2)).assign(
        risk=lambda f: f["copies"], risk_error=0.01, zero_error=[0.02] * 6 + [0.03]
    )
    frame["releases"] = [1, 1, 1, 1, 1, 1, 3]
    frame["release"] = [f"a tool of some name {i}" for i in range(7)]
    drawn = side_by_side.pictured(frame)
    assert drawn["label"].tolist() == [*frame["release"], "fresh sample"]
    assert drawn.loc[0, ["risk_low", "risk_high"]].tolist() == pytest.approx([0.08, 0.12])
    reach = stats.t.isf(stats.norm.sf(2.0), 2) * 0.01
    assert drawn.loc[6, ["loss_low", "loss_high"]].tolist() == pytest.approx(
        [0.2 - reach, 0.2 + reach]
    )
    assert drawn.iloc[-1][["risk", "risk_high", "loss"]].tolist() == [0.0, 0.06, 0.0]
    spec: Any = charts.specification(charts.side_by_side(drawn))
    x, y = (spec["layer"][i]["encoding"][a]["scale"]["domain"] for i, a in ((0, "x"), (1, "y")))
    texts = pd.DataFrame(
        next(d for d in spec["datasets"].values() if "text_x" in d[0] and len(d[0]) == 3)
    )
    left = (texts["text_x"] - x[0]) / (x[1] - x[0]) * spec["width"]
    middle = (texts["text_y"] - y[0]) / (y[1] - y[0]) * spec["height"]
    width = 6.8 * texts["label"].str.len()
    assert (left > -1).all()
    assert (left + width < spec["width"] + 1).all()
    for i in range(8):
        for j in range(i):
            beside = left[i] + width[i] <= left[j] + 1 or left[j] + width[j] <= left[i] + 1
            assert beside or abs(middle[i] - middle[j]) >= 14, (i, j)
