"""YAML that people write: the values that it stands for, and what is refused."""

import math
import os
import re

import pytest
import yaml
from refusals import value_error

from srlib import yaml_io

VALUES = {
    "010": 10,
    "0o10": 8,
    "0x1F": 31,
    "-1_000": -1000,
    "9" * 40: int("9" * 40),
    "1:30": "1:30",
    "2020-01-01": "2020-01-01",
    "2020-99-99": "2020-99-99",
    "yes": "yes",
    "on": "on",
    "True": True,
    "~": None,
    "": None,
    "1e-3": 1e-3,
    "1e3": 1000.0,
    ".5": 0.5,
    "5.": 5.0,
    "-.inf": -math.inf,
    "{a: [1, b]}": {"a": [1, "b"]},
    "<<": "<<",
    "<<: {x: 1}": {"<<": {"x": 1}},
}


@pytest.mark.parametrize(("text", "value"), VALUES.items())
def test_values_are_those_of_the_core_schema(text, value):
    loaded = yaml_io.load(text)
    assert loaded == value
    assert type(loaded) is type(value)


def test_what_is_written_is_read_back():
    words = dict.fromkeys(
        ["yes", "off", "1:30", "2020-01-01", "~", "5.", "a: b", "é"], "on"
    )
    assert yaml.safe_load(yaml_io.dump(words)) == words  # by YAML 1.1 too
    values = words | {
        "b": 1e-12,
        "a": [0.5, 3],
        "c": None,
        "d": "010",
        "e": {"x": True},
        "g": "",
    }
    assert list(yaml_io.load(yaml_io.dump(values)).items()) == list(values.items())


def test_every_scalar_can_be_the_text_that_stands_there():
    texts = ["1e-3", "~", "yes", "2020-01-01"]
    assert yaml_io.load("{010: [1e-3, ~, yes, 2020-01-01]}", texts=True) == {
        "010": texts
    }


REFUSED = {
    "grid:\n  n: 5\n  'n': 6": "line 3: the mapping at line 2 repeats 'n'",
    "a: &a [x]\nb: [*a, *a]": "line 1: anchors (&) and aliases (*) are not allowed",
    "n: !!bool abc": "line 1: tags (!) are not allowed",
    "n: !!python/object/apply:os.getcwd []": "line 1: tags (!) are not allowed",
    "[" * 3000: "more than 32 deep",
    "a:\n  n: " + "1" * 40 + "0": (
        "line 2: an integer has 41 digits; at most 40 are allowed"
    ),
    "? [a]\n: 1": "a key must be a single text or number",
    "n: " + "x" * yaml_io.MAX_BYTES: "too large; at most 1,000,000 bytes are allowed",
    "n: \x00": "special characters are not allowed",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_refuses_in_one_line(text, message):
    with value_error(re.escape(message)) as caught:
        yaml_io.load(text)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "a: 5\na: Mary-7",
        "a: [Mary-7",
        "a: 'Mary-7",
        "a: Mary-7: b",
        "- Mary-7\nb: 1",
    ],
)
def test_no_message_quotes_a_value(text):
    with value_error(r"^line \d") as caught:
        yaml_io.load(text)
    assert "Mary" not in str(caught.value)


def test_files_that_never_end_are_refused(tmp_path):
    for content, message in (
        (b"\xff", "not UTF-8"),
        (b"a" * (yaml_io.MAX_BYTES + 1), "too large"),
    ):
        (tmp_path / "file.yaml").write_bytes(content)
        with value_error(message):
            yaml_io.read(tmp_path / "file.yaml")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with value_error("not a regular file"):
            yaml_io.read(tmp_path / "pipe")
