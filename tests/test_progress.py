"""Progress bars show on the runner's terminal and nowhere else."""

import os
import select
import sys

import pytest
import toy

from srlib.progress import TERMINAL, progress, tracked


def test_silent_without_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TERMINAL, raising=False)
    with progress(2, "chains") as bar:
        bar.update(2)
    assert list(tracked("ab", "letters")) == ["a", "b"]
    assert capfd.readouterr() == ("", "")


@toy.posix
def test_drawn_on_the_terminal_that_the_runner_names(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, terminal = os.openpty()
    monkeypatch.setenv(TERMINAL, os.ttyname(terminal))
    with progress(2, "chains") as bar:
        bar.update(2)
        bar.refresh()
        bar.fp.flush()
    drawn = ""
    while "chains: 100%" not in drawn:  # a terminal hands over what it has, in pieces
        assert select.select([controller], [], [], 60)[0], f"drawn: {drawn!r}"
        drawn += os.read(controller, 10_000).decode()
    assert capfd.readouterr() == ("", "")
    bar.fp.close()
    os.close(terminal)
    os.close(controller)


def test_silent_when_the_terminal_is_gone(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TERMINAL, "/no/such/terminal")
    assert not sys.stderr.isatty()
    with progress(2, "chains") as bar:
        bar.update(2)
    assert capfd.readouterr() == ("", "")
