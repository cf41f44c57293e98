"""Value, baseline, errors, z and advice of releases of known kinds are those that are frozen."""

import json

import numpy as np
from cases import FILE, cases, found

FROZEN = json.loads(FILE.read_text(encoding="utf-8"))


def test_all_cases_are_frozen_and_their_advice_is_known() -> None:
    assert len(FROZEN) == 112 + 60
    advice = {row["advice"] for row in FROZEN.values()}
    assert advice == {"nothing found", "undecided", "look", "withhold"}


def test_what_is_found_is_what_was_found() -> None:
    small = list(cases(largest=2_000))
    assert len(small) == 8 * 8 + 4 * 8 + 4 * 10
    for name, original, released in small:
        row, frozen = found(original, released), FROZEN[name]
        assert row["advice"] == frozen["advice"], name
        for question in ("copies", "identity", "attributes"):
            np.testing.assert_allclose(row[question], frozen[question], rtol=1e-9, atol=1e-12)
