"""The notebook on a small table with other variables than the survey's."""

from pathlib import Path

import jupytext
import pandas as pd
import pytest
from cases import SURVEY, records
from click.testing import CliRunner, Result
from toy import ROOT

from srlib.ledger import CLAIM_VERDICTS
from srlib.runner.cli import main
from srlib.runner.parameters import read_parameters

SMALL: dict[str, object] = {"outcome": "sick", "predictors": "[job, town]"}
SMALL |= {"unknown": "[sick, town]", "n_records": 150, "n_releases": 2, "n_classes": 4}
SMALL |= {"burn_in": 60, "n_draws": 30, "thin": 2, "n_chains": 4, "n_chains_joined": 4}


def run_on(tmp_path: Path, paper: str, frame: pd.DataFrame, **chosen: object) -> Result:
    """Run a notebook on a compressed table."""
    data = tmp_path / "table.csv.gz"
    frame.to_csv(data, index=False)
    given = [x for k, v in ({"data": data} | chosen).items() for x in ("-p", k, str(v))]
    return CliRunner().invoke(main, ["run", paper, *given, "--output", str(tmp_path)])


WRONG = [
    (
        {"unknown": ["sick", "twon"]},
        "unknown names twon; available are job, town, sick",
    ),
    (
        {"predictors": ["job", "sick"]},
        "outcome with predictors is [sick, job, sick]; no variable may",
    ),
]


@pytest.mark.parametrize(("wrong", "told"), WRONG)
def test_wrong_names_are_refused_before_any_chain(tmp_path, wrong, told):
    text, data = ROOT / "notebooks/hu_reiter_wang.py", tmp_path / "table.csv"
    records(200, 3).to_csv(data, index=False)
    given = {name: one.default for name, one in read_parameters(text).items()}
    given |= {
        "data": str(data),
        "outcome": "sick",
        "n_records": 150,
        "output_dir": "",
    } | wrong
    sources = [cell.source for cell in jupytext.read(text).cells]
    (imports,) = [source for source in sources if source.startswith("import")]
    (at,) = [
        at for at, source in enumerate(sources) if source.startswith("## The data\n")
    ]
    with pytest.raises(ValueError, match=r"names|outcome") as refused:
        exec(f"{imports}\n{sources[at + 1]}", given)
    assert told in str(refused.value).replace("'", "")


def test_runs_on_any_categorical_table(tmp_path):
    schema = tmp_path / "schema.yaml"
    schema.write_text(SURVEY)
    result = run_on(tmp_path, "hu_reiter_wang", records(200, 3), schema=schema, **SMALL)
    assert result.exit_code == 0, result.output
    folder = tmp_path / "hu_reiter_wang/default"
    combinations = pd.read_csv(folder / "tables/combinations.csv")
    assert (combinations.groupby("estimator").size() == len(combinations) / 2).all()
    assert (combinations["support_size"] == 1 + 2 + 3 + 1).all()
    assert combinations.groupby("estimator")["repetitions"].sum().tolist() == [150, 150]
    assert combinations["probability"].between(0, 1).all()
    assert combinations["rank"].between(1, 7).all()
    subsets = pd.read_csv(folder / "tables/subset_risk.csv")
    assert (subsets["support_size"] == 8).all()
    ledger = pd.read_csv(folder / "tables/ledger.csv").set_index("id")
    of_paper = {"match": 7, "consistent": 25, "setting": 5, "skipped": 24}
    assert ledger["verdict"].value_counts().to_dict() == of_paper
    assert ledger.loc["n_synthetic_sets", ["computed", "verdict"]].tolist() == [
        2,
        "setting",
    ]
    assert not (folder / "public").exists()
    assert "<b>clerk" not in (folder / "report.html").read_text(encoding="utf-8")

    claimed = pd.read_csv(folder / "tables/claims.csv").set_index("claim")
    assert list(claimed.index) == [f"C{i}" for i in range(1, 9)]
    assert claimed["verdict"].str.startswith(CLAIM_VERDICTS).all()
    assert claimed["n_records"].tolist() == [150] * 4 + [len(subsets)] + [150] * 3
    coefficients = pd.read_csv(folder / "tables/coefficients.csv")
    inside = coefficients["original"].between(coefficients["low"], coefficients["high"])
    assert claimed.loc["C2", "worst_value"] == (~inside).sum()
    ours = combinations[combinations["estimator"] == "predictive_ratio"]
    assert claimed.loc["C3", "worst_value"] == pytest.approx((ours["rank"] <= 3).mean())
    assert claimed.loc["C8", "worst_value"] == pytest.approx(
        (ours["probability"] > 2 / 7).mean()
    )
    assert claimed.loc["C5", "n_cases"] == len(subsets)
    weights = pd.read_csv(folder / "tables/importance_weights.csv")
    least = weights.loc[weights["case"] == "generating draws left out", "ess"].min()
    assert claimed.loc["C6", ["worst_value", "limit"]].tolist() == pytest.approx(
        [least, 30]
    )


def test_trees_run_on_any_categorical_table(tmp_path, rng):
    frame = pd.DataFrame(
        {k: rng.choice(list("abcd"), 90) for k in ("job", "town", "sick", "age")}
    )
    chosen = {
        "order": "[age, sick, town, job]",
        "ordered": "[age]",
        "unknown": "[sick, town]",
    }
    sizes: dict[str, object] = {"n_releases": 2, "n_publications": 2, "leaves": "[20]"}
    sizes |= {"n_targets": 20, "n_places": 10, "sizes": "[30, 60]", "n_nested": 2}
    sizes |= {"n_records": 90, "n_audited": 3, "n_in_audit": 60, "n_runs": 20}
    mixture = {"n_classes": 2, "burn_in": 20, "n_draws": 60}
    result = run_on(tmp_path, "sequential_trees", frame, **chosen, **sizes, **mixture)
    assert result.exit_code == 0, result.output
    folder = tmp_path / "sequential_trees/default"
    frontier = pd.read_csv(folder / "tables/frontier.csv")
    assert frontier["case"].tolist() == [
        "unpruned trees",
        "unpruned trees",
        "pruned as rpart",
        "pruned as rpart",
        "smoothed leaves",
        "Laplace margins",
        "mixture",
    ]
    assert frontier["several"].between(0, 1).all()
    assert (frontier["loss"] > 0).all()
    assert pd.read_csv(folder / "tables/nested.csv")["records"].tolist() == [
        30,
        30,
        60,
        60,
    ]
    members = pd.read_csv(folder / "tables/membership.csv")
    assert members["power"].isna().all()  # 18 people held out cannot tell 1 %
    assert (
        pd.read_csv(folder / "tables/fewer_variables.csv")["prior"].tolist()
        == [1 / 16] * 2
    )
    public = {path.stem for path in (folder / "public").iterdir()}
    assert public == {"audit_by_hand", "cooks_by_hand", "smallest_example"}
    audits = pd.read_csv(folder / "tables/audits.csv")
    assert audits.groupby("synthesizer").size().tolist() == [3, 3, 3]
    assert audits["bound"].between(0.5, 1).all()
