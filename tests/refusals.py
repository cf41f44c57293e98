"""Tests of the messages for bad input."""

from functools import partial

import pytest


def value_error(message):
    """Expect a ValueError with the message."""
    return pytest.raises(ValueError, match=message)


def refusals(calls):
    """Return the test that each call raises a ValueError, by a part of its message."""

    @pytest.mark.parametrize(("message", "call"), calls.items())
    def test_bad_input(message, call):
        with value_error(message):
            call()

    return test_bad_input


def refused_changes(function, good, changes):
    """Return the test that a function refuses changes of its arguments."""
    return refusals(
        {text: partial(function, **good | change) for text, change in changes.items()}
    )
