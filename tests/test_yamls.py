"""YAML that people write: the values that it stands for, and what is refused."""

import math
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from srlib import yamls
from srlib.data.schema import Schema
from srlib.runner.parameters import UsageError, read_mapping

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {x: 1}\nb: {<<: *a, y: 2}\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-1_000", -1000),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("2020-99-99", "2020-99-99"),
        ("yes", "yes"),
        ("on", "on"),
        ("True", True),
        ("1e-3", 1e-3),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.inf", -math.inf),
        ("~", None),
        ("", None),
        ("9" * 40, int("9" * 40)),
        ("{a: [1, b]}", {"a": [1, "b"]}),
        ("<<", "<<"),
    ],
)
def test_values_are_those_of_the_core_schema(text: str, value: Any) -> None:
    loaded = yamls.load(text)
    assert loaded == value
    assert type(loaded) is type(value)


def test_what_parameters_are_written_as_is_read_back() -> None:
    values = {
        "a": 1e-12,
        "b": [0.5, 3],
        "c": None,
        "d": "010",
        "e": {"x": True},
        "f": "yes",
        "g": "",
    }
    assert yamls.load(yaml.safe_dump(values)) == values


REFUSED = [
    ("n: 5\nn: 6", "line 2: the mapping at line 1 repeats 'n'"),
    ("grid:\n  n: 5\n  'n': 6", "repeats 'n'"),
    (BOMB, "line 2: the alias *a is not allowed"),
    (MERGES, "line 2: the alias *a is not allowed"),
    ("a: &a [*a]", "the alias *a is not allowed"),
    ("n: !!bool abc", "the tag 'tag:yaml.org,2002:bool' is not allowed"),
    ("n: !!python/object/apply:os.getcwd []", "is not allowed"),
    ("[" * 3000, "more than 32 deep"),
    ("{a: " * 3000, "more than 32 deep"),
    ("a:\n  n: " + "1" * 41 + "0", "'a': 'n': a whole number of 42 digits; at most 40 are allowed"),
    ("n: " + "9" * 5000, "'n': a whole number of 5,000 digits"),
    ("? [a]\n: 1", "a key must be one text or number"),
    ("n: " + "x" * yamls.MAX_BYTES, "too large; at most 1,000,000 bytes are read"),
    ("n: \x00", "special characters are not allowed"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refuses_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        yamls.load(text)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [BOMB, MERGES, "n: 5\nn: 6", "[" * 3000])
def test_every_reader_of_files_refuses_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    for read in (read_mapping, Schema.from_yaml):
        with pytest.raises(ValueError, match=r"line \d|deep") as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_files_that_never_end_are_refused(tmp_path: Path) -> None:
    for content in (b"\xff", b"a" * (yamls.MAX_BYTES + 1)):
        (tmp_path / "file.yaml").write_bytes(content)
        with pytest.raises(UsageError, match=r"not UTF-8|too large"):
            read_mapping(tmp_path / "file.yaml")
    with pytest.raises(UsageError, match="not a regular file"):
        read_mapping(tmp_path)
    with pytest.raises(UsageError, match="No such file"):
        read_mapping(tmp_path / "nowhere.yaml")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        read_mapping(tmp_path / "pipe")
