"""Tests of the messages for bad input."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest


def value_error(message: str) -> Any:
    """Expect a ValueError with the message."""
    return pytest.raises(ValueError, match=message)


def refusals(calls: Mapping[str, Callable[[], object]]) -> Callable[..., None]:
    """Return the test that each call raises a ValueError, by a part of its message."""

    @pytest.mark.parametrize(("message", "call"), calls.items())
    def test_bad_input(message: str, call: Callable[[], object]) -> None:
        with value_error(message):
            call()

    return test_bad_input


def refused_changes(
    function: Callable[..., object], good: dict[str, Any], changes: dict[str, Any]
) -> Callable[..., None]:
    """Return the test that a function refuses changes of its arguments."""
    return refusals(
        {text: partial(function, **good | change) for text, change in changes.items()}
    )
