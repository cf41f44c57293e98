"""Canaries: values of a single record are in no public file and no error message."""

import base64
import itertools
import json
import re
import urllib.parse
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from toy import call

from srlib.data.infer import infer_schema
from srlib.data.microdata import read_table, read_uncoded
from srlib.data.schema import Schema, Variable
from srlib.runner import confidential, report
from srlib.runner.parameters import LIBRARY
from srlib.runner.run import _failure, _is_ours

# Rare levels, the outcome of the record that has each, and names of folder and files.
JOB = "CANARYJOB7Q"
TOWN = "CANARYTOWN8X"
SICK = "CANARYSICK4V"
FOLDER = "canaryfolder3m"
FILE = "canaryfile9z"
MADE = "canarymade2k"
SCHEMA = "canaryschema6w"
CANARIES = (JOB, TOWN, SICK, FOLDER, FILE, MADE, SCHEMA)
LEVELS = {
    "job": ["clerk", "cook", JOB],
    "town": ["north", "south", TOWN],
    "sick": ["well", SICK],
}


def people():
    towns = pd.Series(["north", "south"] * 60).sample(frac=1, random_state=1)
    columns = {
        "job": ["clerk", "cook"] * 60,
        "town": towns.to_list(),
        "sick": ["well", SICK, SICK, "well", "well"] * 24,
    }
    frame = pd.DataFrame(columns)
    frame.loc[5, "job"] = JOB
    frame.loc[8, "town"] = TOWN
    return frame


def write_schema(file, levels):
    variables = [{"name": name, "levels": values} for name, values in levels.items()]
    file.write_text(yaml.safe_dump({"variables": variables}), "utf-8")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two notebooks and the command, on a user's files."""
    outputs = tmp_path_factory.mktemp("outputs")
    folder = tmp_path_factory.mktemp(FOLDER)
    file = folder / f"{FILE}.csv"
    tool = folder / MADE
    schema = folder / f"{SCHEMA}.yaml"
    tool.mkdir()
    people().to_csv(file, index=False)
    people().sample(frac=0.5, random_state=3).to_csv(tool / "made.csv", index=False)
    write_schema(schema, LEVELS)

    chosen = f"data: {file}\nschema: {schema}\noutcome: sick\npredictors: [job, town]\n"
    chosen += "unknown: [sick]\nn_classes: 2\nburn_in: 20\nn_draws: 30\nn_chains: 4\n"
    assessed = f"original: {file}\nreleased: [{tool}]\ntarget: [sick]\nby: town\n"
    (folder / "chosen.yaml").write_text(chosen)
    (folder / "assessed.yaml").write_text(assessed)
    commands = [
        ["assess", file, tool, "--target", "sick", "--by", "town"],
        ["run", "hu_reiter_wang", "--params", folder / "chosen.yaml"],
        ["run", "assess", "--params", folder / "assessed.yaml"],
    ]
    for command in commands:
        result = call(*command, "--output", outputs)
        assert result.exit_code == 0, result.output
    (report,) = outputs.glob(f"assess/{MADE}-*")  # a name that is the owner's
    report.rename(outputs / "assess/command")
    return outputs


def canaries_in(text):
    """Return the canaries in a text: plain, URL-encoded or in base64 at any offset."""
    plain = f"{text}\n{urllib.parse.unquote(text)}".casefold()
    canaries = [canary for canary in CANARIES if canary.casefold() in plain]
    for canary, offset in itertools.product(CANARIES, range(3)):
        encoded = base64.b64encode(b" " * offset + canary.encode()).decode()
        inside = encoded[4 if offset else 0 : 12]
        if inside in text:
            canaries.append(inside)
    return canaries


def canaries_of(file):
    return {*canaries_in(file.read_text("utf-8"))}


def refused(*arguments):
    """Return what the command prints when it refuses a file, without a canary."""
    result = call(*arguments)
    assert result.exit_code == 2
    assert canaries_in(result.output) == []
    return result.output


@pytest.fixture(scope="module")
def leaving(runs):
    """All public content: public reports, also on the site, and files marked public."""
    pages = {}
    for run in (runs / "hu_reiter_wang/default", runs / "assess/default"):
        assert call("report", run, "--public").exit_code == 0
        page = report.render(*report.read(run), True, ["assess"])
        pages[f"site {run.parent.name}"] = page
    for file in [*runs.glob("*/*/public/*"), *runs.glob("*/*/report-public.html")]:
        pages[str(file.relative_to(runs))] = file.read_text("utf-8")
    return pages


