"""Progress bars show on a terminal, for a notebook's reader, and nowhere else."""

import io
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from jupyter_client.manager import run_kernel

from srlib.progress import in_blocks, progress, silent


@pytest.mark.parametrize("terminal", [False, True])
def test_drawn_on_a_terminal_only(terminal, monkeypatch):
    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stderr", stderr)
    with progress(2, "chains") as bar:
        bar.update(2)
    with silent(), progress(2, "nothing"):
        pass
    assert ("chains" in stderr.getvalue()) == terminal
    assert "nothing" not in stderr.getvalue()


@pytest.mark.parametrize("reader", [False, True])
def test_a_notebook_with_a_reader_has_one_line_and_others_none(reader):
    cell = "from srlib.progress import progress; progress(2, 'chains').close()"
    messages = []  # type: ignore[var-annotated]
    with run_kernel() as client:
        client.execute_interactive(  # type: ignore[attr-defined]
            cell, allow_stdin=reader, output_hook=messages.append
        )
    shown = str(messages)
    assert ("chains: " in shown) == reader
    assert r"\n" not in shown
    assert "stderr" not in shown  # shown in the color of errors


def test_blocks_that_have_not_begun_are_taken_back_at_an_error():
    begun, go = [], threading.Event()

    def work(shared, letters):
        begun.append(letters)
        if letters == "b":
            raise KeyboardInterrupt
        if letters == "c":
            go.wait(60)  # until the rest has been taken back
        return shared + letters

    with ThreadPoolExecutor(1) as executor:
        blocks = [(letters,) for letters in "abcdef"]
        results = in_blocks(executor, work, ("-",), blocks, "letters")
        assert next(results) == "-a"
        with pytest.raises(KeyboardInterrupt):
            next(results)
        go.set()
    # A thread may take up the next one before it can be taken back.
    assert "".join(begun) in ("ab", "abc")
