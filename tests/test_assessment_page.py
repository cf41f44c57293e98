"""The page, the card and the JSON document of an assessment: what a board and a script read."""

import json
import re
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from cases import records

from srlib.assessment import Assessment, assess, ratings, verdict

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "docs/assessment.schema.json").read_text(encoding="utf-8"))
RUN = {
    "Date": "2026-01-02",
    "Version": "srlib 9",
    "Command": "srlib assess <a.csv> b.csv",
}


@pytest.fixture(scope="module")
def several() -> Assessment:
    """A copy, a fresh sample and a shuffled release of 300 people, with groups and a holdout."""
    original = records(300, 1)
    released = {
        "copy": original.sample(frac=1, random_state=1),
        "fresh": records(300, 2),
        "shuffled": original.apply(lambda column: column.sample(frac=1).to_numpy()),
    }
    return assess(
        original,
        released,
        keys=[["job"], ["job", "town"]],
        target="sick",
        by="town",
        holdout=records(200, 3),
        rng=np.random.default_rng(1),
    )


def test_the_document_keeps_its_schema(several: Assessment) -> None:
    document = json.loads(several.files()["results.json"])
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    assert document["settings"]["keys"] == [["job"], ["job", "town"]]
    assert document["settings"]["n_holdout"] == 200
    assert document["verdicts"][0]["verdict"] == "do not release"


@pytest.mark.parametrize(
    "change",
    [
        {"format": "srlib-assessment 2.0"},
        {"verdicts": []},
        {"more": 1},
        {"table": [{"release": "x"}]},
    ],
)
def test_another_document_does_not_pass(
    several: Assessment, change: dict[str, Any]
) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(several.to_dict() | change, SCHEMA)


def test_the_schema_names_every_word_of_the_table(several: Assessment) -> None:
    """Columns, ratings and verdicts; the rows on other tables are checked by their own tests."""
    row = SCHEMA["properties"]["table"]["items"]
    assert list(row["properties"]) == row["required"] == list(several.table)
    ratings = {*row["properties"]["rating"]["enum"]}
    assert ratings >= {*verdict._RATING_ORDER, *verdict._UTILITY}
    verdicts = SCHEMA["properties"]["verdicts"]["items"]["properties"]["verdict"][
        "enum"
    ]
    assert tuple(verdicts) == verdict.VERDICTS
    questions = row["properties"]["question"]["anyOf"][0]["enum"]
    assert {*verdict.CARD, *verdict.DECIDING} <= {*questions}


def test_the_page_begins_with_all_releases_and_what_was_assessed(
    several: Assessment,
) -> None:
    page = several.to_html(run=RUN)
    headline = verdict.headline(several.verdicts)
    assert headline == "3 releases: 1 do not release, 2 no sign of disclosure."
    assert f"<h1>{headline}</h1>" in page
    first_table = page[page.index("<table") : page.index("</table>")]
    for one in several.verdicts:
        assert f">{one.release}<" in first_table
        assert f">{one.verdict}<" in first_table
        assert one.reason in first_table
        assert f"<h2>{escape(one.sentence, quote=False)}" in page.replace("&#34;", '"')
    for text in (
        "job; job, town",
        "sick",
        "town",
        "200 records",
        *map(escape, RUN.values()),
    ):
        assert f"<dd>{text}</dd>" in page


def test_a_measure_a_column_compares_all_releases(several: Assessment) -> None:
    table = verdict.compared(several.verdicts, several.table)
    assert list(table) == ["release", *verdict.CARD.values(), "largest utility loss"]
    assert table["release"].tolist() == [one.release for one in several.verdicts]
    assert (table["records identical to an original"].str.count("±") == 2).all()


def test_the_card_names_the_worst_group() -> None:
    rows = pd.DataFrame(
        {
            "question": ["identity"] * 3,
            "n": 50,
            "z": 3.0,
            "z_permutation": np.nan,
            "group": ["town: north", "town: south", "town: east"],
            "estimate": [0.5, 0.6, 0.9],
            "se": 0.01,
            "baseline": [0.1, 0.1, 0.88],
            "baseline_se": 0.01,
            "baseline_kind": "fresh sample",
            "rating": ["high", "high", "as expected"],
        }
    )
    line = verdict._worst_group(rows)
    assert line["measure"] == "worst group, town: south (identity)"
    assert line["rating"] == "high"
    none = verdict._worst_group(rows.assign(rating="as expected"))
    assert none["release"] == "none elevated"


def test_the_public_page_has_the_date_and_no_setting(several: Assessment) -> None:
    page = several.to_html(public=True, run=RUN)
    assert "2026-01-02" in page
    assert "srlib 9" in page
    for private in ("a.csv", "town", "job", "copy", "shuffled"):
        assert not re.search(
            rf"\b{private}\b", page.split("<body>")[1].split("<details")[0]
        )


def test_the_printed_page_leaves_folded_tables_out(several: Assessment) -> None:
    printed = several.to_html().partition("@media print {")[2].partition("</style>")[0]
    assert "details:not([open]) { display: none }" in printed


def test_terms_are_those_of_the_glossary() -> None:
    glossary = (ROOT / "docs/guide/glossary.md").read_text(encoding="utf-8")
    assert (files("srlib.assessment") / "terms.txt").is_file()
    for term, meaning in verdict.terms().items():
        (paragraph,) = re.findall(rf"(?ms)^### {term}\n\n(.*?)\n\n", glossary)
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        assert meaning == plain.translate({ord(mark): None for mark in "*`"})


def test_terms_state_the_thresholds() -> None:
    meaning = verdict.terms()["Rating"]
    assert f"{ratings.Z_SIGNIFICANT} standard errors" in meaning
    assert f"least {ratings.ELEVATED:.0%}".replace("%", " %") in meaning
    assert f"from {ratings.HIGH:.0%} on".replace("%", " %") in meaning


def test_a_sentence_that_reassures_says_who_was_not_tested(several: Assessment) -> None:
    for one in several.verdicts:
        reassures = one.verdict == "no sign of disclosure"
        assert (verdict.NOT_TESTED in one.sentence) == reassures
        assert len(one.sentence.split()) <= 45


def test_with_a_model_another_intruder_was_not_tested(several: Assessment) -> None:
    rows = several.table.query("release == 'fresh'").assign(why="")
    modeled = pd.concat(
        [rows, rows.iloc[:1].assign(question="model: target", in_verdict=False)]
    )
    assert f"Not tested: {verdict.NOT_TESTED}." in verdict.judge("fresh", rows).sentence
    assert verdict.NOT_TESTED_WITH_MODEL in verdict.judge("fresh", modeled).sentence