def test_canaries_are_where_they_should_be(runs):
    """Otherwise the search below would prove nothing."""
    full = [*runs.glob("*/*/report.html"), *runs.glob("*/default/notebook.ipynb")]
    assert len(full) == 5
    for file in full:
        assert {JOB, FILE} <= canaries_of(file)
    assert MADE in canaries_of(runs / "assess/command/report.html")
    joint = runs / "hu_reiter_wang/default/figures/figure_1.vl.json"
    assert {JOB, SICK} <= canaries_of(joint)
    assert JOB in canaries_in(urllib.parse.quote(f"<{JOB}>"))
    for spaces in ("", " ", "  "):
        encoded = base64.b64encode(f"{spaces}{JOB} and more".encode())
        assert canaries_in(encoded.decode())


def test_no_canary_leaves(leaving):
    pages = {
        "assess/default/public/in_public.csv",
        "assess/default/report-public.html",
        "assess/command/report-public.html",
        "hu_reiter_wang/default/report-public.html",
        "site assess",
        "site hu_reiter_wang",
    }
    assert pages <= leaving.keys()
    for name, text in leaving.items():
        assert canaries_in(text) == [], name


def test_no_chart_and_no_coefficient_leaves(runs, leaving):
    """And no number of an assessment's table."""
    coefficients = pd.read_csv(runs / "hu_reiter_wang/default/tables/coefficients.csv")
    answers = pd.concat(map(pd.read_csv, runs.glob("assess/*/tables/answers.csv")))
    values = answers.select_dtypes("number").to_numpy().ravel()
    is_long = np.isfinite(values) & (np.round(values, 2) != np.round(values, 4))
    numbers = np.abs([*coefficients["original"], *values[is_long]])
    assert len(numbers) >= 100
    for text in leaving.values():
        assert 'class="vega-lite"' not in text
        assert "image/svg+xml" not in text
        # A number is one of them if it agrees in all decimals that it is shown with.
        body = re.sub("(?s).*?<body", "", text, count=1)
        for shown in re.findall(r"\d+\.\d{3,}", body):
            n_decimals = len(shown.partition(".")[2])
            assert shown not in {f"{number:.{n_decimals}f}" for number in numbers}


def test_the_words_of_a_verdict_leave_and_the_rule(runs, leaving):
    words = pd.read_csv(runs / "assess/default/tables/in_public.csv")
    rules = {
        "default": confidential.RULE,
        "command": "Ratings that rest on ten people or more",
    }
    for run, rule in rules.items():
        page = leaving[f"assess/{run}/report-public.html"]
        assert f">{words.loc[0, 'utility']}</td>" in page
        assert rule.replace("'", "&#39;") in page


@pytest.fixture
def lacking(tmp_path):
    """A folder with a file, and a schema that lacks the level of one record."""
    people().to_csv(tmp_path / "people.csv", index=False)
    write_schema(tmp_path / "schema.yaml", LEVELS | {"job": ["clerk", "cook"]})
    return tmp_path


def test_a_failing_run_names_the_place_and_no_value(lacking):
    file = f"{lacking}/people.csv"
    schema = f"{lacking}/schema.yaml"
    base = {"original": file, "schema": schema, "released": [file]}
    sweep = {"paper": "assess", "base": base, "grid": {"by": ["town"]}}
    (lacking / "sweep_x.yaml").write_text(yaml.safe_dump(sweep), "utf-8")
    result = call("sweep", lacking / "sweep_x.yaml", "--output", lacking / "o")
    assert result.exit_code == 1
    (failed,) = lacking.glob("o/assess/sweep_x/*.failed")
    index = (failed.parent / "index.csv").read_text("utf-8")
    provenance = json.loads((failed / "provenance.json").read_text("utf-8"))
    for text in (result.output, index, provenance["error"]):
        assert "job has '...' (line 7)" in text
        assert canaries_in(text) == []
    assert JOB in (failed / "notebook.ipynb").read_text("utf-8")

    assert "a failed run has no public report" in refused("report", failed, "--public")
    assert not (failed / "report-public.html").exists()


def test_wrong_files_are_told_by_column_and_line(lacking):
    file = lacking / "people.csv"
    schema = lacking / "schema.yaml"
    message = refused("assess", file, file, "--schema", schema, "--output", lacking)
    assert "job has '...' (line 7)" in message


