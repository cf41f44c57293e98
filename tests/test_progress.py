"""Progress bars show on the runner's terminal and nowhere else."""

import os
import select
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import toy

from srlib.progress import TERMINAL, in_blocks, progress, tracked


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


@pytest.mark.parametrize("apart", [False, True])
def test_blocks_that_have_not_begun_are_taken_back_at_an_error(apart: bool) -> None:
    begun, go = [], threading.Event()

    def work(shared: str, letters: str) -> str:
        begun.append(letters)
        if letters == "b":
            raise KeyboardInterrupt
        if letters == "c":
            go.wait(60)  # until the rest has been taken back
        return shared + letters

    blocks = [(letters,) for letters in "abcdef"]
    with ThreadPoolExecutor(1) as executor:
        results = in_blocks(executor if apart else None, work, ("-",), blocks, "letters")
        assert next(results) == "-a"
        with pytest.raises(KeyboardInterrupt):
            next(results)
        go.set()
    # A thread may take up the next one before it can be taken back.
    assert "".join(begun) in (("ab", "abc") if apart else ("ab",))
    found = list(in_blocks(None, work, ("-",), [("ac",), ("d",)], "letters"))
    assert found == ["-ac", "-d"]
