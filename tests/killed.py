"""Replace a run; be killed, or wait, at a system call: ``FOLDER CALL WHEN [wait]``."""

import os
import signal
import sys
from pathlib import Path

from srlib.runner import files

CALLS = [(os, name) for name in ("mkdir", "rename", "replace", "unlink", "rmdir")]
CALLS += [(files, "_lock")]


def write(final, content):
    """Write a run with one file."""
    with files.whole(final) as folder:
        (folder / "provenance.json").write_text(content)


def kill():
    """End this process, which cannot clean up."""
    os.kill(os.getpid(), signal.SIGKILL)


def end_at(
    number,
    when,
    end,
    replace=setattr,
):
    """End before or after the system call with this number."""
    calls = list[str]()

    def ending(name, call):
        def called(*arguments, **named):
            calls.append(name)
            is_last = len(calls) == number
            if is_last and when == "before":
                end()
            try:
                return call(*arguments, **named)
            finally:
                if is_last and when == "after":
                    end()

        return called

    for module, name in CALLS:
        replace(module, name, ending(name, getattr(module, name)))


if __name__ == "__main__":
    folder, number, when, *waits = sys.argv[1:]
    end_at(int(number), when, sys.stdin.read if waits else kill)
    write(Path(folder), "new")