MESSAGES = [
    (
        "job has 'x', 'it\\'s' (line 3), allowed are 'a', 'b; c has'; "
        "town has 'y' (line 4)",
        "job has '...' (line 3), allowed are '...'; town has '...' (line 4)",
    ),
    ("the record's value 'x' isn't \"it's\"", "the record's value '...' isn't '...'"),
    ("keys names 'jobb'; available are job",) * 2,
    (
        "unknown columns 'ill', \"o'k\"; 'x', 'ill'",
        "unknown columns 'ill', \"o'k\"; '...'",
    ),
    ("of columns 'SECRET'", "of columns '...'"),
    ("the variables are say 'a', ill; 'x'", "the variables are say 'a', ill; '...'"),
    ("line 3:\n    secret", "line 3:"),
    ("the file must have one key, 'variables'",) * 2,
    ("", ""),
]


@pytest.mark.parametrize(("message", "masked"), MESSAGES)
def test_values_are_cut_from_messages(tmp_path, message, masked):
    file = tmp_path / "a.csv"
    file.write_text("ill,o'k,say 'a'\n1,2,3\n")
    typed = {"data": str(file), "keys": ["jobb"]}
    reason = confidential.without_values("ValueError", message, typed)
    assert reason == f"ValueError: {masked}"


def test_columns_are_named_wherever_they_stand(tmp_path):
    """In the command and in a notebook, but never their values."""
    values = np.random.default_rng(1).choice([JOB, TOWN, SICK, "a"], (200, 3))
    frame = pd.DataFrame(values, columns=["job", "t own", "x"])
    half = frame.assign(x=frame["x"].sample(frac=1, random_state=1).to_list())
    original = tmp_path / "a.csv"
    released = tmp_path / "b.parquet"
    frame.to_csv(original, index=False)
    half.to_parquet(released)
    message = (
        "the values of 'job', 't own' equal the original row by row, and only 'x' dif"
    )

    assert message in refused("assess", original, released, "--output", tmp_path)

    error: Any = RuntimeError()
    error.ename = "ValueError"
    error.evalue = f"{message}fer '{JOB}'"
    error.traceback = [f"File {LIBRARY}/assessment/tables.py:3, in x"]
    notebook = tmp_path / "n.ipynb"
    notebook.write_text(nbformat.writes(nbformat.v4.new_notebook()))
    given = {"original": str(original), "released": [str(released)]}
    assert f"{message}fer '...'" in _failure(notebook, error, given)


ROWS = [
    f"clerk,{TOWN}\n{JOB},north\n",
    f"clerk\n{JOB},north,{TOWN}\n",
    f'clerk,north\n"{JOB}"x,{TOWN}\n',
    f'clerk,north\n"{JOB},{TOWN}\n',
    f"clerk,north\n{JOB}\0,{TOWN}\n",
    f"clerk,constructor\n{JOB}\x08,{TOWN}\n",
    "".join(f"{JOB} {i},{i}\n" for i in range(200)),
    "".join(f"2020-01-{i + 1} {TOWN},{i}\n" for i in range(40)),
]


@pytest.mark.parametrize("rows", ROWS)
def test_no_reader_tells_a_value(tmp_path, rows):
    schema = Schema(
        (Variable("job", ("clerk", "cook")), Variable("town", ("north", "south")))
    )
    uncut = Schema(tuple(Variable(name, bins=3) for name in schema.names))
    kinds = ("csv", "csv.gz", "zip", "dta", "parquet", "sav")
    messages = []
    for kind, known in itertools.product(kinds, (schema, uncut, None)):
        file = tmp_path / f"a.{kind}"
        file.write_text(f"job,town\n{rows}", "utf-8")
        try:
            read_table(file, known)
            infer_schema(read_uncoded(file, known).frame)
        except ValueError as error:
            messages.append(confidential.without_values("ValueError", str(error), {}))
    assert len(messages) > 2 * len(kinds)
    assert canaries_in("\n".join(messages)) == []


FRAMES = {
    f"File \x1b[32m{LIBRARY}/data/a.py:3\x1b[39m": True,
    "File /any/site-packages/pandas/core.py:3, in astype": False,
    "File /any/srlib/.venv/lib/pandas/core.py:3, in astype": False,
    "Cell \x1b[32mIn[3]\x1b[39m, line 1": False,
}


@pytest.mark.parametrize(("last_frame", "ours"), FRAMES.items())
def test_messages_of_other_code_are_cut_altogether(last_frame, ours):
    frames = ["-----", "Cell In[2], line 1", last_frame, "ValueError: job is x"]
    assert _is_ours(frames) == ours
    assert confidential.without_values("KeyError", "'secret'", {}) == "KeyError"
