"""What a board and a script read: the page, the card and the JSON document."""

import json
import re
from html import escape

import jsonschema
import numpy as np
import pandas as pd
import pytest
from cases import records
from toy import ROOT

from srlib.assessment import assess, card, ratings, verdict

SCHEMA = json.loads((ROOT / "docs/assessment.schema.json").read_text("utf-8"))
RUN = {
    "Date": "2026-01-02",
    "Version": "srlib 9",
    "Command": "srlib assess <a.csv> b.csv",
}


@pytest.fixture(scope="module")
def several():
    """A copy, a fresh sample and shuffled columns, with groups and a holdout."""
    original = records(300, 1)
    releases = {
        "copy": original.sample(frac=1, random_state=1),
        "fresh": records(300, 2),
        "shuffled": original.apply(lambda column: column.sample(frac=1).to_numpy()),
    }
    return assess(
        original,
        releases,
        keys=[["job"], ["job", "town"]],
        target="sick",
        by="town",
        holdout=records(200, 3),
        rng=np.random.default_rng(1),
    )


def test_the_document_keeps_its_schema(several):
    document = json.loads(several.files()["results.json"])
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    assert document["settings"]["keys"] == [["job"], ["job", "town"]]
    assert document["settings"]["n_holdout"] == 200
    assert document["verdicts"][0]["verdict"] == "do not release"


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("format", "srlib-assessment 2.0"),
        ("verdicts", []),
        ("more", 1),
        ("table", [{"release": "x"}]),
    ],
)
def test_another_document_does_not_pass(several, part, value):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(several.to_dict() | {part: value}, SCHEMA)


def test_the_schema_names_the_columns_ratings_and_verdicts(several):
    parts = SCHEMA["properties"]
    row = parts["table"]["items"]
    columns = row["properties"]
    verdicts = parts["verdicts"]["items"]["properties"]["verdict"]["enum"]
    ratings = {*columns["rating"]["enum"]}
    questions = {*columns["question"]["enum"]}

    assert list(columns) == row["required"] == list(several.table)
    assert tuple(verdicts) == verdict.VERDICTS
    assert ratings >= {*card.RATING_ORDER, *verdict._UTILITY}
    assert questions >= {*card.CARD, *card.DECIDING}


def test_the_page_begins_with_all_releases_and_what_was_assessed(several):
    page = several.to_html(run=RUN)

    headline = verdict.headline(several.verdicts)
    assert headline == '3 releases: 1 "do not release", 2 "no sign of disclosure".'
    assert f"<h1>{headline}</h1>".replace('"', "&#34;") in page
    overview, _, rest = page.partition("<table")[2].partition("</table>")
    for one in several.verdicts:
        assert f">{one.release}<" in overview
        assert f">{one.verdict}<" in overview
        assert one.reason in overview
        assert f"<h2>{escape(one.sentence)}".replace("&quot;", "&#34;") in rest
    for fact in ("job; also job, town", "sick", "town", "200 records", *RUN.values()):
        assert f"<dd>{escape(fact)}</dd>" in page


def test_the_card_names_the_worst_group():
    numbers = {
        "group": ["town: north", "town: south", "town: east"],
        "estimate": [0.5, 0.6, 0.9],
        "baseline": [0.1, 0.1, 0.88],
        "rating": ["high", "high", "as expected"],
    }
    rows = pd.DataFrame(numbers).assign(
        question="identity",
        n=50,
        z=3.0,
        z_permutation=np.nan,
        se=0.01,
        baseline_se=0.01,
        baseline_kind="fresh sample",
    )

    line = card._worst_group(rows)
    none = card._worst_group(rows.assign(rating="as expected"))

    assert line.startswith("town: south, uniques (keys) matched")
    assert line.endswith("high")
    assert none.endswith("none elevated")


def test_the_public_page_has_the_date_and_no_setting(several):
    page = several.to_html(public=True, run=RUN)
    assert "2026-01-02" in page
    assert "srlib 9" in page
    body = page.split("<body>")[1].split("<details")[0]
    assert not re.search(r"\b(a\.csv|town|job|copy|shuffled)\b", body)


def test_the_printed_page_leaves_folded_tables_out(several):
    printed = several.to_html().partition("</style>")[0].partition("@media print {")[2]
    assert "details:not([open]) { display: none }" in printed


def test_terms_are_those_of_the_glossary():
    glossary = (ROOT / "docs/guide/glossary.md").read_text("utf-8")
    for term, meaning in verdict.terms().items():
        (paragraph,) = re.findall(rf"(?ms)^### {term}\n\n(.*?)\n\n", glossary)
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        assert meaning == re.sub("[*`]", "", text)


def test_terms_state_the_thresholds():
    meaning = verdict.terms()["Rating"]
    elevated = f"{100 * ratings.ELEVATED:.0f} %"
    high = f"{100 * ratings.HIGH:.0f} %"
    assert f"{ratings.Z_SIGNIFICANT} standard errors" in meaning
    assert f"least {elevated}" in meaning
    assert f"from {high} on" in meaning


def test_no_sign_of_disclosure_comes_with_the_intruder_who_was_not_tested(several):
    who = "an intruder who also knows the synthesizer and all other records"
    for one in several.verdicts:
        has_no_sign = one.verdict == "no sign of disclosure"
        assert (f"Not tested: {who}." in one.sentence) == has_no_sign


def test_no_sign_of_disclosure_comes_with_what_the_strongest_intruder_finds(several):
    rows = several.table.query("release == 'fresh'").assign(why="")
    exact = {"question": "exact membership", "estimate": 0.72, "in_verdict": False}
    added = pd.concat([rows, rows[:1].assign(**exact)])
    sentence = verdict.judge("fresh", added).sentence
    assert "detects the membership of 72.0" in sentence
    assert len(sentence.split()) <= 45


def test_the_longest_label_of_the_chart_is_not_cut_off(several):
    page = several.to_html()
    (left,) = set(re.findall(r'viewBox="(-\d+) ', page))
    (end,) = set(re.findall(r'x="(\d+)" y="\d+" text-anchor="end"', page))
    labels = [*card.CARD.values(), *card.DECIDING.values()]
    labels.append("utility loss, largest of 1,225 two-way tables")

    width = 7 * max(map(len, labels))  # pixels, at most 7 a character

    assert int(end) - int(left) >= width
