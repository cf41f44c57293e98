"""The notebook on a small table with other variables than the survey's."""

import jupytext
import pandas as pd
import pytest
from cases import SURVEY, records
from toy import ROOT, call

from srlib.ledger import CLAIM_VERDICTS
from srlib.runner.parameters import read_parameters

SMALL = {
    "outcome": "sick",
    "predictors": "[job, town]",
    "unknown": "[sick, town]",
    "n_records": 150,
    "n_releases": 2,
    "n_classes": 4,
    "burn_in": 60,
    "n_draws": 30,
    "thin": 2,
    "n_chains": 4,
    "n_chains_joined": 4,
}
TREES = {
    "order": "[age, sick, town, job]",
    "ordered": "[age]",
    "n_releases": 2,
    "n_publications": 2,
    "leaves": "[20]",
    "n_targets": 20,
    "n_places": 10,
    "n_records": 90,
    "n_runs": 20,
    "n_classes": 2,
    "burn_in": 20,
    "n_draws": 60,
}


def run_on(tmp_path, paper, frame, **chosen):
    """Run a notebook on a compressed table."""
    data = tmp_path / "table.csv.gz"
    frame.to_csv(data, index=False)
    arguments = []
    for name, value in {"data": data, **chosen}.items():
        arguments += ["-p", name, value]
    return call("run", paper, *arguments, "--output", tmp_path)


def tables_of(run):
    """The tables of a run by name."""
    return {path.stem: pd.read_csv(path) for path in run.glob("tables/*.csv")}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"unknown": ["sick", "twon"]},
            "unknown names twon; available are job, town, sick",
        ),
        (
            {"predictors": ["job", "sick"]},
            "outcome with predictors is [sick, job, sick]; no variable may",
        ),
    ],
)
def test_wrong_names_are_refused_before_any_chain(tmp_path, wrong, message):
    text = ROOT / "notebooks/hu_reiter_wang.py"
    data = tmp_path / "table.csv"
    records(200, 3).to_csv(data, index=False)
    names = {name: declared.default for name, declared in read_parameters(text).items()}
    names |= {"data": str(data), "outcome": "sick"}
    names |= {"n_records": 150, "output_dir": ""} | wrong
    sources = [cell.source for cell in jupytext.read(text).cells]
    (imports,) = [source for source in sources if source.startswith("import")]
    (heading,) = [source for source in sources if source.startswith("## The data\n")]
    start = sources.index(heading) + 1  # a cell reads the table, the next checks names
    reading, _, checks = sources[start : start + 3]

    with pytest.raises(ValueError, match=r"names|outcome") as refused:
        exec("\n".join([imports, reading, checks]), names)

    assert message in str(refused.value).replace("'", "")


def test_runs_on_any_categorical_table(tmp_path):
    schema = tmp_path / "schema.yaml"
    schema.write_text(SURVEY)

    result = run_on(tmp_path, "hu_reiter_wang", records(200, 3), schema=schema, **SMALL)

    assert result.exit_code == 0, result.output
    folder = tmp_path / "hu_reiter_wang/default"
    tables = tables_of(folder)
    combinations = tables["combinations"]
    by_estimator = combinations.groupby("estimator")
    assert (by_estimator.size() == len(combinations) / 2).all()
    assert (combinations["support_size"] == 1 + 2 + 3 + 1).all()
    assert by_estimator["repetitions"].sum().tolist() == [150, 150]
    assert combinations["probability"].between(0, 1).all()
    assert combinations["rank"].between(1, 7).all()
    subsets = tables["subset_risk"]
    assert (subsets["support_size"] == 8).all()
    ledger = tables["ledger"].set_index("id")
    n_verdicts = {"match": 7, "consistent": 25, "setting": 5, "skipped": 24}
    assert ledger["verdict"].value_counts().to_dict() == n_verdicts
    assert ledger.loc["n_synthetic_sets", "computed"] == 2
    assert ledger.loc["n_synthetic_sets", "verdict"] == "setting"
    assert not (folder / "public").exists()
    assert "<b>clerk" not in (folder / "report.html").read_text("utf-8")

    claims = tables["claims"].set_index("claim")
    assert list(claims.index) == [f"C{i}" for i in range(1, 9)]
    assert claims["verdict"].str.startswith(CLAIM_VERDICTS).all()
    assert claims["n_records"].tolist() == [150] * 4 + [len(subsets)] + [150] * 3
    worst = claims["worst_value"]
    coefficients = tables["coefficients"]
    inside = coefficients["original"].between(coefficients["low"], coefficients["high"])
    assert worst["C2"] == (~inside).sum()
    estimated = combinations[combinations["estimator"] == "predictive_ratio"]
    in_file = tables["release_sets"].query("people == 'in the file'")
    for claim, column, is_so in (
        ("C3", "a rank of 1 to 3", estimated["rank"] <= 3),
        ("C8", "a ratio above two", estimated["probability"] > 2 / 7),
    ):
        assert in_file[column].iloc[0] == pytest.approx(is_so.mean())
        assert worst[claim] == pytest.approx(in_file[column].mean())
    assert claims.loc["C5", "n_cases"] == len(subsets)
    weights = tables["importance_weights"].groupby("case")["ess"].min()
    assert worst["C6"] == pytest.approx(weights["generating draws left out"])
    assert claims.loc["C6", "limit"] == 30


def test_trees_run_on_any_categorical_table(tmp_path, rng):
    names = ["job", "town", "sick", "age"]
    frame = pd.DataFrame({name: rng.choice(list("abcd"), 90) for name in names})

    result = run_on(tmp_path, "sequential_trees", frame, **TREES)

    assert result.exit_code == 0, result.output
    folder = tmp_path / "sequential_trees/default"
    tables = tables_of(folder)
    frontier = tables["frontier"]
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
    # 18 people held out cannot tell 1 %.
    ladder = tables["ladder"]
    of_people = ladder[ladder["intruder"] != "c"].query("intruder != 'b'")
    assert of_people.query("false_positive_rate == 0.01")["power"].isna().all()
    assert ladder.groupby("intruder").size().tolist() == [30, 8, 8, 10]
    assert tables["two_orders"]["risk"].between(0, 1).all()
    public = {path.stem for path in (folder / "public").iterdir()}
    assert public == {"cooks_by_hand", "smallest_example"}
