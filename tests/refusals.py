"""The test of a module's messages for bad input."""

from collections.abc import Callable, Mapping

import pytest


def refusals(calls: Mapping[str, Callable[[], object]]) -> Callable[..., None]:
    """Return the test that each call raises a ValueError, by a part of its message."""

    @pytest.mark.parametrize(
        ("message", "call"),
        calls.items(),
    )
    def test_bad_input(message: str, call: Callable[[], object]) -> None:
        with pytest.raises(ValueError, match=message):
            call()

    return test_bad_input
