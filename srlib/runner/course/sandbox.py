"""What runs a student's copy, in a process of its own, and tells its answers as plain data.

`grading` starts this file as a script, with ``python -I``, in an empty folder. It takes a task as
JSON from standard input and writes a line of JSON for each exercise to standard output; nothing
that the copy prints goes there. Whoever finds a way to write there as well can tell values, which
is what assigning does, and no verdicts.

Limits of the operating system bound memory, processor time and the size of files. Inside the
process a hook of Python refuses to write outside the folder, to start other programs and to open
connections. Python has no walls: code that calls the system's libraries gets past the hook. It
keeps out accidents and tricks, not an attacker, for whom there are containers.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

MOST = 1000  # elements of an answer
LONGEST = 10_000  # characters of a text

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
    "os.symlink", "os.truncate", "os.utime",
}  # fmt: skip
_FORBIDDEN = {
    "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn", "os.spawn",
    "os.startfile", "os.system", "pty.spawn", "socket.bind", "socket.connect",
    "socket.getaddrinfo", "socket.sendto", "subprocess.Popen",
}  # fmt: skip


def plain(value: Any) -> dict[str, Any]:
    """Return an answer as something that JSON can hold, by its exact type.

    Parameters
    ----------
    value : object
        Anything. Of an object of somebody's own class only the class's name is told.
    """
    import numpy as np

    if value is ...:
        return {"open": True}
    try:
        if isinstance(value, np.generic):
            value = value.item()
        if type(value) in (set, frozenset):
            return {"set": _elements(value)}
        if type(value) in (list, tuple):
            return {"value": _elements(value)}
        if hasattr(type(value), "__array__"):
            return {"value": _elements(np.asarray(value, dtype=object).ravel().tolist())}
        return {"value": _element(value)}
    except BaseException:
        return {"odd": type(value).__name__[:40]}


def _elements(values: Any) -> list[Any]:
    if len(values) > MOST:
        raise ValueError
    return [_element(value) for value in values]


def _element(value: Any) -> Any:
    import numpy as np

    value = value.item() if isinstance(value, np.generic) else value
    if type(value) is str and len(value) <= LONGEST:
        return value
    if type(value) in (bool, int, float) and len(repr(value)) <= LONGEST:
        return value
    raise ValueError


def guard(folder: str) -> Callable[[str, tuple[Any, ...]], None]:
    """Return a hook that refuses what a copy has no business to do.

    Parameters
    ----------
    folder : str
        Where alone it may write.
    """
    realpath, fspath, separator = os.path.realpath, os.fsdecode, os.sep
    allowed = realpath(folder) + separator
    writing, changes, forbidden = _WRITING, frozenset(_CHANGES), frozenset(_FORBIDDEN)

    def outside(path: Any) -> bool:
        if not isinstance(path, str | bytes) or fspath(path) == os.devnull:
            return False
        return not (realpath(fspath(path)) + separator).startswith(allowed)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        refused = event in forbidden
        if event == "open":
            refused = bool(arguments[2] & writing) and outside(arguments[0])
        elif event in changes:
            refused = any(outside(argument) for argument in arguments[:2])
        if refused:
            raise PermissionError(f"{event} is refused while a copy is graded")

    return hook


def _limit(memory: int, seconds: int) -> None:
    """Bound this process's memory in bytes, processor time, and what it may write."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_FSIZE: 100_000_000,
    }
    for which, most in limits.items():
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


def main() -> None:
    """Do the task: run its cells in turn, and tell the names of an exercise behind its check."""
    task = json.load(sys.stdin)
    sys.path.insert(0, task["library"])
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as told:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        _limit(task["memory"], task["seconds"])

        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        shell.user_ns["display"] = lambda *_, **__: None
        sys.addaudithook(guard(os.getcwd()))
        failed = ""
        for source, asked in task["cells"]:
            result = shell.run_cell(source, silent=True)
            error = result.error_before_exec or result.error_in_exec
            failed = failed or (type(error).__name__[:40] if error else "")
            for label, names in asked.items():
                known = [name for name in names if name in shell.user_ns]
                values = {name: plain(shell.user_ns[name]) for name in known}
                line = {"exercise": label, "values": values, "failed": failed}
                told.write(json.dumps(line) + "\n")
                told.flush()
            failed = "" if asked else failed


if __name__ == "__main__":
    main()
